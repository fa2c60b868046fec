//! Agents that write side by side: each in a copy of the folder, which stays as it was until somebody takes their changes.

use crate::children::task;
use crate::pty::Terminal;
use crate::support::*;
use mainpath_testkit::model_server::{Answer, Gate, ModelServer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tools have answered last.
fn answered(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    let said = messages.iter().rev().take_while(|message| message["role"] == "tool");
    said.map(|message| message["content"].as_str().unwrap_or_default().to_string()).collect()
}

/// The id of the agent that handed a file back.
fn writer_of(file: &str, body: &Value) -> String {
    let handed = answered(body).into_iter().filter_map(|text| serde_json::from_str::<Value>(&text).ok());
    let wrote = |one: &Value| one["files_in_patch"].as_array().is_some_and(|files| files.contains(&json!(file)));
    let mut found = handed.filter(wrote).map(|one| one["sub_trace_id"].as_str().unwrap().to_string());
    found.next().unwrap_or_default()
}

/// A model that has two agents write in the same moment, takes what the first one made, and leaves the other.
fn two_writers() -> ModelServer {
    writers(&opened(), true)
}

/// A gate at which nothing waits.
fn opened() -> Gate {
    let gate = Gate::default();
    gate.open();
    gate
}

/// The same; the first answers of the agents wait at the gate, and they run commands or none: one that is killed is not run again.
fn writers(gate: &Gate, commands: bool) -> ModelServer {
    let gate = gate.clone();
    server(move |request| {
        let (task, turn) = (task(request.body()), request.count("assistant"));
        let is = |words: &str| task.contains(words);
        let answer = match turn {
            0 if is("Write a.") => Answer::call("write_text_file", json!({"path": "a.txt", "content": "from a\n"})),
            0 if is("Change b.") => Answer::call(
                "edit_text_file",
                json!({"path": "b.txt", "edits": [{"old_text": "two", "new_text": "2"}]}),
            ),
            1 if is("Write a.") && commands => {
                bash("sleep 0.05; git status --short; cat untracked.txt; echo more >> untracked.txt; ls")
            }
            _ if is("Write a.") || is("Change b.") => {
                Answer::text(&format!("{} is done.", answered(request.body()).concat()))
            }
            0 => Answer::call("agent", json!({"task": "Write a."})).and_call("agent", json!({"task": "Change b."})),
            1 => Answer::call("take_changes", json!({"sub_trace_id": writer_of("a.txt", request.body())})),
            _ => Answer::text("One is taken."),
        };
        let waits = turn == 0 && !task.contains("both");
        if waits { answer.behind(&gate).into() } else { answer.into() }
    })
}

/// Runs an agent that starts so many others at once. They answer only when each of them has asked its model or was refused.
fn runs_together(place: &Place, server: &ModelServer, gate: &Gate, agents: usize, words: &[&str]) -> Done {
    let mut process = place.start_run(server, words);
    let root = || place.traces().into_iter().find(|trace| !trace.contains('@'));
    let refused = || {
        let handed = root().map_or_else(Vec::new, |root| handed(place, &root));
        handed.iter().filter(|one| !one["problem"].is_null()).count()
    };
    // The first request is that of the agent that starts them.
    wait_until("each agent works or is refused", || server.count() + refused() == agents + 1);
    gate.open();
    process.end()
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
    // The model took what the first one made.
    assert_eq!(done.out, "One is taken.\n");
    assert_eq!(differing(&before, &held(&place.work)), ["a.txt", "untracked.txt"]);
    assert_eq!((place.text("a.txt").as_str(), place.text("untracked.txt").as_str()), ("from a\n", "mine\nmore\n"));
    // A person takes what the other one made.
    let root = root(&place);
    let shown = place.ok(&["take", "--show", &root, handed[1]["child"].as_str().unwrap()]);
    assert!(shown.contains("-two\n+2\n"), "{shown}");
    assert_eq!(place.text("b.txt"), "zero\none\ntwo\nthree\n");
    // What waits is said with the end of the run, and only that is meant.
    let other = handed[1]["child"].as_str().unwrap();
    let waits =
        format!("Changes of an agent wait, not yet taken: {other} (1 file). To take them: mainpath take {root}");
    assert!(done.err.contains(&waits), "{done:#?}");
    let took = place.ok(&["take", &root]);
    assert!(took.ends_with(&format!("(1 file) into {}\n", place.work.display())), "{took}");
    assert_eq!(place.text("b.txt"), "zero\none\n2\nthree\n");
    let again = place.ok(&["take", handed[1]["child"].as_str().unwrap()]);
    assert!(again.ends_with(&format!("are in {} already\n", place.work.display())), "{again}");
    let none = place.run(&["take", "--show", &root]);
    none.fails(1, &format!("the changes of the agents of {root} are in its folder already"));
    assert_eq!(differing(&before, &held(&place.work)), ["a.txt", "b.txt", "untracked.txt"]);
    // Where it does not fit any more, nothing is changed.
    write(&place.work, "b.txt", "another\n");
    let refused = place.run(&["take", handed[1]["child"].as_str().unwrap()]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("do not fit these files as they are now: b.txt; nothing was changed"), "{refused:#?}");
    assert_eq!(place.text("b.txt"), "another\n");
    for trace in place.traces() {
        place.ok(&["verify", &trace]);
        place.ok(&["replay", &trace]);
    }
}

#[test]
fn killed_at_any_moment_agents_in_copies_come_to_the_same_end_and_leave_nothing() {
    for wait in [30, 60, 90, 120, 150, 180, 220, 260, 300, 350, 400, 500] {
        let (place, server) = (place(), writers(&opened(), false));
        repository(&place.work);
        let before = held(&place.work);
        let process = place.start_run(&server, &["--yes", "--json", "Have both written."]);
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let (_, killed) = process.kill();
        let has_begun = |trace: &String| place.events(trace).iter().any(|event| event["type"] == "run_started");
        if !place.traces().iter().any(has_begun) {
            continue;
        }
        if killed {
            let done = place.run(&["resume", "--model", &server.model()]);
            assert!(done.out == "One is taken.\n" || done.err.contains("ended with its final answer"), "{done:#?}");
        }
        let handed = handed(&place, &root(&place));
        let patches: Vec<bool> = handed.iter().map(|one| one["patch"].is_string()).collect();
        assert_eq!(patches, [true, true], "after {wait} ms: {handed:#?}");
        assert_eq!(differing(&before, &held(&place.work)), ["a.txt"], "after {wait} ms");
        nothing_is_left(&place, &place.work);
    }
}

/// Has two agents write in a folder that cannot be copied; gives what the second one was told.
fn refused(place: &Place) -> String {
    let gate = Gate::default();
    let server = writers(&gate, true);
    runs_together(place, &server, &gate, 2, &["--yes", "Have both written."]);
    let handed = handed(place, &root(place));
    let problems: Vec<&str> = handed.iter().filter_map(|one| one["problem"].as_str()).collect();
    assert_eq!(problems.len(), 1, "{handed:#?}");
    assert!(problems[0].ends_with("; wait for it, then start this one"), "{problems:?}");
    let copy = problems[0].split_once("and no copy of it can be made (").unwrap().1;
    copy.split_once("); wait for it").unwrap().0.to_string()
}

#[test]
fn where_no_copy_can_be_made_the_second_writer_is_told_why() {
    type Make = fn(&Path);
    let cases: [(&str, Make); 8] = [
        ("its repository's settings say that its files are in another folder (core.worktree = /usr/share)", |top| {
            repository(top);
            git(top, &["config", "core.worktree", "/usr/share"]);
        }),
        ("the folder is in no git repository", |_| {}),
        ("its repository has no commit yet", |top| drop(git(top, &["init", "-q"]))),
        ("its repository has unresolved conflicts", |top| {
            repository(top);
            git(top, &["stash", "drop", "-q"]);
            git(top, &["add", "."]);
            git(top, &["commit", "-qm", "ours"]);
            git(top, &["checkout", "-q", "-b", "other", "HEAD~1"]);
            write(top, "b.txt", "theirs\n");
            git(top, &["commit", "-qam", "theirs"]);
            let _ = Command::new("git").current_dir(top).args(["merge", "-q", "-"]).output();
        }),
        ("its repository has submodules or repositories inside", |top| {
            repository(top);
            write(top, "inner/file", "x");
            git(&top.join("inner"), &["init", "-q"]);
            git(&top.join("inner"), &["add", "."]);
            git(&top.join("inner"), &["commit", "-qm", "inner"]);
        }),
        ("its repository's settings have filter.evil.clean, which can make git run programs", |top| {
            repository(top);
            write(top, ".gitattributes", "* filter=evil\n");
            git(top, &["config", "filter.evil.clean", &format!("touch {}", top.join("../marker").display())]);
        }),
        ("its repository's settings have include.path, which can make git run programs", |top| {
            repository(top);
            git(top, &["config", "include.path", "../more"]);
        }),
        ("its .git names a repository elsewhere", |top| {
            let other = top.join("../other");
            std::fs::create_dir(&other).unwrap();
            repository(&other);
            write(top, ".git", &format!("gitdir: {}\n", other.join(".git").display()));
        }),
    ];
    for (why, make) in cases {
        let place = place();
        make(&place.work);
        let told = refused(&place);
        assert_eq!(told, why);
        assert!(!place.root().join("marker").exists(), "{why}");
    }
}

#[test]
fn nothing_of_a_repository_is_run() {
    let (place, server) = (place(), two_writers());
    repository(&place.work);
    let marker = place.root().join("marker");
    let evil = format!("#!/bin/sh\ntouch {}\n", marker.display());
    let program = place.root().join("evil");
    for file in std::iter::once(program.clone()).chain(
        ["post-checkout", "post-index-change", "reference-transaction", "pre-commit"]
            .map(|hook| place.work.join(".git/hooks").join(hook)),
    ) {
        write(file.parent().unwrap(), file.file_name().unwrap().to_str().unwrap(), &evil);
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let program = program.display().to_string();
    for key in
        ["core.fsmonitor", "diff.external", "diff.evil.textconv", "core.pager", "core.editor", "credential.helper"]
    {
        git(&place.work, &["config", key, &program]);
    }
    write(&place.work, ".gitattributes", "* diff=evil\n");
    assert!(!marker.exists() || std::fs::remove_file(&marker).is_ok());
    // Without commands of the agents: what these run is run in their cage.
    let done =
        place.run_on(&server, &["--yes", "--tools", "agent,take_changes,write_text_file,edit_text_file", "Write."]);
    assert_eq!(done.out, "One is taken.\n", "{done:#?}");
    assert_eq!(handed(&place, &root(&place)).iter().filter(|one| one["patch"].is_string()).count(), 2);
    assert!(!marker.exists());
}

#[test]
fn an_agent_in_a_folder_of_a_repository_works_in_that_folder_of_its_copy() {
    let (place, server) = (place(), two_writers());
    let top = place.root().join("repo");
    std::fs::create_dir(&top).unwrap();
    repository(&top);
    std::fs::create_dir(top.join("sub")).unwrap();
    for name in ["b.txt", "untracked.txt"] {
        std::fs::copy(top.join(name), top.join("sub").join(name)).unwrap();
    }
    let before = held(&top);
    let mut command = place.command(&["run", "--model", &server.model(), "--yes", "Have both written."]);
    command.current_dir(top.join("sub"));
    let done = finish(command, None);
    assert_eq!(done.out, "One is taken.\n", "{done:#?}");
    let handed = handed(&place, &root(&place));
    assert_eq!(handed[0]["files"], json!(["a.txt", "untracked.txt"]), "{handed:#?}");
    let taken: Vec<String> = differing(&before, &held(&top)).into_iter().filter(|name| name != "sub").collect();
    assert_eq!(taken, ["sub/a.txt", "sub/untracked.txt"]);
    nothing_is_left(&place, &top);
}

#[test]
fn a_run_that_comes_to_a_limit_names_the_changes_that_wait() {
    for (turns, waits) in [("1", vec![0, 1]), ("2", vec![1])] {
        let (place, server) = (place(), writers(&opened(), false));
        repository(&place.work);
        let done = place.run_on(&server, &["--yes", "--max-turns", turns, "Have both written."]);
        assert_eq!(done.code, 4, "{done:#?}");
        let (handed, root) = (handed(&place, &root(&place)), root(&place));
        let mut all: Vec<&str> = handed.iter().map(|one| one["child"].as_str().unwrap()).collect();
        if waits.len() > 1 {
            all.sort_unstable();
        }
        let child = |at: usize| all[at];
        let line = match waits.as_slice() {
            [one] => format!(
                "Changes of an agent wait, not yet taken: {} (1 file). To take them: mainpath take {root}\n",
                child(*one)
            ),
            _ => format!(
                "Changes of agents wait, not yet taken: {0} (1 file), {1} (1 file). To take those of one: mainpath take {0}\n",
                child(0),
                child(1)
            ),
        };
        assert!(done.err.contains(&line), "{line}{done:#?}");
        assert!(place.ok(&["show", &root]).contains(&line));
        place.ok(&["replay", &root]);
    }
}

#[test]
fn links_out_of_the_folder_are_taken_only_by_somebody_who_was_told_of_them() {
    let (place, server) = (
        place(),
        two_with(
            "mkdir d; ln -s /etc/passwd out; ln -s ../../x d/up; ln -s ../b.txt d/in; ln -s $PWD/../x abs",
            "true",
        ),
    );
    repository(&place.work);
    assert_eq!(place.run_on(&server, &["--yes", "Have both written."]).code, 0);
    let child = handed(&place, &root(&place))[0]["child"].as_str().unwrap().to_string();
    let before = held(&place.work);
    let refused = place.run(&["take", &child]);
    let told =
        "nothing was changed: 3 links out of the folder; somebody has to agree to that at a terminal: mainpath take";
    refused.fails(1, told);
    for link in
        ["d/up would be a link out of the folder, to ../../x", "out would be a link out of the folder, to /etc/passwd"]
    {
        assert!(refused.err.contains(&format!("! {link}\n")), "{refused:#?}");
    }
    assert_eq!(differing(&before, &held(&place.work)), Vec::<String>::new());
    let mut terminal = Terminal::start(&place, &["take", &child], &[]);
    terminal.shows("! out would be a link out of the folder, to /etc/passwd", 1);
    terminal.types("y\n");
    terminal.end();
    assert_eq!(std::fs::read_link(place.work.join("out")).unwrap(), Path::new("/etc/passwd"));
}

/// A model that has two agents write at once: the first one by this command. If the person then says so, the first one goes on with another.
fn two_with(command: &'static str, then: &'static str) -> ModelServer {
    server(move |request| {
        let (task, turn) = (task(request.body()), request.count("assistant"));
        match turn {
            0 if task.contains("Write a.") => bash(command),
            0 if task.contains("Change b.") => {
                Answer::call("write_text_file", json!({"path": "c.txt", "content": "c"}))
            }
            2 if task.contains("Write a.") => bash(then),
            _ if task.contains("Write a.") || task.contains("Change b.") => Answer::text("Done."),
            0 => Answer::call("agent", json!({"task": "Write a."})).and_call("agent", json!({"task": "Change b."})),
            2 => {
                let said = request.body()["messages"].to_string();
                let id = said.split("mainpath rm ").nth(1).unwrap().split('`').next().unwrap();
                Answer::call("agent", json!({"task": "Go on.", "continue_from": id}))
            }
            _ => Answer::text("Both are done."),
        }
        .into()
    })
}

#[test]
fn what_no_patch_can_hold_is_named_and_its_copy_is_kept_until_it_is_mended_or_removed() {
    let skips = "git skips what is called .git and folders that it cannot open";
    let cases: [(&str, &str, String); 4] = [
        (
            "echo from a > a.txt; mkdir -p sub/.git ignored/x/.git; echo x | tee sub/.git/config > ignored/x/.git/config",
            "true",
            format!("no patch can hold what is in sub/.git: {skips}"),
        ),
        (
            "echo from a > a.txt; git init -q sub; git init -q more; mkdir -p empty/.git",
            "true",
            format!("no patch can hold what is in more/.git, sub/.git: {skips}"),
        ),
        (
            "echo from a > a.txt; git init -q sub; cd sub; git -c user.name=A -c user.email=a@b.c commit -q --allow-empty -m x",
            "true",
            format!("no patch can hold what is in sub/.git: {skips}"),
        ),
        ("echo from a > a.txt; echo x > 'git~1'", "rm 'git~1'", "git cannot add a file: invalid path 'git~1'".into()),
    ];
    for (command, then, why) in cases {
        let (place, server) = (place(), two_with(command, then));
        repository(&place.work);
        let done = place.run_on(&server, &["--yes", "Have both written."]);
        assert_eq!(done.code, 0, "{done:#?}");
        let handed_back = handed(&place, &root(&place));
        let (problem, child) =
            (handed_back[0]["problem"].as_str().unwrap(), handed_back[0]["child"].as_str().unwrap().to_string());
        let begins = format!("its changes cannot be handed back, because {why}. They are kept in ");
        let rest = problem.strip_prefix(&begins).unwrap_or_else(|| panic!("{problem}"));
        let (folder, to_do) = rest.split_once(". ").unwrap();
        let advice = "Once that is removed or renamed there, continue it (continue_from), and they are handed back; `mainpath rm";
        assert_eq!(to_do, format!("{advice} {child}` removes the folder"));
        assert_eq!(std::fs::read_to_string(Path::new(folder).join("a.txt")).unwrap(), "from a\n");
        // The person reads it as a whole.
        assert!(done.err.contains(problem), "{done:#?}");
        assert_eq!(handed_back[1]["files"], json!(["c.txt"]));
        // A person removes what no command of an agent may; the agent mends the rest in the same folder, and all comes back.
        for repository in ["sub/.git", "more/.git"].map(|inner| Path::new(folder).join(inner)) {
            let _ = std::fs::remove_dir_all(&repository).or_else(|_| std::fs::remove_file(&repository));
        }
        let resumed = place.run_on(&server, &["--yes", "--trace", &root(&place), "Go on."]);
        assert_eq!(resumed.out, "Both are done.\n", "{resumed:#?}");
        let mended =
            handed(&place, &root(&place)).into_iter().find(|one| one["child"] == *child && one["patch"].is_string());
        assert!(mended.is_some(), "{why}: {:#?} {resumed:#?}", handed(&place, &root(&place)));
        let files = mended.unwrap()["files"].clone();
        assert!(files.as_array().unwrap().contains(&json!("a.txt")), "{files}");
        nothing_is_left(&place, &place.work);
    }
}

#[test]
fn a_kept_copy_goes_with_its_trace() {
    for remove in ["rm", "purge"] {
        let (place, server) = (place(), two_with("echo x > 'git~1'", "true"));
        repository(&place.work);
        assert_eq!(place.run_on(&server, &["--yes", "Have both written."]).code, 0);
        let child = handed(&place, &root(&place))[0]["child"].as_str().unwrap().to_string();
        assert_eq!(git(&place.work, &["worktree", "list"]).lines().count(), 2);
        match remove {
            "rm" => place.ok(&["rm", "--yes", &child]),
            _ => place.ok(&["purge", "--yes", "--keep", "0"]),
        };
        nothing_is_left(&place, &place.work);
        if remove == "rm" {
            place.ok(&["verify", &root(&place)]);
            place.ok(&["show", &root(&place)]);
        }
    }
}

/// What the last message of a person in a request says. What a preset says comes before an agent's task.
fn last_said(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let last = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    last["content"].as_str().or_else(|| last["content"][0]["text"].as_str()).unwrap().into()
}

/// An agent of a preset and two without, asked for at once in a folder that cannot be copied.
fn three_with(tools: &'static [&'static str], preset: &'static str, more: &[&'static str]) -> (Place, Vec<Value>) {
    let (place, gate) = (place(), Gate::default());
    let held = gate.clone();
    let server = server(move |request| {
        let answer = match (last_said(request.body()).as_str(), request.count("assistant")) {
            ("Look.", _) => Answer::text("Seen.").behind(&held),
            ("Write.", 0) => Answer::call("write_text_file", json!({"path": "a.txt", "content": "a\n"})).behind(&held),
            ("Write.", _) => Answer::text("Written."),
            (_, 0) => Answer::call("agent", json!({"task": "Look.", "agent_type": preset}))
                .and_call("agent", json!({"task": "Write."}))
                .and_call("agent", json!({"task": "Look.", "agent_type": preset})),
            _ => Answer::text("Done."),
        };
        answer.into()
    });
    let mut words = vec!["--yes", "--tools"];
    let named = tools.join(",");
    words.extend([named.as_str()]);
    words.extend(more);
    words.push("Have it looked at and written.");
    let done = runs_together(&place, &server, &gate, 3, &words);
    assert_eq!(done.code, 0, "{done:#?}");
    let handed = handed(&place, &root(&place));
    (place, handed)
}

#[test]
fn agents_that_can_write_nothing_are_in_nobodys_way() {
    let outcomes = |handed: &[Value]| handed.iter().filter(|one| one["problem"].is_null()).count();
    // By their preset.
    let (place, handed) = three_with(&["grep", "write_text_file", "agent"], "explore", &[]);
    assert_eq!((handed.len(), outcomes(&handed)), (3, 3), "{handed:#?}");
    assert_eq!(place.text("a.txt"), "a\n");
    // By what their parent may do: none of them can write.
    let (_, handed) = three_with(&["grep", "agent"], "default", &[]);
    assert_eq!((handed.len(), outcomes(&handed)), (3, 3), "{handed:#?}");
    // By what the run may do, where commands are held to it.
    let (place, handed) = three_with(&["bash", "write_text_file", "agent"], "default", &["--mode", "read-only"]);
    assert_eq!((handed.len(), outcomes(&handed)), (3, 3), "{handed:#?}");
    assert!(!place.work.join("a.txt").exists());
    // By what its rules deny.
    let tools = &["grep", "write_text_file", "agent"];
    let (_, handed) = three_with(tools, "default", &["--deny", "write_text_file"]);
    assert_eq!((handed.len(), outcomes(&handed)), (3, 3), "{handed:#?}");
    // One that cannot be is told why, and is in nobody's way either; no trace of it is named.
    let (place, handed) = three_with(tools, "nosuch", &[]);
    let problems: Vec<&str> = handed.iter().map(|one| one["problem"].as_str().unwrap_or_default()).collect();
    let no_preset = "there is no preset \"nosuch\"; they are: analyst, default, evaluate, explore";
    assert_eq!(problems, [no_preset, "", no_preset], "{handed:#?}");
    assert!(handed[0]["child"].is_null() && handed[1]["child"].is_string(), "{handed:#?}");
    assert_eq!(place.text("a.txt"), "a\n");
    // With a preset that may write it is as ever: one at a time.
    let (_, handed) = three_with(&["grep", "write_text_file", "agent"], "default", &[]);
    assert_eq!((handed.len(), outcomes(&handed)), (3, 1), "{handed:#?}");
}
