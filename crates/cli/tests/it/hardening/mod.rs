//! The suites that are run at length before a release (`make hardening`); here in their short form.

mod conversations;
mod damage;
mod disks;
mod faulty_servers;
mod injections;
mod loops;

/// Whether the suites are run at length.
pub fn long() -> bool {
    std::env::var_os("MAINPATH_HARDENING").is_some()
}

/// Says what was tried, for `docs/robustness.md`.
pub fn tried(suite: &str, count: usize, what: &str) {
    println!("hardening: {suite}: {count} tried, {what}");
}
