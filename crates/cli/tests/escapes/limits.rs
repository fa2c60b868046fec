//! A command that wants too much gets no more, and its neighbours keep theirs.

use crate::place::{Done, PROBE, Place, User, finish, wait, wait_until};
use crate::probe;
use crate::table::{Escape, all_fail_inside};
use rustix::process::geteuid;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const LIMITS: &[Escape] = &[
    Escape::told("a file of four terabytes is made", &["huge-file", "{work}/huge"]),
    Escape::told("processor time without an end", &["unlimited", "processor time"]),
    Escape::told("files of any size", &["unlimited", "file size"]),
];

/// More than any build starts at once.
const CHILDREN: &str = "6000";

#[test]
fn files_and_processor_time_have_an_end() {
    all_fail_inside(&[], LIMITS);
}

/// A probe with so many children as it could get, which it holds.
fn bomb(mut command: Command) -> (Child, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(" children") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "{:#?}", wait(child));
    }
    (child, line)
}

fn release(mut child: Child) -> Done {
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    wait(child)
}

#[test]
fn a_command_that_forks_for_ever_is_held_and_its_neighbours_are_not() {
    for user in User::all() {
        let place = Place::new(*user);
        let words = [&PROBE[..], &["forks", CHILDREN]].concat();
        let (child, _) = bomb(place.outside(&words));
        let done = release(child);
        assert_eq!(done.code, probe::DONE, "{user:?}, outside: {done:#?}");

        let (child, held) = bomb(place.inside(&[], &words));
        // While the bomb holds all that it could get, the user's other commands start processes as before, both ways.
        let script = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1 & done; kill $(jobs -p); echo well";
        let outside = finish(place.outside(&["/bin/bash", "-c", script]));
        let inside = finish(place.inside(&[], &["/bin/bash", "-c", script]));
        let done = release(child);
        assert_eq!(done.code, probe::PREVENTED, "{user:?}, inside: {held}{done:#?}");
        assert_eq!((outside.code, outside.out.as_str()), (0, "well\n"), "{user:?}: {outside:#?}");
        assert_eq!((inside.code, inside.out.as_str()), (0, "well\n"), "{user:?}: {inside:#?}");
    }
}

/// A place whose user has only so much memory, in MiB, as in a container. Only root can make one; an ordinary user has
/// the machine's.
fn with_memory(user: User, megabytes: u64) -> (Place, u64) {
    let mut place = Place::new(user);
    if !geteuid().is_root() {
        let info = rustix::system::sysinfo();
        return (place, (info.totalram as u64 * u64::from(info.mem_unit)) >> 20);
    }
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    let path = |name: &str| own.lines().find_map(|line| line.split_once(&format!(":{name}:/")).map(|(_, path)| path));
    let (base, limit) = match path("memory") {
        Some(path) => (format!("/sys/fs/cgroup/memory/{path}"), "memory.limit_in_bytes"),
        None => (format!("/sys/fs/cgroup/{}", path("").unwrap()), "memory.max"),
    };
    let folder = PathBuf::from(base).join(place.root.file_name().unwrap());
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(limit), (megabytes << 20).to_string()).unwrap();
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", folder.display());
    place.first = ["/bin/sh", "-c", &script, "sh"].map(String::from).into();
    place.keep(Folder(folder));
    (place, megabytes)
}

/// A control group that goes when this is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // Its last process may still be on its way out.
        wait_until("the control group is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_command_that_takes_all_memory_is_ended_and_nothing_else_is() {
    for user in User::all() {
        let (place, all) = with_memory(*user, 512);
        // A sandbox has half of what its user has.
        let most = (all / 2 + 64).to_string();
        let words = [&PROBE[..], &["memory-of", &most]].concat();
        let done = finish(place.outside(&words));
        assert_eq!(done.code, probe::DONE, "{user:?}, outside: {done:#?}");
        let script = "\"$@\"; echo ended with $?";
        let done = finish(place.inside(&[], &[&["/bin/sh", "-c", script, "sh"], &words[..]].concat()));
        // Refused or killed; the shell beside it goes on.
        let ended = [probe::PREVENTED, 128 + 9].iter().any(|code| done.out.ends_with(&format!("ended with {code}\n")));
        assert!(done.code == 0 && ended, "{user:?}, inside: {done:#?}");
    }
}
