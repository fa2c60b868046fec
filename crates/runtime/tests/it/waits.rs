//! Whatever a run waits for, what ends the run ends the wait as well.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_store::{Faulty, MemoryStore, Store};
use mainpath_tools::{AgentTool, Defined, DynTool, Fut, Tool, ToolContext, ToolDoc, Tools};
use mainpath_types::*;
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// What a run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Model,
    Tool,
    RetryPause,
    RateLimit,
    Question,
    Approval,
    /// A server's tool that a person has approved: its server does not say how it is defined now.
    Definition,
    LocalChild,
    /// An agent on another machine whose log ends in the middle of its run.
    RemoteChild,
    /// The same, and its server answers nothing any more.
    SilentServer,
    /// A server that does not say whether it starts the agent.
    SlowStart,
    /// A server that cannot be reached.
    Unreachable,
    /// A local child that waits for a remote one.
    RemoteGrandchild,
    /// Six remote children at a time.
    SixRemote,
    /// The log of a remote child that is to continue, from a server that answers nothing.
    Continued,
    Hook(HookPoint),
    ContextHook,
    /// A remote child whose process waits for the time of a retry.
    RemotePause,
}

/// What ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Stop,
    /// Of the call that waits.
    Interrupt,
    TimeLimit,
    Shutdown,
}

use End::*;
use Wait::*;

const ALL: &[Wait] = &[
    Model,
    Tool,
    RetryPause,
    RateLimit,
    Question,
    Approval,
    Definition,
    LocalChild,
    RemoteChild,
    SilentServer,
    SlowStart,
    Unreachable,
    RemoteGrandchild,
    SixRemote,
    Continued,
    RemotePause,
    Hook(HookPoint::RunStart),
    Hook(HookPoint::TurnStart),
    Hook(HookPoint::BeforeTool),
    Hook(HookPoint::AfterTool),
    Hook(HookPoint::TurnEnd),
    Hook(HookPoint::RunEnd),
    ContextHook,
];

impl Wait {
    /// What can end it. The time limit does not count the time for which people are waited for. What is under way when a runtime shuts
    /// down may end first; only waits for others are dropped.
    fn ends(self) -> &'static [End] {
        match self {
            Model | Hook(_) | ContextHook if self == Hook(HookPoint::AfterTool) => &[Stop, Interrupt, TimeLimit],
            Model | Hook(_) | ContextHook => &[Stop, TimeLimit],
            Tool | Definition => &[Stop, Interrupt, TimeLimit],
            RetryPause | RateLimit => &[Stop, TimeLimit, Shutdown],
            Question | Approval => &[Stop, Shutdown],
            LocalChild => &[Stop, Interrupt, TimeLimit],
            RemoteGrandchild => &[Stop, Interrupt, TimeLimit, Shutdown],
            RemoteChild | RemotePause | SilentServer | SlowStart | Unreachable | SixRemote | Continued => {
                &[Stop, Interrupt, TimeLimit, Shutdown]
            }
        }
    }

    fn starts(self) -> Starts {
        match self {
            SlowStart => Starts::Never,
            Unreachable => Starts::Unreachable,
            RemotePause => Starts::Pausing,
            _ => Starts::Agent,
        }
    }
}

/// Counts how often it was called, and never answers.
pub struct Silent(pub Arc<AtomicU32>);

impl HookRunner for Silent {
    fn run<'a>(&'a self, _: &'a Value) -> Fut<'a, Result<Value, HookError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(pending())
    }
}

impl DynTool for Silent {
    fn defined(&self) -> Fut<'_, Defined> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(pending())
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: Value) -> Fut<'a, ToolOutput> {
        Box::pin(async { ToolOutput::text("done") })
    }
}

impl mainpath_runtime::ContextHook for Silent {
    fn text<'a>(&'a self, _: &'a Value) -> Fut<'a, Result<String, HookError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(pending())
    }
}

fn agent(arguments: &Value) -> Thought {
    let part = Part::ToolCall { name: AgentTool::NAME.into(), arguments: arguments.to_string(), signature: None };
    Thought::Say(vec![part])
}

/// The model of a run that comes to wait for this.
fn brain(wait: Wait) -> Arc<Brain> {
    Brain::new(move |seen| {
        let is_child = seen.said().iter().any(|text| text.contains("as a child"));
        match (wait, seen.results().as_slice()) {
            (Model, _) => Thought::Hang,
            (RetryPause, _) => Thought::Fail(ModelErrorKind::RateLimit),
            (Tool, []) => calling(&[("patient", "a")]),
            (RateLimit, []) => calling(&[("look", "a"), ("look", "b")]),
            (Question, []) => calling(&[("ask", "a")]),
            (Definition, []) => calling(&[("served", "a")]),
            (LocalChild, []) if is_child => Thought::Hang,
            (RemoteGrandchild, []) if is_child => agent(&hands_on("Do it.")),
            (LocalChild | RemoteGrandchild, []) => agent(&json!({"task": "Do it as a child."})),
            (SixRemote, []) => Thought::Say(
                (0..6)
                    .map(|n| Part::ToolCall {
                        name: AgentTool::NAME.into(),
                        arguments: hands_on(&format!("Do {n}.")).to_string(),
                        signature: None,
                    })
                    .collect(),
            ),
            (RemoteChild | RemotePause | SilentServer | SlowStart | Unreachable, []) => agent(&hands_on("Do it.")),
            (Continued, []) => agent(&hands_on("Do it.")),
            (Continued, [first]) => {
                let at = first.find("agent://").unwrap();
                let child = first[at..].split('"').next();
                agent(&json!({"task": "Go on.", "agent_url": SERVER, "continue_from": child}))
            }
            (Approval | Hook(_) | ContextHook, []) => calling(&[("count", "a")]),
            _ => say("done"),
        }
    })
}

/// A run that waits.
struct Waiting {
    place: Place,
    store: Arc<Faulty<MemoryStore>>,
    server: Arc<Server>,
    runtime: Runtime,
    hooked: Arc<AtomicU32>,
    watcher: Watcher,
    began: Instant,
}

/// What a runtime is made of that knows the server.
fn config(place: &Place, server: &Arc<Server>) -> (Config, Tools) {
    let config = place.config();
    let tools = config.tools.clone().with(agent_tool());
    let peers = Some(Arc::clone(server) as Arc<dyn Peers>);
    (Config { tools: tools.clone(), peers, ..config }, tools)
}

const LIMIT: Duration = Duration::from_secs(5);

impl Waiting {
    async fn start(wait: Wait, is_limited: bool) -> Result<Waiting, String> {
        let (place, store) = Place::faulty(brain(wait), Faulty::none);
        let server = Server::new(Arc::clone(&place.store), wait.starts());
        let hooked = Arc::new(AtomicU32::new(0));
        let hour = Duration::from_secs(3_600);
        let hooks: Hooks = match wait {
            Hook(point) => {
                let hook = mainpath_runtime::Hook {
                    name: "guard".into(),
                    points: vec![point],
                    tools: Vec::new(),
                    timeout: hour,
                    on_failure: OnFailure::Closed,
                    runner: Arc::new(Silent(Arc::clone(&hooked))),
                };
                [hook].into_iter().collect()
            }
            Wait::ContextHook => {
                let hook = Arc::new(Silent(Arc::clone(&hooked)));
                Hooks::default().with_context([NamedContextHook { name: "news".into(), timeout: hour, hook }])
            }
            _ => Hooks::default(),
        };
        let (config, tools) = config(&place, &server);
        if wait == Definition {
            let doc = ToolDoc::new("A tool of a server.", EffectClass::SideEffecting);
            let schema = json!({"properties": {"key": {"type": "string"}}});
            tools.put("served", doc, schema, Arc::new(Silent(Arc::clone(&hooked)))).unwrap();
        }
        let runtime = Runtime::new(Config { hooks, ..config });
        let mut spec = Spec { tools: tools.specs(), ..place.spec() };
        spec.limits.model_retries = 50;
        spec.limits.run_timeout_ms = is_limited.then_some(LIMIT.as_millis() as u64);
        match wait {
            RemoteGrandchild => spec.limits.children.depth = 2,
            Approval | Definition => spec.mode = ApprovalMode::Ask,
            Wait::ContextHook => {
                spec.limits.inject_every = Some(1);
                spec.context_hooks = vec!["news".into()];
            }
            RateLimit => {
                let look = spec.tools.iter_mut().find(|tool| tool.name == "look").unwrap();
                look.rate = Some(mainpath_types::RateLimit { calls: 1, per_ms: 3_600_000 });
            }
            _ => {}
        }
        let watcher = runtime.watch(&local(), &id("t"), 1);
        let began = Instant::now();
        runtime.start(&local(), &id("t"), spec, Mail::message("go")).await.unwrap();
        let mut waiting = Waiting { place, store, server, runtime, hooked, watcher, began };
        waiting.reach(wait).await?;
        Ok(waiting)
    }

    /// Runs until it waits for this.
    async fn reach(&mut self, wait: Wait) -> Result<(), String> {
        let phases = self.runtime.phase(&local(), &id("t"));
        let delayed = |event: &Event| matches!(event.kind, EventKind::CallDelayed(_));
        let until_it_waits = async {
            loop {
                let log = self.place.log(&id("t")).await;
                let asked = self.server.asked.load(Ordering::SeqCst);
                let waits = match wait {
                    Model => !self.place.brain.requests().is_empty(),
                    LocalChild => self.place.brain.requests().len() == 2,
                    Tool => self.place.hands.count("a") == 1,
                    RetryPause => names(&log).ends_with("model_failed"),
                    RateLimit => log.iter().any(delayed),
                    Question | Approval => matches!(*phases.borrow(), Phase::Parked(_)),
                    SixRemote => asked == 6,
                    Definition if matches!(*phases.borrow(), Phase::Parked(_)) => {
                        let call = Self::asked_about(&log);
                        self.runtime.send(&local(), &id("t"), &Mail::approve(call)).await.unwrap();
                        false
                    }
                    Hook(_) | Wait::ContextHook | Definition => self.hooked.load(Ordering::SeqCst) > 0,
                    RemoteChild | RemotePause | SilentServer | SlowStart | Unreachable | RemoteGrandchild
                    | Continued => asked == 1,
                };
                if waits {
                    return log;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        let log = timeout(Duration::from_secs(60), until_it_waits).await;
        let Ok(log) = log else {
            let log = self.place.log(&id("t")).await;
            return Err(format!("it does not come to wait: {}", names(&log)));
        };
        // A moment to get from the request to the wait.
        sleep(Duration::from_millis(100)).await;
        match wait {
            SilentServer => self.store.silence(&child_of(&log)),
            Continued => {
                // The first call is interrupted, the second continues its agent.
                self.store.silence(&child_of(&log));
                let call = self.call().await;
                self.runtime.send(&local(), &id("t"), &Mail::Interrupt { call }).await.unwrap();
                self.sees(|event| matches!(event.kind, EventKind::CallResolved(_))).await?;
                self.sees(|event| matches!(event.kind, EventKind::ActionStarted(_))).await?;
                sleep(Duration::from_millis(100)).await;
            }
            _ => {}
        }
        Ok(())
    }

    /// Watches until an event is as asked for.
    async fn sees(&mut self, asked: impl Fn(&Event) -> bool) -> Result<(), String> {
        let watched = async {
            loop {
                match self.watcher.next().await.unwrap() {
                    Live::Event(event) if asked(&event) => return,
                    _ => {}
                }
            }
        };
        if timeout(Duration::from_secs(60), watched).await.is_ok() {
            return Ok(());
        }
        Err(format!("it still waits: {}", names(&self.place.log(&id("t")).await)))
    }

    /// The call that waits for an approval.
    fn asked_about(log: &[Event]) -> CallId {
        let asked = log.iter().find_map(|event| match &event.kind {
            EventKind::ModelFinished(data) => data.calls().next().map(|call| call.id),
            _ => None,
        });
        asked.unwrap()
    }

    /// The call that waits.
    async fn call(&self) -> CallId {
        let log = self.place.log(&id("t")).await;
        let started = log.iter().rev().find_map(|event| match &event.kind {
            EventKind::ActionStarted(data) => Some(data.call),
            _ => None,
        });
        started.unwrap()
    }
}

/// The first child that a log has started.
fn child_of(log: &[Event]) -> TraceId {
    let started = log.iter().find_map(|event| match &event.kind {
        EventKind::SubTraceStarted(data) => Some(data.child.clone()),
        _ => None,
    });
    started.unwrap()
}

/// What the first child of a log came to.
fn completed(log: &[Event]) -> SubTraceCompleted {
    let completed = log.iter().find_map(|event| match &event.kind {
        EventKind::SubTraceCompleted(data) => Some(data.clone()),
        _ => None,
    });
    completed.unwrap()
}

/// How long it takes until the wait is over, in the test's time; nothing if that is too long.
async fn ended(wait: Wait, end: End) -> Result<Duration, String> {
    let mut waiting = Waiting::start(wait, end == TimeLimit).await?;
    let (runtime, trace) = (waiting.runtime.clone(), id("t"));
    let mut asked = Instant::now();
    match end {
        Stop => drop(runtime.send(&local(), &trace, &Mail::Stop).await.unwrap()),
        Interrupt => {
            let call = waiting.call().await;
            runtime.send(&local(), &trace, &Mail::Interrupt { call }).await.unwrap();
        }
        TimeLimit => asked = waiting.began + LIMIT,
        Shutdown => {
            let rested = timeout(Duration::from_secs(60), runtime.rest()).await;
            return rested.map(|()| asked.elapsed()).map_err(|_| "the runtime does not come to rest".into());
        }
    }
    let over = |event: &Event| match end {
        Interrupt => matches!(event.kind, EventKind::CallResolved(_)),
        _ => run_finished(event),
    };
    waiting.sees(over).await?;
    if end != Interrupt {
        let mut phases = runtime.phase(&local(), &trace);
        let idle = timeout(Duration::from_secs(60), phases.wait_for(|phase| *phase == Phase::Idle)).await;
        idle.map_err(|_| "the run has ended, and it is still driven".to_string())?.unwrap();
    }
    let took = asked.elapsed();
    let log = waiting.place.log(&trace).await;
    let expected = match (wait, end) {
        (Hook(HookPoint::RunEnd), _) => Some(FinishReason::Final),
        (_, Stop) => Some(FinishReason::Stopped),
        (_, TimeLimit) => Some(FinishReason::Timeout),
        _ => None,
    };
    match reasons(&log).first().copied() {
        reason if expected.is_some() && reason != expected => Err(format!("it ended with {reason:?}: {}", names(&log))),
        _ => Ok(took),
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_a_run_waits_for_ends_within_two_seconds_of_what_ends_the_run() {
    let mut wrong = Vec::new();
    for wait in ALL {
        for end in wait.ends() {
            match ended(*wait, *end).await {
                Ok(took) if took <= Duration::from_secs(2) => {}
                Ok(took) => wrong.push(format!("{wait:?}, {end:?}: it took {took:?}")),
                Err(problem) => wrong.push(format!("{wait:?}, {end:?}: {problem}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_remote_agent_that_does_not_confirm_its_end_is_stopped_and_may_continue() {
    let unsure = "it did not confirm that it stopped; it may continue on far.example";
    for (end, problem) in [(Stop, unsure.to_string()), (TimeLimit, format!("its time is up; {unsure}"))] {
        let mut waiting = Waiting::start(RemoteChild, end == TimeLimit).await.unwrap();
        if end == Stop {
            waiting.runtime.send(&local(), &id("t"), &Mail::Stop).await.unwrap();
        }
        until(&mut waiting.watcher, run_finished).await;
        let log = waiting.place.inspect(&id("t")).await;
        let SubTraceCompleted { outcome, handed, .. } = completed(&log);
        assert_eq!((outcome, handed.problem, handed.reason), (ChildOutcome::Stopped, Some(problem), None));
        let there = id(child_of(&log).elsewhere().unwrap().id);
        let sent = waiting.store.mail(&local(), &there, 0).await.unwrap();
        assert_eq!(sent.iter().map(|mail| mail.body.as_str()).collect::<Vec<_>>(), [r#"{"type":"stop"}"#]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_remote_agent_is_counted_on_when_its_parent_is_resumed() {
    let waiting = Waiting::start(RemoteChild, true).await.unwrap();
    sleep(LIMIT / 2).await;
    waiting.runtime.rest().await;
    let Waiting { place, server, began, .. } = waiting;
    sleep(LIMIT / 4).await;
    let runtime = Runtime::new(config(&place, &server).0);
    let mut watcher = runtime.watch(&local(), &id("t"), 1);
    runtime.resume(&local(), &id("t"));
    until(&mut watcher, run_finished).await;
    let took = began.elapsed();
    assert!(LIMIT <= took && took <= LIMIT + Duration::from_secs(2), "{took:?}");
    let log = place.inspect(&id("t")).await;
    assert_eq!(reasons(&log), [FinishReason::Timeout]);
}

impl Waiting {
    /// The notices of so long a time.
    async fn notices(&mut self, time: Duration) -> Vec<String> {
        let mut notices = Vec::new();
        let heard = async {
            loop {
                if let Live::Notice(text) = self.watcher.next().await.unwrap() {
                    notices.push(text);
                }
            }
        };
        let _over = timeout(time, heard).await;
        notices
    }
}

#[tokio::test(start_paused = true)]
async fn a_remote_agent_that_nothing_drives_is_reported_once_and_resumed_less_and_less_often() {
    let mut waiting = Waiting::start(RemoteChild, false).await.unwrap();
    let notices = waiting.notices(Duration::from_secs(200)).await;
    let child = child_of(&waiting.place.log(&id("t")).await);
    let there = child.elsewhere().unwrap().id;
    let notice = format!(
        "no process on far.example drives the agent {child}; its server was asked to resume it; to do it on that machine: mainpath resume {there}"
    );
    assert_eq!(notices, [notice]);
    // After a few seconds, a minute later, and two minutes later.
    assert_eq!(*waiting.server.resumed.lock().unwrap(), [child.clone(), child.clone(), child.clone()]);
    waiting.runtime.send(&local(), &id("t"), &Mail::Stop).await.unwrap();
    until(&mut waiting.watcher, run_finished).await;
}

#[tokio::test(start_paused = true)]
async fn a_remote_agent_that_is_driven_or_waits_for_a_time_is_not_resumed() {
    for wait in [RemoteChild, RemotePause] {
        let mut waiting = Waiting::start(wait, false).await.unwrap();
        let there = id(child_of(&waiting.place.log(&id("t")).await).elsewhere().unwrap().id);
        let _driven = match wait {
            RemoteChild => Some(waiting.store.lease(&local(), &there, false).await.unwrap()),
            _ => None,
        };
        assert_eq!(waiting.notices(Duration::from_secs(200)).await, Vec::<String>::new(), "{wait:?}");
        assert!(waiting.server.resumed.lock().unwrap().is_empty(), "{wait:?}");
    }
}
