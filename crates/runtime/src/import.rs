//! Conversations in and out: taking in what was said elsewhere, and giving out what a trace would show next.

use crate::media;
use crate::runtime::RuntimeError;
use crate::secrets::Vault;
use crate::texts::{Whole, load, offload};
use mainpath_core::*;
use mainpath_providers::history;
use mainpath_store::{Appended, Lease, Opened, Scope, Store, StoreError};
use mainpath_types::*;

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
    store: &'a dyn Store,
    scope: &'a Scope,
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
        store: &'a dyn Store,
        (scope, vault): (&'a Scope, &'a Vault),
        trace: &TraceId,
        spec: Option<Spec>,
        now: Millis,
    ) -> Result<Intake<'a>, RuntimeError> {
        let Opened { lease, log } = store.lease(scope, trace, spec.is_some()).await?;
        if let Some(damage) = &log.damage {
            return Err(RuntimeError::Trace(format!("the log is damaged: {damage}")));
        }
        let machine = Machine::fold(trace.clone(), &log.events);
        let mut intake = Intake { store, scope, vault, lease, machine, head: log.head, batch: Vec::new() };
        if let Some(mut spec) = spec {
            vault.redact_spec(&mut spec).map_err(RuntimeError::Trace)?;
            intake.offer(InputKind::SetSpec { spec: Box::new(spec) }, now)?;
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
            offload(self.store, self.scope, &mut parts).await?;
            let message = imported((role, parts), source.clone(), &self.scope.principal);
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
            Refusal::Running => RuntimeError::Trace(format!(
                "trace {trace} is in the middle of a run; resume or stop it before messages are added"
            )),
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
        match self.store.append(&self.lease, self.head, std::mem::take(&mut self.batch)).await {
            Appended::Committed { head } => self.head = head,
            Appended::Refused(refused) => return Err(RuntimeError::Trace(refused.to_string())),
            Appended::Unknown { problem } => return Err(RuntimeError::Trace(problem)),
        }
        Ok(())
    }
}

fn imported((role, parts): (Role, Vec<Part>), source: String, by: &Principal) -> MessageImported {
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
    }
}

/// Adds messages to a trace, and says how many. Errors: as [`Intake`]'s.
pub async fn import(
    store: &dyn Store,
    whose: (&Scope, &Vault),
    trace: &TraceId,
    spec: Option<Spec>,
    (messages, from): (Vec<history::Whole>, Origin<'_>),
) -> Result<usize, RuntimeError> {
    Intake::open(store, whose, trace, spec, from.now).await?.add(messages, from).await
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

/// What a trace would show its model next, without what Mainpath itself adds: people's messages, answers, results, and the
/// summary that stands for what is left out. Long texts are in their places; `with_media`: and so are the bytes of pictures,
/// sound and documents. Also the number of the last event. Errors: the log cannot be read, or a blob is missing.
pub async fn conversation(
    store: &dyn Store,
    scope: &Scope,
    trace: &TraceId,
    with_media: bool,
) -> Result<(Vec<Message>, EventId), StoreError> {
    conversation_with(store, scope, trace, (with_media, None)).await
}

/// The same as if these messages had been added already. They are left out where they could not be: in a run.
pub async fn conversation_with(
    store: &dyn Store,
    scope: &Scope,
    trace: &TraceId,
    (with_media, open): (bool, Option<history::Loose>),
) -> Result<(Vec<Message>, EventId), StoreError> {
    let mut log = store.read(scope, trace, 1).await?;
    let mut state = State::new(trace.clone());
    log.events.iter().for_each(|event| apply(&mut state, event));
    if let Some(open) = open {
        let mut machine = Machine::resume(state);
        for history::Whole { role, parts } in open.heal(machine.state().tree.head.is_some()).messages {
            let message = imported((role, parts), String::new(), &scope.principal);
            let input = Input::new(machine.state().now, InputKind::Import(Box::new(message)));
            if let Ok(events) = machine.handle(&input) {
                machine.commit(events.last().map_or(0, |event| event.id));
                log.events.extend(events);
            }
        }
        state = machine.state().clone();
    }
    // Where nothing was asked here yet, the spec waits for the first run; what is said does not.
    state.spec = state.spec.or_else(|| state.next_spec.clone());
    let mut bodies = Log::default();
    bodies.extend(&log.events);
    let items = pack(&state).map(|packed| packed.items).unwrap_or_default();
    let mut whole = Whole::new(&bodies);
    let mut messages = Vec::new();
    for item in &items {
        if !matches!(item, Item::User { .. } | Item::Assistant { .. } | Item::Result { .. } | Item::Summary { .. }) {
            continue;
        }
        if let Some(event) = item.event() {
            whole.load(store, scope, event).await?;
        }
        let Some(mut message) = message(&state, &whole, item) else { continue };
        if with_media {
            media::load(store, scope, &mut message.parts).await?;
        }
        messages.push(message);
    }
    Ok((messages, log.head))
}

/// Puts the bytes of pictures, sound and documents in their places. Errors: a blob is missing.
pub async fn load_media(store: &dyn Store, scope: &Scope, messages: &mut [Message]) -> Result<(), StoreError> {
    for message in messages {
        load(store, scope, &mut message.parts).await?;
        media::load(store, scope, &mut message.parts).await?;
    }
    Ok(())
}

/// The last so many messages, beginning where no call is parted from its results, and with a person's message if one is
/// among them.
pub fn window(messages: &[Message], most: usize) -> &[Message] {
    let tail = messages.get(messages.len().saturating_sub(most)..).unwrap_or_default();
    let is = |role: Role| tail.iter().position(|message| message.role == role);
    let start = is(Role::User).or_else(|| is(Role::Assistant)).unwrap_or(tail.len());
    tail.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_never_begins_with_a_result() {
        use Role::*;
        let messages: Vec<Message> = [User, Assistant, Tool, Tool, Assistant, User, Assistant, Tool]
            .iter()
            .map(|role| Message { seq: None, role: *role, parts: Vec::new() })
            .collect();
        let roles = |most| window(&messages, most).iter().map(|message| message.role).collect::<Vec<_>>();
        assert_eq!(roles(100).len(), 8);
        assert_eq!(roles(6), [User, Assistant, Tool], "it begins with a person where it can");
        assert_eq!(roles(2), [Assistant, Tool]);
        assert_eq!(roles(1), []);
        assert_eq!(roles(0), []);
    }
}
