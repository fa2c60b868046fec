//! The suites that are run at length before a release (`make hardening`); here in their short form.

mod conversations;
mod damage;
mod disks;
mod dojo;
mod faulty_servers;
mod injections;
mod loops;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether the suites are run at length.
pub fn long() -> bool {
    std::env::var_os("MAINPATH_HARDENING").is_some()
}

/// Runs each case, several at a time; gives what came of it in their order.
pub fn at_once<T: Sync, R: Send>(cases: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let (at, Some(case)) = next_of(&next, cases) {
                    let outcome = run(case);
                    found.lock().unwrap().push((at, outcome));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, outcome)| outcome).collect()
}

fn next_of<'a, T>(next: &AtomicUsize, cases: &'a [T]) -> (usize, Option<&'a T>) {
    let at = next.fetch_add(1, Ordering::Relaxed);
    (at, cases.get(at))
}

/// Says what was tried, for `docs/robustness.md`.
pub fn tried(suite: &str, count: usize, what: &str) {
    println!("hardening: {suite}: {count} tried, {what}");
}
