//! The agent core as a tool that other systems call: one request, one run, its outputs field by field.

use super::start::{check_limits, check_model};
use crate::about;
use crate::access::scope::Scope;
use crate::address;
use crate::call::{Call, Nothing};
use crate::cut_off::{ClientGuard, CutOffRun, OnDisconnect, dependent, is_retry, left, stopped, stopping, with_traces};
use crate::errors::Errors;
use crate::problem::{FieldProblem, Problem};
use crate::reply;
use crate::route::{Gives, Route, RouteError, documented, group};
use crate::stream::{Feed, Frame, Wanted, sse};
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use mainpath::agent_core::{AgentCoreRequest, Executed, Refused, Terms, WrongField, limits, pointer_of};
use mainpath::types::TraceId;
use mainpath::{Host, Run, Trace};
use serde_json::{Value, json};

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let outputs = Gives {
        status: 200,
        about: "The run has ended. With `Accept: text/event-stream` its events as they happen, and a last event `result` that has the same.",
        media: "application/json",
        schema: documented::<Executed>(),
    };
    group(
        "agent core",
        vec![
            Route::other(
                about!(POST "/v1/agent_core/execute" execute_agent_core "Has an agent do a task under a tool's contract, and answers with what came of it. Nobody is asked: a call that needs a person is denied."),
                Scope::Run,
                vec![outputs],
                execute,
            )
            .map(|route| route.once().long().besides(besides)),
        ],
    )
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        match refused {
            Refused::Failed(error) => error.into(),
            Refused::Fields(wrong) => Problem::of_body(wrong),
        }
    }
}

impl Problem {
    /// Fields of a body that cannot be used.
    pub fn of_body(wrong: Vec<WrongField>) -> Problem {
        Problem::fields(wrong.into_iter().map(field).collect())
    }
}

fn field(WrongField { pointer, detail }: WrongField) -> FieldProblem {
    FieldProblem::new("body", pointer, detail)
}

fn besides(host: &Host, body: &Value) -> Vec<FieldProblem> {
    host.wrong_in_agent_core(body).into_iter().map(field).collect()
}

async fn execute(call: Call<Nothing, AgentCoreRequest>) -> Result<Response<Body>, Problem> {
    let request = dependent(&call, false);
    let (run, cut_off) = begin(&call, request.as_deref()).await?;
    let trace = run.trace().clone();
    let mut guard = ClientGuard::new(&call, &trace, request.as_deref(), OnDisconnect::Continue);
    let accept = call.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let mut response = if accept.is_some_and(|accept| accept.contains("text/event-stream")) {
        let wanted = Wanted { deltas: true, ..Wanted::default() };
        let stopping = problem_frame(trace.id(), &stopping(&call, trace.id(), false));
        let last = trace.clone();
        let result = async move {
            let frame = result(&last).await;
            guard.release();
            frame
        };
        let feed = Feed::open(trace.clone(), wanted, call.watch()).await?;
        sse::response(call.app.watched(feed.ending_with(result).stopping_with(stopping)))
    } else {
        let executed = tokio::select! {
            biased;
            executed = run.executed() => executed,
            () = call.closing() => return Ok(stopped(&call, trace.id(), Errors::Problems)),
            () = call.gone.wait() => return Err(left()),
        };
        guard.release();
        reply::json(200, &executed?)
    };
    if let Ok(at) = HeaderValue::try_from(address::of_trace(trace.id())) {
        response.headers_mut().insert(header::LOCATION, at);
    }
    Ok(with_traces(response, trace.id(), cut_off.as_ref()))
}

/// Starts the run of a request, or joins the one that the end of an earlier process cut off. Also returns the trace of one that was cut off
/// and is not joined.
async fn begin(
    call: &Call<Nothing, AgentCoreRequest>,
    request: Option<&str>,
) -> Result<(Run, Option<TraceId>), Problem> {
    // The rights of the key are checked here.
    check_model(call, &call.body.config.model)?;
    check_limits(call, &limits(&call.body.config), pointer_of)?;
    let Some(cut_off) = CutOffRun::take(call, request).await else { return Ok((start(call).await?, None)) };
    let begun = match is_retry(call) {
        true => cut_off.join(call).await.map(|(run, _)| (run, None)),
        false => start(call).await.map(|run| (run, Some(cut_off.id().clone()))),
    };
    if begun.is_err() {
        cut_off.put_back(call);
    }
    begun
}

async fn start(call: &Call<Nothing, AgentCoreRequest>) -> Result<Run, Problem> {
    let terms = Terms { workspace: call.app.workspace(&call.who, None)?, once: call.once()?, is_permitted: true };
    let slot = call.app.runs.room(&call.host)?;
    let run = call.host.agent_core(&call.body, terms).await?;
    slot.follow(&call.host, run.trace().id());
    Ok(run)
}

/// The last frame: the outputs of the run, or why there are none.
async fn result(trace: &Trace) -> Frame {
    match trace.executed().await {
        Ok(Executed { outputs, trace_id }) => {
            let data = json!({"type": "result", "outputs": outputs, "trace_id": trace_id});
            Frame::new("result", &data)
        }
        Err(error) => problem_frame(trace.id(), &error.into()),
    }
}

fn problem_frame(trace: &TraceId, problem: &Problem) -> Frame {
    let data = json!({"type": "problem", "trace_id": trace, "problem": problem.kind, "detail": problem.detail});
    Frame::new("problem", &data)
}
