//! What a process can say of itself, and temporary folders on the real disk.

use crate::Fail;
use rustix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use tempfile::TempDir;

/// Nanoseconds of the monotonic clock, which all processes of a machine share.
pub fn now() -> u64 {
    nanos(ClockId::Monotonic)
}

/// Nanoseconds that the processors have worked for this process, in user and system mode, all threads.
pub fn cpu() -> u64 {
    nanos(ClockId::ProcessCPUTime)
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A field of `/proc/self/status` in bytes: `VmHWM` is the peak of the resident memory, `VmRSS` what it is now. 0 where
/// there is no such file.
pub fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<u64>().unwrap_or(0) * 1024
}

/// A fresh folder on the disk where this program lies: `/tmp` may be memory, where syncs cost nothing.
pub fn folder() -> Result<TempDir, Fail> {
    let near = std::env::current_exe()?;
    let near = near.parent().map_or_else(|| PathBuf::from("."), PathBuf::from);
    Ok(tempfile::Builder::new().prefix("bench-").tempdir_in(near)?)
}

/// How many files this process may open, after raising the limit as far as the system lets it.
pub fn open_files() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where that is not allowed, the limit is what it was.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
