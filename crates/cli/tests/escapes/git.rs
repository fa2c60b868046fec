//! What runs later with the user's rights: git's hooks and configuration, start-up files, tasks of editors.

use crate::place::{Place, User, finish};
use crate::table::{Escape, all_fail_inside};
use std::fs;

const GIT: &[Escape] = &[
    Escape::seen("a hook is made", &["write", "{work}/.git/hooks/post-commit"], changed).after(repository),
    Escape::seen("a hook is changed", &["append", "{work}/.git/hooks/pre-commit"], changed).after(repository),
    Escape::seen("the hooks' folder is replaced", &["exchange", "{work}/folder", "{work}/.git/hooks"], changed)
        .after(repository),
    Escape::seen("the hooks' folder is moved", &["rename", "{work}/.git/hooks", "{work}/.git/old"], changed)
        .after(repository),
    Escape::seen("the hooks are removed", &["rm-rf", "{work}/.git/hooks"], changed).after(repository),
    Escape::seen("the configuration is changed", &["append", "{work}/.git/config"], changed).after(repository),
    Escape::seen("the configuration is replaced", &["rename", "{work}/own", "{work}/.git/config"], changed)
        .after(repository),
    Escape::seen("the configuration is removed", &["unlink", "{work}/.git/config"], changed).after(repository),
    Escape::seen(
        "the configuration is changed as git does it",
        &["does", "git", "config", "core.fsmonitor", "./own"],
        changed,
    )
    .after(repository),
    Escape::seen("info is changed", &["write", "{work}/.git/info/attributes"], changed).after(repository),
    Escape::seen("info is moved", &["rename", "{work}/.git/info", "{work}/.git/old"], changed).after(repository),
    Escape::seen(".git is moved away", &["rename", "{work}/.git", "{work}/old"], changed).after(repository),
    Escape::seen(".git changes its place with a folder", &["exchange", "{work}/folder", "{work}/.git"], changed)
        .after(repository),
    Escape::seen(".git is moved and replaced", &["does", "/bin/sh", "-ec", REPLACE], changed).after(repository),
    Escape::seen("a file .git is changed", &["write", "{work}/.git"], changed).after(git_file),
    Escape::seen("a file .git is replaced", &["rename", "{work}/own", "{work}/.git"], changed).after(git_file),
    Escape::seen("a file .git is removed", &["unlink", "{work}/.git"], changed).after(git_file),
];

const REPLACE: &str = "mv .git old && cp -r old .git && echo echo changed > .git/hooks/pre-commit";

/// Ways to the same that cannot all be closed beforehand; then they are told after the command.
const ROUNDABOUT: &[(&str, &str, &str)] = &[
    (
        "the configuration of worktrees",
        "git config extensions.worktreeConfig true",
        "echo '[alias] x = !date' > .git/config.worktree",
    ),
    ("the common folder", "true", "echo elsewhere > .git/commondir"),
    ("a hook of a submodule's repository", SUBMODULE, "echo date > .git/modules/sub/hooks/pre-commit"),
    ("the configuration of a submodule's repository", SUBMODULE, "echo date >> .git/modules/sub/config"),
    ("a hook of a repository further down", "git init -q folder", "echo date > folder/.git/hooks/pre-commit"),
    (
        "hooks instead of a link",
        "mv .git/hooks hooks; ln -s ../hooks .git/hooks",
        "rm .git/hooks; mkdir .git/hooks; echo date > .git/hooks/pre-commit",
    ),
    ("hooks where a link leads", "mv .git/hooks .git/h; ln -s h .git/hooks", "echo date > .git/h/pre-commit"),
    ("a repository by a link", "mv .git git; ln -s git .git", "echo date > git/hooks/pre-commit"),
    ("a file by a link", "mkdir env; echo > env/rc; ln -s env/rc .envrc", "echo date > env/rc"),
];

const SUBMODULE: &str = "mkdir -p .git/modules/sub/hooks; touch .git/modules/sub/config .git/modules/sub/HEAD";

#[test]
fn roundabout_ways_to_what_others_run_are_closed_or_told() {
    let mut failures = Vec::new();
    for (user, row) in User::all().iter().flat_map(|user| ROUNDABOUT.iter().map(move |row| (*user, row))) {
        let (name, set_up, script) = row;
        let mut place = Place::new(user);
        repository(&mut place);
        place.sh(set_up);
        let before = place.workspace();
        let done = finish(place.inside(&[], &["/bin/sh", "-c", &format!("echo begun; {script}")]));
        assert_eq!(done.out, "begun\n", "{user:?}, {name}: {done:#?}");
        if place.workspace() != before && !done.err.contains("mainpath: ") {
            failures.push(format!("{user:?}, {name}: neither prevented nor told: {done:?}"));
        }
        let before = place.workspace();
        finish(place.outside(&["/bin/sh", "-c", script]));
        assert_ne!(place.workspace(), before, "{user:?}, {name}: does not succeed outside");
    }
    assert!(failures.is_empty(), "{} failures:\n{}\n", failures.len(), failures.join("\n"));
}

/// Files of a workspace from which programs of the user run commands.
const STARTED_BY_OTHERS: [&str; 11] = [
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".mcp.json",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".idea/workspace.xml",
];

const FILES: &[Escape] = &[
    Escape::seen("the start of bash is changed", &["append", "{work}/.bashrc"], changed).after(start_files),
    Escape::seen("the start of a session is changed", &["append", "{work}/.profile"], changed).after(start_files),
    Escape::seen("the start of zsh is changed", &["append", "{work}/.zshrc"], changed).after(start_files),
    Escape::seen("the folder's environment is changed", &["append", "{work}/.envrc"], changed).after(start_files),
    Escape::seen("the folder's environment is replaced", &["rename", "{work}/own", "{work}/.envrc"], changed)
        .after(start_files),
    Escape::seen("the folder's environment is removed", &["unlink", "{work}/.envrc"], changed).after(start_files),
    Escape::seen("the servers of tools are changed", &["append", "{work}/.mcp.json"], changed).after(start_files),
    Escape::seen("the editor's tasks are changed", &["append", "{work}/.vscode/tasks.json"], changed)
        .after(start_files),
    Escape::seen("the editor's tasks are replaced", &["rename", "{work}/own", "{work}/.vscode/tasks.json"], changed)
        .after(start_files),
    Escape::seen("the editor's folder is moved", &["rename", "{work}/.vscode", "{work}/old"], changed)
        .after(start_files),
    Escape::seen("the editor's folder is replaced", &["exchange", "{work}/folder", "{work}/.vscode"], changed)
        .after(start_files),
    Escape::seen("another editor's folder is changed", &["append", "{work}/.idea/workspace.xml"], changed)
        .after(start_files),
];

/// What `changed` looks at: everything that others start, and whether `.git` is the one that it was.
fn state(place: &Place) -> String {
    let mut state = String::new();
    let names = [".git", ".git/commondir", ".git/config", ".git/config.worktree"];
    for name in names.iter().chain(STARTED_BY_OTHERS.iter()).chain([".vscode", ".idea"].iter()) {
        let path = place.work().join(name);
        let number = path.symlink_metadata().map(|it| std::os::unix::fs::MetadataExt::ino(&it)).unwrap_or(0);
        state += &format!("{name} {number} {}\n", fs::read_to_string(path).unwrap_or_default());
    }
    let folders = [".git/hooks", ".git/info", ".git/modules/sub/hooks", "folder/.git/hooks"];
    for name in folders {
        let names = fs::read_dir(place.work().join(name)).into_iter().flatten().map(|entry| entry.unwrap().path());
        let mut names: Vec<_> = names.collect();
        names.sort();
        for file in names {
            state += &format!("{} {}\n", file.display(), fs::read_to_string(&file).unwrap_or_default());
        }
    }
    state
}

fn before(place: &Place) {
    fs::write(place.path("data/before"), state(place)).unwrap();
}

fn changed(place: &Place) -> bool {
    fs::read_to_string(place.path("data/before")).unwrap() != state(place)
}

fn repository(place: &mut Place) {
    place.sh("git init -q && mkdir -p .git/hooks .git/info && echo 'exit 0' > .git/hooks/pre-commit && git add own && git commit -qm first");
    before(place);
}

/// The workspace is a further working tree of a repository elsewhere.
fn git_file(place: &mut Place) {
    place.sh("git init -q {outside}/main && echo 'gitdir: {outside}/main/.git' > .git");
    before(place);
}

fn start_files(place: &mut Place) {
    place.sh("mkdir .vscode .idea");
    for name in STARTED_BY_OTHERS {
        place.sh(&format!("echo '# of the user' > {name}"));
    }
    before(place);
}

#[test]
fn git_runs_nothing_that_a_command_has_left() {
    all_fail_inside(&[], GIT);
}

#[test]
fn neither_shells_nor_editors_run_anything_that_a_command_has_left() {
    all_fail_inside(&[], FILES);
}

#[test]
fn new_files_that_others_would_run_are_told_after_the_command() {
    for (user, name) in User::all().iter().flat_map(|user| STARTED_BY_OTHERS.map(|name| (*user, name))) {
        let place = Place::new(user);
        let script = format!("echo begun; mkdir -p .vscode .idea && echo '# new' > {name}; exit 9");
        let done = finish(place.inside(&[], &["/bin/sh", "-c", &script]));
        assert_eq!((done.code, done.out.as_str()), (9, "begun\n"), "{user:?}: {name}: {done:#?}");
        // Made or refused: but not silently made.
        let there = place.work().join(name).exists();
        let told = name.split('/').next().unwrap();
        assert!(!there || done.err.contains(told), "{user:?}: {name} is new and nothing is told: {done:#?}");
    }
}

const SCRIPT: &str = "echo begun; git init -q; mkdir -p .git/hooks; echo date > .git/hooks/pre-commit";

#[test]
fn a_repository_that_a_command_has_made_is_told_after_it() {
    for user in User::all() {
        let place = Place::new(*user);
        let done = finish(place.inside(&[], &["/bin/sh", "-c", SCRIPT]));
        assert_eq!(done.out, "begun\n", "{user:?}: {done:#?}");
        let there = place.work().join(".git/hooks/pre-commit").exists();
        assert!(!there || done.err.contains(".git"), "{user:?}: {done:#?}");
    }
}
