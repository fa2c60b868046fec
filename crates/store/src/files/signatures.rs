//! Signatures of a log's heads: lines beside it, of which the store knows nothing but that they are lines.

use super::layout::{Layout, open_or_make};
use crate::checks::one_signature;
use crate::regular::read_regular;
use crate::store::StoreError;
use mainpath_types::{TenantId, TraceId};
use rustix::fs::{FlockOperation, flock};
use std::io::{self, Read, Write};
use std::path::PathBuf;

fn place(layout: &Layout, tenant: &TenantId, trace: &TraceId) -> Result<PathBuf, StoreError> {
    layout.existing_log(tenant, trace)?;
    Ok(layout.trace(tenant, trace).join("signatures.jsonl"))
}

/// See [`Store::add_signature`](crate::Store::add_signature).
pub(crate) fn add(layout: &Layout, tenant: &TenantId, trace: &TraceId, line: &str) -> Result<(), StoreError> {
    one_signature(line)?;
    let path = place(layout, tenant, trace)?;
    let write = || -> io::Result<()> {
        let mut file = open_or_make(&path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at as u64 + 1);
        // A piece of a line that a crash left was never acknowledged.
        file.set_len(end)?;
        let written = file.write_all(format!("{line}\n").as_bytes()).and_then(|()| file.sync_data());
        if let Err(error) = written {
            let _ = file.set_len(end);
            return Err(error);
        }
        if end == 0 { layout.place(tenant, trace) } else { Ok(()) }
    };
    write().map_err(|e| StoreError::io(format!("write {}", path.display()), e))
}

/// See [`Store::signatures`](crate::Store::signatures).
pub(crate) fn read(layout: &Layout, tenant: &TenantId, trace: &TraceId) -> Result<Vec<u8>, StoreError> {
    let path = place(layout, tenant, trace)?;
    match read_regular(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|e| StoreError::io(format!("read {}", path.display()), e)),
    }
}
