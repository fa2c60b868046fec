//! A server with agents, as the tests of remote children have it: the logs of its agents are in the store of the test.

use super::{id, local, tokio_clock};
use mainpath_core::{Input, InputKind, Machine};
use mainpath_runtime::{Peers, RemoteTask, Unbegun};
use mainpath_store::{Fut, Store, StoreError};
use mainpath_tools::{AgentServer, AgentTool};
use mainpath_types::*;
use serde_json::{Value, json};
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Its address.
pub const SERVER: &str = "http://far.example:80";

/// What it does when it is asked to start an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// It starts one, whose model never answers.
    Agent,
    /// It starts one, whose model failed and is asked again much later.
    Pausing,
    /// It does not answer.
    Never,
    /// It cannot be reached.
    Unreachable,
}

/// The server.
pub struct Server {
    pub store: Arc<dyn Store>,
    pub starts: Starts,
    /// How often it was asked to start an agent.
    pub asked: AtomicU32,
    /// The traces that it was asked to resume.
    pub resumed: Mutex<Vec<TraceId>>,
}

impl Server {
    pub fn new(store: Arc<dyn Store>, starts: Starts) -> Arc<Server> {
        Arc::new(Server { store, starts, asked: AtomicU32::new(0), resumed: Mutex::default() })
    }
}

impl Peers for Server {
    fn begin<'a>(&'a self, task: RemoteTask<'a>) -> Fut<'a, Result<(), Unbegun>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            match self.starts {
                Starts::Agent | Starts::Pausing => {
                    // Asked for again, it is there already.
                    let there = id(task.trace.elsewhere().unwrap().id);
                    match self.store.begin(&local(), &there, log_of(&there, self.starts)).await {
                        Ok(()) | Err(StoreError::Exists { .. }) => Ok(()),
                        Err(error) => panic!("{error}"),
                    }
                }
                Starts::Never => pending().await,
                Starts::Unreachable => Err(Unbegun { why: "it cannot be reached".into(), is_for_now: true }),
            }
        })
    }

    fn resume<'a>(&'a self, trace: &'a TraceId) -> Fut<'a, Result<(), Unbegun>> {
        self.resumed.lock().unwrap().push(trace.clone());
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The arguments of a call that hands a task to the server.
pub fn hands_on(task: &str) -> Value {
    json!({"task": task, "agent_url": SERVER})
}

/// The tool that starts agents, also there.
pub fn agent_tool() -> AgentTool {
    AgentTool::with_servers(vec![AgentServer { url: SERVER.into(), about: "Has a fast machine.".into() }]).unwrap()
}

/// The log of an agent that has asked its model, and waits for what follows.
fn log_of(trace: &TraceId, starts: Starts) -> Vec<Event> {
    let (mut machine, mut log) = (Machine::new(trace.clone()), Vec::new());
    let said = MessageQueued {
        mode: MessageMode::Message,
        parts: vec![Part::text("Do it.")],
        typed: None,
        tokens: 5,
        demands: 0,
        demanded: Vec::new(),
        from: Principal::agent("t"),
    };
    let limits = Limits { model_retries: 3, ..Limits::default() };
    let spec = Arc::new(Spec { limits, ..Spec::new("brain", Profile::Trace) });
    let error = ModelError {
        kind: ModelErrorKind::RateLimit,
        message: "by the test".into(),
        status: None,
        retry_after_ms: None,
    };
    let retry_at = Some(tokio_clock() + 3_600_000);
    let failed = InputKind::ModelFailed { request: 1, error, retry_at, usage: None, received: 0 };
    let mut inputs = vec![InputKind::SetSpec { spec, by: None }, InputKind::UserMessage(said)];
    inputs.extend(Some(failed).filter(|_| starts == Starts::Pausing));
    for kind in inputs {
        log.extend(machine.handle(&Input::new(tokio_clock(), kind)).unwrap());
        machine.commit(log.len() as u64);
    }
    log
}
