//! Where everything lies, and how folders and files are made.

use super::record::Record;
use crate::checks::{OWN_FILES, newest_first, other_than_file};
use crate::store::{StoreError, TraceEntry};
use mainpath_types::{Millis, TenantId, TraceId};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: PathBuf,
}

/// Whether nothing is at a path.
fn is_missing(path: &Path) -> bool {
    matches!(std::fs::symlink_metadata(path), Err(e) if e.kind() == io::ErrorKind::NotFound)
}

impl Layout {
    pub fn new(root: &Path) -> Layout {
        Layout { root: root.to_owned() }
    }

    pub fn tenant(&self, tenant: &TenantId) -> PathBuf {
        if *tenant == TenantId::local() { self.root.clone() } else { self.root.join("tenants").join(tenant.as_str()) }
    }

    pub fn traces(&self, tenant: &TenantId) -> PathBuf {
        self.tenant(tenant).join("traces")
    }

    pub fn trace(&self, tenant: &TenantId, trace: &TraceId) -> PathBuf {
        self.traces(tenant).join(trace.as_str())
    }

    pub fn log(&self, tenant: &TenantId, trace: &TraceId) -> PathBuf {
        self.trace(tenant, trace).join("events.jsonl")
    }

    /// The log, if the trace exists.
    pub fn existing_log(&self, tenant: &TenantId, trace: &TraceId) -> Result<PathBuf, StoreError> {
        let path = self.log(tenant, trace);
        if let Some(error) = self.not_a_file(tenant, trace) {
            return Err(error);
        }
        match path.try_exists() {
            Ok(true) => Ok(path),
            Ok(false) => Err(self.lost(tenant, trace).unwrap_or_else(|| StoreError::NotFound { trace: trace.clone() })),
            Err(e) => Err(StoreError::io(format!("look at {}", path.display()), e)),
        }
    }

    /// Whether a trace may be there: it has a folder. One look at the disk.
    pub fn may_be_there(&self, tenant: &TenantId, trace: &TraceId) -> bool {
        !is_missing(&self.trace(tenant, trace))
    }

    /// Whether a trace is there and nobody has sent it anything. Two looks at the disk; false where it takes more to know.
    pub fn has_no_mailbox(&self, tenant: &TenantId, trace: &TraceId) -> bool {
        let is_there = std::fs::symlink_metadata(self.log(tenant, trace)).is_ok_and(|meta| meta.is_file());
        is_there && is_missing(&self.trace(tenant, trace).join("mailbox.jsonl"))
    }

    /// That something else lies in the place of one of the trace's own files: opening a pipe waits until somebody writes into it.
    fn not_a_file(&self, tenant: &TenantId, trace: &TraceId) -> Option<StoreError> {
        let folder = self.trace(tenant, trace);
        OWN_FILES.iter().find_map(|name| {
            let path = folder.join(name);
            let what = other_than_file(&path)?;
            Some(StoreError::NotAFile { trace: trace.clone(), file: path.display().to_string(), what })
        })
    }

    /// The problem of a trace whose log is not a file, or is missing although the trace had one: its owners recorded that it has begun, or its
    /// views are there, which are written after it.
    pub fn lost(&self, tenant: &TenantId, trace: &TraceId) -> Option<StoreError> {
        if let Some(error) = self.not_a_file(tenant, trace) {
            return Some(error);
        }
        let folder = self.trace(tenant, trace);
        let had_log = || Record::of(&folder).has_begun() || folder.join("meta.json").exists();
        let is_lost = !self.log(tenant, trace).exists() && had_log();
        is_lost.then(|| StoreError::LogMissing { trace: trace.clone(), folder: folder.display().to_string() })
    }

    /// Whether there is a trace, or what is left of one whose log is missing or no file.
    pub fn existing(&self, tenant: &TenantId, trace: &TraceId) -> Result<(), StoreError> {
        match self.existing_log(tenant, trace) {
            Ok(_) | Err(StoreError::LogMissing { .. } | StoreError::NotAFile { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub fn blobs(&self, tenant: &TenantId) -> PathBuf {
        self.tenant(tenant).join("blobs")
    }

    pub fn journals(&self) -> PathBuf {
        self.root.join("journal")
    }

    pub fn doorbell(&self) -> PathBuf {
        self.root.join("doorbell")
    }

    /// Which traces were leased or removed; only a hint.
    pub fn changes(&self) -> PathBuf {
        self.root.join("changes")
    }

    pub fn make_root(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.root)?;
        for dir in [self.root.join("traces"), self.journals()] {
            make_dir_durably(&dir)?;
        }
        Ok(())
    }

    /// Makes the trace's folder; whether there was none. That it is durable is the business of [`place`](Self::place), at the first append.
    pub fn make_trace(&self, tenant: &TenantId, trace: &TraceId) -> io::Result<bool> {
        if trace.elsewhere().is_some() {
            return Err(io::Error::other("it is one of another machine"));
        }
        let dir = self.trace(tenant, trace);
        match make_dir(&dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                self.make_tenant_dir(tenant, &self.traces(tenant))?;
                make_dir(&dir)
            }
            made => made,
        }
    }

    /// Makes a folder right under a tenant's own, durably.
    pub fn make_tenant_dir(&self, tenant: &TenantId, dir: &Path) -> io::Result<()> {
        make_dir_durably(&self.root.join("tenants"))?;
        make_dir_durably(&self.tenant(tenant))?;
        make_dir_durably(dir)
    }

    /// Makes it durable that the trace's folder and the files in it exist.
    pub fn place(&self, tenant: &TenantId, trace: &TraceId) -> io::Result<()> {
        sync_dir(&self.trace(tenant, trace))?;
        sync_dir(&self.traces(tenant))
    }

    /// The names of a tenant's traces, in no order.
    pub fn names(&self, tenant: &TenantId) -> Result<Vec<TraceId>, StoreError> {
        let mut names = Vec::new();
        self.each_name(tenant, |name| names.extend(name.parse::<TraceId>().ok()))?;
        Ok(names)
    }

    /// The same one after the other, without a copy of each: there may be a great many.
    pub fn each_name(&self, tenant: &TenantId, mut each: impl FnMut(&str)) -> Result<(), StoreError> {
        let dir = self.traces(tenant);
        let of_trace =
            |name: &[u8]| str::from_utf8(name).ok().filter(|name| TraceId::is_name(name)).map_or((), &mut each);
        match each_entry(&dir, of_trace) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|e| StoreError::io(format!("list {}", dir.display()), e)),
        }
    }

    pub fn list(&self, tenant: &TenantId) -> Result<Vec<TraceEntry>, StoreError> {
        let mut list = Vec::new();
        for trace in self.names(tenant)? {
            // A trace may be removed while we look.
            let Ok(log) = std::fs::metadata(self.log(tenant, &trace)) else { continue };
            if !log.is_file() {
                continue;
            }
            let modified = log.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
            list.push(TraceEntry { trace, modified: Millis::try_from(modified.as_millis()).unwrap_or(Millis::MAX) });
        }
        newest_first(&mut list);
        Ok(list)
    }
}

/// Shows what is in a folder, as the kernel gives it: `std` copies each name twice, which takes longer than the kernel does.
#[cfg(target_os = "linux")]
fn each_entry(dir: &Path, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let folder = File::open(dir)?;
    let mut buffer = Vec::with_capacity(1 << 15);
    let mut entries = rustix::fs::RawDir::new(&folder, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        match entry?.file_name().to_bytes() {
            b"." | b".." => {}
            name => each(name),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn each_entry(dir: &Path, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        each(std::os::unix::ffi::OsStrExt::as_bytes(&*entry?.file_name()));
    }
    Ok(())
}

/// Makes a folder for its owner only; whether there was none.
fn make_dir(dir: &Path) -> io::Result<bool> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e),
    }
}

/// The same, and that it exists is durable.
pub(crate) fn make_dir_durably(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => dir.parent().map_or(Ok(()), sync_dir),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e),
    }
}

pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// To read and append a file beside the log of a trace; made if it is not there. Errors: it is a link, which may lead anywhere.
pub(crate) fn open_beside(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options.open(path).map_err(|error| match error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
        true => io::Error::other("it is a link; remove it"),
        false => error,
    })
}

/// To append; not made.
pub(crate) fn open_to_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

/// Writes the file whole or not at all; the new name's durability is the caller's business.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temp = path.with_file_name(format!(".tmp-{}-{count}", std::process::id()));
    let write = || {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp)?;
        io::Write::write_all(&mut &file, bytes)?;
        if sync {
            file.sync_data()?;
        }
        std::fs::rename(&temp, path)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&temp);
    })
}
