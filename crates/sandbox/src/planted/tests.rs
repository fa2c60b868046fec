//! Real repositories and real git: what a command leaves, and what the user's git then does with it.

use super::*;
use crate::guard;
use std::collections::BTreeSet;
use std::process::Command;

/// A workspace, in it a repository with a commit, and Mainpath's own folder beside it.
struct World {
    _folder: tempfile::TempDir,
    workspace: PathBuf,
    own: PathBuf,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let world = World { workspace: top.join("work"), own: top.join("own"), _folder: folder };
        fs::create_dir_all(&world.workspace).unwrap();
        world.sh("git init -q . && echo a > a && git add a && git commit -qm first");
        world
    }

    /// Runs a script in the workspace, outside of any cage; gives what it wrote.
    fn sh(&self, script: &str) -> String {
        let identity = [("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b"), ("GIT_COMMITTER_NAME", "a")];
        let mut command = Command::new("sh");
        command.args(["-ec", script]).current_dir(&self.workspace).envs(identity);
        command.env("GIT_COMMITTER_EMAIL", "a@b").env("GIT_CONFIG_GLOBAL", "/dev/null");
        let done = command.output().unwrap();
        let text = [done.stdout, done.stderr].concat();
        String::from_utf8(text).unwrap()
    }

    /// What is done about what a script leaves; its cage would hold some of it back.
    fn after(&self, script: &str) -> Planted {
        let (watch, _) = guard::begin(&self.workspace, std::slice::from_ref(&self.own), &BTreeSet::new());
        self.sh(script);
        watch.settle("t/tool/1.0")
    }

    fn exists(&self, path: &str) -> bool {
        self.workspace.join(path).symlink_metadata().is_ok()
    }
}

/// Makes a program that leaves a mark where it runs, `evil`, and a repository `x` that would run it on `git status`.
const EVIL: &str = "printf '#!/bin/sh\\ntouch {ran}\\n' > evil; chmod +x evil; ";

#[test]
fn nothing_that_a_command_has_left_runs_when_its_user_asks_git_anything() {
    let settings = "[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = WORK/evil\\n";
    let bare = format!(
        "mkdir -p x/objects x/refs; echo 'ref: refs/heads/main' > x/HEAD; printf '{settings}\\tbare = false\\n\\tworktree = ..\\n' > x/config; "
    );
    let ways = [
        // What to do, where the user then asks.
        (format!("cp -r .git other; printf '{settings}' >> other/config; echo ../other > .git/commondir"), "."),
        (bare.clone(), "x"),
        (format!("mkdir -p q/b/c/d; cd q/b/c/d; {bare}"), "q/b/c/d/x"),
        (format!("{bare} mkdir sub; echo 'gitdir: ../x' > sub/.git"), "sub"),
        (format!("{bare} mkdir sub; ln -s ../x sub/.git"), "sub"),
        (format!("git init -q sub; printf '{settings}' >> sub/.git/config"), "sub"),
        (
            format!(
                "git init -q sub; printf '[include]\\n\\tpath = more\\n' >> sub/.git/config; printf '{settings}' > sub/.git/more"
            ),
            "sub",
        ),
        (
            "git clone -q . sub; printf '#!/bin/sh\\nWORK/evil\\n' > sub/.git/hooks/post-checkout; chmod +x sub/.git/hooks/post-checkout".to_string(),
            "sub",
        ),
        (
            "git init -q sub; printf 'x\\n' > sub/a; printf 'a filter=f\\n' > sub/.gitattributes; git -C sub config filter.f.clean WORK/evil".to_string(),
            "sub",
        ),
        (
            "mkdir sub; cp -r .git sub/.GIT; mv sub/.GIT sub/.git; git -C sub config core.fsmonitor WORK/evil".to_string(),
            "sub",
        ),
        (
            format!(
                "git worktree add -q sub; git config extensions.worktreeConfig true; printf '{settings}' > .git/worktrees/sub/config.worktree"
            ),
            "sub",
        ),
    ];
    let asks = "git status; git diff; git add -A; git checkout -q -b new; git log -1; git stash";
    for (script, place) in ways {
        for is_settled in [false, true] {
            let world = World::new();
            let ran = world.own.with_file_name("ran");
            let script = format!("{EVIL}{script}")
                .replace("{ran}", &ran.display().to_string())
                .replace("WORK", &world.workspace.display().to_string());
            let (watch, _) = guard::begin(&world.workspace, std::slice::from_ref(&world.own), &BTreeSet::new());
            let said = world.sh(&script);
            if is_settled {
                let planted = watch.settle("t/tool/1.0");
                assert!(!planted.sentences(true).is_empty(), "{script}: {said}");
            }
            let said = world.sh(&format!("set +e; cd {place}; {asks}"));
            // Without this the user's git runs it: the way is a way.
            assert_eq!(ran.exists(), !is_settled, "{script}: {said}");
        }
    }
}

#[test]
fn what_git_is_asked_for_works_and_is_not_told() {
    let world = World::new();
    for script in [
        "git init -q sub; cd sub; echo a > a; git add a; git commit -qm a",
        "git clone -q . copy; cd copy; git checkout -q -b work; git config user.name me; echo b > b; git add b; git commit -qm b",
        "git clone -q --bare . bare.git; git push -q ./bare.git HEAD:main",
        "git worktree add -q tree; cd tree; echo c > c; git add c; git commit -qm c",
        "git clone -q . more; cd more; git -c protocol.file.allow=always submodule add -q ../bare.git lib; git commit -qm lib",
        "mkdir -p deep/down/there/here; cd deep/down/there/here; git init -q .; git config user.name me",
        "echo d > a; git commit -qam d; git rebase -q HEAD~1; git gc -q",
        "mkdir -p target/x; git init -q target/x; rm -rf target/x deep",
    ] {
        let planted = world.after(script);
        // It comes with a new repository, and git asks before it does what it says.
        let told = planted.told.iter().filter(|name| *name != "more/.gitmodules").cloned().collect();
        let planted = Planted { told, ..planted };
        assert_eq!(planted.sentences(false), [""; 0], "{script}");
        let state = world.sh("git status --porcelain --ignore-submodules=untracked; git -C copy log --oneline || true");
        assert!(!state.contains("fatal: bad"), "{script}: {state}");
    }
    let copy = world
        .sh("git -C copy log --format=%s; git -C tree log -1 --format=%s; git -C bare.git log -1 --format=%s main");
    assert_eq!(copy, "b\nfirst\nc\nfirst\n");
}

#[test]
fn files_that_others_obey_are_taken_and_what_was_there_comes_back() {
    let world = World::new();
    world.sh(
        "mkdir -p pkg/.vscode old; echo mine > pkg/AGENTS.md; echo mine > pkg/.vscode/tasks.json; echo r > old/.npmrc",
    );
    let planted = world.after(
        "echo x > .envrc; mkdir .vscode; echo x > .vscode/tasks.json; mkdir -p .github/workflows; echo x > .github/workflows/a.yml
         echo worse > pkg/AGENTS.md; echo x > pkg/.vscode/settings.json; mv old new; mkdir -p node_modules/p; echo x > node_modules/p/AGENTS.md",
    );
    assert_eq!(planted.taken, [".envrc", ".github/workflows", ".vscode", "pkg/.vscode/settings.json", "pkg/AGENTS.md"]);
    assert_eq!((planted.told, planted.cleaned), (vec![], vec![]));
    assert!(!world.exists(".envrc") && !world.exists(".vscode") && world.exists("node_modules/p/AGENTS.md"));
    assert_eq!(
        world.sh("cat pkg/AGENTS.md pkg/.vscode/tasks.json new/.npmrc; ls -A pkg/.vscode"),
        "mine\nmine\nr\ntasks.json\n"
    );
    let folder = planted.folder.unwrap();
    assert_eq!(folder, world.own.join("aside/t-tool-1.0-1"));
    assert_eq!(fs::read_to_string(folder.join("pkg/AGENTS.md")).unwrap(), "worse\n");
    assert_eq!(fs::read_to_string(folder.join(".vscode/tasks.json")).unwrap(), "x\n");
}

#[test]
fn settings_lose_what_is_new_and_may_run_and_keep_what_the_user_had() {
    let world = World::new();
    world.sh("mkdir -p q/b/c; git init -q q/b/c; git -C q/b/c config filter.lfs.clean git-lfs");
    let planted = world.after(
        "git -C q/b/c config user.name me; git -C q/b/c config alias.st '!evil'; git -C q/b/c config core.pager evil",
    );
    assert_eq!(planted.cleaned, ["q/b/c/.git/config"]);
    let settings = world.sh("git -C q/b/c config --list --local");
    assert!(settings.contains("filter.lfs.clean=git-lfs") && settings.contains("user.name=me"), "{settings}");
    assert!(!settings.contains("evil"), "{settings}");
}

/// An interrupted rebase that a command makes up, with a strategy of its own: the user's git would run `git-merge-x/evil`.
const REBASE: &str = "echo b > b; git add b; git commit -qm second; C=$(git rev-parse HEAD); git checkout -q -b other HEAD~1; \
    echo c > c; git add c; git commit -qm third; H=$(git rev-parse HEAD); mkdir git-merge-x; mv evil git-merge-x/evil; \
    mkdir .git/rebase-merge; cd .git/rebase-merge; echo refs/heads/other > head-name; echo $H > onto; echo $H > orig-head; \
    echo \"pick $C second\" > git-rebase-todo; : > done; : > interactive; echo 1 > msgnum; echo 1 > end; echo STRATEGY > strategy";

#[test]
fn a_rebase_that_was_made_up_merges_only_with_what_is_part_of_git() {
    for (strategy, is_settled, ran) in [("x/evil", false, true), ("x/evil", true, false), ("ort", true, false)] {
        let world = World::new();
        let marked = world.own.with_file_name("ran");
        let script =
            format!("{EVIL}{REBASE}").replace("{ran}", &marked.display().to_string()).replace("STRATEGY", strategy);
        let (watch, _) = guard::begin(&world.workspace, std::slice::from_ref(&world.own), &BTreeSet::new());
        let said = world.sh(&script);
        if is_settled {
            let taken = if strategy == "ort" { Vec::new() } else { vec![".git/rebase-merge/strategy".to_string()] };
            assert_eq!(watch.settle("t/tool/1.0").taken, taken, "{said}");
        }
        let said = world.sh("set +e; GIT_EDITOR=true git rebase --continue");
        assert_eq!(marked.exists(), ran, "{strategy} {is_settled}: {said}");
    }
}

#[test]
fn a_cherry_pick_that_was_made_up_merges_only_with_what_is_part_of_git() {
    for (opts, is_taken) in [
        ("[options]\\n\\tstrategy = x/evil\\n", true),
        ("[options] STRATEGY=x/evil\\n", true),
        ("[options]\\n\\tstrategy = \\\\\\nx/evil\\n", true),
        ("[options]\\n\\tstrategy = ort\\n\\tstrategy-option = theirs\\n", false),
    ] {
        let world = World::new();
        let planted = world.after(&format!("mkdir .git/sequencer; printf '{opts}' > .git/sequencer/opts"));
        assert_eq!(planted.taken.is_empty(), !is_taken, "{opts}: {planted:?}");
    }
}

#[test]
fn steps_of_a_rebase_that_run_commands_are_no_steps_any_more() {
    let world = World::new();
    let planted = world.after(
        "mkdir .git/rebase-merge; printf 'pick 1234 x\\nexec evil\\n  x evil\\n' > .git/rebase-merge/git-rebase-todo",
    );
    assert_eq!(planted.cleaned, [".git/rebase-merge/git-rebase-todo"]);
    assert_eq!(world.sh("cat .git/rebase-merge/git-rebase-todo"), "pick 1234 x\n# exec evil\n#   x evil\n");
}

#[test]
fn what_comes_with_a_new_repository_is_told_unless_it_counts_for_the_workspace() {
    let world = World::new();
    let planted = world.after("git init -q sub; echo x > sub/AGENTS.md; git init -q .github; mkdir .github/workflows; echo x > .github/workflows/a.yml; echo x > CLAUDE.md");
    assert_eq!(
        (planted.told, planted.taken),
        (vec!["sub/AGENTS.md".into()], vec![".github/workflows".into(), "CLAUDE.md".into()])
    );
}

#[test]
fn without_a_place_for_it_and_for_held_files_it_is_told() {
    let world = World::new();
    world.sh("echo a > .envrc");
    let (watch, _) = guard::begin(&world.workspace, &[], &BTreeSet::new());
    world.sh("echo b > new; mv new .envrc; echo x > .profile; ln -s /etc/passwd pipe; mkfifo mise.toml");
    let planted = watch.settle("x");
    assert_eq!(
        (planted.told, planted.taken, planted.folder),
        (vec![".envrc".into(), ".profile".into(), "mise.toml".into()], vec![], None)
    );
}
