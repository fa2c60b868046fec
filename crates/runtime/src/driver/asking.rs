//! Asking the model: what it is shown, as bytes.

use super::{DriveError, Driver};
use crate::effects::{Asking, call_model, finished, too_long, unusable};
use crate::request::{Asked, extend};
use mainpath_core::{EffectKey, Log};
use tokio_util::task::AbortOnDropHandle;

impl Driver {
    pub(super) async fn call_model(&mut self, key: EffectKey, request: u32) -> Result<(), DriveError> {
        let falls_back = self.machine.state().spec.as_ref().is_some_and(|spec| spec.using > 0);
        let around = self.around().await?;
        let asked = match &around.prepared.model {
            Ok(asked) => asked,
            Err(problem) if falls_back => {
                let problem = self.shared.config.vault.redact(problem);
                self.start(key, |_| unusable(request, problem));
                return Ok(());
            }
            Err(problem) => return Err(DriveError::Spec(problem.clone())),
        };
        if self.task.is_none() && self.machine.state().goals.is_empty() {
            self.task().await;
        }
        self.note_origins().await?;
        let (body, sent) = self.body(asked).await?;
        let state = self.machine.state();
        if let Some(most) = state.limits().and_then(|limits| limits.context_chars)
            && let has = characters(&body).saturating_sub(self.prefix.media())
            && has > most as usize
        {
            self.start(key, |_| too_long(request, has, most));
            return Ok(());
        }
        let run = state.run.as_ref();
        let how = Asking {
            failures: run.map_or(0, |run| run.model_failures),
            summary: state.wants_summary(),
            // Neither a repetition begins one, nor a repair or a summary.
            begins: run
                .filter(|run| run.model_failures == 0 && state.branch.is_none())
                .map(|run| (state.turn_number, run.turns == 1)),
            ruled: self.ruled(),
        };
        // A task of its own: an answer comes in thousands of pieces, and none of them is the driver's business.
        let call = AbortOnDropHandle::new(tokio::spawn(call_model(around, request, body, sent, how)));
        self.start(key, |_| finished(call));
        Ok(())
    }

    /// The request's body and its hash. Only what is new since the last request is encoded.
    async fn body(&mut self, asked: &Asked) -> Result<(Vec<bytes::Bytes>, String), DriveError> {
        let state = self.machine.state();
        let missing = || DriveError::Spec("the trace has no spec".into());
        let packed = self.packer.pack(state).ok_or_else(missing)?;
        let store = (&*self.shared.config.store, &self.scope);
        let (before, after) = asked.frames.of(packed.under);
        let provider = (&*asked.provider, &before[..], asked.text);
        if extend(&mut self.prefix, provider, (state, &self.bodies), packed, store).await?.is_none() {
            // The prefix broke, and what is shown again lies further back in the log.
            let log = self.shared.config.store.read(&self.scope, self.lease.trace(), 1).await?;
            self.bodies = log.events.into_iter().collect();
            let whole = extend(&mut self.prefix, provider, (state, &self.bodies), packed, store).await?;
            let erased = || DriveError::Spec("a message that the model must see was erased; rewind before it".into());
            whole.ok_or_else(erased)?;
        }
        // All that the prefix holds need not be kept twice.
        self.bodies = Log::default();
        self.whole = false;
        Ok(self.prefix.body(asked.provider.codec(), before, after))
    }
}

/// The characters of a body in segments.
fn characters(body: &[bytes::Bytes]) -> usize {
    // Every character has one byte that does not go on with another.
    let begins = |byte: &&u8| !(0x80..0xC0).contains(*byte);
    body.iter().map(|segment| segment.iter().filter(begins).count()).sum()
}
