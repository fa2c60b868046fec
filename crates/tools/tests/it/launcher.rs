//! Nothing that a command starts outlives its call or its owner.

use crate::support::{World, eventually, pair, pid_in, runs, said};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts a child, a child that leaves the group, and a daemon that has left everything; each writes its number.
const FAMILY: &str = "
    sh -c 'echo $$ > child; exec sleep 1000' &
    setsid sh -c 'echo $$ > session; exec sleep 1000' &
    (setsid sh -c '(trap \"\" TERM HUP; sh -c \"echo \\$PPID > daemon\"; while :; do sleep 1000; done) > /dev/null 2>&1 < /dev/null &' &)
    while ! [ -s child -a -s session -a -s daemon ]; do sleep 0.01; done
    echo $$ > self
";
const MEMBERS: [&str; 4] = ["child", "session", "daemon", "self"];

fn family(folder: &Path) -> Option<Vec<u32>> {
    MEMBERS.iter().map(|name| pid_in(&folder.join(name))).collect()
}

#[tokio::test]
async fn a_cancelled_call_returns_when_all_it_started_is_dead_daemons_included() {
    let world = World::new();
    let ctx = world.context("bash");
    let args = json!({"command": format!("{FAMILY} sleep 1000")}).to_string();
    let (cancel, folder) = (ctx.cancel.clone(), world.path(""));
    let stopper = std::thread::spawn(move || {
        let pids = eventually("the family", || family(&folder));
        assert!(pids.iter().all(|pid| runs(*pid)));
        cancel.cancel();
        pids
    });
    let output = world.tools.run("bash", &args, &ctx).await;
    // At this very moment, without waiting.
    let pids = stopper.join().unwrap();
    assert_eq!(pids.iter().map(|pid| runs(*pid)).collect::<Vec<_>>(), [false; 4]);
    let words = "[interrupted; the command and everything that it had started were ended]";
    assert_eq!(said(&output), pair("interrupted", words));
}

#[tokio::test]
async fn a_command_that_ends_takes_its_daemons_with_it() {
    let world = World::new();
    let said = world.say("bash", json!({"command": FAMILY})).await;
    assert_eq!(said.0, "ok");
    assert!(said.1.ends_with("background processes that still ran after the command]"), "{}", said.1);
    assert_eq!(family(&world.path("")).unwrap().iter().map(|pid| runs(*pid)).collect::<Vec<_>>(), [false; 4]);
}

/// How many processes have the folder as their working directory; those that have ended have none.
fn working_in(folder: &Path) -> usize {
    let folder = folder.canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|entry| entry.path().join("cwd").read_link().is_ok_and(|cwd| cwd == folder)).count()
}

#[tokio::test]
async fn daemons_that_are_just_being_born_are_found_too() {
    let world = World::new();
    for _ in 0..8 {
        let command = "for i in 1 2 3 4 5 6 7 8; do (setsid sh -c '(sleep 1000 &) ; (sleep 1000 &)' &) & done";
        assert_eq!(world.say("bash", json!({ "command": command })).await.0, "ok");
        assert_eq!(working_in(&world.path("")), 0);
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
    let world = World::new();
    let ctx = world.context("bash");
    let args = json!({"command": format!("{FAMILY} sleep 1000")}).to_string();
    let tools = world.tools.clone();
    let call = tokio::spawn(async move { tools.run("bash", &args, &ctx).await });
    let folder = world.path("");
    let pids = tokio::task::spawn_blocking(move || eventually("the family", || family(&folder))).await.unwrap();
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    let dead = move || eventually("their end", || pids.iter().all(|pid| !runs(*pid)).then_some(()));
    tokio::task::spawn_blocking(dead).await.unwrap();
}

/// Not a test: the owner that the next test kills, in a process of its own.
#[tokio::test]
#[ignore = "run by another test as the owner that dies"]
async fn owner() {
    let Some(folder) = std::env::var_os("OWNER_FOLDER") else { return };
    let mut world = World::new();
    world.workspace = mainpath_tools::Workspace::new(folder, vec![]).unwrap().into();
    world.run("bash", json!({"command": format!("{FAMILY} sleep 1000")})).await;
}

#[test]
fn when_the_owner_is_killed_everything_dies_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "launcher::owner", "--ignored"])
        .env("OWNER_FOLDER", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pids = eventually("the family", || family(folder.path()));
    assert!(pids.iter().all(|pid| runs(*pid)));
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually("their end", || pids.iter().all(|pid| !runs(*pid)).then_some(()));
}

#[test]
fn an_owner_that_is_killed_at_any_moment_leaves_nothing() {
    // Killed after a growing number of steps of its start; whatever had begun by then is marked by its folder.
    let program = std::env::current_exe().unwrap();
    for delay in (0..20).map(|step| std::time::Duration::from_micros(step * 700)) {
        let folder = tempfile::tempdir().unwrap();
        let mut owner = Command::new(&program)
            .args(["--exact", "launcher::owner", "--ignored"])
            .env("OWNER_FOLDER", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(delay);
        owner.kill().unwrap();
        owner.wait().unwrap();
        eventually("the end of all that works in the folder", || (working_in(folder.path()) == 0).then_some(()));
    }
}

#[tokio::test]
async fn a_command_that_kills_its_launcher_ends_itself() {
    let world = World::new();
    let command = format!("{FAMILY} kill -9 $PPID; sleep 1000");
    let said = world.say("bash", json!({"command": command})).await;
    let words = "[the process that watches over the command was killed, so everything was ended]";
    assert_eq!(said, pair("launch", words));
    assert_eq!(family(&world.path("")).unwrap().iter().map(|pid| runs(*pid)).collect::<Vec<_>>(), [false; 4]);
}

#[tokio::test]
async fn a_command_that_stops_its_launcher_can_be_cancelled() {
    let world = World::new();
    let said = world.say("bash", json!({"command": "kill -STOP $PPID; sleep 1000", "timeout_s": 1})).await;
    assert_eq!(said.0, "timeout");
}
