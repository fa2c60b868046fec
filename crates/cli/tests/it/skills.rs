//! Skills: listed, trusted, selected by models and people, their files read and their scripts run.

use crate::approvals::observed;
use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Writes a skill into a folder of skills; gives its folder.
fn skill(place: &Place, at: &str, name: &str, more: &str, body: &str) -> PathBuf {
    let folder = place.root().join(at).join(name);
    std::fs::create_dir_all(folder.join("scripts")).unwrap();
    std::fs::create_dir_all(folder.join("references")).unwrap();
    let text = format!("---\nname: {name}\ndescription: Fills in {name} for people.\n{more}---\n# {name}\n\n{body}\n");
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
    folder
}

/// A person's own skill with a script and a guide.
fn forms(place: &Place, effect: &str) -> PathBuf {
    let more = if effect.is_empty() { String::new() } else { format!("metadata:\n  effect: {effect}\n") };
    let folder = skill(place, ".claude/skills", "forms", &more, "Tick every box.");
    std::fs::write(folder.join("references/guide.md"), "# Guide\n\nIntro.\n\n## Boxes\n\nWith a cross.\n").unwrap();
    let script =
        "echo \"ran with $*\"; cat \"$(dirname \"$0\")/../references/guide.md\" | head -1; echo made > made.txt\n";
    std::fs::write(folder.join("scripts/fill.sh"), script).unwrap();
    folder
}

fn select(name: &str) -> Answer {
    Answer::call("select_skills", json!({"skills": [{"name": name, "reason": "it fits"}]}))
}

fn script(args: &[&str]) -> Answer {
    Answer::call(
        "run_script",
        json!({"skill": "forms", "path": "scripts/fill.sh", "args": args, "reason": "to fill it in"}),
    )
}

/// What the system text of the first request says.
fn system(server: &ModelServer) -> String {
    server.requests()[0].body()["messages"][0]["content"].to_string()
}

fn tools(server: &ModelServer) -> Vec<String> {
    let requests = server.requests();
    let tools = requests[0].body()["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_string()).collect()
}

fn named<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == name).map(|event| &event["data"]).collect()
}

#[test]
fn a_model_selects_a_skill_reads_its_files_and_runs_its_script_and_a_replay_needs_none_of_them() {
    let place = Place::new();
    let folder = forms(&place, "read-only");
    let resource = |path: &str| json!({"skill": "forms", "path": path, "section": "boxes", "reason": "how"});
    let server = scripted(vec![
        Answer::call("load_resource", resource("references/guide.md")),
        select("forms"),
        Answer::call("load_resource", resource("references/guide.md")),
        Answer::call("load_resource", resource("../../../home/config.toml")),
        script(&["a b", "c"]),
        Answer::text("Filled in."),
    ]);
    let done = place.run_on(&server, &["--yes", "Fill it in."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Filled in.\n"), "{done:#?}");
    let (trace, requests) = (place.trace(), server.requests());
    let results: Vec<String> = requests[5].body()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    assert!(results[0].contains("is not selected"), "{}", results[0]);
    assert!(results[1].contains("forms (user): loaded; its instructions follow."), "{}", results[1]);
    assert!(results[2].contains("With a cross.") && !results[2].contains("Intro."), "{}", results[2]);
    assert!(results[3].contains("must be relative and stay inside the skill's folder"), "{}", results[3]);
    assert!(results[4].contains("ran with a b c") && results[4].contains("# Guide"), "{}", results[4]);
    assert!(results[4].contains("Read-only file system"), "it declares that it only reads: {}", results[4]);
    assert!(!place.work.join("made.txt").exists());
    // From the turn after its selection on, the text stands there, after the results.
    let third = requests[2].body()["messages"].as_array().unwrap();
    let last = third.last().unwrap();
    assert_eq!(last["role"], "user");
    assert!(last["content"].to_string().contains("Tick every box."), "{last}");
    let events = place.events(&trace);
    let selected = named(&events, "skill_selected");
    assert_eq!(selected.len(), 1);
    let of = ["skill", "source", "by", "reason"].map(|field| selected[0][field].as_str().unwrap());
    assert_eq!(of, ["forms", "user", "model", "it fits"]);
    let loaded = named(&events, "resource_loaded");
    assert_eq!(loaded.len(), 1);
    assert_eq!(
        (loaded[0]["path"].as_str(), loaded[0]["section"].as_str()),
        (Some("references/guide.md"), Some("Boxes"))
    );
    std::fs::remove_dir_all(folder).unwrap();
    assert!(place.ok(&["replay", &trace]).contains("rebuilt identically"));
    assert!(place.ok(&["show", &trace]).contains("forms (user)"));
}

#[test]
fn a_script_is_asked_about_with_its_content_and_runs_only_with_that_content() {
    let place = Place::new();
    let folder = forms(&place, "");
    let server = scripted(vec![select("forms"), script(&[]), Answer::text("The end.")]);
    let done = place.run_on(&server, &["--park", "--mode", "workspace-write", "Fill it in."]);
    done.fails(5, "needs approval");
    assert!(done.err.contains("it runs sha256:") && done.err.contains("scripts/fill.sh"), "{}", done.err);
    assert!(!done.err.contains("--for"), "a rule knows no content: {}", done.err);
    let trace = place.trace();
    let told = place.events(&trace);
    let calls = named(&told, "model_finished");
    let places = calls[1]["calls"][0]["places"].as_array().unwrap();
    assert!(places[0].as_str().unwrap().starts_with("sha256:"), "{places:?}");
    // Somebody changes what lies beside the script, and then the approval comes.
    std::fs::write(folder.join("references/guide.md"), "# Other\n").unwrap();
    // What is approved is what was seen, and it is shown by its content here as it is where it is asked.
    let shown = |text: &str| {
        text.lines().find(|line| line.contains("it runs sha256:")).unwrap().trim_start_matches(['·', ' ']).to_string()
    };
    let approved = place.run(&["approve", &trace]);
    assert_eq!((approved.code, shown(&approved.err)), (0, shown(&done.err)));
    let done = place.run(&["resume", &trace, "--park"]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert!(observed(&server).contains("changed since it was judged"), "{}", observed(&server));
    assert!(!place.work.join("made.txt").exists());
}

#[test]
fn an_approved_script_runs_in_the_workspace_and_changes_nothing_of_its_skill() {
    let place = Place::new();
    let folder = forms(&place, "");
    std::fs::write(folder.join("scripts/fill.sh"), "echo made > made.txt; echo x >> \"$0\"; exit 3\n").unwrap();
    let server = scripted(vec![select("forms"), script(&[]), Answer::text("The end.")]);
    place.run_on(&server, &["--park", "Fill it in."]).fails(5, "needs approval");
    let trace = place.trace();
    place.ok(&["approve", &trace]);
    assert_eq!(place.run(&["resume", &trace, "--park"]).out, "The end.\n");
    assert_eq!(place.text("made.txt"), "made\n");
    assert!(!std::fs::read_to_string(folder.join("scripts/fill.sh")).unwrap().contains("\nx"));
    assert!(observed(&server).contains("exit code 3"), "{}", observed(&server));
    let left = std::fs::read_dir(place.root().join("tmp")).unwrap().count();
    assert_eq!(left, 0, "no copy is left");
}

#[test]
fn rules_on_commands_and_tools_hold_for_scripts() {
    for deny in ["bash(bash *)", "run_script"] {
        let place = Place::new();
        forms(&place, "local-write");
        let server = scripted(vec![select("forms"), script(&[]), Answer::text("The end.")]);
        let done = place.run_on(&server, &["--yes", "--deny", deny, "Fill it in."]);
        assert_eq!(done.out, "The end.\n", "{done:#?}");
        assert!(!place.work.join("made.txt").exists(), "{deny}");
    }
}

#[test]
fn a_run_ends_for_its_scripts() {
    let place = Place::new();
    forms(&place, "local-write");
    let server = scripted(vec![select("forms"), script(&["1"]), script(&["2"]), Answer::text("no")]);
    let done = place.run_on(&server, &["--yes", "--max-script-runs", "1", "Fill it in."]);
    assert_eq!(done.code, 4, "{done:#?}");
    let events = place.events(&place.trace());
    assert_eq!(named(&events, "run_finished")[0]["reason"], "max_script_runs");
}

#[test]
fn a_projects_skills_are_not_shown_until_they_are_trusted_and_not_after_they_changed() {
    let place = Place::new();
    let folder = skill(&place, "work/.agents/skills", "local", "", "Do it so.");
    let run = || {
        let server = scripted(vec![select("local"), Answer::text("The end.")]);
        let done = place.run_on(&server, &["Do it."]);
        assert_eq!(done.code, 0, "{done:#?}");
        (server, done)
    };
    let (server, done) = run();
    assert!(
        done.err.contains("skills of this project that you have not trusted as they are now are not shown to agents: "),
        "{}",
        done.err
    );
    assert!(!system(&server).contains("Fills in local"), "{}", system(&server));
    assert!(observed(&server).contains("you have not trusted it"), "{}", observed(&server));
    assert!(place.ok(&["skills", "list"]).contains("! local"));
    assert!(place.ok(&["skills", "show", "local"]).contains("not trusted"));
    // What an agent calls is not a person's word.
    for (args, what) in [(["skills", "trust", "--all"].as_slice(), "skills"), (&["policy", "trust"], "rules")] {
        let mut by_agent = place.command(args);
        by_agent.env("MAINPATH_CALL", "x");
        finish(by_agent, None).fails(1, &format!("agents cannot trust {what}; run this command yourself"));
    }
    let trusted = place.ok(&["skills", "trust", "local"]);
    assert!(trusted.contains("local: trusted as it is now"), "{trusted}");
    let (server, done) = run();
    assert!(!done.err.contains("not trusted"), "{}", done.err);
    assert!(system(&server).contains("- local: Fills in local for people."), "{}", system(&server));
    assert!(observed(&server).contains("local (project): loaded"), "{}", observed(&server));
    std::fs::write(folder.join("scripts/new.sh"), "").unwrap();
    let (server, _) = run();
    assert!(observed(&server).contains("it has changed since you trusted it"), "{}", observed(&server));
    place.ok(&["skills", "trust", "local"]);
    assert!(place.ok(&["skills", "trust", "--all"]).contains("all skills of this project are trusted as they are now"));
    assert!(place.ok(&["skills", "trust", "--revoke", "--all"]).contains("local: no longer trusted"));
    assert!(place.ok(&["skills", "list"]).contains("! local"));
}

#[test]
fn a_person_names_a_skill_also_one_that_models_cannot_select() {
    let place = Place::new();
    forms(&place, "read-only");
    skill(&place, ".claude/skills", "secret", "disable-model-invocation: true\n", "Say the word.");
    let server = scripted(vec![select("secret"), Answer::text("The end.")]);
    place.run_on(&server, &["Do it."]);
    assert!(!system(&server).contains("secret"), "{}", system(&server));
    assert!(observed(&server).contains("only a person can select it, by /secret"), "{}", observed(&server));
    let server = scripted(vec![Answer::text("The word.")]);
    let done = place.run_on(&server, &["/secret and loudly"]);
    assert_eq!(done.out, "The word.\n", "{done:#?}");
    assert!(done.err.contains("skill secret (user) is loaded"), "{}", done.err);
    let request = server.requests()[0].body()["messages"].clone();
    assert!(request[1]["content"].to_string().contains("Say the word."), "{request}");
    assert_eq!(request[2]["content"], "and loudly");
    let events = place.events(&newest(&place));
    assert_eq!(named(&events, "skill_selected")[0]["by"], "person");
    // It goes on with what is said there, too.
    let server = scripted(vec![Answer::text("One."), Answer::text("Two.")]);
    place.run_on(&server, &["First."]);
    let trace = newest(&place);
    let done = place.run_on(&server, &["--trace", &trace, "/forms"]);
    assert_eq!(done.code, 0, "{done:#?}");
    let last = server.requests().pop().unwrap().body()["messages"].to_string();
    assert!(last.contains("Tick every box.") && last.contains("Follow the skill forms now."), "{last}");
    // What is no skill is said as it is.
    let server = scripted(vec![Answer::text("A path.")]);
    place.run_on(&server, &["/etc is a folder"]);
    assert!(server.requests()[0].body()["messages"].to_string().contains("/etc is a folder"));
}

#[test]
fn skills_that_a_call_names_are_loaded_from_the_beginning_and_no_others_can_be_used() {
    let place = Place::new();
    forms(&place, "read-only");
    skill(&place, ".claude/skills", "other", "", "Otherwise.");
    let server = scripted(vec![select("other"), Answer::text("The end.")]);
    let done = place.run_on(&server, &["--skill", "forms", "Do it."]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(!system(&server).contains("- other"), "{}", system(&server));
    assert!(observed(&server).contains("not among the skills of this run"), "{}", observed(&server));
    let first = server.requests()[0].body()["messages"][1]["content"].to_string();
    assert!(first.contains("is loaded from the beginning") && first.contains("Tick every box."), "{first}");
    let events = place.events(&place.trace());
    assert_eq!(named(&events, "skill_selected")[0]["by"], "preset");
    place.run_on(&server, &["--skill", "form", "Do it."]).fails(2, "--skill: there is no skill \"form\"");
    let none = scripted(vec![Answer::text("The end.")]);
    place.run_on(&none, &["--no-skills", "Do it."]);
    assert!(!tools(&none).iter().any(|tool| tool.contains("skill")), "{:?}", tools(&none));
    assert!(!system(&none).contains("select_skills"));
}

#[test]
fn beyond_its_budget_the_list_is_shortened_and_can_be_searched() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("The end.")]);
    place.run_on(&server, &["Do it."]);
    // Without files to read, there is nothing to read them with.
    let about_skills: Vec<String> = tools(&server).into_iter().filter(|tool| tool.contains("skill")).collect();
    assert_eq!(about_skills, ["select_skills"]);
    for number in 0..300 {
        let name = format!("skill-{number:03}");
        let text =
            format!("---\nname: {name}\ndescription: {} number {number}.\n---\nText\n", "Does something ".repeat(8));
        let folder = place.root().join(".claude/skills").join(&name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    }
    forms(&place, "read-only");
    let server =
        scripted(vec![Answer::call("find_skill", json!({"query": "fill in a form"})), Answer::text("The end.")]);
    let done = place.run_on(&server, &["Do it."]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(tools(&server).contains(&"find_skill".to_string()), "{:?}", tools(&server));
    assert!(observed(&server).contains("- forms (user): Fills in forms for people."), "{}", observed(&server));
    let context = place.ok(&["context", &newest(&place)]);
    assert!(context.contains("skills in the system text") && context.contains("by name only"), "{context}");
    let report: Value = serde_json::from_str(&place.ok(&["context", &newest(&place), "--json"])).unwrap();
    assert_eq!(report["skills"].as_array().unwrap().len(), 302, "the list has all of them");
}

#[test]
fn who_approves_a_script_that_was_denied_sees_what_it_runs_and_nothing_else_is_run() {
    let denied = |changes: bool| {
        let place = Place::new();
        let folder = forms(&place, "local-write");
        let answers = vec![select("forms"), script(&["a"]), Answer::text("Denied."), Answer::text("Seen.")];
        let server = scripted(answers);
        let done = place.run_on(&server, &["Fill it in."]);
        assert_eq!(done.out, "Denied.\n", "{done:#?}");
        let approved = place.run(&["approve", &place.trace()]);
        assert!(approved.err.contains("it runs sha256:") && approved.err.contains("scripts/fill.sh"), "{approved:#?}");
        assert!(approved.err.contains("(the whole skill)"), "{approved:#?}");
        if changes {
            std::fs::write(folder.join("scripts/fill.sh"), "echo another > made.txt\n").unwrap();
        }
        let resumed = place.run(&["resume"]);
        (place.work.join("made.txt").exists(), resumed.out, resumed.err)
    };
    let (is_made, answer, _) = denied(false);
    assert_eq!((is_made, answer.as_str()), (true, "Seen.\n"));
    let (is_made, answer, told) = denied(true);
    assert_eq!((is_made, answer.as_str()), (false, "Denied.\n"));
    assert!(told.contains("What it runs has changed since it was denied; the agent has to call it again."), "{told}");
}

#[test]
fn what_is_off_is_said_where_one_looks_and_nothing_is_advised_that_cannot_be_done() {
    let place = Place::new();
    let in_project = |name: &str| {
        let folder = skill(&place, "work/.mainpath/skills", name, "", "Do it.");
        std::fs::remove_dir(folder.join("scripts")).unwrap();
        folder
    };
    let (fine, linked) = (in_project("fine"), in_project("linked"));
    let never = in_project("never");
    std::os::unix::fs::symlink("/etc/hosts", never.join("hosts")).unwrap();
    let shown = place.ok(&["skills", "show", "never"]);
    assert!(shown.contains("it cannot be trusted: ") && !shown.contains("skills trust"), "{shown}");
    std::fs::remove_dir_all(never).unwrap();
    place.ok(&["skills", "trust", "linked"]);
    std::os::unix::fs::symlink("/etc/hosts", linked.join("hosts")).unwrap();
    let odd = in_project("odd");
    std::fs::write(odd.join("SKILL.md"), "---\nname: odd\ndescription: [\n---\nDo it.\n").unwrap();
    let listed = place.ok(&["skills", "list"]);
    assert!(listed.contains("    note: line 3: its front matter is not YAML"), "{listed}");
    assert!(listed.contains("    it cannot be trusted: hosts is a link or a special file"), "{listed}");
    let shown = place.ok(&["skills", "show", "linked"]);
    assert!(shown.contains("it cannot be trusted: ") && !shown.contains("skills trust"), "{shown}");
    // One that cannot be trusted is in no other's way.
    let done = place.run(&["skills", "trust", "linked", "fine"]);
    assert!(done.code == 1 && done.err.contains("the skill linked in ") && done.err.contains("cannot be trusted"));
    assert!(place.ok(&["skills", "show", "fine"]).starts_with("+ fine ("), "{done:#?}");
    let server = scripted(vec![Answer::text("Done."); 2]);
    let done = place.run_on(&server, &["/linked now"]);
    assert!(
        done.err.contains("the skill linked cannot be trusted: hosts is a link") && !done.err.contains("skills trust"),
        "{done:#?}"
    );
    // Without skills there are none to name.
    place.run_on(&server, &["--no-skills", "/fine now"]).fails(2, "there is no skill or command /fine, and no skills");
    let made = place.run(&["skills", "new", "planning"]);
    assert!(
        made.err.contains("! once it is trusted, it takes the place of the built-in skill of this name"),
        "{made:#?}"
    );
    drop(fine);
}

#[test]
fn whose_words_it_was_that_named_a_skill_is_said_and_a_faulty_preset_is_not_to_be_trusted() {
    let place = Place::new();
    let agents = place.work.join(".mainpath/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let preset = |name: &str, more: &str| {
        let text = format!("---\nname: {name}\ndescription: It helps\n{more}\n---\nHelp.\n");
        std::fs::write(agents.join(format!("{name}.md")), text).unwrap();
    };
    preset("narrow", "skills: nonesuch");
    preset("faulty", "tools: nonesuch");
    let server = scripted(vec![Answer::text("Done.")]);
    place.run_on(&server, &["--agent", "faulty", "Go."]).fails(2, "the preset faulty cannot be used: ");
    let shown = place.ok(&["agents", "show", "faulty"]);
    assert!(!shown.contains("\ntools "), "{shown}");
    place.ok(&["agents", "trust", "narrow"]);
    let line = "skills of the preset narrow: there is no skill \"nonesuch\"; mainpath skills list shows them";
    place.run_on(&server, &["--agent", "narrow", "Go."]).fails(2, line);
    let line = "--skill: there is no skill \"nonesuch\"; mainpath skills list shows them";
    place.run_on(&server, &["--skill", "nonesuch", "Go."]).fails(2, line);
}

#[test]
fn the_text_protocol_selects_and_runs_by_actions_of_its_own() {
    let place = Place::new();
    forms(&place, "read-only");
    let say = |turn: Value| Answer::text(&turn.to_string());
    let server = scripted(vec![
        say(json!({"action": {"type": "select_skills", "skills": [{"name": "forms"}], "reason": "a form"}})),
        say(
            json!({"action": {"type": "run_script", "skill": "forms", "path": "scripts/fill.sh", "args": ["x"], "reason": "now"}}),
        ),
        say(json!({"action": {"type": "final_answer"}, "final_answer": {"content": "Filled in."}})),
    ]);
    let done = place.run_on(&server, &["--yes", "--profile", "skills", "Fill it in."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Filled in.\n"), "{done:#?}");
    let events = place.events(&place.trace());
    let selected = named(&events, "skill_selected");
    assert_eq!((selected[0]["by"].as_str(), selected[0]["reason"].as_str()), (Some("model"), Some("a form")));
    let last = server.requests().pop().unwrap().body()["messages"].to_string();
    assert!(last.contains("ran with x"), "{last}");
}

#[test]
fn a_task_that_begins_with_a_name_that_is_none_is_refused_and_a_path_is_not() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Read."); 4]));
    let line = "there is no skill or command /nonesuch; the skills are /planning, /research, /browser; put another word before it if \
                the agent is to read it";
    place.run_on(&server, &["/nonesuch do it"]).fails(2, line);
    assert_eq!(place.traces(), Vec::<String>::new(), "nothing has begun");
    for text in ["/etc/hosts is odd", "/tmp is full", "/** a comment */", "say /nonesuch"] {
        assert_eq!(place.run_on(&server, &[text]).out, "Read.\n", "{text}");
        assert!(server.requests().pop().unwrap().body()["messages"].to_string().contains(text));
    }
    place.run(&["run", "-c", "/nonesuch"]).fails(2, "there is no skill or command /nonesuch; ");
    // Without any skills there are none to name.
    place.config("skills = false\n");
    place.run_on(&server, &["/nonesuch"]).fails(2, "there is no skill or command /nonesuch, and no skills here; put");
}

#[test]
fn a_skill_that_is_not_filled_in_is_warned_about() {
    let place = Place::new();
    place.ok(&["skills", "new", "mine"]);
    let file = place.work.join(".mainpath/skills/mine/SKILL.md");
    let folder = file.parent().unwrap().to_str().unwrap();
    let about =
        "     warning: line 3: the description is still the template's; say what the skill does and when to use it\n";
    let steps = "     warning: its steps are still the template's; write what is to be done\n";
    let told = || place.ok(&["skills", "validate", folder]);
    assert_eq!(told(), format!("ok   {folder}\n{about}{steps}"));
    assert_eq!(place.ok(&["skills", "validate", "--spec", folder]), format!("ok   {folder}\n"));
    let text = std::fs::read_to_string(&file).unwrap();
    let filled: String = text.lines().filter(|line| !line.contains('…')).map(|line| format!("{line}\n")).collect();
    let filled =
        filled.replace("name: mine\n", "name: mine\ndescription: Paints doors. Use it when one is to be painted.\n");
    std::fs::write(&file, filled + "1. Paint.\n").unwrap();
    assert_eq!(told(), format!("ok   {folder}\n"));
}

#[test]
fn skills_are_made_shown_and_checked() {
    let place = Place::new();
    let made = place.ok(&["skills", "new", "my-skill", "--description", "Does: it all"]);
    assert!(made.contains(".mainpath/skills/my-skill/SKILL.md"), "{made}");
    let folder = place.work.join(".mainpath/skills/my-skill");
    let folder = folder.to_str().unwrap();
    assert_eq!(place.ok(&["skills", "validate", "--spec", folder]), format!("ok   {folder}\n"));
    place.run(&["skills", "new", "my-skill"]).fails(1, "is there already");
    place.run(&["skills", "new", "My_Skill"]).fails(2, "lower case");
    place.run(&["skills", "new", "../x"]).fails(2, "letters, digits and hyphens");
    let ours =
        "---\nname: my-skill\ndescription: x\ndisable-model-invocation: true\nmetadata:\n  effect: read-only\n---\n";
    std::fs::write(place.work.join(".mainpath/skills/my-skill/SKILL.md"), ours).unwrap();
    let told = place.ok(&["skills", "validate", folder]);
    assert!(told.starts_with("ok ") && told.matches("extension: ").count() == 2, "{told}");
    let strict = place.run(&["skills", "validate", "--spec", folder]);
    strict.fails(1, "1 skill of 1 not valid");
    assert!(strict.out.contains("unknown field \"disable-model-invocation\""), "{}", strict.out);
    place.run(&["skills", "validate", "missing"]).fails(1, "not valid");
    let odd = |name: &str, text: &str| {
        let folder = skill(&place, "odd", name, "", "");
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
        place.run(&["skills", "validate", folder.to_str().unwrap()]).out
    };
    let bomb = format!("---\nname: bomb\ndescription: d\na: &a x\n{}---\nx\n", "b: *a\n".repeat(60));
    let told = odd("bomb", &bomb);
    assert!(told.lines().count() < 10 && told.contains("line 5: front matter must not have an alias (`*`)"), "{told}");
    assert!(told.contains(" (and 59 more)"), "{told}");
    let marked = odd("marked", "\u{feff}---\nname: marked\ndescription: d\n---\nx\n");
    assert!(marked.contains("line 1: the file begins with a byte order mark; remove it"), "{marked}");
    let linked = skill(&place, "odd", "linked", "", "");
    std::fs::rename(linked.join("SKILL.md"), linked.join("other.md")).unwrap();
    std::os::unix::fs::symlink("other.md", linked.join("SKILL.md")).unwrap();
    let linked = linked.to_str().unwrap();
    place.run(&["skills", "validate", linked]).fails(1, "not valid");
    place.ok(&["skills", "validate", "--spec", linked]);
    let typo = skill(&place, "work/.mainpath/skills", "typo", "metadata:\n  effect: read-onyl\n", "");
    let shown = place.ok(&["skills", "show", "typo"]);
    assert!(shown.contains("note: there is no metadata.effect \"read-onyl\"; the strictest holds"), "{shown}");
    std::fs::remove_dir_all(typo).unwrap();
    place.run(&["skills", "show", "nothing"]).fails(2, "there is no skill \"nothing\"");
    place.run(&["skills", "trust", "planning"]).fails(2, "this project has no skill \"planning\"");
    place.ok(&["skills", "trust", "my-skill"]);
    let shown = place.ok(&["skills", "show", "my-skill"]);
    assert!(shown.starts_with("/ my-skill (person only, project)"), "{shown}");
    let listed = place.ok(&["skills", "list", "--json"]);
    let names: Vec<Value> = listed.lines().map(|line| parsed(line)["name"].clone()).collect();
    assert_eq!(names, ["my-skill", "planning", "research", "browser"]);
    // What shadows a built-in is named, and what is broken told.
    skill(&place, ".claude/skills", "planning", "", "My way.");
    std::fs::create_dir_all(place.root().join(".claude/skills/broken")).unwrap();
    std::fs::write(place.root().join(".claude/skills/broken/SKILL.md"), "").unwrap();
    let listed = place.ok(&["skills", "list"]);
    assert!(
        listed.contains("hides the built-in one") && listed.contains("broken/SKILL.md: it has no description"),
        "{listed}"
    );
    place.config("skills = false\n");
    place.run(&["skills", "list"]).fails(1, "skills are off");
}

#[test]
fn what_hides_in_a_skill_is_named_to_whoever_looks_at_it() {
    let place = Place::new();
    let folder = skill(&place, "work/.agents/skills", "hid", "", "Step\u{202E} one\u{200B}.");
    let text = std::fs::read_to_string(folder.join("SKILL.md")).unwrap();
    std::fs::write(
        folder.join("SKILL.md"),
        text.replace("for people", "for\u{E0172} people \u{1F469}\u{200D}\u{1F4BB}"),
    )
    .unwrap();
    let checked = place.ok(&["skills", "validate", ".agents/skills/hid"]);
    let warning = "     warning: SKILL.md has 3 characters that nobody sees; mainpath skills show names them\n";
    assert!(checked.starts_with("ok   ") && checked.ends_with(warning), "{checked}");
    for args in [["skills", "show", "hid"], ["skills", "trust", "hid"]] {
        let shown = place.ok(&args);
        assert!(shown.contains("about: Fills in hid for<U+E0172> people \u{1F469}\u{200D}\u{1F4BB}."), "{shown}");
        assert!(shown.contains("  │ Step<U+202E> one<U+200B>.\n"), "{shown}");
    }
}

#[test]
fn of_two_skills_of_a_name_the_one_that_is_not_trusted_is_trusted_and_both_can_be_taken_back() {
    let place = Place::new();
    let first = skill(&place, "work/.mainpath/skills", "two", "", "The first.");
    skill(&place, "work/.claude/skills", "two", "", "The second.");
    place.ok(&["skills", "trust", "--all"]);
    std::fs::write(first.join("scripts/new.sh"), "").unwrap();
    let server = scripted(vec![Answer::text("The end.")]);
    let done = place.run_on(&server, &["Do it."]);
    assert!(done.err.contains("in the place of two another skill of this name is used, from: project"), "{done:#?}");
    let trusted = place.ok(&["skills", "trust", "two"]);
    assert!(trusted.contains("  │ The first.\n") && !trusted.contains("The second."), "{trusted}");
    let revoked = place.ok(&["skills", "trust", "--revoke", "two"]);
    assert_eq!(revoked, "two: no longer trusted\ntwo: no longer trusted\n");
}

#[test]
fn where_no_skill_can_be_selected_none_is_said_to_be_in_the_system_text() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("The end.")]));
    forms(&place, "");
    place.run_on(&server, &["--tools", "read_text_file", "Do it."]);
    assert!(!system(&server).contains("Fills in forms"), "{}", system(&server));
    let context = place.ok(&["context", &place.trace()]);
    assert!(!context.contains("forms") && !context.contains("skills in the system text"), "{context}");
}

#[test]
fn a_skill_is_shown_before_it_is_trusted_also_with_a_built_in_name_and_cannot_forge_a_line() {
    let place = Place::new();
    let folder = place.work.join(".agents/skills/planning");
    std::fs::create_dir_all(&folder).unwrap();
    let text =
        "---\nname: planning\ndescription: \"Plans.\\nplace: comes with Mainpath\"\n---\nSteal it.\nplace: here\n";
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
    let shown = place.ok(&["skills", "show", "planning"]);
    let (first, second) = shown.split_once("until it is trusted, this one is used:").unwrap();
    assert!(
        first.starts_with("! planning (untrusted, project)\nabout: Plans. place: comes with Mainpath\n"),
        "{shown}"
    );
    assert!(first.contains("  │ Steal it.\n  │ place: here\n"), "{shown}");
    assert!(second.contains("+ planning (usable, builtin)"), "{shown}");
    let trusted = place.ok(&["skills", "trust", "planning"]);
    assert!(trusted.contains("  │ Steal it.\n") && trusted.contains("planning: trusted as it is now"), "{trusted}");
}
