//! The few system calls that no safe library offers. The only file here with `unsafe` code.
#![allow(unsafe_code)]

use rustix::process::{Pid, Signal};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The namespaces of a cage but for its mounts: user, processes and IPC; with its own network if it may not use the machine's.
pub fn namespaces(own_network: bool) -> u64 {
    let always = libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    let network = if own_network { libc::CLONE_NEWNET } else { 0 };
    u64::from((always | network).cast_unsigned())
}

/// Forks into fresh namespaces, and into a cgroup (v2) if one is given. Gives the child's number, and `None` in the child.
/// To be called by a process with one thread.
pub fn fork_into(namespaces: u64, cgroup: Option<BorrowedFd<'_>>) -> io::Result<Option<Pid>> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    // SAFETY: a struct of integers, for which all zeros is a value.
    let mut args: libc::clone_args = unsafe { zeroed() };
    args.flags = namespaces;
    args.exit_signal = libc::SIGCHLD.cast_unsigned().into();
    if let Some(cgroup) = cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = cgroup.as_raw_fd().cast_unsigned().into();
    }
    // SAFETY: without CLONE_VM the child is a copy of this process, as after fork, and goes on from here on a copy of this
    // stack. There is one thread, so no lock is held by another that the copy would lack.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<libc::clone_args>()) };
    Ok(i32::try_from(checked(pid)?).ok().and_then(Pid::from_raw))
}

/// Forks as the C library does it, which takes care of its own locks: other threads may go on in this process, the child has one.
/// Gives its number, and `None` in the child.
pub fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: a plain call. The child goes on with the thread that called, and uses nothing that another thread may have locked but
    // the allocator, of which the C library takes care.
    let pid = unsafe { libc::fork() };
    Ok(i32::try_from(checked(pid.into())?).ok().and_then(Pid::from_raw))
}

/// Forks a sibling: a child of this process's parent, which may wait for it and whose death it can be told of. Gives its number,
/// and `None` in it. To be called by a process with one thread.
pub fn fork_beside() -> io::Result<Option<Pid>> {
    // SAFETY: a struct of integers, for which all zeros is a value.
    let mut args: libc::clone_args = unsafe { zeroed() };
    // The signal of its end is this process's own.
    args.flags = u64::from(libc::CLONE_PARENT.cast_unsigned());
    // SAFETY: as in `fork_into`.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<libc::clone_args>()) };
    Ok(i32::try_from(checked(pid)?).ok().and_then(Pid::from_raw))
}

/// Gives this process mounts of its own, as the machine's are now.
pub fn own_mounts() -> io::Result<()> {
    // SAFETY: a plain call, by a process with one thread.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNS) }.into()).map(drop)
}

/// Closes every descriptor from `first` on.
pub fn close_from(first: RawFd) {
    // SAFETY: only called at the start of a launcher, before it has opened anything, and by `close_but`.
    unsafe { libc::close_range(first.cast_unsigned(), libc::c_uint::MAX, 0) };
}

/// Closes every descriptor but the standard streams and one. For the child of a fork, which owns copies of all that its parent
/// had open and never goes back to where they are used.
pub fn close_but(kept: BorrowedFd<'_>) {
    let kept = kept.as_raw_fd();
    if kept > 3 {
        // SAFETY: see above.
        unsafe { libc::close_range(3, (kept - 1).cast_unsigned(), 0) };
    }
    close_from(kept.max(2) + 1);
}

/// `mount_setattr`, for a mount and all below it.
pub fn set_mount(at: BorrowedFd<'_>, set: u64, private: bool) -> io::Result<()> {
    #[repr(C)]
    struct MountAttr {
        attr_set: u64,
        attr_clr: u64,
        propagation: u64,
        userns_fd: u64,
    }
    let propagation = if private { libc::MS_PRIVATE } else { 0 };
    let attr = MountAttr { attr_set: set, attr_clr: 0, propagation, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is a C string, the struct is as `struct mount_attr` of linux/mount.h, and its size is told.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    checked(done).map(drop)
}

/// Switches the loopback device of this network namespace on.
pub fn loopback_up() -> io::Result<()> {
    // SAFETY: a plain call; the descriptor is owned below.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    checked(socket.into())?;
    // SAFETY: fresh, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: integers and unions of them, for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(1);
    // SAFETY: the request takes a pointer to an `ifreq`, which lives longer than the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    checked(done.into()).map(drop)
}

/// Installs a filter of system calls for this process and all that come of it. Needs no_new_privs.
pub fn install_filter(program: &mut [libc::sock_filter]) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    // SAFETY: the pointer and the length are those of a slice that outlives the call; the kernel checks the program.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    checked(done).map(drop)
}

/// Signals every process that this one may signal, itself excepted. For the first process of a PID namespace: elsewhere that
/// is everything of a user.
pub fn signal_everybody(signal: Signal) {
    if rustix::process::getpid() == Pid::INIT {
        // SAFETY: a plain call.
        unsafe { libc::kill(-1, signal.as_raw()) };
    }
}

/// Blocks all signals of this process: an init must not die of what a terminal sends to everybody.
pub fn block_all_signals() {
    // SAFETY: the set lives on this stack and is filled before it is read.
    unsafe {
        let mut set = zeroed();
        libc::sigfillset(&raw mut set);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Blocks the signals that ask a program to end, and gives a descriptor on which they are read instead.
pub fn end_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set lives on this stack and is filled before it is read; the descriptor is fresh.
    unsafe {
        let mut set = zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP] {
            libc::sigaddset(&raw mut set, signal.as_raw());
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        checked(fd.into())?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Takes a signal from [`end_signals`]: its number, and whether a process sent it (not the terminal).
pub fn next_signal(fd: BorrowedFd<'_>) -> Option<(i32, bool)> {
    // The beginning of `struct signalfd_siginfo`: number, errno, code; the code of what a process sends is not positive.
    let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
    let got = rustix::io::read(fd, &mut bytes).ok()?;
    let word = |at: usize| Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if got < bytes.len() { None } else { Some((word(0)?, word(8)? <= 0)) }
}
