//! Files outside the workspace, the home and Mainpath's own folders.

use crate::host::{Process, has_a_victim};
use crate::place::{PROBE, Place, User, finish, wait_until};
use crate::probe::handle_of;
use crate::table::{Escape, Way, all_fail, all_fail_inside};
use std::fs::File;
use std::os::unix::fs::MetadataExt;

pub const CHANGES: &[Escape] = &[
    Escape::changes("a file outside is written", &["write", "{outside}/kept"]),
    Escape::changes("a file outside is appended to", &["append", "{outside}/kept"]),
    Escape::changes("a file outside is made", &["create", "{outside}/new"]),
    Escape::changes("a file outside is truncated", &["truncate", "{outside}/kept"]),
    Escape::changes("the mode of a file outside is changed", &["chmod", "{outside}/kept"]),
    Escape::changes("the owner of a file outside is changed", &["chown", "{outside}/kept"]).by_root(),
    Escape::changes("the times of a file outside are changed", &["utime", "{outside}/kept"]),
    Escape::changes("a file outside gets an attribute", &["setxattr", "{outside}/kept"]),
    Escape::changes("a file outside gets a flag", &["set-flags", "{outside}/kept"]),
    Escape::changes("a file outside is renamed", &["rename", "{outside}/kept", "{outside}/gone"]),
    Escape::changes("a file outside is moved into the workspace", &["rename", "{outside}/kept", "{work}/kept"]),
    Escape::changes("a file of the workspace replaces one outside", &["rename", "{work}/own", "{outside}/kept"]),
    Escape::changes("two files change places", &["exchange", "{work}/own", "{outside}/kept"]),
    Escape::changes("a file outside gets a second name", &["link", "{outside}/kept", "{outside}/again"]),
    Escape::changes("a file outside gets a name in the workspace", &["link", "{outside}/kept", "{work}/again"]),
    Escape::changes("a file of the workspace gets a name outside", &["link", "{work}/own", "{outside}/again"]),
    Escape::changes("a file outside is written by a hard link", &["link-and-write", "{outside}/kept", "{work}/again"]),
    Escape::changes("a file outside is written by a symlink", &["symlink-and-write", "{outside}/kept", "{work}/way"]),
    Escape::changes(
        "a file outside is written by a symlink upwards",
        &["symlink-and-write", "../../outside/kept", "{work}/way"],
    ),
    Escape::changes("a file outside is written by a way up", &["write", "{work}/folder/../../../outside/kept"]),
    Escape::changes(
        "a file outside is written from an open folder",
        &["write-beneath", "{work}/folder", "../../../outside/kept"],
    ),
    Escape::changes("a file outside is written by /proc/self/root", &["write", "/proc/self/root{outside}/kept"]),
    Escape::changes(
        "a file outside is written by a process's root",
        &["write-by-any-root", "{victim}", "{outside}/kept"],
    )
    .after(has_a_victim),
    Escape::changes("a symlink is made outside", &["symlink", "kept", "{outside}/new"]),
    Escape::changes("a file outside is unlinked", &["unlink", "{outside}/kept"]),
    Escape::changes("a folder is made outside", &["mkdir", "{outside}/new"]),
    Escape::changes("a folder outside is removed", &["rmdir", "{outside}/folder"]),
    Escape::changes("a FIFO is made outside", &["mkfifo", "{outside}/new"]),
    Escape::changes("a socket is made outside", &["bind-socket", "{outside}/new"]),
    Escape::changes("a file without a name gets one outside", &["tmpfile", "{outside}", "new"]),
    Escape::changes("a file outside is mapped and written", &["mmap", "{outside}/kept"]),
    Escape::changes("bytes are copied into a file outside", &["copy-range", "{work}/own", "{outside}/kept"]),
    Escape::changes("a file outside gets more room", &["fallocate", "{outside}/kept"]),
    Escape::changes("a file outside is written by its number", &["by-handle", "{handle}"]).by_root().after(|place| {
        let handle = handle_of(&place.path("outside/kept"));
        place.name("handle", &handle);
    }),
    Escape::changes("a file of the home is written", &["append", "{home}/.bashrc"]),
    Escape::changes("a file of the home is made", &["create", "{home}/.profile"]),
    Escape::changes("the key file is replaced", &["rename", "{work}/own", "{home}/.ssh/id_ed25519"]),
    Escape::changes("the workspace itself is moved away", &["rename", "{work}", "{home}/away"]),
];

#[test]
fn nothing_outside_the_workspace_can_be_changed() {
    all_fail_inside(&[], CHANGES);
}

pub const READS: &[Escape] = &[
    Escape::told("a private key is read", &["read", "{home}/.ssh/id_ed25519", "a private key"]),
    Escape::told("the folder of the keys is listed", &["list", "{home}/.ssh", "id_ed25519"]),
    Escape::told("a credential is read", &["read", "{home}/.config/cloud", "a credential"]),
    Escape::told("the home is listed", &["list", "{home}", ".ssh"]),
    Escape::told("a file of another project is read", &["read", "{home}/other/notes", "of another project"])
        .after(|place| drop(place.sh("mkdir {home}/other && echo of another project > {home}/other/notes"))),
    Escape::told("a private key is read by a way up", &["read", "{work}/../.ssh/id_ed25519", "a private key"]),
    Escape::told("a private key is read by a symlink", &["read", "{work}/way/id_ed25519", "a private key"])
        .after(|place| drop(place.sh("ln -s {home}/.ssh {work}/way"))),
    Escape::told(
        "a private key is read by /proc/self/root",
        &["read", "/proc/self/root{home}/.ssh/id_ed25519", "a private key"],
    ),
    Escape::told(
        "a private key is read where the home is mounted once more",
        &["read", "{root}/alias/.ssh/id_ed25519", "a private key"],
    )
    .by_root()
    .after(alias),
    Escape::told("the passwords' file is read", &["read", "/etc/shadow", "root:"]).by_root(),
];

/// The home is at two paths, as where disks are mounted by one name and bound to another. Only root can make that.
fn alias(place: &mut Place) {
    place.sh("mkdir {root}/alias");
    let script = place.fill("mount --bind {home} {root}/alias && exec \"$@\"");
    place.first = ["unshare", "-m", "/bin/sh", "-c", &script, "sh"].map(String::from).into();
}

/// Ways to write past a file system that is read-only: things that are no files, and what is open already.
pub const PIPES: &[Escape] = &[
    Escape::seen("a FIFO outside is written", &["fifo", "{outside}/fifo"], FifoReader::got).after(FifoReader::start),
    Escape::seen(
        "a FIFO outside is opened both ways and written",
        &["fifo-both-ways", "{outside}/fifo"],
        FifoReader::got,
    )
    .after(FifoReader::start),
    Escape::changes("a file that is open for reading as standard input is written", &["write", "/proc/self/fd/0"])
        .after(|place| place.stdin = Some(File::open(place.path("outside/kept")).unwrap())),
    Escape::changes("a folder that is standard input leads outside", &["write", "/proc/self/fd/0/kept"])
        .after(|place| place.stdin = Some(File::open(place.path("outside")).unwrap())),
];

/// Reads a FIFO of the host and notes what came.
struct FifoReader;

impl FifoReader {
    fn start(place: &mut Place) {
        place.sh("mkfifo {outside}/fifo");
        let script = "exec 5<> {outside}/fifo; read -r line <&5; echo \"$line\" > {root}/data/came";
        let reader = Process::start(place.outside(&["/bin/bash", "-c", script]));
        let fd = format!("/proc/{}/fd/5", reader.id());
        wait_until("the FIFO is read", || std::fs::exists(&fd).unwrap());
        place.keep(reader);
    }

    fn got(place: &Place) -> bool {
        // The line that ends the wait comes last, whatever came before it.
        place.sh("echo > {outside}/fifo");
        wait_until("the FIFO was read", || {
            std::fs::read_to_string(place.path("data/came")).is_ok_and(|text| text.ends_with('\n'))
        });
        std::fs::read_to_string(place.path("data/came")).unwrap() == "changed\n"
    }
}

#[test]
fn nothing_of_the_home_can_be_read() {
    all_fail(&[(Way::Sandbox(&[]), READS), (Way::Sandbox(&["--mode", "read-only"]), READS)]);
}

#[test]
fn neither_pipes_nor_what_is_open_lead_outside() {
    all_fail_inside(&[], PIPES);
}

const IN_THE_WORKSPACE: &[Escape] = &[
    Escape::changes_workspace("a file of the workspace is written", &["write", "{work}/own"]),
    Escape::changes_workspace("a file of the workspace is made", &["create", "{work}/new"]),
    Escape::changes_workspace("the mode of a file of the workspace is changed", &["chmod", "{work}/own"]),
    Escape::changes_workspace("a file of the workspace is unlinked", &["unlink", "{work}/own"]),
    Escape::changes_workspace("a file of the workspace gets an attribute", &["setxattr", "{work}/own"]),
    Escape::changes_workspace("a folder of the workspace is removed", &["rmdir", "{work}/folder"]),
];

#[test]
fn in_read_only_mode_the_workspace_cannot_be_changed() {
    all_fail(&[IN_THE_WORKSPACE, CHANGES].map(|table| (Way::Sandbox(&["--mode", "read-only"]), table)));
}

/// As owner of a file, root among them, a command could leave a program that gives its rights to whoever starts it.
const PROGRAMS: &[Escape] = &[
    Escape::seen("a program with its owner's rights is made", &["does", "/bin/chmod", "u+s", "{work}/own"], is_setuid),
    Escape::seen("a program is born with its owner's rights", &["create-mode", "{work}/own2", "4755"], is_setuid),
];

fn is_setuid(place: &Place) -> bool {
    let mode = |name: &str| std::fs::metadata(place.work().join(name)).map_or(0, |it| it.mode());
    [mode("own"), mode("own2")].iter().any(|mode| mode & 0o4000 != 0)
}

#[test]
fn no_program_with_anybodys_rights_is_left_behind() {
    all_fail_inside(&[], PROGRAMS);
}

#[test]
fn in_workspace_write_mode_the_workspace_can_be_changed() {
    for (user, escape) in User::all().iter().flat_map(|user| IN_THE_WORKSPACE.iter().map(move |row| (*user, row))) {
        for flags in [&[][..], &["--mode", "workspace-write"]] {
            assert_eq!(escape.attempt(user, Way::Sandbox(flags)).map(|it| it.0), Ok(true), "{user:?}: {}", escape.name);
        }
    }
}

/// The workspace is the home itself.
const AT_HOME: &[Escape] = &[
    Escape::told("a private key is read", &["read", "{home}/.ssh/id_ed25519", "a private key"]).after(works_at_home),
    Escape::changes("a key of somebody else is let in", &["create", "{home}/.ssh/authorized_keys"])
        .after(works_at_home),
    Escape::changes("the start of the shell is changed", &["append", "{home}/.bashrc"]).after(works_at_home),
    Escape::changes("a hidden file that no list names is changed", &["append", "{home}/.config/cloud"])
        .after(works_at_home),
    Escape::changes("a file is made in a hidden folder", &["create", "{home}/.config/new"]).after(works_at_home),
];

fn works_at_home(place: &mut Place) {
    let home = place.fill("{home}");
    place.name("work", &home);
}

#[test]
fn a_home_that_is_the_workspace_keeps_its_keys_and_its_start_files() {
    all_fail_inside(&[], AT_HOME);
}

#[test]
fn keys_that_are_let_in_where_there_were_none_are_told_after_the_command() {
    for user in User::all() {
        let mut place = Place::new(*user);
        works_at_home(&mut place);
        place.sh("rm -r {home}/.ssh");
        let script = "echo begun; mkdir {home}/.ssh && echo key > {home}/.ssh/authorized_keys";
        let done = finish(place.inside(&[], &["/bin/sh", "-c", script]));
        assert_eq!(done.out, "begun\n", "{user:?}: {done:#?}");
        assert!(!place.path("home/.ssh").exists() || done.err.contains(".ssh"), "{user:?}: {done:#?}");
    }
}

#[test]
fn what_a_home_obeys_and_did_not_have_is_moved_out_after_the_command() {
    for user in User::all() {
        let mut place = Place::new(*user);
        works_at_home(&mut place);
        let made = [".xsessionrc", ".local/bin/ls", ".emacs.d/init.el", "bin/ls", ".vim/plugin/x.vim"];
        let each =
            made.map(|name| format!("mkdir -p {{home}}/$(dirname {name}) && echo x > {{home}}/{name}")).join("; ");
        let script = place.fill(&format!("{each}; echo x > {{home}}/plain; echo done"));
        let done = finish(place.inside(&[], &["/bin/sh", "-c", &script]));
        assert_eq!(done.out, "done\n", "{user:?}: {done:#?}");
        let left: Vec<&str> = made.into_iter().filter(|name| place.path("home").join(name).exists()).collect();
        assert!(left.is_empty() && place.path("home/plain").exists(), "{user:?}: {left:?} {done:#?}");
        assert!(done.err.contains("moved out of the workspace"), "{user:?}: {done:#?}");
    }
}

#[test]
fn in_full_mode_files_outside_can_be_changed() {
    for user in User::all() {
        let place = Place::new(*user);
        let done = finish(place.inside(&["--mode", "full"], &[&PROBE[..], &["write", "{outside}/kept"]].concat()));
        let text = std::fs::read_to_string(place.path("outside/kept")).unwrap();
        assert_eq!((done.code, text.as_str()), (0, "changed"), "{user:?}: {done:#?}");
    }
}
