//! Which traces there are, and what was said in them.

use crate::about;
use crate::access::scope::Scope;
use crate::call::Call;
use crate::problem::Problem;
use crate::route::{Route, RouteError, group};
use crate::telemetry::otel_trace_id;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainpath::Host;
use mainpath::index::{Hit, HitPlace, Position, Row, Wanted};
use mainpath::listing::ListedTrace;
use mainpath::standing::{DAMAGED, INTERRUPTED, SET_ASIDE};
use mainpath::trace::{MessagePart, SubTrace};
use mainpath::types::{Millis, Seq, TraceId, parse_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// As many of a list are given if nothing is said,
const USUAL: usize = 50;
/// and at most.
const MOST: usize = 500;

pub fn routes() -> Result<Vec<Route>, RouteError> {
    group(
        "traces",
        vec![
            Route::json(about!(GET "/api/traces" list_traces "The traces, newest first."), Scope::Read, list),
            Route::json(
                about!(GET "/api/traces/running" list_running "The traces that go on now."),
                Scope::Read,
                running,
            ),
            Route::json(about!(GET "/api/search" search "Where words were said, in any trace."), Scope::Read, search),
            Route::json(
                about!(GET "/api/traces/{id}" get_trace "A trace: what it is about, where it stands, its plan, the agents that it has started."),
                Scope::Read,
                detail,
            ),
            Route::json(
                about!(GET "/api/traces/{id}/messages" list_messages "What was said: on the main path, or all messages as a tree."),
                Scope::Read,
                messages,
            ),
        ],
    )
}

/// How much of a list is wanted.
pub fn most(limit: Option<u64>) -> usize {
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(USUAL).clamp(1, MOST)
}

/// That a cursor was not given out by this server.
pub fn bad_cursor() -> Problem {
    Problem::query("/cursor", "is no cursor of this list")
}

/// Where a trace stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Standing {
    /// A run goes on.
    Running,
    /// A run waits for a person.
    Waiting,
    /// Its process was killed in a run.
    Interrupted,
    /// The server died again and again while its run was under way: it continues when it is resumed.
    SetAside,
    /// Its last run ended with an answer.
    Completed,
    /// Its last run was stopped.
    Stopped,
    /// Its last run ended otherwise.
    Failed,
    /// It is a conversation from elsewhere.
    Imported,
    /// Its log is damaged or missing.
    Damaged,
}

impl Standing {
    fn as_str(self) -> &'static str {
        match self {
            Standing::Running => "running",
            Standing::Waiting => "waiting",
            Standing::Interrupted => INTERRUPTED,
            Standing::SetAside => SET_ASIDE,
            Standing::Completed => "completed",
            Standing::Stopped => "stopped",
            Standing::Failed => "failed",
            Standing::Imported => "imported",
            Standing::Damaged => DAMAGED,
        }
    }
}

/// Which traces.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// At most so many.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u64>,
    /// Where the list goes on: `next` of the part before.
    cursor: Option<String>,
    /// Those that stand so.
    status: Option<Standing>,
    /// Those of this preset.
    agent: Option<String>,
    /// Those that called this tool.
    tool: Option<String>,
    /// Those whose logs last changed at this time or later: in UTC, such as `2026-01-31T00:00:00Z`.
    since: Option<String>,
    /// Those of which that was before this time.
    until: Option<String>,
    /// Also those that belong to another.
    #[serde(default)]
    children: bool,
}

/// A part of the list.
#[derive(Serialize, JsonSchema)]
struct TraceList {
    /// The traces.
    traces: Vec<ListedTrace>,
    /// Where it goes on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// How much of a list of traces, and from where on.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartQuery {
    /// At most so many traces.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u64>,
    /// Where the list goes on: `next` of the part before.
    cursor: Option<String>,
}

impl PartQuery {
    /// A part of the traces that stand so, those that changed last first.
    pub async fn read(&self, host: &Host, wanted: Wanted) -> Result<TracesPart, Problem> {
        let (most, after) = (most(self.limit), self.cursor.as_deref().map(position).transpose()?);
        let mut rows = host.list(Wanted { most: most + 1, after, ..wanted }).await?;
        let next = rows.get(most).and_then(|_| rows.get(most - 1)).map(|row| cursor(row.modified, &row.trace));
        rows.truncate(most);
        Ok(TracesPart { rows, next })
    }
}

/// A part of the traces.
pub struct TracesPart {
    /// The traces.
    pub rows: Vec<Row>,
    /// Where the list goes on.
    pub next: Option<String>,
}

async fn list(call: Call<ListQuery>) -> Result<TraceList, Problem> {
    let since = time(call.query.since.as_deref(), "/since")?;
    let until = time(call.query.until.as_deref(), "/until")?;
    let ListQuery { limit, cursor, status, agent, tool, children, .. } = call.query;
    // Whether anybody drives a trace is not in the index: one that claims to run may be interrupted.
    let of_index = status.map(|status| match status {
        Standing::Interrupted | Standing::SetAside => Standing::Running,
        status => status,
    });
    let of_index = of_index.map(|status| status.as_str().into());
    let wanted = Wanted { status: of_index, agent, tool, since, until, with_children: children, ..Wanted::default() };
    let part = PartQuery { limit, cursor };
    let TracesPart { mut rows, next } = part.read(&call.host, wanted).await?;
    rows.retain(|row| status.is_none_or(|status| row.status == status.as_str()));
    Ok(TraceList { traces: rows.iter().map(ListedTrace::from).collect(), next })
}

/// A time of the query, as milliseconds since 1970.
fn time(text: Option<&str>, pointer: &str) -> Result<Option<Millis>, Problem> {
    let wrong = || Problem::query(pointer, "is no time in UTC, such as 2026-01-31T00:00:00Z");
    text.map(|text| parse_time(text).ok_or_else(wrong)).transpose()
}

fn cursor(modified: u64, trace: &TraceId) -> String {
    URL_SAFE_NO_PAD.encode(format!("{modified} {trace}"))
}

fn position(cursor: &str) -> Result<Position, Problem> {
    let read = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        let (modified, trace) = text.split_once(' ')?;
        Some(Position {
            modified: modified.parse().ok().filter(|at: &u64| i64::try_from(*at).is_ok())?,
            trace: trace.parse().ok()?,
        })
    };
    read().ok_or_else(bad_cursor)
}

async fn running(call: Call<PartQuery>) -> Result<TraceList, Problem> {
    let wanted = Wanted { status: Some("running".into()), with_children: true, ..Wanted::default() };
    let TracesPart { mut rows, next } = call.query.read(&call.host, wanted).await?;
    // Whether anybody drives them is not in the index.
    rows.retain(|row| row.status == "running");
    Ok(TraceList { traces: rows.iter().map(ListedTrace::from).collect(), next })
}

/// What is looked for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchQuery {
    /// Words, all of which a message has.
    q: String,
    /// At most so many places.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u64>,
    /// Where the places go on: `next` of the part before.
    cursor: Option<String>,
}

/// Places where words were said.
#[derive(Serialize, JsonSchema)]
struct Places {
    /// The places, those of the trace that changed last first.
    places: Vec<Place>,
    /// Where they go on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A place where words were said.
#[derive(Serialize, JsonSchema)]
struct Place {
    /// The trace.
    trace: ListedTrace,
    /// The message.
    sequence: Seq,
    /// Who said it.
    role: String,
    /// The words before those that were found,
    before: String,
    /// those,
    found: String,
    /// and those after.
    after: String,
}

async fn search(call: Call<SearchQuery>) -> Result<Places, Problem> {
    let SearchQuery { q, limit, cursor } = &call.query;
    let (most, after) = (most(*limit), cursor.as_deref().map(hit_place).transpose()?);
    let mut hits = call.host.search(q, most + 1, after).await?;
    let next = hits.get(most).and_then(|_| hits.get(most - 1)).map(|hit| hit_cursor(&hit.place()));
    hits.truncate(most);
    let place = |hit: &Hit| Place {
        trace: ListedTrace::from(&hit.row),
        sequence: hit.seq,
        role: hit.role.to_string(),
        before: hit.shown.before.clone(),
        found: hit.shown.found.clone(),
        after: hit.shown.after.clone(),
    };
    Ok(Places { places: hits.iter().map(place).collect(), next })
}

fn hit_cursor(place: &HitPlace) -> String {
    format!("{}.{}", cursor(place.at.modified, &place.at.trace), place.seq)
}

fn hit_place(cursor: &str) -> Result<HitPlace, Problem> {
    let (at, seq) = cursor.rsplit_once('.').ok_or_else(bad_cursor)?;
    let seq = seq.parse().map_err(|_| bad_cursor())?;
    Ok(HitPlace { at: position(at)?, seq: Seq(seq) })
}

/// A trace: the fields of its `meta.json`, and these.
#[derive(Serialize, JsonSchema)]
struct TraceDetail {
    /// Which.
    trace_id: TraceId,
    /// The status, as in lists.
    status: &'static str,
    /// The next step for a run that is set aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
    /// Its plan: `mission`, `current_id`, `goals`, and what was spent on each.
    goal_tree: Map<String, Value>,
    /// The agents that it has started.
    sub_traces: Vec<SubTrace>,
    /// The id of the trace in OpenTelemetry that shows its last run; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    otel_trace_id: Option<String>,
    /// What else is known of it: task, model, totals, result, …
    #[serde(flatten)]
    meta: Map<String, Value>,
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The next step for a run that is set aside.
fn next_step(trace: &TraceId) -> String {
    format!(
        "the server died again and again while this run was under way: POST /api/traces/{trace}/resume, or mainpath resume {trace}, continues it"
    )
}

async fn detail(call: Call) -> Result<TraceDetail, Problem> {
    let trace = call.trace().await?;
    let seen = trace.overview().await?;
    let mut meta = object(seen.meta);
    meta.remove("status");
    meta.remove("trace_id");
    let otel_trace_id = (seen.runs > 0).then(|| otel_trace_id(trace.id(), seen.runs));
    Ok(TraceDetail {
        trace_id: trace.id().clone(),
        status: seen.status,
        next_step: (seen.status == SET_ASIDE).then(|| next_step(trace.id())),
        goal_tree: object(seen.plan),
        sub_traces: seen.agents,
        otel_trace_id,
        meta,
    })
}

/// Which messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "WhichMessages")]
enum Mode {
    /// Those that the agent goes on from.
    #[default]
    MainPath,
    /// Also those on side branches, and those that were gone back from.
    All,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessagesQuery {
    /// Which messages.
    #[serde(default)]
    mode: Mode,
    /// At most so many.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u64>,
    /// Where the list goes on: `next` of the part before.
    cursor: Option<String>,
}

/// Messages.
#[derive(Serialize, JsonSchema)]
struct Messages {
    /// The messages, oldest first.
    messages: Vec<SaidMessage>,
    /// Where the list goes on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A message.
#[derive(Serialize, JsonSchema)]
struct SaidMessage {
    /// Its number. A message is gone back to, and forked at, by it.
    sequence: u64,
    /// The message before it; `null` for a first one.
    parent_sequence: Option<u64>,
    /// Who said it: `user`, `assistant` or `tool`.
    role: String,
    /// What: a text, or an object with `text` and `tool_calls`, or with `tool_name` and `result`.
    content: Value,
    /// What else is known of it: `message_id`, `goal_id`, `created_at`, tokens, cost, its side branch, …
    #[serde(flatten)]
    more: Map<String, Value>,
}

async fn messages(call: Call<MessagesQuery>) -> Result<Messages, Problem> {
    let trace = call.trace().await?;
    let after: u64 = match call.query.cursor.as_deref() {
        Some(cursor) => cursor.parse().map_err(|_| bad_cursor())?,
        None => 0,
    };
    let most = most(call.query.limit);
    let after = u32::try_from(after).map_or(Seq(u32::MAX), Seq);
    let part = MessagePart { with_all: call.query.mode == Mode::All, after, most: most + 1 };
    let mut rest = trace.said(part).await?.into_iter();
    let number = |message: &Map<String, Value>, name: &str| message.get(name).and_then(Value::as_u64);
    let messages: Vec<SaidMessage> = rest
        .by_ref()
        .take(most)
        .map(|mut more| SaidMessage {
            sequence: number(&more, "sequence").unwrap_or_default(),
            parent_sequence: number(&more, "parent_sequence"),
            role: more.remove("role").and_then(|role| role.as_str().map(String::from)).unwrap_or_default(),
            content: more.remove("content").unwrap_or_default(),
            more: {
                more.retain(|name, _| name != "sequence" && name != "parent_sequence");
                more
            },
        })
        .collect();
    let next = rest.next().and_then(|_| messages.last()).map(|last| last.sequence.to_string());
    Ok(Messages { messages, next })
}
