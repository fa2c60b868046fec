//! The program that tries to escape: one deed per start, named by its words.
//!
//! It ends with [`DONE`] when the deed was done, by its effect and not by what a call returned where that can be seen from
//! here; with [`PREVENTED`] and a word why when it was not. Every other end means that the probe is broken.

// It speaks to the kernel where no safe wrapper does, on purpose.
#![allow(unsafe_code)]

mod files;
mod kernel;
mod mounts;
mod network;
mod process;

pub use files::handle_of;
pub use network::GREETING;

use std::io;

pub const DONE: i32 = 0;
pub const PREVENTED: i32 = 1;
/// A system call was answered with SIGSYS, as a shell says it.
pub const STOPPED: i32 = 128 + libc::SIGSYS;
/// The first thing that the probe says: without it, something else has ended before it.
pub const BEGUN: &str = "the probe tries: ";

/// Whether the deed was done; an error is a refusal.
type Deed = io::Result<bool>;

/// Nothing that a deed does takes so many seconds.
const LIMIT: u32 = 30;

pub fn run(words: &[String]) -> i32 {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["with-key", rest @ ..] = words.as_slice() {
        kernel::with_key(rest);
    }
    eprintln!("{BEGUN}{}", words.join(" "));
    // One deed signals the whole group.
    unsafe { libc::signal(libc::SIGUSR1, libc::SIG_IGN) };
    // In a process with one thread, as many deeds need it.
    match unsafe { libc::fork() } {
        -1 => panic!("{}", io::Error::last_os_error()),
        0 => std::process::exit(attempt(&words)),
        child => {
            let mut status = 0;
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) }
        }
    }
}

fn attempt(words: &[&str]) -> i32 {
    unsafe { libc::alarm(LIMIT) };
    let deed = files::deed(words)
        .or_else(|| network::deed(words))
        .or_else(|| kernel::deed(words))
        .or_else(|| process::deed(words));
    match deed {
        Some(Ok(true)) => DONE,
        Some(Ok(false)) => {
            eprintln!("prevented: without effect");
            PREVENTED
        }
        Some(Err(error)) => {
            eprintln!("prevented: {error}");
            PREVENTED
        }
        None => panic!("no such deed: {words:?}"),
    }
}

/// The result of a system call.
fn check(result: impl Into<i64>) -> io::Result<i64> {
    match result.into() {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// A text for the kernel.
fn c(text: &str) -> std::ffi::CString {
    std::ffi::CString::new(text).unwrap()
}

/// A number among the words.
fn number(text: &str) -> i32 {
    text.parse().unwrap()
}
