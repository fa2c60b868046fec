//! What Mainpath creates can only be read by its owner, whatever the umask is; and a file of rules that leads nowhere is an error.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// Everything below a folder that others can read, write or enter.
fn open_to_others(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, data) = (entry.path(), entry.metadata().unwrap());
        if !data.is_symlink() && data.permissions().mode() & 0o077 != 0 {
            found.push(format!("{:o} {}", data.permissions().mode(), path.display()));
        } else if data.is_dir() {
            open_to_others(&path, found);
        }
    }
}

/// A model that has two agents write in copies of the folder at the same time: their first answers wait at the gate.
fn two_writers(gate: &Gate) -> ModelServer {
    let gate = gate.clone();
    server(move |request| {
        let task = crate::children::task(request.body());
        // Something may come before the task.
        let name = ["a.", "b."].into_iter().find(|name| task.contains(&format!("Write {name}")));
        match (name, request.count("assistant")) {
            (Some(name), 0) => {
                let write = Answer::call("write_text_file", json!({"path": name, "content": "x"}));
                write.behind(&gate).into()
            }
            (None, 0) => {
                let first = Answer::call("agent", json!({"task": "Write a."}));
                first.and_call("agent", json!({"task": "Write b."})).into()
            }
            _ => Answer::text("Done.").into(),
        }
    })
}

#[test]
fn nothing_that_is_created_is_open_to_others_under_any_umask() {
    for umask in ["000", "022", "077"] {
        let place = Place::new();
        // As the user made it, before Mainpath was there.
        std::fs::create_dir_all(&place.home).unwrap();
        std::fs::set_permissions(&place.home, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(place.home.join("config.toml"), "context_window = 64000\n").unwrap();
        std::fs::set_permissions(place.home.join("config.toml"), std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut git = Command::new("sh");
        place.surround(&mut git);
        git.args(["-c", "git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first"]);
        assert_eq!(finish(git, None).code, 0);
        let gate = Gate::default();
        let model = two_writers(&gate);
        let under = |args: &[&str]| {
            let mut command = Command::new("sh");
            place.surround(&mut command);
            command.args(["-c", "umask \"$0\" && exec \"$@\"", umask, env!("CARGO_BIN_EXE_mainpath")]).args(args);
            command
        };
        let with_umask = |args: &[&str]| {
            let done = finish(under(args), None);
            assert_eq!(done.code, 0, "{args:?}: {done:#?}");
        };
        let task = "Have two agents write.";
        let mut run = Process::start(under(&["run", "--yes", "-m", &model.model(), "--session", "one", task]));
        // Of two that begin in the same moment one may be refused: then the other works in the folder, and there is no copy.
        let refused = || {
            let root = place.traces().into_iter().find(|trace| !trace.contains('@'));
            let events = root.map_or_else(Vec::new, |root| place.events(&root));
            events
                .into_iter()
                .find(|event| event["type"] == "sub_trace_completed" && !event["data"]["problem"].is_null())
        };
        wait_until("both agents have asked their model", || {
            assert_eq!(refused(), None, "umask {umask}");
            model.requests().len() == 3
        });
        gate.open();
        let done = run.end();
        assert_eq!(done.code, 0, "{done:#?}");
        with_umask(&["skills", "list"]);
        with_umask(&["sign", "--new-key"]);
        with_umask(&["sign"]);
        let mut found = Vec::new();
        open_to_others(&place.home, &mut found);
        // Below this folder are copies with the modes of the workspace.
        let trees = place.root().join(".cache/mainpath/worktrees");
        for folder in [place.root().join(".cache/mainpath"), trees.clone()] {
            let mode =
                folder.metadata().unwrap_or_else(|error| panic!("{}: {error}", folder.display())).permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{umask} {}", folder.display());
        }
        open_to_others(&trees, &mut found);
        assert_eq!(found, Vec::<String>::new(), "umask {umask}");
    }
}

#[test]
fn rules_behind_a_link_that_leads_nowhere_are_an_error() {
    let (place, server) = (Place::new(), scripted(vec![bash("echo x > x"), Answer::text("Done.")]));
    std::fs::create_dir_all(&place.home).unwrap();
    let own = place.home.join("policy.toml");
    let project = place.work.join(".mainpath");
    for (link, named) in [(&own, "policy.toml"), (&project, ".mainpath")] {
        symlink("/nowhere/at/all", link).unwrap();
        let done = place.run_on(&server, &["--yes", "Do it."]);
        assert!(
            done.code != 0 && done.err.contains(named) && done.err.contains("is a link that leads nowhere"),
            "{done:#?}"
        );
        assert!(!place.work.join("x").exists());
        std::fs::remove_file(link).unwrap();
    }
}
