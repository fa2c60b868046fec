//! Answers as server-sent events.

use super::leash::Leash;
use super::told::{Step, ToldRun};
use crate::stream::May;
use crate::stream::sse::BEAT;
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use mainpath::Error;
use std::convert::Infallible;

/// Writes the steps of a run as events.
pub trait Write: Send + 'static {
    /// What comes before the first step.
    fn begin(&mut self) -> String;
    /// A step.
    fn step(&mut self, step: Step) -> String;
    /// The run cannot be followed any further.
    fn fail(&mut self, error: &Error) -> String;
    /// What comes last.
    fn end(&mut self) -> String;
}

struct Stream<W> {
    told: ToldRun,
    leash: Option<Leash>,
    may: May,
    write: W,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Within,
    After,
}

/// The answer that tells of a run until it has ended, the client goes, or its key is no longer good (`may`).
pub fn response(told: ToldRun, leash: Option<Leash>, may: May, write: impl Write) -> Response<Body> {
    let stream = Stream { told, leash, may, write, place: Place::Before };
    let texts = futures_util::stream::unfold(stream, |mut stream| async move {
        let text = stream.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), stream))
    });
    let mut response = Response::new(Body::from_stream(texts));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

impl<W: Write> Stream<W> {
    async fn next(&mut self) -> Option<String> {
        match self.place {
            Place::Before => {
                self.place = Place::Within;
                Some(self.write.begin())
            }
            Place::After => None,
            Place::Within if !(self.may)() => {
                self.place = Place::After;
                Some(self.write.fail(&Error::failed("the key is no longer good")))
            }
            Place::Within => Some(match tokio::time::timeout(BEAT, self.told.next()).await {
                Err(_) => ": still here\n\n".into(),
                Ok(Some(Ok(step))) => {
                    if let (Step::Ended(_), Some(leash)) = (&step, &mut self.leash) {
                        leash.release();
                    }
                    self.write.step(step)
                }
                Ok(Some(Err(error))) => self.write.fail(&error),
                Ok(None) => {
                    self.place = Place::After;
                    self.write.end()
                }
            }),
        }
    }
}
