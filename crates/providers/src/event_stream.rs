//! A streamed answer as server-sent events, whatever the wire format.

use crate::codec::StreamDecoder;
use crate::errors;
use crate::mended::mended;
use crate::oversize::{bounded, closed};
use crate::sse::{FrameTooLong, SseDecoder, SseFrame};
use crate::words::{error, snippet};
use mainpath_types::{Delta, ModelError, ModelErrorKind, ModelReply};
use serde::Deserialize;

/// The longest event that is read, in bytes. Servers send a few hundred; whole calls in one event may be long.
const MAX_FRAME: usize = 16 << 20;

/// What a stream of events may still bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More events.
    More,
    /// Nothing that counts.
    Done,
}

/// Takes the JSON of an event where every event has the same shape; `[DONE]` ends the stream.
pub(crate) fn take<'a, T: Deserialize<'a>>(
    data: &'a [u8],
    add: impl FnOnce(T) -> Result<(), ModelError>,
) -> Result<Option<Progress>, ModelError> {
    if data.trim_ascii() == b"[DONE]" {
        return Ok(Some(Progress::Done));
    }
    match serde_json::from_slice(data) {
        Ok(event) => add(event).map(|()| Some(Progress::More)),
        Err(_) => Ok(None),
    }
}

/// An answer under construction, fed with a wire format's events.
pub(crate) trait Draft: Send {
    /// What an event is, for errors: `chat completion`.
    const EVENT: &'static str;

    /// Takes the data of an event, which is not blank. `Ok(None)` when it is no event of this format.
    ///
    /// # Errors
    /// What the event says, if it is an error.
    fn event(&mut self, data: &[u8], deltas: &mut dyn FnMut(Delta)) -> Result<Option<Progress>, ModelError>;

    /// The answer, when the bytes have ended; `None` when they ended too early. `done` when an event has said that
    /// nothing more comes.
    ///
    /// # Errors
    /// When the server ended it without an answer.
    fn finish(&mut self, done: bool) -> Result<Option<ModelReply>, ModelError>;

    /// The answer as far as it has come, where no more of it is read; `None` if there is nothing of it.
    fn so_far(&mut self) -> Option<ModelReply> {
        self.finish(true).ok().flatten()
    }
}

/// Decodes the events of one answer into a [`Draft`].
pub(crate) struct EventStream<D> {
    sse: SseDecoder,
    draft: D,
    done: bool,
    /// An event was larger than what is read; the answer ends with what its beginning says.
    too_long: bool,
    frames: u64,
    /// The first bytes, to tell a stream from something else.
    opening: Vec<u8>,
}

impl<D: Draft> EventStream<D> {
    /// A decoder that feeds this draft.
    pub fn new(draft: D) -> EventStream<D> {
        EventStream {
            sse: SseDecoder::new(MAX_FRAME),
            draft,
            done: false,
            too_long: false,
            frames: 0,
            opening: Vec::new(),
        }
    }
}

impl<D: Draft + Default> Default for EventStream<D> {
    fn default() -> EventStream<D> {
        EventStream::new(D::default())
    }
}

enum Refused {
    /// The event is larger than any is.
    TooLong,
    Error(ModelError),
}

impl From<FrameTooLong> for Refused {
    fn from(_: FrameTooLong) -> Refused {
        Refused::TooLong
    }
}

impl<D: Draft> StreamDecoder for EventStream<D> {
    fn push(&mut self, bytes: &[u8], deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError> {
        if self.frames == 0 && self.opening.len() < 200 {
            self.opening.extend_from_slice(&bytes[..bytes.len().min(200)]);
        }
        if self.too_long {
            return Ok(());
        }
        let EventStream { sse, draft, done, frames, .. } = self;
        let mut each = |frame: SseFrame<'_>| {
            *frames += 1;
            if *done || frame.data.trim_ascii().is_empty() {
                return Ok(());
            }
            match draft.event(&mended(frame.data), deltas).map_err(Refused::Error)? {
                Some(progress) => *done = progress == Progress::Done,
                None if frame.event == b"error" => {
                    return Err(Refused::Error(errors::in_answer(&String::from_utf8_lossy(frame.data))));
                }
                None => {
                    let seen = snippet(frame.data);
                    let message = format!("the server sent a stream event that is not a {}: {seen}", D::EVENT);
                    return Err(Refused::Error(error(ModelErrorKind::Server, message)));
                }
            }
            Ok(())
        };
        match sse.push(bytes, &mut each) {
            Ok(()) => Ok(()),
            Err(Refused::Error(error)) => Err(error),
            Err(Refused::TooLong) => {
                // What the beginning of the event says is kept, and everything before it.
                let begun = closed(sse.so_far());
                let _ = draft.event(&mended(&begun), deltas);
                self.too_long = true;
                Ok(())
            }
        }
    }

    fn so_far(&mut self) -> Option<ModelReply> {
        self.draft.so_far()
    }

    fn is_done(&self) -> bool {
        self.done || self.too_long
    }

    fn finish(&mut self) -> Result<ModelReply, ModelError> {
        if self.too_long {
            let message =
                format!("the server sent an event larger than {MAX_FRAME} bytes, of which nothing can be read");
            return self
                .so_far()
                .map(|reply| bounded(reply, true))
                .ok_or_else(|| error(ModelErrorKind::BadRequest, message));
        }
        if let Some(reply) = self.draft.finish(self.done)? {
            return Ok(reply);
        }
        if self.done {
            return Err(error(ModelErrorKind::Server, "the server ended the stream without an answer"));
        }
        if self.frames == 0 && !may_be_stream(&self.opening) {
            let message =
                format!("the server answered with something that is not an event stream: {}", snippet(&self.opening));
            return Err(error(ModelErrorKind::Server, message));
        }
        Err(error(ModelErrorKind::StreamCut, "the answer broke off before it was complete"))
    }
}

/// Whether these bytes begin a stream of events, as far as they go.
fn may_be_stream(opening: &[u8]) -> bool {
    let opening = opening.strip_prefix(b"\xef\xbb\xbf").unwrap_or(opening).trim_ascii_start();
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    fields.iter().any(|field| opening.starts_with(field) || field.starts_with(opening))
}
