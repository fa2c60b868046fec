//! What is swapped for a link between the verdict on a call, its approval and its run.

use crate::approvals::observed;
use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

const CONFIG: &str = "[core]\n";

/// A workspace with a repository, beside which lie a file and a folder of the same looks; `link` leads to the folder.
fn repository() -> Place {
    let place = Place::new();
    for (folder, file) in [(".git", "config"), ("sub", "config"), ("", "notes.txt")] {
        std::fs::create_dir_all(place.work.join(folder)).unwrap();
        std::fs::write(place.work.join(folder).join(file), CONFIG).unwrap();
    }
    symlink("sub", place.work.join("link")).unwrap();
    place
}

/// `notes.txt` and `sub` become links to what is guarded.
const SWAP: &str = "cd \"$WORK\" && rm notes.txt && ln -s .git/config notes.txt && mv sub away && ln -s .git sub";

fn swap(place: &Place) {
    let done = std::process::Command::new("sh").args(["-c", SWAP]).env("WORK", &place.work).status().unwrap();
    assert!(done.success());
}

fn calls(path: &str) -> [(&'static str, Value); 3] {
    [
        ("write_text_file", json!({"path": path, "content": "mine"})),
        ("edit_text_file", json!({"path": path, "edits": [{"old_text": "core", "new_text": "mine"}]})),
        ("read_text_file", json!({"path": path})),
    ]
}

fn refused(path: &str) -> String {
    format!("{path}\\\" leads elsewhere than when the call was judged")
}

#[test]
fn a_call_does_not_run_elsewhere_than_it_was_judged() {
    for path in ["notes.txt", "sub/config", "link/config"] {
        for (tool, args) in calls(path) {
            let place = repository();
            let script = format!("WORK='{}'; {SWAP}", place.work.display());
            std::fs::create_dir_all(&place.home).unwrap();
            std::fs::write(place.home.join("swap.sh"), script).unwrap();
            // It comes when the call has been judged, and before it runs.
            place.config(&format!(
                "[[hooks]]\nname = \"swap\"\non = [\"before_tool\"]\ncommand = [\"sh\", \"{}\"]\n",
                place.home.join("swap.sh").display()
            ));
            let server = scripted(vec![Answer::call(tool, args), Answer::text("The end.")]);
            let done = place.run_on(&server, &["--mode", "workspace-write", "--yes", "Do it."]);
            assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
            assert!(observed(&server).contains(&refused(path)), "{tool} {path}: {}", observed(&server));
            assert_eq!((place.text(".git/config").as_str(), place.text("away/config").as_str()), (CONFIG, CONFIG));
        }
    }
}

/// A trace whose only call waits for an approval.
fn parked(tool: &'static str, args: Value) -> (Place, ModelServer, String) {
    let (place, server) = (repository(), scripted(vec![Answer::call(tool, args), Answer::text("The end.")]));
    let done = place.run_on(&server, &["--park", "--ask", tool, "Do it."]);
    let trace = place.trace();
    done.fails(5, &format!("needs approval: mainpath approve {trace} && mainpath resume {trace}"));
    (place, server, trace)
}

fn resumed(place: &Place, trace: &str) -> Done {
    let done = place.run(&["resume", trace, "--park"]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    done
}

#[test]
fn what_was_approved_is_what_runs_however_long_it_waited() {
    for path in ["notes.txt", "sub/config", "link/config"] {
        for (tool, args) in calls(path) {
            for swapped_first in [true, false] {
                let (place, server, trace) = parked(tool, args.clone());
                if swapped_first {
                    swap(&place);
                }
                place.ok(&["approve", &trace]);
                if !swapped_first {
                    swap(&place);
                }
                resumed(&place, &trace);
                assert!(observed(&server).contains(&refused(path)), "{tool} {path}: {}", observed(&server));
                assert_eq!((place.text(".git/config").as_str(), place.text("away/config").as_str()), (CONFIG, CONFIG));
            }
        }
    }
}

#[test]
fn where_a_link_leads_is_told_before_it_is_approved_and_then_followed() {
    let (place, server, trace) = parked("write_text_file", json!({"path": "link/new/config", "content": "mine"}));
    let real = place.work.join("sub/new/config");
    let told = place.ok(&["show", &trace]);
    assert!(told.contains(&format!("it links to {}", real.display())), "{told}");
    place.ok(&["approve", &trace]);
    resumed(&place, &trace);
    assert!(observed(&server).contains("Created link/new/config"), "{}", observed(&server));
    assert_eq!(place.text("sub/new/config"), "mine");
    let watched = place.ok(&["watch", &trace, "--json"]);
    let told: Vec<Value> = watched.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for kind in ["action_planned", "approval_required"] {
        let of = told.iter().find(|event| event["type"] == kind).unwrap();
        assert_eq!(of["data"]["places"], json!([real]), "{kind}");
    }
    place.ok(&["replay", &trace]);
}

#[test]
fn an_approval_with_another_path_is_good_for_that_place_alone() {
    let edited = json!({"path": "sub/config", "content": "mine"}).to_string();
    let first = json!({"path": "other", "content": "mine"});
    let (place, _server, trace) = parked("write_text_file", first.clone());
    place.ok(&["approve", &trace, "--arguments", &edited]);
    resumed(&place, &trace);
    assert_eq!(place.text("sub/config"), "mine");
    // Whoever looks at the run sees what was run.
    assert!(place.ok(&["show", &trace]).contains("sub/config"), "{}", place.ok(&["show", &trace]));
    let played = place.run(&["play", &trace, "--speed", "max"]);
    assert!(played.err.contains("with other arguments: sub/config"), "{played:#?}");
    assert!(place.ok(&["query", "args.path=sub/config"]).contains(&trace));
    assert_eq!(place.run(&["query", "args.path=other"]).code, 1);

    let (place, server, trace) = parked("write_text_file", first);
    place.ok(&["approve", &trace, "--arguments", &edited]);
    swap(&place);
    resumed(&place, &trace);
    let real = place.work.join(".git/config");
    let words = format!("By links the paths lead to {}, which nobody has approved", real.display());
    assert!(observed(&server).contains(&words), "{}", observed(&server));
    assert_eq!(place.text(".git/config"), CONFIG);
}
