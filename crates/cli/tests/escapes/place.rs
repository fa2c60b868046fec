//! A place of its own for every attempt: a home with a workspace in it, and things outside that must stay as they are.

use rustix::process::geteuid;
use std::any::Any;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing here takes this long; what does, hangs.
pub const LONG: Duration = Duration::from_secs(120);

/// The value of every secret variable, in two halves, so that a probe can look for it without holding it.
pub const SECRET: [&str; 2] = ["correct-horse-", "battery-staple"];

/// Environment variables that commands must not see.
pub const SECRET_NAMES: [&str; 5] =
    ["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "MAINPATH_SECRET_THING"];

/// The words that start the probe, before those that name its deed. This very program with the test `probe` alone.
pub const PROBE: [&str; 7] =
    ["{bin}/escapes", "--exact", "--ignored", "--nocapture", "--test-threads=1", "--", "probe"];

/// Who makes the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    Root,
    Ordinary,
}

impl User {
    /// Those that can be tried here: root can be both.
    pub fn all() -> &'static [User] {
        if geteuid().is_root() { &[User::Root, User::Ordinary] } else { &[User::Ordinary] }
    }

    pub fn uid(self) -> u32 {
        match self {
            User::Root => 0,
            // Nobody's number, and not the one that stands for unmapped users.
            User::Ordinary if geteuid().is_root() => 54_321,
            User::Ordinary => geteuid().as_raw(),
        }
    }
}

pub struct Place {
    pub user: User,
    pub root: PathBuf,
    /// Values of `{name}` in the words of a probe.
    names: Vec<(String, String)>,
    /// Further environment variables.
    pub env: Vec<(String, String)>,
    /// Words that start everything as whoever runs the test.
    pub first: Vec<String>,
    /// Words that start the command as the user, such as `setsid`.
    pub before: Vec<String>,
    /// The command's standard input; nothing, if there is none.
    pub stdin: Option<File>,
    /// The number of the process of [`crate::host::has_a_victim`].
    pub victim: u32,
    kept: Vec<Box<dyn Any>>,
    _dir: TempDir,
}

/// How a process ended and what it said.
#[derive(Debug)]
pub struct Done {
    /// The exit code; 128 and the number where a signal ended it, as shells say it.
    pub code: i32,
    pub out: String,
    pub err: String,
}

const FOLDERS: [&str; 8] =
    ["home", "home/.ssh", "home/.config", "home/work", "home/work/folder", "outside", "outside/folder", "data"];

const FILES: [(&str, &str); 8] = [
    ("home/.ssh/id_ed25519", "a private key\n"),
    ("home/.bashrc", "# of the user\n"),
    ("home/.gitconfig", "[user]\n\tname = Somebody\n\temail = somebody@example.org\n[init]\n\tdefaultBranch = main\n"),
    ("home/.config/cloud", "a credential\n"),
    ("home/work/own", "in the workspace\n"),
    ("outside/kept", "kept as it is\n"),
    ("outside/other", "another file\n"),
    ("data/config.toml", ""),
];

impl Place {
    /// Not under `/tmp` or a home, where everything would be out of reach anyway; but an ordinary user may have no other place.
    pub fn new(user: User) -> Place {
        let base = if geteuid().is_root() { "/srv" } else { env!("CARGO_TARGET_TMPDIR") };
        let dir = tempfile::Builder::new().prefix("escape-").tempdir_in(base).unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in FOLDERS {
            fs::create_dir(root.join(folder)).unwrap();
        }
        for (name, text) in FILES {
            fs::write(root.join(name), text).unwrap();
        }
        own(&root, user.uid());
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        // What is in the workspace is in reach, wherever that lies.
        let bin = root.join(if geteuid().is_root() { "bin" } else { "home/work/bin" });
        fs::create_dir(&bin).unwrap();
        put(Path::new(env!("CARGO_BIN_EXE_mainpath")), &bin.join("mainpath"));
        put(&std::env::current_exe().unwrap(), &bin.join("escapes"));
        let mut place = Place {
            user,
            root,
            names: Vec::new(),
            env: Vec::new(),
            first: Vec::new(),
            before: Vec::new(),
            stdin: None,
            victim: 0,
            kept: Vec::new(),
            _dir: dir,
        };
        let root = place.root.to_str().unwrap().to_string();
        place.name("root", &root);
        place.name("bin", bin.to_str().unwrap());
        for name in ["home", "outside", "data"] {
            place.name(name, &format!("{root}/{name}"));
        }
        place.name("work", &format!("{root}/home/work"));
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn work(&self) -> PathBuf {
        self.path("home/work")
    }

    /// From now on `{name}` stands for this.
    pub fn name(&mut self, name: &str, value: &str) {
        let name = format!("{{{name}}}");
        self.names.retain(|(known, _)| *known != name);
        self.names.push((name, value.into()));
    }

    pub fn fill(&self, text: &str) -> String {
        self.names.iter().fold(text.into(), |text, (name, value)| text.replace(name, value))
    }

    /// Keeps something until the end of the attempt.
    pub fn keep(&mut self, thing: impl Any) {
        self.kept.push(Box::new(thing));
    }

    /// A program as the user starts it, outside.
    pub fn outside(&self, words: &[&str]) -> Command {
        // Shells cannot heed what the caller of the tests ignores, as those do that start it in the background.
        let mut all: Vec<String> = ["env", "--default-signal=HUP,INT,QUIT"].map(String::from).into();
        all.extend(self.first.iter().cloned());
        if geteuid().as_raw() != self.user.uid() {
            let id = self.user.uid();
            all.extend(["setpriv".into(), format!("--reuid={id}"), format!("--regid={id}"), "--clear-groups".into()]);
        }
        all.extend(self.before.iter().map(String::as_str).chain(words.iter().copied()).map(|word| self.fill(word)));
        let mut command = Command::new(&all[0]);
        command.args(&all[1..]).env_clear().current_dir(self.work());
        command.env("PATH", self.search_path()).env("HOME", self.path("home")).env("MAINPATH_HOME", self.path("data"));
        command.envs(SECRET_NAMES.map(|name| (name, SECRET.concat())));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        // A group of its own, so that what is sent to the group does not reach the tests.
        command.process_group(0);
        command.stdin(self.stdin.as_ref().map_or_else(Stdio::null, |file| file.try_clone().unwrap().into()));
        command
    }

    fn search_path(&self) -> OsString {
        let mut path = OsString::from("/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:");
        path.push(self.path("home/.cargo/bin"));
        path
    }

    /// A program as the user starts it in the sandbox with these flags.
    pub fn inside(&self, flags: &[&str], words: &[&str]) -> Command {
        self.outside(&[&["{bin}/mainpath", "sandbox", "--workspace", "{work}"], flags, &["--"], words].concat())
    }

    /// Runs a script of the shell as the user, outside, and wants success.
    pub fn sh(&self, script: &str) -> String {
        let done = finish(self.outside(&["/bin/sh", "-ec", script]));
        assert_eq!(done.code, 0, "{script}: {done:#?}");
        done.out
    }

    /// Every entry outside the workspace with what is known of it; the time of its last change tells the rest.
    pub fn snapshot(&self) -> Vec<String> {
        let mut found = Vec::new();
        for folder in ["outside", "home"] {
            list(&self.path(folder), &self.work(), &mut found);
        }
        found
    }

    /// The same of the workspace.
    pub fn workspace(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(&self.work(), Path::new(""), &mut found);
        found
    }
}

/// Gives a tree to a user.
pub fn own(path: &Path, uid: u32) {
    if !geteuid().is_root() {
        return;
    }
    lchown(path, Some(uid), Some(uid)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| own(&entry.unwrap().path(), uid));
    }
}

/// Puts a program there without copying its many bytes, where that can be.
fn put(program: &Path, there: &Path) {
    if fs::hard_link(program, there).is_err() {
        fs::copy(program, there).unwrap();
    }
}

fn list(path: &Path, except: &Path, found: &mut Vec<String>) {
    let meta = path.symlink_metadata().unwrap();
    let numbers = (meta.ino(), meta.mode(), meta.uid(), meta.nlink(), meta.size());
    found.push(format!("{} {numbers:?} {}.{:09}", path.display(), meta.ctime(), meta.ctime_nsec()));
    if meta.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().filter(|entry| *entry != except).for_each(|entry| list(entry, except, found));
    }
}

/// Runs a command to its end.
pub fn finish(mut command: Command) -> Done {
    wait(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// Waits for the end of a process and of all that it says.
pub fn wait(mut child: Child) -> Done {
    let out = child.stdout.take().map(read_all);
    let err = child.stderr.take().map(read_all);
    let until = Instant::now() + LONG;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    let text =
        |reader: Option<std::thread::JoinHandle<String>>| reader.map(|it| it.join().unwrap()).unwrap_or_default();
    Done { code, out: text(out), err: text(err) }
}

fn read_all(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for something that must come about.
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
