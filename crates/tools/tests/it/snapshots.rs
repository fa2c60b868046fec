//! What the files of a workspace are before and after a call.

use crate::support::World;
use mainpath_tools::{BlobSink, Snapshot};
use mainpath_types::*;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

async fn before(world: &World, known: Snapshot) -> Snapshot {
    Snapshot::take(&world.workspace, known, Some(&*world.blobs), &CancellationToken::new()).await
}

async fn after(world: &World, before: &Snapshot) -> Snapshot {
    Snapshot::take(&world.workspace, before.clone(), None, &CancellationToken::new()).await
}

/// What a change of the files is found to be: paths, and whether there was and is a file.
async fn found(world: &World, change: impl FnOnce(&World)) -> Vec<(String, FileState, FileState)> {
    let taken = before(world, Snapshot::default()).await;
    assert_eq!(taken.notes, Vec::<String>::new());
    change(world);
    let changes = taken.changes(&after(world, &taken).await, &world.workspace);
    changes.into_iter().map(|change| (change.path, change.before, change.after)).collect()
}

async fn file(world: &World, content: &str) -> FileState {
    let hash = world.blobs.put(content.as_bytes().to_vec()).await.unwrap();
    FileState::File { hash, bytes: content.len() as u64, mode: 0o644 }
}

fn names(found: &[(String, FileState, FileState)]) -> Vec<&str> {
    found.iter().map(|(path, ..)| path.as_str()).collect()
}

#[tokio::test]
async fn what_was_written_made_and_removed_is_found_and_what_there_was_is_kept() {
    let world = World::with(&[("a", "one"), ("b", "two"), ("same", "x"), (".hidden", "h")]);
    let found = found(&world, |world| {
        world.put("a", "One");
        std::fs::remove_file(world.path("b")).unwrap();
        world.put(".hidden", "H");
        world.put("dir/new", "n");
    });
    let expected = [
        (".hidden".to_string(), file(&world, "h").await, file(&world, "H").await),
        ("a".to_string(), file(&world, "one").await, file(&world, "One").await),
        ("b".to_string(), file(&world, "two").await, FileState::Absent),
        ("dir/new".to_string(), FileState::Absent, file(&world, "n").await),
    ];
    assert_eq!(found.await, expected);
    let FileState::File { hash, .. } = &expected[2].1 else { panic!("a file") };
    assert_eq!(world.blobs.get(hash).unwrap(), b"two");
}

#[tokio::test]
async fn what_git_does_not_look_at_is_left_alone() {
    let world =
        World::with(&[(".gitignore", "target\n*.log\n"), ("target/x", "1"), ("a.log", "1"), (".git/HEAD", "1")]);
    symlink("target/x", world.path("a.log.link")).unwrap();
    let found = found(&world, |world| {
        for path in ["target/x", "target/new", "a.log", "b.log", ".git/HEAD", ".git/new", ".mainpath-x.part", "real"] {
            world.put(path, "2");
        }
    });
    assert_eq!(names(&found.await), ["real"]);
}

async fn link(world: &World, target: &str) -> FileState {
    FileState::Link { hash: world.blobs.put(target.as_bytes().to_vec()).await.unwrap() }
}

#[tokio::test]
async fn links_are_kept_as_files_are_and_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x"), "1").unwrap();
    let world = World::with(&[("a", "1"), ("dir/x", "1")]);
    for (target, path) in [(outside.path().to_str().unwrap(), "out"), ("a", "turned"), ("dir/x", "same"), ("a", "gone")]
    {
        symlink(target, world.path(path)).unwrap();
    }
    let found = found(&world, |world| {
        std::fs::write(outside.path().join("x"), "2").unwrap();
        world.put("dir/x", "2");
        std::fs::remove_file(world.path("gone")).unwrap();
        std::fs::remove_file(world.path("turned")).unwrap();
        symlink("nowhere", world.path("turned")).unwrap();
        symlink("a", world.path("new")).unwrap();
    });
    let (to_a, nowhere) = (link(&world, "a").await, link(&world, "nowhere").await);
    let expected = [
        ("dir/x".to_string(), file(&world, "1").await, file(&world, "2").await),
        ("gone".to_string(), to_a.clone(), FileState::Absent),
        ("new".to_string(), FileState::Absent, to_a.clone()),
        ("turned".to_string(), to_a.clone(), nowhere),
    ];
    assert_eq!(found.await, expected);
    let FileState::Link { hash } = &to_a else { panic!("a link") };
    assert_eq!(world.blobs.get(hash).unwrap(), b"a");
}

#[tokio::test]
async fn a_file_that_something_else_has_replaced_is_changed() {
    let outside = tempfile::tempdir().unwrap();
    let world = World::with(&[
        ("away/x", "1"),
        ("f/x", "1"),
        ("l", "1"),
        ("d", "1"),
        ("p", "1"),
        ("dir/x", "1"),
        ("dir/y", "1"),
    ]);
    let found = found(&world, |world| {
        for path in ["l", "d", "p"] {
            std::fs::remove_file(world.path(path)).unwrap();
        }
        symlink("/etc/hostname", world.path("l")).unwrap();
        std::fs::create_dir(world.path("d")).unwrap();
        world.put("d/new", "1");
        assert!(std::process::Command::new("mkfifo").arg(world.path("p")).status().unwrap().success());
        std::fs::remove_dir_all(world.path("f")).unwrap();
        world.put("f", "1");
        std::fs::rename(world.path("dir"), world.path("moved")).unwrap();
        symlink("moved", world.path("dir")).unwrap();
        std::fs::remove_dir_all(world.path("away")).unwrap();
        symlink(outside.path(), world.path("away")).unwrap();
    });
    let to_outside = link(&world, outside.path().to_str().unwrap()).await;
    let one = file(&world, "1").await;
    let (none, fifo) = (FileState::Absent, FileState::Unknown);
    let expected = [
        ("away", &none, &to_outside),
        ("away/x", &one, &none),
        ("d", &one, &none),
        ("d/new", &none, &one),
        ("dir", &none, &link(&world, "moved").await),
        ("dir/x", &one, &none),
        ("dir/y", &one, &none),
        ("f", &none, &one),
        ("f/x", &one, &none),
        ("l", &one, &link(&world, "/etc/hostname").await),
        ("p", &one, &fifo),
    ];
    let expected: Vec<_> = expected.iter().map(|(path, a, b)| (path.to_string(), (*a).clone(), (*b).clone())).collect();
    let found = found.await;
    // A folder that only got another name keeps the times of what is in it.
    assert_eq!(found.into_iter().filter(|(path, ..)| !path.starts_with("moved")).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn names_that_are_no_text_are_said_not_to_be_kept_and_do_not_hide_the_others() {
    let world = World::with(&[("a", "1")]);
    let odd = |byte: u8| world.path("").join(std::ffi::OsStr::from_bytes(&[b'o', byte]));
    std::fs::write(odd(0xff), "1").unwrap();
    let taken = before(&world, Snapshot::default()).await;
    assert_eq!(taken.notes, ["a file whose name is not UTF-8 is not kept: o\u{fffd}"]);
    std::fs::remove_file(world.path("a")).unwrap();
    world.put("b", "1");
    let changes = taken.changes(&after(&world, &taken).await, &world.workspace);
    assert_eq!(changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    std::fs::write(odd(0xfe), "1").unwrap();
    let notes = before(&world, Snapshot::default()).await.notes;
    assert_eq!(notes, ["2 files whose names are not UTF-8 are not kept, the first: o\u{fffd}"]);
}

#[tokio::test]
async fn files_that_a_changed_ignore_file_uncovers_or_covers_are_no_change() {
    let world = World::with(&[(".gitignore", "build\n"), ("build/old", "1"), ("b", "1"), ("c", "1")]);
    tokio::time::sleep(Duration::from_millis(120)).await;
    let found = found(&world, |world| {
        world.put(".gitignore", "b\nc\n");
        std::fs::remove_file(world.path("c")).unwrap();
    });
    assert_eq!(names(&found.await), [".gitignore", "c"]);
}

#[tokio::test]
async fn a_change_of_the_mode_or_within_the_same_moment_and_size_is_found() {
    let world = World::with(&[("mode", "1"), ("quick", "1")]);
    let found = found(&world, |world| {
        std::fs::set_permissions(world.path("mode"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let times = std::fs::metadata(world.path("quick")).unwrap().modified().unwrap();
        world.put("quick", "2");
        std::fs::File::options().write(true).open(world.path("quick")).unwrap().set_modified(times).unwrap();
    });
    assert_eq!(names(&found.await), ["mode", "quick"]);
}

#[tokio::test]
async fn what_is_too_large_to_be_kept_is_unknown_and_said() {
    let world = World::with(&[]);
    let large = || std::fs::File::create(world.path("large")).unwrap();
    large().set_len(MOST_KEPT + 1).unwrap();
    let taken = before(&world, Snapshot::default()).await;
    assert_eq!(taken.notes, ["1 file is too large, or too many, to be kept"]);
    assert_eq!(taken.changes(&after(&world, &taken).await, &world.workspace), []);
    large().set_len(MOST_KEPT + 2).unwrap();
    let change = FileChange { path: "large".into(), before: FileState::Unknown, after: FileState::Unknown };
    assert_eq!(taken.changes(&after(&world, &taken).await, &world.workspace), [change]);
}

#[tokio::test]
async fn a_snapshot_that_was_not_finished_takes_no_file_for_new_or_removed() {
    let world = World::with(&[("a", "1"), ("b", "1")]);
    let stopped = CancellationToken::new();
    stopped.cancel();
    let none = Snapshot::take(&world.workspace, Snapshot::default(), Some(&*world.blobs), &stopped).await;
    let all = before(&world, Snapshot::default()).await;
    assert_eq!((none.changes(&all, &world.workspace), all.changes(&none, &world.workspace)), (vec![], vec![]));
}

#[tokio::test]
async fn what_was_looked_at_after_one_call_is_kept_before_the_next() {
    let world = World::with(&[("a", "1")]);
    let first = before(&world, Snapshot::default()).await;
    world.put("a", "2");
    let between = after(&world, &first).await;
    tokio::time::sleep(Duration::from_millis(120)).await;
    let second = before(&world, between).await;
    world.put("a", "3");
    let changes = second.changes(&after(&world, &second).await, &world.workspace);
    let FileState::File { hash, .. } = &changes[0].before else { panic!("{changes:?}") };
    assert_eq!(world.blobs.get(hash).unwrap(), b"2");
}
