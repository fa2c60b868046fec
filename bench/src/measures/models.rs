//! What a model costs on the way: encoding its request, and passing on the pieces of its answer.

use super::alone;
use crate::Fail;
use crate::agent::{Agents, text};
use crate::process::{cpu, folder, now};
use crate::server::{Plan, Server};
use crate::stats::median;
use crate::table::Row;
use mainpath_providers::{Anthropic, Codec, Gemini, OpenAiChat, OpenAiResponses, Quirks, encode};
use mainpath_types::{CallId, Message, ModelRequest, Part, RequestHead, Role, Seq};
use serde_json::{Value, json};
use std::hint::black_box;

/// A conversation of so many messages: a task, then answers with a call and its result.
fn conversation(count: u32) -> ModelRequest {
    let message = |seq: u32| {
        let (role, part) = match seq % 2 {
            _ if seq == 1 => (Role::User, Part::text(text(200))),
            0 => {
                let arguments = json!({"path": "src/main.rs", "limit": seq}).to_string();
                (Role::Assistant, Part::ToolCall { name: "look".into(), arguments, signature: None })
            }
            _ => {
                let call = CallId { seq: Seq(seq - 1), index: 0 };
                let content = vec![Part::text(text(600))];
                (Role::Tool, Part::ToolResult { call, name: "look".into(), content, is_error: false })
            }
        };
        let mut parts = vec![part];
        if role == Role::Assistant {
            parts.insert(0, Part::text(text(120)));
        }
        Message { seq: Some(Seq(seq)), role, parts }
    };
    let head = RequestHead { model: "m".into(), system: text(2_000), stream: true, ..RequestHead::default() };
    ModelRequest { head, messages: (1..=count).map(message).collect() }
}

/// 1,000 messages in each format, against serde's writing of the same JSON.
pub fn encoding(quick: bool) -> Result<Vec<Row>, Fail> {
    let tries = if quick { 20 } else { 200 };
    let request = conversation(1_000);
    let quirks = Quirks::default();
    let codecs: [Box<dyn Codec>; 4] = [
        Box::new(OpenAiChat::new(quirks, "bench")),
        Box::new(OpenAiResponses::new(quirks, "bench")),
        Box::new(Anthropic::new(quirks, "bench")),
        Box::new(Gemini::new(quirks, "bench")),
    ];
    let mut rows = Vec::new();
    for codec in codecs {
        let body = encode(&*codec, &request);
        let value: Value = serde_json::from_slice(&body)?;
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..tries {
            let began = now();
            black_box(encode(&*codec, black_box(&request)));
            let between = now();
            black_box(serde_json::to_vec(black_box(&value))?);
            floor.push((now() - between) as f64);
            ours.push((between - began) as f64);
        }
        let (ours, floor) = (median(&ours), median(&floor));
        let what = format!("a request of 1,000 messages ({:.0} kB) as {}", body.len() as f64 / 1e3, codec.format());
        let measured = format!("{:.2} x ({:.2} ms)", ours / floor, ours / 1e6);
        rows.push(Row::goal(&what, "<= 1.3 x serde", measured, ours <= 1.3 * floor).ratio(ours / floor));
    }
    Ok(rows)
}

/// A long streamed answer with a watcher, beyond what a short one costs, by its pieces of 24 bytes.
pub fn deltas(quick: bool) -> Result<Vec<Row>, Fail> {
    let pieces: u32 = if quick { 5_000 } else { 20_000 };
    let (server, folder, tokio) = (Server::start()?, folder()?, alone()?);
    let (each, seen) = tokio.block_on(async {
        let agents = Agents::new(folder.path())?;
        let mut costs = Vec::new();
        let mut seen = 0;
        for n in 0..5 {
            let mut spent = [0; 2];
            for (say, spent) in [60, pieces * 24].into_iter().zip(&mut spent) {
                let name = format!("deltas-{n}-{say}");
                let spec = agents.spec(&server, Plan { say, ..Plan::turns(0) });
                let worked = cpu();
                seen = agents.watched(spec, &name).await?;
                *spent = cpu() - worked;
            }
            costs.push(spent[1].saturating_sub(spent[0]) as f64 / f64::from(pieces));
        }
        Ok::<_, Fail>((median(&costs), seen))
    })?;
    // All pieces come at once here; a watcher that falls behind skips some by design.
    let measured = format!("{:.2} us ({seen} of {pieces} seen)", each / 1e3);
    Ok(vec![Row::goal(
        "a streamed piece from the socket to a watcher, processor time",
        "<= 2 us",
        measured,
        each <= 2_000.0,
    )])
}
