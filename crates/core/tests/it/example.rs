//! The example is what the README points at: it must run.

use std::process::Command;

#[test]
fn the_library_example_drives_an_agent_through_its_seven_inputs() {
    // `cargo test` builds examples beside the tests.
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples/library");
    let ran = Command::new(&example).output().unwrap_or_else(|error| panic!("{}: {error}", example.display()));
    let out = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{out}");
    let shown: Vec<&str> = out.lines().filter(|line| line.starts_with("Some(Message")).collect();
    assert_eq!(shown.len(), 9, "{out}");
    assert!(shown[8].contains("shown again:\\n\\nA bird."), "{out}");
    let lines = include_str!("../../examples/library.rs").lines().count();
    assert!(lines < 70, "the example has {lines} lines");
}
