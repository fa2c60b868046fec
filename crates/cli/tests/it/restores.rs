//! Files put back to what they were.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

fn write(path: &str, content: &str) -> Answer {
    Answer::call("write_text_file", json!({"path": path, "content": content}))
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A workspace in which a run has edited `kept.txt` (mode 0640) and made `made/new.txt`, in turns 1 to 3. The user's
/// message is 1, the results are 3, 5 and 7, the answer is 8.
fn changed() -> (Place, ModelServer, String) {
    let place = Place::new();
    std::fs::write(place.work.join("kept.txt"), "as it was\n").unwrap();
    std::fs::set_permissions(place.work.join("kept.txt"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let edits = json!({"path": "kept.txt", "edits": [{"old_text": "it was", "new_text": "edited"}]});
    let answers = vec![
        Answer::call("edit_text_file", edits),
        write("kept.txt", "written\n"),
        write("made/new.txt", "new\n"),
        Answer::text("Done."),
    ];
    let server = scripted(answers);
    let done = place.run_on(&server, &["--yes", "Do it."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let trace = place.trace();
    (place, server, trace)
}

fn texts(place: &Place) -> (String, String) {
    (place.text("kept.txt"), place.text("made/new.txt"))
}

fn pair(kept: &str, made: &str) -> (String, String) {
    (kept.into(), made.into())
}

fn restores(place: &Place, trace: &str) -> Vec<Value> {
    place.events(trace).into_iter().filter(|event| event["type"] == "files_restored").collect()
}

#[test]
fn a_rewind_puts_files_back_where_that_is_asked_for_and_else_leaves_them() {
    let (place, server, trace) = changed();
    let left = place.run(&["rewind", &trace, "1", "Otherwise."]);
    assert!(left.err.contains("! 2 files were changed since; --files restores them"), "{left:#?}");
    assert_eq!(texts(&place), pair("written\n", "new\n"));
    let done = place.run(&["rewind", &trace, "1", "Once more.", "--files", "--yes"]);
    assert!(done.err.contains("· kept.txt: put back\n· made/new.txt: removed\n"), "{done:#?}");
    // What the agent did after the rewind is another thing: it answers as in its second turn.
    assert_eq!(server.violations(), Vec::<String>::new());
    let restored = &restores(&place, &trace)[0]["data"];
    assert_eq!(
        (restored["changes"][0]["path"].as_str(), restored["changes"][1]["after"]["is"].as_str()),
        (Some("kept.txt"), Some("absent"))
    );
    place.ok(&["verify", &trace]);
    place.ok(&["replay", &trace]);
}

#[test]
fn files_are_put_back_to_any_message_with_their_mode() {
    let (place, _server, trace) = changed();
    let file = place.work.join("kept.txt");
    assert_eq!(place.ok(&["restore", &trace, "--turn", "2"]), "made/new.txt: removed\n");
    assert_eq!(texts(&place), pair("written\n", ""));
    assert_eq!(place.ok(&["restore", &trace, "--to", "3"]), "kept.txt: put back\n");
    assert_eq!(texts(&place), pair("as edited\n", ""));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(place.ok(&["restore", &trace, "--to", "1"]), "kept.txt: put back\n");
    assert_eq!((texts(&place), mode(&file)), (pair("as it was\n", ""), 0o640));
    assert_eq!(place.ok(&["restore", &trace, "--to", "1"]), "no file has changed since\n");
    assert_eq!(place.ok(&["restore", &trace, "--to", "8"]), "kept.txt: put back\nmade/new.txt: put back\n");
    assert_eq!(texts(&place), pair("written\n", "new\n"));
    place.ok(&["verify", &trace]);
}

#[test]
fn a_restore_can_be_undone() {
    let (place, _server, trace) = changed();
    place.run(&["restore", &trace, "--undo"]).fails(1, "has no restore to undo");
    place.ok(&["restore", &trace, "--to", "1"]);
    assert_eq!(texts(&place), pair("as it was\n", ""));
    assert_eq!(place.ok(&["restore", &trace, "--undo"]), "kept.txt: put back\nmade/new.txt: put back\n");
    assert_eq!(texts(&place), pair("written\n", "new\n"));
}

#[test]
fn a_dry_run_shows_what_would_change_and_changes_nothing() {
    let (place, server, trace) = changed();
    let (log, requests) = (place.log(&trace), server.count());
    let expected = "kept.txt: would be put back\n    --- kept.txt (now)\n    +++ kept.txt (then)\n    @@ -1 +1 @@\n    -written\n    \
                    +as it was\nmade/new.txt: would be removed\n    --- made/new.txt (now)\n    +++ made/new.txt (then)\n    @@ -1 +0,0 @@\n    -new\n";
    assert_eq!(place.ok(&["restore", &trace, "--to", "1", "--dry-run"]), expected);
    assert_eq!(place.ok(&["rewind", &trace, "1", "--dry-run"]), expected);
    assert_eq!(place.ok(&["rewind", &trace, "1", "--files", "--dry-run"]), expected);
    assert_eq!(place.ok(&["rewind", &trace, "1", "--files", "--force", "--dry-run"]), expected);
    assert_eq!(place.ok(&["fork", &trace, "--at", "1", "--dry-run"]), expected);
    assert_eq!(texts(&place), pair("written\n", "new\n"));
    assert!(place.log(&trace) == log && server.count() == requests && place.traces().len() == 1);
}

#[test]
fn what_somebody_else_has_changed_since_is_told_and_left_unless_it_is_forced() {
    let (place, _server, trace) = changed();
    std::fs::write(place.work.join("kept.txt"), "mine\n").unwrap();
    let done = place.run(&["restore", &trace, "--to", "1"]);
    let told =
        "kept.txt: kept, because somebody else has changed it since; --force overwrites it\nmade/new.txt: removed\n";
    assert_eq!((done.code, done.out.as_str()), (1, told), "{done:#?}");
    assert_eq!(texts(&place), pair("mine\n", ""));
    assert_eq!(place.ok(&["restore", &trace, "--to", "1", "--force"]), "kept.txt: put back\n");
    assert_eq!(texts(&place), pair("as it was\n", ""));
    // What was overwritten was kept first.
    assert_eq!(place.ok(&["restore", &trace, "--undo"]), "kept.txt: put back\n");
    assert_eq!(texts(&place), pair("mine\n", ""));
}

#[test]
fn a_restore_says_what_was_changed_otherwise_and_what_nobody_watched() {
    // A command changed what a call had written.
    let (one, two) = (write("x.txt", "one\n"), bash("echo two > x.txt"));
    let place = Place::new();
    let server = scripted(vec![one, two, Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let trace = place.trace();
    let unseen = "1 command has run since without --snapshots: other changes are not known\n";
    let left = "x.txt: kept, because somebody else has changed it since; --force overwrites it\n";
    let done = place.run(&["restore", &trace, "--to", "3"]);
    assert_eq!((done.code, done.out), (1, format!("{left}{unseen}")));
    let dry = place.ok(&["restore", &trace, "--to", "3", "--dry-run"]);
    assert!(dry.starts_with(left) && dry.contains("    -two\n    +one\n") && dry.ends_with(unseen), "{dry}");
    assert_eq!(place.ok(&["restore", &trace, "--to", "3", "--force"]), format!("x.txt: put back\n{unseen}"));
    assert_eq!(place.text("x.txt"), "one\n");
    let same = "no file that calls have written has changed since\n";
    assert_eq!(place.ok(&["restore", &trace, "--to", "3"]), format!("{same}{unseen}"));
    // What it was after the command nobody knows, but that it was no call of a tool.
    assert_eq!(place.ok(&["restore", &trace, "--undo"]), "x.txt: put back\n");
    assert_eq!(place.text("x.txt"), "two\n");
}

#[test]
fn a_file_goes_back_to_what_a_call_wrote_though_somebody_else_changed_it_before_the_next() {
    let place = Place::new();
    let file = place.work.join("x.txt");
    let server = server(move |request| match request.n {
        1 => write("x.txt", "one\n").into(),
        2 => {
            std::fs::write(&file, "mine\n").unwrap();
            write("x.txt", "two\n").into()
        }
        _ => Answer::text("Done.").into(),
    });
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let trace = place.trace();
    let told = "x.txt: put back; somebody else had changed it first\n";
    assert_eq!(place.ok(&["restore", &trace, "--to", "3"]), told);
    assert_eq!(place.text("x.txt"), "one\n");
    place.ok(&["restore", &trace, "--undo"]);
    assert_eq!(place.text("x.txt"), "two\n");
    // A fork whose files were left knows what they were at its first messages.
    place.ok(&["fork", &trace, "--at", "3", "--no-run"]);
    let fork = place.traces().into_iter().find(|other| *other != trace).unwrap();
    let again = scripted(vec![write("x.txt", "two\n"), write("x.txt", "three\n"), Answer::text("Done.")]);
    place.run(&["run", "--trace", &fork, "--model", &again.model(), "--yes", "Again."]);
    assert_eq!(place.text("x.txt"), "three\n");
    assert_eq!(place.ok(&["restore", &fork, "--to", "3"]), told);
    assert_eq!(place.text("x.txt"), "one\n");
}

#[test]
fn nothing_is_put_back_through_a_link() {
    let (place, _server, trace) = changed();
    let outside = place.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("new.txt"), "theirs\n").unwrap();
    std::fs::remove_dir_all(place.work.join("made")).unwrap();
    symlink(&outside, place.work.join("made")).unwrap();
    std::fs::rename(place.work.join("kept.txt"), place.work.join("other.txt")).unwrap();
    symlink("other.txt", place.work.join("kept.txt")).unwrap();
    let done = place.run(&["restore", &trace, "--to", "1"]);
    let in_the_way = "made/new.txt: kept: there is a link on the way to \"made/new.txt\" now\n";
    let told =
        format!("kept.txt: kept, because somebody else has changed it since; --force overwrites it\n{in_the_way}");
    assert_eq!((done.code, done.out), (1, told));
    let done = place.run(&["restore", &trace, "--to", "1", "--force"]);
    assert_eq!((done.code, done.out), (1, format!("kept.txt: put back\n{in_the_way}")));
    assert_eq!(std::fs::read_to_string(outside.join("new.txt")).unwrap(), "theirs\n");
    assert_eq!((place.text("kept.txt").as_str(), place.text("other.txt").as_str()), ("as it was\n", "written\n"));
    assert!(!place.work.join("kept.txt").is_symlink());
    // The link that was overwritten was kept.
    place.run(&["restore", &trace, "--undo"]);
    assert_eq!(place.work.join("kept.txt").read_link().unwrap(), Path::new("other.txt"));
}

/// A workspace with `snapshots` in which a run has done this.
fn after_command(files: &[(&str, &str)], command: &str) -> (Place, String) {
    let place = Place::new();
    for (name, text) in files {
        std::fs::create_dir_all(place.work.join(name).parent().unwrap()).unwrap();
        std::fs::write(place.work.join(name), text).unwrap();
    }
    place.config("snapshots = true\n");
    let server = scripted(vec![bash(command), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let trace = place.trace();
    (place, trace)
}

#[test]
fn what_a_command_replaced_by_a_link_or_a_folder_comes_back() {
    let files =
        [("a.txt", "A\n"), ("b.txt", "B\n"), ("c.txt", "C\n"), ("dir/x", "x\n"), ("f/x", "y\n"), ("out/x", "z\n")];
    let command = "rm a.txt b.txt c.txt; ln -s /etc/hostname a.txt; mkdir -p b.txt/deep c.txt; echo new > c.txt/new; \
                   mv dir moved; ln -s moved dir; rm -r f out; echo file > f; ln -s / out";
    let (place, trace) = after_command(&files, command);
    let names =
        |told: &str| -> Vec<String> { told.lines().filter(|line| !line.starts_with(' ')).map(String::from).collect() };
    let dry = place.ok(&["restore", &trace, "--to", "1", "--dry-run"]);
    assert!(
        dry.starts_with("a.txt: would be put back\n") && dry.contains("\n    -a link to /etc/hostname\n    +A\n"),
        "{dry}"
    );
    let told = place.ok(&["restore", &trace, "--to", "1"]);
    let expected = [
        "a.txt: put back",
        "b.txt: put back",
        "c.txt: put back",
        "c.txt/new: removed",
        "dir: removed",
        "dir/x: put back",
        "f: removed",
        "f/x: put back",
        "out: removed",
        "out/x: put back",
    ];
    assert_eq!(names(&told), expected);
    for (name, text) in files {
        assert_eq!(place.text(name), text, "{name}");
        assert!(!place.work.join(name).is_symlink());
    }
    assert!(!place.work.join("dir").is_symlink());
    assert!(Path::new("/etc/hostname").exists());
    // And all of it again: the restore is undone.
    place.ok(&["restore", &trace, "--undo"]);
    assert_eq!(place.work.join("a.txt").read_link().unwrap(), Path::new("/etc/hostname"));
    assert_eq!(place.work.join("dir").read_link().unwrap(), Path::new("moved"));
    assert_eq!((place.text("c.txt/new").as_str(), place.text("f").as_str()), ("new\n", "file\n"));
    place.ok(&["verify", &trace]);
}

#[test]
fn a_folder_with_content_in_a_files_place_is_named_and_left_even_by_force() {
    let (place, trace) = after_command(&[("a.txt", "A\n")], "rm a.txt; mkdir a.txt; echo new > a.txt/new");
    std::fs::write(place.work.join("a.txt/mine"), "mine\n").unwrap();
    let told = "a.txt: kept: a folder is in its place now, with a.txt/mine in it: move that away\na.txt/new: removed\n";
    let done = place.run(&["restore", &trace, "--to", "1", "--force"]);
    assert_eq!((done.code, done.out.as_str()), (1, told));
    assert_eq!(place.text("a.txt/mine"), "mine\n");
    std::fs::remove_file(place.work.join("a.txt/mine")).unwrap();
    assert_eq!(place.ok(&["restore", &trace, "--to", "1"]), "a.txt: put back\n");
    assert_eq!(place.text("a.txt"), "A\n");
}

#[test]
fn links_that_a_command_made_turned_or_removed_are_put_back() {
    let place_files = [("a.txt", "A\n")];
    let (place, _) = after_command(&place_files, "ln -s a.txt kept; ln -s a.txt gone");
    let server = scripted(vec![bash("rm gone; ln -sf nowhere kept; ln -s a.txt new"), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let trace = newest(&place);
    let told = "gone: put back\nkept: put back\nnew: removed\n";
    assert_eq!(place.ok(&["restore", &trace, "--to", "1"]), told);
    let leads = |name: &str| place.work.join(name).read_link().ok().map(|to| to.display().to_string());
    assert_eq!((leads("gone"), leads("kept"), leads("new")), (Some("a.txt".into()), Some("a.txt".into()), None));
}

#[test]
fn a_fork_puts_files_back_and_one_at_the_old_message_undoes_it() {
    let (place, _server, trace) = changed();
    place.ok(&["fork", &trace, "--at", "3", "--no-run", "--files"]);
    assert_eq!(texts(&place), pair("as edited\n", ""));
    assert_eq!(restores(&place, &trace), Vec::<Value>::new());
    let fork = place.traces().into_iter().find(|other| *other != trace).unwrap();
    assert_eq!(restores(&place, &fork).len(), 1);
    assert_eq!(place.ok(&["restore", &fork, "--undo"]), "kept.txt: put back\nmade/new.txt: put back\n");
    assert_eq!(texts(&place), pair("written\n", "new\n"));
}

#[test]
fn what_is_kept_is_for_its_owner_alone_and_out_of_the_agents_reach() {
    let (place, _server, trace) = changed();
    let kept: Vec<_> = walk(&place.home.join("blobs"));
    assert!(kept.iter().any(|file| std::fs::read_to_string(file).is_ok_and(|text| text == "as it was\n")), "{kept:?}");
    assert!(kept.iter().all(|file| mode(file) == 0o600 && mode(file.parent().unwrap()) == 0o700), "{kept:?}");
    let file = kept[0].display().to_string();
    let server = server(move |request| match request.n {
        1 => Answer::call("read_text_file", json!({"path": file})).into(),
        _ => Answer::text("Done.").into(),
    });
    place.run(&["run", "--trace", &trace, "--model", &server.model(), "--mode", "full", "--yes", "Read it."]);
    let last = place
        .events(&trace)
        .into_iter()
        .rfind(|event| event["type"] == "model_finished" && !event["data"]["calls"].is_null());
    assert_eq!(last.unwrap()["data"]["calls"][0]["verdict"]["decision"], "deny");
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_restore_that_is_killed_leaves_whole_files_and_is_finished_by_another() {
    const FILES: usize = 80;
    let place = Place::new();
    let name = |n: usize| format!("f{n}.txt");
    let (old, new) = (|n: usize| format!("old {n}\n").repeat(9), |n: usize| format!("new {n}\n").repeat(9));
    for n in 0..FILES {
        std::fs::write(place.work.join(name(n)), old(n)).unwrap();
    }
    let mut calls = write(&name(0), &new(0));
    for n in 1..FILES {
        calls = calls.and_call("write_text_file", json!({"path": name(n), "content": new(n)}));
    }
    let server = scripted(vec![calls, Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let trace = place.trace();
    let (mut killed, mut partly) = (0, 0);
    let mut names: Vec<usize> = (0..FILES).collect();
    names.sort_by_key(|n| name(*n));
    for round in 0..5 {
        let process = place.start(&["restore", &trace, "--to", "1"]);
        // At different places, but always with most files left: the process writes on until the signal is delivered.
        let at = names[round * FILES / 16];
        let until = Instant::now() + LONG;
        while place.text(&name(at)) != old(at) {
            assert!(Instant::now() < until, "{} is not restored", name(at));
            std::thread::sleep(Duration::from_micros(200));
        }
        killed += usize::from(process.kill().1);
        let is_old = |n: usize| match place.text(&name(n)) {
            text if text == old(n) => true,
            text if text == new(n) => false,
            text => panic!("{} holds {} bytes that are neither", name(n), text.len()),
        };
        let done = (0..FILES).filter(|n| is_old(*n)).count();
        partly += usize::from(done > 0 && done < FILES);
        let again = place.run(&["restore", &trace, "--to", "1"]);
        assert_eq!((again.code, (0..FILES).all(is_old)), (0, true), "{again:#?}");
        let left = std::fs::read_dir(&place.work).unwrap().count();
        assert_eq!(left, FILES, "nothing is left beside them");
        place.ok(&["restore", &trace, "--to", "3"]);
        assert_eq!(place.text(&name(0)), new(0));
    }
    assert!(partly > 0, "killed {killed}, none in the middle");
    place.ok(&["verify", &trace]);
}

#[test]
fn with_snapshots_what_a_command_did_is_undone_as_well() {
    let place = Place::new();
    for (name, text) in
        [("kept.txt", "as it was\n"), ("gone.txt", "still here\n"), (".gitignore", "cache\n"), ("cache", "x")]
    {
        std::fs::write(place.work.join(name), text).unwrap();
    }
    place.config("snapshots = true\n");
    let command = "echo changed > kept.txt; rm gone.txt; mkdir sub; echo new > sub/new.txt; echo y > cache";
    let server = scripted(vec![bash(command), bash("echo again > kept.txt"), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let trace = place.trace();
    assert_eq!(place.ok(&["restore", &trace, "--turn", "1"]), "kept.txt: put back\n");
    assert_eq!(place.text("kept.txt"), "changed\n");
    let told = "gone.txt: put back\nkept.txt: put back\nsub/new.txt: removed\n";
    assert_eq!(place.ok(&["restore", &trace, "--to", "1"]), told);
    assert_eq!((place.text("kept.txt").as_str(), place.text("gone.txt").as_str()), ("as it was\n", "still here\n"));
    assert_eq!((place.text("cache").as_str(), place.work.join("sub/new.txt").exists()), ("y\n", false));
    // Without them nothing is known of what a command did, and that is said.
    place.config("");
    let server = scripted(vec![bash("echo x > kept.txt"), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let told = "no file that calls have written has changed since\n1 command has run since without --snapshots: other changes \
                are not known\n";
    assert_eq!(place.ok(&["restore", &newest(&place), "--to", "1"]), told);
}

#[test]
fn what_became_of_a_file_that_was_too_large_to_keep_is_said() {
    let place = Place::new();
    std::fs::write(place.work.join("huge"), vec![b'a'; 30_000_000]).unwrap();
    place.config("snapshots = true\n");
    let server = scripted(vec![bash("sed -i s/a/b/ huge"), Answer::text("Done.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Do it."]).code, 0);
    let told = "huge: kept: its content at that time was not kept\n";
    assert!(place.run(&["restore", &place.trace(), "--to", "1"]).out.contains(told));
}

/// The end of the call that was killed, after the trace was resumed, and what the log says was kept for it.
fn resumed(place: &Place, trace: &str) -> (Value, Vec<Value>) {
    let resumed = place.run(&["resume", trace, "--yes"]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "Done.\n"), "{resumed:#?}");
    let events = place.events(trace);
    let of = |name: &str| events.iter().filter(|event| event["type"] == name).cloned().collect::<Vec<_>>();
    (of("call_resolved")[0]["data"]["resolution"].clone(), of("files_kept"))
}

#[test]
fn a_write_whose_result_was_lost_in_a_kill_is_undone_as_any_other() {
    let write = || write("kept.txt", "written\n");
    // Whether such an edit was made, nobody can tell from the file.
    let edits = json!({"path": "kept.txt", "edits": [{"old_text": "as it was", "new_text": "as it was, as it was"}]});
    let edit = || Answer::call("edit_text_file", edits.clone());
    let made = || self::write("made.txt", "new\n");
    let cases: [(&dyn Fn() -> Answer, &str, &str); 3] =
        [(&write, "written\n", "ok"), (&edit, "as it was, as it was\n", "unknown"), (&made, "as it was\n", "ok")];
    for (call, holds, end) in cases {
        let place = Place::new();
        std::fs::write(place.work.join("kept.txt"), "as it was\n").unwrap();
        // The result is recorded when this hook has ended, which it never does.
        let hook = "[[hooks]]\nname = \"slow\"\ncommand = [\"sh\", \"-c\", \"sleep 100\"]\n";
        place.config(&format!("{hook}on = [\"after_tool\"]\ntimeout = \"100s\"\n"));
        let server = scripted(vec![call(), Answer::text("Done.")]);
        let process = place.start_run(&server, &["--yes", "Do it."]);
        wait_until("it has written", || place.text("kept.txt") != "as it was\n" || place.text("made.txt") == "new\n");
        assert!(process.kill().1);
        place.config("");
        let trace = place.trace();
        assert!(place.events(&trace).iter().all(|event| event["type"] != "call_resolved"));
        // At once, before anybody has resumed it, and after that.
        let (_, told) = (place.ok(&["verify", &trace]), place.ok(&["restore", &trace, "--to", "1", "--dry-run"]));
        assert!(told.contains("put back") || told.contains("removed"), "{told}");
        let (resolution, kept) = resumed(&place, &trace);
        assert_eq!((resolution.as_str(), kept.len(), place.text("kept.txt").as_str()), (Some(end), 1, holds));
        place.ok(&["restore", &trace, "--to", "1"]);
        assert_eq!((place.text("kept.txt").as_str(), place.work.join("made.txt").exists()), ("as it was\n", false));
        place.ok(&["restore", &trace, "--undo"]);
        assert_eq!(place.text("kept.txt"), holds);
        place.ok(&["verify", &trace]);
        place.ok(&["replay", &trace]);
    }
}

#[test]
fn killed_at_any_moment_around_a_write_the_file_goes_back() {
    for round in 0..12u64 {
        let place = Place::new();
        std::fs::write(place.work.join("kept.txt"), "as it was\n").unwrap();
        let server = scripted(vec![write("kept.txt", "written\n"), Answer::text("Done.")]);
        let mut process = place.start_run(&server, &["--yes", "--json", "Do it."]);
        process.event(if round % 2 == 0 { "files_kept" } else { "action_started" });
        std::thread::sleep(Duration::from_micros(round * 150));
        process.kill();
        let trace = place.trace();
        place.ok(&["restore", &trace, "--to", "1"]);
        assert_eq!(place.text("kept.txt"), "as it was\n", "round {round}");
        // On a busy machine the kill may come after the end.
        if place.events(&trace).iter().all(|event| event["type"] != "run_finished") {
            let done = place.run(&["resume", &trace, "--yes"]);
            assert_eq!(done.code, 0, "{done:#?}");
        }
        place.ok(&["restore", &trace, "--to", "1"]);
        assert_eq!(place.text("kept.txt"), "as it was\n", "round {round}");
        place.ok(&["replay", &trace]);
    }
}
