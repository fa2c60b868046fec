//! Behind the store's back, for tests.

use mainpath_types::{TenantId, TraceId};

/// A log's bytes, to look at and to spoil.
pub trait Raw {
    /// The log as it lies there; empty for a trace that does not exist.
    fn log_bytes(&self, tenant: &TenantId, trace: &TraceId) -> Vec<u8>;
    /// Puts other bytes in the log's place; does nothing for a trace that does not exist.
    fn set_log_bytes(&self, tenant: &TenantId, trace: &TraceId, bytes: &[u8]);
}
