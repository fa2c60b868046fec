//! Codecs, driver and scripted models from outside, against a real server on this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on must fail loudly")]

mod anthropic_any;
mod anthropic_codec;
mod anthropic_schema;
mod anthropic_stream;
mod cassettes;
mod chat_codec;
mod chat_errors;
mod chat_reasoning;
mod chat_stream;
mod conformance;
mod conversations;
mod driver;
mod gemini_codec;
mod gemini_driver;
mod gemini_errors;
mod gemini_property;
mod gemini_stream;
mod histories;
mod lives;
mod long_run;
mod names;
mod played;
mod recordings;
mod registry;
mod responses_codec;
mod responses_stream;
mod scripts;

use mainpath_types::{CallId, Message, Part, RequestHead, Role, Seq, ToolSpec};
use serde_json::json;

fn user(seq: u32, text: &str) -> Message {
    Message { seq: Some(Seq(seq)), role: Role::User, parts: vec![Part::text(text)] }
}

fn assistant(seq: u32, parts: Vec<Part>) -> Message {
    Message { seq: Some(Seq(seq)), role: Role::Assistant, parts }
}

fn call(name: &str, arguments: &str) -> Part {
    Part::ToolCall { name: name.into(), arguments: arguments.into(), signature: None }
}

fn result(seq: u32, (of, index): (u32, u16), text: &str) -> Message {
    let call = CallId { seq: Seq(of), index };
    let part = Part::ToolResult { call, name: "look".into(), content: vec![Part::text(text)], is_error: false };
    Message { seq: Some(Seq(seq)), role: Role::Tool, parts: vec![part] }
}

fn head(stream: bool) -> RequestHead {
    let tool = ToolSpec {
        name: "look".into(),
        description: "Looks.".into(),
        input_schema: json!({"type": "object", "properties": {"at": {"type": "string"}}}).into(),
        ..ToolSpec::default()
    };
    RequestHead {
        model: "m-1".into(),
        system: "Be brief.".into(),
        tools: vec![tool],
        temperature: Some(0.7),
        max_output: Some(99),
        effort: None,
        output_schema: None,
        stream,
    }
}
