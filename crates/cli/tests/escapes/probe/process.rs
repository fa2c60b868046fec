//! Deeds done to processes, by them, and to what they share.

use super::{Deed, check, number};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::ptr::{null, null_mut};

pub fn deed(words: &[&str]) -> Option<Deed> {
    Some(match *words {
        ["hold", pid, file] => hold(number(pid), file),
        ["does", program, ref rest @ ..] => Command::new(program).args(rest).status().map(|it| it.success()),
        ["says", text, program, ref rest @ ..] => {
            Command::new(program).args(rest).output().map(|it| String::from_utf8_lossy(&it.stdout).contains(text))
        }
        ["kill", pid] => check(unsafe { libc::kill(number(pid), libc::SIGKILL) }).map(|_| true),
        ["kill-by-fd", pid] => kill_by_fd(number(pid)),
        // Whoever is in the group that this process was born into.
        ["kill-group"] => check(unsafe { libc::kill(0, libc::SIGUSR1) }).map(|_| true),
        ["owner-of-signal", pid] => signal_by_file(number(pid)),
        ["ptrace", pid] => ptrace(number(pid)),
        ["memory", pid] => memory(pid),
        ["memory-by-call", pid] => memory_by_call(pid),
        ["take-file", pid, fd, text] => take_file(number(pid), number(fd), text),
        ["take-any", pid] => Ok(others(pid).iter().any(|pid| (3..64).any(|fd| take(number(pid), fd).is_ok()))),
        ["limit", pid] => limit(number(pid)),
        ["nice", pid] => check(unsafe { libc::setpriority(libc::PRIO_PROCESS, number(pid) as u32, 10) }).map(|_| true),
        ["processor", pid] => processor(number(pid)),
        ["variable", name, a, b] => Ok(std::env::var(name).is_ok_and(|value| value == format!("{a}{b}"))),
        ["environments", pid, a, b] => environments(pid, &format!("{a}{b}")),
        ["memories", pid, a, b] => memories(pid, a, b),
        ["capabilities"] => capabilities("self"),
        ["new-privileges"] => Ok(unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) } == 0),
        ["setuid", program, uid] => {
            Command::new(program).arg("-u").output().map(|it| it.stdout == format!("{uid}\n").as_bytes())
        }
        ["file-capability", program] => file_capability(program),
        ["become", uid] => {
            check(unsafe { libc::setresuid(number(uid) as u32, number(uid) as u32, number(uid) as u32) }).map(|_| true)
        }
        ["leave-cgroup", folder] => leave_cgroup(folder),
        ["shm-make", key] => shm(number(key), libc::IPC_CREAT | 0o600, Some(b'k')).map(|_| true),
        ["shm-write", key] => shm(number(key), 0, Some(b'c')).map(|_| true),
        ["shm-holds", key] => shm(number(key), 0, None).map(|byte| byte == b'c'),
        ["shm-remove", key] => {
            check(unsafe { libc::shmctl(libc::shmget(number(key), 0, 0), libc::IPC_RMID, null_mut()) }).map(|_| true)
        }
        ["sem-make", key] => semaphore(number(key), libc::IPC_CREAT | 0o600, 1).map(|_| true),
        ["sem-write", key] => semaphore(number(key), 0, 7).map(|_| true),
        ["sem-holds", key] => {
            check(unsafe { libc::semctl(libc::semget(number(key), 0, 0), 0, libc::GETVAL) }).map(|it| it == 7)
        }
        ["sem-remove", key] => {
            check(unsafe { libc::semctl(libc::semget(number(key), 0, 0), 0, libc::IPC_RMID) }).map(|_| true)
        }
        ["mail-make", name] => mail(name, libc::O_CREAT).map(|_| true),
        ["mail-send", name] => {
            mail(name, 0).and_then(|fd| check(unsafe { libc::mq_send(fd, c"changed".as_ptr(), 7, 0) })).map(|_| true)
        }
        ["mail-holds", name] => mail(name, 0).map(mail_waits),
        ["mail-remove", name] => check(unsafe { libc::mq_unlink(CString::new(name).unwrap().as_ptr()) }).map(|_| true),
        ["unlimited", what] => unlimited(what),
        ["forks", wanted] => forks(number(wanted)),
        ["memory-of", megabytes] => use_memory(number(megabytes) as usize),
        _ => return None,
    })
}

fn kill_by_fd(pid: i32) -> Deed {
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    check(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, null::<u8>(), 0) }).map(|_| true)
}

/// Has the kernel send a process the signal that something can be read.
fn signal_by_file(pid: i32) -> Deed {
    let mut ends = [0; 2];
    unsafe {
        check(libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, ends.as_mut_ptr()))?;
        check(libc::fcntl(ends[0], libc::F_SETOWN, pid))?;
        check(libc::fcntl(ends[0], libc::F_SETFL, libc::O_ASYNC))?;
        check(libc::write(ends[1], c"x".as_ptr().cast(), 1) as i64)?;
    }
    Ok(true)
}

fn ptrace(pid: i32) -> Deed {
    check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) })?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(status.contains(&format!("TracerPid:\t{}\n", std::process::id())))
}

/// A place in a process's memory that can be read.
fn readable_place(pid: &str) -> io::Result<u64> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let line = maps.lines().find(|line| line.contains(" r")).ok_or(io::ErrorKind::NotFound)?;
    Ok(u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap())
}

fn memory(pid: &str) -> Deed {
    let place = readable_place(pid)?;
    fs::File::open(format!("/proc/{pid}/mem"))?.read_exact_at(&mut [0; 4], place).map(|()| true)
}

fn memory_by_call(pid: &str) -> Deed {
    let mut bytes = [0u8; 4];
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 4 };
    let there = libc::iovec { iov_base: readable_place(pid)? as *mut libc::c_void, iov_len: 4 };
    check(unsafe { libc::process_vm_readv(number(pid), &here, 1, &there, 1, 0) as i64 }).map(|length| length == 4)
}

fn take(pid: i32, fd: i32) -> io::Result<i64> {
    let process = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    let taken = check(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process, fd, 0) });
    unsafe { libc::close(process as i32) };
    taken
}

fn take_file(pid: i32, fd: i32, text: &str) -> Deed {
    let taken = take(pid, fd)?;
    let mut bytes = [0u8; 256];
    let length = check(unsafe { libc::pread(taken as i32, bytes.as_mut_ptr().cast(), bytes.len(), 0) as i64 })?;
    Ok(String::from_utf8_lossy(&bytes[..length as usize]).contains(text))
}

fn limit(pid: i32) -> Deed {
    let limit = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
    check(unsafe { libc::prlimit(pid, libc::RLIMIT_NOFILE, &limit, null_mut()) }).map(|_| true)
}

fn processor(pid: i32) -> Deed {
    // SAFETY: a set of zeros is one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    unsafe { libc::CPU_SET(0, &mut set) };
    check(unsafe { libc::sched_setaffinity(pid, size_of_val(&set), &set) }).map(|_| true)
}

/// All processes that can be seen, but for this one; on a whole machine only the one that was named.
pub fn others(named: &str) -> Vec<String> {
    let names =
        fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|it| it.file_name().into_string().ok());
    let all: Vec<String> =
        names.filter(|name| name.parse::<u32>().is_ok_and(|pid| pid != std::process::id())).collect();
    if all.len() < 40 { all } else { vec![named.into()] }
}

fn environments(named: &str, text: &str) -> Deed {
    let found = |pid: &String| {
        let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(text)
    };
    Ok(others(named).iter().any(found))
}

/// Looks for a text that is nowhere whole in this process.
fn memories(named: &str, a: &str, b: &str) -> Deed {
    let found = |pid: &String| -> Option<bool> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        let memory = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
        Some(maps.lines().filter(|line| line.contains(" rw")).any(|line| {
            let (from, rest) = line.split_once('-').unwrap();
            let to = rest.split(' ').next().unwrap();
            let (from, to) = (u64::from_str_radix(from, 16).unwrap(), u64::from_str_radix(to, 16).unwrap());
            let mut bytes = vec![0; (to - from).min(16 << 20) as usize];
            let length = memory.read_at(&mut bytes, from).unwrap_or(0);
            let (a, b) = (a.as_bytes(), b.as_bytes());
            let mut places = bytes[..length].windows(a.len() + b.len());
            places.any(|it| it.starts_with(a) && it.ends_with(b))
        }))
    };
    Ok(others(named).iter().any(|pid| found(pid).unwrap_or(false)))
}

/// Whether there is any capability in any of the five sets.
fn capabilities(process: &str) -> Deed {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let sets: Vec<&str> = status.lines().filter(|line| line.starts_with("Cap")).collect();
    assert_eq!(sets.len(), 5, "{status}");
    Ok(sets.iter().any(|set| u64::from_str_radix(set.rsplit('\t').next().unwrap(), 16) != Ok(0)))
}

/// Whether a copy of `cat` gets a capability from its file.
fn file_capability(program: &str) -> Deed {
    let output = Command::new(program).arg("/proc/self/status").output()?;
    let status = String::from_utf8_lossy(&output.stdout).into_owned();
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:\t")).ok_or(io::ErrorKind::Other)?;
    Ok(u64::from_str_radix(set, 16) != Ok(0))
}

/// Goes to a new control group of its own, and back again.
fn leave_cgroup(folder: &str) -> Deed {
    let own = || fs::read_to_string("/proc/self/cgroup");
    let (before, pid) = (own()?, std::process::id().to_string());
    let new = format!("{folder}/escape-{pid}");
    fs::create_dir(&new)?;
    let left = fs::write(format!("{new}/cgroup.procs"), &pid).and_then(|()| own()).map(|now| now != before);
    fs::write(format!("{folder}/cgroup.procs"), &pid)?;
    fs::remove_dir(&new)?;
    left
}

/// Opens a piece of shared memory and writes its first byte, if there is one to write. Gives the byte.
fn shm(key: i32, flags: i32, byte: Option<u8>) -> io::Result<u8> {
    let id = check(unsafe { libc::shmget(key, 4096, flags) })?;
    let map = unsafe { libc::shmat(id as i32, null(), 0) };
    if map as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a page was mapped just now.
    unsafe {
        if let Some(byte) = byte {
            map.cast::<u8>().write_volatile(byte);
        }
        Ok(map.cast::<u8>().read_volatile())
    }
}

fn semaphore(key: i32, flags: i32, value: i32) -> io::Result<i64> {
    let id = check(unsafe { libc::semget(key, 1, flags) })?;
    check(unsafe { libc::semctl(id as i32, 0, libc::SETVAL, value) })
}

fn mail(name: &str, flags: i32) -> io::Result<i32> {
    let name = CString::new(name).unwrap();
    let flags = flags | libc::O_RDWR | libc::O_NONBLOCK;
    check(unsafe { libc::mq_open(name.as_ptr(), flags, 0o600, null_mut::<libc::mq_attr>()) }).map(|fd| fd as i32)
}

fn mail_waits(fd: i32) -> bool {
    // SAFETY: attributes of zeros are some.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    unsafe { libc::mq_getattr(fd, &mut attributes) == 0 && attributes.mq_curmsgs == 1 }
}

/// Whether a resource has no limit, or its limit can be taken away.
fn unlimited(what: &str) -> Deed {
    let resource = match what {
        "processor time" => libc::RLIMIT_CPU,
        "file size" => libc::RLIMIT_FSIZE,
        other => panic!("{other}"),
    };
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    let _ = unsafe { libc::setrlimit(resource, &limit) };
    check(unsafe { libc::getrlimit(resource, &mut limit) })?;
    Ok(limit.rlim_cur == libc::RLIM_INFINITY)
}

/// Whether so many children can live at once. They are ended afterwards, or when this process dies.
fn forks(wanted: i32) -> Deed {
    let mut children = Vec::new();
    let parent = std::process::id() as i32;
    let refused = loop {
        if children.len() == wanted as usize {
            break None;
        }
        match unsafe { libc::fork() } {
            -1 => break Some(io::Error::last_os_error()),
            0 => unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                while libc::getppid() == parent {
                    libc::pause();
                }
                libc::_exit(0)
            },
            child => children.push(child),
        }
    };
    println!("{} children", children.len());
    // Held until the other side has seen it.
    let _ = io::stdin().read_line(&mut String::new());
    for child in children {
        unsafe { libc::kill(child, libc::SIGKILL) };
        unsafe { libc::waitpid(child, null_mut(), 0) };
    }
    refused.map_or(Ok(true), Err)
}

/// Fills so much memory, as the first to go should there be none left.
fn use_memory(megabytes: usize) -> Deed {
    const PIECE: usize = 64 << 20;
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    // On a machine that has much this takes its time.
    unsafe { libc::alarm(100) };
    for _ in 0..megabytes.div_ceil(64) {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let map = unsafe { libc::mmap(null_mut(), PIECE, protection, flags, -1, 0) };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: mapped just now, and never given back.
        (0..PIECE).step_by(4096).for_each(|at| unsafe { map.cast::<u8>().add(at).write_volatile(1) });
    }
    Ok(true)
}

/// Stops the first process by tracing it, if that may be, and stays.
fn hold(pid: i32, file: &str) -> Deed {
    unsafe {
        libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0);
        libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0);
    }
    fs::write(file, "x")?;
    loop {
        unsafe { libc::pause() };
    }
}
