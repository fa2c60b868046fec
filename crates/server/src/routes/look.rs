//! A trace is looked at: its tree, its requests, what it took, whether it is whole.

use crate::about;
use crate::access::scope::Scope;
use crate::call::Call;
use crate::problem::Problem;
use crate::route::{Gives, Route, RouteError, group};
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use mainpath::trace::{Comparison, ContextReport, ExportFormat, TreeMessage};
use mainpath::types::TraceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let file = Gives { status: 200, about: "The trace in that format.", media: "text/plain", schema: None };
    group(
        "looking",
        vec![
            Route::json(
                about!(GET "/api/traces/{id}/tree" get_tree "All messages as a tree, without their texts."),
                Scope::Read,
                tree,
            ),
            Route::json(
                about!(GET "/api/traces/{id}/context" get_context "Where every token of a request goes, and what was left out and why."),
                Scope::Read,
                context,
            ),
            Route::json(
                about!(GET "/api/traces/{id}/requests/{number}" get_request "What the model was sent, by the number of the request."),
                Scope::Read,
                request,
            ),
            Route::json(about!(GET "/api/traces/{id}/stats" get_stats "What each run took."), Scope::Read, stats),
            Route::other(
                about!(GET "/api/traces/{id}/export" export_trace "The trace for people, or for other programs."),
                Scope::Read,
                vec![file],
                export,
            ),
            Route::json(
                about!(GET "/api/traces/{id}/verify" verify_trace "Whether the log is complete and unchanged."),
                Scope::Read,
                verify,
            )
            .map(Route::long),
            Route::json(
                about!(GET "/api/compare" compare_traces "Two traces: what they have in common, where they part, what each took."),
                Scope::Read,
                compare,
            )
            .map(|route| route.fails(&[404])),
        ],
    )
}

/// The tree of messages.
#[derive(Serialize, JsonSchema)]
struct Tree {
    /// The messages, in the order of their numbers.
    messages: Vec<Map<String, Value>>,
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

async fn tree(call: Call) -> Result<Tree, Problem> {
    let tree: Vec<TreeMessage> = call.trace().await?.tree().await?;
    Ok(Tree { messages: tree.iter().map(|message| object(json!(message))).collect() })
}

/// Which request.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContextQuery {
    /// The turn; without it, the request in flight or the next one.
    turn: Option<u32>,
}

/// A request as numbers.
#[derive(Serialize, JsonSchema)]
struct Context {
    /// The trace.
    trace_id: TraceId,
    /// Sizes by section, parts, and what is not shown: as `mainpath context --json` says them.
    #[serde(flatten)]
    report: Map<String, Value>,
}

async fn context(call: Call<ContextQuery>) -> Result<Context, Problem> {
    let report: ContextReport = call.trace().await?.context(call.query.turn).await.map_err(Problem::at("/turn"))?;
    let trace_id = report.trace_id.clone();
    let mut report = object(json!(report));
    report.remove("trace_id");
    Ok(Context { trace_id, report })
}

/// A request of the model.
#[derive(Serialize, JsonSchema)]
struct ModelRequest {
    /// Its number in the trace.
    request: u32,
    /// The turn that it began.
    turn: u32,
    /// The model that was asked.
    model: String,
    /// What was sent, without secrets, in the form of the model's vendor.
    body: Map<String, Value>,
}

async fn request(call: Call) -> Result<ModelRequest, Problem> {
    let number = call.part("number");
    let none = || Problem::not_found(format!("there is no request {:?}", number.chars().take(20).collect::<String>()));
    let trace = call.trace().await?;
    let sent = trace.request(number.parse().map_err(|_| none())?).await?.ok_or_else(none)?;
    let body = serde_json::from_slice(&sent.body).unwrap_or_default();
    Ok(ModelRequest { request: sent.request, turn: sent.turn, model: sent.model, body: object(body) })
}

/// What runs took.
#[derive(Serialize, JsonSchema)]
struct Stats {
    /// Each run: turns, calls, tokens, cost, time, by tool and model.
    runs: Vec<Map<String, Value>>,
}

async fn stats(call: Call) -> Result<Stats, Problem> {
    let runs = call.trace().await?.stats().await?;
    Ok(Stats { runs: runs.iter().map(|run| object(json!(run))).collect() })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExportQuery {
    /// In which form.
    #[serde(default)]
    format: ExportFormat,
}

async fn export(call: Call<ExportQuery>) -> Result<Response<Body>, Problem> {
    let text = call.trace().await?.export(call.query.format).await?;
    let mut response = Response::new(Body::from(text));
    // Never as a page: what agents and models said must not run in anybody's browser.
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}

/// What a check of a log found.
#[derive(Serialize, JsonSchema)]
struct Verified {
    /// Whether nothing is damaged, missing or changed, as far as it was checked.
    holds: bool,
    /// How many good lines the log has.
    events: u64,
    /// The hash of the last good line. Publish it, and nobody can exchange or shorten the log unnoticed.
    head: String,
    /// The events whose content was erased.
    erased: Vec<u64>,
    /// The first bad line.
    damage: Option<String>,
    /// What is missing or changed beside the log's lines.
    faults: Vec<String>,
    /// What this check cannot know.
    unchecked: Vec<String>,
}

async fn verify(call: Call) -> Result<Verified, Problem> {
    let report = call.trace().await?.verify().await?;
    Ok(Verified {
        holds: report.holds(),
        events: report.events,
        head: report.head.to_string(),
        erased: report.erased.clone(),
        damage: report.damage.as_ref().map(ToString::to_string),
        faults: report.faults,
        unchecked: report.unchecked,
    })
}

/// Which two.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompareQuery {
    /// The one,
    a: String,
    /// and the other.
    b: String,
}

async fn compare(call: Call<CompareQuery>) -> Result<Comparison, Problem> {
    let (a, b) = (call.trace_named(&call.query.a).await?, call.trace_named(&call.query.b).await?);
    Ok(a.compare(&b).await?)
}
