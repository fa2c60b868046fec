use crate::support::{World, pair};
use mainpath_tools::ProbeAnswer;
use mainpath_types::{FileChange, FileState, ToolOutput};
use serde_json::json;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[tokio::test]
async fn a_text_is_read_exactly_as_it_is() {
    let world = World::with(&[("a.txt", "one\r\ntwo\n\nfour ü")]);
    let output = world.run("read_text_file", json!({"path": "a.txt"})).await;
    let wanted = ToolOutput {
        title: Some("a.txt".into()),
        long_term_memory: Some("Read a.txt; read it again if its text is needed.".into()),
        ..ToolOutput::text("one\r\ntwo\n\nfour ü")
    };
    assert_eq!(output, wanted);
}

#[tokio::test]
async fn a_range_of_lines_says_how_to_read_on() {
    let world = World::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
    let read = async |offset: u32, limit: u32| {
        world.say("read", json!({"path": "a.txt", "offset": offset, "limit": limit})).await
    };
    assert_eq!(read(2, 2).await, pair("ok", "2\n3\n[lines 2-3 of a file of 10 bytes; read on with offset=4]"));
    assert_eq!(read(4, 2).await, pair("ok", "4\n5\n"));
    assert_eq!(read(5, 9).await, pair("ok", "5\n"));
    assert_eq!(read(6, 1).await, pair("out_of_range", r#""a.txt" has 5 lines; line 6 is past its end."#));
}

#[tokio::test]
async fn a_huge_file_is_read_in_pieces_that_join_up() {
    let line = |number: usize| format!("line {number} {}\n", "x".repeat(190));
    let whole: String = (1..=5_000).map(line).collect();
    let world = World::with(&[("big.txt", &whole)]);
    let mut joined = String::new();
    let mut offset = 1;
    loop {
        let (code, text) = world.say("read", json!({"path": "big.txt", "offset": offset})).await;
        assert_eq!(code, "ok");
        assert!(text.len() < 257 * 1024);
        match text.rsplit_once("[lines ") {
            Some((shown, note)) => {
                joined.push_str(shown);
                offset = note.rsplit_once('=').unwrap().1.trim_end_matches(']').parse().unwrap();
            }
            None => {
                joined.push_str(&text);
                break;
            }
        }
    }
    assert!(joined == whole);
}

#[tokio::test]
async fn two_thousand_lines_are_shown_by_default() {
    let whole: String = (1..=2_001).map(|number| format!("{number}\n")).collect();
    let world = World::with(&[("a", &whole)]);
    let (_, text) = world.say("read", json!({"path": "a"})).await;
    assert!(text.ends_with("\n2000\n[lines 1-2000 of a file of 8,898 bytes; read on with offset=2001]"));
}

#[tokio::test]
async fn a_long_line_is_cut_with_a_mark() {
    let world = World::with(&[("a", &format!("{}\nnext\n", "é".repeat(100_000)))]);
    let wanted = format!("{}[… line 1 cut: it has 200000 bytes]\nnext\n", "é".repeat(2_000));
    assert_eq!(world.say("read", json!({"path": "a"})).await, pair("ok", wanted));
}

#[tokio::test]
async fn what_is_no_text_is_named_by_kind_and_size() {
    let world = World::new();
    world.put("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    world.put("thing.dat", b"abc\0def");
    world.put("program", b"abc\0def");
    world.put("latin1.txt", b"one\ntwo \xe9\n");
    world.put("photo", b"\xff\xd8\xff\xe0abc");
    let read = async |path: &str| world.say("read", json!({"path": path})).await;
    assert_eq!(read("logo.png").await, pair("binary", r#""logo.png" is not text: it is a PNG image, 16 bytes long."#));
    assert_eq!(
        read("thing.dat").await,
        pair("binary", r#""thing.dat" is not text: it is a binary file of type .dat, 7 bytes long."#)
    );
    assert_eq!(read("program").await, pair("binary", r#""program" is not text: it is a binary file, 7 bytes long."#));
    assert_eq!(read("photo").await, pair("binary", r#""photo" is not text: it is a JPEG image, 7 bytes long."#));
    let words = r#""latin1.txt" is not UTF-8 text: line 2 holds other bytes; if it is text in another encoding, convert it first, for example with iconv."#;
    assert_eq!(read("latin1.txt").await, pair("not_utf8", words));
}

#[tokio::test]
async fn what_is_no_file_is_said_to_be_none() {
    let world = World::with(&[("src/main.rs", ""), ("src/maim.rs", ""), ("empty", "")]);
    rustix::fs::mkfifoat(rustix::fs::CWD, world.path("fifo"), rustix::fs::Mode::RUSR).unwrap();
    let read = async |path: &str| world.say("read", json!({"path": path})).await;
    assert_eq!(
        read("src/mian.rs").await,
        pair("not_found", r#"There is no file "src/mian.rs". Similar names: "src/main.rs", "src/maim.rs"."#)
    );
    assert_eq!(read("zzz").await, pair("not_found", r#"There is no file "zzz"."#));
    assert_eq!(
        read("no/where").await,
        pair("not_found", r#"There is no file "no/where". Its folder does not exist either."#)
    );
    assert_eq!(read("empty/x").await, pair("not_found", r#""empty/x" leads through something that is not a folder."#));
    assert_eq!(read("src").await, pair("is_directory", r#""src" is a folder, not a file."#));
    assert_eq!(read("fifo").await, pair("not_a_file", r#""fifo" is a device, pipe or socket, not a file."#));
    assert_eq!(read("empty").await, pair("ok", "[the file is empty]"));
}

#[tokio::test]
async fn a_write_creates_folders_and_says_what_it_did() {
    let world = World::new();
    let write = async |content: &str| world.say("write", json!({"path": "a/b/c.txt", "content": content})).await;
    assert_eq!(write("one\ntwo\n").await, pair("ok", "Created a/b/c.txt (2 lines, 8 bytes)."));
    assert_eq!(world.get("a/b/c.txt"), "one\ntwo\n");
    assert_eq!(write("x").await, pair("ok", "Overwrote a/b/c.txt (1 line, 1 byte)."));
    assert_eq!(world.get("a/b/c.txt"), "x");
    assert_eq!(std::fs::read_dir(world.path("a/b")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_write_replaces_the_file_as_a_whole_and_keeps_its_mode() {
    let world = World::with(&[("run.sh", "old")]);
    std::fs::set_permissions(world.path("run.sh"), std::fs::Permissions::from_mode(0o750)).unwrap();
    let mut reader = std::fs::File::open(world.path("run.sh")).unwrap();
    let before = std::fs::metadata(world.path("run.sh")).unwrap();
    world.run("write", json!({"path": "run.sh", "content": "new"})).await;
    let after = std::fs::metadata(world.path("run.sh")).unwrap();
    assert_eq!(after.permissions().mode() & 0o7777, 0o750);
    // Whoever had it open still sees the whole old file: it was not written in place.
    assert_ne!(before.ino(), after.ino());
    let mut seen = String::new();
    std::io::Read::read_to_string(&mut reader, &mut seen).unwrap();
    assert_eq!(seen, "old");
}

#[tokio::test]
async fn a_write_through_a_link_keeps_the_link() {
    let world = World::with(&[("real.txt", "old")]);
    std::os::unix::fs::symlink("real.txt", world.path("link.txt")).unwrap();
    world.run("write", json!({"path": "link.txt", "content": "new"})).await;
    assert!(world.path("link.txt").is_symlink());
    assert_eq!(world.get("real.txt"), "new");
}

#[tokio::test]
async fn a_write_that_cannot_be_made_leaves_nothing_behind() {
    let world = World::with(&[("dir/file", ""), ("file", "")]);
    let write = async |path: &str| world.say("write", json!({"path": path, "content": "x"})).await;
    assert_eq!(write("dir").await, pair("is_directory", r#""dir" is a folder, not a file."#));
    assert_eq!(write(".").await, pair("is_directory", r#""." is a folder, not a file."#));
    assert_eq!(
        write("file/sub").await,
        pair("not_found", r#""file/sub" leads through something that is not a folder."#)
    );
    assert_eq!(world.names(), ["dir", "file"]);
}

#[tokio::test]
async fn a_write_tells_after_a_crash_whether_it_was_done() {
    let world = World::new();
    let args = json!({"path": "a.txt", "content": "new"});
    assert_eq!(world.probe("write", args.clone()).await, ProbeAnswer::NotDone);
    for other in ["old", "newer", "ne", ""] {
        world.put("a.txt", other);
        assert_eq!(world.probe("write", args.clone()).await, ProbeAnswer::NotDone, "{other}");
    }
    world.put("a.txt", "new");
    let done = ToolOutput { title: Some("a.txt".into()), ..ToolOutput::text("Wrote a.txt (1 line, 3 bytes).") };
    let ProbeAnswer::Done(found) = world.probe("write", args).await else { panic!("it was done") };
    // What the file held before is known to nobody any more.
    let [FileChange { path, before: FileState::Unknown, after: FileState::File { bytes: 3, .. } }] = &found.changes[..]
    else {
        panic!("{:?}", found.changes)
    };
    assert_eq!((path.as_str(), ToolOutput { changes: vec![], ..found.clone() }), ("a.txt", done));
}

#[tokio::test]
async fn what_a_crashed_write_left_is_cleared_by_probe_and_by_repetition() {
    let world = World::new();
    let args = json!({"path": "a.txt", "content": "new"});
    world.put(".mainpath-t1-tool-1.0.part", "ne");
    world.probe("write", args.clone()).await;
    assert_eq!(world.names(), Vec::<String>::new());
    world.put(".mainpath-t1-tool-1.0.part", "ne");
    world.run("write", args).await;
    assert_eq!(world.names(), ["a.txt"]);
}
