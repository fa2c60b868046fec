//! `/v1/responses`: a response is a run of a trace.

use super::chat::effort;
use super::conversation::{AgentSettings, BegunRun, ResponseId, WantedRun, begin};
use super::format::{WantedForm, schema};
use super::headers::HEADERS;
use super::messages::SentMessages;
use super::refused::{check, unsupported};
use super::response::ResponseObject;
use super::response_events::ResponseEvents;
use super::sse;
use super::told::{Step, ToldRun};
use crate::about;
use crate::access::scope::Scope;
use crate::call::{Call, Gone, Nothing};
use crate::cut_off::{left, stopped, stopping, with_traces};
use crate::errors::Errors;
use crate::problem::{Kind, Problem};
use crate::reply;
use crate::route::{Gives, Route, RouteError, documented, group};
use axum::body::Body;
use axum::http::Response;
use mainpath::runtime::Waiting;
use mainpath::{RunRecord, Status, Trace};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a run that was cancelled may take to come to its end before that is answered.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let answer = || Gives {
        status: 200,
        about: "The response.",
        media: "application/json",
        schema: documented::<ResponseObject>(),
    };
    let create = Route::other(
        about!(POST "/v1/responses" openai_create_response "Has an agent answer: its tools run inside Mainpath, under its rules."),
        Scope::Run,
        vec![answer()],
        create,
    );
    let get = Route::other(
        about!(GET "/v1/responses/{id}" openai_get_response "A response, or with `stream` its events."),
        Scope::Run,
        vec![answer()],
        get,
    );
    let cancel = Route::other(
        about!(POST "/v1/responses/{id}/cancel" openai_cancel_response "Stops the run of a response."),
        Scope::Run,
        vec![answer()],
        cancel,
    );
    let streams = |route: Route| route.or_streams("text/event-stream", "With `stream`: typed events.").long();
    let create = create.map(|route| {
        let route = streams(route).once();
        HEADERS.iter().fold(route, |route, (name, about)| route.header(name, about)).fails(&[404])
    });
    let all = vec![create, get.map(streams), cancel.map(|route| route.long().fails(&[409]))];
    let all = all.into_iter().map(|route| route.map(|route| route.errors(Errors::OpenAi))).collect();
    group("OpenAI-compatible", all)
}

/// What is to be answered.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ResponseBody {
    /// `mainpath/NAME` for an agent, such as `mainpath/default`; or a model's own name, for the default agent on that model.
    model: String,
    /// What is said: a text, or messages, the last one being a user's.
    input: Value,
    /// What is added to the agent's system text.
    instructions: Option<String>,
    /// The response that it goes on from: of what is said, only what is new.
    previous_response_id: Option<String>,
    /// It goes on without its client; fetch it by its id.
    background: Option<bool>,
    /// The answer comes as typed events.
    stream: Option<bool>,
    /// What else is streamed.
    stream_options: Option<ResponseStreamOptions>,
    /// The sampling temperature.
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    /// How much the model thinks.
    reasoning: Option<ReasoningWanted>,
    /// The form of the answer.
    text: Option<TextWanted>,
    /// The most tool calls of the run.
    #[schemars(range(min = 1))]
    max_tool_calls: Option<u32>,
    /// Kept with the trace.
    metadata: Option<BTreeMap<String, String>>,
    /// For whom it works, as the caller knows them.
    user: Option<String>,
    /// The same under its other name.
    safety_identifier: Option<String>,
    /// Only `true`: the trace is kept.
    store: Option<bool>,
    /// Other fields of OpenAI's: refused, unless they say what holds anyway.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// What else is streamed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResponseStreamOptions {
    /// Only `false`: nothing is obfuscated.
    include_obfuscation: Option<bool>,
}

/// How much the model thinks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReasoningWanted {
    /// `low`, `medium` or `high`.
    effort: Option<String>,
    /// Only `null`: thoughts are not summarised.
    summary: Option<Value>,
    /// Only `null`.
    generate_summary: Option<Value>,
}

/// The form of the answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextWanted {
    /// `text`, or a schema.
    format: Option<WantedForm>,
    /// Only `medium`.
    verbosity: Option<String>,
}

impl ResponseBody {
    fn wanted(&self) -> Result<WantedRun, Problem> {
        check(&self.others)?;
        if self.store == Some(false) {
            return Err(unsupported(
                "/store",
                "the trace of an agent is always kept; it can be erased: mainpath erase",
            ));
        }
        if self.stream_options.unwrap_or_default().include_obfuscation == Some(true) {
            return Err(unsupported("/stream_options/include_obfuscation", "nothing is obfuscated"));
        }
        let reasoning = self.reasoning.as_ref();
        if reasoning.is_some_and(|wanted| wanted.summary.is_some() || wanted.generate_summary.is_some()) {
            return Err(unsupported("/reasoning/summary", "thoughts are not summarised"));
        }
        let text = self.text.as_ref();
        if text.and_then(|text| text.verbosity.as_deref()).is_some_and(|verbosity| verbosity != "medium") {
            return Err(unsupported("/text/verbosity", "is not supported: say in words how long the answer should be"));
        }
        let previous = match &self.previous_response_id {
            Some(text) => Some(
                ResponseId::read(text)
                    .ok_or_else(|| Problem::not_found("there is no such response").of_field("/previous_response_id"))?,
            ),
            None => None,
        };
        Ok(WantedRun {
            sent: SentMessages::input(&self.input)?,
            settings: AgentSettings {
                model: self.model.clone(),
                instructions: self.instructions.clone(),
                temperature: self.temperature,
                effort: effort(reasoning.and_then(|wanted| wanted.effort.as_ref()), "/reasoning/effort")?,
                schema: schema(text.and_then(|text| text.format.as_ref()), "/text/format")?,
                max_tool_calls: self.max_tool_calls,
                metadata: self.metadata.clone(),
            },
            user: self.user.clone().or_else(|| self.safety_identifier.clone()),
            previous,
            background: self.background.unwrap_or_default(),
        })
    }
}

async fn create(call: Call<Nothing, ResponseBody>) -> Result<Response<Body>, Problem> {
    let body = &call.body;
    let wanted = body.wanted()?;
    let asked = wanted.previous.as_ref().map(|previous| previous.with("resp"));
    let background = body.background.unwrap_or_default();
    let BegunRun { run, id, record, mut guard, cut_off } = begin(&call, wanted).await?;
    let mut told = ToldRun::new(run, &record);
    let response = if body.stream == Some(true) {
        let events = ResponseEvents::new(id.clone(), &record, Some(background), None);
        let told = sse::StreamedRun { run: told, guard: Some(guard), stopping: stopping(&call, &id.trace, background) };
        sse::response(told, call.watch(), events)
    } else {
        let record = if background {
            record
        } else {
            tokio::select! {
                record = ended(&mut told, &call.gone) => record?,
                () = call.closing() => return Ok(stopped(&call, &id.trace, Errors::OpenAi)),
            }
        };
        guard.release();
        let previous_response_id = asked;
        let response =
            ResponseObject { background: Some(background), previous_response_id, ..ResponseObject::of(&id, &record) };
        reply::json(200, &response)
    };
    Ok(with_traces(response, &id.trace, cut_off.as_ref()))
}

async fn ended(told: &mut ToldRun, gone: &Gone) -> Result<RunRecord, Problem> {
    loop {
        let step = tokio::select! {
            step = told.next() => step,
            () = gone.wait() => return Err(left()),
        };
        match step {
            Some(Ok(Step::Ended(record))) => return Ok(*record),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.into()),
            None => return Err(Problem::new(Kind::INTERNAL, "the run has no end")),
        }
    }
}

fn with_trace(response: Response<Body>, id: &ResponseId) -> Response<Body> {
    with_traces(response, &id.trace, None)
}

/// How a response is wanted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResponseQuery {
    /// As typed events, which go on until the run has ended.
    #[serde(default)]
    stream: bool,
    /// Only the events after this number.
    starting_after: Option<u64>,
    /// Only `false`: nothing is obfuscated.
    include_obfuscation: Option<bool>,
}

/// A response that there is.
struct Known {
    id: ResponseId,
    trace: Trace,
    record: RunRecord,
}

async fn known<Q, B>(call: &Call<Q, B>) -> Result<Known, Problem> {
    let name = call.part("id");
    let none = || Problem::not_found(format!("there is no response {:?}", name.chars().take(80).collect::<String>()));
    let id = ResponseId::read(name).ok_or_else(none)?;
    let trace = call.trace_of(&id.trace).await.map_err(|_| none())?;
    let record = trace.run_record(id.run).await.map_err(|_| none())?;
    Ok(Known { id, trace, record })
}

async fn get(call: Call<ResponseQuery>) -> Result<Response<Body>, Problem> {
    let Known { id, trace, record } = known(&call).await?;
    if call.query.include_obfuscation == Some(true) {
        return Err(unsupported("/include_obfuscation", "nothing is obfuscated"));
    }
    if !call.query.stream {
        if call.query.starting_after.is_some() {
            return Err(unsupported("/starting_after", "is only for streams"));
        }
        let mut response = ResponseObject::of(&id, &record);
        if record.outcome.is_none() {
            response.mainpath.waits_for = waits_for(&trace).await?;
        }
        return Ok(with_trace(reply::json(200, &response), &id));
    }
    let run = trace.follow_run(id.run).await?;
    let events = ResponseEvents::new(id.clone(), &record, None, call.query.starting_after);
    let run = ToldRun::new(run, &record);
    let told = sse::StreamedRun { run, guard: None, stopping: stopping(&call, &id.trace, true) };
    Ok(with_trace(sse::response(told, call.watch(), events), &id))
}

async fn waits_for(trace: &Trace) -> Result<Vec<String>, Problem> {
    let Status::Waiting(waiting) = trace.status().await? else { return Ok(Vec::new()) };
    let word = |one: &Waiting| match one {
        Waiting::Approval(call) => format!("approval {call}"),
        Waiting::Answer(call) => format!("answer {call}"),
        Waiting::Child(call) => format!("agent {call}"),
        Waiting::Timer => "a time".into(),
    };
    Ok(waiting.iter().map(word).collect())
}

async fn cancel(call: Call) -> Result<Response<Body>, Problem> {
    let Known { id, trace, mut record } = known(&call).await?;
    if record.outcome.is_none() {
        let run = trace.follow_run(id.run).await?;
        trace.stop().await?;
        call.app.runs.drive(&call.host, &trace).await?;
        let _ = tokio::time::timeout(PATIENCE, run.outcome()).await;
        record = trace.run_record(id.run).await?;
    }
    Ok(with_trace(reply::json(200, &ResponseObject::of(&id, &record)), &id))
}
