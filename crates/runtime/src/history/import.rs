//! Conversations in and out: taking in what was said elsewhere, and giving out what a trace would show next.

use crate::driver::error::DriveError;
use crate::error::RuntimeError;
use crate::history::views::summarised;
use crate::prompt::gone::Gone;
use crate::prompt::media;
use crate::prompt::texts::{Hydrated, load, offload};
use crate::secrets::Vault;
use mainpath_core::{Input, InputKind, Log, Machine, Refusal, State, message, pack, said};
use mainpath_providers::history;
use mainpath_store::{Appended, Lease, Opened, ScopedStore, StoreError, TraceStore};
use mainpath_types::{
    Event, EventId, Message, MessageImported, Millis, Part, Principal, Profile, Recorded, Role, Seq, Spec, SpecChanged,
    ToolOutput,
};
use std::sync::Arc;

/// How many events are appended at a time.
const BATCH: usize = 500;

/// Whom a conversation comes from, and when.
#[derive(Clone, Debug)]
pub struct Origin<'a> {
    /// A file's name, or what a program calls itself.
    pub source: &'a str,
    /// The time.
    pub now: Millis,
}

/// A trace that nobody drives and that is in no run, held while messages from elsewhere are added to it.
pub struct Intake<'a> {
    store: ScopedStore<'a>,
    vault: &'a Vault,
    lease: Lease,
    machine: Machine,
    /// The last event that is in the log.
    head: EventId,
    batch: Vec<Event>,
}

impl<'a> Intake<'a> {
    /// Takes hold of a trace. A new one gets the spec first. Errors: it is being driven or in a run, is damaged, or has no spec.
    pub async fn open(
        at: TraceStore<'a>,
        vault: &'a Vault,
        spec: Option<Spec>,
        now: Millis,
    ) -> Result<Intake<'a>, RuntimeError> {
        let Opened { lease, log } = at.store.lease(at.scope, at.trace, spec.is_some()).await?;
        if let Some(damage) = &log.damage {
            return Err(RuntimeError::Damaged(damage.clone()));
        }
        let machine = Machine::fold(at.trace.clone(), &log.events);
        let mut intake = Intake { store: at.scoped(), vault, lease, machine, head: log.head, batch: Vec::new() };
        if let Some(mut spec) = spec {
            vault.redact_spec(&mut spec)?;
            intake.offer(InputKind::SetSpec { spec: Arc::new(spec), by: None }, now)?;
        }
        Ok(intake)
    }

    /// Whether something was said in it.
    pub fn has_begun(&self) -> bool {
        self.machine.state().tree.head.is_some()
    }

    /// Whether messages can be added: the trace is in no run.
    pub fn is_free(&self) -> bool {
        self.machine.state().can_take_in()
    }

    /// Adds messages, and says how many. Texts are redacted, long ones go into blobs. What is acknowledged is durable; where
    /// it breaks off, every message that is there is whole. Errors: the trace is in a run, or the log cannot be written.
    pub async fn add(&mut self, messages: Vec<history::Whole>, from: Origin<'_>) -> Result<usize, RuntimeError> {
        let count = messages.len();
        let source = self.vault.redact(from.source);
        for history::Whole { role, mut parts } in messages {
            redact(self.vault, &mut parts);
            offload(self.store, &mut parts).await?;
            let message = imported(role, parts, source.clone(), &self.store.scope.principal);
            self.offer(InputKind::Import(Box::new(message)), from.now)?;
            if self.batch.len() >= BATCH {
                self.append().await?;
            }
        }
        self.append().await?;
        Ok(count)
    }

    fn offer(&mut self, kind: InputKind, now: Millis) -> Result<(), RuntimeError> {
        let trace = self.lease.trace();
        let events = self.machine.handle(&Input::new(now, kind)).map_err(|refusal| match refusal {
            Refusal::Running => RuntimeError::Unfinished(trace.clone()),
            other => RuntimeError::Refused(other),
        })?;
        self.machine.commit(events.last().map_or(0, |event| event.id));
        self.batch.extend(events);
        Ok(())
    }

    async fn append(&mut self) -> Result<(), RuntimeError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        match self.store.store.append(&self.lease, self.head, std::mem::take(&mut self.batch)).await {
            Appended::Committed { head } => self.head = head,
            Appended::Refused(refused) => return Err(refused.into()),
            Appended::Unknown { problem, cause } => return Err(DriveError::Unwritable { problem, cause }.into()),
        }
        Ok(())
    }
}

fn imported(role: Role, parts: Vec<Part>, source: String, by: &Principal) -> MessageImported {
    MessageImported {
        seq: Seq(0),
        role,
        parts,
        tokens: 0,
        result_tokens: Vec::new(),
        demands: 0,
        demanded: Vec::new(),
        source,
        by: by.clone(),
        recorded: None,
    }
}

/// A message from elsewhere, with what was recorded of it there.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    /// The message.
    pub message: history::Whole,
    /// What was recorded of it.
    pub recorded: Option<Recorded>,
}

impl From<history::Whole> for Arrival {
    fn from(message: history::Whole) -> Arrival {
        Arrival { message, recorded: None }
    }
}

/// Makes a trace of messages from elsewhere, whole or not at all, and says how many there are. Texts are redacted, long ones go into blobs.
/// Errors: there is such a trace already; the messages do not fit together; the log cannot be written.
pub async fn import(
    at: TraceStore<'_>,
    vault: &Vault,
    mut spec: Spec,
    messages: Vec<impl Into<Arrival>>,
    from: Origin<'_>,
) -> Result<usize, RuntimeError> {
    vault.redact_spec(&mut spec)?;
    let (count, source) = (messages.len(), vault.redact(from.source));
    let mut machine = Machine::fold(at.trace.clone(), std::iter::empty::<&Event>());
    let mut log = Vec::new();
    let mut offer = |kind: InputKind| {
        let events = machine.handle(&Input::new(from.now, kind)).map_err(RuntimeError::Refused)?;
        machine.commit(events.last().map_or(0, |event| event.id));
        log.extend(events);
        Ok::<(), RuntimeError>(())
    };
    offer(InputKind::SetSpec { spec: Arc::new(spec), by: None })?;
    for Arrival { message: history::Whole { role, mut parts }, recorded } in messages.into_iter().map(Into::into) {
        redact(vault, &mut parts);
        offload(at.scoped(), &mut parts).await?;
        let recorded = recorded.map(|said| Recorded { model: said.model.map(|model| vault.redact(&model)), ..said });
        let message = imported(role, parts, source.clone(), &at.scope.principal);
        offer(InputKind::Import(Box::new(MessageImported { recorded, ..message })))?;
    }
    at.store.begin(at.scope, at.trace, log).await.map_err(|error| RuntimeError::Store(error).of_beginning())?;
    Ok(count)
}

/// What people, models and tools said elsewhere is redacted as if it had been said here.
pub fn redact(vault: &Vault, parts: &mut [Part]) {
    vault.redact_parts(parts);
    for part in parts {
        if let Part::ToolResult { content, name, .. } = part {
            let mut output = ToolOutput { content: std::mem::take(content), ..ToolOutput::default() };
            vault.redact_output(&mut output);
            *content = output.content;
            *name = vault.redact(name);
        }
    }
}

/// How much of a conversation is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All that people, the model and tools said on the main path, whole, however much of it the model is shown.
    Said,
    /// What the model would be shown next: what stands for what is left out, and what Mainpath itself adds, are in it.
    Shown,
}

/// The conversation of a trace. Long texts are in their places; `with_media`: and so are the bytes of pictures, sound and
/// documents; a line stands for what is gone. An answer whose calls have not all ended is not in it. Also the number of the last
/// event. Errors: the log or a blob cannot be read.
pub async fn conversation(
    trace: TraceStore<'_>,
    extent: Extent,
    with_media: bool,
) -> Result<(Vec<Message>, EventId), StoreError> {
    let log = trace.read(1).await?;
    let state = Machine::fold(trace.trace.clone(), &log.events).state().clone();
    Ok((messages(trace.scoped(), state, &log.events, extent, with_media).await?, log.head))
}

/// All that was said in a trace, as if these messages had been added already. They are left out where they could not be: in a
/// run. The rest is as [`conversation`]'s.
pub async fn conversation_with(
    trace: TraceStore<'_>,
    open: Option<history::Loose>,
    with_media: bool,
) -> Result<(Vec<Message>, EventId), StoreError> {
    let mut log = trace.read(1).await?;
    let state = joined(trace, &mut log.events, open);
    if state.between_runs.clearing {
        // It is over as soon as the run is: nobody is told of it any more.
        return Ok((Vec::new(), log.head));
    }
    Ok((messages(trace.scoped(), state, &log.events, Extent::Said, with_media).await?, log.head))
}

/// What rules find in all that was said in a trace, as if these messages had been added already, as Markdown: without them it is
/// what `summary.md` says. Errors: the log or a text of it cannot be read.
pub async fn summary_with(trace: TraceStore<'_>, open: Option<history::Loose>) -> Result<String, StoreError> {
    let mut log = trace.read(1).await?;
    let state = joined(trace, &mut log.events, open);
    let mut bodies = Log::default();
    bodies.extend(&log.events);
    Ok(summarised(trace.scoped(), &state, &bodies, &Gone::noted()).await?.markdown())
}

/// The same of messages that are in no trace here.
pub async fn summary_of(trace: TraceStore<'_>, messages: history::Loose) -> Result<String, StoreError> {
    let spec = Arc::new(Spec::new("", Profile::Trace));
    let begins = SpecChanged { spec, by: None };
    let mut log = vec![Event { id: 1, ts: 0, turn: 0, mail: None, kind: begins.into() }];
    let state = joined(trace, &mut log, Some(messages));
    let mut bodies = Log::default();
    bodies.extend(&log);
    Ok(summarised(trace.scoped(), &state, &bodies, &Gone::noted()).await?.markdown())
}

/// The state of a log after these messages have joined it.
fn joined(trace: TraceStore<'_>, log: &mut Vec<Event>, open: Option<history::Loose>) -> State {
    let mut machine = Machine::fold(trace.trace.clone(), log.iter());
    let begun = machine.state().tree.head.is_some();
    for history::Whole { role, parts } in open.into_iter().flat_map(|open| open.heal(begun).messages) {
        let message = imported(role, parts, String::new(), &trace.scope.principal);
        let input = Input::new(machine.state().log.now, InputKind::Import(Box::new(message)));
        if let Ok(events) = machine.handle(&input) {
            machine.commit(events.last().map_or(0, |event| event.id));
            log.extend(events);
        }
    }
    machine.state().clone()
}

async fn messages(
    store: ScopedStore<'_>,
    mut state: State,
    events: &[Event],
    extent: Extent,
    with_media: bool,
) -> Result<Vec<Message>, StoreError> {
    // Where nothing was asked here yet, the spec waits for the first run; what is said does not.
    state.spec = state.spec.or_else(|| state.next_spec.clone());
    let items = match extent {
        Extent::Shown => pack(&state).map(|packed| packed.items).unwrap_or_default(),
        Extent::Said => said(&state),
    };
    if let Some(spec) = state.spec.as_mut().filter(|_| extent == Extent::Said) {
        // How much of a result the model sees.
        spec.limits.observation_chars = None;
    }
    let mut bodies = Log::default();
    bodies.extend(events);
    let mut messages = Vec::new();
    for item in &items {
        let mut whole = Hydrated::with_lines(&bodies);
        if let Some(event) = item.event() {
            whole.load(store, event).await?;
        }
        let Some(mut message) = message(&state, &whole, item) else { continue };
        if with_media {
            media::load(store, &mut message.parts, &mut Gone::noted()).await?;
        }
        messages.push(message);
    }
    Ok(messages)
}

/// Puts the bytes of pictures, sound and documents in their places; a line stands for what is gone. Errors: a blob cannot be read.
pub async fn load_media(store: ScopedStore<'_>, messages: &mut [Message]) -> Result<(), StoreError> {
    for message in messages {
        load(store, &mut message.parts, &mut Gone::noted()).await?;
        media::load(store, &mut message.parts, &mut Gone::noted()).await?;
    }
    Ok(())
}

/// What stands before a window that begins with an answer: every vendor wants a person to begin.
const EARLIER: &str = "(what was said before is left out)";

/// The last so many messages, fewer where the first of them are results of calls that are not among them; where all are, those
/// calls and all of their results. Where they begin with an answer, a note stands before them.
pub fn window(messages: &[Message], most: usize) -> Vec<Message> {
    let is_result = |at: usize| messages.get(at).is_some_and(|message| message.role == Role::Tool);
    let first = messages.len().saturating_sub(most);
    let calls = || (0..first).rev().find(|at| !is_result(*at));
    let start = (first..messages.len()).find(|at| !is_result(*at)).or_else(calls).unwrap_or(messages.len());
    let tail = messages.get(start..).unwrap_or_default();
    let note = Message { seq: None, role: Role::User, parts: vec![Part::text(EARLIER)] };
    let note = Some(note).filter(|_| tail.first().is_some_and(|message| message.role == Role::Assistant));
    note.into_iter().chain(tail.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_as_many_messages_as_were_asked_for_and_never_begins_with_a_result() {
        use Role::*;
        let messages: Vec<Message> = (1..)
            .zip([User, Assistant, Tool, Tool, Assistant, User, Assistant, Tool, Tool, Tool])
            .map(|(n, role)| Message { seq: Some(Seq(n)), role, parts: Vec::new() })
            .collect();
        let numbers = |most| -> Vec<u32> {
            let window = window(&messages, most);
            let begins = window.first().is_none_or(|first| first.role == User);
            assert!(begins, "the last {most} begin with nobody: {window:?}");
            window.iter().map(|message| message.seq.map_or(0, |seq| seq.0)).collect()
        };
        let all: Vec<u32> = (1..=10).collect();
        let last = |from: usize| [&[0], &all[from - 1..]].concat();
        assert_eq!((numbers(100), numbers(10)), (all.clone(), all.clone()));
        assert_eq!((numbers(9), numbers(6), numbers(5)), (last(2), last(5), all[5..].to_vec()));
        assert_eq!((numbers(8), numbers(7)), (last(5), last(5)), "results are not parted from their calls");
        assert_eq!((numbers(4), numbers(3), numbers(1)), (last(7), last(7), last(7)), "nor is nothing shown");
        assert_eq!((window(&[], 5), window(&messages[2..4], 5)), (Vec::new(), Vec::new()));
    }
}
