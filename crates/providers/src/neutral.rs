//! The neutral format: our own types as JSON. The scripted model and playback speak it, and tests.

use crate::codec::{Codec, Frame, KeyHeader, Route, StreamDecoder};
use crate::endpoint::Endpoint;
use crate::words::{error, one_line, push_json, snippet};
use mainpath_types::{Delta, Message, ModelError, ModelErrorKind, ModelReply, RequestHead};

/// A request is `{"head": RequestHead, "messages": [Message, …]}`, an answer a
/// [`ModelReply`] and an error a [`ModelError`]; a streamed answer is the same as a whole one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neutral;

impl Codec for Neutral {
    fn format(&self) -> &'static str {
        "neutral"
    }

    fn encode_group(&self, group: &[Message], out: &mut Vec<u8>) {
        for (number, message) in group.iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            push_json(out, message);
        }
    }

    fn encode_frame(&self, head: &RequestHead) -> Frame {
        let mut before = br#"{"head":"#.to_vec();
        push_json(&mut before, head);
        before.extend_from_slice(br#","messages":["#);
        Frame { before, after: b"]}".to_vec() }
    }

    fn route(&self, endpoint: &Endpoint, _head: &RequestHead) -> Route {
        let key = KeyHeader { name: "authorization", prefix: "Bearer " };
        Route { url: endpoint.url("neutral"), headers: Vec::new(), key }
    }

    fn decode_reply(&self, body: &[u8]) -> Result<ModelReply, ModelError> {
        serde_json::from_slice(body)
            .map_err(|_| error(ModelErrorKind::Server, format!("the server sent no neutral answer: {}", snippet(body))))
    }

    fn decode_error(&self, status: u16, _retry_after: Option<&str>, body: &[u8]) -> ModelError {
        let unknown = || {
            let said = one_line(&String::from_utf8_lossy(body), 200);
            ModelError { status: Some(status), ..error(ModelErrorKind::Server, said) }
        };
        serde_json::from_slice(body).unwrap_or_else(|_| unknown())
    }

    fn stream(&self) -> Box<dyn StreamDecoder> {
        Box::new(Whole(Vec::new()))
    }
}

struct Whole(Vec<u8>);

impl StreamDecoder for Whole {
    fn so_far(&mut self) -> Option<ModelReply> {
        None
    }

    fn push(&mut self, bytes: &[u8], _deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn is_done(&self) -> bool {
        false
    }

    fn finish(&mut self) -> Result<ModelReply, ModelError> {
        let cut = |_| error(ModelErrorKind::StreamCut, "the answer broke off before it was complete");
        serde_json::from_slice(&self.0).map_err(cut)
    }
}
