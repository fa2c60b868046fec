//! The escape suite: what a command in the sandbox must not be able to do, and what it must.
//!
//! Every escape is a deed of one probe program, which is this test program itself, started once more (see [`probe`]).
//! In one test the deed first succeeds without the sandbox and then fails inside it, so a deed that fails for another
//! reason proves nothing and is reported. Nothing is skipped: what this machine's kernel lacks fails the test.
//!
//! Run by root, the tables run as root and as an ordinary user; run by an ordinary user, as that one, but for what only root
//! can set up. What must work inside must be here: Git, Python, Node with npm, a C compiler, make, gdb, strace, util-linux and
//! procps.

#![cfg(target_os = "linux")]
// Helpers of tests may unwrap as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agent;
mod files;
mod git;
mod host;
mod kernel;
mod life;
mod limits;
mod network;
mod own;
mod place;
mod probe;
mod process;
mod table;
mod works;

/// Not a test: the program that tries to escape. It gets its words after this function's name.
#[test]
#[ignore = "the deeds of the other tests, run by them"]
fn probe() {
    let words: Vec<String> = std::env::args().skip_while(|word| word != "probe").skip(1).collect();
    if !words.is_empty() {
        std::process::exit(probe::run(&words));
    }
}
