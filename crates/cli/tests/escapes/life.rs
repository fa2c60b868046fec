//! Whatever happens to the owner, nothing of the command goes on.

use crate::host::Process;
use crate::place::{LONG, PROBE, Place, User, finish, wait_until};
use crate::table::OPEN;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Starts five that write for ever, in the ways in which a process gets away from its parents, and waits until each is
/// at it; then it goes on itself.
const WRITERS: &str = r#"
trap '' TERM HUP INT
write='trap "" TERM HUP INT; while :; do echo x >> $0; sleep 0.02; done'
sh -c "$write" child &
setsid sh -c "$write" session &
(setsid sh -c "(setsid sh -c '$write' daemon > /dev/null 2>&1 < /dev/null &) &" &)
bash -c 'set -m; sh -c "$0" group & disown' "$write"
sh -c 'echo x > stopped; kill -STOP $$; while :; do echo x >> stopped; sleep 0.02; done' &
while ! [ -s child -a -s session -a -s daemon -a -s group -a -s stopped ]; do sleep 0.02; done
echo x > all
while :; do sleep 0.02; done
"#;

const NAMES: [&str; 5] = ["child", "session", "daemon", "group", "stopped"];

/// A place whose processes can be told by a variable. What is left of them is ended with it.
fn marked_place(user: User) -> Place {
    let mut place = Place::new(user);
    place.env.push(("ESCAPE_MARK".into(), place.root.to_str().unwrap().into()));
    place.keep(Sweeper(place.root.clone()));
    place
}

struct Sweeper(PathBuf);

impl Drop for Sweeper {
    fn drop(&mut self) {
        loop {
            let left = with_mark(&self.0);
            left.iter().for_each(|pid| signal(*pid, Signal::KILL));
            if left.is_empty() {
                return;
            }
        }
    }
}

/// The processes of a place that run, wherever they have gone; the test's own eyes see into every namespace.
fn marked(place: &Place) -> Vec<i32> {
    with_mark(&place.root)
}

fn with_mark(mark: &Path) -> Vec<i32> {
    let mark = format!("ESCAPE_MARK={}", mark.display());
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let ours = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    pids.filter(ours).collect()
}

fn signal(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

fn sizes(place: &Place) -> Vec<u64> {
    NAMES.iter().map(|name| fs::metadata(place.work().join(name)).map_or(0, |it| it.len())).collect()
}

fn start_writers(place: &Place, flags: Option<&[&str]>) -> Process {
    let words = ["/bin/sh", "-c", WRITERS];
    let process = Process::start(match flags {
        None => place.outside(&words),
        Some(flags) => place.inside(flags, &words),
    });
    wait_until("all write", || place.work().join("all").exists());
    process
}

#[test]
fn outside_those_that_write_outlive_their_owner() {
    for user in User::all() {
        let place = marked_place(*user);
        let owner = start_writers(&place, None);
        drop(owner);
        for pid in marked(&place) {
            signal(pid, Signal::CONT);
        }
        let then = sizes(&place);
        wait_until("all of them write again", || sizes(&place).iter().zip(&then).all(|(now, then)| now > then));
    }
}

/// That nothing of the place runs any more, and that therefore nothing writes.
fn all_dead(place: &Place, what: &str) {
    wait_until(what, || {
        let then = sizes(place);
        // A process that is just becoming another program has no environment: the second look finds it.
        (0..2).all(|_| marked(place).is_empty()) && sizes(place) == then
    });
}

#[test]
fn after_the_kill_of_the_owner_nothing_writes_any_more() {
    for (user, flags) in User::all().iter().flat_map(|user| FLAGS.map(|flags| (*user, flags))) {
        let place = marked_place(user);
        let mut owner = start_writers(&place, Some(flags));
        assert!(marked(&place).len() > NAMES.len());
        owner.0.kill().unwrap();
        owner.0.wait().unwrap();
        all_dead(&place, "the end of all after a kill");
    }
}

const FLAGS: [&[&str]; 2] = [&[], OPEN];

#[test]
fn after_any_signal_to_the_owner_nothing_writes_any_more() {
    for (user, number) in
        User::all().iter().flat_map(|user| [Signal::TERM, Signal::INT, Signal::HUP].map(|it| (*user, it)))
    {
        let place = marked_place(user);
        let mut owner = start_writers(&place, Some(&[]));
        signal(owner.id() as i32, number);
        all_dead(&place, "the end of all after a signal");
        owner.0.wait().unwrap();
    }
}

#[test]
fn when_any_process_between_is_killed_everything_dies() {
    for user in User::all() {
        let mut nth = 0;
        loop {
            let place = marked_place(*user);
            let owner = start_writers(&place, Some(&[]));
            // Those that are in the host's own PID namespace: the owner and whatever stands between.
            let between = |pid: &i32| {
                let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                status.lines().any(|line| line.starts_with("NSpid:") && line.split_whitespace().count() == 2)
            };
            let all: Vec<i32> = marked(&place).into_iter().filter(between).collect();
            let Some(pid) = all.get(nth) else { break };
            signal(*pid, Signal::KILL);
            all_dead(&place, &format!("the end of all after the end of process {nth} of {}", all.len()));
            drop(owner);
            nth += 1;
        }
        assert!(nth > 0);
    }
}

#[test]
fn a_command_that_holds_the_first_process_dies_with_the_owner_as_well() {
    for user in User::all() {
        let place = marked_place(*user);
        // The probe traces the first process and stops it, if it may, and stays.
        let mut owner = Process::start(place.inside(&[], &[&PROBE[..], &["hold", "1", "{work}/all"]].concat()));
        wait_until("the probe is at it", || place.work().join("all").exists());
        owner.0.kill().unwrap();
        owner.0.wait().unwrap();
        all_dead(&place, "the end of all after a kill");
    }
}

#[test]
fn an_owner_that_is_killed_at_any_moment_of_its_start_leaves_nothing() {
    for user in User::all() {
        let mut delay = Duration::ZERO;
        loop {
            let place = marked_place(*user);
            let owner = Process::start(place.inside(&[], &["/bin/sh", "-c", WRITERS]));
            std::thread::sleep(delay);
            drop(owner);
            all_dead(&place, &format!("the end of all after a kill at {delay:?}"));
            if place.work().join("all").exists() {
                break;
            }
            // In small steps first; where the start takes long, in steps that grow with it.
            delay += (delay / 10).max(Duration::from_millis(2));
            assert!(delay < LONG, "the command never started its work");
        }
    }
}

#[test]
fn a_first_process_that_comes_to_its_work_late_finds_its_owner_dead() {
    for user in User::all() {
        for _ in 0..20 {
            let place = marked_place(*user);
            let owner = Process::start(place.inside(&[], &["/bin/sh", "-c", WRITERS]));
            let children = format!("/proc/{0}/task/{0}/children", owner.id());
            // Stopped as soon as it is born, perhaps before it could ask for a signal at its owner's death.
            let child = loop {
                let born = fs::read_to_string(&children).unwrap_or_default();
                if let Some(child) = born.split_whitespace().next() {
                    break child.parse().unwrap();
                }
            };
            signal(child, Signal::STOP);
            drop(owner);
            signal(child, Signal::CONT);
            all_dead(&place, "the end of all after a kill at the first birth");
        }
    }
}

#[test]
fn what_runs_on_in_the_background_ends_with_the_command() {
    for user in User::all() {
        let place = marked_place(*user);
        let script = WRITERS.replace("while :; do sleep 0.02; done\n", "exit 3\n");
        let done = finish(place.inside(&[], &["/bin/sh", "-c", &script]));
        assert_eq!(done.code, 3, "{user:?}: {done:#?}");
        // At this very moment, without waiting.
        assert_eq!(marked(&place), Vec::<i32>::new(), "{user:?}");
    }
}
