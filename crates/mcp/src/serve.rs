//! Runs as an MCP server: a person's own client starts them, watches them, decides what they ask, and gets their answers.

use mainpath_tools::Fut;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ContentBlock, ErrorData, Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStart {
    /// The task.
    pub task: String,
    /// The model; the caller's default where it is left out.
    pub model: Option<String>,
    /// The folder to work in; the caller's own where it is left out.
    pub workspace: Option<String>,
}

/// What a person decides about a call that waits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunAnswer {
    /// The run.
    pub trace: String,
    /// The call, such as `4.0`.
    pub call: String,
    /// What is decided.
    pub decision: RunDecision,
    /// The answer; why it is denied.
    pub text: Option<String>,
}

/// What is decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunDecision {
    /// It may run.
    Approve,
    /// It may not.
    Deny,
    /// It asked a question; this is the answer.
    Answer,
}

/// Why a served call has no result: one line for the client.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The arguments do not match the tool's schema.
    #[error("the arguments of {tool}: {source}")]
    Arguments {
        /// The tool.
        tool: String,
        /// The argument and what is wrong with it.
        source: serde_path_to_error::Error<serde_json::Error>,
    },
    /// The client cancelled the call. The run that it started continues.
    #[error("the call was cancelled; the run goes on")]
    RunContinues,
    /// The client cancelled the call.
    #[error("the call was cancelled")]
    Cancelled,
    /// The implementor of [`Runs`] or [`OneTool`] refused the call, or failed.
    #[error(transparent)]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl CallError {
    /// The error of an implementor.
    pub fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CallError {
        CallError::Failed(error.into())
    }
}

/// Why serving on standard input and output ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The client does not speak the protocol.
    #[error(transparent)]
    Handshake(#[from] Box<ServerInitializeError>),
    /// The task that serves panicked.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
}

/// The runs that are served: only those that were started through here. Results are objects for the client; errors one
/// line for it.
pub trait Runs: Send + Sync + 'static {
    /// Starts a run and answers at once, with its `trace`.
    fn start(&self, start: RunStart) -> Fut<'_, Result<Value, CallError>>;
    /// How it stands, and what waits for a decision.
    fn status(&self, trace: String) -> Fut<'_, Result<Value, CallError>>;
    /// Takes a decision.
    fn answer(&self, answer: RunAnswer) -> Fut<'_, Result<Value, CallError>>;
    /// How it ended. Waits at most so long for that, or until it waits for a decision itself.
    fn result(&self, trace: String, wait: Duration) -> Fut<'_, Result<Value, CallError>>;
}

/// The longest that somebody can wait for a result.
const LONGEST_WAIT: u64 = 600;

/// One tool: its arguments are read, and its failures told, by whoever offers it.
pub trait OneTool: Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What it does, for models.
    fn about(&self) -> &'static str;
    /// The JSON Schema of its arguments: an object.
    fn schema(&self) -> Value;
    /// Does it. Errors: what is wrong, for the caller.
    fn call(&self, arguments: Value) -> Fut<'_, Result<Value, CallError>>;
}

/// Serves runs on standard input and output until the client goes. Errors: the client does not speak the protocol.
pub async fn serve(runs: Arc<dyn Runs>) -> Result<(), ServeError> {
    Served::new(runs).on_stdio().await
}

/// Serves one tool in the same way.
pub async fn serve_tool(tool: Arc<dyn OneTool>) -> Result<(), ServeError> {
    Served { offer: Offer::Tool(tool) }.on_stdio().await
}

/// The face of the server, for any transport.
#[derive(Clone)]
pub struct Served {
    offer: Offer,
}

/// What is served.
#[derive(Clone)]
enum Offer {
    Runs(Arc<dyn Runs>),
    Tool(Arc<dyn OneTool>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneRun {
    trace: String,
    wait_s: Option<u64>,
}

impl Served {
    /// The face of these runs.
    pub fn new(runs: Arc<dyn Runs>) -> Served {
        Served { offer: Offer::Runs(runs) }
    }

    async fn on_stdio(self) -> Result<(), ServeError> {
        let service = self.serve(rmcp::transport::io::stdio()).await.map_err(Box::new)?;
        service.waiting().await?;
        Ok(())
    }

    fn tools(&self) -> Vec<Tool> {
        match &self.offer {
            Offer::Runs(_) => tools_for_runs(),
            Offer::Tool(tool) => match tool.schema() {
                Value::Object(schema) => vec![Tool::new(tool.name(), tool.about(), schema)],
                _ => Vec::new(),
            },
        }
    }

    async fn call(&self, name: &str, args: Value) -> Result<Value, CallError> {
        let runs = match &self.offer {
            Offer::Runs(runs) => runs,
            Offer::Tool(tool) => return tool.call(args).await,
        };
        match name {
            "run_start" => runs.start(read(name, args)?).await,
            "run_status" => {
                let OneRun { trace, .. } = read(name, args)?;
                runs.status(trace).await
            }
            "run_answer" => runs.answer(read(name, args)?).await,
            _ => {
                let OneRun { trace, wait_s } = read(name, args)?;
                runs.result(trace, Duration::from_secs(wait_s.unwrap_or(0).min(LONGEST_WAIT))).await
            }
        }
    }
}

fn read<T: DeserializeOwned>(tool: &str, args: Value) -> Result<T, CallError> {
    serde_path_to_error::deserialize(args).map_err(|source| CallError::Arguments { tool: tool.into(), source })
}

fn tools_for_runs() -> Vec<Tool> {
    let text = |what: &str| json!({"type": "string", "description": what});
    let trace = text("The run's id, as run_start gave it.");
    let tool = |name: &'static str, what: &'static str, properties: Value, required: &[&str]| {
        let schema = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        let Value::Object(schema) = schema else { return Tool::default() };
        Tool::new(name, what, schema)
    };
    let looks = |tool: Tool| tool.with_annotations(ToolAnnotations::new().read_only(true));
    let task = text("What the agent is to do.");
    let model = text("The model, in Mainpath's notation: PROVIDER:NAME.");
    let folder = text("The folder to work in: an absolute path.");
    let decision = json!({"type": "string", "enum": ["approve", "deny", "answer"]});
    let said = text("The answer, or why it is denied.");
    let call = text("The call that waits, such as 4.0, as run_status names it.");
    let wait = json!({
        "type": "integer", "minimum": 0, "maximum": LONGEST_WAIT, "description": "Seconds to wait for the end.",
    });
    vec![
        tool(
            "run_start",
            "Gives an agent a task and answers at once with the run's id.",
            json!({"task": task, "model": model, "workspace": folder}),
            &["task"],
        ),
        looks(tool(
            "run_status",
            "Tells how a run stands, and which of its calls wait for a decision.",
            json!({"trace": trace}),
            &["trace"],
        )),
        tool(
            "run_answer",
            "Decides about a call that waits: approves it, denies it, or answers its question. To be called only on a \
             person's word.",
            json!({"trace": trace, "call": call, "decision": decision, "text": said}),
            &["trace", "call", "decision"],
        ),
        looks(tool(
            "run_result",
            "Tells how a run ended and what its answer is. Waits for that if it is told to; comes back sooner when a call \
             waits for a decision.",
            json!({"trace": trace, "wait_s": wait}),
            &["trace"],
        )),
    ]
}

impl ServerHandler for Served {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let own = Implementation::new("mainpath", env!("CARGO_PKG_VERSION"));
        let about = match &self.offer {
            Offer::Runs(_) => {
                "Starts agents and follows them. run_start answers at once; ask run_result with wait_s for the end. When a run \
                 waits for a decision, show the person what waits and pass on what they decide by run_answer."
            }
            Offer::Tool(tool) => tool.about(),
        };
        ServerConfig::new(capabilities).with_server_info(own).with_instructions(about)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    // What is not declared is not known either; rmcp 3.9 would answer with empty lists.
    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&request.name).is_none() {
            let name = crate::clean::line(&request.name, 80);
            return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None));
        }
        let args = Value::Object(request.arguments.unwrap_or_default());
        let done = tokio::select! {
            () = context.ct.cancelled() => Err(match &self.offer {
                Offer::Runs(_) => CallError::RunContinues,
                Offer::Tool(_) => CallError::Cancelled,
            }),
            done = self.call(&request.name, args) => done,
        };
        Ok(match done {
            Ok(value) => CallToolResult::structured(value).into(),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why.to_string())]).into(),
        })
    }
}
