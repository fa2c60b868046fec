//! Rules against the shell itself: a line that a denial of `evil` leaves alone must not make bash run `evil`.

use crate::support::*;
use mainpath_policy::CallFacts;
use mainpath_types::{Access, ApprovalMode, Decision};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Pieces of lines. `evil` is the program that must not run unseen.
const PIECES: [&str; 64] = [
    "evil",
    "evil",
    "evil",
    "evil",
    " ",
    " ",
    " ",
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "\\",
    "\\\n",
    "${x:-",
    "}",
    "((",
    "))",
    "$((",
    "$[",
    "]",
    ";",
    "|",
    "&&",
    "||",
    "&",
    "\n",
    "#",
    " #",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "{ ",
    ";}",
    "(",
    ")",
    "eval ",
    "x=",
    "$x",
    "$'",
    "case x in x) ",
    ";; esac",
    "if ",
    "; then ",
    "; fi",
    "<(",
    ">(",
    "[[ ",
    " ]]",
    "echo ",
    "<<<",
    "$\"",
    "! ",
    "${x@P}",
    "a[",
    "trap ",
    " EXIT",
    "for i in ",
    "; do ",
    "; done",
    "let ",
    "declare ",
    "'x[$(evil)]'",
    "f() { ",
];

/// A small generator of numbers, so that a failure can be had again.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % most
    }

    fn line(&mut self) -> String {
        let count = 1 + self.below(14);
        (0..count).map(|_| PIECES[self.below(PIECES.len())]).collect()
    }
}

/// Whether bash, which finds no other program, looks for one called `evil` when it runs the line.
fn runs_evil(folder: &Path, line: &str) -> bool {
    let mark = folder.join("mark");
    let _ = fs::remove_file(&mark);
    let mut bash = Command::new("/bin/bash");
    bash.args(["--norc", "-c", line]).current_dir(folder).env_clear().env("PATH", folder.join("none"));
    bash.env("BASH_ENV", folder.join("handler")).env("MARK", &mark);
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = bash.spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(5) {
            child.kill().unwrap();
            child.wait().unwrap();
            break;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    mark.exists()
}

#[test]
fn bash_runs_nothing_that_was_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    let handler = "ulimit -t 2\ncommand_not_found_handle() { [ \"$1\" != evil ] || : > \"$MARK\"; return 127; }\n";
    fs::write(folder.path().join("handler"), handler).unwrap();
    assert!(runs_evil(folder.path(), "echo \"$(evil)\""), "the handler notices");
    assert!(!runs_evil(folder.path(), "echo '$(evil)'"));
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let mut numbers = Numbers(number("MAINPATH_SEED").unwrap_or(0x9E37_79B9_7F4A_7C15));
    let policy = bare(&["deny bash(evil *)"]);
    let (mut lines, mut clear) = (0, 0);
    // Most random lines are no shell language, and of the others most run it plainly.
    while lines < number("MAINPATH_LINES").unwrap_or(4_000) {
        lines += 1;
        let line = numbers.line();
        let facts = CallFacts { commands: vec![line.clone()], ..call("bash(x)") };
        if verdict_in(&policy, Access::Full, ApprovalMode::Ask, &facts).0 == Decision::Allow {
            clear += 1;
            assert!(!runs_evil(folder.path(), &line), "not seen in {line:?}");
        }
    }
    assert!(clear > lines / 1_000, "only {clear} of {lines} lines were clear of it");
}
