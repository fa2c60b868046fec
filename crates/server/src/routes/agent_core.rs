//! The agent core as a tool that other systems call: one request, one run, its outputs field by field.

use super::start::{check_limits, check_model};
use crate::about;
use crate::access::scope::Scope;
use crate::address;
use crate::call::{Call, Nothing};
use crate::problem::{FieldProblem, Problem};
use crate::reply;
use crate::route::{Gives, Route, documented, group};
use crate::stream::{Feed, Frame, Wanted, sse};
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use mainpath::agent_core::{AgentCoreRequest, Executed, Refused, Terms, WrongField, limits, pointer_of};
use mainpath::{Error, Host, Trace};
use serde_json::{Value, json};

pub fn routes() -> Result<Vec<Route>, String> {
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
    FieldProblem { place: "body".into(), pointer, detail }
}

fn besides(host: &Host, body: &Value) -> Vec<FieldProblem> {
    host.wrong_in_agent_core(body).into_iter().map(field).collect()
}

async fn execute(call: Call<Nothing, AgentCoreRequest>) -> Result<Response<Body>, Problem> {
    // The rights of the key are checked in the next two statements.
    let terms = Terms { workspace: call.app.workspace(&call.who, None)?, once: call.once()?, is_permitted: true };
    check_model(&call, &call.body.config.model)?;
    check_limits(&call, &limits(&call.body.config), pointer_of)?;
    let slot = call.app.runs.room(&call.host)?;
    let run = call.host.agent_core(&call.body, terms).await?;
    let trace = run.trace().clone();
    slot.follow(&call.host, trace.id());
    let accept = call.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("text/event-stream")) {
        let wanted = Wanted { deltas: true, ..Wanted::default() };
        let last = trace.clone();
        let feed = Feed::open(trace, wanted, call.watch()).await?.ending_with(async move { result(&last).await });
        return Ok(sse::response(call.app.watched(feed)));
    }
    // What waits for the end is the run's, not the caller's: who goes away finds its outputs under the same key.
    let mut response = reply::json(200, &run.executed().await?);
    if let Ok(at) = HeaderValue::try_from(address::of_trace(trace.id())) {
        response.headers_mut().insert(header::LOCATION, at);
    }
    Ok(response)
}

/// The last frame: what came of the run, or why nothing can be said of it.
async fn result(trace: &Trace) -> Frame {
    let problem = |error: Error| json!({"type": "problem", "trace_id": trace.id(), "detail": error.message()});
    match trace.executed().await {
        Ok(Executed { outputs, trace_id }) => {
            let data = json!({"type": "result", "outputs": outputs, "trace_id": trace_id});
            Frame::new("result", &data)
        }
        Err(error) => Frame::new("problem", &problem(error)),
    }
}
