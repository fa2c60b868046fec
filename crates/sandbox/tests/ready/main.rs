//! Cages that are made before their command is known: they are used, and never where anything has changed since.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use mainpath_sandbox::{Cage, How, Launcher, Talking};
use mainpath_types::{Confinement, FileAccess};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};
use tokio::io::AsyncReadExt;
use tokio::sync::{Mutex, MutexGuard};

/// The launchers of this process are counted, so one test runs at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// A workspace, a home, and Mainpath's own folder.
struct World {
    _alone: MutexGuard<'static, ()>,
    _folder: tempfile::TempDir,
    top: PathBuf,
    files: FileAccess,
}

impl World {
    async fn new() -> World {
        let alone = ALONE.lock().await;
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let top = folder.path().canonicalize().unwrap();
        ["work", "home", "home/.cargo"].iter().for_each(|name| fs::create_dir(top.join(name)).unwrap());
        World { _alone: alone, _folder: folder, top, files: FileAccess::WorkspaceWrite }
    }

    fn work(&self, name: &str) -> PathBuf {
        self.top.join("work").join(name)
    }

    fn write(&self, name: &str) {
        let path = self.work(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "ours").unwrap();
    }

    /// Runs a command to its end. Gives what it wrote, and whether its cage was made before it was started.
    async fn run(&self, command: &str) -> (String, bool) {
        // Clocks of files are slow by some milliseconds.
        tokio::time::sleep(Duration::from_millis(30)).await;
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() - Duration::from_millis(15);
        let script = format!("date -r /dev/shm +%s%N; {command}");
        let words = ["sh", "-c", &script].map(OsStr::new);
        let cage = Cage::new(
            Confinement { files: self.files, network: false },
            self.top.join("work"),
            vec![self.top.join("own")],
        );
        let env = [("HOME".into(), self.top.join("home").into())];
        let launcher = Launcher::new(env!("CARGO_BIN_EXE_mainpath-launch"), vec![]);
        let mut talking = launcher.command(&words, &self.top.join("work"), "t/1", &cage, &env).unwrap();
        let mut text = String::new();
        talking.stdout.read_to_string(&mut text).await.unwrap();
        let Talking { mut process, .. } = talking;
        process.launcher_done().await;
        assert!(matches!(process.ended().await.unwrap().how, How::Exit(_)));
        let (made, text) = text.split_once('\n').unwrap();
        (text.trim_end().into(), made.parse::<u128>().unwrap() < began.as_nanos())
    }

    /// A command like those to come has run, and a cage for the next of them is ready.
    async fn prepare(&self) {
        self.run("true").await;
        eventually("a cage", || matches!(grandchildren().as_slice(), [only] if is_ready(only))).await;
    }

    /// What a command says in a cage that was not made ahead, since something had changed.
    async fn run_afresh(&self, command: &str) -> String {
        let (text, ahead) = self.run(command).await;
        assert!(!ahead, "the cage was made before the change");
        text
    }
}

async fn eventually(what: &str, found: impl Fn() -> bool) {
    for _ in 0..6000 {
        if found() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain for {what}");
}

/// The first processes of cages: children of this process's launchers.
fn grandchildren() -> Vec<u32> {
    children(std::process::id()).into_iter().flat_map(children).collect()
}

fn children(of: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()).collect()
}

/// Whether a process sleeps under a filter of system calls, the last bound that a cage is given.
fn is_ready(pid: &u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.contains("\nSeccomp:\t2\n") && status.contains("\nState:\tS")
}

const WRITE_CONFIG: &str =
    "echo x > .git/config; echo x > .git/hooks/pre-commit; cat .git/config .git/hooks/pre-commit";

#[tokio::test]
async fn a_cage_like_the_last_one_is_ready_before_its_command() {
    let mut world = World::new().await;
    world.write(".envrc");
    world.write(".git/HEAD");
    fs::create_dir(world.top.join("own")).unwrap();
    for files in [FileAccess::ReadOnly, FileAccess::WorkspaceWrite, FileAccess::Full] {
        world.files = files;
        world.prepare().await;
        // What nobody guards may change meanwhile.
        world.write("file");
        assert_eq!(world.run("cat file").await, ("ours".into(), true), "{files:?}");
    }
}

#[tokio::test]
async fn what_was_made_since_is_guarded_or_hidden() {
    let world = World::new().await;
    world.prepare().await;
    world.write(".envrc");
    assert_eq!(world.run_afresh("echo x > .envrc; cat .envrc").await, "ours");
    world.prepare().await;
    ["HEAD", "config", "hooks/pre-commit"].iter().for_each(|name| world.write(&format!(".git/{name}")));
    assert_eq!(world.run_afresh(WRITE_CONFIG).await, "oursours");
    world.prepare().await;
    let own = world.top.join("own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("log"), "ours").unwrap();
    assert_eq!(world.run_afresh(&format!("cat {} || echo none", own.join("log").display())).await, "none");
    world.prepare().await;
    fs::write(world.top.join("home/.cargo/credentials.toml"), "secret").unwrap();
    assert_eq!(world.run_afresh("cat ~/.cargo/credentials.toml").await, "");
    world.prepare().await;
    fs::write(world.top.join("home/.gitconfig"), "mine").unwrap();
    assert_eq!(world.run_afresh("cat ~/.gitconfig").await, "mine");
}

#[tokio::test]
async fn what_was_replaced_since_is_guarded_even_by_the_same_file() {
    let world = World::new().await;
    ["HEAD", "config", "hooks/pre-commit"].iter().for_each(|name| world.write(&format!(".git/{name}")));
    world.prepare().await;
    world.write("new");
    fs::rename(world.work("new"), world.work(".git/config")).unwrap();
    assert_eq!(world.run_afresh(WRITE_CONFIG).await, "oursours");
    world.prepare().await;
    // The mount over it goes with its name, and the file comes back without one.
    fs::hard_link(world.work(".git/config"), world.work("kept")).unwrap();
    fs::remove_file(world.work(".git/config")).unwrap();
    fs::rename(world.work("kept"), world.work(".git/config")).unwrap();
    assert_eq!(world.run_afresh(WRITE_CONFIG).await, "oursours");
    world.prepare().await;
    fs::rename(world.work(".git/hooks"), world.work("kept")).unwrap();
    world.write(".git/hooks/pre-commit");
    assert_eq!(world.run_afresh(WRITE_CONFIG).await, "oursours");
}

#[tokio::test]
async fn another_workspace_by_the_same_name_is_the_one_that_is_seen() {
    let world = World::new().await;
    world.write("file");
    world.prepare().await;
    fs::rename(world.top.join("work"), world.top.join("old")).unwrap();
    world.write("other");
    assert_eq!(world.run_afresh("ls").await, "other");
}

#[tokio::test]
async fn a_socket_that_was_made_since_is_hidden() {
    let world = World::new().await;
    world.prepare().await;
    let path = world.top.join("socket");
    let odd = UnixListener::bind(world.top.join(OsStr::from_bytes(b"no text \xff"))).unwrap();
    let _listener = UnixListener::bind(&path).unwrap();
    // Where the tests lie in `/tmp`, no cage sees it anyway.
    let seen = format!("test -S {} && echo seen || echo hidden", path.display());
    assert_eq!(world.run(&seen).await.0, "hidden");
    world.prepare().await;
    assert_eq!(world.run(&seen).await, ("hidden".into(), true));
    drop(odd);
}

#[tokio::test]
async fn other_bounds_get_a_cage_of_their_own() {
    let mut world = World::new().await;
    world.write("file");
    world.prepare().await;
    world.files = FileAccess::ReadOnly;
    assert_eq!(world.run_afresh("echo x > file; cat file").await, "ours");
    world.prepare().await;
    world.files = FileAccess::WorkspaceWrite;
    assert_eq!(world.run_afresh("echo x > file; cat file").await, "x");
}

#[test]
fn a_cage_that_waits_gives_up_when_mounts_change() {
    let _alone = ALONE.blocking_lock();
    // In mounts of its own, which anybody may have.
    let mut inner = Command::new("unshare");
    inner.args(["--map-root-user", "--mount"]).arg(std::env::current_exe().unwrap());
    let told = inner.args(["--exact", "--ignored", "in_mounts_of_its_own"]).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
    assert!(String::from_utf8_lossy(&told.stdout).contains("1 passed"));
}

#[tokio::test]
#[ignore = "started by the test before, in mounts of its own"]
async fn in_mounts_of_its_own() {
    let world = World::new().await;
    world.write("folder/below");
    let run = |words: &[&str]| {
        assert!(Command::new(words[0]).args(&words[1..]).arg(world.work("folder")).status().unwrap().success());
    };
    world.prepare().await;
    run(&["mount", "-t", "tmpfs", "none"]);
    eventually("the end of the cage", || grandchildren().is_empty()).await;
    world.write("folder/above");
    assert_eq!(world.run_afresh("ls folder").await, "above");
    world.prepare().await;
    run(&["umount"]);
    eventually("the end of the cage", || grandchildren().is_empty()).await;
    assert_eq!(world.run_afresh("ls folder").await, "below");
}
