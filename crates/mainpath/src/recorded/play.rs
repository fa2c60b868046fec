//! Playing a recorded run again: offline, in memory, with nothing run.

use super::answers::{AbsentTool, RecordedResults};
use super::children::RecordedChildren;
use super::compare::{Difference, first_difference};
use super::denials::recorded_denials;
use super::playing::{CallAt, Playing, SeedEnd, was_open};
use super::provider::RecordedModel;
use super::step::RecordedStep;
use crate::host::{FromHome, Inner};
use crate::rules::{MakePolicy, Sources};
use crate::{Error, Host, Outcome, Run, Trace};
use mainpath_core::CallState;
use mainpath_providers::Registry;
use mainpath_runtime::{
    Config, EnvModels, Mail, Models, Phase, Runtime, StoreRetries, Unusable, Waiting, new_trace_id,
};
use mainpath_sandbox::Launcher;
use mainpath_store::scheduler::system_clock;
use mainpath_store::{LocalScheduler, MemoryStore, Salts, Scheduler, Store};
use mainpath_tools::ToolDoc;
use mainpath_types::{
    CallId, Event, Fallback, FinishReason, Limits, MessageMode, Part, Seq, Spec, ToolOutput, text_of,
};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// No play takes longer: nothing in it waits.
const LONGEST: Duration = Duration::from_secs(60);

/// The window of a play's model, in tokens.
const ROOM: u32 = 1 << 30;

/// What a play is made with.
pub(crate) struct PlaySetup<'a> {
    /// Whose tools, secrets and folders there are: calls are judged by these.
    pub host: &'a Host,
    /// What is known of models.
    pub registry: Arc<Registry>,
    /// The agent.
    pub spec: Spec,
    /// What was recorded.
    pub recording: Vec<RecordedStep>,
    /// What is known of confining commands; nothing is started by it.
    pub launcher: Launcher,
    /// The rules.
    pub policy: MakePolicy,
    /// What it goes on from; `None`: it begins with what was said first.
    pub seed: Option<PlaySeed>,
    /// Whether the recording breaks off where its run went on.
    pub is_open: bool,
    /// Whether the agent has the limits of the recorded run.
    pub same_limits: bool,
}

/// A log that a play goes on from.
pub(crate) struct PlaySeed {
    /// It.
    pub events: Vec<Event>,
    /// Its long texts.
    pub blobs: Vec<Vec<u8>>,
    /// The message that it goes on from.
    pub after: Seq,
}

/// What a play came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Its steps.
    pub steps: Vec<RecordedStep>,
    /// Where it parts from its recording; `None`: nowhere.
    pub parted: Option<Difference>,
    /// How the last run ended.
    pub reason: FinishReason,
    /// Its answer.
    pub answer: String,
    /// Whether the model said it.
    pub is_said: bool,
}

/// Plays a recording. Errors: it cannot be begun, or it does not end.
pub(crate) async fn play(setup: PlaySetup<'_>) -> Result<Played, Error> {
    let never = |_| Error::failed("the play did not end in a minute");
    tokio::time::timeout(LONGEST, played(setup)).await.map_err(never)?
}

async fn played(setup: PlaySetup<'_>) -> Result<Played, Error> {
    let PlaySetup { host, registry, spec, recording, launcher, policy, seed, is_open, same_limits } = setup;
    let spec = if seed.is_none() { with_room(spec) } else { spec };
    let store = MemoryStore::new(system_clock, Salts::Random);
    let scheduler: Arc<LocalScheduler> = store.scheduler();
    let store: Arc<dyn Store> = Arc::new(store);
    let trace = new_trace_id(system_clock()).map_err(|error| Error::failed(error.to_string()))?;
    let playing = Arc::new(Playing {
        store: Arc::clone(&store),
        scope: host.scope().clone(),
        trace: trace.clone(),
        recording,
        vault: host.vault().clone(),
        read: tokio::sync::Mutex::default(),
        steered: Mutex::default(),
        parted: Mutex::default(),
        is_open,
        same_limits,
        after: seed.as_ref().map_or(Seq(0), |seed| seed.after),
        seed: OnceLock::new(),
        as_recorded: Mutex::default(),
        ended_as: Mutex::default(),
    });
    let tools = host.tools().answered_by(Arc::new(RecordedResults(Arc::clone(&playing))));
    for tool in &spec.tools {
        if tools.resolve(&tool.name).is_none() {
            let doc = ToolDoc::new(tool.description.clone(), tool.effect);
            let put = tools.put(tool.name.clone(), doc, (*tool.input_schema).clone(), Arc::new(AbsentTool));
            put.map_err(|problem| Error::invalid(problem.text))?;
        }
    }
    let models = Arc::new(EnvModels::new(registry));
    for model in std::iter::once(&spec.model).chain(spec.fallback.iter().map(|other| &other.model)) {
        models.add(model, Arc::new(RecordedModel(Arc::clone(&playing))));
    }
    let home = host.home();
    let sources = Sources::new(home).with_instead(Some(policy));
    let policies = sources.clone();
    let runtime = Runtime::new(Config {
        store,
        scheduler: scheduler as Arc<dyn Scheduler>,
        tools,
        models: Arc::clone(&models) as Arc<dyn Models>,
        vault: host.vault().clone(),
        launcher,
        protected: home.protected(),
        policies: Arc::new(move |spec: &Spec| policies.load_for(spec).map(Arc::new).map_err(Unusable::from)),
        hooks: recorded_denials(&playing),
        children: Arc::new(RecordedChildren(Arc::clone(&playing))),
        peers: None,
        messenger: None,
        worktrees: None,
        clock: system_clock,
        store_retries: StoreRetries::default(),
    });
    let host = Host::from(Inner {
        runtime,
        backing: host.inner.backing.clone(),
        models,
        sources,
        readings: Arc::default(),
        memory: None,
        from_home: FromHome::default(),
        shelf: None,
        servers: Mutex::default(),
    });
    let trace = Trace::new(host, trace);
    let mut outcome = follow(begin(&trace, spec, seed, &playing).await?, &playing).await?;
    // Later tasks of the same conversation, and later runs of the same task.
    loop {
        let steps = playing.steps().await?;
        let is_same = first_difference(playing.recording.get(..steps.len()).unwrap_or_default(), &steps).is_none();
        let mail = match playing.recording.get(steps.len()) {
            Some(RecordedStep::Said { parts, .. }) if is_same => said(parts),
            _ if is_same && playing.goes_on(&steps) => Mail::Continue,
            _ => break,
        };
        *playing.ended_as.lock().unwrap_or_else(PoisonError::into_inner) = None;
        outcome = follow(trace.go_on(mail).await?, &playing).await?;
    }
    let steps = playing.steps().await?;
    let known = playing.parted.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let parted = known.or_else(|| first_difference(&playing.recording, &steps));
    let Outcome { reason, answer, is_said, .. } = outcome;
    // What stopped the recorded run does not come again; its play was stopped in its place.
    let reason = playing.ended_as.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(reason);
    Ok(Played { steps, parted, reason, answer, is_said })
}

/// The same with room for everything. Answers come as they were recorded, whatever the model is shown: nothing has to be summarised again.
fn with_room(spec: Spec) -> Spec {
    let limits = Limits { window_messages: None, context_chars: None, ..spec.limits };
    let fallback = spec.fallback.into_iter().map(|other| Fallback { context_window: ROOM, ..other }).collect();
    Spec { context_window: ROOM, limits, fallback, ..spec }
}

/// Begins with what was said first, or goes on from a log.
async fn begin(trace: &Trace, spec: Spec, seed: Option<PlaySeed>, playing: &Playing) -> Result<Run, Error> {
    let (host, id) = (trace.host(), trace.id());
    let Some(PlaySeed { events, blobs, after }) = seed else {
        let Some(RecordedStep::Said { parts, .. }) = playing.recording.first() else {
            return Err(Error::invalid("the recording does not begin with what was said to the agent"));
        };
        let run = Run::before_it_begins(trace.clone());
        host.runtime().start_with(host.scope(), id, spec, vec![said(parts)]).await?;
        return Ok(run);
    };
    for bytes in blobs {
        host.at(id).scoped().put_blob(bytes).await?;
    }
    host.store().begin(host.scope(), id, events).await?;
    host.runtime().send(host.scope(), id, &Mail::SetSpec { spec: Arc::new(spec) }).await?;
    let steps = playing.steps().await?;
    if let Some((last, before)) = steps.split_last() {
        // Set once: a play has one seed.
        let _ = playing.seed.set(SeedEnd { step: before.len(), ends: last.ends().len() });
    }
    match playing.recording.get(steps.len()) {
        Some(RecordedStep::Said { parts, .. }) => trace.go_on(said(parts)).await,
        _ => trace.go_on(Mail::Rewind { after, parts: None }).await,
    }
}

fn said(parts: &[Part]) -> Mail {
    Mail::Message { mode: MessageMode::Message, parts: parts.to_vec(), typed: None }
}

/// Follows a run to its end, and decides where somebody decided then.
async fn follow(run: Run, playing: &Playing) -> Result<Outcome, Error> {
    let trace = run.trace().clone();
    let mut phases = trace.host().runtime().phase(trace.host().scope(), trace.id());
    let (mut outcome, mut asked) = (std::pin::pin!(run.outcome()), BTreeSet::new());
    loop {
        let waiting = match &*phases.borrow_and_update() {
            Phase::Parked(waiting) => waiting.clone(),
            _ => Vec::new(),
        };
        for one in waiting {
            match one {
                Waiting::Approval(call) if asked.insert(one) => decide(&trace, call, playing).await?,
                Waiting::Answer(call) if asked.insert(one) => {
                    match playing.recorded_call(call).await?.and_then(|at| at.call.output.as_ref()) {
                        Some(output) => answer(&trace, call, output, playing).await?,
                        None => playing.stop().await?,
                    }
                }
                _ => {}
            }
        }
        tokio::select! {
            biased;
            ended = &mut outcome => return ended,
            changed = phases.changed() => changed.map_err(|_| Error::failed("the host has ended"))?,
        }
    }
}

/// Answers a question in the words of then. Who answered, and whether anybody did, is as it was recorded.
async fn answer(trace: &Trace, call: CallId, output: &ToolOutput, playing: &Playing) -> Result<(), Error> {
    playing.end_as_recorded(call);
    // Words that came by another way than the owner's own are somebody else's: rules ask for that.
    let via = output.origin.is_foreign().then(|| "recording".to_owned());
    let text = text_of(&output.content);
    let words = text.split_once('\n').map_or(text.as_str(), |(_, words)| words);
    let words: Vec<&str> = words.lines().map(|line| line.strip_prefix("> ").unwrap_or(line)).collect();
    trace.post(&Mail::Answer { call, text: words.join("\n"), via }).await.map(drop)
}

/// Approves what was approved then; nobody approves anything else. What does not wait any more was taken back by what was said.
async fn decide(trace: &Trace, call: CallId, playing: &Playing) -> Result<(), Error> {
    let decided = match playing.recorded_call(call).await? {
        Some(CallAt { call: recorded, .. }) if recorded.approved => {
            let edited = recorded.written.is_some().then(|| recorded.arguments.clone());
            trace.approve_again(call, edited, recorded.approved_for.clone()).await
        }
        Some(CallAt { is_steered: true, .. }) => Ok(()),
        Some(CallAt { call: recorded, is_cut: true, .. }) if was_open(recorded) => playing.stop().await,
        Some(CallAt { call: recorded, .. }) => trace.deny(call, recorded.reason.clone()).await,
        None => trace.deny(call, Some("nobody decided on this call in the recording".into())).await,
    };
    let Err(error) = decided else { return Ok(()) };
    let read = trace.look().await?;
    let waits = read.state.calls.get(call).is_some_and(|call| call.state == CallState::Asked);
    if waits { Err(error) } else { Ok(()) }
}
