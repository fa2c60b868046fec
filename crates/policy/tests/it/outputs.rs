//! Files that options have programs write: a rule for the command is no rule for the write.

use crate::support::*;
use mainpath_policy::{CallFacts, narrowest};
use mainpath_types::{Access, ApprovalMode, Decision};

fn facts(line: &str) -> CallFacts {
    CallFacts { commands: vec![line.into()], confined: true, ..call("bash(x)") }
}

/// Lines that write `src/main.rs`, or into `src`, by an option.
const WRITES: &[&str] = &[
    "git diff --no-index --output=src/main.rs /dev/null x",
    "git diff --no-index --output src/main.rs /dev/null x",
    "git log -p --outpu=src/main.rs",
    "git --no-pager show HEAD --output=src/main.rs",
    "git format-patch -o src HEAD~1",
    "git format-patch --output-directory=src HEAD~1",
    "git archive -o src/main.rs HEAD",
    "git bundle create src/main.rs HEAD",
    "sort -o src/main.rs a",
    "sort --o=src/main.rs a",
    "shuf --o src/main.rs a",
    "sort -usrc/x --outp=src/main.rs a",
    "shuf -nosrc/main.rs a",
    "uniq a src/main.rs",
    "xxd -r a src/main.rs",
    "sdiff -o src/main.rs a b",
    "curl -c src/main.rs https://example.com",
    "curl -sD src/main.rs https://example.com",
    "wget -o src/main.rs https://example.com",
    "tsc --outFile src/main.rs",
    "tsc --outfile src/main.rs",
    "tsc -outDir src",
    "eslint -o src/main.rs .",
    "eslint --output-file=src/main.rs .",
    "eslint --fix src",
    "eslint --fix",
    "ruff check --fix src/main.rs",
    "ruff check --output-file src/main.rs",
    "prettier --write src",
    "gofmt -w src/main.rs",
    "go build -o src/main.rs",
    "go build -o=src/main.rs",
    "go test --coverprofile=src/main.rs ./...",
    "go test -test.cpuprofile src/main.rs",
    "pytest --junitxml=src/main.rs",
    "pytest --junit-xml src/main.rs",
    "pytest --basetemp=src",
    "pytest --cov-report html:src",
    "pytest -o cache_dir=src",
    "mypy --junit-xml src/main.rs",
    "mypy --html-report src .",
    "cargo build --target-dir src",
    "cargo clippy --fix",
    "cargo test -- --logfile=src/main.rs",
    "pip list --log src/main.rs",
    "npm test --cache=src",
    "kubectl get pods --profile-output=src/main.rs",
];

#[test]
fn a_rule_for_a_command_is_no_rule_for_what_an_option_writes() {
    for line in WRITES {
        let program = line.split(' ').next().unwrap();
        let allow = bare(&[&format!("allow bash({program} *)")]);
        let asked = verdict(&allow, &facts(line));
        assert_eq!(asked.0, Decision::Ask, "{line}: {asked:?}");
        let both = bare(&[&format!("allow bash({program} *)"), "allow write(**)", "allow write(src)"]);
        assert_eq!(verdict(&both, &facts(line)).0, Decision::Allow, "{line}");
    }
}

#[test]
fn a_file_that_may_not_be_written_is_not_written_by_an_option() {
    for line in WRITES {
        let policy = bare(&["deny write(src/**)", "allow bash(*)"]);
        let decision = verdict_in(&policy, Access::Full, ApprovalMode::Yes, &facts(line)).0;
        let is_all = ["eslint --fix", "cargo clippy --fix"].contains(line);
        assert_eq!(decision, if is_all { Decision::Ask } else { Decision::Deny }, "{line}");
    }
}

#[test]
fn what_an_option_of_git_names_is_seen_from_the_folder_that_git_works_in() {
    for line in ["git -C src diff --output=x", "git --work-tree src archive -o x HEAD"] {
        let policy = bare(&["deny write(src/**)", "allow bash(*)"]);
        assert_eq!(verdict_in(&policy, Access::Full, ApprovalMode::Yes, &facts(line)).0, Decision::Ask, "{line}");
    }
}

#[test]
fn options_that_write_nothing_are_no_writes() {
    for line in [
        "git diff --output-indicator-new=x",
        "git diff --output=-",
        "git log --oneline -o x",
        "sort -u a",
        "sort --output=/dev/null a",
        "uniq -c a",
        "tsc --strict src/a.ts",
        "eslint --fix-dry-run .",
        "pytest --cov=src -q",
        "go test -run o ./...",
        "jq -r .a a.json",
        "mypy --strict .",
        "kubectl get pods -o yaml",
    ] {
        let program = line.split(' ').next().unwrap();
        let allow = bare(&[&format!("allow bash({program} *)"), "deny write(src/**)"]);
        assert_eq!(verdict(&allow, &facts(line)).0, Decision::Allow, "{line}");
    }
}

/// The calls for which a rule with `*` is offered: a rule for one covers no write by an option of its program.
#[test]
fn a_rule_that_is_offered_covers_no_write_by_an_option() {
    let usual = [
        "ls",
        "cat a",
        "head a",
        "grep x a",
        "diff a b",
        "du",
        "git status",
        "git diff",
        "git log",
        "git show",
        "git add a",
        "git commit -m x",
        "git blame a",
        "cargo build",
        "cargo test",
        "cargo clippy",
        "cargo doc",
        "npm test",
        "npm ci",
        "pnpm test",
        "yarn test",
        "npm run build",
        "go build",
        "go test ./...",
        "go vet",
        "pip list",
        "docker ps",
        "kubectl get pods",
        "gh status",
        "dotnet build",
        "pytest",
        "ruff check",
        "ruff format",
        "mypy .",
        "eslint .",
        "tsc",
        "tsc --noEmit",
        "jq .a a.json",
        "file a",
        "stat a",
        "prettier --check .",
    ];
    for line in usual {
        let rule = narrowest(&facts(line)).unwrap().to_string();
        let policy = bare(&[&format!("allow {rule}")]);
        assert_eq!(verdict(&policy, &facts(line)).0, Decision::Allow, "{line}: {rule}");
        let words: Vec<&str> = line.split(' ').collect();
        for write in WRITES.iter().filter(|write| write.split(' ').next() == words.first().copied()) {
            // The same options behind the subcommand of the rule.
            let option = write.find(" -").and_then(|at| write.get(at + 1..)).unwrap_or_default();
            // Two subcommands of git have this letter for themselves.
            let option = if option.starts_with("-o ") && words[0] == "git" { "--output src" } else { option };
            let option = if option.is_empty() { "--output=src" } else { option };
            for other in [write.to_string(), format!("{line} {option}")] {
                assert_eq!(verdict(&policy, &facts(&other)).0, Decision::Ask, "{rule}: {other}");
            }
        }
    }
    for exact in ["jq env", "tsc", "ruff format", "file -C -m a", "dotnet build"] {
        assert_eq!(narrowest(&facts(exact)).unwrap().to_string(), format!("bash({exact})"));
    }
}

#[test]
fn what_an_option_writes_is_in_the_rule_that_is_offered() {
    let offered = |line: &str| narrowest(&facts(line)).map(|rule| rule.to_string());
    assert_eq!(offered("git diff --output=a.txt").unwrap(), "bash(git diff *)\nwrite(a.txt)");
    assert_eq!(offered("pytest --junitxml x/y.xml").unwrap(), "bash(pytest *)\nwrite(x/y.xml)");
    assert_eq!(offered("git diff --output=\"$x\""), None);
}
