//! The sockets of the machine that have a path, as the kernel lists them in `/proc/PID/net/unix` (proc_net(5), unix(7)).
//!
//! Whoever can open the path can talk to the program behind it, also without a network. So those outside of the workspace are hidden from
//! commands, and those in the workspace from commands without a network.

use rustix::process::Pid;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// How many lines of the list are read at most.
const MOST_LINES: usize = 4096;

/// The absolute paths, as the process `outside` sees them. Not among them: sockets that were bound by a relative path, that were moved, or
/// that are made later. Outside of the hidden folders they can be reached; only Landlock of Linux 7.1 and newer holds them as well.
pub(crate) fn sockets(outside: Pid) -> Vec<PathBuf> {
    sockets_in(&std::fs::read(format!("/proc/{outside}/net/unix")).unwrap_or_default())
}

/// The absolute paths in that list. They are bytes: with one that is no text the others must be found as well.
pub(crate) fn sockets_in(list: &[u8]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = paths(list).filter(|path| path.is_absolute()).map(Path::to_path_buf).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// The file names of the machine's sockets that may lie in a workspace, also those that were bound by a relative path. The file of a
/// socket whose program has ended is not among them, so a command may replace it.
pub(crate) fn names_in(workspace: &Path) -> BTreeSet<OsString> {
    names(&std::fs::read("/proc/self/net/unix").unwrap_or_default(), workspace)
}

fn names(list: &[u8], workspace: &Path) -> BTreeSet<OsString> {
    let elsewhere = |path: &&Path| {
        let is_socket = path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
        path.is_absolute() && is_socket && path.canonicalize().is_ok_and(|real| !real.starts_with(workspace))
    };
    paths(list).filter(|path| !elsewhere(path)).filter_map(|path| path.file_name().map(OsStr::to_os_string)).collect()
}

/// The paths in a list, absolute and relative ones.
fn paths(list: &[u8]) -> impl Iterator<Item = &Path> {
    list.split(|byte| *byte == b'\n').skip(1).take(MOST_LINES).filter_map(path)
}

/// Address, references, protocol, flags, type, state and number, with blanks between, then one blank and the path, if there is one. A name
/// that is no path begins with `@`.
fn path(line: &[u8]) -> Option<&Path> {
    let mut rest = line;
    for _ in 0..7 {
        rest = rest.trim_ascii_start();
        rest = rest.get(rest.iter().position(|byte| *byte == b' ')?..)?;
    }
    let path = rest.get(1..).filter(|path| !path.is_empty() && !path.starts_with(b"@"))?;
    Some(Path::new(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    const LIST: &[u8] = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 12345 /srv/\xff\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 12345 @abstract\n\
        0000000000000000: 00000003 00000000 00000000 0001 03 12345\n\
        0000000000000000: 00000002 00000000 00010000 0001 01   345 run/a dev.sock\n\
        0000000000000000: 00000002 00000000 00010000 0001 01   345 /srv/a b\n";

    #[test]
    fn sockets_are_found_whatever_the_names_of_others_are() {
        assert_eq!(sockets_in(LIST), [OsStr::from_bytes(b"/srv/a b"), OsStr::from_bytes(b"/srv/\xff")].map(Path::new));
    }

    #[test]
    fn what_may_lie_in_a_workspace_is_all_but_what_is_known_to_lie_elsewhere() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [workspace, other] = folders.each_ref().map(|folder| folder.path().canonicalize().unwrap());
        std::os::unix::fs::symlink(&workspace, other.join("link")).unwrap();
        let _sockets =
            [workspace.join("a"), other.join("b"), workspace.join("c")].map(|at| UnixListener::bind(at).unwrap());
        let mut list = LIST.to_vec();
        for at in [workspace.join("a"), other.join("b"), other.join("link/c")] {
            list.extend(format!("0: 2 0 1 1 1 345 {}\n", at.display()).into_bytes());
        }
        let expected = [&b"\xff"[..], b"a", b"a b", b"a dev.sock", b"c"];
        let expected = expected.map(|name| OsStr::from_bytes(name).to_os_string());
        assert_eq!(names(&list, &workspace), BTreeSet::from(expected));
    }
}
