//! `mainpath mcp serve`: runs for the person's own MCP client. It serves what it has started itself and nothing else, so
//! whoever talks to it decides about no run of anybody else.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::exit::{Exit, Failure};
use crate::runs::driven::end_processes;
use crate::runs::rules::opened;
use crate::runs::signals::Signals;
use crate::ui::person::person_only;
use crate::ui::text::one_line;
use mainpath::agent;
use mainpath::mcp::{CallError, RunAnswer, RunDecision, RunStart, Runs};
use mainpath::servers::{self, PassingOn};
use mainpath::tools::Fut;
use mainpath::types::{ApprovalMode, BadCallId, CallId, TraceId};
use mainpath::{Error, Status, Trace, WaitingCalls};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

impl Served {
    async fn begin(&self, start: RunStart) -> Result<Value, Error> {
        if start.task.trim().is_empty() {
            return Err(Error::invalid("no task given"));
        }
        let app = &self.app;
        if let Some(model) = start.model.as_deref().filter(|model| !self.may_name(model)) {
            let why = "a client may name models of known providers, the configured ones and the one of --model";
            return Err(Error::invalid(format!("the model {:?} is not permitted: {why}", one_line(model))));
        }
        let folder = match start.workspace.as_deref() {
            Some(folder) => Some(self.below(Path::new(folder))?),
            None => self.args.workspace.clone(),
        };
        let mut options = self.args.options()?;
        options.model = start.model.or(options.model);
        let workspace = agent::workspace(folder.as_deref())?;
        options.workspace = Some(workspace.clone());
        let given = app.host.given(options, self.args.agent.as_deref(), app.host.sources().run.clone())?;
        let configured = app.host.configured_agent(given).await?;
        // Nobody sits at a terminal: what has to be asked waits for run_answer.
        let mode = if self.args.yes { ApprovalMode::Yes } else { ApprovalMode::Ask };
        let (agent, model) = (configured.agent.approvals(mode), configured.model);
        let trace = agent.start(start.task).await?.trace().id().clone();
        let passing_on = servers::pass_on(&app.host, &trace);
        self.started().insert(trace.clone(), passing_on);
        Ok(json!({"trace": trace, "status": "started", "model": model, "workspace": workspace}))
    }

    fn started(&self) -> MutexGuard<'_, BTreeMap<TraceId, PassingOn>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks a model's name that a client gives. The client's own model may have written it.
    fn may_name(&self, model: &str) -> bool {
        self.args.model.as_deref() == Some(model) || self.app.host.is_model_of_owner(model)
    }

    /// A folder that a client names, with its links resolved. Errors: it is not below the folder that is served.
    fn below(&self, folder: &Path) -> Result<PathBuf, Error> {
        let served = agent::workspace(self.args.workspace.as_deref())?;
        let wanted = agent::workspace(Some(&served.join(folder)))?;
        match wanted.starts_with(&served) {
            true => Ok(wanted),
            false => Err(Error::invalid(format!(
                "the folder {:?} is not below {}, which this server serves; serve another with mainpath -C FOLDER mcp serve",
                one_line(&wanted.display().to_string()),
                served.display()
            ))),
        }
    }

    /// A run that was started here.
    async fn own(&self, trace: &str) -> Result<Trace, Error> {
        let found = self.started().keys().find(|known| known.as_str() == trace).cloned();
        let none = || Error::invalid(format!("this server started no run {:?}", one_line(trace)));
        self.app.host.trace(&found.ok_or_else(none)?).await
    }

    /// Stops what goes on at the next checkpoint; what waits for a decision goes on waiting. `again` ends at once.
    async fn stop(&self, signals: &mut Signals, again: &str) {
        let started: Vec<TraceId> = self.started().keys().cloned().collect();
        let mut running = Vec::new();
        for id in started {
            running.extend(self.app.host.trace(&id).await.ok().filter(|trace| !trace.is_idle()));
        }
        if running.is_empty() {
            return;
        }
        let runs = |n: usize| if n == 1 { "a run".into() } else { format!("{n} runs") };
        let (ending, open): (Vec<&Trace>, Vec<&Trace>) = running.iter().partition(|trace| trace.is_calling_end_hooks());
        if !open.is_empty() {
            eprintln!("mainpath: stopping {} at the next checkpoint; {again} stops at once", runs(open.len()));
        }
        if !ending.is_empty() {
            eprintln!("mainpath: ending the hooks at the end of {}; {again} leaves at once", runs(ending.len()));
        }
        for trace in &running {
            if let Err(error) = trace.stop().await {
                eprintln!("! {} cannot be stopped: {}", trace.id(), one_line(error.message()));
            }
        }
        let ends = async {
            for trace in &running {
                trace.wait_until_idle().await;
                if let Err(error) = self.app.logs.write_views(trace.id()).await {
                    eprintln!("! the views of {} cannot be written: {}", trace.id(), one_line(error.message()));
                }
            }
        };
        tokio::select! {
            () = ends => {}
            _ = signals.next() => {}
        }
        open.iter().for_each(|trace| eprintln!("mainpath: continue with mainpath resume {}", trace.id()));
    }

    async fn stands(&self, trace: &Trace) -> Result<Value, Error> {
        let status = trace.status().await?;
        let state = trace.state().await?;
        let turns = state.run.as_ref().map(|run| run.turns);
        let mut about = json!({"trace": trace.id(), "cost_usd_micros": state.spent.cost, "turns": turns});
        if let Some(problem) = trace.problem() {
            about["status"] = "failed".into();
            about["problem"] = problem.into();
            return Ok(about);
        }
        about["status"] = "running".into();
        match status {
            Status::Waiting(_) => {
                let waiting = waiting(trace).await?;
                if !waiting.is_empty() {
                    about["status"] = "waiting".into();
                }
                about["waiting"] = waiting.into();
            }
            Status::Ended(_) => {
                let outcome = trace.outcome().await?;
                about["turns"] = outcome.turns.into();
                if !trace.goes_on_here() {
                    about["status"] = "finished".into();
                    about["reason"] = outcome.reason.as_str().into();
                    about["answer"] = outcome.answer.into();
                }
            }
            Status::Idle | Status::Running | Status::Interrupted => {}
        }
        Ok(about)
    }

    async fn decide(&self, answer: RunAnswer) -> Result<Value, Error> {
        let RunAnswer { trace, call, decision, text } = answer;
        let on = self.own(&trace).await?;
        let call: CallId = call.parse().map_err(|error: BadCallId| Error::invalid(error.to_string()))?;
        let waiting = on.waiting_calls().await?;
        let waits = match decision {
            RunDecision::Approve | RunDecision::Deny => {
                waiting.approvals.iter().any(|one| one.trace_id == *on.id() && one.call == call)
            }
            RunDecision::Answer => waiting.questions.iter().any(|one| one.trace_id == *on.id() && one.call == call),
        };
        if !waits {
            return Err(Error::invalid(format!("call {call} of {trace} is not waiting for that; see run_status")));
        }
        // Read when this returns: run_result does not say then that the call still waits.
        match decision {
            RunDecision::Approve => on.approve(call).await?,
            RunDecision::Deny => on.deny(call, text).await?,
            RunDecision::Answer => {
                let text = text.ok_or_else(|| Error::invalid("an answer needs its text"))?;
                on.answer_via(call, text, Some("mcp".into())).await?;
            }
        }
        Ok(json!({"trace": trace, "call": call.to_string(), "status": "sent"}))
    }

    async fn end(&self, trace: &Trace, wait: Duration) -> Result<Value, Error> {
        let _ = tokio::time::timeout(wait, trace.wait_until_idle()).await;
        let stands = self.stands(trace).await?;
        if stands["status"] == "finished" || stands["status"] == "waiting" {
            self.app.logs.write_views(trace.id()).await?;
        }
        Ok(stands)
    }
}

/// What waits, and what is to be known to decide.
async fn waiting(trace: &Trace) -> Result<Vec<Value>, Error> {
    let WaitingCalls { approvals, questions, .. } = trace.waiting_calls().await?;
    let approvals = approvals.iter().filter(|one| one.trace_id == *trace.id()).map(|one| {
        let reason = one.verdict.as_ref().map(|verdict| &verdict.reason);
        let mut told = described(one.call, "approval", &one.tool, &one.arguments);
        told["reason"] = json!(reason);
        // Where its paths lead, if that is not where they are written.
        if !one.places.is_empty() {
            told["places"] = json!(one.places);
        }
        told
    });
    let questions = questions.iter().filter(|one| one.trace_id == *trace.id());
    let questions = questions.map(|one| described(one.call, "answer", &one.tool, &one.arguments));
    Ok(approvals.chain(questions).collect())
}

fn described(call: CallId, needs: &str, tool: &str, arguments: &str) -> Value {
    json!({"call": call.to_string(), "needs": needs, "tool": tool, "arguments": arguments, "reason": null})
}

/// The line that the command would print.
fn refused(error: Error) -> CallError {
    CallError::failed(Failure::from(error).message)
}

impl Runs for Served {
    fn start(&self, start: RunStart) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async move { self.begin(start).await.map_err(refused) })
    }
    fn status(&self, trace: String) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async move {
            let status = async { self.stands(&self.own(&trace).await?).await };
            status.await.map_err(refused)
        })
    }
    fn answer(&self, answer: RunAnswer) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async move { self.decide(answer).await.map_err(refused) })
    }
    fn result(&self, trace: String, wait: Duration) -> Fut<'_, Result<Value, CallError>> {
        Box::pin(async move {
            let end = async { self.end(&self.own(&trace).await?, wait).await };
            end.await.map_err(refused)
        })
    }
}
