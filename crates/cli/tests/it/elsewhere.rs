//! Sessions that several machines see in one mirror: they go on anywhere, and nobody's words are overwritten.

use crate::looking::{as_another, shut, unseal};
use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use mainpath_testkit::redis::Redis;
use serde_json::Value;

fn place_with(mirror: &str) -> Place {
    let place = Place::new();
    place.config(&format!("[sessions]\nmirror = {mirror:?}\n"));
    place
}

fn answers() -> ModelServer {
    scripted((1..9).map(|n| Answer::text(&format!("Answer {n}."))).collect())
}

/// What people and the model said in the last request.
fn said(server: &ModelServer) -> Vec<String> {
    let request = server.requests().pop().unwrap();
    let messages = request.body()["messages"].as_array().unwrap().clone();
    let said = messages.iter().filter(|message| message["role"] != "system");
    said.map(|message| message["content"].as_str().unwrap_or_default().to_string()).collect()
}

/// The trace of the session on this machine.
fn trace_of(place: &Place) -> String {
    let session: Value = serde_json::from_str(&place.ok(&["session", "show", "pond", "--json"])).unwrap();
    session["trace"].as_str().unwrap().to_string()
}

fn texts(prepared: &str) -> Vec<String> {
    let list: Vec<Value> = serde_json::from_str(prepared).unwrap();
    list.iter().map(|message| message["parts"][0]["text"].as_str().unwrap_or_default().to_string()).collect()
}

#[test]
fn a_conversation_goes_on_from_another_machine_and_both_are_told() {
    let shared = tempfile::tempdir().unwrap();
    let file = shared.path().join("chats.db");
    let mirror = format!("sqlite:{}", file.display());
    let (one, two, server) = (place_with(&mirror), place_with(&mirror), answers());
    assert_eq!(one.run_on(&server, &["--session", "pond", "First."]).code, 0);
    assert_eq!(one.run_on(&server, &["--session", "pond", "Second."]).code, 0);
    // The other machine sees it.
    let listed = two.ok(&["session", "list"]);
    assert!(listed.starts_with("pond ") && listed.contains("on another machine"), "{listed}");
    assert!(two.ok(&["session", "show", "pond"]).contains("4 messages in the mirror"));
    let all = ["First.", "Answer 1.", "Second.", "Answer 2."];
    assert_eq!(texts(&two.ok(&["session", "prepare", "pond"])), all);
    let summary = two.ok(&["session", "summary", "pond"]);
    assert!(summary.contains("First.") && summary.contains("Second."), "{summary}");
    assert!(two.traces().is_empty(), "looking makes no trace");
    two.run(&["session", "show", "lake"]).fails(1, "there is no session \"lake\"");
    two.run(&["session", "summary", "lake"]).fails(1, "there is no session \"lake\"");
    // And goes on.
    let done = two.run_on(&server, &["--session", "pond", "Third."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Answer 3.\n"), "{done:#?}");
    assert!(done.err.contains("! the session pond was held on another machine (trace "), "{}", done.err);
    assert!(done.err.contains("4 messages were imported as trace "), "{}", done.err);
    assert_eq!(said(&server), ["First.", "Answer 1.", "Second.", "Answer 2.", "Third."]);
    two.ok(&["verify"]);
    // The first one goes on as well: it is told, and what was said there stays in the mirror.
    let done = one.run_on(&server, &["--session", "pond", "Also third."]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(done.err.contains("another machine has continued it, as trace "), "{}", done.err);
    assert!(
        done.err.contains("to continue with the other messages: mainpath session switch pond --mirror"),
        "{}",
        done.err
    );
    let theirs = ["First.", "Answer 1.", "Second.", "Answer 2.", "Third.", "Answer 3."];
    assert_eq!(texts(&two.ok(&["session", "prepare", "pond"])), theirs);
    assert_eq!(texts(&one.ok(&["session", "prepare", "pond"])).last().unwrap(), "Answer 3.", "its own");
    let third = place_with(&mirror);
    assert_eq!(texts(&third.ok(&["session", "prepare", "pond"])), theirs, "nothing was overwritten");
    // It takes over what was said there, and its own trace stays.
    let taken = one.run(&["session", "switch", "pond", "--mirror"]);
    assert!(taken.code == 0 && taken.err.contains("6 messages were imported as trace "), "{taken:#?}");
    assert_eq!(one.run_on(&server, &["--session", "pond", "Fourth."]).code, 0);
    assert_eq!(said(&server).len(), 7);
    assert_eq!(one.traces().len(), 2);
    let back = two.run_on(&server, &["--session", "pond", "Fifth."]);
    assert!(back.err.contains("another machine has continued it"), "{}", back.err);
    one.run(&["session", "switch", "pond", "--mirror"])
        .fails(1, "the mirror has no messages of pond from another machine");
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[test]
fn a_redis_server_hands_a_session_on_and_one_that_is_down_loses_nothing() {
    let redis = Redis::start();
    let config = format!(
        "[sessions]\nmirror = \"{}\"\npassword = \"RP\"\n[secrets]\nRP = \"{}\"\n",
        redis.url(),
        Redis::PASSWORD
    );
    let (one, two, server) = (Place::new(), Place::new(), answers());
    one.config(&config);
    two.config(&config);
    assert_eq!(one.run_on(&server, &["--session", "pond", "First."]).code, 0);
    let listed = two.run(&["session", "list"]);
    assert!(listed.out.contains("on another machine") && !listed.err.contains("no sessions"), "{listed:#?}");
    let done = two.run_on(&server, &["--session", "pond", "Second."]);
    assert!(done.err.contains("2 messages were imported as trace "), "{done:#?}");
    assert_eq!(said(&server), ["First.", "Answer 1.", "Second."]);
    let done = one.run_on(&server, &["--session", "pond", "Also second."]);
    assert!(done.err.contains("another machine has continued it"), "{}", done.err);
    assert_eq!(redis.list("mainpath:session:pond").len(), 4, "theirs");
    drop(redis);
    // What cannot be seen or written is said in a line each, and the conversation goes on.
    let done = two.run_on(&server, &["--session", "pond", "Third."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Answer 3.\n"), "{done:#?}");
    assert!(done.err.contains("! the messages are saved, but not mirrored: redis://"), "{}", done.err);
    let fresh = two.run_on(&server, &["--session", "lake", "New."]);
    assert!(fresh.code == 0 && fresh.err.contains("! cannot check whether another machine has lake"), "{fresh:#?}");
    let listed = two.run(&["session", "list"]);
    assert!(listed.code == 1 && listed.out.starts_with("lake") && listed.err.starts_with("! redis://"), "{listed:#?}");
}

#[test]
fn what_is_cleared_is_in_no_mirror_at_once() {
    let shared = tempfile::tempdir().unwrap();
    let file = shared.path().join("chats.db");
    let (place, server) = (place_with(&format!("sqlite:{}", file.display())), answers());
    assert_eq!(place.run_on(&server, &["--session", "pond", "A heron stands there."]).code, 0);
    let holds = || std::fs::read(&file).unwrap().windows(5).any(|bytes| bytes == b"heron");
    assert!(holds());
    place.ok(&["clear"]);
    assert!(!holds(), "without another run");
    assert_eq!(place.ok(&["session", "prepare", "pond"]).trim(), "[\n]");
    assert_eq!(place.run_on(&server, &["--session", "pond", "A stork."]).code, 0);
    assert_eq!(texts(&place.ok(&["session", "prepare", "pond"])), ["A stork.", "Answer 1."]);
}

#[test]
fn what_was_cleared_on_one_machine_is_not_brought_back_by_another() {
    let shared = tempfile::tempdir().unwrap();
    let redis = Redis::start();
    let sqlite = format!("[sessions]\nmirror = \"sqlite:{}\"\n", shared.path().join("chats.db").display());
    let (url, password) = (redis.url(), Redis::PASSWORD);
    let server = format!("[sessions]\nmirror = \"{url}\"\npassword = \"RP\"\n[secrets]\nRP = \"{password}\"\n");
    for config in [sqlite, server] {
        let (one, two, three, server) = (Place::new(), Place::new(), Place::new(), answers());
        [&one, &two, &three].iter().for_each(|place| place.config(&config));
        assert_eq!(one.run_on(&server, &["--session", "pond", "A heron."]).code, 0);
        assert_eq!(two.run_on(&server, &["--session", "pond", "Two herons."]).code, 0);
        assert_eq!(one.run(&["session", "switch", "pond", "--mirror"]).code, 0);
        assert_eq!(one.run_on(&server, &["--session", "pond", "Three herons."]).code, 0);
        one.ok(&["clear", &trace_of(&one)]);
        // The older branch stays where it is.
        let done = two.run_on(&server, &["--session", "pond", "Four herons."]);
        assert!(done.code == 0 && done.err.contains("another machine has continued it, as trace "), "{done:#?}");
        assert_eq!(three.ok(&["session", "prepare", "pond"]).trim(), "[\n]");
        assert!(three.ok(&["session", "show", "pond"]).contains("  cleared there; mainpath run --session pond"));
        // Whoever goes on with it begins anew, also who knew what was said.
        let taken = two.run(&["session", "switch", "pond", "--mirror"]);
        assert!(taken.code == 0 && taken.err.contains("the session pond was cleared on another machine"), "{taken:#?}");
        let done = three.run_on(&server, &["--session", "pond", "A stork."]);
        assert!(done.code == 0 && done.err.contains("the session pond was cleared on another machine"), "{done:#?}");
        assert_eq!(said(&server), ["A stork."]);
        assert_eq!(texts(&three.ok(&["session", "prepare", "pond"])), ["A stork.", "Answer 1."]);
        // What was begun there meanwhile is not overwritten by who took over what was cleared.
        let done = two.run_on(&server, &["--session", "pond", "A crane."]);
        assert_eq!(said(&server), ["A crane."]);
        assert!(done.err.contains("another machine has continued it, as trace "), "{done:#?}");
        assert_eq!(server.violations(), Vec::<String>::new());
    }
}

#[test]
fn what_is_removed_or_erased_on_one_machine_is_not_brought_back_by_another() {
    let removals: [&[&str]; 2] = [&["rm", "--yes"], &["erase", "--all", "--yes"]];
    for removal in removals {
        let shared = tempfile::tempdir().unwrap();
        let mirror = format!("sqlite:{}", shared.path().join("chats.db").display());
        let (one, two, server) = (place_with(&mirror), place_with(&mirror), answers());
        assert_eq!(one.run_on(&server, &["--session", "pond", "A heron."]).code, 0);
        assert_eq!(two.run_on(&server, &["--session", "pond", "Two herons."]).code, 0);
        assert_eq!(one.run(&["session", "switch", "pond", "--mirror"]).code, 0);
        one.ok(&[removal, &[&trace_of(&one)]].concat());
        let done = two.run_on(&server, &["--session", "pond", "Three herons."]);
        assert!(done.code == 0 && done.err.contains("another machine has continued it, as trace "), "{done:#?}");
        let third = place_with(&mirror);
        assert_eq!(third.ok(&["session", "prepare", "pond"]).trim(), "[\n]", "{removal:?}");
        // What is left of it can go from anywhere.
        third.ok(&["session", "rm", "pond"]);
        third.run(&["session", "show", "pond"]).fails(1, "there is no session \"pond\"");
    }
}

#[test]
fn what_is_damaged_in_a_mirror_is_named_and_begins_no_empty_conversation() {
    let shared = tempfile::tempdir().unwrap();
    let file = shared.path().join("chats.db");
    let mirror = format!("sqlite:{}", file.display());
    let (one, server) = (place_with(&mirror), answers());
    assert_eq!(one.run_on(&server, &["--session", "pond", "First."]).code, 0);
    assert_eq!(one.run_on(&server, &["--session", "pond", "Second."]).code, 0);
    let change = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute(sql, []).unwrap();
    // One of four: the others are taken in, and it is said.
    for sql in ["UPDATE message SET message = '{broken' WHERE n = 2", "DELETE FROM message WHERE n = 2"] {
        change(sql);
        let two = place_with(&mirror);
        let lost = "1 message is missing or damaged in the mirror of session pond and left out; trace ";
        let shown = two.run(&["session", "show", "pond"]);
        assert!(shown.out.contains("3 messages in the mirror") && shown.err.contains(lost), "{shown:#?}");
        let prepared = two.run(&["session", "prepare", "pond"]);
        assert!(texts(&prepared.out) == ["First.", "Second.", "Answer 2."] && prepared.err.contains(lost));
    }
    let copy = std::fs::read(&file).unwrap();
    let two = place_with(&mirror);
    let done = two.run_on(&server, &["--session", "pond", "Third."]);
    assert!(done.code == 0 && done.err.contains("1 message is missing or damaged in the mirror"), "{done:#?}");
    assert!(done.err.contains("3 messages were imported as trace "), "{done:#?}");
    // None of them: nothing is begun, and whoever asks is told the same.
    std::fs::write(&file, copy).unwrap();
    change("UPDATE message SET message = '{broken'");
    let three = place_with(&mirror);
    let damaged =
        "the session pond is damaged: its messages cannot be read; mainpath session prepare pond on the machine";
    assert!(three.ok(&["session", "list"]).contains("on another machine"));
    for look in ["show", "prepare", "summary"] {
        three.run(&["session", look, "pond"]).fails(1, damaged);
    }
    let done = three.run_on(&server, &["--session", "pond", "Third."]);
    assert!(done.code == 1 && done.err.contains(damaged) && three.traces().is_empty(), "{done:#?}");
    three.run(&["session", "switch", "pond", "--mirror"]).fails(1, damaged);
    // Where the trace is, it is written anew.
    one.ok(&["session", "prepare", "pond"]);
    assert_eq!(texts(&three.ok(&["session", "prepare", "pond"])), ["First.", "Answer 1.", "Second.", "Answer 2."]);
    three.run(&["session", "rm", "pond"]).fails(1, "the session pond belongs to another machine");
}

#[test]
fn what_is_being_cleared_is_prepared_for_nobody_while_its_run_ends() {
    let shared = tempfile::tempdir().unwrap();
    let file = shared.path().join("chats.db");
    let place = place_with(&format!("sqlite:{}", file.display()));
    // What does not hear the first wish has 0.3 s before it is killed.
    let server = scripted(vec![Answer::text("A heron."), bash("trap '' TERM; echo $$ > pid; sleep 30")]);
    assert_eq!(place.run_on(&server, &["--session", "pond", "A heron stands there."]).code, 0);
    let mut running = place.start_run(&server, &["--yes", "--json", "--session", "pond", "And the heron?"]);
    wait_until("the tool runs", || place.text("pid").ends_with('\n'));
    place.ok(&["clear"]);
    running.event("call_cancelling");
    let prepared = place.ok(&["session", "prepare", "pond"]);
    let holds = std::fs::read(&file).unwrap().windows(5).any(|bytes| bytes == b"heron");
    assert!(!holds && prepared.trim() == "[\n]", "{prepared}");
    running.end();
    assert_eq!(place.ok(&["session", "prepare", "pond"]).trim(), "[\n]");
}

#[test]
fn a_mirror_that_others_have_spoilt_is_told_and_spoils_nothing() {
    let shared = tempfile::tempdir().unwrap();
    let file = shared.path().join("chats.db");
    let (one, two, server) = (place_with(&format!("sqlite:{}", file.display())), Place::new(), answers());
    two.config(&format!("[sessions]\nmirror = \"sqlite:{}\"\n", file.display()));
    assert_eq!(one.run_on(&server, &["--session", "pond", "First."]).code, 0);
    assert_eq!(two.run_on(&server, &["--session", "lake", "New."]).code, 0);
    std::fs::write(&file, "no database any more, though long enough to be looked at").unwrap();
    for place in [&one, &two] {
        let broken = place.run(&["session", "list"]);
        assert!(broken.code == 1 && broken.err.contains("file is not a database"), "{broken:#?}");
    }
    let broken = two.run_on(&server, &["--session", "lake", "Again."]);
    assert!(broken.code == 0 && broken.err.contains("! the messages are saved, but not mirrored: "), "{broken:#?}");
    two.run(&["session", "prepare", "pond"]).fails(1, "file is not a database");
}

#[test]
fn sessions_are_looked_at_in_a_folder_of_somebody_else() {
    let (place, server) = (place_with("sqlite:chats.db"), answers());
    assert_eq!(place.run_on(&server, &["--session", "pond", "First."]).code, 0);
    let looks: [&[&str]; 5] = [
        &["session", "list"],
        &["session", "show", "pond"],
        &["session", "summary", "pond"],
        &["session", "list", "--json"],
        &["ls", "--json"],
    ];
    let before: Vec<String> = looks.iter().map(|look| place.ok(look)).collect();
    shut(&place);
    let seen = looks.map(|look| as_another(&place, look));
    // What cannot be written is named, and all the rest is looked at.
    let done = as_another(&place, &["doctor"]);
    unseal(&place.home);
    for ((look, before), seen) in looks.iter().zip(before).zip(seen) {
        assert_eq!((seen.code, ages(&seen.out), seen.err.as_str()), (0, ages(&before), ""), "{look:?}");
    }
    let home = place.home.display();
    assert!(done.code == 1 && done.out.contains(&format!("FAIL data in {home} cannot be written: ")), "{done:#?}");
    assert!(done.out.contains("bash runs under"), "{done:#?}");
}

/// The same without how long ago it was.
fn ages(text: &str) -> String {
    text.split_whitespace().filter(|word| !word.ends_with(|end: char| end.is_ascii_digit())).collect()
}
