//! Which conversation a request belongs to, and the run that it begins: of a new trace, or of one that goes on.

use super::headers::{header, wrong_header};
use super::messages::SentMessages;
use super::models::{Agent, find};
use super::refused::unsupported;
use crate::call::Call;
use crate::cut_off::{ClientGuard, CutOffRun, OnDisconnect, dependent, is_retry};
use crate::life::Slot;
use crate::problem::{Kind, Problem};
use crate::routes::start::{Limits, NewAgent, Rules, conversation};
use mainpath::event::RunEvent;
use mainpath::types::{ApprovalMode, TraceId};
use mainpath::{Error, Run, RunRecord, Status, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a request polls while another one starts its conversation.
const LOOK: Duration = Duration::from_millis(20);

/// Under which name the settings are kept in a trace.
const KEPT: &str = "openai";

/// What a request says of the agent. A conversation keeps what it began with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentSettings {
    /// The model, as the caller names it.
    pub model: String,
    /// What is added to the system text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How much the model thinks: `low`, `medium` or `high`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The JSON Schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Map<String, Value>>,
    /// The most tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// What the caller keeps with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct WantedRun {
    /// What is said.
    pub sent: SentMessages,
    /// What the agent is to be.
    pub settings: AgentSettings,
    /// For whom it works, as the caller knows them.
    pub user: Option<String>,
    /// The response that it goes on from.
    pub previous: Option<ResponseId>,
    /// True if it continues without its client.
    pub background: bool,
}

/// The name of a response: a run of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseId {
    /// The trace.
    pub trace: TraceId,
    /// The run's number.
    pub run: u32,
}

impl ResponseId {
    /// Reads one. `None`: it is none.
    pub fn read(text: &str) -> Option<ResponseId> {
        let (trace, run) = text.strip_prefix("resp_")?.rsplit_once('_')?;
        let run = run.parse().ok().filter(|number: &u32| number.to_string() == run)?;
        Some(ResponseId { trace: trace.parse().ok()?, run })
    }

    /// With another beginning, such as `chatcmpl`.
    pub fn with(&self, begin: &str) -> String {
        format!("{begin}_{}_{}", self.trace, self.run)
    }
}

/// A run that was begun.
pub struct BegunRun {
    /// It, followed since it began.
    pub run: Run,
    /// Its name.
    pub id: ResponseId,
    /// What is known of it.
    pub record: RunRecord,
    /// Stops it when its client disconnects.
    pub guard: ClientGuard,
    /// A run for the same request that the end of the server cut off, and that this one does not continue.
    pub cut_off: Option<TraceId>,
}

/// The settings that a trace keeps; `None` of one that was begun elsewhere.
pub fn kept(record: &RunRecord) -> Option<AgentSettings> {
    serde_json::from_value(record.spec.relations.context.get(KEPT)?.clone()).ok()
}

/// What happens to calls that need a person.
fn approvals<Q, B>(call: &Call<Q, B>) -> Result<ApprovalMode, Problem> {
    match header(call, "Mainpath-Approvals")? {
        None | Some("deny") => Ok(ApprovalMode::Deny),
        Some("ask") => Ok(ApprovalMode::Ask),
        Some("yes") => Ok(ApprovalMode::Yes),
        Some(_) => Err(wrong_header("Mainpath-Approvals", "must be deny, ask or yes")),
    }
}

/// Begins the run of a request. Errors: a field is invalid, or the conversation cannot be continued. The next request then finds a cut-off
/// run again.
pub async fn begin<Q, B>(call: &Call<Q, B>, wanted: WantedRun) -> Result<BegunRun, Problem> {
    let request = dependent(call, wanted.background);
    let request = request.as_deref();
    let Some(cut_off) = CutOffRun::take(call, request).await else { return begin_anew(call, &wanted, request).await };
    let begun = match is_retry(call) {
        true => match cut_off.join(call).await {
            Ok((run, number)) => begun_as(call, run, number, request).await,
            Err(problem) => Err(problem),
        },
        false => {
            let begun = begin_anew(call, &wanted, request).await;
            begun.map(|begun| BegunRun { cut_off: Some(cut_off.id().clone()), ..begun })
        }
    };
    if begun.is_err() {
        cut_off.put_back(call);
    }
    begun
}

async fn begin_anew<Q, B>(call: &Call<Q, B>, wanted: &WantedRun, request: Option<&str>) -> Result<BegunRun, Problem> {
    let session = header(call, "Mainpath-Session")?;
    let slot = call.app.runs.room(&call.host)?;
    // Until its run has begun, so that each request has the answer to what it said, and a name becomes one conversation.
    let line = wanted.previous.as_ref().map(|previous| previous.trace.to_string()).or(session.map(String::from));
    let _turn = match line {
        Some(name) => Some(call.app.lines.turn(format!("{} {name}", call.who.tenant)).await),
        None => None,
    };
    let run = match (&wanted.previous, session) {
        (Some(_), Some(_)) => {
            return Err(unsupported("/previous_response_id", "give this or the header Mainpath-Session, not both"));
        }
        (Some(previous), None) => {
            let none = || Problem::not_found("there is no such response").of_field("/previous_response_id");
            let trace = call.trace_of(&previous.trace).await.map_err(|_| none())?;
            call.check_drive(&trace).await?;
            let record = trace.run_record(previous.run).await.map_err(|_| none())?;
            check_settings(call, wanted, &record)?;
            let text = wanted.sent.news()?;
            let once = call.once()?;
            let trace = once.clone().map_or_else(|| trace.clone(), |once| trace.once(once));
            let trace = trace.after_run(previous.run).await?;
            once.map_or_else(|| trace.clone(), |once| trace.once(once)).say(text).await?
        }
        (None, Some(name)) => in_session(call, wanted, name).await?,
        (None, None) => start(call, wanted).await?,
    };
    begun(call, slot, run, request).await
}

/// Follows a run up to its beginning. Errors: what was said was refused.
async fn begun<Q, B>(call: &Call<Q, B>, slot: Slot, mut run: Run, request: Option<&str>) -> Result<BegunRun, Problem> {
    slot.follow(&call.host, run.trace().id());
    let number = loop {
        match run.next().await {
            Some(Ok(RunEvent::RunStarted(started))) => break started.run,
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.into()),
            None => return Err(Problem::new(Kind::INTERNAL, "the run never began")),
        }
    };
    begun_as(call, run, number, request).await
}

async fn begun_as<Q, B>(call: &Call<Q, B>, run: Run, number: u32, request: Option<&str>) -> Result<BegunRun, Problem> {
    let trace = run.trace();
    let record = trace.run_record(number).await?;
    let id = ResponseId { trace: trace.id().clone(), run: number };
    let guard = ClientGuard::new(call, trace, request, OnDisconnect::Stop);
    Ok(BegunRun { run, id, record, guard, cut_off: None })
}

async fn in_session<Q, B>(call: &Call<Q, B>, wanted: &WantedRun, name: &str) -> Result<Run, Problem> {
    // What was begun under the same key is that again.
    if let Some(once) = call.once()?
        && call.host.started_under(&once).await?.is_some()
    {
        return start(call, wanted).await;
    }
    let by_id = async || match name.parse::<TraceId>() {
        Ok(id) => call.trace_of(&id).await.ok(),
        Err(_) => None,
    };
    let wrong = |error: Error| wrong_header("Mainpath-Session", error.message());
    let known = async || match call.host.session(name).await.map_err(wrong)? {
        Some(trace) => Ok(Some(trace)),
        None => Ok::<_, Problem>(by_id().await),
    };
    let trace = loop {
        if let Some(trace) = known().await? {
            break trace;
        }
        // Of several first requests one starts the conversation; the others find it.
        if let Some(_turn) = call.host.try_session_turn(name).map_err(wrong)? {
            if let Some(trace) = known().await? {
                break trace;
            }
            let run = start(call, wanted).await?;
            call.host.point_session(name, run.trace().id())?;
            return Ok(run);
        }
        tokio::time::sleep(LOOK).await;
    };
    call.check_drive(&trace).await?;
    if call.once()?.is_none() {
        check_rests(&trace).await?;
    }
    let runs = trace.state().await?.counts.runs;
    if runs > 0 {
        check_settings(call, wanted, &trace.run_record(runs).await?)?;
    }
    let text = wanted.sent.news()?;
    let trace = match call.once()? {
        Some(once) => trace.once(once),
        None => trace,
    };
    Ok(trace.say(text).await?)
}

/// That nothing goes on in a conversation. Errors: something does.
async fn check_rests(trace: &Trace) -> Result<(), Problem> {
    let id = trace.id();
    match trace.status().await? {
        Status::Running => {
            Err(Problem::new(Kind::BUSY, format!("the agent of trace {id} is still at work on what was said before")))
        }
        Status::Waiting(_) => {
            let how =
                format!("trace {id} waits for people: see /api/traces/{id}/approvals and /api/traces/{id}/questions");
            Err(Problem::new(Kind::REFUSED, how))
        }
        Status::Idle | Status::Interrupted | Status::Ended(_) => Ok(()),
    }
}

/// That what a request says of the agent is what the conversation began with. Errors: the first that is not.
fn check_settings<Q, B>(call: &Call<Q, B>, wanted: &WantedRun, record: &RunRecord) -> Result<(), Problem> {
    let spec = &record.spec;
    if approvals(call)? != spec.mode {
        let mode = json!(spec.mode);
        let why = format!("the conversation was begun with {}, and keeps it", mode.as_str().unwrap_or_default());
        return Err(wrong_header("Mainpath-Approvals", &why));
    }
    // As the log keeps them: without secrets.
    let redacted = |text: &String| call.host.runtime().config().vault.redact(text);
    let asked =
        AgentSettings { instructions: wanted.settings.instructions.as_ref().map(redacted), ..wanted.settings.clone() };
    let of_preset = spec.preset.as_ref().map(|preset| format!("mainpath/{}", preset.name));
    let known = match kept(record) {
        Some(kept) => kept,
        None => {
            let model =
                Some(asked.model.clone()).filter(|name| *name == spec.model || Some(name) == of_preset.as_ref());
            AgentSettings { model: model.unwrap_or_else(|| spec.model.clone()), ..AgentSettings::default() }
        }
    };
    let differs = |field: &str, why: &str| {
        Err(unsupported(format!("/{field}"), format!("{why}; begin a new conversation for that")))
    };
    if asked.model != known.model {
        return differs("model", &format!("the conversation is of {}", known.model));
    }
    let keeps = "is not what the conversation began with, and an agent keeps that";
    let schema_field = if wanted.sent.field == "input" { "text/format" } else { "response_format" };
    match () {
        () if asked.instructions.is_some() && asked.instructions != known.instructions => {
            differs("instructions", keeps)
        }
        () if asked.temperature.is_some() && asked.temperature != known.temperature => differs("temperature", keeps),
        () if asked.effort.is_some() && asked.effort != known.effort => differs("reasoning", keeps),
        () if asked.schema.is_some() && asked.schema != known.schema => differs(schema_field, keeps),
        () if asked.max_tool_calls.is_some() && asked.max_tool_calls != known.max_tool_calls => {
            differs("max_tool_calls", keeps)
        }
        () if asked.metadata.is_some() && asked.metadata != known.metadata => differs("metadata", keeps),
        () => Ok(()),
    }
}

/// Starts a new trace from all that was sent.
async fn start<Q, B>(call: &Call<Q, B>, wanted: &WantedRun) -> Result<Run, Problem> {
    let WantedRun { sent, settings, user, .. } = wanted;
    let folder = header(call, "Mainpath-Workspace")?;
    let Agent { preset, model } = find(call, &settings.model, folder).await?;
    let approvals = approvals(call)?;
    // Nobody is there to answer a question either.
    let is_asked = approvals == ApprovalMode::Ask || !call.host.tools().specs().iter().any(|tool| tool.name == ASK);
    let deny = if is_asked { Vec::new() } else { vec![ASK.to_string()] };
    let agent = NewAgent {
        model,
        agent: Some(preset),
        workspace: folder.map(String::from),
        uid: user.clone(),
        temperature: settings.temperature,
        effort: settings.effort.as_ref().and_then(|effort| serde_json::from_value(json!(effort)).ok()),
        output_schema: settings.schema.clone(),
        limits: Limits { max_tool_calls: settings.max_tool_calls, ..Limits::default() },
        rules: Rules { deny, ..Rules::default() },
        approvals,
        enable_memory: true,
        auto_execute_tools: true,
        context: Map::from_iter([(KEPT.to_string(), json!(settings))]),
        ..NewAgent::default()
    };
    let sent = sent.clone().below(settings.instructions.as_deref());
    let schema_at = if sent.field == "input" { "/text/format/schema" } else { "/response_format/json_schema/schema" };
    let renamed = |mut problem: Problem| {
        for field in &mut problem.errors {
            if let Some(rest) = field.pointer.strip_prefix("/messages") {
                field.pointer = format!("/{}{rest}", sent.field);
            } else if field.pointer == "/output_schema" {
                field.pointer = schema_at.into();
            }
        }
        problem
    };
    let messages = conversation(&sent.messages).map_err(renamed)?;
    let started = agent.agent(call).await.map_err(renamed)?.start_with(messages).await;
    started.map_err(|error| renamed(error.into()))
}

/// The tool by which agents ask people.
const ASK: &str = "ask_human";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_response_reads_as_it_is_written_and_nothing_else_is_one() {
        let id = ResponseId { trace: "20261126_a-b@x.1".parse().unwrap(), run: 12 };
        assert_eq!(ResponseId::read(&id.with("resp")), Some(id));
        for text in
            ["", "resp_", "resp_a", "resp_a_", "resp_a_x", "resp_a_01", "resp_../x_1", "chatcmpl_a_1", "resp__1"]
        {
            assert_eq!(ResponseId::read(text), None, "{text}");
        }
    }
}
