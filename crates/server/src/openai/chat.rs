//! `POST /v1/chat/completions`.

use super::chat_answer::{Chunks, Completion, failed};
use super::conversation::{AgentSettings, BegunRun, WantedRun, begin};
use super::format::{WantedForm, schema};
use super::headers::HEADERS;
use super::messages::SentMessages;
use super::refused::{check, unsupported};
use super::sse;
use super::told::{Step, ToldRun};
use crate::about;
use crate::access::scope::Scope;
use crate::call::{Call, Nothing};
use crate::cut_off::{left, stopped, stopping, with_traces};
use crate::errors::Errors;
use crate::problem::{Kind, Problem};
use crate::reply;
use crate::route::{Gives, Route, RouteError, documented, group};
use axum::body::Body;
use axum::http::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The efforts that can be asked for.
const EFFORTS: [&str; 3] = ["low", "medium", "high"];

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let answer = Gives {
        status: 200,
        about: "The answer of the agent.",
        media: "application/json",
        schema: documented::<Completion>(),
    };
    let route = Route::other(
        about!(POST "/v1/chat/completions" openai_chat "Has an agent answer a conversation: its tools run inside Mainpath, under its rules."),
        Scope::Run,
        vec![answer],
        complete,
    );
    let route = route.map(|route| {
        let route = route.or_streams("text/event-stream", "With `stream`: chunks.").once().long();
        let route = HEADERS.iter().fold(route, |route, (name, about)| route.header(name, about));
        route.fails(&[404, 502]).errors(Errors::OpenAi)
    });
    group("OpenAI-compatible", vec![route])
}

/// A conversation to be answered.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ChatBody {
    /// `mainpath/NAME` for an agent, such as `mainpath/default`; or a model's own name, for the default agent on that model.
    model: String,
    /// The conversation, the last message being a user's. What it says to the system is added to the agent's instructions.
    messages: Vec<Map<String, Value>>,
    /// The answer comes in chunks, as server-sent events.
    stream: Option<bool>,
    /// What else is streamed.
    stream_options: Option<StreamOptions>,
    /// The sampling temperature.
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    /// How much the model thinks: `low`, `medium` or `high`.
    reasoning_effort: Option<String>,
    /// The form of the answer.
    response_format: Option<WantedForm>,
    /// Kept with the trace.
    metadata: Option<BTreeMap<String, String>>,
    /// For whom it works, as the caller knows them.
    user: Option<String>,
    /// The same under its other name.
    safety_identifier: Option<String>,
    /// Only `false`: completions cannot be fetched later. The trace is kept in any case.
    store: Option<bool>,
    /// Other fields of OpenAI's: refused, unless they say what holds anyway.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// What else is streamed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamOptions {
    /// A last chunk tells what was used.
    include_usage: Option<bool>,
    /// Only `false`: nothing is obfuscated.
    include_obfuscation: Option<bool>,
}

impl StreamOptions {
    /// Errors: what is not supported is wanted.
    pub fn check(self) -> Result<bool, Problem> {
        match self.include_obfuscation {
            Some(true) => Err(unsupported("/stream_options/include_obfuscation", "nothing is obfuscated")),
            _ => Ok(self.include_usage.unwrap_or_default()),
        }
    }
}

/// How much the model is to think. Errors: it cannot think so much.
pub fn effort(wanted: Option<&String>, pointer: &str) -> Result<Option<String>, Problem> {
    match wanted {
        Some(effort) if !EFFORTS.contains(&effort.as_str()) => {
            Err(unsupported(pointer, format!("must be one of {}", EFFORTS.join(", "))))
        }
        effort => Ok(effort.cloned()),
    }
}

impl ChatBody {
    fn wanted(&self) -> Result<WantedRun, Problem> {
        check(&self.others)?;
        if self.store == Some(true) {
            return Err(unsupported("/store", "completions cannot be fetched later: use /v1/responses, or the trace"));
        }
        Ok(WantedRun {
            sent: SentMessages::chat(self.messages.clone())?,
            settings: AgentSettings {
                model: self.model.clone(),
                temperature: self.temperature,
                effort: effort(self.reasoning_effort.as_ref(), "/reasoning_effort")?,
                schema: schema(self.response_format.as_ref(), "/response_format")?,
                metadata: self.metadata.clone(),
                ..AgentSettings::default()
            },
            user: self.user.clone().or_else(|| self.safety_identifier.clone()),
            previous: None,
            background: false,
        })
    }
}

async fn complete(call: Call<Nothing, ChatBody>) -> Result<Response<Body>, Problem> {
    let body = &call.body;
    let with_usage = body.stream_options.unwrap_or_default().check()?;
    if body.stream_options.is_some() && body.stream != Some(true) {
        return Err(unsupported("/stream_options", "is only for streams"));
    }
    let BegunRun { run, id, record, mut guard, cut_off } = begin(&call, body.wanted()?).await?;
    let mut told = ToldRun::new(run, &record);
    let (name, model) = (id.with("chatcmpl"), body.model.clone());
    let response = if body.stream == Some(true) {
        let told = sse::StreamedRun { run: told, guard: Some(guard), stopping: stopping(&call, &id.trace, false) };
        sse::response(told, call.watch(), Chunks::new(name, model, record.began, with_usage, &id.trace))
    } else {
        let record = loop {
            let step = tokio::select! {
                step = told.next() => step,
                () = call.gone.wait() => return Err(left()),
                () = call.closing() => return Ok(stopped(&call, &id.trace, Errors::OpenAi)),
            };
            match step {
                Some(Ok(Step::Ended(record))) => break record,
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Err(Problem::new(Kind::INTERNAL, "the run has no end")),
            }
        };
        guard.release();
        match failed(&record) {
            Some(problem) => super::error::run_failed(&problem),
            None => reply::json(200, &Completion::of(name, model, &id.trace, &record)),
        }
    };
    Ok(with_traces(response, &id.trace, cut_off.as_ref()))
}
