//! Messages and their parts, in no vendor's format.

use crate::{BlobHash, CallId, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who speaks in a message. The system text is no message: it comes from the agent's spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person, a program, or Mainpath itself (injections, summaries).
    User,
    /// The model.
    Assistant,
    /// The result of one tool call.
    Tool,
}

/// One message as the packer hands it to a codec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Its number in the trace; what is rendered for one request only (a note at the tail) has none.
    pub seq: Option<Seq>,
    /// Who speaks.
    pub role: Role,
    /// What is said, in order. An assistant's tool calls are numbered by their order among its parts.
    pub parts: Vec<Part>,
}

/// A piece of content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// Text that is too long for the log and lies in a blob; a codec never sees it.
    StoredText {
        /// Which blob.
        hash: BlobHash,
        /// Its size in bytes.
        bytes: u64,
    },
    /// The model's reasoning, with what its vendor needs to accept it again.
    Thinking {
        /// Readable reasoning; may be empty.
        text: String,
        /// Opaque to everyone but the vendor that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Signature>,
    },
    /// A picture.
    Image {
        /// Where its bytes are.
        source: Source,
    },
    /// Sound.
    Audio {
        /// Where its bytes are.
        source: Source,
    },
    /// A document such as a PDF.
    Document {
        /// Where its bytes are.
        source: Source,
        /// A name to show.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// How many pages it has, where that was counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pages: Option<u32>,
    },
    /// The model asks for a tool. Its id is ([`Message::seq`], place among the message's calls).
    ToolCall {
        /// The tool's name as the model wrote it.
        name: String,
        /// The arguments as the model wrote them: JSON text, valid or not.
        arguments: String,
        /// Opaque to everyone but the vendor that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Signature>,
    },
    /// What became of a call.
    ToolResult {
        /// The call.
        call: CallId,
        /// The tool's name, for vendors that match by name.
        name: String,
        /// What the model sees.
        content: Vec<Part>,
        /// True unless the call succeeded.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Part {
        Part::Text { text: text.into() }
    }
}

/// A call as the model wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenCall<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// The arguments: JSON text, valid or not.
    pub arguments: &'a str,
}

/// The calls among the parts of a message, in order.
pub fn written_calls(parts: &[Part]) -> impl Iterator<Item = WrittenCall<'_>> {
    parts.iter().filter_map(|part| match part {
        Part::ToolCall { name, arguments, .. } => Some(WrittenCall { name, arguments }),
        _ => None,
    })
}

/// Text longer than this, in bytes, lies in a blob.
pub const BLOB_FROM: usize = 16 * 1024;

/// The texts of the parts that are text, one after the other, a line break between two.
pub fn text_of(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| if let Part::Text { text } = part { Some(text.as_str()) } else { None })
        .collect();
    texts.join("\n")
}

/// What a JSON value is, for people and models: `a string`, `an object`.
pub fn json_kind(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "a boolean",
        serde_json::Value::Number(_) => "a number",
        serde_json::Value::String(_) => "a string",
        serde_json::Value::Array(_) => "an array",
        serde_json::Value::Object(_) => "an object",
    }
}

/// An opaque value that a vendor wants back byte for byte, and that no other vendor may see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signature {
    /// Who made it and alone may see it: a vendor such as `anthropic`, or a wire format and a server such as
    /// `gemini-compatible@127.0.0.1:8080`.
    pub issuer: String,
    /// The value as it came.
    pub value: String,
}

/// Where the bytes of a picture, sound or document are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// In a blob of this trace.
    Blob {
        /// Which one.
        hash: BlobHash,
        /// Its media type, such as `image/png`.
        media_type: String,
    },
    /// At an address that the vendor fetches.
    Url {
        /// The address.
        url: String,
    },
    /// Here, as base64.
    Base64 {
        /// The bytes.
        data: String,
        /// Their media type.
        media_type: String,
    },
}
