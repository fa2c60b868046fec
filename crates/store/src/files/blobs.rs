//! Blobs: content under its hash.

use super::layout::{Layout, make_dir_durably, sync_dir, write_whole};
use crate::checks::{blob_hash, check_blob, hash_text};
use crate::private::open_or_make;
use crate::regular::read_regular;
use crate::report::BlobFault;
use crate::store::StoreError;
use mainpath_types::{BlobHash, TenantId};
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

fn folder(layout: &Layout, tenant: &TenantId, hash: &BlobHash) -> PathBuf {
    layout.blobs(tenant).join(hash.as_str().get(..2).unwrap_or_default())
}

pub(crate) fn put(layout: &Layout, tenant: &TenantId, bytes: &[u8]) -> Result<BlobHash, StoreError> {
    let hash = blob_hash(bytes)?;
    let dir = folder(layout, tenant, &hash);
    let path = dir.join(hash.as_str());
    let write = || {
        layout.make_tenant_dir(tenant, &layout.blobs(tenant))?;
        // Nobody collects it between the look and the touch; from then on it is young.
        let _lock = lock_blobs(&layout.blobs(tenant), FlockOperation::LockShared)?;
        // Read rather than trusted: putting a blob again mends one that was spoilt.
        if std::fs::read(&path).is_ok_and(|there| there == bytes) {
            File::options().write(true).open(&path)?.set_modified(SystemTime::now())?;
        } else {
            make_dir_durably(&dir)?;
            write_whole(&path, bytes, true)?;
        }
        // Also if it was there: whoever put it may not have come to this yet.
        sync_dir(&dir)
    };
    write().map_err(|e: io::Error| StoreError::io(format!("write {}", path.display()), e))?;
    Ok(hash)
}

/// A blob's size, if it is there and what its name says; it is read in pieces. Errors: what is wrong with it.
pub(crate) fn check(layout: &Layout, tenant: &TenantId, hash: &BlobHash) -> Result<u64, BlobFault> {
    let path = folder(layout, tenant, hash).join(hash.as_str());
    let mut file = match File::open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(BlobFault::Missing),
        Err(e) => return Err(e.into()),
        Ok(file) => file,
    };
    let (mut sum, mut size, mut window) = (Sha256::new(), 0, vec![0; 256 << 10]);
    loop {
        let read = match file.read(&mut window) {
            Ok(0) => break,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e.into()),
            Ok(read) => read,
        };
        sum.update(window.get(..read).unwrap_or_default());
        size += read as u64;
    }
    match hash_text(&sum.finalize().into()) == hash.as_str() {
        true => Ok(size),
        false => Err(BlobFault::Changed { path, size }),
    }
}

pub(crate) fn get(layout: &Layout, tenant: &TenantId, hash: &BlobHash) -> Result<Vec<u8>, StoreError> {
    let path = folder(layout, tenant, hash).join(hash.as_str());
    match read_regular(&path) {
        Ok(bytes) => check_blob(&path.display().to_string(), hash, bytes),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(StoreError::NoBlob { hash: hash.clone() }),
        Err(e) => Err(StoreError::io(format!("read {}", path.display()), e)),
    }
}

/// Held by whoever puts a blob (shared) or removes some (exclusively).
pub(crate) fn lock_blobs(blobs: &Path, how: FlockOperation) -> io::Result<File> {
    let file = open_or_make(&blobs.join(".lock"))?;
    flock(&file, how)?;
    Ok(file)
}
