//! The agents that a recorded run started: none is started again, each comes to what it came to.

use super::playing::{CallAt, Playing};
use mainpath_runtime::{ChildAgent, ChildError, ChildSpecs, Parent};
use mainpath_store::Fut;
use mainpath_tools::AgentCall;
use mainpath_types::{CallId, SubTraceCompleted};
use std::sync::Arc;

/// Says what agents came to, as long as the run is the recorded one.
pub(super) struct RecordedChildren(pub Arc<Playing>);

impl ChildSpecs for RecordedChildren {
    fn child(&self, _: Parent<'_>, _: &AgentCall) -> Result<ChildAgent, ChildError> {
        Err(ChildError::host("this agent was not recorded with what comes before it; none was started"))
    }

    fn problem(&self, _: Parent<'_>, _: &AgentCall) -> Option<ChildError> {
        // What it came to is in the recording, whatever it was.
        None
    }

    fn known(&self, call: CallId, nth: u16) -> Fut<'_, Option<SubTraceCompleted>> {
        Box::pin(async move {
            // What cannot be told is not started either.
            let CallAt { call: recorded, .. } = self.0.recorded_call(call).await.ok()??;
            let known = recorded.children.iter().find(|child| child.nth == nth)?.clone();
            // Its text names patches, which lie beside the log.
            self.0.end_as_recorded(call);
            Some(known)
        })
    }
}
