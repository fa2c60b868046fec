//! A request of a trace as it was sent, computed from the log again.

use super::replay::encoder;
use crate::models::Models;
use crate::prompt::prefix::Prefix;
use crate::prompt::request::{Encoding, Sources, extend};
use mainpath_core::{Log, State, apply, pack};
use mainpath_store::{StoreError, TraceStore};
use mainpath_types::EventKind;

/// A request as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentRequest {
    /// Its number in the trace.
    pub request: u32,
    /// The turn that it began.
    pub turn: u32,
    /// The model that was asked.
    pub model: String,
    /// The body, without secrets, in the form of the model's vendor.
    pub body: Vec<u8>,
}

/// A request of a trace by its number. `None`: there is none, or its model's form is not known here. Errors: the log or a blob cannot be read.
pub async fn sent(trace: TraceStore<'_>, models: &dyn Models, number: u32) -> Result<Option<SentRequest>, StoreError> {
    let events = trace.read(1).await?.events;
    let mut state = State::new(trace.trace.clone());
    let is_it = |kind: &EventKind| matches!(kind, EventKind::ModelRequested(data) if data.request == number);
    let Some(at) = events.iter().position(|event| is_it(&event.kind)) else { return Ok(None) };
    let known = events.get(..=at).unwrap_or_default();
    known.iter().for_each(|event| apply(&mut state, event));
    let mut bodies = Log::default();
    bodies.extend(known);
    let Some(packed) = pack(&state) else { return Ok(None) };
    let Some(encoder) = encoder(models, known, packed.under) else { return Ok(None) };
    let (before, after) = encoder.frames.of(packed.under);
    let encoding = Encoding { provider: &*encoder.provider, before, text: encoder.text };
    let sources = Sources { state: &state, bodies: &bodies, store: trace.scoped() };
    let mut prefix = Prefix::default();
    if extend(&mut prefix, &packed, encoding, sources).await?.is_none() {
        return Ok(None);
    }
    let (segments, _) = prefix.body(encoder.provider.codec(), before, after);
    let turn = state.counts.turns;
    Ok(Some(SentRequest { request: number, turn, model: encoder.model, body: segments.concat() }))
}
