//! Forks.

use crate::error::RuntimeError;
use crate::runtime::Runtime;
use mainpath_store::Scope;
use mainpath_types::{Seq, TraceId};

impl Runtime {
    /// Makes the trace `new` as a fork of another at a message; 0 is before the first. Nothing runs in it: send it mail and
    /// resume it. Blobs are shared. The other trace may be running, and is left as it is.
    ///
    /// Errors: there is no such trace or message, or there is a trace of the new name.
    pub async fn fork(&self, scope: &Scope, from: &TraceId, at: Seq, new: &TraceId) -> Result<(), RuntimeError> {
        // What a machine says of an agent is no spec for one here, which could do more than anybody here has allowed.
        if from.elsewhere().is_some() {
            return Err(RuntimeError::Remote(from.clone()));
        }
        let config = self.config();
        let log = config.store.read(scope, from, 1).await?;
        let forked = mainpath_core::fork(from, &log.events, at, new, &scope.principal, (config.clock)());
        let forked = forked.map_err(RuntimeError::Refused)?;
        Ok(config.store.begin(scope, new, forked).await?)
    }
}
