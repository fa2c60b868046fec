//! What only looks at traces works where nothing can be written: on a folder of another owner, without a right to write.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

/// All that lies below a folder: names, sizes, times, content.
fn tree(folder: &Path) -> BTreeMap<String, (u64, i64, Vec<u8>)> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        let bytes = if meta.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        all.insert(path.display().to_string(), (meta.len(), meta.mtime_nsec(), bytes));
        if meta.is_dir() {
            all.extend(tree(&path));
        }
    }
    all
}

/// Lets everybody read what is below a folder, and nobody write.
fn seal(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            seal(&entry.path());
        }
        let mode = if entry.path().is_dir() { 0o555 } else { 0o444 };
        std::fs::set_permissions(entry.path(), PermissionsExt::from_mode(mode)).unwrap();
    }
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o555)).unwrap();
}

/// Lets everybody read what is Mainpath's in a place, and nobody write; all may go there.
pub fn shut(place: &Place) {
    for folder in [place.root(), &place.root().join("tmp"), &place.work] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    }
    seal(&place.home);
}

/// Lets it be removed again, also where its owner is not root.
pub fn unseal(folder: &Path) {
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    for entry in std::fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        unseal(&entry.path());
    }
}

/// Runs a command as somebody who owns nothing here; as who owns all, without a right to write, where only root could do that.
pub fn as_another(place: &Place, args: &[&str]) -> Done {
    let mut command = match rustix::process::geteuid().is_root() {
        false => place.command(&[]),
        true => {
            // The program itself may lie where others cannot go.
            let program = place.root().join("mainpath");
            if !program.exists() {
                std::fs::copy(env!("CARGO_BIN_EXE_mainpath"), &program).unwrap();
            }
            let mut command = Command::new("setpriv");
            place.surround(&mut command);
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(program);
            command
        }
    };
    command.args(args);
    finish(command, None)
}

const LOOKS: [&[&str]; 23] = [
    &["ls", "--json"],
    &["ls", "--json", "--search", "herons"],
    &["show"],
    &["show", "--all"],
    &["show", "--events"],
    &["context"],
    &["stats"],
    &["stats", "--since", "1d"],
    &["verify"],
    &["replay", "--dry-run"],
    &["export"],
    &["export", "--shown"],
    &["export", "--format", "json"],
    &["export", "--format", "neutral"],
    &["export", "--format", "openai"],
    &["export", "--format", "anthropic"],
    &["export", "--format", "gemini"],
    &["goal"],
    &["policy", "list"],
    &["policy", "check", "bash(ls)"],
    &["policy", "replay", "--all", "--most", "bash", "3"],
    &["policy", "suggest", "--json"],
    &["query", "--json", "tool=bash"],
];

#[test]
fn what_only_looks_says_the_same_on_a_folder_of_another_owner_and_writes_nothing() {
    let place = Place::new();
    let long = "seq 1 20000; echo herons > herons";
    let server = scripted(vec![bash(long), Answer::text("There are herons.")]);
    assert_eq!(place.run_on(&server, &["--yes", "Count the herons."]).code, 0);
    place.ok(&["ls"]);
    let usual: Vec<(i32, String)> =
        LOOKS.iter().map(|args| place.run(args)).map(|done| (done.code, done.out)).collect();
    shut(&place);
    let before = tree(&place.home);
    let seen: Vec<(i32, String)> = LOOKS
        .iter()
        .map(|args| as_another(&place, args))
        .map(|done| (done.code, format!("{}{}", done.out, done.err)))
        .collect();
    // It says how long ago that was.
    let listed = as_another(&place, &["ls"]);
    assert!(listed.code == 0 && listed.out.contains("Count the herons."), "{listed:#?}");
    let after = tree(&place.home);
    let out = place.root().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::set_permissions(&out, PermissionsExt::from_mode(0o777)).unwrap();
    let folders = ["agent-run", "trace-dir"]
        .map(|format| as_another(&place, &["export", "--format", format, "--out", out.join(format).to_str().unwrap()]));
    unseal(&place.home);
    for ((args, usual), seen) in LOOKS.iter().zip(usual).zip(seen) {
        assert_eq!(seen, usual, "{args:?}");
    }
    assert!(before == after, "something was written");
    for done in folders {
        assert_eq!(done.code, 0, "{done:#?}");
    }
}

#[test]
fn damage_is_told_on_a_folder_of_another_owner_as_on_ones_own() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("There are herons.")]);
    assert_eq!(place.run_on(&server, &["Count the herons."]).code, 0);
    let log = place.file(&place.trace(), "events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("There are herons", "There are horses", 1)).unwrap();
    std::fs::write(place.file(&place.trace(), "final.md"), "Something better.\n").unwrap();
    let looks: [&[&str]; 4] = [&["verify"], &["replay", "--dry-run"], &["show"], &["export"]];
    let usual = looks.map(|args| place.run(args)).map(|done| (done.code, done.out, done.err));
    shut(&place);
    let seen = looks.map(|args| as_another(&place, args)).map(|done| (done.code, done.out, done.err));
    unseal(&place.home);
    assert_eq!(seen, usual);
    assert_eq!((seen[0].0, seen[1].0), (1, 1));
}

#[test]
fn a_home_that_every_user_of_the_machine_can_write_to_is_refused() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("The end.")]));
    let home = |mode: u32| {
        std::fs::set_permissions(&place.home, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    std::fs::create_dir_all(&place.home).unwrap();
    home(0o777);
    place.run_on(&server, &["Do it."]).fails(1, "can be written by every user of this machine; chmod o-w ");
    place.run(&["ls"]).fails(1, "can be written by every user of this machine");
    home(0o755);
    assert_eq!(place.run_on(&server, &["Do it."]).code, 0);
}
