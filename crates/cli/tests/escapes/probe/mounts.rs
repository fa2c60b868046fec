//! Deeds that change what is mounted. Outside they are done in a mount namespace of the probe's own.

use super::{Deed, c, check};
use std::ffi::CStr;
use std::io;
use std::ptr::null;

pub fn deed(words: &[&str]) -> Option<Deed> {
    let [verb, rest @ ..] = words else { return None };
    let deed: fn(&CStr) -> Deed = match *verb {
        "mount-tmpfs" => |folder| mount(c"none", folder, Some(c"tmpfs"), 0),
        "mount-debugfs" => |folder| mount(c"none", folder, Some(c"debugfs"), 0),
        "mount-bind" => |folder| mount(c"/", folder, None, libc::MS_BIND | libc::MS_REC),
        "remount" => remount,
        "umount" => umount,
        "pivot-root" => pivot_root,
        "fsopen" => new_file_system,
        "open-tree" => |folder| open_tree(folder).map(|_| true),
        "move-mount" => move_mount,
        "mount-setattr" => set_attributes,
        _ => return None,
    };
    // As an ordinary user that is possible only in a user namespace of one's own. Where neither can be had, the deed is
    // tried as it is.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) != 0 {
            libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS);
        }
        libc::mount(null(), c"/".as_ptr(), null(), libc::MS_REC | libc::MS_PRIVATE, null());
    }
    Some(deed(&c(rest[0])))
}

fn mount(from: &CStr, folder: &CStr, kind: Option<&CStr>, flags: libc::c_ulong) -> Deed {
    let kind = kind.map_or(null(), CStr::as_ptr);
    check(unsafe { libc::mount(from.as_ptr(), folder.as_ptr(), kind, flags, null()) }).map(|_| true)
}

fn bind_to_itself(folder: &CStr) -> Deed {
    mount(folder, folder, None, libc::MS_BIND)
}

/// Makes a mount writable, whatever it was.
fn remount(folder: &CStr) -> Deed {
    let _ = bind_to_itself(folder);
    mount(c"none", folder, None, libc::MS_BIND | libc::MS_REMOUNT)
}

/// Takes away what lies over a folder.
fn umount(folder: &CStr) -> Deed {
    let _ = bind_to_itself(folder);
    check(unsafe { libc::umount2(folder.as_ptr(), libc::MNT_DETACH) }).map(|_| true)
}

fn pivot_root(folder: &CStr) -> Deed {
    let _ = bind_to_itself(folder);
    check(unsafe { libc::chdir(folder.as_ptr()) })?;
    check(unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) }).map(|_| true)
}

fn new_file_system(_: &CStr) -> Deed {
    const CREATE: libc::c_int = 6;
    let fs = check(unsafe { libc::syscall(libc::SYS_fsopen, c"tmpfs".as_ptr(), 0) })?;
    check(unsafe { libc::syscall(libc::SYS_fsconfig, fs, CREATE, null::<u8>(), null::<u8>(), 0) })?;
    check(unsafe { libc::syscall(libc::SYS_fsmount, fs, 0, 0) }).map(|_| true)
}

fn open_tree(folder: &CStr) -> io::Result<i64> {
    const CLONE: libc::c_int = 1;
    const RECURSIVE: libc::c_int = 0x8000;
    check(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, folder.as_ptr(), CLONE | RECURSIVE) })
}

fn move_mount(folder: &CStr) -> Deed {
    const FROM_EMPTY: libc::c_int = 4;
    let tree = open_tree(folder)?;
    let at = libc::AT_FDCWD;
    check(unsafe { libc::syscall(libc::SYS_move_mount, tree, c"".as_ptr(), at, folder.as_ptr(), FROM_EMPTY) })
        .map(|_| true)
}

/// Takes the attribute "read only" away.
fn set_attributes(folder: &CStr) -> Deed {
    const READ_ONLY: u64 = 1;
    let _ = bind_to_itself(folder);
    // mount_attr: what is set, what is cleared, how it propagates, a user namespace.
    let change = [0, READ_ONLY, 0, 0];
    let at = libc::AT_FDCWD;
    check(unsafe { libc::syscall(libc::SYS_mount_setattr, at, folder.as_ptr(), 0, &change, size_of_val(&change)) })
        .map(|_| true)
}
