//! Conversations in and out: taking in what was said elsewhere, and giving out what a trace would show next.

use crate::media;
use crate::runtime::RuntimeError;
use crate::secrets::Vault;
use crate::texts::{Whole, load, offload};
use mainpath_core::*;
use mainpath_providers::history;
use mainpath_store::{Appended, Opened, Scope, Store, StoreError};
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

/// Adds messages to a trace that nobody drives and that is in no run, and says how many. A new trace gets the spec first.
/// Texts are redacted, long ones go into blobs. What is acknowledged is durable; where it breaks off, every message that is
/// there is whole.
///
/// Errors: the trace is being driven or in a run, is damaged, or has no spec; the log cannot be written.
pub async fn import(
    store: &dyn Store,
    (scope, vault): (&Scope, &Vault),
    trace: &TraceId,
    spec: Option<Spec>,
    (messages, from): (Vec<history::Whole>, Origin<'_>),
) -> Result<usize, RuntimeError> {
    let Opened { lease, log } = store.lease(scope, trace, spec.is_some()).await?;
    if let Some(damage) = &log.damage {
        return Err(RuntimeError::Trace(format!("the log is damaged: {damage}")));
    }
    let mut machine = Machine::fold(trace.clone(), &log.events);
    let (mut head, mut batch) = (log.head, Vec::new());
    let source = vault.redact(from.source);
    let offer = |machine: &mut Machine, kind: InputKind| -> Result<Vec<Event>, RuntimeError> {
        let events = machine.handle(&Input::new(from.now, kind)).map_err(|refusal| match refusal {
            Refusal::Running => RuntimeError::Trace(format!(
                "trace {trace} is in the middle of a run; resume or stop it before messages are added"
            )),
            other => RuntimeError::Refused(other),
        })?;
        machine.commit(events.last().map_or(0, |event| event.id));
        Ok(events)
    };
    if let Some(mut spec) = spec {
        vault.redact_spec(&mut spec).map_err(RuntimeError::Trace)?;
        batch.extend(offer(&mut machine, InputKind::SetSpec { spec: Box::new(spec) })?);
    }
    let count = messages.len();
    for history::Whole { role, mut parts } in messages {
        redact(vault, &mut parts);
        offload(store, scope, &mut parts).await?;
        batch.extend(offer(
            &mut machine,
            InputKind::Import(Box::new(MessageImported {
                seq: Seq(0),
                role,
                parts,
                tokens: 0,
                result_tokens: Vec::new(),
                demands: 0,
                source: source.clone(),
                by: scope.principal.clone(),
            })),
        )?);
        if batch.len() >= BATCH {
            head = append(store, &lease, head, std::mem::take(&mut batch)).await?;
        }
    }
    append(store, &lease, head, batch).await?;
    Ok(count)
}

async fn append(
    store: &dyn Store,
    lease: &mainpath_store::Lease,
    head: EventId,
    batch: Vec<Event>,
) -> Result<EventId, RuntimeError> {
    match store.append(lease, head, batch).await {
        Appended::Committed { head } => Ok(head),
        Appended::Refused(refused) => Err(RuntimeError::Trace(refused.to_string())),
        Appended::Unknown { problem } => Err(RuntimeError::Trace(problem)),
    }
}

/// What people, models and tools said elsewhere is redacted as if it had been said here.
fn redact(vault: &Vault, parts: &mut [Part]) {
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
    let log = store.read(scope, trace, 1).await?;
    let mut state = State::new(trace.clone());
    log.events.iter().for_each(|event| apply(&mut state, event));
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
