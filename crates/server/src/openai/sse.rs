//! Answers as server-sent events.

use super::told::{Step, ToldRun};
use crate::cut_off::ClientGuard;
use crate::problem::Problem;
use crate::stream::Watch;
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

/// A run that is streamed.
pub struct StreamedRun {
    /// Its steps.
    pub run: ToldRun,
    /// Ties it to its client.
    pub guard: Option<ClientGuard>,
    /// What a stream ends with if the server stops first.
    pub stopping: Problem,
}

struct Stream<W> {
    told: StreamedRun,
    watch: Watch,
    write: W,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Within,
    After,
}

/// The answer that tells of a run until it has ended, the client goes, or its key is no longer good, or the server stops.
pub fn response(told: StreamedRun, watch: Watch, write: impl Write) -> Response<Body> {
    let stream = Stream { told, watch, write, place: Place::Before };
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

/// What a stream hears next.
enum Heard {
    Told(Option<Result<Step, Error>>),
    /// The server stops.
    Closing,
    /// Nothing, for a while.
    Nothing,
}

impl<W: Write> Stream<W> {
    async fn heard(&mut self) -> Heard {
        tokio::select! {
            // What has come before the server stops is told first.
            biased;
            told = self.told.run.next() => Heard::Told(told),
            _ = self.watch.closing.wait_for(|is_closing| *is_closing) => Heard::Closing,
            () = tokio::time::sleep(BEAT) => Heard::Nothing,
        }
    }

    async fn next(&mut self) -> Option<String> {
        match self.place {
            Place::Before => {
                self.place = Place::Within;
                Some(self.write.begin())
            }
            Place::After => None,
            Place::Within if !(self.watch.may)() => {
                self.place = Place::After;
                Some(self.write.fail(&Error::failed("the key is no longer good")))
            }
            Place::Within => Some(match self.heard().await {
                Heard::Nothing => ": still here\n\n".into(),
                Heard::Closing => {
                    self.place = Place::After;
                    self.write.fail(&Error::failed(&self.told.stopping.detail))
                }
                Heard::Told(Some(Ok(step))) => {
                    if let (Step::Ended(_), Some(guard)) = (&step, &mut self.told.guard) {
                        guard.release();
                    }
                    self.write.step(step)
                }
                Heard::Told(Some(Err(error))) => self.write.fail(&error),
                Heard::Told(None) => {
                    self.place = Place::After;
                    self.write.end()
                }
            }),
        }
    }
}
