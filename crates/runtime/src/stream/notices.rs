//! Words about the driving itself, for whoever watches.

use crate::secrets::Vault;
use crate::stream::hub::{Handle, Live};

/// Tells watchers, without secrets.
#[derive(Clone, Copy)]
pub(crate) struct Notices<'a> {
    pub handle: &'a Handle,
    pub vault: &'a Vault,
}

impl Notices<'_> {
    /// Tells a line, redacted.
    pub fn tell(&self, line: &str) {
        self.handle.tell(Live::Notice(self.vault.redact(line)));
    }
}
