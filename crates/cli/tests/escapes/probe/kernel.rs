//! Deeds that ask the kernel for something that no ordinary command needs.

use super::{Deed, c, check, mounts, number};
use libc::{c_int, c_long, c_ulong};
use std::io;
use std::mem::zeroed;
use std::os::fd::AsRawFd;
use std::ptr::{null, null_mut};

pub fn deed(words: &[&str]) -> Option<Deed> {
    if let Some(deed) = mounts::deed(words) {
        return Some(deed);
    }
    Some(match *words {
        ["ring"] => ring::set_up(&mut [0; 30]).map(|_| true),
        ["ring-write", path] => ring::write(path),
        ["userfaultfd"] => call(libc::SYS_userfaultfd, [1, 0, 0, 0, 0]),
        ["perf"] => perf(),
        ["bpf"] => bpf(),
        ["add-key"] => add_key(-2).map(|_| true),
        ["read-key"] => read_key(),
        ["join-keyring"] => keyctl(1, 0, 0).map(|_| true),
        ["unshare", flags] => call(libc::SYS_unshare, [flag(flags), 0, 0, 0, 0]),
        ["clone", flags] => clone(flag(flags)),
        ["clone3", flags] => clone3(flag(flags)),
        ["setns", pid, name] => setns(&format!("/proc/{pid}/ns/{name}")),
        ["setns-by-pid", pid] => setns_by_pid(number(pid)),
        ["terminal-input", request] => terminal_input(c_ulong::from_str_radix(request, 16).unwrap()),
        ["console"] => console(),
        #[cfg(target_arch = "x86_64")]
        ["int80"] => Ok(int80() == i64::from(std::process::id())),
        ["sethostname"] => sethostname(),
        ["settime"] => settime(),
        ["kernel-log"] => check(unsafe { libc::klogctl(3, [0; 512].as_mut_ptr(), 512) }).map(|length| length > 0),
        // Sets what is set anyway.
        ["reboot"] => check(unsafe { libc::reboot(libc::LINUX_REBOOT_CMD_CAD_ON) }).map(|_| true),
        ["accounting"] => check(unsafe { libc::acct(null()) }).map(|_| true),
        ["module"] => module(),
        ["fanotify"] => check(unsafe { libc::fanotify_init(0, 0) }).map(|_| true),
        ["real-time"] => real_time(),
        ["priority"] => check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -5) }).map(|_| true),
        _ => return None,
    })
}

/// Adds a key to a new keyring of the session and becomes another program.
pub fn with_key(words: &[&str]) -> ! {
    keyctl(1, 0, 0).unwrap();
    add_key(-3).unwrap();
    let error = std::os::unix::process::CommandExt::exec(std::process::Command::new(words[0]).args(&words[1..]));
    panic!("{words:?}: {error}");
}

const KEY: &std::ffi::CStr = c"mainpath-escape";
const KEYS_TEXT: &[u8] = b"of the session";

fn keyctl(operation: c_long, a: c_long, b: c_long) -> io::Result<i64> {
    check(unsafe { libc::syscall(libc::SYS_keyctl, operation, a, b, 0, 0) })
}

fn add_key(ring: c_long) -> io::Result<i64> {
    let (text, length) = (KEYS_TEXT.as_ptr(), KEYS_TEXT.len());
    check(unsafe { libc::syscall(libc::SYS_add_key, c"user".as_ptr(), KEY.as_ptr(), text, length, ring) })
}

fn read_key() -> Deed {
    const SEARCH: c_long = 10;
    const READ: c_long = 11;
    let key = check(unsafe { libc::syscall(libc::SYS_keyctl, SEARCH, -3, c"user".as_ptr(), KEY.as_ptr(), 0) })?;
    let mut text = [0u8; 64];
    let length = check(unsafe { libc::syscall(libc::SYS_keyctl, READ, key, text.as_mut_ptr(), text.len(), 0) })?;
    Ok(&text[..length as usize] == KEYS_TEXT)
}

fn call(number: c_long, a: [c_long; 5]) -> Deed {
    check(unsafe { libc::syscall(number, a[0], a[1], a[2], a[3], a[4]) }).map(|_| true)
}

fn flag(name: &str) -> c_long {
    c_long::from(match name {
        "user" => libc::CLONE_NEWUSER,
        "mount" => libc::CLONE_NEWNS,
        "network" => libc::CLONE_NEWNET,
        "ipc" => libc::CLONE_NEWIPC,
        "uts" => libc::CLONE_NEWUTS,
        "pid" => libc::CLONE_NEWPID,
        "cgroup" => libc::CLONE_NEWCGROUP,
        other => panic!("{other}"),
    })
}

fn child_ends(pid: i64) -> Deed {
    if pid == 0 {
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    check(unsafe { libc::waitpid(pid as i32, &mut status, 0) })?;
    Ok(libc::WIFEXITED(status))
}

fn clone(flags: c_long) -> Deed {
    child_ends(check(unsafe { libc::syscall(libc::SYS_clone, flags | c_long::from(libc::SIGCHLD), 0, 0, 0, 0) })?)
}

fn clone3(flags: c_long) -> Deed {
    let mut args: libc::clone_args = unsafe { zeroed() };
    args.flags = flags as u64;
    args.exit_signal = libc::SIGCHLD as u64;
    child_ends(check(unsafe { libc::syscall(libc::SYS_clone3, &args, size_of::<libc::clone_args>()) })?)
}

fn setns(path: &str) -> Deed {
    let file = std::fs::File::open(path)?;
    check(unsafe { libc::setns(file.as_raw_fd(), 0) }).map(|_| true)
}

fn setns_by_pid(pid: i32) -> Deed {
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    check(unsafe { libc::setns(fd as i32, libc::CLONE_NEWUTS) }).map(|_| true)
}

/// Types for the person at the terminal: the shell would read it afterwards.
fn terminal_input(request: c_ulong) -> Deed {
    unsafe {
        let mut raw: libc::termios = zeroed();
        check(libc::tcgetattr(0, &mut raw))?;
        libc::cfmakeraw(&mut raw);
        check(libc::tcsetattr(0, libc::TCSANOW, &raw))?;
        check(libc::syscall(libc::SYS_ioctl, 0, request, c"x".as_ptr()))?;
        let mut waiting: c_int = 0;
        check(libc::ioctl(0, libc::FIONREAD, &mut waiting))?;
        Ok(waiting == 1)
    }
}

/// Asks the console by the request that can also paste into it.
fn console() -> Deed {
    const TIOCLINUX: c_ulong = 0x541C;
    const SHIFT_STATE: u8 = 6;
    check(unsafe { libc::ioctl(0, TIOCLINUX, &mut [SHIFT_STATE, 0, 0, 0]) }).map(|_| true)
}

/// The process's number by the 32-bit entry, whose calls have other numbers than a filter may expect.
#[cfg(target_arch = "x86_64")]
fn int80() -> i64 {
    const GETPID: i64 = 20;
    let result: i64;
    // SAFETY: the call takes nothing and changes nothing.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") GETPID => result, out("r8") _, out("r9") _, out("r10") _, out("r11") _)
    };
    result
}

fn perf() -> Deed {
    // perf_event_attr: a software event, its own size, the task's clock; nothing of the kernel or of a hypervisor.
    let mut attributes = [0u64; 16];
    attributes[0] = 1 | 128 << 32;
    attributes[1] = 1;
    attributes[5] = 1 << 5 | 1 << 6;
    check(unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0) }).map(|_| true)
}

fn bpf() -> Deed {
    // An array with keys and values of four bytes and one entry.
    let attributes = [2u32, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    check(unsafe { libc::syscall(libc::SYS_bpf, 0, attributes.as_ptr(), size_of_val(&attributes)) }).map(|_| true)
}

fn sethostname() -> Deed {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    let name = name.trim_end();
    check(unsafe { libc::sethostname(c(name).as_ptr(), name.len()) }).map(|_| true)
}

/// Sets the clock forward by nothing.
fn settime() -> Deed {
    let mut change: libc::timex = unsafe { zeroed() };
    change.modes = libc::ADJ_SETOFFSET;
    check(unsafe { libc::adjtimex(&mut change) }).map(|_| true)
}

/// An empty module is refused for what it is, but only to those who may load one.
fn module() -> Deed {
    match check(unsafe { libc::syscall(libc::SYS_init_module, null::<u8>(), 0, c"".as_ptr()) }) {
        Err(error) if [libc::ENOEXEC, libc::EFAULT, libc::EINVAL].contains(&error.raw_os_error().unwrap_or(0)) => {
            Ok(true)
        }
        other => other.map(|_| true),
    }
}

fn real_time() -> Deed {
    let priority = libc::sched_param { sched_priority: 1 };
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority) })?;
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &libc::sched_param { sched_priority: 0 }) })?;
    Ok(true)
}

/// A ring of the kernel's own hands: it opens and writes without the process making these calls.
pub mod ring {
    use super::*;

    const ENTRIES: usize = 4;

    /// Only makes one.
    pub fn set_up(parameters: &mut [u32; 30]) -> io::Result<i32> {
        check(unsafe { libc::syscall(libc::SYS_io_uring_setup, ENTRIES, parameters.as_mut_ptr()) }).map(|fd| fd as i32)
    }

    /// Opens a file and writes to it.
    pub fn write(path: &str) -> Deed {
        const OPEN: u8 = 18;
        const WRITE: u8 = 23;
        let mut parameters = [0; 30];
        let ring = set_up(&mut parameters)?;
        let map = |offset: i64| {
            let (size, protection) = (4096 * 4, libc::PROT_READ | libc::PROT_WRITE);
            let map = unsafe { libc::mmap(null_mut(), size, protection, libc::MAP_SHARED, ring, offset) };
            if map == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(map.cast::<u8>()) }
        };
        let (rings, entries) = (map(0)?, map(0x1000_0000)?);
        // Where in the rings are the tail, the mask and the array of what is submitted, and the same of what is completed.
        let (tail, array) = (parameters[11] as usize, parameters[16] as usize);
        let (head, mask, completions) = (parameters[20] as usize, parameters[22] as usize, parameters[25] as usize);
        let submit = |operation: u8, fd: i32, address: *const u8, length: u32, flags: i32| -> io::Result<i32> {
            // SAFETY: the offsets are the kernel's, within the maps.
            unsafe {
                let entry = entries;
                entry.write_bytes(0, 64);
                entry.write(operation);
                entry.add(4).cast::<i32>().write(fd);
                entry.add(16).cast::<u64>().write(address as u64);
                entry.add(24).cast::<u32>().write(length);
                entry.add(28).cast::<i32>().write(flags);
                let tail = rings.add(tail).cast::<u32>();
                rings.add(array).cast::<u32>().add(tail.read() as usize % ENTRIES).write(0);
                tail.write(tail.read() + 1);
                check(libc::syscall(libc::SYS_io_uring_enter, ring, 1, 1, 1, null::<u8>(), 0))?;
                let head = rings.add(head).cast::<u32>();
                let place = (head.read() & rings.add(mask).cast::<u32>().read()) as usize;
                let result = rings.add(completions + place * 16 + 8).cast::<i32>().read();
                head.write(head.read() + 1);
                if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result) }
            }
        };
        let path = c(path);
        let fd = submit(OPEN, libc::AT_FDCWD, path.as_ptr().cast(), 0, libc::O_WRONLY | libc::O_TRUNC)?;
        submit(WRITE, fd, b"changed".as_ptr(), 7, 0).map(|written| written == 7)
    }
}
