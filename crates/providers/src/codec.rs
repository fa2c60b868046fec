//! What a wire format must do. Pure: no I/O, no clock, no key.

use crate::endpoint::Endpoint;
use mainpath_types::{CallId, Delta, Message, ModelError, ModelReply, ModelRequest, RequestHead, Role};

/// A wire format: a neutral request to bytes, bytes to a neutral answer or error.
pub trait Codec: Send + Sync {
    /// Its name, such as `openai-chat`.
    fn format(&self) -> &'static str;

    /// Whether the vendor knows the thinking that it signed only as long as everything before it stays as it was.
    fn binds_thinking(&self) -> bool {
        false
    }

    /// Appends a group (see [`groups`]) as one or more elements of the request's message array: separated by commas,
    /// with no comma before or after. The bytes depend on the group alone and never change later, which is what makes
    /// an encoded prefix cacheable. A group that is not empty yields at least one element.
    fn encode_group(&self, group: &[Message], out: &mut Vec<u8>);

    /// What must stand between messages of these roles for the format's servers to accept the conversation, as an element
    /// of the message array; `None` instead of a role is the array's beginning or end. It follows from the roles alone, so
    /// that an encoded prefix stays as it is. Most formats need nothing.
    fn between(&self, _before: Option<Role>, _after: Option<Role>) -> Option<&'static str> {
        None
    }

    /// The JSON around the elements of the message array.
    fn encode_frame(&self, head: &RequestHead) -> Frame;

    /// Where the request goes and with which headers.
    fn route(&self, endpoint: &Endpoint, head: &RequestHead) -> Route;

    /// The answer in the body of a successful response that was not streamed.
    ///
    /// # Errors
    /// [`ModelErrorKind::Server`](mainpath_types::ModelErrorKind) with a piece of the body if it is no answer, or what
    /// the body says if it is an error.
    fn decode_reply(&self, body: &[u8]) -> Result<ModelReply, ModelError>;

    /// What a response without success means. `retry_after` is the header of that name, which counts if it is a number
    /// of seconds; the driver, which has a clock, makes one of a date.
    fn decode_error(&self, status: u16, retry_after: Option<&str>, body: &[u8]) -> ModelError;

    /// A decoder for one streamed answer.
    fn stream(&self) -> Box<dyn StreamDecoder>;
}

/// Decodes one streamed answer. However the bytes are cut into pieces, the outcome is the same.
pub trait StreamDecoder: Send {
    /// Takes the next bytes and hands on what they add.
    ///
    /// # Errors
    /// When the server reports an error inside the stream or sends something that is no stream. Nothing may be pushed
    /// after that.
    fn push(&mut self, bytes: &[u8], deltas: &mut dyn FnMut(Delta)) -> Result<(), ModelError>;

    /// Whether the answer is complete, so that nothing more needs to be read.
    fn is_done(&self) -> bool;

    /// The answer as far as it has come, where no more of it is read; `None` if there is nothing of it.
    fn so_far(&mut self) -> Option<ModelReply>;

    /// The whole answer, when the bytes have ended.
    ///
    /// # Errors
    /// [`ModelErrorKind::StreamCut`](mainpath_types::ModelErrorKind) when they ended too early.
    fn finish(&mut self) -> Result<ModelReply, ModelError>;
}

/// The JSON around the message array's elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Up to the first element of the conversation. It ends in `[`, or in a comma when the format puts the system text
    /// into the same array.
    pub before: Vec<u8>,
    /// After the last element.
    pub after: Vec<u8>,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address.
    pub url: String,
    /// Headers besides the content type and the key.
    pub headers: Vec<(&'static str, String)>,
    /// How the key is sent, if the endpoint has one. The driver fills it in; a codec never sees a key.
    pub key: KeyHeader,
}

/// The header that carries a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHeader {
    /// The header's name, in lower case.
    pub name: &'static str,
    /// What stands before the key, such as `"Bearer "`.
    pub prefix: &'static str,
}

/// Splits a conversation into the groups that codecs encode: consecutive tool messages (all results of one turn) are one
/// group, every other message is its own.
pub fn groups(messages: &[Message]) -> impl Iterator<Item = &[Message]> {
    messages.chunk_by(|a, b| a.role == Role::Tool && b.role == Role::Tool)
}

/// The whole request body. What a caller with a cache puts together from its own segments has the same bytes.
pub fn encode(codec: &dyn Codec, request: &ModelRequest) -> Vec<u8> {
    let Frame { before: mut out, after } = codec.encode_frame(&request.head);
    let mut last = None;
    for group in groups(&request.messages) {
        let role = group.first().map(|message| message.role);
        if let Some(filler) = codec.between(last, role) {
            out.extend_from_slice(filler.as_bytes());
            out.push(b',');
        }
        codec.encode_group(group, &mut out);
        out.push(b',');
        last = role;
    }
    match codec.between(last, None) {
        Some(filler) => out.extend_from_slice(filler.as_bytes()),
        None if out.last() == Some(&b',') => drop(out.pop()),
        None => {}
    }
    out.extend_from_slice(&after);
    out
}

/// A call's id on the wire, such as `call_12_0`: letters, digits and underscores, at most 21 characters, which every
/// vendor accepts. It follows from the call's place in the trace, so a trace can change vendors.
pub fn wire_call_id(call: CallId) -> String {
    let mut id = String::with_capacity(21);
    id.push_str("call_");
    push_number(&mut id, call.seq.0);
    id.push('_');
    push_number(&mut id, call.index.into());
    id
}

/// Every message of a conversation has a call's id in it: this takes a third of the time of `format!`.
fn push_number(out: &mut String, number: u32) {
    let mut digits = [0; 10];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    digits[at..].iter().for_each(|digit| out.push(char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Neutral;
    use mainpath_types::{Part, Seq};

    fn message(seq: u32, role: Role) -> Message {
        Message { seq: Some(Seq(seq)), role, parts: vec![Part::text(seq.to_string())] }
    }

    #[test]
    fn the_results_of_one_turn_are_one_group_and_all_else_stands_alone() {
        use Role::*;
        let roles = [User, User, Assistant, Tool, Tool, Assistant, Tool, User];
        let messages: Vec<Message> = roles.iter().zip(1..).map(|(role, seq)| message(seq, *role)).collect();
        let sizes: Vec<usize> = groups(&messages).map(<[Message]>::len).collect();
        assert_eq!(sizes, [1, 1, 1, 2, 1, 1, 1]);
        assert_eq!(groups(&[]).count(), 0);
    }

    #[test]
    fn a_whole_body_is_its_pieces_joined_by_commas() {
        let messages = vec![message(1, Role::User), message(2, Role::Assistant)];
        let request = ModelRequest { head: RequestHead { model: "m".into(), ..Default::default() }, messages };
        let body: ModelRequest = {
            let value: serde_json::Value = serde_json::from_slice(&encode(&Neutral, &request)).unwrap();
            ModelRequest {
                head: serde_json::from_value(value["head"].clone()).unwrap(),
                messages: serde_json::from_value(value["messages"].clone()).unwrap(),
            }
        };
        assert_eq!(body, request);
    }

    #[test]
    fn a_call_id_is_its_place_in_the_trace() {
        assert_eq!(wire_call_id(CallId { seq: Seq(12), index: 0 }), "call_12_0");
        assert_eq!(wire_call_id(CallId { seq: Seq(u32::MAX), index: u16::MAX }).len(), 21);
    }
}
