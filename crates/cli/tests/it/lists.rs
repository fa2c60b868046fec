//! `ls`, its search, and the index behind them.

use crate::support::*;
use mainpath_testkit::model_server::Answer;

#[test]
fn words_are_found_with_their_places_and_the_newest_trace_first() {
    let place = Place::new();
    place.run_on(&scripted(vec![Answer::text("用户登录已经修复。")]), &["为什么用户登录失败？"]);
    let first = place.trace();
    place.run_on(&scripted(vec![Answer::text("The login works.")]), &["Why does the login fail?"]);
    let out = place.ok(&["ls", "--search", "登录"]);
    assert!(out.starts_with(&first), "{out}");
    assert!(out.contains("    #1 user: 为什么用户登录失败？\n    #2 assistant: 用户登录已经修复。\n"), "{out}");
    let out = place.ok(&["ls", "--search", "log fail", "--json"]);
    let hit = parsed(out.lines().next().unwrap());
    assert_eq!((out.lines().count(), &hit["hit"]["seq"]), (1, &1.into()));
    assert_eq!(hit["hit"]["text"], "Why does the login fail?");
    place.run(&["ls", "--search", "pelican"]).fails(1, "no message contains \"pelican\"");
    place.run(&["ls", "--search", "???"]).fails(2, "there is nothing to look for");
    // What is erased is not found, nor is what is removed.
    place.ok(&["erase", &first, "--all", "--yes"]);
    place.run(&["ls", "--search", "登录"]).fails(1, "no message contains");
    assert!(place.ok(&["ls"]).contains("(erased)"));
    place.ok(&["rm", &first, "--yes"]);
    assert_eq!(place.ok(&["ls"]).lines().count(), 1);
}

#[test]
fn the_task_is_the_one_of_the_main_path() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Done.")]);
    place.run_on(&server, &["Book a flight"]);
    let trace = place.trace();
    let tasks = || (parsed(&place.ok(&["ls", "--json"]))["task"].clone(), request(&place, &trace));
    assert_eq!(tasks(), ("Book a flight".into(), "Book a flight".into()));
    place.ok(&["rewind", &trace, "--to", "0", "Sell the car"]);
    assert_eq!(tasks(), ("Sell the car".into(), "Sell the car".into()));
    // What comes after it is no task, and a rewind to after it keeps it.
    place.ok(&["run", "--trace", &trace, "For more"]);
    place.ok(&["rewind", &trace, "--turn", "2", "For less"]);
    assert_eq!(tasks(), ("Sell the car".into(), "Sell the car".into()));
    place.ok(&["index", "rebuild"]);
    assert_eq!(tasks(), ("Sell the car".into(), "Sell the car".into()));
    // Back to the first.
    place.ok(&["fork", &trace, "--at", "2", "--no-run"]);
    let fork = place.traces().into_iter().find(|other| *other != trace).unwrap();
    let list = place.ok(&["ls", "--json"]);
    let of_fork = list.lines().map(parsed).find(|line| line["trace_id"] == fork.as_str()).unwrap();
    assert_eq!(of_fork["task"], "Book a flight");
    place.ok(&["replay", &trace]);
}

#[test]
fn what_is_piped_in_or_attached_is_data_and_not_the_task() {
    let place = Place::new();
    place.config(
        "inject_every = 1\n[[context_hooks]]\nname = \"news\"\ncommand = [\"sh\", \"-c\", \"cat > $HOME/hook.json\"]\n",
    );
    std::fs::write(place.work.join("a.txt"), "Dogs must bark.\n").unwrap();
    let answers = vec![Answer::call("list_files", serde_json::json!({})), Answer::text("Reviewed.")];
    let server = scripted(answers);
    let model = server.model();
    let diff = format!("The vendor must ship on Friday.\n{}", "+ a line\n".repeat(200));
    let args = ["run", "-m", model.as_str(), "--file", "a.txt", "Review this change. Answer in English only."];
    let done = place.run_with(&args, diff.as_bytes());
    assert_eq!((done.code, done.out.as_str()), (0, "Reviewed.\n"), "{done:#?}");
    let (trace, task) = (place.trace(), "Review this change. Answer in English only.");
    assert_eq!(parsed(&place.ok(&["ls", "--json"]))["task"], task);
    let view = |name: &str| std::fs::read_to_string(place.file(&trace, name)).unwrap();
    assert_eq!(parsed(&view("meta.json"))["task"], task);
    let goals = parsed(&view("goal.json"));
    assert_eq!((&goals["mission"], &goals["goals"][0]["description"]), (&task.into(), &task.into()), "{goals:#}");
    let summary = view("summary.md");
    // How much came with it is said, and none of it.
    let (before, _) = summary.split_once(" characters of input)").unwrap();
    assert!(before.ends_with(|letter: char| letter.is_ascii_digit()), "{summary}");
    let summary =
        summary.replacen(&format!(" (with {} characters of input)", before.rsplit(' ').next().unwrap()), "", 1);
    let asked = format!("## Goal\n- {task}\n\n## Constraints\n- Answer in English only.\n\n## Decisions\n");
    assert!(summary.contains(&asked), "{summary}");
    let hook = std::fs::read_to_string(place.root().join("hook.json")).unwrap();
    assert_eq!(parsed(&hook)["task"], task);
    // The model is told all of it, and so is whoever looks for what was asked.
    let said = format!("{diff}\n\n{task}\n");
    assert!(request(&place, &trace).starts_with(&said) && request(&place, &trace).contains("Dogs must bark."));
    let requests = server.requests();
    let body = requests[0].body();
    let content =
        body["messages"].as_array().unwrap().iter().find(|one| one["role"] == "user").unwrap()["content"].clone();
    assert!(content.as_str().is_some_and(|content| content.starts_with(&said)), "{content:#}");
    assert!(requests[1].body()["messages"].to_string().contains(&format!("1. {task}")), "{requests:#?}");
    place.ok(&["replay"]);
}

fn request(place: &Place, trace: &str) -> String {
    std::fs::read_to_string(place.file(trace, "inputs/request.txt")).unwrap()
}

#[test]
fn one_thing_is_not_told_as_several() {
    let place = Place::new();
    place.run_on(&scripted(vec![Answer::text("Done.")]), &["Go."]);
    assert!(place.ok(&["ls"]).contains("  1 turn   "), "{}", place.ok(&["ls"]));
    assert!(place.ok(&["index", "rebuild"]).starts_with("1 trace is in the index"));
    assert!(place.ok(&["replay"]).contains(" events applied, 1 request and "), "{}", place.ok(&["replay"]));
    assert!(place.ok(&["purge", "--keep", "0", "--yes"]).starts_with("1 trace was removed\n"));
}

#[test]
fn the_list_is_the_same_with_a_new_a_spoilt_and_a_locked_index() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Done.")]);
    place.run_on(&server, &["first"]);
    place.run_on(&server, &["second"]);
    let told = |out: &str| -> Vec<String> {
        let line = |line: &str| {
            let line = parsed(line);
            format!("{} {} {} {}", line["trace_id"], line["status"], line["turns"], line["task"])
        };
        out.lines().map(line).collect()
    };
    let list = told(&place.ok(&["ls", "--json"]));
    assert_eq!(list.len(), 2);
    assert!(list[0].contains("second"), "{list:?}");
    assert!(place.ok(&["index", "rebuild"]).starts_with("2 traces are in the index"));
    assert_eq!(told(&place.ok(&["ls", "--json"])), list);
    let index = place.home.join("index.sqlite");
    std::fs::write(&index, "spoilt").unwrap();
    assert_eq!(told(&place.ok(&["ls", "--json"])), list);
    std::fs::remove_file(&index).unwrap();
    // Something else is in its place: every log is read, for the list and for a search.
    std::fs::create_dir(&index).unwrap();
    assert_eq!(told(&place.ok(&["ls", "--json"])), list);
    assert!(place.ok(&["ls", "--search", "first"]).contains("first"));
}

#[test]
fn only_the_newest_are_shown_unless_all_are_asked_for() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Done.")]);
    for n in 0..22 {
        place.run_on(&server, &[&format!("task {n}")]);
    }
    let done = place.run(&["ls"]);
    assert_eq!((done.out.lines().count(), done.err.as_str()), (20, "2 more: mainpath ls --all\n"));
    assert!(done.out.lines().next().unwrap().ends_with("task 21"), "{}", done.out);
    assert_eq!(place.ok(&["ls", "--all"]).lines().count(), 22);
}

#[test]
fn what_is_no_file_in_the_place_of_a_log_is_listed_as_damaged_and_read_by_nobody() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("One heron.")]);
    for _ in 0..5 {
        assert_eq!(place.run_on(&server, &["How many herons?"]).code, 0);
    }
    let traces = place.traces();
    let pipe = |file: &std::path::Path| {
        std::fs::remove_file(file).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(file).status().unwrap().success());
    };
    let log = |n: usize| place.file(&traces[n], "events.jsonl");
    pipe(&log(0));
    std::fs::remove_file(log(1)).unwrap();
    std::fs::create_dir(log(1)).unwrap();
    // So is a lock that is none; whoever looks who runs it would wait for ever.
    pipe(&place.file(&traces[2], "owner.lock"));
    let timely = |args: &[&str]| {
        let mut command = std::process::Command::new("timeout");
        command.arg("20").arg(place.command(&[]).get_program()).args(args).current_dir(&place.work);
        place.surround(&mut command);
        finish(command, None)
    };
    for rebuilt in [false, true] {
        if rebuilt {
            assert_eq!(timely(&["index", "rebuild"]).code, 0);
        }
        let listed = timely(&["ls"]);
        assert_eq!((listed.code, listed.out.lines().count()), (0, 5), "{listed:#?}");
        for (n, file, what) in [(0, "events.jsonl", "pipe"), (1, "events.jsonl", "folder"), (2, "owner.lock", "pipe")] {
            let (trace, file) = (&traces[n], place.file(&traces[n], file));
            let line = format!("{trace}  damaged          {} is not a file but a {what}: ", file.display());
            assert!(listed.out.contains(&line), "{listed:#?}");
            let json = timely(&["ls", "--json"]).out;
            let row = json.lines().map(parsed).find(|row| row["trace_id"] == trace.as_str()).unwrap();
            assert_eq!(row["status"], "damaged");
        }
    }
    let pending = [&["show"] as &[&str], &["verify"], &["export"], &["resume"], &["fork"], &["stats"], &["watch"]];
    for n in [0, 1, 2] {
        for args in pending {
            timely(&[args, &[&traces[n]]].concat()).fails(1, "is not a file but a ");
        }
    }
    assert_eq!(timely(&["ls", "--search", "heron"]).code, 0);
    // What the others named stays as long as nobody knows what these did; they go like any other.
    timely(&["purge", "--keep", "9", "--yes"]).fails(1, "no blobs were removed, because a log cannot be read");
    for n in [0, 1] {
        assert!(!timely(&["rm", "--yes", &traces[n]]).out.is_empty());
        assert!(!log(n).exists());
    }
}

#[test]
fn a_log_that_lost_its_end_is_listed_as_damaged_and_one_whose_process_was_killed_as_interrupted() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("One heron.")]);
    for _ in 0..2 {
        assert_eq!(place.run_on(&server, &["How many herons?"]).code, 0);
    }
    let traces = place.traces();
    let cut = |trace: &str, views: bool| {
        let log = place.file(trace, "events.jsonl");
        let text = std::fs::read_to_string(&log).unwrap();
        let kept: Vec<&str> = text.split_inclusive('\n').take_while(|line| !line.contains("model_finished")).collect();
        std::fs::write(&log, kept.concat()).unwrap();
        if !views {
            // As a process leaves it that was killed before it wrote views, and before it released the trace.
            for name in ["meta.json", "state.json", "owner.lock"] {
                std::fs::remove_file(place.file(trace, name)).unwrap();
            }
        }
    };
    cut(&traces[0], true);
    cut(&traces[1], false);
    for _ in 0..2 {
        let listed = place.ok(&["ls"]);
        let line = |trace: &str| listed.lines().find(|line| line.starts_with(trace)).unwrap().to_owned();
        assert!(line(&traces[0]).contains("  damaged "), "{listed}");
        assert!(line(&traces[1]).contains("  interrupted "), "{listed}");
    }
}
