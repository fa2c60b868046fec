//! What waits for people: calls that need an approval, and questions.

use super::control::{Sent, sent};
use super::traces::{PartQuery, TracesPart};
use crate::about;
use crate::access::scope::Scope;
use crate::call::{Answer, Call, Nothing};
use crate::problem::Problem;
use crate::route::{Route, RouteError, group};
use futures_util::future::join_all;
use mainpath::event::Stamped;
use mainpath::index::{Row, Wanted};
use mainpath::trace::ApprovedFor;
use mainpath::types::{TraceId, Verdict};
use mainpath::{Error, PendingCall, PendingQuestion, Unasked, WaitingCalls};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let told =
        |route: Result<Route, RouteError>| route.map(|route| route.gives(202, "It is decided, and durable.").once());
    group(
        "decisions",
        vec![
            Route::json(
                about!(GET "/api/approvals" list_approvals "The calls of all traces that wait for an approval."),
                Scope::Read,
                all_approvals,
            ),
            Route::json(
                about!(GET "/api/questions" list_questions "The questions of all traces that wait for an answer."),
                Scope::Read,
                all_questions,
            ),
            Route::json(
                about!(GET "/api/traces/{id}/approvals" list_trace_approvals "The calls of a trace, and of the agents that it has started, that wait for an approval."),
                Scope::Read,
                approvals,
            ),
            Route::json(
                about!(GET "/api/traces/{id}/questions" list_trace_questions "The questions of a trace, and of the agents that it has started."),
                Scope::Read,
                questions,
            ),
            told(Route::answer(
                about!(POST "/api/traces/{id}/approvals/{call}" decide_call "Approves or denies a call. Who comes second is told so (409)."),
                Scope::Approve,
                decide,
            )),
            told(Route::answer(
                about!(POST "/api/traces/{id}/questions/{call}" answer_question "Answers a question."),
                Scope::Approve,
                answer,
            )),
        ],
    )
}

/// A call that waits for an approval.
#[derive(Serialize, JsonSchema)]
struct OpenCall {
    /// The trace that makes it.
    trace_id: TraceId,
    /// The call.
    call: String,
    /// The event that asks.
    event: Option<u64>,
    /// Since when it waits.
    since: String,
    /// The tool.
    tool: String,
    /// The arguments as they will run.
    arguments: Value,
    /// The hooks that have changed them.
    changed_by: Vec<String>,
    /// Where its paths lead, if that is not where they are written.
    places: Vec<String>,
    /// Why, as the model says.
    reason: Option<String>,
    /// The rule that has it asked about, and why.
    verdict: Option<Verdict>,
    /// What an approval with `for` allows from then on: the narrowest rule for calls like this one, as patterns. `null`: none can cover it.
    offer: Option<Vec<String>>,
}

impl From<Stamped<PendingCall>> for OpenCall {
    fn from(asked: Stamped<PendingCall>) -> OpenCall {
        OpenCall {
            trace_id: asked.trace_id.clone(),
            call: asked.call.to_string(),
            event: asked.id,
            since: asked.ts.clone(),
            tool: asked.tool.clone(),
            arguments: asked.arguments_json(),
            changed_by: asked.changed_by.clone(),
            places: asked.places.clone(),
            reason: asked.reason.clone(),
            verdict: asked.verdict.clone(),
            offer: asked.offer.as_ref().map(|rule| rule.lines().map(String::from).collect()),
        }
    }
}

/// A question that waits for an answer.
#[derive(Serialize, JsonSchema)]
struct OpenQuestion {
    /// The trace that asks.
    trace_id: TraceId,
    /// The call.
    call: String,
    /// Since when it waits: `expires_in` of the question counts from then.
    since: String,
    /// The tool.
    tool: String,
    /// What is asked: `question`, `choices`, …
    question: Value,
}

impl From<Stamped<PendingQuestion>> for OpenQuestion {
    fn from(asked: Stamped<PendingQuestion>) -> OpenQuestion {
        let (trace_id, call) = (asked.trace_id.clone(), asked.call.to_string());
        OpenQuestion {
            trace_id,
            call,
            since: asked.ts.clone(),
            tool: asked.tool.clone(),
            question: asked.arguments_json(),
        }
    }
}

/// Calls that wait for an approval.
#[derive(Serialize, JsonSchema)]
struct Approvals {
    /// The calls.
    approvals: Vec<OpenCall>,
    /// The agents that cannot be asked whether they wait.
    unasked: Vec<Unasked>,
    /// Where the list goes on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Questions that wait for an answer.
#[derive(Serialize, JsonSchema)]
struct Questions {
    /// The questions.
    questions: Vec<OpenQuestion>,
    /// The agents that cannot be asked whether they wait.
    unasked: Vec<Unasked>,
    /// Where the list goes on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A part of the traces that wait, or whose agents do.
async fn waiting(call: &Call<PartQuery>) -> Result<TracesPart, Problem> {
    let wanted = Wanted { may_ask: true, ..Wanted::default() };
    call.query.read(&call.host, wanted).await
}

/// What was found in a trace.
struct Looked {
    trace: TraceId,
    found: Result<WaitingCalls, Error>,
}

/// What waits for people in these traces.
async fn waiting_in(call: &Call<PartQuery>, rows: Vec<Row>) -> WaitingCalls {
    let mut all = WaitingCalls::default();
    // At the same time: another machine may let them wait.
    let looks = rows.into_iter().map(async |row| match call.host.trace(&row.trace).await {
        Ok(trace) => Looked { trace: row.trace, found: trace.waiting_calls().await },
        Err(error) => Looked { trace: row.trace, found: Err(error) },
    });
    for Looked { trace, found } in join_all(looks).await {
        match found {
            Ok(WaitingCalls { approvals, questions, unasked }) => {
                all.approvals.extend(approvals);
                all.questions.extend(questions);
                all.unasked.extend(unasked);
            }
            // It keeps no other from being listed.
            Err(error) => all.unasked.push(Unasked { trace_id: trace, problem: error.message().into() }),
        }
    }
    all
}

async fn all_approvals(call: Call<PartQuery>) -> Result<Approvals, Problem> {
    let TracesPart { rows, next } = waiting(&call).await?;
    let WaitingCalls { approvals, unasked, .. } = waiting_in(&call, rows).await;
    Ok(Approvals { approvals: approvals.into_iter().map(OpenCall::from).collect(), unasked, next })
}

async fn all_questions(call: Call<PartQuery>) -> Result<Questions, Problem> {
    let TracesPart { rows, next } = waiting(&call).await?;
    let WaitingCalls { questions, unasked, .. } = waiting_in(&call, rows).await;
    Ok(Questions { questions: questions.into_iter().map(OpenQuestion::from).collect(), unasked, next })
}

async fn approvals(call: Call) -> Result<Approvals, Problem> {
    let WaitingCalls { approvals, unasked, .. } = call.trace().await?.waiting_calls().await?;
    Ok(Approvals { approvals: approvals.into_iter().map(OpenCall::from).collect(), unasked, next: None })
}

async fn questions(call: Call) -> Result<Questions, Problem> {
    let WaitingCalls { questions, unasked, .. } = call.trace().await?.waiting_calls().await?;
    Ok(Questions { questions: questions.into_iter().map(OpenQuestion::from).collect(), unasked, next: None })
}

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CallDecision")]
enum Decision {
    /// The call is made.
    Approve,
    /// It is not; the model is told why.
    Deny,
}

/// A decision on a call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DecideBody {
    /// What is decided.
    decision: Decision,
    /// With an approval: other arguments than the model's; rules judge them afresh.
    arguments: Option<serde_json::Map<String, Value>>,
    /// With an approval: the rule that is offered with the call holds for later ones. `always` needs the scope `admin`.
    #[serde(rename = "for")]
    lasting: Option<Lasting>,
    /// With an approval of a call that was denied: it is made after all.
    #[serde(default)]
    reopen: bool,
    /// With a denial: why.
    reason: Option<String>,
}

/// For which calls an approval holds beside the one that is approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Lasting {
    /// Calls like this one in this trace, whoever talks to it: also a key that may not decide.
    Trace,
    /// Calls like this one from now on, in every trace.
    Always,
}

async fn decide(call: Call<Nothing, DecideBody>) -> Result<Answer<Sent>, Problem> {
    let (trace, which) = (call.trace_once().await?, call.call()?);
    match &call.body {
        DecideBody { decision: Decision::Approve, reason: Some(_), .. } => {
            return Err(Problem::field("/reason", "goes with a denial"));
        }
        DecideBody { decision: Decision::Deny, arguments: Some(_), .. } => {
            return Err(Problem::field("/arguments", "go with an approval"));
        }
        DecideBody { decision: Decision::Deny, lasting: Some(_), .. } => {
            return Err(Problem::field("/for", "goes with an approval"));
        }
        DecideBody { arguments: Some(_), lasting: Some(_), .. } => {
            return Err(Problem::field("/for", "is for the call as it stands, not for other arguments"));
        }
        DecideBody { decision: Decision::Deny, reopen: true, .. } => {
            return Err(Problem::field("/reopen", "goes with an approval"));
        }
        DecideBody { reopen: true, lasting: Some(_), .. } => {
            return Err(Problem::field("/for", "is not for a call that was denied"));
        }
        DecideBody { decision: Decision::Deny, reason, .. } => trace.deny(which, reason.clone()).await?,
        DecideBody { reopen: true, arguments, .. } => {
            let arguments = arguments.clone().map(|arguments| Value::Object(arguments).to_string());
            trace.approve_denied(which, arguments).await.map_err(Problem::at("/arguments"))?;
        }
        DecideBody { arguments: Some(arguments), .. } => {
            let arguments = Value::Object(arguments.clone()).to_string();
            trace.approve_with(which, arguments).await.map_err(Problem::at("/arguments"))?;
        }
        DecideBody { lasting: Some(lasting), .. } => {
            let lasting = match lasting {
                Lasting::Trace => ApprovedFor::Trace,
                Lasting::Always => {
                    call.needs(Scope::Admin, "a rule for every trace")?;
                    ApprovedFor::Always
                }
            };
            trace.approve_for(which, lasting).await?;
        }
        DecideBody { .. } => trace.approve(which).await?,
    }
    sent(&call, &trace).await
}

/// An answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    /// Words, or the number of a choice.
    answer: String,
}

async fn answer(call: Call<Nothing, AnswerBody>) -> Result<Answer<Sent>, Problem> {
    let (trace, which) = (call.trace_once().await?, call.call()?);
    if call.body.answer.trim().is_empty() {
        return Err(Problem::field("/answer", "is empty"));
    }
    trace.answer(which, call.body.answer.as_str()).await.map_err(Problem::at("/answer"))?;
    sent(&call, &trace).await
}
