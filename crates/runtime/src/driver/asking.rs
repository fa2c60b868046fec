//! Asking the model: what it is shown, as bytes.

use super::{DriveError, Driver};
use crate::effects::{Asking, call_model, finished, too_long, unusable};
use crate::hub::Live;
use crate::prefix::Prefix;
use crate::request::{Asked, extend};
use crate::texts::Events;
use mainpath_core::{Bodies, EffectKey, Item, Log, Packed, State};
use mainpath_types::{EventId, EventKind, Seq};
use std::sync::atomic::{AtomicBool, Ordering};
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
        let mut gone = extend(&mut self.prefix, provider, (state, &self.bodies), packed, store).await?;
        if gone.is_none() {
            // The prefix broke, and what is shown again lies further back in the log: what is kept of its beginning, and its end.
            let trace = self.lease.trace();
            let from = oldest_needed(state, packed, &self.early);
            let end = self.shared.config.store.read(&self.scope, trace, from).await?;
            let found = Found { early: &self.early, end: Events(&end.events), missed: AtomicBool::new(false) };
            gone = extend(&mut self.prefix, provider, (state, &found), packed, store).await?;
            if gone.is_none() || found.missed.load(Ordering::Relaxed) {
                self.prefix = Prefix::default();
                let log = self.shared.config.store.read(&self.scope, trace, 1).await?;
                let whole = Events(&log.events);
                gone = extend(&mut self.prefix, provider, (state, &whole), packed, store).await?;
                let erased =
                    || DriveError::Spec("a message that the model must see was erased; rewind before it".into());
                gone.as_ref().ok_or_else(erased)?;
                self.early = early(state, packed, &whole);
            } else {
                let early = early(state, packed, &found);
                self.early = early;
            }
        }
        for blob in gone.into_iter().flatten().filter(|blob| self.gone.insert(blob.clone())) {
            let trace = self.lease.trace();
            self.handle.tell(Live::Notice(format!(
                "a part of the conversation is lost (blob {blob}): the model is told so in its place; mainpath verify {trace} names \
                 what is lost"
            )));
        }
        // All that the prefix holds need not be kept twice.
        self.bodies = Log::default();
        self.whole = false;
        Ok(self.prefix.body(asked.provider.codec(), before, after))
    }
}

/// What is at hand of a log: what is kept of its beginning, and its end. It notes whether anything else was asked for.
struct Found<'a> {
    early: &'a Log,
    end: Events<'a>,
    missed: AtomicBool,
}

impl Bodies for Found<'_> {
    fn get(&self, event: EventId) -> Option<&EventKind> {
        let found = self.end.get(event).or_else(|| self.early.get(event));
        self.missed.fetch_or(found.is_none(), Ordering::Relaxed);
        found
    }
}

/// The events whose texts a request shows, those that name its calls included.
fn needed(state: &State, packed: &Packed) -> impl Iterator<Item = EventId> {
    let of = |item: &Item| {
        let call = if let Item::Result { call, .. } | Item::Recalled { call, .. } = item { Some(*call) } else { None };
        let asked = call.and_then(|call| state.tree.node(call.seq)).map(|node| node.event);
        let arguments = call.and_then(|call| state.calls.get(call)).map(|call| call.arguments);
        [item.event(), asked, arguments]
    };
    let cut = packed.under.cut.and_then(|seq| state.tree.cut_at(Some(seq)));
    let summaries = cut.into_iter().flat_map(|cut| [cut.summary, cut.base, cut.by_model]);
    packed.items.iter().flat_map(of).chain(summaries).flatten()
}

/// From where on the log has to be read for a request, beyond what is kept of its beginning.
fn oldest_needed(state: &State, packed: &Packed, early: &Log) -> EventId {
    needed(state, packed).filter(|event| early.get(*event).is_none()).min().unwrap_or(1)
}

/// What a later request shows of the log's beginning, should the prefix break again: the task and whatever else stands before
/// the summary.
fn early(state: &State, packed: &Packed, bodies: &dyn Bodies) -> Log {
    let floor = packed.under.cut.map_or(Seq(0), |seq| state.tree.floor(Some(seq)));
    let is_early =
        |item: &&Item| item.seq().is_some_and(|seq| seq < floor) || matches!(item, Item::User { seq: Seq(1), .. });
    let events = packed.items.iter().filter(is_early).filter_map(Item::event);
    events.filter_map(|event| Some((event, bodies.get(event)?.clone()))).collect()
}

/// The characters of a body in segments.
fn characters(body: &[bytes::Bytes]) -> usize {
    // Every character has one byte that does not go on with another.
    let begins = |byte: &&u8| !(0x80..0xC0).contains(*byte);
    body.iter().map(|segment| segment.iter().filter(begins).count()).sum()
}
