//! One request to a server: its progress, its cancellation, and the rounds in which the server asks back.

use crate::link::Link;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitResult, ElicitationAction,
    GetPromptRequest, GetPromptRequestParams, GetPromptResult, InputRequest, InputRequiredResult, InputResponses,
    ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::Value;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Failed {
    /// It was cancelled from here.
    Stopped,
    /// The connection ended.
    Gone,
    /// The server refused it. Its words.
    Refused(String),
    /// The answer is none. Why.
    Strange(String),
}

/// As often does a server ask back at most in one request.
const ROUNDS: usize = 10;
/// How long the word that a request is cancelled may take to be sent.
const PARTING: Duration = Duration::from_secs(1);

/// What is asked for.
#[derive(Clone)]
pub(crate) enum Request {
    Tool(CallToolRequestParams),
    Resource(ReadResourceRequestParams),
    Prompt(GetPromptRequestParams),
}

/// What came back.
pub(crate) enum Reply {
    Tool(CallToolResult),
    Resource(ReadResourceResult),
    Prompt(GetPromptResult),
}

impl Request {
    fn wire(&self) -> ClientRequest {
        match self.clone() {
            Request::Tool(params) => ClientRequest::CallToolRequest(CallToolRequest::new(params)),
            Request::Resource(params) => ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params)),
            Request::Prompt(params) => ClientRequest::GetPromptRequest(GetPromptRequest::new(params)),
        }
    }

    /// The same once more, with what the server wanted to know.
    fn answer(&mut self, known: Option<InputResponses>, state: Option<String>) {
        let (responses, request_state) = match self {
            Request::Tool(params) => (&mut params.input_responses, &mut params.request_state),
            Request::Resource(params) => (&mut params.input_responses, &mut params.request_state),
            Request::Prompt(params) => (&mut params.input_responses, &mut params.request_state),
        };
        (*responses, *request_state) = (known, state);
    }
}

impl Link {
    /// Asks. `tell` hears of progress. When `cancel` fires the server is told, and the answer is [`Failed::Stopped`]; so is
    /// it told when this future is dropped half-way.
    pub async fn ask(
        &self,
        mut request: Request,
        cancel: &CancellationToken,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Reply, Failed> {
        for _ in 0..ROUNDS {
            match self.round(request.wire(), cancel, tell).await? {
                ServerResult::CallToolResult(result) => return Ok(Reply::Tool(result)),
                ServerResult::ReadResourceResult(result) => return Ok(Reply::Resource(result)),
                ServerResult::GetPromptResult(result) => return Ok(Reply::Prompt(result)),
                ServerResult::InputRequiredResult(InputRequiredResult { input_requests, request_state, .. }) => {
                    let asked = input_requests.unwrap_or_default();
                    if asked.is_empty() {
                        // It only wants to be asked again.
                        tokio::select! {
                            () = cancel.cancelled() => return Err(Failed::Stopped),
                            () = tokio::time::sleep(Duration::from_millis(200)) => {}
                        }
                    }
                    let known: InputResponses = asked
                        .into_iter()
                        .map(|(key, asked)| Ok((key, self.known(&asked)?)))
                        .collect::<Result<_, _>>()?;
                    request.answer((!known.is_empty()).then_some(known), request_state);
                }
                _ => return Err(Failed::Strange("its answer does not match the request".into())),
            }
        }
        Err(Failed::Strange(format!("it asked back {ROUNDS} times")))
    }

    async fn round(
        &self,
        request: ClientRequest,
        cancel: &CancellationToken,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<ServerResult, Failed> {
        let sending = self.peer().send_request_with_option(request, PeerRequestOptions::no_options());
        let handle = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Failed::Stopped),
            sent = sending => sent.map_err(failed)?,
        };
        let mut progress = self.inbox.listen(handle.progress_token.clone());
        let mut pending = Pending(Some(handle));
        loop {
            let Some(handle) = pending.0.as_mut() else { return Err(Failed::Gone) };
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    pending.cancel().await;
                    return Err(Failed::Stopped);
                }
                Some(piece) = progress.next() => tell(&piece),
                answer = &mut handle.rx => {
                    pending.0 = None;
                    return match answer {
                        Ok(Ok(result)) => Ok(result),
                        Ok(Err(error)) => Err(failed(error)),
                        Err(_) => Err(Failed::Gone),
                    };
                }
            }
        }
    }

    /// What we say to what a server asks back.
    fn known(&self, asked: &InputRequest) -> Result<Value, Failed> {
        let answer = match asked {
            InputRequest::ListRoots(_) => serde_json::to_value(self.handler().roots()),
            InputRequest::Elicitation(_) => serde_json::to_value(ElicitResult::new(ElicitationAction::Decline)),
            _ => return Err(Failed::Strange("it asked for a model's answer, which is not supported".into())),
        };
        answer.map_err(|error| Failed::Strange(error.to_string()))
    }

    /// Whether the server still answers.
    pub async fn answers(&self, limit: Duration) -> bool {
        let asking = async {
            match self.is_current() {
                // The current revision has no ping.
                true => self.peer().discover(Default::default()).await.is_ok(),
                false => {
                    let ping = ClientRequest::PingRequest(Default::default());
                    // Even a refusal is an answer.
                    !matches!(
                        self.peer().send_request(ping).await,
                        Err(ServiceError::TransportClosed | ServiceError::TransportSend(_))
                    )
                }
            }
        };
        tokio::time::timeout(limit, asking).await.unwrap_or(false)
    }
}

/// A request under way. The server is told when nobody waits for it any more.
struct Pending(Option<RequestHandle<RoleClient>>);

impl Pending {
    async fn cancel(&mut self) {
        if let Some(handle) = self.0.take() {
            let _ = tokio::time::timeout(PARTING, handle.cancel(Some("the call was ended".into()))).await;
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { Pending(Some(handle)).cancel().await });
        }
    }
}

fn failed(error: ServiceError) -> Failed {
    match error {
        ServiceError::McpError(error) => {
            let data = error.data.map(|data| format!(" ({data})")).unwrap_or_default();
            Failed::Refused(crate::clean::text(&format!("{} {}{data}", error.code.0, error.message), 2_000))
        }
        ServiceError::TransportSend(_) | ServiceError::TransportClosed | ServiceError::Cancelled { .. } => Failed::Gone,
        other => Failed::Strange(crate::clean::text(&other.to_string(), 500)),
    }
}
