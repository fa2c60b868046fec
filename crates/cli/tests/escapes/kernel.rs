//! What of the kernel must be out of reach.

use crate::host::{has_a_victim, terminal};
use crate::place::{PROBE, Place};
use crate::table::{Escape, OPEN, Way, all_fail, all_fail_inside};
use std::fs::File;

pub const CALLS: &[Escape] = &[
    Escape::told("io_uring is set up", &["ring"]),
    Escape::changes("a file outside is written by io_uring", &["ring-write", "{outside}/kept"]),
    Escape::told("userfaultfd is opened", &["userfaultfd"]),
    Escape::told("perf events are opened", &["perf"]),
    Escape::told("bpf is used", &["bpf"]).by_root(),
    Escape::told("a key is added", &["add-key"]),
    Escape::told("the session's keyring is left", &["join-keyring"]),
    Escape::told("a key of the session is read", &["read-key"])
        .after(|place| place.before = PROBE.iter().chain(&["with-key"]).map(ToString::to_string).collect()),
    // The other foreign entry of this architecture, x32, is in few kernels; the filter's own tests have it.
    #[cfg(target_arch = "x86_64")]
    Escape::told("a call of the 32-bit entry is answered", &["int80"]),
    Escape::told("the host's name is set", &["sethostname"]).by_root(),
    Escape::told("the clock is set", &["settime"]).by_root(),
    Escape::told("the kernel's log is read", &["kernel-log"]).by_root(),
    Escape::told("the machine's restart is configured", &["reboot"]).by_root(),
    Escape::told("accounting is switched", &["accounting"]).by_root(),
    Escape::told("fanotify watches", &["fanotify"]).by_root(),
    Escape::told("a process becomes one in real time", &["real-time"]).by_root(),
    Escape::told("a process goes before others", &["priority"]).by_root(),
    Escape::told("the root is changed and left", &["chroot", "{work}/folder"]).by_root(),
];

pub const NAMESPACES: &[Escape] = &[
    Escape::told("a user namespace by unshare", &["unshare", "user"]),
    Escape::told("a user namespace by clone", &["clone", "user"]),
    Escape::told("a user namespace by clone3", &["clone3", "user"]),
    Escape::told("a mount namespace", &["unshare", "mount"]).by_root(),
    Escape::told("a network namespace", &["unshare", "network"]).by_root(),
    Escape::told("an IPC namespace", &["unshare", "ipc"]).by_root(),
    Escape::told("a UTS namespace", &["unshare", "uts"]).by_root(),
    Escape::told("a PID namespace", &["unshare", "pid"]).by_root(),
    Escape::told("a cgroup namespace", &["unshare", "cgroup"]).by_root(),
    Escape::told("a mount namespace by clone3", &["clone3", "mount"]).by_root(),
    Escape::told("a namespace of the host is entered", &["setns", "{victim}", "uts"]).by_root().after(has_a_victim),
    Escape::told("a namespace of the host is entered by a process", &["setns-by-pid", "{victim}"])
        .by_root()
        .after(has_a_victim),
];

const MOUNTS: &[Escape] = &[
    Escape::told("a new file system is mounted", &["mount-tmpfs", "{work}/folder"]),
    Escape::told("debugfs is mounted", &["mount-debugfs", "{work}/folder"]).by_root(),
    Escape::told("the root is mounted elsewhere", &["mount-bind", "{work}/folder"]),
    Escape::told("a folder outside is mounted again, writable", &["remount", "{outside}"]),
    Escape::told("the root is mounted again, writable", &["remount", "/"]).by_root(),
    Escape::told("what hides the home is taken away", &["umount", "{home}"]),
    Escape::told("what hides Mainpath's folder is taken away", &["umount", "{data}"]),
    Escape::told("the root is replaced", &["pivot-root", "{work}"]),
    Escape::told("a file system is opened", &["fsopen", ""]),
    Escape::told("a tree of mounts is cloned", &["open-tree", "{work}"]),
    Escape::told("a mount is moved", &["move-mount", "{work}"]),
    Escape::told("a mount gets other attributes", &["mount-setattr", "{outside}"]),
];

const DEVICES: &[Escape] = &[
    Escape::told("a device is opened that no command needs", &["strange-devices"]),
    Escape::told("a disk is opened", &["open-only", "/dev/{disk}"]).by_root().after(has_a_disk),
    Escape::told("a node for a disk is made and opened", &["device-node", "{work}/disk", "{disk-number}"])
        .by_root()
        .after(has_a_disk),
    Escape::told("the kernel's log is read by its device", &["open-read", "/dev/kmsg"]).by_root(),
    Escape::told("the kernel's log is written", &["open-write", "/dev/kmsg"]).by_root(),
    Escape::told("something in /proc can be written", &["writable-beneath", "/proc"]).by_root(),
    Escape::told("something in /sys can be written", &["writable-beneath", "/sys"]).by_root(),
    Escape::seen("the program for core dumps is set", &["put", "/proc/sys/kernel/core_pattern", "escape"], |_| {
        let path = "/proc/sys/kernel/core_pattern";
        let done = std::fs::read_to_string(path).unwrap() == "escape\n";
        if done {
            std::fs::write(path, "core").unwrap();
        }
        done
    })
    .by_root(),
    Escape::told("the kernel's log is opened in /proc", &["open-only", "/proc/kmsg"]).by_root(),
    Escape::told("the process's group of control is left", &["leave-cgroup", "{cgroup}"]).by_root().after(cgroup),
    Escape::told("the program for empty groups of control is set", &["open-write", "{cgroup}/release_agent"])
        .by_root()
        .after(cgroup),
];

/// TIOCSTI, also with bits above the 32 that the kernel looks at.
const TERMINAL: &[Escape] = &[
    Escape::told("words are put into a person's mouth", &["terminal-input", "5412"]).after(has_a_terminal),
    Escape::told("the same by a request with high bits", &["terminal-input", "100005412"]).after(has_a_terminal),
    Escape::told("the console is asked", &["console"]).by_root().after(|place| {
        place.stdin = Some(File::options().read(true).write(true).open("/dev/tty1").unwrap());
    }),
];

/// `{disk}` and `{disk-number}`: a block device of this machine that root can open.
fn has_a_disk(place: &mut Place) {
    let disks = std::fs::read_dir("/sys/block").unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let disk = disks.filter(|name| File::open(format!("/dev/{name}")).is_ok()).min().expect("a block device");
    let number = std::fs::read_to_string(format!("/sys/block/{disk}/dev")).unwrap();
    place.name("disk-number", number.trim());
    place.name("disk", &disk);
}

/// `{cgroup}`: a hierarchy of control groups.
fn cgroup(place: &mut Place) {
    let folders = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
    place.name("cgroup", folders.iter().find(|it| std::fs::exists(format!("{it}/cgroup.procs")).unwrap()).unwrap());
}

fn has_a_terminal(place: &mut Place) {
    let master = terminal(place);
    place.keep(master);
}

#[test]
fn calls_that_no_command_needs_are_denied() {
    all_fail_inside(&[], CALLS);
}

#[test]
fn no_namespace_is_made_or_entered() {
    all_fail_inside(&[], NAMESPACES);
}

#[test]
fn nothing_is_mounted_or_taken_away() {
    all_fail_inside(&[], MOUNTS);
}

#[test]
fn devices_and_the_kernels_files_are_out_of_reach() {
    all_fail_inside(&[], DEVICES);
}

#[test]
fn nobody_is_made_to_type_anything() {
    all_fail_inside(&[], TERMINAL);
}

#[test]
fn in_full_mode_with_the_network_the_kernel_is_as_much_out_of_reach() {
    all_fail(&[CALLS, NAMESPACES, MOUNTS, DEVICES, TERMINAL].map(|table| (Way::Sandbox(OPEN), table)));
}
