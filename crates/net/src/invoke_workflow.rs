//! `invoke_workflow`.

use crate::ask::Ask;
use crate::client::{Answer, Caps, Client, stay};
use crate::error::NotReady;
use crate::settings::{CallRate, InputSchema, Seconds, Secret, SecretTexts, WebAddress};
use crate::show::{doc, failed, head, is_text, media_type, refused, text};
use mainpath_tools::{DynTool, Fut, Problem, Schema, ToolContext, ToolDoc};
use mainpath_types::{EffectClass, ToolOutput};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Characters of a workflow's result that the model sees.
const SHOWN: usize = 30_000;
/// The header that makes a repeated request the same one (IETF draft "The Idempotency-Key HTTP Header Field").
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// `[tools.invoke_workflow]`
#[derive(Clone, Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvokeWorkflowConfig {
    /// The workflows that may be run, by their names.
    pub workflows: BTreeMap<String, Workflow>,
    /// Whether every one of them takes two requests with the same `Idempotency-Key` for one. Then a call that a crash has cut
    /// short is made again, else a person or the model is told.
    #[serde(default)]
    pub idempotent: bool,
    /// How often.
    pub rate: Option<CallRate>,
}

/// A workflow: something that runs when its address is asked.
#[derive(Clone, Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    /// What it does, for the model.
    pub description: String,
    /// Where it is started.
    pub url: WebAddress,
    /// How: POST (where nothing is said) or PUT.
    #[serde(default)]
    pub method: StartMethod,
    /// Headers; `{{secret:NAME}}` stands for a secret.
    #[serde(default)]
    pub headers: SecretTexts,
    /// What its input must look like: a table, or the whole path of a JSON file.
    pub input_schema: InputSchema,
    /// Seconds until its result must be there; 120 where nothing is said.
    pub timeout_s: Option<Seconds>,
    /// Where its result is looked for, if the start only tells a number.
    pub poll: Option<Poll>,
}

/// How a workflow is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum StartMethod {
    /// POST.
    #[default]
    Post,
    /// PUT.
    Put,
}

/// How a workflow's result is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    /// The address to ask, with `{id}` where the run's id belongs.
    pub url: String,
    /// Where the start's answer has the id: a JSON pointer, such as `/run/id`.
    pub id: String,
    /// Where an answer to the question has the state.
    pub state: String,
    /// The states of runs that are done.
    pub done: Vec<String>,
    /// The states of runs that have failed.
    #[serde(default)]
    pub failed: Vec<String>,
    /// Seconds between two questions; 2 where nothing is said.
    pub every_s: Option<Seconds>,
}

/// Runs a workflow of the configuration.
pub struct InvokeWorkflow {
    workflows: BTreeMap<String, Ready>,
    rate: Option<CallRate>,
    idempotent: bool,
}

struct Ready {
    client: Client,
    workflow: Workflow,
    schema: Schema,
    headers: HeaderMap,
    limit: Duration,
}

impl InvokeWorkflow {
    /// The tool's name.
    pub const NAME: &'static str = "invoke_workflow";

    /// With this client and configuration. Errors: what is missing.
    pub fn new(client: &Client, config: &InvokeWorkflowConfig, secret: Secret<'_>) -> Result<InvokeWorkflow, NotReady> {
        if config.workflows.is_empty() {
            return Err(NotReady::NoWorkflow);
        }
        let ready = |(name, workflow): (&String, &Workflow)| {
            let of =
                |problem: NotReady| NotReady::Of { kind: "workflow", name: name.clone(), problem: Box::new(problem) };
            let mut client = client.trusting(&workflow.url.0);
            if let Some(poll) = &workflow.poll {
                let there = poll_address(poll, "id").ok_or_else(|| of(NotReady::PollUrl))?;
                client = client.trusting(&there);
            }
            let schema = Schema::new(&workflow.input_schema.0).map_err(|error| of(error.into()))?;
            let headers = workflow.headers.headers(secret).map_err(of)?;
            let limit = Seconds::or(workflow.timeout_s, 120);
            Ok((name.clone(), Ready { client, workflow: workflow.clone(), schema, headers, limit }))
        };
        let workflows = config.workflows.iter().map(ready).collect::<Result<_, NotReady>>()?;
        Ok(InvokeWorkflow { workflows, rate: config.rate, idempotent: config.idempotent })
    }

    /// The workflow that a call names.
    fn find<'a>(&self, args: &'a Value) -> Result<(&'a str, &Ready), Problem> {
        let name = args["name"].as_str().unwrap_or_default();
        let ready = self.workflows.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.workflows.keys().map(String::as_str).collect();
            let text = format!("There is no workflow {:?}; there are: {}.", head(name, 80).0, names.join(", "));
            Problem::new("not_found", text)
        })?;
        Ok((name, ready))
    }

    /// What the model and policy are told.
    pub fn doc(&self) -> ToolDoc {
        let list = self.workflows.iter().map(|(name, ready)| {
            let Workflow { description, input_schema: InputSchema(schema), .. } = &ready.workflow;
            format!("\n- {name}: {description} Input: {schema}")
        });
        let text = format!("Runs a named workflow and shows its result. There are:{}", list.collect::<String>());
        let effect = if self.idempotent { EffectClass::Idempotent } else { EffectClass::SideEffecting };
        doc(text, effect, self.rate)
    }

    /// What a call looks like.
    pub fn schema(&self) -> Value {
        let names: Vec<&String> = self.workflows.keys().collect();
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": names, "description": "The workflow."},
                "input": {"type": "object", "description": "Its input."}
            },
            "required": ["name", "input"],
            "additionalProperties": false
        })
    }
}

impl DynTool for InvokeWorkflow {
    fn touches(&self, args: &Value) -> mainpath_tools::Touches {
        match args["name"].as_str().and_then(|name| self.workflows.get(name)) {
            Some(ready) => {
                mainpath_tools::Touches::asking(ready.method().as_str(), ready.workflow.url.0.as_str()).named(true)
            }
            None => mainpath_tools::Touches::default(),
        }
    }

    fn check(&self, args: &Value) -> Result<(), Problem> {
        let (name, ready) = self.find(args)?;
        ready.check(name, &args["input"])
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let work = async {
                let (name, ready) = self.find(&args)?;
                ready.invoke(name, &args["input"], &ctx.grant.effect_id()).await
            };
            match ctx.until_stopped(work).await {
                None => ctx.stopped(),
                Some(done) => done.map_or_else(failed, ToolOutput::text),
            }
        })
    }
}

impl Ready {
    fn method(&self) -> Method {
        match self.workflow.method {
            StartMethod::Post => Method::POST,
            StartMethod::Put => Method::PUT,
        }
    }

    /// Whether the workflow takes this input.
    fn check(&self, name: &str, input: &Value) -> Result<(), Problem> {
        let violations = self.schema.violations(input);
        match violations.is_empty() {
            true => Ok(()),
            false => Err(Problem::new(
                "invalid_arguments",
                format!("Wrong input for the workflow {name}: {}.", violations.join("; ")),
            )),
        }
    }

    async fn invoke(&self, name: &str, input: &Value, key: &str) -> Result<String, Problem> {
        self.check(name, input)?;
        let deadline = Instant::now() + self.limit;
        let mut ask = Ask::post(self.workflow.url.0.clone(), input);
        ask.method = self.method();
        ask.headers.extend(self.headers.clone());
        let key = HeaderValue::try_from(key)
            .map_err(|_| Problem::new("invalid_arguments", "The call's id cannot be sent."))?;
        ask.headers.insert(KEY, key);
        let started = self.client.send(ask, Caps::within(self.limit), &stay).await?;
        let who = format!("The workflow {name}");
        if !(200..300).contains(&started.status) {
            return Err(refused(&who, &started));
        }
        let Some(poll) = &self.workflow.poll else { return Ok(said(&started)) };
        let id = at(&started, &poll.id).ok_or_else(|| no_place(&who, "id", &poll.id))?;
        let url = poll_address(poll, &id).ok_or_else(|| no_place(&who, "usable id", &poll.id))?;
        let pause = Seconds::or(poll.every_s, 2);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left < pause {
                let text =
                    format!("{who} was started (id {}) and is not done after {:?}.", head(&id, 100).0, self.limit);
                return Err(Problem::new("timeout", text));
            }
            sleep(pause).await;
            let mut ask = Ask::get(url.clone());
            ask.headers.extend(self.headers.clone());
            let answer = self.client.send(ask, Caps::within(left), &stay).await?;
            if !(200..300).contains(&answer.status) {
                return Err(refused(&who, &answer));
            }
            let state = at(&answer, &poll.state).ok_or_else(|| no_place(&who, "state", &poll.state))?;
            if poll.failed.contains(&state) {
                let text = format!("{who} has failed ({}): {}", head(&state, 100).0, said(&answer));
                return Err(Problem::new("workflow_failed", text));
            }
            if poll.done.contains(&state) {
                return Ok(said(&answer));
            }
        }
    }
}

/// The address to ask for a run; `None` if there is no place for the id in its path, or it is no address.
fn poll_address(poll: &Poll, id: &str) -> Option<Url> {
    let before = poll.url.split_once("{id}")?.0;
    // An id from a server must not choose the host.
    if id.is_empty() || id.len() > 500 || before.matches('/').count() < 3 {
        return None;
    }
    let id = utf8_percent_encode(id, NON_ALPHANUMERIC).to_string();
    WebAddress::try_from(poll.url.replace("{id}", &id)).ok().map(|WebAddress(url)| url)
}

/// The text or number at a place of a JSON answer.
fn at(answer: &Answer, pointer: &str) -> Option<String> {
    let value: Value = serde_json::from_slice(&answer.body).ok()?;
    match value.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn no_place(who: &str, what: &str, pointer: &str) -> Problem {
    Problem::new("bad_answer", format!("{who} was started, but its answer has no {what} at {pointer}."))
}

/// What a workflow answered.
fn said(answer: &Answer) -> String {
    let kind = media_type(answer);
    if !is_text(&kind, &answer.body) {
        return format!("[{} bytes of {kind}, which is not text]", answer.body.len());
    }
    let text = text(answer).0;
    match head(&text, SHOWN) {
        _ if text.is_empty() => format!("Done (HTTP {}).", answer.status),
        (_, false) => text,
        (begin, true) => format!("{begin}\n[only the first {SHOWN} of {} characters]", text.chars().count()),
    }
}
