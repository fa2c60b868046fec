//! A trace that is made with a log.

use super::changes;
use super::inner::Inner;
use super::layout::write_whole;
use super::record::{Record, take_lock};
use super::removal::take_out;
use crate::append::encode_batch;
use crate::line::HeadHash;
use crate::store::StoreError;
use mainpath_types::{Event, TenantId, TraceId};
use std::io;

/// See [`Store::begin`](crate::Store::begin). A trace is there once its log is, and the log comes by a rename.
pub(crate) fn begin(inner: &Inner, tenant: &TenantId, trace: &TraceId, log: &[Event]) -> Result<(), StoreError> {
    let making = |e: io::Error| StoreError::io(format!("make trace {trace}"), e);
    let layout = &inner.layout;
    let path = layout.log(tenant, trace);
    let exists = || StoreError::Exists { trace: trace.clone() };
    // One that is there is told so also while somebody has it.
    if path.try_exists().map_err(making)? {
        return Err(exists());
    }
    let is_new = layout.make_trace(tenant, trace).map_err(making)?;
    if let Some(lost) = (!is_new).then(|| layout.lost(tenant, trace)).flatten() {
        return Err(lost);
    }
    let dir = layout.trace(tenant, trace);
    let (lock, record) = take_lock(&dir, trace).inspect_err(|_| {
        if is_new {
            let _ = std::fs::remove_dir(&dir);
        }
    })?;
    changes::note(&layout.changes(), tenant, trace);
    if path.try_exists().map_err(making)? {
        return Err(exists());
    }
    let genesis = HeadHash::genesis(tenant, trace);
    let encoded = encode_batch(inner.options.salts, 0, &genesis, 0, log);
    let encoded = encoded.map_err(|refused| making(io::Error::other(refused.to_string())))?;
    let bytes = encoded.map_or_else(Vec::new, |(bytes, _)| bytes);
    let written = write_whole(&path, &bytes, true).and_then(|()| layout.place(tenant, trace)).map_err(making);
    if written.is_ok() && !log.is_empty() {
        // The next owner writes it as well.
        let _ = Record { begun: true, ..record }.write(&lock);
    }
    if written.is_err() && path.try_exists().is_ok_and(|is_there| !is_there) {
        // Nothing of it is left, as nobody was told that it began.
        let _ = take_out(layout, tenant, trace);
    }
    drop(lock);
    written
}
