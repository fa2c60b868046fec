//! Runs command lines in real bash, many in one process, each in a folder of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// How many processes run lines at the same time.
const SHARES: usize = 4;

/// Takes the lines of a share one by one. `$1` is the folder of all, `$2` the share, `$3` the count of shares.
const DRIVER: &str = r#"
for file in "$1"/lines/*; do
    number=${file##*/}
    (( 10#$number % $3 == $2 )) || continue
    (
        cd "$1/at/$number" 2> /dev/null || cd "$1/at/all" || exit
        export MARK="$1/marks/$number" HOME="$PWD"
        ulimit -t 5
        . "$file"
    ) < /dev/null > "$1/said/$number" 2>&1
done
true
"#;

/// The outcome of a line.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// True if the program that must not run has run.
    pub ran: bool,
    /// What the line printed.
    pub said: String,
}

/// Runs lines in folders that `lay` has filled: those that `is_alone` picks each in one of its own, the others in one together. A program that must not run leaves a file at `$MARK`; those in `programs`
/// are found before others. `@W` in a line is its folder.
pub fn run(lines: &[String], programs: &Path, is_alone: &dyn Fn(&str) -> bool, lay: &dyn Fn(&Path)) -> Vec<Outcome> {
    let top = tempfile::tempdir().unwrap();
    let top = top.path();
    for folder in ["lines", "at", "marks", "said"] {
        fs::create_dir(top.join(folder)).unwrap();
    }
    let names: Vec<String> = (0..lines.len()).map(|number| format!("{number:05}")).collect();
    let laid = |name: &str| {
        let at = top.join("at").join(name);
        fs::create_dir(&at).unwrap();
        lay(&at);
        at
    };
    let together = laid("all");
    for (name, line) in names.iter().zip(lines) {
        let at = if is_alone(line) { laid(name) } else { together.clone() };
        fs::write(top.join("lines").join(name), line.replace("@W", at.to_str().unwrap()) + "\n").unwrap();
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let share = |share: usize| {
        let mut bash = Command::new("timeout");
        bash.args(["-k", "1", "120", "bash", "--norc", "-c", DRIVER, "driver"]).arg(top);
        bash.args([share.to_string(), SHARES.to_string()]);
        bash.env_clear().env("PATH", &path).env("TERM", "dumb").env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["AUTHOR", "COMMITTER"] {
            bash.env(format!("GIT_{name}_NAME"), "a").env(format!("GIT_{name}_EMAIL"), "a@b");
        }
        bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..SHARES).map(share).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success(), "a line hangs, or ends the shell around it");
    }
    let outcome = |name: &String| Outcome {
        ran: top.join("marks").join(name).exists(),
        said: String::from_utf8_lossy(&fs::read(top.join("said").join(name)).unwrap_or_default()).into_owned(),
    };
    names.iter().map(outcome).collect()
}

/// Writes a program.
pub fn program(at: &Path, text: &str) {
    fs::write(at, text).unwrap();
    fs::set_permissions(at, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}
