//! Asking the model: what it is shown, as bytes.

use crate::driver::Driver;
use crate::driver::error::DriveError;
use crate::effects::model::{ModelAttempt, call_model, finished, too_long, unusable};
use crate::gate::destinations::acts;
use crate::prepared::PreparedModel;
use crate::prompt::found::{Found, characters, early, oldest_needed};
use crate::prompt::prefix::Prefix;
use crate::prompt::request::{Encoding, Sources, extend};
use crate::prompt::texts::Events;
use crate::stream::hub::Live;
use crate::unusable::Unusable;
use mainpath_core::{EffectKey, Log};
use mainpath_store::TraceStore;
use mainpath_types::Origin;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::task::AbortOnDropHandle;

impl Driver {
    pub(super) async fn call_model(&mut self, key: EffectKey, request: u32) -> Result<(), DriveError> {
        let falls_back = self.machine.state().spec.as_ref().is_some_and(|spec| spec.using > 0);
        let context = self.context().await?;
        let asked = match &context.prepared.model {
            Ok(asked) => asked,
            Err(problem) if falls_back => {
                let problem = self.shared.config.vault.redact(&problem.to_string());
                self.in_flight.start(key, |_| unusable(request, problem));
                return Ok(());
            }
            Err(problem) => return Err(DriveError::Spec(problem.clone().into())),
        };
        if self.task.is_none() && self.machine.state().goals.is_empty() {
            self.task().await;
        }
        self.note_origins().await?;
        let (body, sent) = self.body(asked).await?;
        let state = self.machine.state();
        if let Some(most) = state.limits().and_then(|limits| limits.context_chars)
            && let has = characters(&body).saturating_sub(self.encoded.prefix.media())
            && has > most as usize
        {
            self.in_flight.start(key, |_| too_long(request, has, most));
            return Ok(());
        }
        let run = state.run.as_ref();
        let attempt = ModelAttempt {
            failures: run.map_or(0, |run| run.model_failures),
            summary: state.wants_summary(),
            // Neither a repetition begins one, nor a repair or a summary.
            begins: run
                .filter(|run| run.model_failures == 0 && state.branch.is_none())
                .map(|run| (state.counts.turns, run.turns == 1)),
            judged_by: self.judge_input(),
        };
        // A task of its own: an answer comes in thousands of pieces, and none of them is the driver's business.
        let call = AbortOnDropHandle::new(tokio::spawn(call_model(context, request, body, sent, attempt)));
        self.in_flight.start(key, |_| finished(call));
        Ok(())
    }

    /// The request's body and its hash. Only what is new since the last request is encoded.
    async fn body(&mut self, asked: &PreparedModel) -> Result<(Vec<bytes::Bytes>, String), DriveError> {
        let state = self.machine.state();
        let missing = || DriveError::Spec(Unusable::NoSpec);
        let packed = self.encoded.packer.pack(state).ok_or_else(missing)?;
        let trace = TraceStore::new(&*self.shared.config.store, &self.scope, self.lease.trace());
        let store = trace.scoped();
        let (before, after) = asked.frames.of(packed.under);
        let encoding = Encoding { provider: &*asked.provider, before: &before[..], text: asked.text };
        let mut gone =
            extend(&mut self.encoded.prefix, packed, encoding, Sources { state, bodies: &self.cached.bodies, store })
                .await?;
        if gone.is_none() {
            // The prefix broke, and what is shown again lies further back in the log: what is kept of its beginning, and its end.
            let from = oldest_needed(state, packed, &self.encoded.early);
            let end = trace.read(from).await?;
            let found = Found { early: &self.encoded.early, end: Events(&end.events), missed: AtomicBool::new(false) };
            gone = extend(&mut self.encoded.prefix, packed, encoding, Sources { state, bodies: &found, store }).await?;
            if gone.is_none() || found.missed.load(Ordering::Relaxed) {
                self.encoded.prefix = Prefix::default();
                let log = trace.read(1).await?;
                let whole = Events(&log.events);
                gone = extend(&mut self.encoded.prefix, packed, encoding, Sources { state, bodies: &whole, store })
                    .await?;
                gone.as_ref().ok_or(DriveError::Spec(Unusable::MessageErased))?;
                self.encoded.early = early(state, packed, &whole);
            } else {
                let early = early(state, packed, &found);
                self.encoded.early = early;
            }
        }
        for blob in gone.into_iter().flatten().filter(|blob| self.gone.insert(blob.clone())) {
            self.handle.tell(Live::Notice(format!(
                "a part of the conversation is lost (blob {blob}): the model is told so in its place; verifying the trace \
                 names what is lost"
            )));
        }
        // All that the prefix holds need not be kept twice.
        self.cached.bodies = Log::default();
        self.cached.whole = false;
        Ok(self.encoded.prefix.body(asked.provider.codec(), before, after))
    }

    /// Takes in where what was said since the last look came from.
    pub(super) async fn note_origins(&mut self) -> Result<(), DriveError> {
        // Who may ask servers has to know which of them people named, and who acts, to whom.
        let prepared = self.prepared().await?;
        let tools = &self.shared.config.tools;
        let reaches_out = prepared.rules.allowed_tools.iter().any(|name| {
            let doc = tools.doc(name).filter(|doc| !doc.internal);
            doc.is_some_and(|doc| matches!(doc.origin, Origin::Web | Origin::Mcp) || acts(doc.effect))
        });
        let trace = TraceStore::new(&*self.shared.config.store, &self.scope, self.lease.trace());
        let last = self.machine.state().log.last;
        Ok(self.provenance.take_in(&self.cached.bodies, last, reaches_out, tools, trace).await?)
    }
}
