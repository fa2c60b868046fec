//! A streamed answer.

use super::errors;
use super::reply::{Chunk, Draft};
use crate::codec::StreamDecoder;
use crate::sse::{FrameTooLong, SseDecoder, SseFrame};
use crate::words::{error, snippet};
use mainpath_types::{Delta, ModelError, ModelErrorKind, ModelReply};

/// The longest event that is read, in bytes. Servers send a few hundred; whole calls in one event may be long.
const MAX_FRAME: usize = 16 << 20;

/// The answer is complete with `[DONE]`, or at the end of the bytes if the server has said why it ended: some servers
/// leave `[DONE]` out.
pub(super) struct ChatStream {
    sse: SseDecoder,
    draft: Draft,
    done: bool,
    frames: u64,
    /// The first bytes, to tell a stream from something else.
    opening: Vec<u8>,
}

impl ChatStream {
    pub(super) fn new() -> ChatStream {
        ChatStream {
            sse: SseDecoder::new(MAX_FRAME),
            draft: Draft::default(),
            done: false,
            frames: 0,
            opening: Vec::new(),
        }
    }
}

struct Refused(ModelError);

impl From<FrameTooLong> for Refused {
    fn from(too_long: FrameTooLong) -> Refused {
        Refused(error(ModelErrorKind::Server, format!("the server sent garbage: {too_long}")))
    }
}

impl StreamDecoder for ChatStream {
    fn push(&mut self, bytes: &[u8], deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError> {
        if self.frames == 0 && self.opening.len() < 200 {
            self.opening.extend_from_slice(&bytes[..bytes.len().min(200)]);
        }
        let ChatStream { sse, draft, done, frames, .. } = self;
        let mut each = |frame: SseFrame<'_>| {
            *frames += 1;
            if *done || frame.data.trim_ascii().is_empty() {
                return Ok(());
            }
            if frame.data.trim_ascii() == b"[DONE]" {
                *done = true;
                return Ok(());
            }
            let chunk: Chunk<'_> = match serde_json::from_slice(frame.data) {
                Ok(chunk) => chunk,
                Err(_) if frame.event == b"error" => {
                    return Err(Refused(errors::in_answer(&String::from_utf8_lossy(frame.data))));
                }
                Err(_) => {
                    let message =
                        format!("the server sent a stream event that is no chat completion: {}", snippet(frame.data));
                    return Err(Refused(error(ModelErrorKind::Server, message)));
                }
            };
            draft.add(chunk, deltas).map_err(Refused)
        };
        sse.push(bytes, &mut each).map_err(|Refused(error)| error)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn finish(&mut self) -> Result<ModelReply, ModelError> {
        if self.draft.has_ended() || (self.done && !self.draft.is_empty()) {
            return Ok(self.draft.finish());
        }
        if self.done {
            return Err(error(ModelErrorKind::Server, "the server ended the stream without an answer"));
        }
        if self.frames == 0 && !may_be_stream(&self.opening) {
            let message =
                format!("the server answered with something that is no event stream: {}", snippet(&self.opening));
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
