//! What the program tells of itself: its commands, its configuration, completions, manual pages, schemas.

use crate::support::*;
use serde_json::Value;

#[test]
fn mistyped_words_are_told_with_what_may_have_been_meant() {
    let place = Place::new();
    for (args, told) in [
        (
            &["rnu", "x"][..],
            "mainpath has no command \"rnu\"; did you mean mainpath run? All commands: mainpath --help",
        ),
        (&["undo"], "mainpath has no command \"undo\"; did you mean mainpath rewind? All commands: mainpath --help"),
        (
            &["completion", "bash"],
            "mainpath has no command \"completion\"; did you mean mainpath completions? All commands: mainpath --help",
        ),
        (
            &["run", "--modle", "x", "y"],
            "mainpath run has no option --modle; did you mean --model? (see mainpath run --help)",
        ),
        (
            &["session", "lsit"],
            "mainpath session has no command \"lsit\"; did you mean mainpath session list? All commands: mainpath session --help",
        ),
        (&["config", "modle"], "config.toml has no key \"modle\"; did you mean model?"),
        (
            &["run", "--modl", "x", "y"],
            "mainpath run has no option --modl; did you mean --model or --mode? (see mainpath run --help)",
        ),
        (&["tools", "bahs"], "there is no tool \"bahs\"; did you mean bash? mainpath tools lists all"),
        (&["tools", "nosuch"], "there is no tool \"nosuch\"; there are: agent, ask_human, bash, edit_text_file, "),
        (
            &["fork", "x", "--at", "x"],
            "invalid value 'x' for '--at <MESSAGE>': expected the number of a message, not \"x\"",
        ),
        (
            &["rewind", "x", "--to=x"],
            "invalid value 'x' for '--to <MESSAGE>': expected the number of a message, not \"x\"",
        ),
        (
            &["run", "--max-turns", "many", "x"],
            "invalid value 'many' for '--max-turns <N>': expected a whole number, 0 or more",
        ),
        (
            &["run", "--max-turns", "99999999999", "x"],
            "invalid value '99999999999' for '--max-turns <N>': 99999999999 is not in 0..=4294967295",
        ),
        (&["run", "--max-turns", "-1", "x"], "--max-turns: -1 is negative; give 0 or more"),
        (
            &["run", "Add", "a", "test"],
            "mainpath run takes one TASK, and \"a\" is one word too many; put the TASK in quotes",
        ),
    ] {
        place.run(args).fails(2, told);
    }
}

#[test]
fn the_configuration_is_told_key_by_key_with_where_it_comes_from_and_without_secrets() {
    let place = Place::new();
    place.config("model = \"ollama:qwen3\"\n[limits]\nmax_turns = 7\n[secrets]\nTOKEN = \"s3cret-value-of-mine\"\n");
    let told = place.ok(&["config"]);
    let file = place.home.join("config.toml").display().to_string();
    for line in [
        format!("* {:<30} \"ollama:qwen3\"  ({file})\n", "model"),
        format!("* {:<30} 7  ({file})\n", "limits.max_turns"),
        format!("* {:<30} set (1)  ({file})\n", "secrets"),
        format!("  {:<30} none\n", "fallback"),
    ] {
        assert!(told.contains(&line), "{line:?}: {told}");
    }
    assert!(!told.contains("s3cret"), "{told}");
    let mut command = place.command(&["config", "model", "--json"]);
    command.env("MAINPATH_MODEL", "openai:gpt-5");
    let done = finish(command, None);
    assert_eq!(done.out, "{\"from\":\"MAINPATH_MODEL\",\"key\":\"model\",\"value\":\"openai:gpt-5\"}\n");
    // What is wrong in it is told, below what is right.
    place.config("model = \"a:b\"\nnonsense = 1\n");
    let wrong = place.run(&["config"]);
    assert!(wrong.code == 1 && wrong.out.contains("\"a:b\"") && wrong.err.contains("nonsense"), "{wrong:#?}");
}

#[test]
fn completions_are_taken_by_bash_and_manual_pages_by_man() {
    let place = Place::new();
    let script = place.root().join("completions");
    std::fs::write(&script, place.ok(&["completions", "bash"])).unwrap();
    let line = format!("source {} && complete -p mainpath", script.display());
    let done = std::process::Command::new("bash").args(["-c", &line]).output().unwrap();
    assert!(done.status.success() && String::from_utf8_lossy(&done.stdout).contains("_mainpath"), "{done:?}");
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(place.ok(&["completions", shell]).contains("mainpath"), "{shell}");
    }
    assert!(place.ok(&["man"]).contains(".TH mainpath 1"));
    let folder = place.root().join("man");
    place.ok(&["man", "--dir", folder.to_str().unwrap()]);
    let page = std::fs::read_to_string(folder.join("mainpath-run.1")).unwrap();
    assert!(page.contains("Give an agent a task"), "{page}");
}

#[test]
fn schemas_are_printed_for_all_types_or_one() {
    let place = Place::new();
    let all: Value = serde_json::from_str(&place.ok(&["schema"])).unwrap();
    let event: Value = serde_json::from_str(&place.ok(&["schema", "Event"])).unwrap();
    assert_eq!(all["Event"], event);
    assert!(all.as_object().unwrap().contains_key("Spec"));
    place.run(&["schema", "Zzz"]).fails(2, "there is no type \"Zzz\"; there are: Event, ");
    place.run(&["schema", "Evnt"]).fails(2, "there is no type \"Evnt\"; did you mean Event? There are: Event, ");
    assert_eq!(place.ok(&["schema", "all"]), place.ok(&["schema"]));
    assert!(!place.home.exists(), "a schema needs no data");
}

#[test]
fn help_names_every_command_and_version_its_number() {
    let place = Place::new();
    assert_eq!(place.ok(&["--version"]), concat!("mainpath ", env!("CARGO_PKG_VERSION"), "\n"));
    let help = place.ok(&["--help"]);
    let commands = [
        "run",
        "resume",
        "ls",
        "show",
        "stop",
        "steer",
        "next",
        "interrupt",
        "clear",
        "approve",
        "deny",
        "rewind",
        "regenerate",
        "fork",
        "replay",
        "verify",
        "models",
        "schema",
        "doctor",
    ];
    for command in commands {
        assert!(help.lines().any(|line| line.split_whitespace().next() == Some(command)), "{command} in {help}");
        assert!(place.ok(&[command, "--help"]).contains("Usage: mainpath "), "{command}");
    }
    assert!(!place.home.exists());
}
