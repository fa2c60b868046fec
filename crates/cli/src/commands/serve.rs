//! `mainpath mcp serve`: runs for the person's own MCP client. It serves what it has started itself and nothing else, so
//! whoever talks to it decides about no run of anybody else.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::exit::{Exit, Failure};
use crate::runs::driven::end_processes;
use crate::runs::given::given_in;
use crate::runs::rules::opened;
use crate::runs::signals::Signals;
use crate::ui::person::person_only;
use crate::ui::text::one_line;
use mainpath::agent::{self, choose_model};
use mainpath::core::{Bodies, Log, State, arguments_in};
use mainpath::mcp::{CallError, RunAnswer, RunDecision, RunStart, Runs};
use mainpath::runtime::{Mail, Phase, Runtime, Waiting, views};
use mainpath::servers::{self, PassingOn};
use mainpath::tools::Fut;
use mainpath::types::{ApprovalMode, BadCallId, CallId, Event, EventKind, TraceId};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// `mainpath mcp serve`
pub async fn serve(args: AgentArgs) -> Result<Exit, Failure> {
    // What an agent starts must not be able to approve what an agent does.
    person_only("serve runs")?;
    let app = opened(&args)?;
    let workspace = agent::workspace(args.workspace.as_deref())?;
    let tell = |line: &str| eprintln!("! {}", one_line(line));
    let ends = std::future::pending::<mainpath::Error>();
    servers::connect(&app.host, &workspace, args.mcp_config.as_deref(), None, ends, tell).await?;
    app.host.check_usable()?;
    app.host.bind_keys(args.model.as_deref());
    let served = Arc::new(Served { app, args, started: Mutex::default() });
    let mut signals = Signals::listen()?;
    let done = tokio::select! {
        done = mainpath::mcp::serve(Arc::clone(&served) as Arc<dyn Runs>) => Ok(done),
        heard = signals.next() => Err(heard.again()),
    };
    // Also where the client has gone: whoever closes its input has not said that runs are to break off.
    served.stop(&mut signals, done.as_ref().err().unwrap_or(&"a signal")).await;
    end_processes(&served.app.host).await;
    served.app.host.close_servers().await;
    match done {
        Ok(served) => served.map(|()| Exit::Ok).map_err(|error| Failure::error(error.to_string())),
        Err(_) => Ok(Exit::Interrupted),
    }
}

struct Served {
    app: App,
    args: AgentArgs,
    started: Mutex<BTreeMap<TraceId, PassingOn>>,
}

fn said(failure: impl Into<Failure>) -> String {
    failure.into().message
}

impl Served {
    fn runtime(&self) -> &Runtime {
        self.app.host.runtime()
    }

    async fn begin(&self, start: RunStart) -> Result<Value, String> {
        if start.task.trim().is_empty() {
            return Err("no task given".into());
        }
        let app = &self.app;
        if let Some(model) = start.model.as_deref().filter(|model| !self.may_name(model)) {
            let why = "a client may name models of known providers, the configured ones and the one of --model";
            return Err(format!("the model {:?} is not permitted: {why}", one_line(model)));
        }
        let folder = match start.workspace.as_deref() {
            Some(folder) => Some(self.below(Path::new(folder))?),
            None => self.args.workspace.clone(),
        };
        let folder = folder.as_deref();
        let given = given_in(app, &self.args, folder, app.host.sources().run.clone(), true).map_err(said)?;
        let named = start.model.as_deref().or(given.model());
        let chosen = choose_model(named, app.host.home(), app.host.registry()).await.map_err(said)?;
        app.host.prepare_model(&chosen.model).await.map_err(said)?;
        let workspace = agent::workspace(folder).map_err(said)?;
        // Nobody sits at a terminal: what has to be asked waits for run_answer.
        let mode = if self.args.yes { ApprovalMode::Yes } else { ApprovalMode::Ask };
        let model = chosen.model.clone();
        let agent = app.host.agent(chosen.model).given(given).workspace(&workspace).approvals(mode);
        let trace = agent.start(start.task).await.map_err(said)?.trace().id().clone();
        let passing_on = servers::pass_on(&app.host, &trace);
        self.started.lock().unwrap_or_else(PoisonError::into_inner).insert(trace.clone(), passing_on);
        Ok(json!({"trace": trace, "status": "started", "model": model, "workspace": workspace}))
    }

    /// Checks a model's name that a client gives. The client's own model may have written it.
    fn may_name(&self, model: &str) -> bool {
        self.args.model.as_deref() == Some(model) || self.app.host.is_model_of_owner(model)
    }

    /// A folder that a client names, with its links resolved. Errors: it is not below the folder that is served.
    fn below(&self, folder: &Path) -> Result<PathBuf, String> {
        let served = agent::workspace(self.args.workspace.as_deref()).map_err(said)?;
        let wanted = agent::workspace(Some(&served.join(folder))).map_err(said)?;
        match wanted.starts_with(&served) {
            true => Ok(wanted),
            false => Err(format!(
                "the folder {:?} is not below {}, which this server serves; serve another with mainpath -C FOLDER mcp serve",
                one_line(&wanted.display().to_string()),
                served.display()
            )),
        }
    }

    /// A run that was started here.
    fn own(&self, trace: &str) -> Result<TraceId, String> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let found = started.keys().find(|known| known.as_str() == trace).cloned();
        found.ok_or_else(|| format!("this server started no run {:?}", one_line(trace)))
    }

    /// Stops what goes on at the next checkpoint; what waits for a decision goes on waiting. `again` ends at once.
    async fn stop(&self, signals: &mut Signals, again: &str) {
        let scope = &self.app.logs.scope;
        let started: Vec<TraceId> =
            self.started.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        let going_on = |trace: &&TraceId| !rests(&self.runtime().phase(scope, trace).borrow());
        let running: Vec<&TraceId> = started.iter().filter(going_on).collect();
        if running.is_empty() {
            return;
        }
        let runs = if running.len() == 1 { "a run".into() } else { format!("{} runs", running.len()) };
        eprintln!("mainpath: stopping {runs} at the next checkpoint; {again} stops at once");
        for trace in &running {
            if let Err(error) = self.runtime().send(scope, trace, &Mail::Stop).await {
                eprintln!("! {trace} cannot be stopped: {}", one_line(&error.to_string()));
            }
        }
        let ends = async {
            for trace in &running {
                self.rest(trace).await;
                if let Err(error) = self.app.logs.write_views(trace).await {
                    eprintln!("! the views of {trace} cannot be written: {}", one_line(&error.to_string()));
                }
            }
        };
        tokio::select! {
            () = ends => {}
            _ = signals.next() => {}
        }
        running.iter().for_each(|trace| eprintln!("mainpath: continue with mainpath resume {trace}"));
    }

    /// Waits until nothing of a run goes on.
    async fn rest(&self, trace: &TraceId) {
        let mut phases = self.runtime().phase(&self.app.logs.scope, trace);
        // An error is a runtime that is gone.
        let _ = phases.wait_for(rests).await;
    }

    async fn stands(&self, trace: &TraceId) -> Result<Value, String> {
        let phase = self.runtime().phase(&self.app.logs.scope, trace).borrow().clone();
        let (log, state, bodies) = self.app.logs.read(trace).await.map_err(said)?;
        let ended = || {
            let finished = |event: &Event| match &event.kind {
                EventKind::RunFinished(data) => Some(data.turns),
                _ => None,
            };
            log.events.iter().rev().find_map(finished)
        };
        let turns = state.run.as_ref().map(|run| run.turns).or_else(ended);
        let mut about = json!({"trace": trace, "cost_usd_micros": state.spent.cost, "turns": turns});
        match phase {
            Phase::Full(problem) | Phase::Failed(problem) | Phase::Elsewhere(problem) => {
                about["status"] = "failed".into();
                about["problem"] = problem.into();
            }
            Phase::Parked(waiting) => {
                let waiting: Vec<Value> = waiting.iter().filter_map(|one| described(one, &state, &bodies)).collect();
                about["status"] = if waiting.is_empty() { "running" } else { "waiting" }.into();
                about["waiting"] = waiting.into();
            }
            Phase::Running => about["status"] = "running".into(),
            Phase::Idle => {
                let app = &self.app;
                let end = views::ending(app.logs.scoped(), &state, &bodies).await.map_err(said)?;
                about["status"] = if end.is_some() { "finished" } else { "running" }.into();
                if let Some(end) = end {
                    about["reason"] = end.reason.as_str().into();
                    about["answer"] = end.answer.into();
                }
            }
        }
        Ok(about)
    }

    async fn decide(&self, answer: RunAnswer) -> Result<Value, String> {
        let RunAnswer { trace, call, decision, text } = answer;
        let trace = self.own(&trace)?;
        let call: CallId = call.parse().map_err(|error: BadCallId| error.to_string())?;
        let phase = self.runtime().phase(&self.app.logs.scope, &trace).borrow().clone();
        let wanted = match decision {
            RunDecision::Approve | RunDecision::Deny => Waiting::Approval(call),
            RunDecision::Answer => Waiting::Answer(call),
        };
        if !matches!(&phase, Phase::Parked(waiting) if waiting.contains(&wanted)) {
            return Err(format!("call {call} of {trace} is not waiting for that; see run_status"));
        }
        let on = self.app.host.trace(&trace).await.map_err(said)?;
        // Read when this returns: run_result does not say then that the call still waits.
        match decision {
            RunDecision::Approve => on.approve(call).await.map_err(said)?,
            RunDecision::Deny => on.deny(call, text).await.map_err(said)?,
            RunDecision::Answer => {
                let text = text.ok_or("an answer needs its text")?;
                on.answer_via(call, text, Some("mcp".into())).await.map_err(said)?;
            }
        }
        Ok(json!({"trace": trace, "call": call.to_string(), "status": "sent"}))
    }

    async fn end(&self, trace: TraceId, wait: Duration) -> Result<Value, String> {
        let _ = tokio::time::timeout(wait, self.rest(&trace)).await;
        let stands = self.stands(&trace).await?;
        if stands["status"] == "finished" || stands["status"] == "waiting" {
            self.app.logs.write_views(&trace).await.map_err(said)?;
        }
        Ok(stands)
    }
}

/// Whether nothing goes on until somebody does something.
fn rests(phase: &Phase) -> bool {
    match phase {
        Phase::Running => false,
        Phase::Parked(waiting) => waiting.iter().any(|one| *one != Waiting::Timer),
        Phase::Idle | Phase::Full(_) | Phase::Failed(_) | Phase::Elsewhere(_) => true,
    }
}

/// What waits, and what is to be known to decide.
fn described(waiting: &Waiting, state: &State, bodies: &Log) -> Option<Value> {
    let (call, what) = match waiting {
        Waiting::Approval(call) => (*call, "approval"),
        Waiting::Answer(call) => (*call, "answer"),
        Waiting::Child(_) | Waiting::Timer => return None,
    };
    let row = state.calls.get(call)?;
    // As it will run: hooks or a person may have given it other arguments than the model's.
    let arguments = bodies.get(row.arguments).and_then(|kind| arguments_in(kind, call)).unwrap_or_default();
    let tool = row.tool.as_deref().unwrap_or_default();
    let reason = row.verdict().map(|verdict| verdict.reason.as_str());
    let mut told =
        json!({"call": call.to_string(), "needs": what, "tool": tool, "arguments": arguments, "reason": reason});
    // Where its paths lead, if that is not where they are written.
    let places = row.judged.iter().flat_map(|judged| &judged.places);
    let places: Vec<&str> = places.map(String::as_str).collect();
    if !places.is_empty() {
        told["places"] = json!(places);
    }
    Some(told)
}

impl Runs for Served {
    fn start(&self, start: RunStart) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async move { self.begin(start).await.map_err(CallError::failed) })
    }
    fn status(&self, trace: String) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async move {
            let trace = self.own(&trace).map_err(CallError::failed)?;
            self.stands(&trace).await.map_err(CallError::failed)
        })
    }
    fn answer(&self, answer: RunAnswer) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async move { self.decide(answer).await.map_err(CallError::failed) })
    }
    fn result(&self, trace: String, wait: Duration) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async move {
            let trace = self.own(&trace).map_err(CallError::failed)?;
            self.end(trace, wait).await.map_err(CallError::failed)
        })
    }
}
