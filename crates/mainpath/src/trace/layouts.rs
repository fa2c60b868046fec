//! A trace as folders of files, in the layouts of other platforms.

use super::branches::{branches, main_path};
use super::export::Export;
use crate::Error;
use crate::text::short;
use mainpath_core::{Bodies, NodeKind, reopened_text, result_in_words, result_text, serves};
use mainpath_runtime::artifacts::{self, ArtifactFile};
use mainpath_runtime::{Hydrated, views};
use mainpath_store::{create_private, put_private};
use mainpath_types::{
    BlobHash, CallId, CallResolved, EventKind, Micros, Part, Seq, Usage, WrittenCall, format_time, text_of,
    written_calls,
};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Which of a trace's messages are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// Also those on side branches, and those that were gone back from.
    pub with_all: bool,
    /// Those after this one. 0: from the first on.
    pub after: Seq,
    /// At most so many.
    pub most: usize,
}

impl Default for MessagePart {
    /// All of the main path.
    fn default() -> MessagePart {
        MessagePart { with_all: false, after: Seq(0), most: usize::MAX }
    }
}

impl Export<'_> {
    /// `.agent/runs/<id>/…`, as the skills agent lays out a run: a folder named like the trace, below this one. Gives it. Errors: it is
    /// there already, or something cannot be read or written.
    pub async fn agent_run(&self, below: &Path) -> Result<PathBuf, Error> {
        let folder = self.folder(below)?;
        let lines: String = self.wire().iter().map(|line| format!("{line}\n")).collect();
        put(&folder.join("events.jsonl"), lines.as_bytes())?;
        // What `wire.jsonl` has is `events.jsonl` in this layout.
        for (name, bytes) in self.views().await?.iter().filter(|(name, _)| *name != "wire.jsonl") {
            put(&folder.join(name), bytes)?;
        }
        // Made even where they are empty: who reads the layout expects them.
        for name in ["artifacts", "observations"] {
            create_private(&folder.join(name))?;
        }
        for event in &self.of.log.events {
            let EventKind::CallResolved(CallResolved { output: Some(output), .. }) = &event.kind else { continue };
            for part in &output.content {
                if let Part::StoredText { hash, .. } = part {
                    self.blob(hash, &folder.join("observations").join(format!("{hash}.txt"))).await?;
                }
            }
        }
        for ArtifactFile { artifact, file, .. } in artifacts::list(&self.of.log.events) {
            self.blob(&artifact.hash, &folder.join(file)).await?;
        }
        Ok(folder)
    }

    /// `.trace/<id>/…`, as the trace platform lays out a trace: a folder named like the trace, below this one. Gives it. Errors: as
    /// [`Export::agent_run`]'s.
    pub async fn trace_dir(&self, below: &Path) -> Result<PathBuf, Error> {
        let folder = self.folder(below)?;
        let is_listed = |line: &Value| {
            let kind = line.get("type").and_then(Value::as_str).unwrap_or_default();
            matches!(kind, "goal_added" | "goal_updated" | "sub_trace_started" | "sub_trace_completed" | "rewound")
        };
        // Several of these may come from one event of the log, so they have numbers of their own.
        let events = (1u64..).zip(self.wire().into_iter().filter(is_listed)).map(|(number, line)| {
            json!({
                "event_id": number, "event": line.get("type"), "timestamp": line.get("ts"), "data": line.get("data"),
                "log_event_id": line.get("id"),
            })
        });
        let lines: Vec<String> = events.map(|line| format!("{line}\n")).collect();
        put(&folder.join("events.jsonl"), lines.concat().as_bytes())?;
        for (name, bytes) in self.views().await? {
            match name {
                "goal.json" => put(&folder.join(name), &bytes)?,
                "meta.json" => {
                    let mut meta: Value = serde_json::from_slice(&bytes).unwrap_or_default();
                    meta["last_event_id"] = lines.len().into();
                    put(&folder.join(name), format!("{meta:#}\n").as_bytes())?;
                }
                _ => {}
            }
        }
        create_private(&folder.join("messages"))?;
        for message in self.rows(MessagePart { with_all: true, ..MessagePart::default() }).await? {
            let name = message.get("message_id").and_then(Value::as_str).unwrap_or_default();
            put(
                &folder.join("messages").join(format!("{name}.json")),
                format!("{:#}\n", Value::Object(message)).as_bytes(),
            )?;
        }
        Ok(folder)
    }

    /// Messages in the order of their numbers, as the trace platform has them. Errors: a text cannot be read.
    pub async fn rows(&self, part: MessagePart) -> Result<Vec<Map<String, Value>>, Error> {
        let MessagePart { with_all, after, most } = part;
        let (tree, path) = (&self.of.state.tree, main_path(&self.of.state.tree));
        let mut messages = Vec::new();
        let branches = branches(self.of.trace, &self.of.log.events);
        for (seq, node) in tree.iter().filter(|(seq, _)| *seq > after && (with_all || path.contains(seq))) {
            if messages.len() >= most {
                break;
            }
            let mut whole = Hydrated::with_lines(self.of.bodies);
            whole.load(self.of.at().scoped(), node.event).await?;
            let Some(message) = whole.get(node.event).and_then(|kind| self.message(seq, node.kind, kind)) else {
                continue;
            };
            let id = format!("{}-{:04}", self.of.trace, seq.0);
            let events = &self.of.log.events;
            let at = events.binary_search_by_key(&node.event, |event| event.id).ok();
            let at = at.and_then(|at| events.get(at)).map(|event| format_time(event.ts));
            let mut fields = json!({
                "message_id": id, "trace_id": self.of.trace, "sequence": seq, "parent_sequence": node.parent,
                "goal_id": serves(self.of.state, seq).map(|goal| goal.0.to_string()), "created_at": at,
            });
            if let Some(branch) = branches.get(&seq) {
                fields["branch_type"] = json!(branch.kind);
                fields["branch_id"] = branch.id.clone().into();
            }
            if let Some(elapsed) = self.elapsed(seq) {
                fields["duration_ms"] = elapsed.into();
            }
            if let (Value::Object(mut fields), Value::Object(message)) = (fields, message) {
                let described = described(&message);
                fields.extend(message);
                fields.insert("description".into(), described.into());
                messages.push(fields);
            }
        }
        Ok(messages)
    }

    /// A message as the trace platform keeps it.
    fn message(&self, seq: Seq, node: NodeKind, kind: &EventKind) -> Option<Value> {
        let user = |parts: &[Part]| Some(json!({"role": "user", "content": text_of(parts)}));
        let assistant = |parts: &[Part], cost: Micros, usage: &Usage| {
            let calls: Vec<Value> = calls(seq, parts);
            Some(json!({
                "role": "assistant", "content": {"text": text_of(parts), "tool_calls": calls},
                "prompt_tokens": usage.input, "completion_tokens": usage.output, "cost": views::dollars(cost),
                "finish_reason": if calls.is_empty() { "stop" } else { "tool_calls" },
            }))
        };
        let result = |call: CallId, text: String| {
            let name = self.of.state.calls.get(call).and_then(|call| call.tool.clone());
            if self.of.state.tree.node(call.seq).is_some_and(|node| node.kind == NodeKind::User) {
                let content = vec![Part::text(text)];
                return user(&result_in_words(seq, name.as_deref().unwrap_or("a tool"), content).parts);
            }
            Some(json!({
                "role": "tool", "tool_call_id": format!("call_{}_{}", call.seq, call.index),
                "content": {"tool_name": name.as_deref(), "result": text},
            }))
        };
        match (node, kind) {
            (NodeKind::User, EventKind::MessageQueued(data)) => user(&data.parts),
            (NodeKind::User, EventKind::RewindRequested(data)) => user(data.parts.as_deref().unwrap_or_default()),
            (NodeKind::User, EventKind::MessageImported(data)) => user(&data.said()),
            (NodeKind::User, EventKind::CallReopened(data)) => {
                user(&[Part::text(reopened_text(self.of.state, self.of.bodies, data)?)])
            }
            (NodeKind::Assistant { .. }, EventKind::ModelFinished(data)) => {
                assistant(&data.parts, data.cost, &data.usage)
            }
            (NodeKind::Assistant { .. }, EventKind::MessageImported(data)) => {
                assistant(&data.said(), 0, &Usage::default())
            }
            (NodeKind::Malformed, EventKind::ModelMalformed(data)) => assistant(&data.parts, data.cost, &data.usage),
            (NodeKind::Result(call), EventKind::CallResolved(data)) => result(call, text_of(&result_text(data))),
            (NodeKind::Result(call), EventKind::MessageImported(data)) => {
                result(call, data.result(call.index).map(|(content, _)| text_of(content)).unwrap_or_default())
            }
            (NodeKind::Result(call), EventKind::ModelFinished(data)) => result(
                call,
                data.call(call.index)?.planned.ended().map(|(_, text)| text.to_string()).unwrap_or_default(),
            ),
            _ => None,
        }
    }

    async fn blob(&self, hash: &BlobHash, file: &Path) -> Result<(), Error> {
        put(file, &self.of.at().scoped().get_blob(hash).await?)
    }

    /// The new folder of this trace below another one. Errors: it is there already.
    fn folder(&self, below: &Path) -> Result<PathBuf, Error> {
        let folder = below.join(self.of.trace.as_str());
        if folder.exists() {
            let wrong = format!("{} already exists; remove it, or export to another folder", folder.display());
            return Err(Error::invalid(wrong));
        }
        Ok(folder)
    }
}

/// What a message is about, in a line.
fn described(message: &serde_json::Map<String, Value>) -> String {
    let content = message.get("content");
    let field = |name: &str| content.and_then(|content| content.get(name)).and_then(Value::as_str);
    let text = content.and_then(Value::as_str).or(field("text")).filter(|text| !text.trim().is_empty());
    let calls = || {
        let calls = content?.get("tool_calls")?.as_array()?;
        let names: Vec<&str> = calls.iter().filter_map(|call| call["function"]["name"].as_str()).collect();
        (!names.is_empty()).then(|| format!("calls {}", names.join(", ")))
    };
    let result = || field("tool_name").map(|tool| format!("result of {tool}"));
    short(&text.map(String::from).or_else(calls).or_else(result).unwrap_or_default(), 120)
}

fn calls(seq: Seq, parts: &[Part]) -> Vec<Value> {
    let call = |(index, WrittenCall { name, arguments }): (usize, WrittenCall<'_>)| json!({"id": format!("call_{seq}_{index}"), "type": "function", "function": {"name": name, "arguments": arguments}});
    written_calls(parts).enumerate().map(call).collect()
}

fn put(file: &Path, bytes: &[u8]) -> Result<(), Error> {
    put_private(file, bytes)
        .map_err(|error| Error::of_io(&error, format!("{} cannot be written: {error}", file.display())))
}
