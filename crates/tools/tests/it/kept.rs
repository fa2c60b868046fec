//! Files as they were before a call changed them.

use crate::support::{World, pair, said};
use mainpath_tools::{BlobSink, FileNow, ToolContext};
use mainpath_types::*;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::{Arc, Mutex};

/// The state of a file with this content, whose hash the blobs make.
async fn file(world: &World, content: &[u8], mode: u32) -> FileState {
    let hash = world.blobs.put(content.to_vec()).await.unwrap();
    FileState::File { hash, bytes: content.len() as u64, mode }
}

fn chmod(world: &World, path: &str, mode: u32) {
    std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

async fn changes(world: &World, tool: &str, args: serde_json::Value) -> Vec<FileChange> {
    let output = world.run(tool, args).await;
    assert_eq!(output.error, None, "{output:?}");
    output.changes
}

#[tokio::test]
async fn what_a_file_held_is_kept_before_it_is_written_or_edited() {
    let world = World::with(&[("a.txt", "one\n")]);
    chmod(&world, "a.txt", 0o640);
    let wrote = changes(&world, "write_text_file", json!({"path": "./a.txt", "content": "two\n"})).await;
    let FileState::File { hash, .. } = &wrote[0].before else { panic!("{wrote:?}") };
    assert_eq!(world.blobs.get(hash).unwrap(), b"one\n");
    let (one, two) = (file(&world, b"one\n", 0o640).await, file(&world, b"two\n", 0o640).await);
    assert_eq!(wrote, [FileChange { path: "a.txt".into(), before: one, after: two.clone() }]);
    let edit = json!({"path": "a.txt", "edits": [{"old_text": "two", "new_text": "three"}]});
    let edited = changes(&world, "edit_text_file", edit).await;
    let three = file(&world, b"three\n", 0o640).await;
    assert_eq!(edited, [FileChange { path: "a.txt".into(), before: two, after: three }]);
}

#[tokio::test]
async fn a_file_that_was_not_there_is_noted_as_absent_and_one_that_stays_the_same_not_at_all() {
    let world = World::with(&[("same", "x")]);
    let made = changes(&world, "write", json!({"path": "deep/er/new.txt", "content": ""})).await;
    let mode = std::fs::metadata(world.path("deep/er/new.txt")).unwrap().permissions().mode() & 0o7777;
    let after = file(&world, b"", mode).await;
    assert_eq!(made, [FileChange { path: "deep/er/new.txt".into(), before: FileState::Absent, after }]);
    assert_eq!(changes(&world, "write", json!({"path": "same", "content": "x"})).await, []);
}

#[tokio::test]
async fn what_is_no_text_is_kept_as_well_and_what_is_too_large_is_said_to_be_unknown() {
    let world = World::with(&[]);
    std::fs::write(world.path("binary"), [0, 159, 146, 150]).unwrap();
    let wrote = changes(&world, "write", json!({"path": "binary", "content": "text"})).await;
    let FileState::File { hash, .. } = &wrote[0].before else { panic!("{wrote:?}") };
    assert_eq!(world.blobs.get(hash).unwrap(), [0, 159, 146, 150]);
    let large = std::fs::File::create(world.path("large")).unwrap();
    large.set_len(MOST_KEPT + 1).unwrap();
    let wrote = changes(&world, "write", json!({"path": "large", "content": "small"})).await;
    assert_eq!(wrote[0].before, FileState::Unknown);
    assert_eq!(std::fs::read_to_string(world.path("large")).unwrap(), "small");
}

#[tokio::test]
async fn a_change_through_a_link_is_noted_where_it_was_made() {
    let world = World::with(&[("real/a.txt", "one")]);
    symlink("real", world.path("link")).unwrap();
    let wrote = changes(&world, "write", json!({"path": "link/a.txt", "content": "two"})).await;
    assert_eq!(wrote[0].path, "real/a.txt");
}

#[tokio::test]
async fn a_file_is_put_back_whole_with_its_mode_or_removed() {
    let world = World::with(&[("a.txt", "now")]);
    let at = &world.workspace;
    assert_eq!(at.look("gone"), Ok(FileNow::Absent));
    let then = FileNow::File { content: b"then".to_vec(), mode: 0o600 };
    at.put_back("a.txt", &then, "restore-t").unwrap();
    assert_eq!(at.look("a.txt"), Ok(then));
    // What a crash left beside it goes.
    std::fs::write(world.path(".mainpath-restore-t.part"), "half").unwrap();
    at.put_back("a.txt", &FileNow::Absent, "restore-t").unwrap();
    at.put_back("a.txt", &FileNow::Absent, "restore-t").unwrap();
    at.put_back("made/again/b", &FileNow::File { content: b"b".to_vec(), mode: 0o644 }, "restore-t").unwrap();
    let left: Vec<_> = std::fs::read_dir(world.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["made"]);
}

#[tokio::test]
async fn nothing_is_looked_at_or_put_back_through_a_link_or_outside() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("a"), "secret").unwrap();
    let world = World::with(&[("real/a", "x")]);
    symlink(outside.path(), world.path("out")).unwrap();
    symlink("real", world.path("in")).unwrap();
    symlink("real/a", world.path("file")).unwrap();
    let new = FileNow::File { content: b"y".to_vec(), mode: 0o644 };
    for path in ["out/a", "in/a", "../x", "real/../real/a", "/etc/passwd", "", "real/.."] {
        assert!(world.workspace.look(path).is_err(), "{path}");
        assert!(world.workspace.put_back(path, &new, "t").is_err(), "{path}");
        assert!(world.workspace.put_back(path, &FileNow::Absent, "t").is_err(), "{path}");
    }
    assert_eq!(world.workspace.look("real"), Ok(FileNow::Folder));
    assert!(world.workspace.put_back("real", &new, "t").is_err());
    assert!(world.workspace.put_back("real", &FileNow::Absent, "t").is_err());
    // A link itself is looked at and replaced.
    assert_eq!(world.workspace.look("file"), Ok(FileNow::Link { target: b"real/a".to_vec() }));
    world.workspace.put_back("file", &new, "t").unwrap();
    world.workspace.put_back("out", &FileNow::Absent, "t").unwrap();
    assert_eq!(world.get("file"), "y");
    assert_eq!(std::fs::read_to_string(outside.path().join("a")).unwrap(), "secret");
    assert_eq!(world.get("real/a"), "x");
}

#[tokio::test]
async fn what_stands_in_a_files_place_is_replaced_in_one_step_but_for_a_folder_with_content() {
    let world = World::with(&[("full/deep/x", "1")]);
    let at = &world.workspace;
    let then = FileNow::File { content: b"then".to_vec(), mode: 0o600 };
    let link = FileNow::Link { target: b"nowhere/\xff".to_vec() };
    std::fs::create_dir_all(world.path("empty/of/files")).unwrap();
    at.put_back("empty", &link, "t").unwrap();
    assert_eq!(at.look("empty"), Ok(link.clone()));
    at.put_back("empty", &then, "t").unwrap();
    assert_eq!(at.look("empty"), Ok(then.clone()));
    at.put_back("empty", &link, "t").unwrap();
    assert_eq!(at.look("empty"), Ok(link.clone()));
    assert_eq!(at.inside("full"), Ok(vec!["full/deep/x".to_string()]));
    for what in [&then, &link, &FileNow::Absent] {
        assert_eq!(at.put_back("full", what, "t").unwrap_err().code, "folder");
    }
    assert_eq!((world.get("full/deep/x"), world.names()), ("1".into(), vec!["empty".to_string(), "full".into()]));
}

/// A context that notes what is announced, with what the file held then, and answers like this.
fn noting(world: &World, tool: &str, answer: Result<(), &'static str>) -> (ToolContext, Arc<Mutex<Vec<FileChange>>>) {
    let (mut ctx, noted) = (world.context(tool), Arc::<Mutex<Vec<FileChange>>>::default());
    let (to, root, blobs) = (noted.clone(), world.path(""), world.blobs.clone());
    ctx.changing = Arc::new(move |changes| {
        for change in &changes {
            let now = std::fs::read(root.join(&change.path)).ok();
            let kept = match &change.before {
                FileState::File { hash, .. } => blobs.get(hash),
                FileState::Absent | FileState::Link { .. } | FileState::Unknown => None,
            };
            assert_eq!(now, kept, "it is kept already, and not yet changed");
        }
        to.lock().unwrap().extend(changes);
        Box::pin(std::future::ready(answer.map_err(std::io::Error::other)))
    });
    (ctx, noted)
}

#[tokio::test]
async fn what_is_about_to_be_changed_is_on_record_before_it_is() {
    let world = World::with(&[("a.txt", "one\n"), ("same", "x")]);
    chmod(&world, "a.txt", 0o640);
    let edit = json!({"path": "a.txt", "edits": [{"old_text": "two", "new_text": "three"}]});
    for (tool, args) in [
        ("write_text_file", json!({"path": "a.txt", "content": "two\n"})),
        ("edit_text_file", edit),
        ("write_text_file", json!({"path": "made/new", "content": "x"})),
    ] {
        let (ctx, noted) = noting(&world, tool, Ok(()));
        let output = world.tools.run(tool, &args.to_string(), &ctx).await;
        let noted = noted.lock().unwrap().clone();
        let states = |changes: &[FileChange]| {
            let state = |change: &FileChange| (change.path.clone(), change.before.clone());
            changes.iter().map(state).collect::<Vec<_>>()
        };
        assert_eq!((states(&noted), noted.len()), (states(&output.changes), 1), "{output:?}");
        assert!(noted[0].after.holds_same(&output.changes[0].after), "{noted:?}");
    }
    let (ctx, noted) = noting(&world, "write", Ok(()));
    let same = json!({"path": "same", "content": "x"}).to_string();
    assert_eq!(world.tools.run("write", &same, &ctx).await.error, None);
    assert_eq!(*noted.lock().unwrap(), [], "what stays the same is not a change");
}

#[tokio::test]
async fn what_cannot_be_put_on_record_is_not_changed() {
    let world = World::with(&[("a.txt", "one\n")]);
    let (ctx, noted) = noting(&world, "write", Err("the log cannot be written"));
    let args = json!({"path": "a.txt", "content": "two\n"}).to_string();
    let words = "\"a.txt\" was not changed, as what it holds now cannot be kept: the log cannot be written.";
    assert_eq!(said(&world.tools.run("write", &args, &ctx).await), pair("io", words));
    assert_eq!((world.get("a.txt").as_str(), noted.lock().unwrap().len()), ("one\n", 1));
}
