//! The system calls that nobody inside a cage may make, as a filter program for the kernel.
//!
//! Everything else is allowed: what a call may reach is bounded by the namespaces, the mounts and Landlock. What is refused
//! here is what those do not bound (vsock, keyrings, io_uring, which does work on behalf of a process past its filter), what
//! could undo them (mounts, namespaces), what types into terminals, and corners of the kernel that ordinary programs do not
//! need. Numbers: the `libc` crate 0.2; layout and actions: seccomp(2).

use libc::{c_long, sock_filter};
use std::io;

/// Whatever the kernel has that is newer than this list is refused, since nobody has judged it: Linux 6.18 ends with 469.
const FIRST_UNKNOWN: u32 = 470;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

const REFUSED: &[c_long] = &[
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    467, // open_tree_attr
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    // Ways around the filter, and into the kernel.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// The terminal's: type for others, its special functions, its line discipline, redirecting the console.
const TERMINAL: [u32; 4] = [libc::TIOCSTI as u32, 0x541C, 0x5423, 0x541D];

/// A new namespace of any kind, in the flags of `clone`.
const NEW_NAMESPACES: u32 = 0x7E02_0000;

/// The rights of a program's owner, whoever starts it: such a program, left behind in a workspace of root, would make every
/// user of the machine root. (Those of a group are what shared repositories set on their folders.)
const FOREIGN_RIGHTS: u32 = 0o4000;

/// `O_CREAT` and the own bit of `O_TMPFILE`.
const MAKES: u32 = 0o100 | 0o20_000_000;

/// The calls that set a mode: which argument that is, and which one has the flags that say whether it counts.
const MODES: &[(c_long, u32, Option<u32>)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1, None),
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (452, 2, None), // fchmodat2
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1, None),
    (libc::SYS_mknodat, 2, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2, Some(1)),
    (libc::SYS_openat, 3, Some(2)),
];

/// Local, IPv4, IPv6. Of netlink only the routes, from which a program learns the addresses of its machine.
const FAMILIES: [u32; 3] = [1, 2, 10];
const NETLINK: u32 = 16;

const EPERM: u32 = libc::EPERM.cast_unsigned();
const ENOSYS: u32 = libc::ENOSYS.cast_unsigned();
const EAFNOSUPPORT: u32 = libc::EAFNOSUPPORT.cast_unsigned();

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const IF_ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Where `struct seccomp_data` has the number, the architecture and the low half of an argument.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// Puts this process, and all that come of it, under the filter. Needs no_new_privs.
pub fn install() -> io::Result<()> {
    crate::sys::install_filter(&mut program())
}

/// The filter.
fn program() -> Vec<sock_filter> {
    let mut code = Code(Vec::with_capacity(200));
    code.op(LOAD, ARCH);
    code.when_not(IF_EQUAL, ARCHITECTURE, ENOSYS);
    code.op(LOAD, NUMBER);
    // The numbers of the x32 interface lie above as well.
    code.when(IF_AT_LEAST, FIRST_UNKNOWN, ENOSYS);
    for number in REFUSED {
        code.when(IF_EQUAL, nr(*number), EPERM);
    }
    // Its flags lie in memory, where no filter can see them. Without it the C library uses `clone`.
    code.when(IF_EQUAL, nr(libc::SYS_clone3), ENOSYS);
    // So does its mode; programs that use it have other ways where it is missing.
    code.when(IF_EQUAL, nr(libc::SYS_openat2), ENOSYS);
    code.only_for(libc::SYS_clone, |code| {
        code.op(LOAD, argument(0));
        code.when(IF_ANY_BIT, NEW_NAMESPACES, EPERM);
    });
    code.only_for(libc::SYS_ioctl, |code| {
        code.op(LOAD, argument(1));
        TERMINAL.into_iter().for_each(|request| code.when(IF_EQUAL, request, EPERM));
    });
    code.only_for(libc::SYS_socket, |code| {
        code.op(LOAD, argument(0));
        FAMILIES.into_iter().for_each(|family| code.allow_when(family));
        code.when_not(IF_EQUAL, NETLINK, EAFNOSUPPORT);
        code.op(LOAD, argument(2));
        code.when_not(IF_EQUAL, 0, EAFNOSUPPORT);
    });
    for (number, at, flags) in MODES {
        code.only_for(*number, |code| {
            if let Some(flags) = flags {
                code.op(LOAD, argument(*flags));
                // Without one of these there is no mode.
                code.allow_when_none(MAKES);
            }
            code.op(LOAD, argument(*at));
            code.when(IF_ANY_BIT, FOREIGN_RIGHTS, EPERM);
        });
    }
    code.op(RETURN, libc::SECCOMP_RET_ALLOW);
    code.0
}

fn nr(number: c_long) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

struct Code(Vec<sock_filter>);

impl Code {
    fn op(&mut self, code: u16, k: u32) {
        self.0.push(sock_filter { code, jt: 0, jf: 0, k });
    }
    fn refuse(&mut self, errno: u32) {
        self.op(RETURN, libc::SECCOMP_RET_ERRNO | errno);
    }
    fn when(&mut self, test: u16, k: u32, errno: u32) {
        self.0.push(sock_filter { code: test, jt: 0, jf: 1, k });
        self.refuse(errno);
    }
    fn when_not(&mut self, test: u16, k: u32, errno: u32) {
        self.0.push(sock_filter { code: test, jt: 1, jf: 0, k });
        self.refuse(errno);
    }
    fn allow_when(&mut self, k: u32) {
        self.0.push(sock_filter { code: IF_EQUAL, jt: 0, jf: 1, k });
        self.op(RETURN, libc::SECCOMP_RET_ALLOW);
    }
    fn allow_when_none(&mut self, bits: u32) {
        self.0.push(sock_filter { code: IF_ANY_BIT, jt: 1, jf: 0, k: bits });
        self.op(RETURN, libc::SECCOMP_RET_ALLOW);
    }
    /// Code for one system call, at the end of which it is allowed.
    fn only_for(&mut self, number: c_long, body: impl FnOnce(&mut Code)) {
        let mut inner = Code(Vec::new());
        body(&mut inner);
        inner.op(RETURN, libc::SECCOMP_RET_ALLOW);
        let length = u8::try_from(inner.0.len()).unwrap_or(u8::MAX);
        self.0.push(sock_filter { code: IF_EQUAL, jt: 0, jf: length, k: nr(number) });
        self.0.extend(inner.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would answer: an errno, or 0 where the call is allowed.
    fn verdict(arch: u32, number: u32, args: [u64; 6]) -> u32 {
        let program = program();
        let mut data = [0_u8; 64];
        data[..4].copy_from_slice(&number.to_le_bytes());
        data[4..8].copy_from_slice(&arch.to_le_bytes());
        for (at, arg) in args.iter().enumerate() {
            data[16 + 8 * at..24 + 8 * at].copy_from_slice(&arg.to_le_bytes());
        }
        let (mut at, mut word) = (0, 0);
        loop {
            let op = program[at];
            let k = op.k;
            let jump = |yes: bool| usize::from(if yes { op.jt } else { op.jf });
            at += 1;
            match op.code {
                LOAD => word = u32::from_le_bytes(data[k as usize..k as usize + 4].try_into().unwrap()),
                IF_EQUAL => at += jump(word == k),
                IF_AT_LEAST => at += jump(word >= k),
                IF_ANY_BIT => at += jump(word & k != 0),
                RETURN if k == libc::SECCOMP_RET_ALLOW => return 0,
                RETURN => return k & 0xFFFF,
                other => panic!("no such operation: {other}"),
            }
        }
    }

    fn call(number: c_long, args: [u64; 6]) -> u32 {
        verdict(ARCHITECTURE, nr(number), args)
    }

    #[test]
    fn calls_that_could_undo_the_cage_are_refused_and_ordinary_ones_are_not() {
        for number in REFUSED {
            assert_eq!(call(*number, [0; 6]), EPERM, "{number}");
        }
        for number in [libc::SYS_read, libc::SYS_statx, libc::SYS_execve, libc::SYS_ptrace, libc::SYS_connect, 469] {
            assert_eq!(call(number, [u64::MAX; 6]), 0, "{number}");
        }
    }

    #[test]
    fn another_architecture_another_interface_and_unknown_calls_are_refused() {
        assert_eq!(verdict(0x4000_0003, 1, [0; 6]), ENOSYS, "int 0x80");
        assert_eq!(verdict(ARCHITECTURE, 0x4000_0000 | nr(libc::SYS_openat), [0; 6]), ENOSYS, "x32");
        assert_eq!(verdict(ARCHITECTURE, FIRST_UNKNOWN, [0; 6]), ENOSYS);
        assert_eq!(verdict(ARCHITECTURE, u32::MAX, [0; 6]), ENOSYS);
    }

    #[test]
    fn a_process_can_be_cloned_but_no_namespace_made() {
        let plain = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        assert_eq!(call(libc::SYS_clone, [plain as u64, 0, 0, 0, 0, 0]), 0);
        let spaces = [
            libc::CLONE_NEWUSER,
            libc::CLONE_NEWNS,
            libc::CLONE_NEWNET,
            libc::CLONE_NEWPID,
            libc::CLONE_NEWIPC,
            libc::CLONE_NEWUTS,
            libc::CLONE_NEWCGROUP,
        ];
        for space in spaces {
            // What lies above the low half is not read by the kernel either.
            assert_eq!(call(libc::SYS_clone, [space as u64 | 0xFF_0000_0000, 0, 0, 0, 0, 0]), EPERM, "{space:x}");
        }
        assert_eq!(call(libc::SYS_clone3, [0; 6]), ENOSYS);
    }

    #[test]
    fn sockets_are_local_or_internet_or_ask_for_routes() {
        let socket = |family: i32, protocol: i32| call(libc::SYS_socket, [family as u64, 3, protocol as u64, 0, 0, 0]);
        for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6] {
            assert_eq!(socket(family, 6), 0);
        }
        assert_eq!(socket(libc::AF_NETLINK, libc::NETLINK_ROUTE), 0);
        for protocol in 1..=libc::NETLINK_CRYPTO {
            assert_eq!(socket(libc::AF_NETLINK, protocol), EAFNOSUPPORT);
        }
        for family in (0..=64).filter(|family| ![1, 2, 10, 16].contains(family)) {
            assert_eq!(socket(family, 0), EAFNOSUPPORT, "{family}");
        }
    }

    #[test]
    fn no_program_is_left_with_its_owners_rights() {
        for (number, at, flags) in MODES {
            let with = |mode: u64, flag: u64| {
                let mut args = [0; 6];
                args[*at as usize] = mode;
                if let Some(flags) = flags {
                    args[*flags as usize] = flag;
                }
                call(*number, args)
            };
            for mode in [0o4755, 0o6755] {
                assert_eq!(with(mode, 0o102), EPERM, "{number} {mode:o}");
                // Nothing is made, so whatever lies there is no mode.
                assert_eq!(with(mode, 0o2), if flags.is_some() { 0 } else { EPERM }, "{number}");
            }
            assert_eq!((with(0o1777, 0o102), with(0o2775, 0o102)), (0, 0), "{number}");
        }
        assert_eq!(call(libc::SYS_openat2, [0; 6]), ENOSYS);
    }

    #[test]
    fn nobody_types_into_a_terminal() {
        for request in TERMINAL {
            assert_eq!(call(libc::SYS_ioctl, [0, u64::from(request) | 1 << 40, 0, 0, 0, 0]), EPERM, "{request:x}");
        }
        assert_eq!(call(libc::SYS_ioctl, [0, libc::TCGETS, 0, 0, 0, 0]), 0);
    }
}
