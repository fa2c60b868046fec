//! A small server for replies.

use crate::handle::{Desk, Request, Response, handle};
use crate::people::{People, seconds};
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// The largest body of a reply, in bytes.
const LARGEST: usize = 256 * 1024;
/// The most connections at once.
const MOST: usize = 192;

/// How long a sender may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenLimits {
    /// Until the head of its request is there: a silent sender must not keep others waiting.
    pub head: Duration,
    /// For the whole connection.
    pub connection: Duration,
}

impl Default for ListenLimits {
    fn default() -> Self {
        ListenLimits { head: Duration::from_secs(5), connection: Duration::from_secs(15) }
    }
}

/// Takes replies on a socket, and hands those that are genuine to the desk, until `until` is over.
pub async fn listen(listener: TcpListener, people: Arc<People>, desk: Arc<dyn Desk>, until: impl Future<Output = ()>) {
    listen_within(ListenLimits::default(), listener, people, desk, until).await;
}

/// The same with other limits than the default ones.
pub async fn listen_within(
    limits: ListenLimits,
    listener: TcpListener,
    people: Arc<People>,
    desk: Arc<dyn Desk>,
    until: impl Future<Output = ()>,
) {
    let room = Arc::new(Semaphore::new(MOST));
    tokio::pin!(until);
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = tokio::select! {
            () = &mut until => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // As when there are too many files: what was accepted goes on.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
        };
        let (people, desk) = (Arc::clone(&people), Arc::clone(&desk));
        tokio::spawn(async move {
            let _permit = permit;
            let service = service_fn(|request| answer(request, &people, &*desk));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.head)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // Whoever broke it off gets no answer.
            let _ = tokio::time::timeout(limits.connection, connection).await;
        });
    }
}

async fn answer(
    request: hyper::Request<Incoming>,
    people: &People,
    desk: &dyn Desk,
) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let is_too_large = body.size_hint().lower() > u64::try_from(LARGEST).unwrap_or(u64::MAX);
    let body = match is_too_large {
        true => None,
        false => Limited::new(body, LARGEST).collect().await.ok(),
    };
    let response = match body {
        Some(body) => {
            let body = body.to_bytes();
            let headers: &HeaderMap = &parts.headers;
            let request = Request { method: parts.method.as_str(), path: parts.uri.path(), headers, body: &body };
            handle(request, people.keys(), desk, seconds()).await
        }
        None => Response::refused(413, "the body is too large, or broke off"),
    };
    let mut answer = hyper::Response::new(Full::new(Bytes::from(response.body.to_string())));
    *answer.status_mut() =
        hyper::StatusCode::from_u16(response.status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    answer
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    Ok(answer)
}
