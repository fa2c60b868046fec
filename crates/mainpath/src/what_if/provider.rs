//! The model of a run that is decided again.

use crate::recorded::RecordedAnswer;
use mainpath_providers::{Call, Codec, Fut, Provider};
use mainpath_types::{Delta, ModelError, ModelReply};
use std::sync::{Arc, Mutex, PoisonError};

/// Gives one recorded answer first, where the runs part only by what became of its calls; then it is the model itself.
pub(super) struct FirstRecorded {
    pub first: Mutex<Option<RecordedAnswer>>,
    pub then: Arc<dyn Provider>,
}

impl Provider for FirstRecorded {
    fn codec(&self) -> &dyn Codec {
        self.then.codec()
    }

    fn call<'a>(
        &'a self,
        call: Call<'a>,
        deltas: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        match first {
            Some(RecordedAnswer { parts, usage, stop, .. }) => {
                Box::pin(async move { Ok(ModelReply { parts, usage: Some(usage), stop, model: None }) })
            }
            None => self.then.call(call, deltas),
        }
    }
}
