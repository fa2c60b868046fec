//! The way to the disk for logs and journals, with a place where tests can break it and measurements count.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How much still fits, and whether syncs work. The default has no end and works.
#[derive(Debug)]
pub struct Disk {
    left: AtomicU64,
    syncs_fail: AtomicBool,
    syncs: AtomicU64,
    failing: AtomicBool,
    problem: Mutex<Option<String>>,
}

impl Default for Disk {
    fn default() -> Self {
        Disk {
            left: AtomicU64::new(u64::MAX),
            syncs_fail: AtomicBool::new(false),
            syncs: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            problem: Mutex::default(),
        }
    }
}

impl Disk {
    /// Lets this many more bytes through; the write that exceeds them is cut off there and fails as on a full disk.
    pub fn set_left(&self, bytes: u64) {
        self.left.store(bytes, Ordering::SeqCst);
    }

    /// Makes syncs fail, or work again.
    pub fn set_syncs_fail(&self, fail: bool) {
        self.syncs_fail.store(fail, Ordering::SeqCst);
    }

    /// How many syncs of logs and journals there were so far.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// Why the last append could not be made durable; `None` if it was.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how an append ended.
    pub(crate) fn note(&self, error: Option<&io::Error>) {
        // Nearly always nothing changes, and then nothing is locked.
        if error.is_none() && !self.failing.load(Ordering::Relaxed) {
            return;
        }
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        *problem = error.map(ToString::to_string);
        self.failing.store(error.is_some(), Ordering::Relaxed);
    }

    pub(crate) fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        let fits = |left: u64| usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let take = |left: u64| (left != u64::MAX).then(|| left - fits(left) as u64);
        let Ok(left) = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) else {
            return file.write_all(bytes);
        };
        let fits = fits(left);
        file.write_all(bytes.get(..fits).unwrap_or_default())?;
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    pub(crate) fn sync(&self, file: &File) -> io::Result<()> {
        self.may_sync()?;
        file.sync_data()
    }

    /// Everything on the file system that this file or folder is on. Says so if a write failed since Linux 5.8.
    pub(crate) fn sync_all_around(&self, file: &File) -> io::Result<()> {
        self.may_sync()?;
        #[cfg(target_os = "linux")]
        return Ok(rustix::fs::syncfs(file)?);
        #[cfg(not(target_os = "linux"))]
        return Ok(file.sync_all().map(|()| rustix::fs::sync())?);
    }

    fn may_sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        if self.syncs_fail.load(Ordering::Relaxed) {
            return Err(io::Error::other("input/output error"));
        }
        Ok(())
    }
}
