//! Nothing that a command starts outlives its call or its owner, in a cage and without one.

use crate::support::{FAMILY, LONG, World, eventually, pair, said, working_in};
use mainpath_sandbox::Cage;
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether the whole family is in its place.
fn is_there(folder: &Path) -> Option<()> {
    let written = |name: &str| std::fs::read_to_string(folder.join(name)).is_ok_and(|text| text.ends_with('\n'));
    ["child", "session", "daemon", "self"].into_iter().all(written).then(|| assert!(working_in(folder) >= 4))
}

#[tokio::test]
async fn a_cancelled_call_returns_when_all_it_started_is_dead_daemons_included() {
    for world in World::both() {
        let ctx = world.context("bash");
        let args = json!({"command": format!("{FAMILY} sleep 1000")}).to_string();
        let (cancel, folder) = (ctx.cancel.clone(), world.path(""));
        let stopper = std::thread::spawn(move || {
            eventually("the family", || is_there(&folder));
            cancel.cancel();
        });
        let output = world.tools.run("bash", &args, &ctx).await;
        // At this very moment, without waiting.
        assert_eq!(working_in(&world.path("")), 0);
        stopper.join().unwrap();
        let words = "[interrupted; the command and everything that it had started were ended]";
        assert_eq!(said(&output), pair("interrupted", words));
    }
}

#[tokio::test]
async fn a_command_that_ends_takes_its_daemons_with_it() {
    for world in World::both() {
        let said = world.say("bash", json!({"command": FAMILY})).await;
        assert_eq!(working_in(&world.path("")), 0);
        assert_eq!(said.0, "ok");
        assert!(said.1.ends_with("background processes that still ran after the command]"), "{}", said.1);
    }
}

#[tokio::test]
async fn daemons_that_are_just_being_born_are_found_too() {
    for world in World::both() {
        for _ in 0..8 {
            let command = "for i in 1 2 3 4 5 6 7 8; do (setsid sh -c '(sleep 1000 &) ; (sleep 1000 &)' &) & done";
            assert_eq!(world.say("bash", json!({ "command": command })).await.0, "ok");
            assert_eq!(working_in(&world.path("")), 0);
        }
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_starts_starts_nothing() {
    let world = World::new();
    let ctx = world.context("bash");
    ctx.cancel.cancel();
    let output = world.tools.run("bash", r#"{"command":"touch begun"}"#, &ctx).await;
    assert_eq!(said(&output), pair("interrupted", "The call was interrupted."));
    assert_eq!(world.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_what_it_started() {
    for world in World::both() {
        let ctx = world.context("bash");
        let args = json!({"command": format!("{FAMILY} sleep 1000")}).to_string();
        let tools = world.tools.clone();
        let call = tokio::spawn(async move { tools.run("bash", &args, &ctx).await });
        let folder = world.path("");
        let there = move || eventually("the family", || is_there(&folder));
        tokio::task::spawn_blocking(there).await.unwrap();
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        let folder = world.path("");
        let dead = move || eventually("their end", || (working_in(&folder) == 0).then_some(()));
        tokio::task::spawn_blocking(dead).await.unwrap();
    }
}

/// Not a test: the owner that the next tests kill, in a process of its own.
#[tokio::test]
#[ignore = "run by another test as the owner that dies"]
async fn owner() {
    let Some(folder) = std::env::var_os("OWNER_FOLDER") else { return };
    let mut world = World::new();
    world.workspace = mainpath_tools::Workspace::new(folder, vec![]).unwrap().into();
    world.cage = std::env::var_os("OWNER_OPEN").map(|_| Cage::open());
    world.run("bash", json!({"command": format!("{FAMILY} sleep 1000")})).await;
}

fn start_owner(folder: &Path, open: bool) -> std::process::Child {
    let mut owner = Command::new(std::env::current_exe().unwrap());
    // What it makes for itself it cannot remove: that goes with the folder.
    owner.args(["--exact", "launcher::owner", "--ignored"]).env("OWNER_FOLDER", folder).env("TMPDIR", folder);
    if open {
        owner.env("OWNER_OPEN", "yes");
    }
    owner.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn when_the_owner_is_killed_everything_dies_with_it() {
    for open in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut owner = start_owner(folder.path(), open);
        eventually("the family", || is_there(folder.path()));
        owner.kill().unwrap();
        owner.wait().unwrap();
        eventually("their end", || (working_in(folder.path()) == 0).then_some(()));
    }
}

#[test]
fn an_owner_that_is_killed_at_any_moment_leaves_nothing() {
    // Killed after a growing number of steps of its start; whatever had begun by then is marked by its folder.
    for open in [false, true] {
        let mut delay = std::time::Duration::from_micros(500);
        // Until it was killed at its work at last, however slow the machine is.
        loop {
            let folder = tempfile::tempdir().unwrap();
            let mut owner = start_owner(folder.path(), open);
            std::thread::sleep(delay);
            let has_begun = folder.path().join("self").exists();
            owner.kill().unwrap();
            owner.wait().unwrap();
            let gone = || (working_in(folder.path()) == 0).then_some(());
            eventually("the end of all that works in the folder", gone);
            if has_begun {
                break;
            }
            delay = delay * 5 / 4;
            assert!(delay < LONG, "the owner never came to its work");
        }
    }
}

#[tokio::test]
async fn a_command_that_kills_its_launcher_ends_itself() {
    let [_, world] = World::both();
    let command = format!("{FAMILY} kill -9 $PPID; sleep 1000");
    let said = world.say("bash", json!({"command": command})).await;
    assert_eq!(working_in(&world.path("")), 0);
    let words = "[the process that watches over the command was killed, so everything was ended]";
    assert_eq!(said, pair("launch", words));
}

#[tokio::test]
async fn a_command_in_a_cage_cannot_signal_its_launcher() {
    let said = World::new().say("bash", json!({"command": "kill -9 $PPID; kill -STOP $PPID; echo $PPID"})).await;
    assert_eq!(said, pair("ok", "1\n"));
}

#[tokio::test]
async fn a_command_that_stops_its_launcher_can_be_cancelled() {
    let [_, world] = World::both();
    let said = world.say("bash", json!({"command": "kill -STOP $PPID; sleep 1000", "timeout_s": 1})).await;
    assert_eq!(said.0, "timeout");
}

/// The child of this process from which those that work in the folder come.
fn launcher_of(folder: &Path) -> String {
    let parent = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().to_string()
    };
    let works = |entry: &std::fs::DirEntry| entry.path().join("cwd").read_link().is_ok_and(|cwd| cwd == folder);
    let member = std::fs::read_dir("/proc").unwrap().flatten().find(works).unwrap();
    let mut pid = member.file_name().into_string().unwrap();
    while parent(&pid) != std::process::id().to_string() {
        pid = parent(&pid);
    }
    pid
}

#[tokio::test]
async fn a_cage_whose_launcher_is_killed_from_outside_dies_with_it() {
    let world = World::new();
    let folder = world.path("").canonicalize().unwrap();
    let killer = std::thread::spawn(move || {
        eventually("the family", || is_there(&folder));
        assert!(Command::new("kill").args(["-9", &launcher_of(&folder)]).status().unwrap().success());
    });
    let said = world.say("bash", json!({"command": format!("{FAMILY} sleep 1000")})).await;
    assert_eq!(working_in(&world.path("")), 0);
    killer.join().unwrap();
    let words = "[the process that watches over the command was killed, so everything was ended]";
    assert_eq!(said, pair("launch", words));
}
