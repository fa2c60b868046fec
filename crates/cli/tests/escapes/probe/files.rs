//! Deeds done to files.

use super::process::others;
use super::{Deed, c, check, number};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::ptr::null_mut;

pub fn deed(words: &[&str]) -> Option<Deed> {
    Some(match *words {
        ["write", path] => fs::write(path, "changed").and_then(|()| holds(path, "changed")),
        ["append", path] => append(path).and_then(|()| holds(path, "changed")),
        ["create", path] => File::create_new(path).map(|_| Path::new(path).exists()),
        ["create-mode", path, mode] => create_mode(path, u32::from_str_radix(mode, 8).unwrap()),
        ["read", path, text] => holds(path, text),
        ["list", path, name] => {
            fs::read_dir(path).map(|mut all| all.any(|entry| entry.is_ok_and(|it| it.file_name() == name)))
        }
        ["truncate", path] => truncate(path),
        ["chmod", path] => chmod(path),
        ["chown", path] => {
            chown(path, Some(12_345), Some(12_345)).map(|()| fs::metadata(path).unwrap().uid() == 12_345)
        }
        ["utime", path] => utime(path),
        ["setxattr", path] => setxattr(path),
        ["set-flags", path] => set_flags(path),
        ["rename", from, to] => fs::rename(from, to).map(|()| true),
        ["exchange", a, b] => exchange(a, b),
        ["link", from, to] => fs::hard_link(from, to).map(|()| true),
        ["link-and-write", from, to] => fs::hard_link(from, to).and_then(|()| fs::write(to, "changed")).map(|()| true),
        ["symlink-and-write", to, link] => symlink(to, link).and_then(|()| fs::write(link, "changed")).map(|()| true),
        ["symlink", to, link] => symlink(to, link).map(|()| true),
        ["unlink", path] => fs::remove_file(path).map(|()| true),
        ["mkdir", path] => fs::create_dir(path).map(|()| true),
        ["rmdir", path] => fs::remove_dir(path).map(|()| true),
        ["rm-rf", path] => fs::remove_dir_all(path).map(|()| true),
        ["mkfifo", path] => mknod(path, libc::S_IFIFO | 0o600, 0).map(|()| true),
        ["bind-socket", path] => std::os::unix::net::UnixListener::bind(path).map(|_| true),
        ["tmpfile", folder, name] => tmpfile(folder, name),
        ["mmap", path] => write_mapped(path),
        ["copy-range", from, to] => copy_range(from, to),
        ["fallocate", path] => fallocate(path),
        ["write-beneath", folder, name] => write_beneath(folder, name),
        ["fd-write", fd] => write_to(number(fd)),
        ["fd-read", fd, text] => read_from(number(fd), text),
        ["any-fd"] => Ok((3..1024).any(|fd| unsafe { libc::fcntl(fd, libc::F_GETFD) } != -1)),
        ["by-handle", handle] => by_handle(handle),
        ["fifo", path] => OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .and_then(|mut it| it.write_all(b"changed"))
            .map(|()| true),
        ["fifo-both-ways", path] => OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .and_then(|mut it| it.write_all(b"changed"))
            .map(|()| true),
        ["chroot", folder] => leave_root(folder),
        ["device-node", path, device] => device_node(path, device),
        ["open-write", path] => OpenOptions::new().write(true).open(path).map(|_| true),
        ["open-read", path] => File::open(path).and_then(|mut file| file.read(&mut [0; 8192])).map(|_| true),
        ["open-only", path] => File::open(path).map(|_| true),
        ["write-by-any-root", pid, path] => write_by_any_root(pid, path),
        ["write-running", path] => write_running(path),
        ["strange-devices"] => strange_devices(Path::new("/dev")),
        ["writable-beneath", folder] => writable(Path::new(folder)),
        ["put", path, value] => fs::write(path, value).and_then(|()| holds(path, value)),
        ["huge-file", path] => huge(path),
        _ => return None,
    })
}

fn holds(path: &str, text: &str) -> io::Result<bool> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).contains(text))
}

fn append(path: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(b"changed\n")
}

fn create_mode(path: &str, mode: u32) -> Deed {
    unsafe { libc::umask(0) };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    Ok(fs::metadata(path)?.mode() & 0o7777 == mode)
}

fn truncate(path: &str) -> Deed {
    check(unsafe { libc::truncate(c(path).as_ptr(), 1) })?;
    Ok(fs::metadata(path)?.len() == 1)
}

fn chmod(path: &str) -> Deed {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
    Ok(fs::metadata(path)?.mode() & 0o777 == 0o777)
}

fn utime(path: &str) -> Deed {
    let times = [libc::timeval { tv_sec: 1_000_000, tv_usec: 0 }; 2];
    check(unsafe { libc::utimes(c(path).as_ptr(), times.as_ptr()) })?;
    Ok(fs::metadata(path)?.mtime() == 1_000_000)
}

fn setxattr(path: &str) -> Deed {
    check(unsafe { libc::setxattr(c(path).as_ptr(), c"user.changed".as_ptr(), c"yes".as_ptr().cast(), 3, 0) })?;
    let mut value = [0u8; 8];
    let read = unsafe { libc::getxattr(c(path).as_ptr(), c"user.changed".as_ptr(), value.as_mut_ptr().cast(), 8) };
    Ok(read == 3 && &value[..3] == b"yes")
}

/// The flag "do not dump", which an owner may set through a descriptor that is open for reading only.
fn set_flags(path: &str) -> Deed {
    const NO_DUMP: libc::c_int = 0x40;
    let file = File::open(path)?;
    let mut flags: libc::c_int = 0;
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &mut flags) })?;
    flags |= NO_DUMP;
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_SETFLAGS, &flags) })?;
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &mut flags) })?;
    Ok(flags & NO_DUMP != 0)
}

fn exchange(a: &str, b: &str) -> Deed {
    let (a, b) = (c(a), c(b));
    check(unsafe { libc::renameat2(libc::AT_FDCWD, a.as_ptr(), libc::AT_FDCWD, b.as_ptr(), libc::RENAME_EXCHANGE) })?;
    Ok(true)
}

fn mknod(path: &str, mode: libc::mode_t, device: libc::dev_t) -> io::Result<()> {
    check(unsafe { libc::mknod(c(path).as_ptr(), mode, device) }).map(|_| ())
}

fn tmpfile(folder: &str, name: &str) -> Deed {
    let file = OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).mode(0o644).open(folder)?;
    let here = c(&format!("/proc/self/fd/{}", file.as_raw_fd()));
    let there = c(&format!("{folder}/{name}"));
    let at = libc::AT_FDCWD;
    check(unsafe { libc::linkat(at, here.as_ptr(), at, there.as_ptr(), libc::AT_SYMLINK_FOLLOW) })?;
    Ok(true)
}

fn write_mapped(path: &str) -> Deed {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let map =
        unsafe { libc::mmap(null_mut(), 1, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the file holds at least one byte, which was mapped just now.
    unsafe { map.cast::<u8>().write(b'!') };
    check(unsafe { libc::msync(map, 1, libc::MS_SYNC) })?;
    holds(path, "!")
}

fn copy_range(from: &str, to: &str) -> Deed {
    let (from, to_file) = (File::open(from)?, OpenOptions::new().write(true).open(to)?);
    check(unsafe {
        libc::copy_file_range(from.as_raw_fd(), null_mut(), to_file.as_raw_fd(), null_mut(), 4, 0) as i64
    })?;
    Ok(true)
}

fn fallocate(path: &str) -> Deed {
    let file = OpenOptions::new().write(true).open(path)?;
    check(unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, 8192) })?;
    Ok(true)
}

/// Goes up and down again from a folder that is open, instead of by a path from the root.
fn write_beneath(folder: &str, name: &str) -> Deed {
    let folder = File::open(folder)?;
    let name = c(name);
    let fd = check(unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), libc::O_WRONLY | libc::O_TRUNC) })?;
    // SAFETY: it was opened just now and nothing else has it.
    unsafe { File::from_raw_fd(fd as RawFd) }.write_all(b"changed")?;
    Ok(true)
}

fn write_to(fd: RawFd) -> Deed {
    check(unsafe { libc::write(fd, c"changed".as_ptr().cast(), 7) as i64 })?;
    Ok(true)
}

fn read_from(fd: RawFd, text: &str) -> Deed {
    let mut bytes = [0u8; 4096];
    let read = check(unsafe { libc::pread(fd, bytes.as_mut_ptr().cast(), bytes.len(), 0) as i64 })?;
    Ok(String::from_utf8_lossy(&bytes[..read as usize]).contains(text))
}

/// A file's handle as `name_to_handle_at` gives it, in hexadecimal digits.
pub fn handle_of(path: &Path) -> String {
    let mut handle = [0u8; 8 + libc::MAX_HANDLE_SZ as usize];
    handle[..4].copy_from_slice(&u32::to_ne_bytes(libc::MAX_HANDLE_SZ as u32));
    let mut mount = 0;
    let path = c(path.to_str().unwrap());
    check(unsafe { libc::name_to_handle_at(libc::AT_FDCWD, path.as_ptr(), handle.as_mut_ptr().cast(), &mut mount, 0) })
        .unwrap();
    handle.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes to a file by its number on the disk, past every path.
fn by_handle(handle: &str) -> Deed {
    let digits = |at: usize| u8::from_str_radix(&handle[at..at + 2], 16).unwrap();
    let mut handle: Vec<u8> = (0..handle.len()).step_by(2).map(digits).collect();
    let here = File::open(".")?;
    let fd = check(unsafe {
        libc::open_by_handle_at(here.as_raw_fd(), handle.as_mut_ptr().cast(), libc::O_WRONLY | libc::O_TRUNC)
    })?;
    write_to(fd as RawFd)
}

/// The old way out of a `chroot`, which needs one of one's own.
fn leave_root(folder: &str) -> Deed {
    let outside = File::open("/")?;
    check(unsafe { libc::chroot(c(folder).as_ptr()) })?;
    check(unsafe { libc::fchdir(outside.as_raw_fd()) })?;
    check(unsafe { libc::chroot(c".".as_ptr()) })?;
    Ok(Path::new("/proc/self").exists())
}

/// Makes a node for a block device, MAJOR:MINOR, and reads from it.
fn device_node(path: &str, device: &str) -> Deed {
    let (major, minor) = device.split_once(':').unwrap();
    mknod(path, libc::S_IFBLK | 0o600, libc::makedev(major.parse().unwrap(), minor.parse().unwrap()))?;
    File::open(path).map(|_| true)
}

/// A program that runs cannot be written just now; but that it says so means that it could be, later.
fn write_running(path: &str) -> Deed {
    match OpenOptions::new().write(true).open(path) {
        Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => Ok(true),
        other => other.map(|_| true),
    }
}

/// Writes to a file by the root of any process that can be seen.
fn write_by_any_root(named: &str, path: &str) -> Deed {
    let write = |pid: &String| fs::write(format!("/proc/{pid}/root{path}"), "changed").is_ok();
    Ok(others(named).iter().any(write))
}

/// Whether any device can be opened that no ordinary command needs.
fn strange_devices(folder: &Path) -> Deed {
    const HARMLESS: [&str; 8] = ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"];
    for entry in fs::read_dir(folder)?.flatten() {
        let (path, kind) = (entry.path(), entry.file_type()?);
        let known = path.starts_with("/dev/pts") || HARMLESS.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && strange_devices(&path).unwrap_or(false) {
            return Ok(true);
        }
        let open = || OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(&path);
        if (kind.is_char_device() || kind.is_block_device()) && !known && open().is_ok() {
            eprintln!("{} is open", path.display());
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether any file below can be opened for writing. In `/proc` the processes are left out: their files are their own.
fn writable(folder: &Path) -> Deed {
    for entry in fs::read_dir(folder)?.flatten() {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if entry.file_name().as_encoded_bytes()[0].is_ascii_digit() {
            continue;
        }
        if kind.is_dir() && writable(&path).unwrap_or(false) {
            return Ok(true);
        }
        let open = || OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&path);
        if kind.is_file() && open().is_ok() {
            eprintln!("{} can be written", path.display());
            return Ok(true);
        }
    }
    Ok(false)
}

/// A file of four terabytes that takes no room.
fn huge(path: &str) -> Deed {
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    File::create(path)?.set_len(4 << 40)?;
    Ok(fs::metadata(path)?.len() == 4 << 40)
}
