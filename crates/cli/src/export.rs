//! `export`: a trace for people and for other programs.

use crate::allow::why;
use crate::args::{ExportArg, ExportArgs, MessagesArg};
use crate::asked::asked;
use crate::branches::branches;
use crate::browse::out;
use crate::exit::logs;
use crate::exit::{Exit, Failure};
use crate::say::{foreign, readable};
use crate::session::messages;
use crate::text::{gist, short, span};
use mainpath::Logs;
use mainpath_core::{Bodies, Log, NodeKind, State, reopened_text, result_in_words, result_text, serves};
use mainpath_providers::history::write;
use mainpath_runtime::artifacts::{self, Kept};
use mainpath_runtime::import::Extent;
use mainpath_runtime::{Whole, views, wire::Projector};
use mainpath_store::{ReadLog, Store};
use mainpath_types::*;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// `mainpath export`
pub async fn export(args: ExportArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find(args.trace.as_deref()).await?;
    let (log, state, bodies) = logs.read(&trace).await?;
    if let Some(damage) = &log.damage {
        eprintln!("! the log is damaged: {damage}; what follows is not exported");
    }
    if let Some(torn) = logs.torn(&trace, &log) {
        eprintln!("! {torn}: not exported");
    }
    let extent = if args.shown { Extent::Shown } else { Extent::Said };
    if args.shown && matches!(args.format, ExportArg::AgentRun | ExportArg::TraceDir) {
        return Err(Failure::usage(
            "--shown works with conversation formats; agent-run and trace-dir always export everything",
        ));
    }
    let one = Export { logs: &logs, trace: &trace, log: &log, state: &state, bodies: &bodies, extent };
    let format = |format: MessagesArg| async move {
        Ok::<_, Failure>(
            String::from_utf8_lossy(&write(format.into(), &messages(one.logs, one.trace, one.extent).await?))
                .into_owned(),
        )
    };
    let text = match args.format {
        ExportArg::Markdown => readable(&one.markdown().await?).into_owned(),
        ExportArg::Json => format!("{:#}\n", one.whole().await?),
        ExportArg::Neutral => one.neutral().await?,
        ExportArg::Openai => format(MessagesArg::Openai).await?,
        ExportArg::Anthropic => format(MessagesArg::Anthropic).await?,
        ExportArg::Gemini => format(MessagesArg::Gemini).await?,
        ExportArg::AgentRun => return one.agent_run(args.out.as_deref()).await,
        ExportArg::TraceDir => return one.trace_dir(args.out.as_deref()).await,
    };
    match &args.out {
        None => out(&foreign(text.trim_end()))?,
        Some(file) => put(file, text.as_bytes())?,
    }
    Ok(Exit::Ok)
}

#[derive(Clone, Copy)]
struct Export<'a> {
    logs: &'a Logs,
    trace: &'a TraceId,
    log: &'a ReadLog,
    state: &'a State,
    bodies: &'a Log,
    extent: Extent,
}

impl Export<'_> {
    fn wire(&self) -> Vec<Value> {
        let mut projector = Projector::new(self.trace.clone());
        self.log.events.iter().flat_map(|event| projector.project(event)).collect()
    }

    async fn views(&self) -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
        Ok(views::build_with_lines(&*self.logs.store, &self.logs.scope, self.trace, &self.log.events).await?)
    }

    /// Mainpath's own messages, one a line.
    async fn neutral(&self) -> Result<String, Failure> {
        let lines: Vec<String> = self.messages().await?.iter().map(Value::to_string).collect();
        Ok(format!("[\n{}\n]\n", lines.join(",\n")))
    }

    /// The messages, those of the model and of tools with the time that they took.
    async fn messages(&self) -> Result<Vec<Value>, Failure> {
        let timed = |message: Message| {
            let mut fields = json!(message);
            if let Some(elapsed) = message.seq.and_then(|seq| self.elapsed(seq)) {
                fields["duration_ms"] = elapsed.into();
            }
            fields
        };
        Ok(messages(self.logs, self.trace, self.extent).await?.into_iter().map(timed).collect())
    }

    /// How long the model took for a message, or a tool; nothing for one that was said or came from elsewhere.
    fn elapsed(&self, seq: Seq) -> Option<Millis> {
        let node = self.state.tree.node(seq)?;
        match (node.kind, self.bodies.get(node.event)?) {
            (NodeKind::Assistant { .. }, EventKind::ModelFinished(data)) => Some(data.elapsed_ms),
            (NodeKind::Malformed, EventKind::ModelMalformed(data)) => Some(data.elapsed_ms),
            // A call that never ran took no time.
            (NodeKind::Result(_), EventKind::CallResolved(data)) if data.attempt == 0 => Some(0),
            (NodeKind::Result(_), EventKind::CallResolved(data)) => data.ran_ms(),
            (NodeKind::Result(_), EventKind::ModelFinished(_)) => Some(0),
            _ => None,
        }
    }

    async fn whole(&self) -> Result<Value, Failure> {
        let mut all = json!({"messages": self.messages().await?, "events": self.wire()});
        for (name, bytes) in self.views().await? {
            if let (Some(name), Ok(value)) = (name.strip_suffix(".json"), serde_json::from_slice::<Value>(&bytes)) {
                let field = if name == "meta" { "trace" } else { name };
                all.as_object_mut().map(|all| all.insert(field.into(), value));
            }
        }
        Ok(all)
    }

    async fn markdown(&self) -> Result<String, Failure> {
        let mut text = format!("# {}\n", self.trace);
        for message in messages(self.logs, self.trace, self.extent).await? {
            let number = message.seq.map(|seq| format!(" #{seq}")).unwrap_or_default();
            let elapsed = message.seq.filter(|_| message.role == Role::Tool).and_then(|seq| self.elapsed(seq));
            let time = elapsed.map(|ms| format!(" ({})", span(ms))).unwrap_or_default();
            let who = match message.role {
                Role::User => "User",
                Role::Assistant => "Assistant",
                Role::Tool => "Result",
            };
            let _ = writeln!(text, "\n## {who}{number}{time}");
            message.parts.iter().for_each(|part| markdown(part, &mut text));
        }
        for asked in asked(self.logs, self.state, self.bodies).await? {
            let _ =
                writeln!(text, "\n## Undecided\n\n{}\n\n{}", asked.line(self.trace), fenced(&asked.whole.join("\n")));
            if let Some(verdict) = &asked.verdict {
                let _ = writeln!(text, "\n{}", why(verdict));
            }
        }
        if let Some(end) = views::ending(&*self.logs.store, &self.logs.scope, self.state, self.bodies).await?
            && end.reason != FinishReason::Final
        {
            let _ = writeln!(text, "\n---\n\n{}", end.answer.trim());
        }
        Ok(text)
    }

    /// `.agent/runs/<id>/…`, as the skills agent lays out a run.
    async fn agent_run(&self, out_dir: Option<&Path>) -> Result<Exit, Failure> {
        let folder = self.folder(out_dir, ".agent/runs")?;
        let lines: String = self.wire().iter().map(|line| format!("{line}\n")).collect();
        put(&folder.join("events.jsonl"), lines.as_bytes())?;
        // What `wire.jsonl` has is `events.jsonl` in this layout.
        for (name, bytes) in self.views().await?.iter().filter(|(name, _)| *name != "wire.jsonl") {
            put(&folder.join(name), bytes)?;
        }
        // Made even where they are empty: who reads the layout expects them.
        for name in ["artifacts", "observations"] {
            std::fs::create_dir_all(folder.join(name))?;
        }
        for event in &self.log.events {
            let EventKind::CallResolved(CallResolved { output: Some(output), .. }) = &event.kind else { continue };
            for part in &output.content {
                if let Part::StoredText { hash, .. } = part {
                    self.blob(hash, &folder.join("observations").join(format!("{hash}.txt"))).await?;
                }
            }
        }
        for Kept { artifact, file, .. } in artifacts::list(&self.log.events) {
            self.blob(&artifact.hash, &folder.join(file)).await?;
        }
        done(&folder)
    }

    /// `.trace/<id>/…`, as the trace platform lays out a trace.
    async fn trace_dir(&self, out_dir: Option<&Path>) -> Result<Exit, Failure> {
        let folder = self.folder(out_dir, ".trace")?;
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
        std::fs::create_dir_all(folder.join("messages"))?;
        let branches = branches(self.trace, &self.log.events);
        for (seq, node) in self.state.tree.iter() {
            let mut whole = Whole::with_lines(self.bodies);
            whole.load(&*self.logs.store, &self.logs.scope, node.event).await?;
            let Some(message) = whole.get(node.event).and_then(|kind| self.message(seq, node.kind, kind)) else {
                continue;
            };
            let id = format!("{}-{:04}", self.trace, seq.0);
            let at = self.log.events.iter().find(|event| event.id == node.event).map(|event| format_time(event.ts));
            let mut fields = json!({
                "message_id": id, "trace_id": self.trace, "sequence": seq, "parent_sequence": node.parent,
                "goal_id": serves(self.state, seq).map(|goal| goal.0.to_string()), "created_at": at,
            });
            if let Some(branch) = branches.get(&seq) {
                fields["branch_type"] = branch.kind.into();
                fields["branch_id"] = branch.id.clone().into();
            }
            if let Some(elapsed) = self.elapsed(seq) {
                fields["duration_ms"] = elapsed.into();
            }
            if let (Some(fields), Value::Object(message)) = (fields.as_object_mut(), message) {
                let described = described(&message);
                fields.extend(message);
                fields.insert("description".into(), described.into());
            }
            put(&folder.join("messages").join(format!("{id}.json")), format!("{fields:#}\n").as_bytes())?;
        }
        done(&folder)
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
            let name = self.state.calls.get(call).and_then(|call| call.tool.clone());
            if self.state.tree.node(call.seq).is_some_and(|node| node.kind == NodeKind::User) {
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
                user(&[Part::text(reopened_text(self.state, self.bodies, data)?)])
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

    async fn blob(&self, hash: &BlobHash, file: &Path) -> Result<(), Failure> {
        put(file, &self.logs.store.get_blob(&self.logs.scope, hash).await?)
    }

    /// The new folder of this trace below another one. Errors: it is there already.
    fn folder(&self, out_dir: Option<&Path>, usual: &str) -> Result<PathBuf, Failure> {
        let folder = out_dir.unwrap_or(Path::new(usual)).join(self.trace.as_str());
        if folder.exists() {
            return Err(Failure::usage(format!(
                "{} already exists; remove it, or export elsewhere with --out",
                folder.display()
            )));
        }
        Ok(folder)
    }
}

fn done(folder: &Path) -> Result<Exit, Failure> {
    out(&folder.display().to_string()).map(|()| Exit::Ok)
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

fn markdown(part: &Part, text: &mut String) {
    let _ = match part {
        Part::Text { text: said } => writeln!(text, "\n{}", said.trim_end()),
        Part::Thinking { text: thought, .. } if thought.trim().is_empty() => Ok(()),
        Part::Thinking { text: thought, .. } => writeln!(text, "\n> {}", thought.trim().replace('\n', "\n> ")),
        Part::ToolCall { name, arguments, .. } if arguments.len() < 400 => writeln!(text, "\n→ `{name}` `{arguments}`"),
        Part::ToolCall { name, arguments, .. } => {
            writeln!(text, "\n→ `{name}` {}\n{}", gist(arguments), fenced(arguments))
        }
        Part::ToolResult { name, content, is_error, .. } => {
            let failed = if *is_error { " (failed)" } else { "" };
            writeln!(text, "\n`{name}`{failed}\n\n{}", fenced(&text_of(content)))
        }
        Part::Image { source } => writeln!(text, "\n[image: {}]", what(source)),
        Part::Audio { source } => writeln!(text, "\n[sound: {}]", what(source)),
        Part::Document { source, name, .. } => {
            writeln!(text, "\n[document {}: {}]", name.as_deref().unwrap_or_default(), what(source))
        }
        Part::StoredText { bytes, .. } => writeln!(text, "\n[{bytes} bytes that are not at hand]"),
    };
}

fn what(source: &Source) -> &str {
    match source {
        Source::Url { url } => url,
        Source::Blob { media_type, .. } | Source::Base64 { media_type, .. } => media_type,
    }
}

/// A text in a fence that nothing in it can end.
fn fenced(text: &str) -> String {
    let longest = text.lines().map(|line| line.chars().take_while(|c| *c == '`').count()).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

fn put(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let write = || {
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, bytes)
    };
    write().map_err(|error: std::io::Error| Failure::error(format!("{} cannot be written: {error}", file.display())))
}
