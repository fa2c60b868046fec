//! What the driver makes of the log: the summary that needs no model, and answers to a model that looks back.

use super::{DriveError, Driver};
use crate::look_back;
use crate::views::summarised;
use mainpath_core::*;

impl Driver {
    /// Answers the calls of an answer that look into what is no longer shown.
    pub(super) async fn look_back(&mut self, kind: InputKind) -> Result<InputKind, DriveError> {
        let (store, scope) = (&*self.shared.config.store, &self.scope);
        let log = store.read(scope, self.lease.trace(), 1).await?;
        let mut bodies = Log::default();
        bodies.extend(&log.events);
        let (state, tools) = (self.machine.state(), &self.shared.config.tools);
        Ok(look_back::settle(kind, state, tools, &bodies, (store, scope)).await)
    }

    /// The summary by rules of the main path, of at most so many tokens. A text that is not there any more is not in it.
    pub(super) async fn summarise(&mut self, most: u32) -> Result<InputKind, DriveError> {
        let (store, scope) = (&*self.shared.config.store, &self.scope);
        let log = store.read(scope, self.lease.trace(), 1).await?;
        let mut bodies = Log::default();
        bodies.extend(&log.events);
        let found = summarised(store, scope, self.machine.state(), &bodies).await?;
        let (text, tokens) = summary_text(found, most);
        Ok(InputKind::Summarised { text, tokens })
    }
}
