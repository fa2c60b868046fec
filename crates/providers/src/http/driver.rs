//! The one HTTP driver.

use super::client::HttpClient;
use super::failure;
use super::limiter::Limiter;
use super::packed::Unpacker;
use crate::codec::Codec;
use crate::endpoint::{Endpoint, Timeouts};
use crate::mended::{mended, mended_text};
use crate::openai_chat::OpenAiChat;
use crate::oversize::{MOST_KEPT, bounded, closed};
use crate::provider::{Call, Fut, Provider};
use crate::words::{error, one_line};
use bytes::Bytes;
use futures_util::FutureExt;
use httpdate::parse_http_date;
use mainpath_types::{Delta, ModelError, ModelErrorKind, ModelReply, Part, RequestHead};
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, Sleep, sleep, timeout, timeout_at};

/// How much of the body of an error is read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// How long the body of an error may take.
const ERROR_BODY: Duration = Duration::from_secs(10);

/// How long the end of the body may take after the answer is complete. Reading it lets the connection be used again.
const TAIL: Duration = Duration::from_millis(100);

/// A model behind an HTTP server.
pub struct HttpProvider {
    client: HttpClient,
    endpoint: Endpoint,
    codec: Box<dyn Codec>,
    limiter: Arc<Limiter>,
    /// Where the last request went.
    target: Mutex<Option<Arc<Target>>>,
}

/// Where requests for a model go.
struct Target {
    model: String,
    stream: bool,
    url: reqwest::Url,
    /// The address as it may be shown.
    shown: String,
    headers: HeaderMap,
}

impl HttpProvider {
    /// A model behind this endpoint that speaks the codec's format. Nothing is opened yet.
    pub fn new(client: &HttpClient, endpoint: Endpoint, codec: Box<dyn Codec>) -> HttpProvider {
        let limiter = client.limiter(&endpoint);
        HttpProvider { client: client.clone(), endpoint, codec, limiter, target: Mutex::default() }
    }

    /// A model that speaks Chat Completions.
    pub fn openai_chat(client: &HttpClient, endpoint: Endpoint) -> HttpProvider {
        let issuer = format!("openai-compatible@{}", endpoint.host());
        let codec = Box::new(OpenAiChat::new(endpoint.quirks, &issuer));
        HttpProvider::new(client, endpoint, codec)
    }

    /// The server.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    async fn exchange(&self, call: Call<'_>, deltas: &mut (dyn FnMut(Delta) + Send)) -> Result<ModelReply, ModelError> {
        let client = self.client.for_endpoint(&self.endpoint)?;
        let target = self.target(call.head)?;
        let url = &target.shown;
        let request = client.post(target.url.clone()).headers(target.headers.clone()).body(Segments::body(call.body));
        let first_byte = self.endpoint.timeouts.first_byte;
        let response = match timeout(first_byte, request.send()).await {
            Err(_) => return Err(failure::silent(url, first_byte, 0)),
            Ok(Err(failed)) => return Err(failure::before_answer(&failed, url)),
            Ok(Ok(response)) => response,
        };
        if response.status().is_success() {
            self.read_answer(response, url, call.head, deltas).await
        } else {
            Err(self.read_error(response, url).await)
        }
    }

    /// Where such a request goes. Made anew only when the model changes.
    fn target(&self, head: &RequestHead) -> Result<Arc<Target>, ModelError> {
        let mut last = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = last.as_ref().filter(|target| target.stream == head.stream && target.model == head.model)
        {
            return Ok(Arc::clone(target));
        }
        let route = self.codec.route(&self.endpoint, head);
        let no_url = |_| error(ModelErrorKind::BadRequest, format!("{} is not an address", shown(&route.url)));
        let url = reqwest::Url::parse(&route.url).map_err(no_url)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &route.headers {
            headers.insert(HeaderName::from_static(name), header(value)?);
        }
        for (name, value) in &self.endpoint.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
                error(
                    ModelErrorKind::BadRequest,
                    format!("{name:?} is not a header's name; correct the provider's profile"),
                )
            })?;
            headers.insert(name, header(value)?);
        }
        if let Some(key) = &self.endpoint.key {
            let mut value = header(&format!("{}{}", route.key.prefix, key.reveal()))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(route.key.name), value);
        }
        let (model, stream, shown) = (head.model.clone(), head.stream, shown(&route.url));
        let target = Arc::new(Target { model, stream, url, shown, headers });
        *last = Some(Arc::clone(&target));
        Ok(target)
    }

    async fn read_answer(
        &self,
        mut response: reqwest::Response,
        url: &str,
        head: &RequestHead,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<ModelReply, ModelError> {
        let content_type =
            response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        // A server that cannot stream answers whole, whatever was asked.
        let whole = !head.stream || content_type.contains("json") && !content_type.contains("stream");
        // A server that streams although it was not asked to is understood as well.
        let mut decoder = (!whole || content_type.contains("event-stream")).then(|| self.codec.stream());
        let mut unpacker = Unpacker::new(response.headers()).map_err(|e| located(e, url))?;
        let mut unheard = |_: Delta| {};
        let deltas: &mut (dyn FnMut(Delta) + Send) = if head.stream { deltas } else { &mut unheard };
        let (mut body, mut received, mut said, mut over) = (Vec::new(), 0, 0, false);
        let limit = self.endpoint.max_response;
        let Timeouts { first_byte, idle } = self.endpoint.timeouts;
        let mut patience = Patience::new(first_byte);
        // Signs of life keep a stream open, but not for ever: as long as the first byte may take.
        let alive = first_byte.max(idle);
        let mut heard = Instant::now();
        loop {
            let chunk = match patience.wait(response.chunk()).await {
                None => return Err(failure::silent(url, patience.limit, received)),
                Some(Err(failed)) => return Err(failure::in_answer(&failed, url, received)),
                Some(Ok(chunk)) => chunk,
            };
            let Some(chunk) = chunk else { break };
            if received == 0 {
                patience = Patience::new(idle);
            }
            let before = said;
            let mut take = |bytes: &[u8]| -> Result<(), ModelError> {
                received += bytes.len();
                over |= received > limit || said > MOST_KEPT;
                match &mut decoder {
                    _ if over => Ok(()),
                    Some(decoder) => decoder.push(bytes, &mut |delta| {
                        said += size(&delta).max(1);
                        deltas(delta);
                    }),
                    None => {
                        body.extend_from_slice(bytes);
                        Ok(())
                    }
                }
            };
            unpacker.push(&chunk, &mut take).map_err(|e| located(e, url))?;
            match &mut decoder {
                _ if over => break,
                Some(decoder) if decoder.is_done() => {
                    let _ = timeout(TAIL, drain(&mut response)).await;
                    break;
                }
                Some(_) if said == before && heard.elapsed() > alive => {
                    return Err(failure::only_alive(url, heard.elapsed(), received));
                }
                Some(_) if said == before => {}
                _ => heard = Instant::now(),
            }
        }
        let reply = match decoder {
            Some(mut decoder) if over => decoder.so_far().ok_or_else(|| failure::too_large(limit)),
            Some(mut decoder) => decoder.finish(),
            None if over => self.codec.decode_reply(&mended(&closed(&body))).map_err(|_| failure::too_large(limit)),
            None => self.codec.decode_reply(&mended(&body)),
        };
        let mut reply = bounded(reply.map_err(|e| located(e, url))?, over);
        for part in &mut reply.parts {
            if let Part::ToolCall { arguments, .. } = part {
                *arguments = mended_text(std::mem::take(arguments));
            }
        }
        Ok(reply)
    }

    async fn read_error(&self, mut response: reqwest::Response, url: &str) -> ModelError {
        let status = response.status();
        let text = |name: HeaderName| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        let now = text(DATE).and_then(|date| parse_http_date(&date).ok()).unwrap_or_else(SystemTime::now);
        let retry_after = text(RETRY_AFTER).map(|value| in_seconds(value, now));
        let milliseconds = text(HeaderName::from_static("retry-after-ms")).and_then(|value| value.trim().parse().ok());
        let location = text(LOCATION).filter(|_| status.is_redirection());
        let mut body = Vec::new();
        let mut unpacker = Unpacker::new(response.headers()).unwrap_or(Unpacker::Plain);
        // What can be had of the body is enough: the status alone is an answer. A body that drips need not be waited for.
        let until = Instant::now() + self.endpoint.timeouts.idle.min(ERROR_BODY);
        while let Ok(Ok(Some(chunk))) = timeout_at(until, response.chunk()).await {
            let unpacked = unpacker.push(&chunk, &mut |bytes| {
                body.extend_from_slice(bytes.get(..MAX_ERROR_BODY.saturating_sub(body.len())).unwrap_or(bytes));
                Ok(())
            });
            if unpacked.is_err() || body.len() >= MAX_ERROR_BODY {
                break;
            }
        }
        // Before what is said is shortened: half a key is a key's half too many.
        body = without_secrets(&String::from_utf8_lossy(&body), &self.endpoint).into_bytes();
        let mut error = self.codec.decode_error(status.as_u16(), retry_after.as_deref(), &body);
        error.retry_after_ms = milliseconds.or(error.retry_after_ms);
        if let Some(location) = location {
            error.message = format!("the server redirects to {}; use that address", shown(&one_line(&location, 200)));
        }
        located(error, url)
    }
}

/// How long to wait, in seconds, where it says until when; by the server's own clock, if it told the time.
fn in_seconds(retry_after: String, now: SystemTime) -> String {
    match parse_http_date(retry_after.trim()) {
        Ok(at) => at.duration_since(now).unwrap_or_default().as_secs_f64().to_string(),
        Err(_) => retry_after,
    }
}

impl Provider for HttpProvider {
    fn codec(&self) -> &dyn Codec {
        &*self.codec
    }

    fn call<'a>(
        &'a self,
        call: Call<'a>,
        deltas: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let pass = self.limiter.enter().await;
            let outcome = self.exchange(call, deltas).await;
            match &outcome {
                Ok(_) => pass.answered(),
                Err(error) if matches!(error.kind, ModelErrorKind::RateLimit | ModelErrorKind::Overloaded) => {
                    pass.refused(error.retry_after_ms.map(Duration::from_millis));
                }
                Err(_) => drop(pass),
            }
            outcome.map_err(|mut error| {
                error.message = without_secrets(&error.message, &self.endpoint);
                error
            })
        })
    }
}

/// A time limit on each of many waits in a row. Its timer is set anew only when it has run out: an answer comes in thousands of
/// pieces, and a timer of its own for each would cost more than the piece.
struct Patience {
    limit: Duration,
    timer: Pin<Box<Sleep>>,
}

impl Patience {
    fn new(limit: Duration) -> Patience {
        Patience { limit, timer: Box::pin(sleep(limit)) }
    }

    /// What is waited for, or `None` when it has taken longer than the limit.
    async fn wait<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        // What is there already needs no look at the clock.
        if let Some(done) = work.as_mut().now_or_never() {
            return Some(done);
        }
        let due = Instant::now() + self.limit;
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                () = &mut self.timer => match Instant::now() >= due {
                    true => return None,
                    false => self.timer.as_mut().reset(due),
                }
            }
        }
    }
}

/// The bytes of text in a piece.
fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text { text }
        | Delta::Thinking { text }
        | Delta::Arguments { text, .. }
        | Delta::ToolOutput { text, .. } => text.len(),
        Delta::Partial { .. } => 0,
    }
}

async fn drain(response: &mut reqwest::Response) {
    while let Ok(Some(_)) = response.chunk().await {}
}

/// An address as it may be shown: its query may hold a key.
fn shown(url: &str) -> String {
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}

fn located(mut error: ModelError, url: &str) -> ModelError {
    error.message = match error.status {
        Some(status) => format!("{url} answered {status}: {}", error.message),
        None => format!("{url}: {}", error.message),
    };
    error
}

/// A server may repeat in what it says the key, and what else a profile's headers hold.
fn without_secrets(text: &str, endpoint: &Endpoint) -> String {
    let mut text = text.to_owned();
    if let Some(key) = &endpoint.key {
        text = text.replace(key.reveal(), "[key]");
    }
    for (name, value) in &endpoint.headers {
        // The last word of `Bearer …` is the secret. Short words and dates are none.
        let secret = value.rsplit(' ').next().unwrap_or_default();
        if secret.len() >= 12 {
            text = text.replace(secret, &format!("[{name}]"));
        }
    }
    text
}

fn header(value: &str) -> Result<HeaderValue, ModelError> {
    HeaderValue::from_str(value).map_err(|_| {
        let message = "the key contains characters that cannot be sent; check the variable that holds it";
        error(ModelErrorKind::Auth, message)
    })
}

/// A request body that is sent from the segments of the caller's cache, with its length known.
struct Segments {
    segments: std::vec::IntoIter<Bytes>,
    left: u64,
}

impl Segments {
    fn body(segments: Vec<Bytes>) -> reqwest::Body {
        let left = segments.iter().map(|segment| segment.len() as u64).sum();
        reqwest::Body::wrap(Segments { segments: segments.into_iter(), left })
    }
}

impl http_body::Body for Segments {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        let next = self.segments.by_ref().find(|segment| !segment.is_empty());
        if let Some(segment) = &next {
            self.left -= segment.len() as u64;
        }
        Poll::Ready(next.map(|segment| Ok(http_body::Frame::data(segment))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(self.left)
    }
}
