//! What a scheduler says.

use mainpath_types::{TenantId, TraceId};

/// A trace to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wake {
    /// Whose.
    pub tenant: TenantId,
    /// Which.
    pub trace: TraceId,
}
