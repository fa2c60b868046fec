//! How long a server may think about `server/discover`. Servers of earlier revisions need not answer it at all, and the library waits 10 s for
//! each, which no option of it changes.

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, DiscoverRequestMethod, ErrorData, JsonRpcMessage, RequestId, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A server that was started has answered by then, mostly. What it answers later still counts, see [`Probed::late`].
const LONGEST: Duration = Duration::from_secs(3);

/// The state of a `server/discover` request.
#[derive(Clone, Default)]
pub(crate) struct Late(Arc<AtomicBool>);

impl Late {
    /// Returns true if it did, with a list of revisions.
    pub fn is_current(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A connection on which `server/discover` is answered in time: where the server does not, that it does not know it.
pub(crate) struct Probed<T> {
    inner: T,
    limit: Option<Duration>,
    late: Late,
    question: Question,
}

enum Question {
    /// It was not asked.
    None,
    /// It waits for its answer.
    Open(RequestId, Instant),
    /// It was answered on behalf of the server. A later answer is dropped.
    Closed(RequestId),
}

impl<T> Probed<T> {
    /// Around a connection to a server that has this time to start; `None`: it has to know the question, and nothing is answered in its place.
    pub fn new(inner: T, startup: Option<Duration>, late: Late) -> Probed<T> {
        Probed { inner, limit: startup.map(|startup| LONGEST.min(startup / 3)), late, question: Question::None }
    }
}

/// Returns true for an answer to this request.
fn answers(message: &RxJsonRpcMessage<RoleClient>, request: &RequestId) -> bool {
    match message {
        JsonRpcMessage::Response(response) => response.id == *request,
        JsonRpcMessage::Error(error) => error.id.as_ref() == Some(request),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => false,
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Probed<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(asked) = &item
            && let (ClientRequest::DiscoverRequest(_), Some(limit)) = (&asked.request, self.limit)
        {
            self.question = Question::Open(asked.id.clone(), Instant::now() + limit);
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = match &self.question {
                Question::Open(request, until) => match timeout_at(*until, self.inner.receive()).await {
                    Ok(message) => message?,
                    Err(_) => {
                        let unknown = ErrorData::method_not_found::<DiscoverRequestMethod>();
                        let answer = JsonRpcMessage::error(unknown, Some(request.clone()));
                        self.question = Question::Closed(request.clone());
                        return Some(answer);
                    }
                },
                Question::None | Question::Closed(_) => self.inner.receive().await?,
            };
            match &self.question {
                Question::Open(request, _) if answers(&message, request) => self.question = Question::None,
                Question::Closed(request) if answers(&message, request) => {
                    if let JsonRpcMessage::Response(response) = &message
                        && matches!(response.result, ServerResult::DiscoverResult(_))
                    {
                        self.late.0.store(true, Ordering::Release);
                    }
                    continue;
                }
                _ => {}
            }
            return Some(message);
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
