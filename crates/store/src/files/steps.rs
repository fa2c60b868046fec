//! The time of the folder that holds all traces, and how it moves when one is made. Who knows the names at one time, and
//! every step from there to the folder's time now, knows the names now, and need not read 100,000 of them.
//!
//! A step is told only where it is certain that the time is exact, not that of the last tick: there another change within the
//! tick would not show. **As that is judged now, hardly a step is ever told**, and the names are read. Mainpath itself makes a step and removes a
//! trace one at a time. What somebody does by hand in the microseconds between the two looks at the folder is not seen until
//! the next change by hand.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// From one time of the folder to the next, in nanoseconds: a trace was made, and nothing else came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub from: i64,
    pub to: i64,
}

/// When a name last came to the folder or went. Linux's `ctime`: nobody can set it.
pub(crate) fn folder_time(folder: &Path) -> io::Result<i64> {
    time_of(&std::fs::metadata(folder)?)
}

fn time_of(meta: &std::fs::Metadata) -> io::Result<i64> {
    Ok(meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec()))
}

/// Makes a trace's folder, and says which step that was, if that can be said. Errors: those of `make`.
pub(crate) fn step(folder: &Path, make: impl FnOnce() -> io::Result<()>) -> io::Result<Option<Step>> {
    // Another step is under way, or a removal: then this one is not told.
    let Some(held) =
        File::open(folder).ok().filter(|held| flock(held, FlockOperation::NonBlockingLockExclusive).is_ok())
    else {
        return make().map(|()| None);
    };
    let look = || held.metadata().and_then(|meta| time_of(&meta)).ok();
    // Too strict to be of use yet. Measured on Linux 6.18, ext4: only a folder that changed within the same tick gets a time
    // between two looks at the clock. One that has rested gets its tick's time, and then no step is told.
    let (from, began) = (look(), now());
    let made = make();
    let (ended, to) = (now(), look());
    // Closing is not enough while a child process that is just being started still has a copy.
    let _ = flock(&held, FlockOperation::Unlock);
    let step = from.zip(to).map(|(from, to)| Step { from, to });
    made.map(|()| step.filter(|step| (began..=ended).contains(&step.to)))
}

/// Does what takes a name away, while nobody makes a step. Errors: those of `take`.
pub(crate) fn apart<T>(folder: &Path, take: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let held = File::open(folder)?;
    flock(&held, FlockOperation::LockExclusive)?;
    let taken = take();
    let _ = flock(&held, FlockOperation::Unlock);
    taken
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]
    use super::*;

    #[test]
    fn a_step_leads_from_the_time_before_to_the_time_after_and_a_second_maker_tells_none() {
        let dir = tempfile::tempdir().unwrap();
        let before = folder_time(dir.path()).unwrap();
        let mut second = None;
        let step = step(dir.path(), || {
            second = super::step(dir.path(), || std::fs::create_dir(dir.path().join("b"))).unwrap();
            std::fs::create_dir(dir.path().join("a"))
        });
        let after = folder_time(dir.path()).unwrap();
        // On a kernel whose times are those of the last tick nothing is certain, and nothing is told.
        assert!(
            matches!(step, Ok(told) if told.is_none_or(|step| step == Step { from: before, to: after })),
            "{step:?}"
        );
        assert_eq!(second, None);
        assert_eq!(super::step(dir.path(), || Ok(())).unwrap(), None, "the time did not move");
    }

    #[test]
    fn nothing_is_taken_away_within_a_step() {
        let dir = tempfile::tempdir().unwrap();
        let held = File::open(dir.path()).unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        std::thread::scope(|threads| {
            let taking = threads.spawn(|| apart(dir.path(), || Ok(now())).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(20));
            let released = now();
            flock(&held, FlockOperation::Unlock).unwrap();
            assert!(taking.join().unwrap() >= released);
        });
    }
}
