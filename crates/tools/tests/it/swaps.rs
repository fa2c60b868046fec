//! What is swapped for a link after a call was judged.

use crate::support::{World, pair, said};
use mainpath_tools::{JsonTransform, ProbeAnswer, ToolContext, Workspace};
use serde_json::{Value, json};
use std::fs::{create_dir, remove_dir_all, remove_file, rename};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A repository with a file and a folder that rules let be changed; `link` leads to the folder.
fn repository() -> World {
    let mut world = World::with(&[
        (".git/config", "[core]\n"),
        (".git/hooks/run", "true\n"),
        ("notes.txt", "[core]\n"),
        ("sub/config", "[core]\n"),
        ("sub/hooks/run", "true\n"),
    ]);
    symlink("sub", world.path("link")).unwrap();
    world.tools = world.tools.with(JsonTransform::new(env!("CARGO_BIN_EXE_mainpath-filter"), vec![]));
    world
}

/// What has to be as it was.
fn guarded(world: &World) -> [String; 2] {
    [world.get(".git/config"), world.get(".git/hooks/run")]
}

/// Calls of every tool that opens files, for one file and its folder.
fn calls(file: &str) -> Vec<(&'static str, Value)> {
    let folder = Path::new(file).parent().unwrap().to_str().unwrap();
    let mut calls = vec![
        ("read_text_file", json!({"path": file})),
        ("write_text_file", json!({"path": file, "content": "mine"})),
        ("edit_text_file", json!({"path": file, "edits": [{"old_text": "core", "new_text": "mine"}]})),
        ("grep", json!({"pattern": "core", "path": file})),
        ("json_transform", json!({"filter": ".", "path": file})),
    ];
    if !folder.is_empty() {
        calls.push(("list_files", json!({"path": folder})));
        calls.push(("glob", json!({"pattern": "*", "path": folder})));
        calls.push(("grep", json!({"pattern": "core", "path": folder})));
    }
    calls
}

fn swap(at: PathBuf, target: impl AsRef<Path>) {
    if at.is_dir() && !at.is_symlink() {
        rename(&at, at.with_extension("away")).unwrap();
    } else if at.is_symlink() || at.exists() {
        remove_file(&at).unwrap();
    }
    symlink(target, at).unwrap();
}

fn changed(path: &Value) -> (String, String) {
    let text = format!(
        "{path} leads elsewhere than when the call was judged, so nothing was done; call again if it is still wanted."
    );
    pair("path_changed", text)
}

#[tokio::test]
async fn a_path_that_leads_elsewhere_by_the_time_the_call_runs_is_not_opened() {
    let outside = World::with(&[("config", "[core]\n"), ("hooks/run", "true\n")]);
    let to = |path: &Path| path.to_path_buf();
    for (file, swapped, target) in [
        ("notes.txt", "notes.txt", to(Path::new(".git/config"))),
        ("notes.txt", "notes.txt", outside.path("config")),
        ("new.txt", "new.txt", to(Path::new(".git/config"))),
        ("link/config", "link", to(Path::new(".git"))),
        ("link/config", "link", outside.path("")),
        ("sub/config", "sub", to(Path::new(".git"))),
        ("link/config", "sub", to(Path::new(".git"))),
        ("sub/hooks/run", "sub", to(Path::new(".git"))),
        ("sub/hooks/run", "sub/hooks", to(Path::new("../.git/hooks"))),
        ("new/folder/run", "new", to(Path::new(".git"))),
        ("link/new", "link", to(Path::new(".git"))),
    ] {
        for (tool, args) in calls(file) {
            let world = repository();
            let ctx = world.judged(tool, &args);
            swap(world.path(swapped), &target);
            let output = world.tools.run(tool, &args.to_string(), &ctx).await;
            assert_eq!(said(&output), changed(&args["path"]), "{tool} {args}, {swapped} swapped");
            assert_eq!(guarded(&world), ["[core]\n", "true\n"]);
            assert_eq!(world.tools.probe(tool, &args.to_string(), &ctx).await, ProbeAnswer::Unknown);
            assert!(!world.path(".git/new").exists() && !world.path(".git/folder").exists());
        }
    }
    assert_eq!((outside.names(), outside.get("config")), (vec!["config".into(), "hooks".into()], "[core]\n".into()));
}

/// The call's context; `swapping` is done when the tool has looked at the file and is about to change it.
fn with_swap(world: &World, tool: &str, args: &Value, swapping: impl Fn() + Send + Sync + 'static) -> ToolContext {
    let mut ctx = world.judged(tool, args);
    ctx.changing = Arc::new(move |_| {
        swapping();
        Box::pin(std::future::ready(Ok(())))
    });
    ctx
}

#[tokio::test]
async fn what_is_swapped_while_the_tool_is_at_work_is_not_followed() {
    let outside = World::with(&[("config", "[core]\n")]);
    for (file, swapped, target) in [
        ("notes.txt", "notes.txt", PathBuf::from(".git/config")),
        ("notes.txt", "notes.txt", outside.path("config")),
        ("sub/config", "sub", ".git".into()),
        ("sub/config", "sub", outside.path("")),
        ("link/config", "sub", ".git".into()),
        ("sub/hooks/run", "sub/hooks", "../.git/hooks".into()),
        ("new/folder/run", "new", ".git".into()),
        ("new/folder/run", "new", outside.path("")),
    ] {
        let write = ("write_text_file", json!({"path": file, "content": "mine"}));
        let edit = ("edit_text_file", json!({"path": file, "edits": [{"old_text": "core", "new_text": "mine"}]}));
        let edited = ["notes.txt", "sub/config", "link/config"].contains(&file);
        for (tool, args) in [write, edit].into_iter().take(1 + usize::from(edited)) {
            let world = repository();
            let (at, to) = (world.path(swapped), target.clone());
            let ctx = with_swap(&world, tool, &args, move || swap(at.clone(), &to));
            let output = world.tools.run(tool, &args.to_string(), &ctx).await;
            assert_eq!(said(&output), changed(&args["path"]), "{tool} {args}, {swapped} swapped");
            assert_eq!(output.changes, []);
            assert_eq!(guarded(&world), ["[core]\n", "true\n"]);
            assert!(!world.path(".git/folder").exists());
            assert!(world.names().iter().all(|name| !name.ends_with(".part")), "{:?}", world.names());
        }
    }
    assert_eq!((outside.names(), outside.get("config")), (vec!["config".into()], "[core]\n".into()));
}

#[tokio::test]
async fn a_link_that_goes_on_leading_to_the_same_place_is_followed() {
    let world = repository();
    symlink("made/later.txt", world.path("dangling")).unwrap();
    for (file, place) in [("link/config", "sub/config"), ("dangling", "made/later.txt"), ("link/new/a", "sub/new/a")] {
        let args = json!({"path": file, "content": "mine"});
        let planned = world.tools.plan("write", &args.to_string(), &world.workspace).unwrap();
        assert_eq!(planned.places, [world.workspace.root().join(place).to_str().unwrap()]);
        let ctx = world.judged("write", &args);
        // Another link to the same place is as good.
        if file.starts_with("link") {
            swap(world.path("link"), world.path("sub"));
        }
        let output = world.tools.run("write", &args.to_string(), &ctx).await;
        assert_eq!((output.error, world.get(place)), (None, "mine".into()), "{file}");
        assert_eq!(output.changes[0].path, place);
    }
}

#[tokio::test]
async fn a_folder_that_took_another_s_place_is_that_place() {
    let world = repository();
    let args = json!({"path": "sub/config", "content": "mine"});
    let ctx = world.judged("write", &args);
    remove_dir_all(world.path("sub")).unwrap();
    create_dir(world.path("sub")).unwrap();
    let output = world.tools.run("write", &args.to_string(), &ctx).await;
    assert_eq!((output.error, world.get("sub/config")), (None, "mine".into()));
}

#[tokio::test]
async fn a_workspace_behind_a_link_is_the_folder_that_the_link_led_to() {
    let (home, other) = (World::with(&[("w/a", "here"), (".git/config", "")]), World::with(&[("a", "there")]));
    symlink(home.path("w"), home.path("link")).unwrap();
    let mut world = World::new();
    let open = || Arc::new(Workspace::new(home.path("link"), vec![]).unwrap());
    world.workspace = open();
    let read = json!({"path": "a"});
    assert_eq!(world.say("read", read.clone()).await, pair("ok", "here"));
    assert_eq!(world.run("write", json!({"path": "deep/er/b", "content": "x"})).await.error, None);
    assert_eq!(home.get("w/deep/er/b"), "x");
    let (judged, write) = (world.judged("read", &read), json!({"path": "config", "content": "mine"}));
    let judged_to_write = world.judged("write", &write);
    for target in [other.path(""), home.path(".git")] {
        swap(home.path("link"), target);
        // The folder that is open stays what it was; whoever opens it anew sees that it is another.
        assert_eq!(said(&world.tools.run("read", &read.to_string(), &judged).await), pair("ok", "here"));
        let anew = |ctx: &ToolContext| {
            let mut ctx = ctx.clone();
            ctx.workspace = open();
            ctx
        };
        assert_eq!(said(&world.tools.run("read", &read.to_string(), &anew(&judged)).await), changed(&json!("a")));
        let wrote = world.tools.run("write", &write.to_string(), &anew(&judged_to_write)).await;
        assert_eq!(said(&wrote), changed(&json!("config")));
    }
    assert_eq!((home.get(".git/config").as_str(), other.names()), ("", vec!["a".to_string()]));
}

#[tokio::test]
async fn a_grant_is_good_for_the_places_that_it_names_and_for_as_many() {
    let world = repository();
    let place = |path: &str| world.workspace.root().join(path).to_str().unwrap().to_string();
    let run = async |path: &str, places: Vec<String>| {
        let args = json!({"path": path}).to_string();
        let mut ctx = world.context("read");
        ctx.grant = ctx.grant.at(places);
        said(&world.tools.run("read", &args, &ctx).await)
    };
    assert_eq!(run("link/config", vec![place("sub/config")]).await, pair("ok", "[core]\n"));
    assert_eq!(run("link/../notes.txt", vec![]).await, pair("ok", "[core]\n"));
    assert_eq!(run("./sub/../notes.txt", vec![]).await, pair("ok", "[core]\n"));
    assert_eq!(run("link/config", vec![]).await, changed(&json!("link/config")));
    assert_eq!(run("notes.txt", vec![place("sub/config")]).await, changed(&json!("notes.txt")));
    let words = "The grant is for other paths than the call's; nothing was run.";
    assert_eq!(run("notes.txt", vec![place("notes.txt"), place("sub")]).await, pair("no_grant", words));
}

#[test]
fn a_link_to_a_name_that_is_not_utf_8_is_no_usable_path() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    symlink(std::ffi::OsStr::from_bytes(b"na\xffme"), world.path("link")).unwrap();
    let problem = world.workspace.resolve("link").unwrap_err();
    assert_eq!(problem.to_string(), r#""link" is not a usable path: it leads to a name that is not UTF-8."#);
}
