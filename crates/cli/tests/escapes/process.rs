//! Other processes, what they share, and what a process may become.

use crate::host::{Remove, has_a_victim, is_alive};
use crate::place::{PROBE, Place, SECRET, SECRET_NAMES, finish};
use crate::table::{Escape, OPEN, Way, all_fail, all_fail_inside};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;

pub const OTHERS: &[Escape] = &[
    Escape::seen("a process of the host is killed", &["kill", "{victim}"], victim_is_dead).after(has_a_victim),
    Escape::seen("a process of the host is killed by a descriptor", &["kill-by-fd", "{victim}"], victim_is_dead)
        .after(has_a_victim),
    Escape::seen("the group that the command was born into is signalled", &["kill-group"], |place| {
        let dead = is_dead(fs::read_to_string(place.work().join("neighbour")).unwrap().trim().parse().unwrap());
        place.sh("kill $(cat neighbour) 2> /dev/null || true");
        dead
    })
    .after(has_a_neighbour),
    Escape::seen("a process of the host is signalled by a file", &["owner-of-signal", "{victim}"], victim_is_dead)
        .after(has_a_victim),
    Escape::told("a process of the host is traced", &["ptrace", "{victim}"]).after(has_a_victim),
    Escape::told("the memory of a process of the host is read", &["memory", "{victim}"]).after(has_a_victim),
    Escape::told("the same by a call", &["memory-by-call", "{victim}"]).after(has_a_victim),
    Escape::told(
        "the variables of a process of the host are read",
        &["read", "/proc/{victim}/environ", "the word of the victim"],
    )
    .after(has_a_victim),
    Escape::told("a file is read by another process's root", &["read", "/proc/{victim}/root{outside}/kept", "kept"])
        .after(has_a_victim),
    Escape::told("a file is read by another process's folder", &["read", "/proc/{victim}/cwd/kept", "kept"])
        .after(has_a_victim),
    Escape::told("another process's open file is read", &["read", "/proc/{victim}/fd/7", "the word of the victim"])
        .after(has_a_victim),
    Escape::told("another process's open file is taken", &["take-file", "{victim}", "7", "the word of the victim"])
        .after(has_a_victim),
    Escape::told("any process's descriptor above the three is taken", &["take-any", "{victim}"]).after(has_a_victim),
    Escape::told("a process of the host gets a limit", &["limit", "{victim}"]).after(has_a_victim),
    Escape::told("a process of the host gets less time", &["nice", "{victim}"]).after(has_a_victim),
    Escape::told("a process of the host gets another processor", &["processor", "{victim}"]).after(has_a_victim),
];

pub const SECRETS: &[Escape] = &[
    Escape::told("a secret variable of a model's provider", &["variable", SECRET_NAMES[0], SECRET[0], SECRET[1]]),
    Escape::told("a secret variable that is a token", &["variable", SECRET_NAMES[1], SECRET[0], SECRET[1]]),
    Escape::told("a secret variable of a cloud", &["variable", SECRET_NAMES[2], SECRET[0], SECRET[1]]),
    Escape::told("a secret variable that is a password", &["variable", SECRET_NAMES[3], SECRET[0], SECRET[1]]),
    Escape::told("a variable of Mainpath's own", &["variable", SECRET_NAMES[4], SECRET[0], SECRET[1]]),
    Escape::told("a secret variable with a short value", &["variable", "SHORT_TOKEN", "x1", "y2"])
        .after(|place| place.env.push(("SHORT_TOKEN".into(), "x1y2".into()))),
    Escape::told("a secret variable with a short name", &["variable", "TOKEN", SECRET[0], SECRET[1]])
        .after(|place| place.env.push(("TOKEN".into(), SECRET.concat()))),
    Escape::told("a secret in the variables of any process", &["environments", "{victim}", SECRET[0], SECRET[1]])
        .after(has_a_victim),
    Escape::told("a secret in the memory of any process", &["memories", "{victim}", SECRET[0], SECRET[1]])
        .after(has_a_victim),
];

pub const PRIVILEGES: &[Escape] = &[
    Escape::told("a capability is kept", &["capabilities"]).by_root(),
    Escape::told("new privileges can be had", &["new-privileges"]),
    Escape::told("root becomes somebody else", &["become", "12345"]).by_root(),
    Escape::told("a program of root makes root", &["setuid", "{outside}/id", "0"])
        .by_ordinary()
        .after_root(|place| setuid_program(place, 0)),
    Escape::told("a program of somebody else makes somebody else", &["setuid", "{outside}/id", "12345"])
        .after_root(|place| setuid_program(place, 12_345)),
    Escape::told("a program's file gives a capability", &["file-capability", "{outside}/cat"])
        .by_ordinary()
        .after_root(capable_program),
    Escape::changes("a descriptor of the owner is written", &["fd-write", "7"]).after(|place| {
        place.before = ["/bin/sh", "-c", "exec 7>> \"$0\"; exec \"$@\"", "{outside}/kept"].map(String::from).into();
    }),
    Escape::told("a descriptor of the owner is read", &["fd-read", "7", "a private key"]).after(|place| {
        place.before =
            ["/bin/sh", "-c", "exec 7< \"$0\"; exec \"$@\"", "{home}/.ssh/id_ed25519"].map(String::from).into();
    }),
    Escape::told("any descriptor above the three is open", &["any-fd"]).after(|place| {
        place.before = ["/bin/sh", "-c", "exec 9< /; exec \"$@\"", "sh"].map(String::from).into();
    }),
];

pub const SHARED: &[Escape] = &[
    Escape::seen("shared memory of the host is written", &["shm-write", "{key}"], |place| holds(place, "shm-holds"))
        .after(|place| shares(place, "shm")),
    Escape::seen("a semaphore of the host is set", &["sem-write", "{key}"], |place| holds(place, "sem-holds"))
        .after(|place| shares(place, "sem")),
    Escape::seen("a message is put into a queue of the host", &["mail-send", "{key}"], |place| {
        holds(place, "mail-holds")
    })
    .after(|place| shares(place, "mail")),
    Escape::seen("a file of the host in /dev/shm is written", &["write", "{there}"], there_changed)
        .after(|place| shares_in(place, "/dev/shm")),
    Escape::told("a file of the host in /dev/shm is read", &["read", "{there}", "of the host"])
        .after(|place| shares_in(place, "/dev/shm")),
    Escape::seen("a file of the host in /tmp is written", &["append", "{there}"], there_changed)
        .after(|place| shares_in(place, "/tmp")),
    Escape::told("a file of the host in /tmp is read", &["read", "{there}", "of the host"])
        .after(|place| shares_in(place, "/tmp")),
    Escape::seen("a file of the host in /var/tmp is written", &["append", "{there}"], there_changed)
        .after(|place| shares_in(place, "/var/tmp")),
];

fn victim_is_dead(place: &Place) -> bool {
    is_dead(place.victim)
}

/// Dead, dying, or about to be: one that was killed may take a moment to be gone.
fn is_dead(pid: u32) -> bool {
    let stopped = |status: String| {
        let pending = status.lines().filter(|line| line.starts_with("SigPnd") || line.starts_with("ShdPnd"));
        pending.map(|line| line.split_whitespace().nth(1)).any(|signals| signals != Some("0000000000000000"))
    };
    (0..20).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        !is_alive(pid) || fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(stopped)
    })
}

/// The victim is in the group of whoever starts the command. It ends by itself, after every test has.
fn has_a_neighbour(place: &mut Place) {
    let script = "sleep 130 > /dev/null 2>&1 & echo $! > neighbour; exec \"$@\"";
    place.before = ["/bin/sh", "-c", script, "sh"].map(String::from).into();
}

fn setuid_program(place: &mut Place, uid: u32) {
    let program = place.path("outside/id");
    // Not copied by this process: children of other threads would hold it open for writing, and so nobody could start it.
    place.sh("cp /usr/bin/id {outside}");
    chown(&program, Some(uid), None).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o4755)).unwrap();
}

fn capable_program(place: &mut Place) {
    let program = place.path("outside/cat");
    place.sh("cp /usr/bin/cat {outside}");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    // vfs_cap_data, version 2, effective: CAP_NET_RAW is permitted.
    let value: Vec<u8> = [0x0200_0001u32, 1 << 13, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    rustix::fs::setxattr(&program, "security.capability", &value, rustix::fs::XattrFlags::empty()).unwrap();
}

/// What is removed by the probe's words when this is dropped.
struct Shared(Option<std::process::Command>);

impl Drop for Shared {
    fn drop(&mut self) {
        finish(self.0.take().unwrap());
    }
}

/// `{key}`: something of the kind that the user shares with the user's other processes.
fn shares(place: &mut Place, kind: &str) {
    let key = format!("{}", 0x4d50_0000 + std::process::id() as i32 * 16 + fastrand::i32(0..16));
    place.name("key", &if kind == "mail" { format!("/escape-{key}") } else { key });
    let done = finish(place.outside(&[&PROBE[..], &[&format!("{kind}-make"), "{key}"]].concat()));
    assert_eq!(done.code, 0, "{done:#?}");
    place.keep(Shared(Some(place.outside(&[&PROBE[..], &[&format!("{kind}-remove"), "{key}"]].concat()))));
}

fn holds(place: &Place, word: &str) -> bool {
    finish(place.outside(&[&PROBE[..], &[word, "{key}"]].concat())).code == 0
}

fn there(place: &Place) -> PathBuf {
    place.fill("{there}").into()
}

fn shares_in(place: &mut Place, folder: &str) {
    place.name("there", &format!("{folder}/{}", place.root.file_name().unwrap().display()));
    place.sh("echo of the host > {there}");
    place.keep(Remove(there(place)));
}

fn there_changed(place: &Place) -> bool {
    fs::read_to_string(there(place)).unwrap() != "of the host\n"
}

#[test]
fn no_process_of_the_host_can_be_touched() {
    all_fail_inside(&[], OTHERS);
}

#[test]
fn no_secret_can_be_found() {
    all_fail_inside(&[], SECRETS);
}

#[test]
fn no_privilege_is_kept_or_gained() {
    all_fail_inside(&[], PRIVILEGES);
}

#[test]
fn nothing_is_shared_with_the_host() {
    all_fail_inside(&[], SHARED);
}

#[test]
fn in_full_mode_with_the_network_processes_and_secrets_are_as_much_out_of_reach() {
    all_fail(&[OTHERS, SECRETS, PRIVILEGES].map(|table| (Way::Sandbox(OPEN), table)));
}
