//! What a log must be to be driven on.

use crate::driver::error::DriveError;
use mainpath_store::ReadLog;
use mainpath_types::TailCut;

/// What was cut off the log's end when it was opened.
pub(super) fn tail_cut(log: &ReadLog) -> Option<TailCut> {
    log.tail_cut.as_ref().map(|cut| TailCut { bytes: cut.bytes, kept: cut.kept.clone() })
}

/// A damaged or newer log is not written to.
pub(crate) fn writable(log: &ReadLog) -> Result<(), DriveError> {
    if let Some(damage) = &log.damage {
        return Err(DriveError::unwritable(format!("it is damaged: {damage}; it can be read up to there")));
    }
    if log.newer {
        return Err(DriveError::unwritable("it was written by a newer Mainpath; use that one"));
    }
    Ok(())
}
