//! Frames as server-sent events.

use super::feed::Feed;
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use std::convert::Infallible;
use std::time::Duration;

/// How often a silent stream shows that it lives.
pub const BEAT: Duration = Duration::from_secs(15);
/// After how long a client tries again, in milliseconds.
const RETRY: u32 = 2000;

/// The answer that gives out a feed until it ends or the client goes.
pub fn response(feed: Feed) -> Response<Body> {
    let first = futures_util::stream::once(async { Ok::<_, Infallible>(Bytes::from(format!("retry: {RETRY}\n\n"))) });
    let frames = futures_util::stream::unfold(feed, |mut feed| async move {
        let text = match tokio::time::timeout(BEAT, feed.next()).await {
            Ok(Some(frame)) => frame.lines(),
            Ok(None) => return None,
            Err(_) => Bytes::from_static(b": still here\n\n"),
        };
        Some((Ok(text), feed))
    });
    let mut response = Response::new(Body::from_stream(futures_util::StreamExt::chain(first, frames)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
