//! Ways round a denial of reading. Real bash says which lines print the denied text.

use crate::real_bash::run;
use crate::support::*;
use mainpath_policy::CallFacts;
use mainpath_types::{Access, ApprovalMode, Decision};
use std::fs;
use std::path::Path;
use std::process::Command;

const SECRET: &str = "TOPSECREX";

/// Lines that print the secret, or store it under another name and print that. `@R` is the word `TOP`.
const PRINT: &[&str] = &[
    "grep -r @R",
    "grep -rn @R",
    "grep -R @R",
    "grep -nR @R",
    "grep --recursive @R",
    "grep --rec @R",
    "grep --dereference-recursive @R",
    "grep -d recurse @R",
    "grep -drecurse @R",
    "grep --directories=recurse @R",
    "grep --directories recurse @R",
    "grep -r -A 3 @R",
    "grep -r -m 1 @R",
    "grep -rm1 @R",
    "grep --include '*.txt' -r @R",
    "grep -r --include='*.txt' @R",
    "grep -re @R",
    "grep -re@R",
    "grep -r -e @R",
    "grep -r --regexp=@R",
    "grep -r --regexp @R",
    "grep -r -- @R",
    "grep -r @R .",
    "grep -r @R -- .",
    "grep -r @R secrets",
    "grep @R -r",
    "grep @R -- secrets/k.txt",
    "true | grep -r @R",
    "grep -r @R < open.txt",
    "egrep -r @R",
    "fgrep -r @R",
    "rgrep @R",
    "rgrep -n @R",
    "rgrep @R secrets",
    "true | rgrep @R",
    "zgrep @R secrets/k.txt",
    "git grep @R",
    "git grep @R HEAD",
    "git grep --no-index @R",
    "git grep @R -- ':(top)'",
    "git grep @R -- secrets",
    "git grep -C 2 @R",
    "git -C secrets grep @R",
    "git -C secrets grep @R -- k.txt",
    "git show HEAD:secrets/k.txt",
    "git show HEAD:./secrets/k.txt",
    "git cat-file -p HEAD:secrets/k.txt",
    "git blame secrets/k.txt",
    "git diff --no-index /dev/null secrets/k.txt",
    "git log -p -- secrets",
    "git log -L1,1:secrets/k.txt",
    "git archive HEAD",
    "git archive HEAD secrets",
    "git mv secrets s2; cat s2/k.txt",
    "git mv secrets/k.txt b.txt && cat b.txt",
    "git -C secrets mv k.txt ../b.txt; cat b.txt",
    "diff -rN . empty",
    "diff -rN secrets empty",
    "diff -N secrets empty",
    "diff secrets/k.txt open.txt",
    "find . -name k.txt -exec cat {} +",
    "find secrets -type f -exec cat {} \\;",
    "find . -type f | xargs cat",
    "cd secrets && grep -r @R",
    "cd secrets; cat k.txt",
    "mv secrets s2; cat s2/k.txt",
    "mv secrets/k.txt b.txt; cat b.txt",
    "mv -t empty secrets/k.txt; cat empty/k.txt",
    "mv -- secrets empty; cat empty/secrets/k.txt",
    "cp secrets/k.txt b.txt; cat b.txt",
    "cp -r secrets s2; cat s2/k.txt",
    "cp -r . ../copy.$$; cat ../copy.$$/secrets/k.txt; rm -rf ../copy.$$",
    "ln secrets/k.txt b.txt; cat b.txt",
    "ln -s secrets s2; cat s2/k.txt",
    "ln -s . here; cat here/secrets/k.txt",
    "install secrets/k.txt b.txt; cat b.txt",
    "tar cf - secrets",
    "tar cf - .",
    "tar -c -C secrets .",
    "tar -cCsecrets .",
    "tar --create secrets/k.txt",
    "gzip -c secrets/k.txt | zcat",
    "gzip -r secrets; zcat secrets/k.txt.gz",
    "ed -s secrets/k.txt <<< ,p",
    ". secrets/k.txt",
    "source secrets/k.txt",
    "split secrets/k.txt part; cat partaa",
    "fold -w 80 secrets/k.txt",
    "fmt secrets/k.txt",
    "pr secrets/k.txt",
    "join secrets/k.txt secrets/k.txt",
    "expand secrets/k.txt",
    "cat < secrets/k.txt",
    "echo $(< secrets/k.txt)",
    "mapfile -t x < secrets/k.txt; echo \"${x[@]}\"",
    "sed p secrets/k.txt",
    "awk 1 secrets/k.txt",
    "dd if=secrets/k.txt",
];

/// The same for programs that need not be installed.
const PRINT_TOO: &[&str] = &[
    "rg TOP",
    "rg -n TOP",
    "rg --hidden TOP",
    "rg -g '*.txt' TOP",
    "rg -e TOP",
    "rg --sort path TOP",
    "rg -tperl TOP",
    "rg TOP .",
    "rg TOP secrets",
    "true | rg TOP < /dev/null",
    "true | xargs rg TOP",
    "ag TOP",
    "ag -fi TOP",
    "ag -G txt TOP",
    "ag TOP secrets",
    "ack TOP",
    "ack --type text TOP",
    "true | ack --nofilter TOP",
    "ugrep -r TOP",
    "zip -r x.zip secrets",
    "zip x.zip secrets/k.txt",
    "7z a x.7z secrets",
    "rename k j secrets/k.txt",
    "exch secrets/k.txt open.txt",
    "xz secrets/k.txt",
    "vim -es secrets/k.txt",
    "sudo grep -r TOP",
    "env grep -r TOP",
    "bash -c 'grep -r TOP'",
];

/// Lines that print nothing of it.
const FREE: &[&str] = &[
    "grep TOP open.txt",
    "grep -r TOP src",
    "grep -rn TOP src docs",
    "grep -rn --include='*.rs' TOP src",
    "grep -r -A 3 TOP src",
    "grep -r -e TOP src",
    "grep -r --line-number TOP src",
    "cat open.txt | grep TOP",
    "grep TOP",
    "rg TOP src",
    "rg -n --hidden TOP src",
    "ls | rg TOP",
    "rg TOP <<< x",
    "git grep TOP -- src",
    "git grep -n TOP -- src docs",
    "git diff",
    "git log -p",
    "git show HEAD:open.txt",
    "git mv a b",
    "mv a b",
    "mv src lib",
    "cp -r src lib",
    "ln -s src lib",
    "tar cf src.tar src",
    "tar xf src.tar",
    "diff -r src lib",
    "gzip open.txt",
    "source src/env.sh",
];

fn decided(line: &str) -> Decision {
    let policy = usual(&["deny read(secrets/**)"]);
    let facts = CallFacts { commands: vec![line.into()], confined: true, ..call("bash(x)") };
    verdict_in(&policy, Access::WorkspaceWrite, ApprovalMode::Yes, &facts).0
}

/// The lines that run unasked.
fn let_through<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    lines.filter(|line| decided(line) == Decision::Allow).collect()
}

/// A folder with a secret, which is also in a repository.
fn lay(at: &Path) {
    for folder in ["secrets", "empty", "src"] {
        fs::create_dir(at.join(folder)).unwrap();
    }
    fs::write(at.join("secrets/k.txt"), format!("{SECRET}\n")).unwrap();
    fs::write(at.join("open.txt"), "nothing\n").unwrap();
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words).current_dir(at);
        assert!(git.output().unwrap().status.success(), "{words:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "a"]);
}

#[test]
fn no_line_prints_the_text_of_a_file_that_may_not_be_read() {
    let lines: Vec<String> = PRINT.iter().map(|line| line.replace("@R", "TOP")).collect();
    let programs = tempfile::tempdir().unwrap();
    let outcomes = run(&lines, programs.path(), &|_| true, &lay);
    let silent: Vec<_> = lines.iter().zip(&outcomes).filter(|(_, outcome)| !outcome.said.contains(SECRET)).collect();
    assert!(silent.is_empty(), "these do not print it: {silent:#?}");
    assert_eq!(let_through(lines.iter().map(String::as_str)), [""; 0]);
}

#[test]
fn programs_that_need_not_be_installed_are_held_alike() {
    assert_eq!(let_through(PRINT_TOO.iter().copied()), [""; 0]);
}

#[test]
fn lines_that_read_other_files_are_free() {
    assert_eq!(let_through(FREE.iter().copied()), FREE);
}
