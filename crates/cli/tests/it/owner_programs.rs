//! Programs that the configuration names: none of them, and nothing that they load, comes from the workspace.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A place whose workspace has the files that a hostile repository would: each notes its name in `pwned`, outside the workspace.
fn hostile() -> Place {
    let place = Place::new();
    let pwned = place.root().join("pwned");
    let python = format!("open({:?}, 'a').write('%s\\n')\nprint('{{}}')\n", pwned.display().to_string());
    for name in ["guard.py", "json.py", "tools/server.py"] {
        write(&place.work.join(name), &python.replace("%s", name));
    }
    let program = place.work.join("bin/python3");
    write(&program, &format!("#!/bin/sh\necho bin/python3 >> {}\necho '{{}}'\n", pwned.display()));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    place
}

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// The hostile files that ran.
fn pwned(place: &Place) -> String {
    std::fs::read_to_string(place.root().join("pwned")).unwrap_or_default()
}

/// A run with one call of bash, with the workspace's programs first in `PATH`.
fn run(place: &Place) -> (Done, ModelServer) {
    let server = scripted(vec![bash("echo ran >> ran"), Answer::text("Done.")]);
    let mut command = place.command(&["run", "--yes", "-m", &server.model(), "Do it."]);
    command.env("PATH", format!("{}:{}", place.work.join("bin").display(), std::env::var("PATH").unwrap()));
    (finish(command, None), server)
}

fn hook(command: &str) -> String {
    format!("[[hooks]]\nname = \"guard\"\non = [\"before_tool\"]\ncommand = {command}\n")
}

#[test]
fn a_hook_runs_the_file_next_to_the_configuration() {
    let place = hostile();
    let noted = place.root().join("noted");
    let guard =
        format!("import json, sys\nopen({:?}, 'a').write(json.load(sys.stdin)['workspace'])\n", noted.display());
    place.config(&hook("[\"python3\", \"guard.py\"]"));
    write(&place.home.join("guard.py"), &guard);
    let (done, _) = run(&place);
    assert_eq!((done.code, place.text("ran").as_str(), pwned(&place).as_str()), (0, "ran\n", ""), "{done:#?}");
    let workspace = place.work.canonicalize().unwrap();
    assert_eq!(std::fs::read_to_string(noted).unwrap(), workspace.display().to_string());
}

#[test]
fn a_hook_loads_nothing_from_the_workspace() {
    let inside = |place: &Place, name: &str| place.work.join(name).display().to_string();
    let place = hostile();
    for (command, why) in [
        // The file is only in the workspace.
        ("[\"python3\", \"guard.py\"]".to_string(), "can't open file"),
        (format!("[\"python3\", {:?}]", inside(&place, "guard.py")), "which an agent can change"),
        (format!("[\"sh\", \"-c\", \"python3 {}\"]", inside(&place, "guard.py")), "which an agent can change"),
        (format!("[{:?}]", inside(&place, "bin/python3")), "which an agent can change"),
    ] {
        place.config(&hook(&command));
        let (done, server) = run(&place);
        let told = server.requests().pop().unwrap().body()["messages"].to_string();
        assert!(
            told.contains("Denied (hook.guard): The hook guard failed:") && told.contains(why),
            "{command}: {told}"
        );
        assert_eq!((pwned(&place).as_str(), place.work.join("ran").exists()), ("", false), "{command}: {done:#?}");
    }
    // What an interpreter imports is not the workspace's either.
    place.config(&hook("[\"python3\", \"-c\", \"import json; print('{}')\"]"));
    let (done, _) = run(&place);
    assert_eq!((done.code, place.text("ran").as_str(), pwned(&place).as_str()), (0, "ran\n", ""), "{done:#?}");
}

/// An agent that works in the other folder could change the file.
#[test]
fn a_hook_loads_nothing_from_another_folder_in_which_agents_of_the_server_work() {
    let place = hostile();
    let other = place.root().join("other");
    let pwned_by_other =
        format!("open({:?}, 'a').write('other\\n')\nprint('{{}}')\n", place.root().join("pwned").display());
    write(&other.join("guard.py"), &pwned_by_other);
    let hook = hook(&format!("[\"python3\", {:?}]", other.join("guard.py").display().to_string()));
    place.config(&format!("[server]\nworkspaces = [{:?}, {:?}]\n{hook}", place.work.display(), other.display()));
    let (done, server) = run(&place);
    let told = server.requests().pop().unwrap().body()["messages"].to_string();
    assert!(told.contains("Denied (hook.guard)") && told.contains("which an agent can change"), "{told}");
    assert_eq!((pwned(&place).as_str(), place.work.join("ran").exists()), ("", false), "{done:#?}");
}

#[test]
fn every_point_of_a_hook_context_hooks_and_witnesses_load_nothing_from_the_workspace() {
    let place = hostile();
    let points = "[\"after_tool\", \"run_start\", \"run_end\", \"turn_start\", \"turn_end\"]";
    let command = "command = [\"python3\", \"-c\", \"import json; print('{}')\"]";
    place.ok(&["sign", "--new-key"]);
    place.config(&format!(
        "[sign]\nat_end = true\nwitness_command = \"python3 -c 'import json' && cat >> heads\"\n\
         [[hooks]]\nname = \"all\"\non = {points}\n{command}\n[[context_hooks]]\nname = \"news\"\n{command}\n"
    ));
    let (done, _) = run(&place);
    assert_eq!((done.code, place.text("ran").as_str(), pwned(&place).as_str()), (0, "ran\n", ""), "{done:#?}");
    assert_eq!(std::fs::read_to_string(place.home.join("heads")).unwrap().lines().count(), 1);
    let guard = place.work.join("guard.py").display().to_string();
    place.config(&format!("[sign]\nat_end = true\nwitness_command = \"python3 {guard}\"\n"));
    let (done, _) = run(&place);
    assert!(done.err.contains("the witness command was not started: it names"), "{done:#?}");
    assert_eq!(pwned(&place), "");
}

#[test]
fn only_a_file_outside_the_workspace_starts_an_mcp_server_outside_the_sandbox() {
    let place = hostile();
    let server = json!({"command": "python3", "args": ["tools/server.py"], "sandbox": "full"});
    let file = place.work.join(".mcp.json");
    write(&file, &json!({"mcpServers": {"s": server}}).to_string());
    place.ok(&["mcp", "trust", "s"]);
    let line = "the MCP server \"s\" runs in the sandbox: only a file outside the workspace";
    let (done, _) = run(&place);
    assert!(done.err.contains(line), "{done:#?}");
    let run_file = place.run(&["run", "--yes", "-m", "scripted", "--mcp-config", file.to_str().unwrap(), "x"]);
    assert!(run_file.err.contains(line), "{run_file:#?}");
    assert_eq!(pwned(&place), "");
}

#[test]
fn an_mcp_server_outside_the_sandbox_runs_no_file_of_the_workspace() {
    let place = hostile();
    let theirs = place.work.join("tools/server.py").display().to_string();
    let entry = |file: &str, more: &str| format!("[mcp.servers.s]\ncommand = \"python3\"\nargs = [{file:?}]\n{more}\n");
    place.config(&entry(&theirs, "sandbox = \"full\""));
    let (done, _) = run(&place);
    assert!(done.err.contains("which an agent can change"), "{done:#?}");
    place.config(&entry("tools/server.py", &format!("sandbox = \"full\"\ncwd = {:?}", place.work.display())));
    let (done, _) = run(&place);
    assert!(done.err.contains("it starts in") && done.err.contains("which an agent can change"), "{done:#?}");
    let noted = place.root().join("noted");
    write(
        &place.root().join("own/server.py"),
        &format!("import os\nopen({noted:?}, 'a').write(os.getcwd() + '\\n')\n"),
    );
    place.config(&entry("own/server.py", "sandbox = \"full\""));
    let (done, _) = run(&place);
    let home = place.root().canonicalize().unwrap().display().to_string();
    let folders = std::fs::read_to_string(noted).unwrap_or_default();
    assert!(folders.lines().all(|line| line == home) && !folders.is_empty(), "{done:#?}");
    assert_eq!(pwned(&place), "");
}

#[test]
fn what_runs_outside_the_sandbox_loads_nothing_from_the_workspace_by_a_variable() {
    let place = hostile();
    let work = place.work.display().to_string();
    let entry = |env: &str| {
        format!("[mcp.servers.s]\ncommand = \"python3\"\nargs = [\"-m\", \"guard\"]\nsandbox = \"full\"\nenv = {env}\n")
    };
    for env in [format!("{{ PYTHONPATH = {work:?} }}"), format!("{{ PATH = \"{work}/bin:/usr/bin\" }}")] {
        place.config(&entry(&env));
        let (done, _) = run(&place);
        let told = ["its variable P", "names ", "which an agent can change"].iter().all(|part| done.err.contains(part));
        assert!(told && pwned(&place).is_empty(), "{env}: {done:#?}");
    }
    // What Mainpath's own environment has of the kind is left out.
    let command = "[\"python3\", \"-c\", \"import json; print('{}')\"]";
    place.config(&format!("{}{}", entry("{}"), hook(command)));
    let server = scripted(vec![bash("echo ran >> ran"), Answer::text("Done.")]);
    let mut command = place.command(&["run", "--yes", "-m", &server.model(), "Do it."]);
    command.env("PYTHONPATH", &work);
    let done = finish(command, None);
    assert_eq!((done.code, pwned(&place).as_str()), (0, ""), "{done:#?}");
    assert!(done.err.contains("No module named guard") && place.work.join("ran").exists(), "{done:#?}");
}

#[test]
fn the_hook_of_the_documentation_works_as_it_is_written() {
    let page = include_str!("../../../../docs/control.md");
    let (_, from) = page.split_once("[[hooks]]\n").unwrap();
    let (entry, _) = from.split_once("```").unwrap();
    let place = hostile();
    place.config(&format!("[[hooks]]\n{entry}"));
    let deny = "import json, sys\nevent = json.load(sys.stdin)\nprint(json.dumps({'decision': 'deny', 'reason': 'Not today.'}))\n";
    write(&place.home.join("guard.py"), deny);
    let (_, server) = run(&place);
    let told = server.requests().pop().unwrap().body()["messages"].to_string();
    assert!(told.contains("Denied (hook.guard): Not today.") && pwned(&place).is_empty(), "{told}");
}
