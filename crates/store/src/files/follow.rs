//! Who stays with a trace while it waits for a person: nobody owns it then, and what is sent to it is read all the same.

use super::layout::Layout;
use crate::store::StoreError;
use mainpath_types::{TenantId, TraceId};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// Says that this process stays with a trace, until it is dropped or the process ends. Others may do so as well.
#[derive(Debug)]
pub struct Following(File);

impl Drop for Following {
    fn drop(&mut self) {
        unlock(&self.0);
    }
}

/// Closing is not enough while a child process that is just being started still has a copy.
fn unlock(file: &File) {
    let _ = flock(file, FlockOperation::Unlock);
}

/// See [`FilesStore::follow`](super::FilesStore::follow).
pub(crate) fn follow(layout: &Layout, tenant: &TenantId, trace: &TraceId) -> Result<Following, StoreError> {
    layout.existing_log(tenant, trace)?;
    let folder = layout.trace(tenant, trace);
    let following = |e: io::Error| StoreError::io(format!("follow {}", folder.display()), e);
    let file = File::open(&folder).map_err(following)?;
    flock(&file, FlockOperation::LockShared).map_err(|e| following(e.into()))?;
    Ok(Following(file))
}

/// See [`FilesStore::is_followed`](super::FilesStore::is_followed).
pub(crate) fn is_followed(layout: &Layout, tenant: &TenantId, trace: &TraceId) -> Result<bool, StoreError> {
    layout.existing(tenant, trace)?;
    let folder = layout.trace(tenant, trace);
    let looking = |e: io::Error| StoreError::io(format!("look at {}", folder.display()), e);
    // One looks at a time: two would take each other for somebody who stays.
    let looks = File::open(layout.traces(tenant)).map_err(looking)?;
    flock(&looks, FlockOperation::LockExclusive).map_err(|e| looking(e.into()))?;
    let found = File::open(&folder).and_then(|file| match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            unlock(&file);
            Ok(false)
        }
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(e) => Err(e.into()),
    });
    unlock(&looks);
    found.map_err(looking)
}
