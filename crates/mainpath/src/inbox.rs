//! Messages between agents: left in a trace's inbox, where they wait until the agent looks.

use crate::Remedy;
use crate::trace::Read;
use crate::{Error, ErrorKind, Logs, Trace};
use mainpath_core::{Refusal, State, apply, may_receive};
use mainpath_runtime::{Mail, Vault, post};
use mainpath_store::{Scope, Store, TraceStore};
use mainpath_types::{Event, MessageReceived, Principal, TraceId};

/// A message of an agent for another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentMessage {
    /// The sender's name; the other reads `agent.NAME`.
    pub from: String,
    /// What it says: at most 8 KiB.
    pub text: String,
    /// The conversation that it belongs to, by the sender's name for it.
    pub conversation: Option<String>,
    /// The sender's id for it: one that comes again with the same id is not taken in again.
    pub id: Option<String>,
}

impl AgentMessage {
    /// The same with the sender's id for it. `way`: how it comes; ids of different ways are different ones.
    #[must_use]
    pub fn with_id(self, way: &str, id: &str) -> AgentMessage {
        AgentMessage { id: Some(format!("{way}:{id}")), ..self }
    }

    /// These words of an agent.
    pub fn new(from: impl Into<String>, text: impl Into<String>) -> AgentMessage {
        AgentMessage { from: from.into(), text: text.into(), conversation: None, id: None }
    }

    fn sender(&self) -> Principal {
        Principal::agent(self.from.trim_start_matches("agent."))
    }

    fn mail(&self) -> Mail {
        Mail::AgentMessage { text: self.text.clone(), conversation: self.conversation.clone(), id: self.id.clone() }
    }

    /// Whether it would be taken in now.
    fn check(&self, state: &State) -> Result<(), Refusal> {
        let (conversation, id) = (self.conversation.clone(), self.id.clone());
        may_receive(state, &MessageReceived { from: self.sender(), conversation, id, text: self.text.clone() })
    }
}

/// What became of a message that was left for a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It waits until the agent looks.
    Waits,
    /// One with its id came before.
    Before,
}

impl Logs {
    /// Leaves a message in the inbox of a trace. Returns when it is durable. Errors: there is no such trace, its agent cannot read messages,
    /// the message is empty or too long, or too many wait.
    pub async fn leave(&self, trace: &TraceId, message: &AgentMessage) -> Result<Left, Error> {
        let vault = self.home.vault(&self.registry())?;
        leave(&*self.store, &self.scope, &vault, trace, message).await
    }
}

impl Trace {
    /// Leaves a message of another agent in the inbox; `check_messages` reads it. Nothing begins because of it. Errors: as [`Logs::leave`]'s.
    pub async fn leave(&self, message: &AgentMessage) -> Result<Left, Error> {
        let config = self.host().runtime().config();
        leave(&*config.store, self.host().scope(), &config.vault, self.id(), message).await
    }
}

/// Leaves a message in the inbox of a trace.
pub(crate) async fn leave(
    store: &dyn Store,
    scope: &Scope,
    vault: &Vault,
    trace: &TraceId,
    message: &AgentMessage,
) -> Result<Left, Error> {
    let scope = Scope { tenant: scope.tenant.clone(), principal: message.sender() };
    let at = TraceStore::new(store, &scope, trace);
    let Read { log, mut state, .. } = Read::of(at).await?;
    if log.events.is_empty() {
        return Err(
            Error::new(ErrorKind::NotFound, format!("there is no trace {trace}")).with_remedy(Remedy::ListTraces)
        );
    }
    // What was left and not taken in yet counts as well.
    let mut mail = at.mail(state.log.mail.upto).await?;
    mail.retain(|entry| !state.log.mail.has(entry.id));
    for entry in mail {
        if let Ok(Mail::AgentMessage { text, conversation, id }) = serde_json::from_str(&entry.body) {
            let kind = MessageReceived { from: entry.from, conversation, id, text }.into();
            let id = state.log.last + 1;
            apply(&mut state, &Event { id, ts: entry.at, turn: 0, mail: None, kind });
        }
    }
    if let Some(why) = no_sender(&message.from) {
        return Err(Error::invalid(format!("the sender cannot be called {:?}: {why}", message.from)));
    }
    if message.id.as_ref().is_some_and(|id| id.len() > LONGEST_ID) {
        return Err(Error::invalid(format!("the id of a message has at most {LONGEST_ID} bytes")));
    }
    match message.check(&state) {
        Ok(()) => {}
        Err(Refusal::Received) => return Ok(Left::Before),
        Err(refusal) => return Err(refused(trace, &refusal)),
    }
    post(at, vault, &message.mail()).await?;
    Ok(Left::Waits)
}

/// The longest id of a message, in bytes.
const LONGEST_ID: usize = 1024;

/// Names that would be taken for somebody else.
const TAKEN: [&str; 4] = ["parent", "user", "system", "agent"];

/// Why nobody can send under this name.
fn no_sender(name: &str) -> Option<String> {
    let name = name.trim_start_matches("agent.").trim();
    if name.is_empty() {
        return Some("it says nothing".into());
    }
    TAKEN
        .contains(&name.to_lowercase().as_str())
        .then(|| "that is somebody else; give the agent a name of its own".into())
}

fn refused(trace: &TraceId, refusal: &Refusal) -> Error {
    let more = match refusal {
        Refusal::NoInbox => "; with `agents = true` in [people] of config.toml agents that start from then on have it",
        _ => "",
    };
    Error::invalid(format!("{trace} takes no message: {refusal}{more}"))
}
