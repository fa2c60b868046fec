//! Agents that write side by side: each in a copy of the folder, which stays as it was until somebody takes their changes.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The words of a request's first message of a person.
fn task(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let first = messages.iter().find(|message| message["role"] == "user").unwrap();
    match &first["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap().into(),
    }
}

/// What the tools have answered last.
fn answered(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    let said = messages.iter().rev().take_while(|message| message["role"] == "tool");
    said.map(|message| message["content"].as_str().unwrap_or_default().to_string()).collect()
}

/// The ids of the agents that handed something back.
fn children_in(body: &Value) -> Vec<String> {
    let mut found: Vec<String> = answered(body)
        .iter()
        .filter_map(|text| Some(serde_json::from_str::<Value>(text).ok()?["sub_trace_id"].as_str()?.to_string()))
        .collect();
    found.sort();
    found
}

/// A model that has two agents write in the same moment, takes what the first one made, and leaves the other.
fn two_writers() -> ModelServer {
    server(|request| {
        let (task, turn) = (task(request.body()), request.count("assistant"));
        let is = |words: &str| task.contains(words);
        let answer = match turn {
            0 if is("Write a.") => Answer::call("write_text_file", json!({"path": "a.txt", "content": "from a\n"})),
            0 if is("Change b.") => Answer::call(
                "edit_text_file",
                json!({"path": "b.txt", "edits": [{"old_text": "two", "new_text": "2"}]}),
            ),
            1 if is("Write a.") => {
                bash("sleep 0.05; git status --short; cat untracked.txt; echo more >> untracked.txt; ls")
            }
            _ if is("Write a.") || is("Change b.") => {
                Answer::text(&format!("{} is done.", answered(request.body()).concat()))
            }
            0 => Answer::call("agent", json!({"task": "Write a."})).and_call("agent", json!({"task": "Change b."})),
            1 => Answer::call("take_changes", json!({"sub_trace_id": children_in(request.body())[0]})),
            _ => Answer::text("One is taken."),
        };
        answer.into()
    })
}

fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    let own = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"];
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").current_dir(folder).args(own).args(args);
    let done = command.output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// A repository with something of every kind: committed, staged, changed, new, ignored, stashed.
fn repository(top: &Path) {
    git(top, &["init", "-q"]);
    write(top, "b.txt", "one\ntwo\nthree\n");
    write(top, "staged.txt", "old\n");
    write(top, "gone.txt", "to go\n");
    write(top, ".gitignore", "ignored/\n");
    git(top, &["add", "."]);
    git(top, &["commit", "-qm", "first"]);
    write(top, "b.txt", "stashed\n");
    git(top, &["stash", "-q"]);
    write(top, "staged.txt", "new\n");
    git(top, &["add", "staged.txt"]);
    write(top, "b.txt", "zero\none\ntwo\nthree\n");
    write(top, "untracked.txt", "mine\n");
    write(top, "ignored/secret.txt", "not to be copied\n");
    std::fs::remove_file(top.join("gone.txt")).unwrap();
}

/// All that must stay as it is: the files of the folder, and of the repository all but its objects.
fn held(top: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".git/objects") {
                continue;
            }
            match path.symlink_metadata().unwrap().is_dir() {
                true => folders.push(path.clone()),
                false => {
                    drop(found.insert(path.strip_prefix(top).unwrap().into(), std::fs::read(&path).unwrap_or_default()))
                }
            }
            found.entry(path.strip_prefix(top).unwrap().into()).or_default();
        }
    }
    found
}

fn differing(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let names: std::collections::BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let differs = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    differs.map(|name| name.display().to_string()).collect()
}

fn place() -> Place {
    let place = Place::new();
    place.config("context_window = 64000\n");
    place
}

/// No worktree is left: neither in the repository nor in the cache.
fn nothing_is_left(place: &Place, top: &Path) {
    assert_eq!(git(top, &["worktree", "list"]).lines().count(), 1);
    assert!(!top.join(".git/worktrees").exists());
    let mut folders = vec![place.root().join(".cache/mainpath/worktrees"), place.home.join("worktrees")];
    let mut left = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_of_trees = entry.path().parent().unwrap().ends_with("worktrees") && entry.path().is_dir();
            if is_of_trees { folders.push(entry.path()) } else { left.push(entry.path()) }
        }
    }
    assert_eq!(left, Vec::<PathBuf>::new());
}

/// What the calls that started agents came to.
fn handed(place: &Place, root: &str) -> Vec<Value> {
    let events = place.events(root);
    let of = events.iter().filter(|event| event["type"] == "sub_trace_completed");
    let mut found: Vec<Value> = of.map(|event| event["data"].clone()).collect();
    found.sort_by_key(|one| one["call"].as_str().unwrap().to_string());
    found
}

fn root(place: &Place) -> String {
    place.traces().into_iter().find(|trace| !trace.contains('@')).unwrap()
}

#[test]
fn two_agents_write_at_once_and_the_folder_stays_as_it_was() {
    let (place, server) = (place(), two_writers());
    repository(&place.work);
    let before = held(&place.work);
    let done = place.run_on(&server, &["--yes", "Have both written."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let events = place.events(&root(&place));
    let started = events.iter().filter(|event| event["type"] == "sub_trace_started");
    let places: Vec<&str> = started.map(|event| event["data"]["place"].as_str().unwrap()).collect();
    assert_eq!(places, ["own", "own"]);
    let handed = handed(&place, &root(&place));
    let files: Vec<&Value> = handed.iter().map(|one| &one["files"]).collect();
    assert_eq!(files, [&json!(["a.txt", "untracked.txt"]), &json!(["b.txt"])], "{handed:#?}");
    // What the first one saw: the state of the folder, as not committed.
    let seen = handed[0]["answer"].as_str().unwrap();
    for line in [" M b.txt", " M staged.txt", " D gone.txt", "?? untracked.txt", "?? a.txt", "mine"] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    assert!(!seen.contains("ignored"), "{seen}");
    nothing_is_left(&place, &place.work);
    assert_eq!(differing(&before, &held(&place.work)), Vec::<String>::new());
}
