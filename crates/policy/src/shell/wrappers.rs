//! Programs that run other programs: what they run is judged like any command.

use super::inner::Inner;
use super::launchers::launched;
use super::runners::{apt, by_words, go, in_options, make, sourced, ssh};
use super::sed::sed;
use super::shells::{self, is_shell};
use super::{Word, git};

/// How a wrapper's own words end and those of its command begin.
struct Wrapper {
    names: &'static [&'static str],
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with a value.
    valued: &'static str,
    /// Long options without a value; with one where they end in `=`.
    long: &'static [&'static str],
    /// Words of its own after the options.
    own: usize,
    /// Whether `NAME=value` may come before the command.
    sets: bool,
}

/// From the manuals of GNU coreutils 9, util-linux 2.41, findutils 4.10, sudo 1.9 and bash 5.2.
const WRAPPERS: [Wrapper; 17] = [
    Wrapper {
        // Where they have options, these make the line unclear.
        names: &[
            "builtin",
            "nohup",
            "busybox",
            "toybox",
            "unbuffer",
            "catchsegv",
            "ccache",
            "dbus-run-session",
            "eatmydata",
            "fakeroot",
            "pkexec",
            "proxychains",
            "proxychains4",
            "run0",
            "sccache",
            "torify",
            "torsocks",
            "uclampset",
            "xvfb-run",
        ],
        flags: "",
        valued: "",
        long: &[],
        own: 0,
        sets: false,
    },
    // From the manual of libcgroup 3.
    Wrapper { names: &["cgexec"], flags: "", valued: "g", long: &["sticky"], own: 0, sets: false },
    // From the manual of OpenSSH 9.
    Wrapper { names: &["ssh-agent"], flags: "cDdksT", valued: "aEOPt", long: &[], own: 0, sets: false },
    Wrapper { names: &["command"], flags: "p", valued: "", long: &[], own: 0, sets: false },
    Wrapper { names: &["exec"], flags: "cl", valued: "a", long: &[], own: 0, sets: false },
    Wrapper { names: &["setsid"], flags: "cfw", valued: "", long: &["ctty", "fork", "wait"], own: 0, sets: false },
    Wrapper { names: &["nice"], flags: "", valued: "n", long: &["adjustment="], own: 0, sets: false },
    Wrapper { names: &["ionice"], flags: "t", valued: "cn", long: &["class=", "classdata="], own: 0, sets: false },
    Wrapper {
        names: &["timeout"],
        flags: "fpv",
        valued: "ks",
        long: &["foreground", "preserve-status", "verbose", "kill-after=", "signal="],
        own: 1,
        sets: false,
    },
    Wrapper {
        names: &["time"],
        flags: "apqvV",
        valued: "fo",
        long: &["append", "verbose", "format=", "output="],
        own: 0,
        sets: false,
    },
    Wrapper {
        names: &["stdbuf"],
        flags: "",
        valued: "ioe",
        long: &["input=", "output=", "error="],
        own: 0,
        sets: false,
    },
    Wrapper {
        names: &["sudo"],
        flags: "AbEHknPS",
        valued: "CDghpRrTtUu",
        long: &["non-interactive", "set-home", "stdin", "user=", "group=", "host=", "chdir="],
        own: 0,
        sets: true,
    },
    Wrapper { names: &["doas"], flags: "Ln", valued: "aCu", long: &[], own: 0, sets: true },
    Wrapper {
        names: &["env"],
        flags: "i0v",
        valued: "uC",
        long: &["ignore-environment", "null", "debug", "unset=", "chdir="],
        own: 0,
        sets: true,
    },
    Wrapper {
        names: &["xargs"],
        flags: "0oprtx",
        valued: "adEILnPs",
        long: &[
            "null",
            "no-run-if-empty",
            "verbose",
            "interactive",
            "exit",
            "arg-file=",
            "delimiter=",
            "max-args=",
            "max-procs=",
            "max-chars=",
        ],
        own: 0,
        sets: false,
    },
    Wrapper {
        names: &["chroot", "taskset"],
        flags: "",
        valued: "",
        long: &["userspec=", "groups=", "skip-chdir"],
        own: 1,
        sets: false,
    },
    Wrapper {
        names: &["strace", "ltrace"],
        flags: "cCdfFhiqrtTvVxyz",
        valued: "abeEIoOpPsSuX",
        long: &[],
        own: 0,
        sets: false,
    },
];

/// Programs that may run another one in a way that is not told apart here, unless they only show their version.
const OPAQUE: &[&str] = &[
    // Builtins that run what they are given at another time.
    "bind",
    "compgen",
    "complete",
    "fc",
    // Editors and debuggers that run commands of their own language.
    "ed",
    "ex",
    "vi",
    "vim",
    "nvim",
    "emacs",
    "gdb",
    "lldb",
    // What runs commands later, again, or with something around them.
    "aa-exec",
    "at",
    "batch",
    "bpftrace",
    "capsh",
    "choom",
    "chpst",
    "chronic",
    "chrt",
    "concurrently",
    "coresched",
    "cpulimit",
    "cross-env",
    "crontab",
    "cset",
    "dbus-launch",
    "dc",
    "dumb-init",
    "entr",
    "env-cmd",
    "envdir",
    "envuidgid",
    "expect",
    "faketime",
    "firejail",
    "flock",
    "gdbserver",
    "gosu",
    "heaptrack",
    "hyperfine",
    "i386",
    "ifne",
    "lckdo",
    "linux32",
    "linux64",
    "logsave",
    "mispipe",
    "newgrp",
    "nodemon",
    "nsenter",
    "numactl",
    "openvt",
    "parallel",
    "pee",
    "perf",
    "prlimit",
    "proot",
    "rlwrap",
    "rr",
    "run-parts",
    "runcon",
    "runuser",
    "screen",
    "script",
    "sem",
    "setarch",
    "setlock",
    "setpriv",
    "setuidgid",
    "sg",
    "softlimit",
    "start-stop-daemon",
    "su",
    "su-exec",
    "systemd-inhibit",
    "systemd-run",
    "tini",
    "tmux",
    "ts",
    "tsocks",
    "tsp",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "x-terminal-emulator",
    "x86_64",
    "xterm",
    "bwrap",
    // Shells with a language of their own.
    "zsh",
    "ksh",
    "mksh",
    "lksh",
    "rksh",
    "rzsh",
    "yash",
    "posh",
    "csh",
    "tcsh",
    "fish",
    "pwsh",
    "elvish",
    "nu",
    "osh",
    "xonsh",
];

/// Whether it is the loader of the system, which runs the program that it is given (ld.so(8); musl's is called by its architecture).
fn is_loader(name: &str) -> bool {
    name == "ld.so" || name.starts_with("ld-") && name.contains(".so")
}

/// What the words run beside the program that they name.
pub(super) fn inner(words: &[Word]) -> Vec<Inner> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let name = program.text.rsplit('/').next().unwrap_or_default();
    let rest = match (name, rest.split_first()) {
        // The end of options.
        ("eval" | "trap" | "." | "source", Some((first, rest))) if first.text == "--" => rest,
        _ => rest,
    };
    match name {
        "eval" => match rest.iter().all(|word| word.fixed) {
            true => vec![Inner::Script(rest.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))],
            false => vec![Inner::Unclear("what eval runs is not written out".into())],
        },
        "trap" => match rest.first() {
            None => Vec::new(),
            Some(word) if !word.fixed => vec![Inner::Unclear("what trap runs is not written out".into())],
            Some(word) if rest.len() == 1 || matches!(word.text.as_str(), "" | "-" | "-l" | "-p") => Vec::new(),
            Some(word) => vec![Inner::Script(word.text.clone())],
        },
        "mapfile" | "readarray" | "jobs"
            if rest.iter().any(|word| {
                word.text.starts_with('-') && word.text.contains(if name == "jobs" { 'x' } else { 'C' })
            }) =>
        {
            vec![Inner::Unclear(format!("what {name} runs is not told apart"))]
        }
        "find" | "fd" | "fdfind" => found(name, rest),
        "git" => git::inner(rest),
        // Git's own programs, called by their files.
        name if name.starts_with("git-") && program.text.contains("git-core/") => {
            vec![Inner::Unclear(format!("what {name} runs is not told apart"))]
        }
        "." | "source" => sourced(rest),
        "make" | "gmake" => make(rest),
        "sed" | "gsed" => sed(rest),
        "ssh" => ssh(rest),
        "go" => go(rest),
        "apt" | "apt-get" | "apt-cache" | "aptitude" => apt(rest),
        // Its output may be a command.
        "strace" if rest.iter().any(|word| word.text.trim_start_matches("-o").starts_with(['|', '!'])) => {
            vec![Inner::Unclear("what strace runs is not told apart".into())]
        }
        name if is_loader(name) => vec![Inner::Unclear(format!("what {name} runs is not told apart"))],
        name if is_shell(name) => shells::inner(rest),
        "command" if rest.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) => Vec::new(),
        name if OPAQUE.contains(&name) => match rest {
            [only] if matches!(only.text.as_str(), "--version" | "--help") => Vec::new(),
            _ => vec![Inner::Unclear(format!("what {name} runs is not told apart"))],
        },
        name => WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name)).map_or_else(
            || [in_options(name, rest), ssh_like(name, rest), by_words(name, rest), launched(name, rest)].concat(),
            |wrapper| {
                match after(wrapper, rest) {
                    Ok([]) => Vec::new(),
                    Ok(command) => {
                        let mut command = command.to_vec();
                        if name == "xargs" {
                            // What it reads stands at the end, or wherever the words say.
                            let place = replaced(rest);
                            command
                                .iter_mut()
                                .filter(|word| word.text.contains(&place))
                                .for_each(|word| word.fixed = false);
                            command.push(Word::unknown("…"));
                        }
                        vec![Inner::Command(command)]
                    }
                    Err(why) => vec![Inner::Unclear(format!("what {name} runs cannot be told: {why}"))],
                }
            },
        ),
    }
}

/// The folder in which a wrapper runs its command, where its words say so.
pub(super) fn folder(words: &[Word]) -> Option<Word> {
    let (program, rest) = words.split_first()?;
    let (short, long) = match program.text.rsplit('/').next().unwrap_or_default() {
        "env" => ("-C", "--chdir"),
        "sudo" => ("-D", "--chdir"),
        "find" => ("-execdir", "-okdir"),
        _ => return None,
    };
    let of = |(at, word): (usize, &Word)| {
        let text = word.text.as_str();
        let attached = text.strip_prefix(long).and_then(|value| value.strip_prefix('=')).or(text.strip_prefix(short));
        match attached.filter(|value| !value.is_empty()) {
            Some(value) => Some(Word { text: value.into(), ..word.clone() }),
            None if text == long || text == short => rest.get(at + 1).cloned(),
            None => None,
        }
    };
    rest.iter()
        .enumerate()
        .find_map(of)
        .map(|word| if short == "-C" || short == "-D" { word } else { Word::unknown("…") })
}

/// What `xargs -I` puts its input in the place of.
fn replaced(words: &[Word]) -> String {
    let at = words.iter().position(|word| word.text.starts_with("-I"));
    let attached = at.and_then(|at| words.get(at)).map(|word| word.text.get(2..).unwrap_or_default().to_string());
    let next = at.and_then(|at| words.get(at + 1)).map(|word| word.text.clone());
    attached.filter(|text| !text.is_empty()).or(next).unwrap_or_else(|| "{}".into())
}

/// Why the command of a wrapper cannot be found among its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum WrapperError {
    /// A word may be any number of words.
    #[error("{0:?} is not written out")]
    Word(String),
    /// The same of the wrapper's own words.
    #[error("its own words are not written out")]
    OwnWords,
    #[error("the option {0:?} is not known")]
    Option(String),
}

/// The words of the command that a wrapper runs.
fn after<'w>(wrapper: &Wrapper, mut words: &'w [Word]) -> Result<&'w [Word], WrapperError> {
    while let Some((word, rest)) = words.split_first() {
        if !word.fixed {
            // Its command, or an option: what follows is the command's own business only in the first case.
            return match word.many {
                true => Err(WrapperError::Word(word.text.clone())),
                false => Ok(words.get(wrapper.own..).unwrap_or_default()),
            };
        }
        let text = word.text.as_str();
        if text == "--" {
            words = rest;
            break;
        }
        // `env -` is `env -i`.
        if text == "-" && wrapper.sets {
            words = rest;
            continue;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            if value.is_none() && wrapper.long.contains(&name) {
                words = rest;
            } else if wrapper.long.contains(&format!("{name}=").as_str()) {
                words = if value.is_some() { rest } else { rest.get(1..).unwrap_or_default() };
            } else {
                return Err(WrapperError::Option(text.into()));
            }
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            words = match options(wrapper, letters)? {
                true => rest.get(1..).unwrap_or_default(),
                false => rest,
            };
        } else if wrapper.sets && text.contains('=') && !text.starts_with('=') {
            words = rest;
        } else {
            break;
        }
    }
    let own = words.iter().take(wrapper.own);
    if own.clone().any(|word| word.many) {
        return Err(WrapperError::OwnWords);
    }
    let mut command = words.get(wrapper.own..).unwrap_or_default();
    while wrapper.sets && command.first().is_some_and(|word| word.text.contains('=')) {
        command = command.get(1..).unwrap_or_default();
    }
    Ok(command)
}

/// Whether the last of these option letters takes the next word as its value.
fn options(wrapper: &Wrapper, letters: &str) -> Result<bool, WrapperError> {
    if wrapper.names.contains(&"nice") && letters.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(false);
    }
    for (at, letter) in letters.char_indices() {
        if wrapper.valued.contains(letter) {
            return Ok(at + letter.len_utf8() == letters.len());
        }
        if !wrapper.flags.contains(letter) {
            return Err(WrapperError::Option(format!("-{letter}")));
        }
    }
    Ok(false)
}

/// The options of `ssh`, which its companions take as well.
fn ssh_like(name: &str, words: &[Word]) -> Vec<Inner> {
    if matches!(name, "scp" | "sftp" | "ssh-copy-id") { ssh(words) } else { Vec::new() }
}

/// What `find` runs for the files that it finds.
fn found(name: &str, words: &[Word]) -> Vec<Inner> {
    let mut inner = Vec::new();
    let runs = |word: &Word| match name {
        "find" => matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"),
        _ => matches!(word.text.as_str(), "-x" | "--exec" | "-X" | "--exec-batch"),
    };
    // A variable without quotes may be `-exec` and more.
    if words.iter().any(|word| word.many && word.text.contains(['$', '{'])) {
        inner.push(Inner::Unclear(format!("the words of {name} are not written out")));
    }
    let mut words = words;
    while let Some(at) = words.iter().position(runs) {
        words = words.get(at + 1..).unwrap_or_default();
        let end = words.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(words.len());
        let command = words.iter().take(end).map(|word| match word.text.contains("{}") {
            true => Word { fixed: false, ..word.clone() },
            false => word.clone(),
        });
        inner.push(Inner::Command(command.collect()));
        words = words.get(end..).unwrap_or_default();
    }
    inner
}
