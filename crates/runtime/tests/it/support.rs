//! What the tests share: a model that answers by what it is shown, tools that count, places to run in, and the checks that
//! every log must pass.

mod hands;
mod remote;

pub use hands::*;
pub use remote::*;

use mainpath_core::{State, apply};
use mainpath_providers::{Call, Codec, Fut as ProviderFut, Neutral, Provider, resolve};
use mainpath_runtime::replay::{Replayed, replay};
use mainpath_runtime::*;
use mainpath_sandbox::Launcher;
use mainpath_store::files::Disk;
use mainpath_store::{
    Faulty, FilesStore, LocalScheduler, MemoryStore, Options, Salts, Scheduler, Scope, Store, TraceStore,
};
use mainpath_testkit::check;
use mainpath_types::*;
use serde::Deserialize;
use serde_json::json;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{Instant, timeout};

/// The longest that anything may take; in paused time it costs nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// When tokio's time begins, in milliseconds since the Unix epoch.
pub const BEGIN: Millis = 1_700_000_000_000;

thread_local!(static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) });

/// Tokio's time, which tests may pause.
pub fn tokio_clock() -> Millis {
    let began = BEGAN.with(|began| {
        let at = began.get().unwrap_or_else(Instant::now);
        began.set(Some(at));
        at
    });
    BEGIN + Instant::now().saturating_duration_since(began).as_millis() as u64
}

/// Makes it this late in tokio's time, whatever time has really passed since another runtime ended.
pub fn set_tokio_clock(now: Millis) {
    BEGAN.set(Instant::now().checked_sub(Duration::from_millis(now - BEGIN)));
}

pub fn local() -> Scope {
    Scope::local()
}

pub fn id(text: &str) -> TraceId {
    text.parse().unwrap()
}

pub fn call(text: &str) -> CallId {
    text.parse().unwrap()
}

// ---------------------------------------------------------------- the model

/// What the model does with a request.
pub enum Thought {
    Say(Vec<Part>),
    Fail(ModelErrorKind),
    /// Never answers.
    Hang,
}

/// A request as the model sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub messages: Vec<Message>,
    pub request: u32,
    pub body: String,
}

impl Seen {
    /// The texts of all tool results, in order.
    pub fn results(&self) -> Vec<String> {
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        let results = parts.filter_map(|part| match part {
            Part::ToolResult { content, .. } => Some(text_of(content)),
            _ => None,
        });
        results.collect()
    }

    /// What people and Mainpath said, in order.
    pub fn said(&self) -> Vec<String> {
        let users = self.messages.iter().filter(|message| message.role == Role::User);
        users.map(|message| text_of(&message.parts)).collect()
    }
}

type Think = Box<dyn Fn(&Seen) -> Thought + Send + Sync>;

/// A model whose answers follow from what it is shown.
pub struct Brain {
    think: Think,
    pub seen: Mutex<Vec<Seen>>,
    /// Requests that were dropped before their answer.
    pub dropped: Arc<AtomicU32>,
}

/// Counts a drop unless it was disarmed.
struct Alarm(Option<Arc<AtomicU32>>);

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.take().iter().for_each(|count| {
            count.fetch_add(1, Ordering::SeqCst);
        });
    }
}

impl Brain {
    pub fn new(think: impl Fn(&Seen) -> Thought + Send + Sync + 'static) -> Arc<Brain> {
        Arc::new(Brain { think: Box::new(think), seen: Mutex::default(), dropped: Arc::default() })
    }

    /// Makes these calls, a list a turn, as far as their results are not there, and then says what came of them.
    pub fn steps(steps: &'static [&'static [(&'static str, &'static str)]]) -> Arc<Brain> {
        Brain::new(move |seen| step(steps, seen))
    }

    pub fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

/// The next of these steps, by the number of results that are there.
pub fn step(steps: &[&[(&str, &str)]], seen: &Seen) -> Thought {
    let results = seen.results();
    let mut done = 0;
    for calls in steps {
        if done == results.len() {
            return calling(calls);
        }
        done += calls.len();
    }
    say(format!("final: {}", results.join("; ")))
}

/// Whether a request asks for a summary of the conversation.
pub fn wants_summary(seen: &Seen) -> bool {
    seen.said().last().is_some_and(|text| text.contains("about to outgrow the context window"))
}

pub fn say(text: impl Into<String>) -> Thought {
    Thought::Say(vec![Part::text(text)])
}

/// Calls of tools with a key.
pub fn calling(calls: &[(&str, &str)]) -> Thought {
    let part = |(name, key): &(&str, &str)| Part::ToolCall {
        name: (*name).into(),
        arguments: json!({"key": key}).to_string(),
        signature: None,
    };
    Thought::Say(calls.iter().map(part).collect())
}

impl Provider for Brain {
    fn codec(&self) -> &dyn Codec {
        &Neutral
    }

    fn call<'a>(
        &'a self,
        call: Call<'a>,
        deltas: &'a mut (dyn FnMut(Delta) + Send),
    ) -> ProviderFut<'a, Result<ModelReply, ModelError>> {
        #[derive(Deserialize)]
        struct Body {
            messages: Vec<Message>,
        }
        Box::pin(async move {
            let mut alarm = Alarm(Some(Arc::clone(&self.dropped)));
            let body = String::from_utf8(call.body.concat()).unwrap();
            let messages = serde_json::from_str::<Body>(&body).unwrap().messages;
            let seen = Seen { messages, request: call.request, body };
            let thought = (self.think)(&seen);
            self.seen.lock().unwrap().push(seen);
            tokio::task::yield_now().await;
            let answer = match thought {
                Thought::Say(parts) => {
                    for part in &parts {
                        if let Part::Text { text } = part {
                            for word in text.split_inclusive(' ') {
                                deltas(Delta::Text { text: word.into() });
                            }
                        }
                    }
                    let calls = parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
                    let stop = if calls { StopReason::ToolCalls } else { StopReason::End };
                    Ok(ModelReply { parts, usage: None, stop, model: None })
                }
                Thought::Fail(kind) => {
                    Err(ModelError { kind, message: "by the test".into(), status: None, retry_after_ms: None })
                }
                Thought::Hang => std::future::pending().await,
            };
            tokio::task::yield_now().await;
            alarm.0 = None;
            answer
        })
    }
}

/// Every model whose name begins with `brain` is the test's, others are looked up as usual.
pub struct TestModels(pub Arc<Brain>);

impl Models for TestModels {
    fn find(&self, model: &str) -> Result<Arc<dyn Provider>, NoModel> {
        if model.starts_with("brain") {
            return Ok(Arc::clone(&self.0) as Arc<dyn Provider>);
        }
        Ok(resolve(model, &|_| None)?)
    }
}

// ---------------------------------------------------------------- the place

/// Everything that outlives a runtime.
pub struct Place {
    pub store: Arc<dyn Store>,
    pub scheduler: Arc<dyn Scheduler>,
    pub brain: Arc<Brain>,
    pub hands: Hands,
    pub workspace: TempDir,
    pub clock: fn() -> Millis,
}

impl Place {
    pub fn of<S: Store>(
        store: Arc<S>,
        scheduler: Arc<LocalScheduler>,
        brain: Arc<Brain>,
        clock: fn() -> Millis,
    ) -> Place {
        let (hands, workspace) = (Hands::new(), TempDir::new().unwrap());
        Place { store, scheduler, brain, hands, workspace, clock }
    }

    /// In memory, in tokio's time.
    pub fn memory(brain: Arc<Brain>) -> Place {
        let store = MemoryStore::new(tokio_clock, Salts::Seeded(7));
        let scheduler = store.scheduler();
        Place::of(Arc::new(store), scheduler, brain, tokio_clock)
    }

    /// In memory, in tokio's time, with faults.
    pub fn faulty(
        brain: Arc<Brain>,
        fault: impl FnOnce(MemoryStore) -> Faulty<MemoryStore>,
    ) -> (Place, Arc<Faulty<MemoryStore>>) {
        let store = MemoryStore::new(tokio_clock, Salts::Seeded(7));
        let scheduler = store.scheduler();
        let store = Arc::new(fault(store));
        (Place::of(Arc::clone(&store), scheduler, brain, tokio_clock), store)
    }

    /// In memory, in the system's time.
    pub fn memory_in_real_time(brain: Arc<Brain>) -> Place {
        let store = MemoryStore::default();
        let scheduler = store.scheduler();
        Place::of(Arc::new(store), scheduler, brain, mainpath_store::scheduler::system_clock)
    }

    /// In files, in the system's time.
    pub fn files(data: &TempDir, brain: Arc<Brain>) -> Place {
        Place::on_disk(data, brain).0
    }

    /// The same, with the disk that the logs are on.
    pub fn on_disk(data: &TempDir, brain: Arc<Brain>) -> (Place, Arc<Disk>) {
        let options = Options::default();
        let disk = Arc::clone(&options.disk);
        let store = FilesStore::open(data.path(), options).unwrap();
        let scheduler = store.scheduler();
        (Place::of(Arc::new(store), scheduler, brain, mainpath_store::scheduler::system_clock), disk)
    }

    pub fn config(&self) -> Config {
        Config {
            store: Arc::clone(&self.store),
            scheduler: Arc::clone(&self.scheduler),
            tools: all_tools(&self.hands),
            models: Arc::new(TestModels(Arc::clone(&self.brain))),
            vault: Vault::new([("A_KEY".to_string(), "hunter2hunter2".to_string())]),
            launcher: Launcher::new("/bin/false", Vec::new()),
            protected: Vec::new(),
            policies: Arc::new(|_| Ok(Arc::default())),
            hooks: Hooks::default(),
            children: Arc::new(mainpath_runtime::Narrowed),
            peers: None,
            messenger: None,
            worktrees: None,
            clock: self.clock,
            store_retries: StoreRetries::default(),
        }
    }

    pub fn runtime(&self) -> Runtime {
        Runtime::new(self.config())
    }

    /// An agent that may do everything and is limited by nothing.
    pub fn spec(&self) -> Spec {
        Spec {
            instructions: "Be brief.".into(),
            tools: all_tools(&self.hands).specs(),
            limits: Limits { model_retries: 3, ..Limits::default() },
            temperature: None,
            context_window: 100_000,
            reserved_output: 100,
            mode: ApprovalMode::Yes,
            workspace: self.workspace.path().display().to_string(),
            ..Spec::new("brain", Profile::Trace)
        }
    }

    /// The same, but a person is asked before anything changes.
    pub fn asking(&self) -> Spec {
        Spec { mode: ApprovalMode::Ask, ..self.spec() }
    }

    pub async fn log(&self, trace: &TraceId) -> Vec<Event> {
        self.store.read(&local(), trace, 1).await.unwrap().events
    }

    pub async fn replay(&self, trace: &TraceId) -> Replayed {
        replay(TraceStore::new(&*self.store, &local(), trace), &TestModels(Arc::clone(&self.brain)), false)
            .await
            .unwrap()
    }

    /// Checks a whole log: the chain, every step, every run's end, every request's hash. Returns the log.
    pub async fn inspect(&self, trace: &TraceId) -> Vec<Event> {
        let report = self.store.verify(&local(), trace).await.unwrap();
        assert_eq!(report.damage, None);
        let log = self.log(trace).await;
        check::log(&log).unwrap();
        let mut state = State::new(trace.clone());
        for event in &log {
            check::event(&state, event, &BTreeSet::new()).unwrap_or_else(|why| panic!("{why}\n{}", names(&log)));
            apply(&mut state, event);
            if let EventKind::RunFinished(data) = &event.kind {
                check::finished(&state, data).unwrap_or_else(|why| panic!("{why}\n{}", names(&log)));
            }
        }
        let replayed = self.replay(trace).await;
        assert!(replayed.agrees(), "{replayed:?}\n{}", names(&log));
        log
    }

    /// The final answer of the last run.
    pub async fn answer(&self, trace: &TraceId) -> String {
        let log = self.log(trace).await;
        let mut state = State::new(trace.clone());
        log.iter().for_each(|event| apply(&mut state, event));
        let mut bodies = mainpath_core::Log::default();
        bodies.extend(&log);
        mainpath_core::ending(&state, &bodies).unwrap_or_else(|| panic!("no end: {}", names(&log))).answer
    }
}

/// The types of a log's events.
pub fn names(log: &[Event]) -> String {
    log.iter().map(|event| event.kind.name()).collect::<Vec<_>>().join(" ")
}

/// Why the runs of a log ended, in order.
pub fn reasons(log: &[Event]) -> Vec<FinishReason> {
    let reason = |event: &Event| match &event.kind {
        EventKind::RunFinished(data) => Some(data.reason),
        _ => None,
    };
    log.iter().filter_map(reason).collect()
}

/// How the calls of a log ended, in the order of their ends.
pub fn resolutions(log: &[Event]) -> Vec<Resolution> {
    let resolution = |event: &Event| match &event.kind {
        EventKind::CallResolved(data) => Some(data.resolution),
        _ => None,
    };
    log.iter().filter_map(resolution).collect()
}

/// Waits, but not for ever.
pub async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("it never came: {what}"))
}

/// Waits for something that no event tells, in real time.
pub async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    soon(what, waiting).await;
}

/// Waits until a trace has no driver and no time to wait for.
pub async fn settled(runtime: &Runtime, trace: &TraceId) -> Phase {
    let mut phase = runtime.watch(&local(), trace, 1).phase();
    let rests = |phase: &Phase| match phase {
        Phase::Idle | Phase::Full(_) | Phase::Failed(_) | Phase::Elsewhere(_) => true,
        Phase::Running => false,
        Phase::Parked(waiting) => waiting.iter().any(|waiting| *waiting != Waiting::Timer),
    };
    let settled = soon("rest", phase.wait_for(rests)).await;
    settled.unwrap().clone()
}

/// Starts a trace and waits until it rests.
pub async fn run(runtime: &Runtime, trace: &TraceId, spec: Spec, text: &str) -> Phase {
    runtime.start(&local(), trace, spec, Mail::message(text)).await.unwrap();
    settled(runtime, trace).await
}

/// Watches until an event is as asked for; returns everything seen, that one included.
pub async fn until(watcher: &mut Watcher, asked: impl Fn(&Event) -> bool) -> Vec<Live> {
    let mut seen = Vec::new();
    loop {
        let live = soon("an event", watcher.next()).await.unwrap();
        let found = matches!(&live, Live::Event(event) if asked(event));
        seen.push(live);
        if found {
            return seen;
        }
    }
}

pub fn run_finished(event: &Event) -> bool {
    matches!(event.kind, EventKind::RunFinished(_))
}

/// The durable events among what was seen.
pub fn events_of(seen: &[Live]) -> Vec<Event> {
    let event = |live: &Live| if let Live::Event(event) = live { Some((**event).clone()) } else { None };
    seen.iter().filter_map(event).collect()
}

/// A turn of everything: side effects, reads together, barriers, a call that may be repeated.
pub const ALL_KINDS: &[&[(&str, &str)]] = &[
    &[("count", "a")],
    &[("look", "x"), ("look", "y")],
    &[("count", "b"), ("look", "z"), ("count", "c")],
    &[("put", "d")],
];

/// What [`ALL_KINDS`] ends with.
pub const ALL_DONE: &str = "final: counted a; saw x; saw y; counted b; saw z; counted c; put d";
