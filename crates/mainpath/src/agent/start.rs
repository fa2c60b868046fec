//! Agents are started: with a task, or with a conversation that was held elsewhere.

use super::builder::{Agent, Parts};
use super::task::Task;
#[cfg(feature = "home")]
use crate::experience::Experienced;
use crate::skills::preloads;
use crate::values::not_empty;
use crate::{Error, ErrorKind, Host, Run, Trace};
use mainpath_core::is_cut_start;
use mainpath_policy::Policy;
use mainpath_providers::history::Loose;
use mainpath_runtime::import::{Origin, import};
use mainpath_runtime::{Mail, RuntimeError};
use mainpath_store::{Once, StoreError};
use mainpath_types::{EventKind, Part, Role, Spec, TraceId};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long another may take to begin what is begun under the same key,
const PATIENCE: Duration = Duration::from_secs(5);
/// and how often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(10);

impl Agent {
    /// Starts it with a task. Returns when both are durable; the run goes on by itself, whether anybody follows it or not.
    /// Errors: what cannot be used, no key for the model, nothing can be written, or there is a trace of this id already
    /// ([`ErrorKind::Refused`]); of several that are started at once under one id, one is.
    pub async fn start(self, task: impl Into<Task>) -> Result<Run, Error> {
        let Parts { host, once, .. } = self.parts();
        let id = self.id()?;
        if let Some(run) = started(host, once, &id).await? {
            return Ok(run);
        }
        self.prepare_as(id, task.into()).await?.start().await
    }

    /// Checks everything that is needed to start it with a task, and writes nothing. Errors: an option cannot be used, or the model has no key.
    pub async fn prepare(self, task: impl Into<Task>) -> Result<PreparedAgent, Error> {
        let id = self.id()?;
        self.prepare_as(id, task.into()).await
    }

    async fn prepare_as(self, id: TraceId, task: Task) -> Result<PreparedAgent, Error> {
        let Parts { host, model, .. } = self.parts();
        host.check_usable()?;
        host.prepare_recording(model).await.map_err(|error| error.in_field("model"))?;
        let (spec, policy) = self.spec_and_policy()?;
        host.check_model(model).map_err(|error| error.in_field("model"))?;
        let mut said = preloads(&spec, host.skills())?;
        let (skill, task) = host.read_task(task, &spec)?;
        said.extend(skill);
        let first = task.message();
        #[cfg(feature = "home")]
        let (first, shown, problem) = match self.parts().has_memory {
            true => {
                let Experienced { mail, shown, problem } = host.with_experience(first).await;
                (mail, shown, problem)
            }
            false => (first, Vec::new(), None),
        };
        #[cfg(not(feature = "home"))]
        let (shown, problem) = (Vec::new(), None);
        Ok(PreparedAgent { agent: self, id, spec, policy, said, first, shown, problem })
    }

    /// Starts it with a conversation that was held elsewhere, in the form of any vendor or Mainpath's own, and has its last message
    /// answered, which must be a user's. What it says to the system is added to the instructions. What stands in it counts as said
    /// elsewhere. Errors: as [`Agent::start`]'s, and a conversation that cannot be answered ([`ErrorKind::Invalid`]).
    pub async fn start_with(self, mut messages: Loose) -> Result<Run, Error> {
        let agent = self.told(messages.take_system());
        let mut messages = messages.heal(false).messages;
        match messages.last() {
            None => return Err(Error::of_field("messages", " has no message to answer")),
            Some(last) if last.role != Role::User => {
                return Err(Error::of_field(
                    "messages",
                    ": the last message is not a user's: there is nothing to answer",
                ));
            }
            Some(_) => {}
        }
        if let [only] = messages.as_mut_slice()
            && let [Part::Text { text }] = only.parts.as_mut_slice()
        {
            let task = not_empty("messages", std::mem::take(text))?;
            return agent.start(task).await;
        }
        let Parts { host, model, once, .. } = agent.parts();
        let id = agent.id()?;
        if let Some(run) = started(host, once, &id).await? {
            return Ok(run);
        }
        host.prepare_recording(model).await.map_err(|error| error.in_field("model"))?;
        let spec = agent.spec()?;
        host.check_model(model).map_err(|error| error.in_field("model"))?;
        let from = Origin { source: "messages", now: (host.runtime().config().clock)() };
        match import(host.at(&id), &host.runtime().config().vault, spec, messages, from).await {
            Err(RuntimeError::Exists(_) | RuntimeError::Store(StoreError::Exists { .. } | StoreError::Held { .. }))
                if once.is_some() =>
            {
                lost(host, once, &id).await
            }
            done => {
                done?;
                let trace = Trace::new(host.clone(), id);
                let Some(once) = once else {
                    let begun = trace.resume().await;
                    if begun.is_err() {
                        // Nobody was told of it. Under a key who asks again finds it, and has it answered.
                        let _ = host.store().remove(host.scope(), trace.id()).await;
                    }
                    return begun;
                };
                trace.once(once.clone()).resume().await
            }
        }
    }

    fn id(&self) -> Result<TraceId, Error> {
        let Parts { host, trace, once, .. } = self.parts();
        let id = match (trace, once) {
            (Some(id), _) if is_of_a_key(id) => {
                let problem = " is one of those that are made of keys (key-…): choose another";
                return Err(Error::of_field("trace_id", problem));
            }
            (Some(id), _) => return Ok(id.clone()),
            (None, Some(once)) => id_of(once),
            (None, None) => return host.new_trace_id(),
        };
        id.map_err(|error| Error::failed(error.to_string()))
    }
}

/// A checked agent. Nothing is written until it is started.
pub struct PreparedAgent {
    agent: Agent,
    id: TraceId,
    spec: Spec,
    policy: Arc<Policy>,
    /// The messages that load skills before the first message.
    said: Vec<Mail>,
    /// The first message of the trace.
    first: Mail,
    shown: Vec<String>,
    problem: Option<Error>,
}

impl PreparedAgent {
    /// The spec that its trace begins with.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The rules that hold in its workspace.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The ids of the experiences that its first message shows.
    pub fn experiences(&self) -> &[String] {
        &self.shown
    }

    /// Why the lookup of experiences failed, completely or by meaning. The agent can be started all the same.
    pub fn experience_problem(&self) -> Option<&Error> {
        self.problem.as_ref()
    }

    /// Starts it, as [`Agent::start`] does. Errors: nothing can be written, or there is a trace of this id already.
    pub async fn start(self) -> Result<Run, Error> {
        let PreparedAgent { agent, id, spec, mut said, first, .. } = self;
        let Parts { host, once, is_named, .. } = agent.parts();
        said.push(first.clone());
        let is_unnamed = is_named && spec.name.is_none();
        // Subscribe first, so that the events need not be read from the log.
        let run = Run::before_it_begins(Trace::new(host.clone(), id.clone()));
        match host.runtime().start_with(host.scope(), &id, spec, said).await {
            Err(RuntimeError::Exists(_)) if once.is_some() => return lost(host, once, &id).await,
            done => done?,
        }
        if is_unnamed {
            host.name_later(&id, &first);
        }
        Ok(run)
    }
}

impl Host {
    /// The trace that was started under a caller's key, if one was. Errors: the store cannot be read.
    pub async fn started_under(&self, once: &Once) -> Result<Option<Trace>, Error> {
        let id = id_of(once).map_err(|error| Error::failed(error.to_string()))?;
        match self.trace(&id).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            trace => trace.map(Some),
        }
    }
}

/// The id of the trace that is made under a key.
pub(crate) fn id_of(once: &Once) -> Result<TraceId, mainpath_types::BadName> {
    let hash = Sha256::digest(once.key.as_bytes());
    let letters: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("key-{letters}").parse()
}

/// Whether an id looks as [`id_of`] makes them: it belongs to who has the key.
fn is_of_a_key(id: &TraceId) -> bool {
    let digits = id.as_str().strip_prefix("key-");
    digits.is_some_and(|digits| digits.len() == 24 && digits.chars().all(|digit| digit.is_ascii_hexdigit()))
}

/// The run that was started under this key before; one that broke off goes on. Errors: something else was started under it.
async fn started(host: &Host, once: Option<&Once>, id: &TraceId) -> Result<Option<Run>, Error> {
    let Some(once) = once else { return Ok(None) };
    let log = match host.at(id).read(1).await {
        Err(StoreError::NotFound { .. }) => return Ok(None),
        log => log?,
    };
    let first = log.events.iter().find_map(|event| match &event.kind {
        EventKind::SpecChanged(data) => Some(data.spec.relations.request.as_deref()),
        _ => None,
    });
    let Some(asked) = first else { return Ok(None) };
    if asked != Some(&once.asked) {
        let problem = format!("the key was used for another request before, which made trace {id}");
        return Err(Error::new(ErrorKind::Reused, problem));
    }
    if is_cut_start(&log.events)
        && host.store().driver(host.scope(), id).await?.is_none()
        && host.at(id).mail(0).await?.is_empty()
    {
        // The process was killed in the middle of the first write: it is written again.
        return Ok(None);
    }
    let trace = Trace::new(host.clone(), id.clone()).once(once.clone());
    let until = Instant::now() + PATIENCE;
    loop {
        let state = trace.state().await?;
        if state.run.is_none() && state.counts.runs == 0 && state.tree.head.is_some() {
            // A conversation that nobody has had answered yet: who asks for that second, asks for the same under the key.
            return trace.resume().await.map(Some);
        }
        // It was killed before, or while, it answered; or another begins it just now.
        if trace.drive().await? || state.counts.runs > 0 || Instant::now() >= until {
            return Ok(Some(Run::first(Trace::new(host.clone(), trace.id().clone()))));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What another has started meanwhile under the same key.
async fn lost(host: &Host, once: Option<&Once>, id: &TraceId) -> Result<Run, Error> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(run) = started(host, once, id).await? {
            return Ok(run);
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(Error::new(ErrorKind::Busy, format!("the same is being started as trace {id}; ask again")))
}
