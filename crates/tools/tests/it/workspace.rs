use crate::support::{World, pair};
use mainpath_tools::{Resolved, Workspace};
use serde_json::json;
use std::os::unix::fs::symlink;
use std::sync::Arc;

fn resolved(absolute: impl Into<std::path::PathBuf>, in_workspace: bool, protected: bool) -> Resolved {
    Resolved { absolute: absolute.into(), in_workspace, protected }
}

#[test]
fn paths_lead_where_the_kernel_would_go() {
    let world = World::with(&[("a.txt", ""), ("dir/b.txt", "")]);
    symlink("dir", world.path("link")).unwrap();
    symlink("/etc", world.path("etc")).unwrap();
    symlink("../../../../../../etc/passwd", world.path("dir/up")).unwrap();
    symlink("/nowhere/new", world.path("dangling")).unwrap();
    symlink("chain", world.path("dir/first")).unwrap();
    symlink("../a.txt", world.path("dir/chain")).unwrap();
    let root = world.workspace.root();
    let is = |path: &str| world.workspace.resolve(path).unwrap();
    assert_eq!(is("a.txt"), resolved(root.join("a.txt"), true, false));
    assert_eq!(is("."), resolved(root, true, false));
    assert_eq!(is("dir/../a.txt"), resolved(root.join("a.txt"), true, false));
    assert_eq!(is("link/b.txt"), resolved(root.join("dir/b.txt"), true, false));
    assert_eq!(is("link/../a.txt"), resolved(root.join("a.txt"), true, false));
    assert_eq!(is("dir/first"), resolved(root.join("a.txt"), true, false));
    assert_eq!(is("new/deep/../c"), resolved(root.join("new/c"), true, false));
    assert_eq!(is(root.join("a.txt").to_str().unwrap()), resolved(root.join("a.txt"), true, false));
    assert_eq!(is(".."), resolved(root.parent().unwrap(), false, false));
    assert_eq!(is("../x"), resolved(root.parent().unwrap().join("x"), false, false));
    assert_eq!(is("etc/hosts"), resolved("/etc/hosts", false, false));
    assert_eq!(is("dir/up"), resolved("/etc/passwd", false, false));
    assert_eq!(is("dangling"), resolved("/nowhere/new", false, false));
    assert!(!is("/proc/self/root/etc").in_workspace);
}

#[tokio::test]
async fn a_workspace_whose_path_leads_elsewhere_is_used_by_no_tool() {
    for other_folder in [false, true] {
        let parent = tempfile::tempdir().unwrap();
        let (path, moved) = (parent.path().join("work"), parent.path().join("moved"));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("a.txt"), "a\n").unwrap();
        let workspace = Arc::new(Workspace::new(&path, vec![]).unwrap());
        let mut world = World::new();
        world.workspace = workspace;
        assert_eq!(world.say("read_text_file", json!({"path": "a.txt"})).await.0, "ok");
        std::fs::rename(&path, &moved).unwrap();
        if other_folder {
            std::fs::create_dir(&path).unwrap();
        }
        let why = format!(
            "The workspace {} is not the folder any more that this run started in: it was renamed, removed, replaced or unmounted. \
             Nothing was done.",
            path.canonicalize().unwrap_or(path.clone()).display()
        );
        for (tool, args) in [
            ("read_text_file", json!({"path": "a.txt"})),
            ("write_text_file", json!({"path": "b.txt", "content": "b"})),
            ("edit_text_file", json!({"path": "a.txt", "edits": [{"old_text": "a", "new_text": "b"}]})),
            ("list_files", json!({})),
            ("glob", json!({"pattern": "*"})),
            ("grep", json!({"pattern": "a"})),
            ("bash", json!({"command": "echo b > b.txt"})),
            ("bash", json!({"command": "echo b > b.txt", "background": true})),
            ("sandbox", json!({"command": "ls"})),
        ] {
            assert_eq!(world.say(tool, args).await, pair("workspace_changed", &why), "{tool} {other_folder}");
        }
        let names = |folder: &std::path::Path| std::fs::read_dir(folder).map_or(0, Iterator::count);
        assert_eq!((names(&path), names(&moved)), (0, 1), "{other_folder}");
        assert_eq!(std::fs::read_to_string(moved.join("a.txt")).unwrap(), "a\n");
    }
}

#[test]
fn a_neighbour_whose_name_begins_alike_lies_outside() {
    let world = World::new();
    let name = world.workspace.root().to_str().unwrap().to_string();
    assert!(!world.workspace.resolve(&format!("{name}-other/x")).unwrap().in_workspace);
}

#[test]
fn what_is_no_path_is_a_problem_in_one_line() {
    let world = World::new();
    symlink("loop", world.path("loop")).unwrap();
    let text = |path: &str| world.workspace.resolve(path).unwrap_err().to_string();
    assert_eq!(text(""), r#""" is not a usable path: it is empty or holds a NUL character."#);
    assert_eq!(text("a\0b"), r#""a\0b" is not a usable path: it is empty or holds a NUL character."#);
    assert_eq!(text("loop"), r#""loop" is not a usable path: too many links."#);
}

#[test]
fn protected_folders_are_known_also_inside_the_workspace_and_through_links() {
    let world = World::with(&[(".mainpath/data/log", "")]);
    symlink(".mainpath/data", world.path("innocent")).unwrap();
    let protected = vec![world.path(".mainpath"), world.path("not-yet")];
    let workspace = Workspace::new(world.path(""), protected).unwrap();
    let is_protected = |path: &str| workspace.resolve(path).unwrap().protected;
    assert!(is_protected(".mainpath/data/log"));
    assert!(is_protected(".mainpath"));
    assert!(is_protected("innocent/log"));
    assert!(is_protected("not-yet/file"));
    assert!(!is_protected(".mainpath2"));
}

#[test]
fn a_workspace_must_be_a_folder() {
    let world = World::with(&[("file", "")]);
    assert!(Workspace::new(world.path("file"), vec![]).is_err());
    assert!(Workspace::new(world.path("missing"), vec![]).is_err());
}

#[tokio::test]
async fn no_tool_reaches_out_of_the_workspace() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("a"), "old").unwrap();
    let world = World::new();
    symlink(outside.path(), world.path("out")).unwrap();
    symlink(outside.path().join("new"), world.path("dangling")).unwrap();
    let absolute = outside.path().join("a").to_str().unwrap().to_string();
    for path in ["out/a", "dangling", "../x", &absolute] {
        let words = format!("{path:?} lies outside the workspace; use a path inside it.");
        assert_eq!(world.say("read", json!({"path": path})).await, pair("outside_workspace", words.clone()));
        assert_eq!(
            world.say("write", json!({"path": path, "content": "new"})).await,
            pair("outside_workspace", words.clone())
        );
        let edits = json!({"path": path, "edits": [{"old_text": "old", "new_text": "new"}]});
        assert_eq!(world.say("edit", edits).await, pair("outside_workspace", words));
    }
    assert_eq!(std::fs::read_to_string(outside.path().join("a")).unwrap(), "old");
    assert!(!outside.path().join("new").exists());
}

#[tokio::test]
async fn no_tool_reaches_a_protected_folder() {
    let mut world = World::with(&[("data/log", "truth")]);
    world.workspace = Workspace::new(world.path(""), vec![world.path("data")]).unwrap().into();
    let words = r#""data/log" belongs to Mainpath itself, which no tool may touch."#;
    assert_eq!(world.say("read", json!({"path": "data/log"})).await, pair("protected", words));
    assert_eq!(world.say("write", json!({"path": "data/log", "content": ""})).await, pair("protected", words));
    assert_eq!(world.get("data/log"), "truth");
}
