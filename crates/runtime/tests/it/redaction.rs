//! Secrets of every kind, planted wherever text enters a run, are in no byte that was written, sent or shown.

use crate::support::*;
use fastrand::Rng;
use mainpath_runtime::wire::Projector;
use mainpath_runtime::*;
use mainpath_store::TraceStore;
use mainpath_testkit::model_server::{Answer, Behaviour, ModelServer, Reply};
use mainpath_testkit::secrets::samples;
use mainpath_tools::{Fut, Tool, ToolContext, ToolDoc, Tools};
use mainpath_types::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

const NAMED: &str = "hunter2hunter2";
/// The value at a configured place, which looks like nothing.
const PIN: &str = "nine one eight two seven";
/// What an expression of the configuration finds.
const OWN: &str = "case<4711>closed";

/// What is planted, and the pieces of it that must be nowhere.
struct Plant {
    text: String,
    traces: Vec<String>,
}

fn plant(seed: u64) -> Plant {
    let samples = samples(seed);
    let mut text: String = samples.iter().map(|sample| format!("{}\n", sample.text)).collect();
    text.push_str(&format!("{NAMED} and {OWN}\n"));
    let secrets = samples.into_iter().flat_map(|sample| sample.secret).chain([NAMED.into(), OWN.into(), PIN.into()]);
    // The halves too: a cut may fall anywhere.
    let traces = secrets.flat_map(|secret: String| {
        let (first, second) = secret.split_at(secret.len() / 2);
        [first.to_string(), second.to_string()]
    });
    // What a prefix alone is, is no secret.
    Plant { text, traces: traces.filter(|trace| trace.len() > 5).collect() }
}

impl Plant {
    #[track_caller]
    fn is_not_in(&self, place: &str, text: &str) {
        for trace in &self.traces {
            let Some(at) = text.find(trace.as_str()) else { continue };
            let around: String = text[..at].chars().rev().take(90).collect::<Vec<_>>().into_iter().rev().collect();
            panic!("{trace} is in {place}, after {around:?}");
        }
    }
}

/// The text in pieces of any size.
fn cut(rng: &mut Rng, text: &str) -> Vec<String> {
    let mut left: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
    while !left.is_empty() {
        let rest = left.split_off(rng.usize(1..=left.len().min(60)));
        pieces.push(std::mem::replace(&mut left, rest).into_iter().collect());
    }
    pieces
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what comes in does not matter")]
struct Args {
    key: String,
    pin: Option<String>,
}

/// Says all that was planted, in every way that a tool can speak.
struct Spill(Arc<Plant>, u64);

impl Tool for Spill {
    type Args = Args;
    const NAME: &'static str = "spill";

    fn describe(&self) -> ToolDoc {
        ToolDoc::new("a tool of the tests", EffectClass::ReadOnly)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, _: Args) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let Plant { text, .. } = &*self.0;
            for piece in cut(&mut Rng::with_seed(self.1), text) {
                (ctx.progress)(&piece);
                tokio::task::yield_now().await;
            }
            let hash = ctx.blobs.put(text.clone().into_bytes()).await.unwrap();
            let artifact =
                Artifact { name: format!("of {NAMED}"), hash, bytes: 1, media_type: format!("text/{NAMED}") };
            ToolOutput {
                error: Some(NAMED.into()),
                title: Some(text.clone()),
                long_term_memory: Some(text.clone()),
                artifacts: vec![artifact],
                content: vec![Part::text(text), Part::text(json!({"a": [{"pin": PIN}], "b": text}).to_string())],
                ..ToolOutput::default()
            }
        })
    }
}

/// Speaks JSON in pieces, then breaks down with all that was planted on its lips.
struct Burst(Arc<Plant>, u64);

impl Tool for Burst {
    type Args = Args;
    const NAME: &'static str = "burst";

    fn describe(&self) -> ToolDoc {
        ToolDoc::new("a tool of the tests", EffectClass::ReadOnly)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, _: Args) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let lines = json!({"pin": PIN, "b": self.0.text}).to_string();
            cut(&mut Rng::with_seed(self.1), &lines).iter().for_each(|piece| (ctx.progress)(piece));
            panic!("{}", self.0.text)
        })
    }
}

/// A whole response that streams these deltas.
fn stream(deltas: impl IntoIterator<Item = Value>, reason: &str) -> Reply {
    let mut body = String::from("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    let last = [(json!({}), json!(reason))];
    for (delta, reason) in deltas.into_iter().map(|delta| (delta, Value::Null)).chain(last) {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let chunk =
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]});
        body.push_str(&format!("data: {chunk}\n\n"));
    }
    body.push_str("data: [DONE]\n\n");
    Reply::Garbage(body.into_bytes())
}

/// The deltas of calls, cut anywhere, the pieces of all calls in turn.
fn calls(rng: &mut Rng, calls: &[(&str, String)]) -> Vec<Value> {
    let delta = |index: usize, call: Value| json!({"tool_calls": [{"index": index, "function": call}]});
    let mut deltas: Vec<Value> = Vec::new();
    for (index, (name, _)) in calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": ""});
        deltas.push(json!({"tool_calls": [{"index": index, "id": format!("c{index}"), "type": "function", "function": function}]}));
    }
    let mut left: Vec<_> = calls.iter().map(|(_, arguments)| cut(rng, arguments).into_iter()).collect();
    while left.iter().any(|pieces| pieces.len() > 0) {
        let index = rng.usize(..left.len());
        deltas.extend(left[index].next().map(|piece| delta(index, json!({"arguments": piece}))));
    }
    deltas
}

/// What the model does, request by request.
fn replies(plant: &Plant, rng: &mut Rng) -> Vec<Reply> {
    let text = &plant.text;
    let said = |rng: &mut Rng, field: &str| {
        cut(rng, text).into_iter().map(|piece| json!({ (field): piece })).collect::<Vec<_>>()
    };
    let escaped: String = NAMED.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let spill = json!({"key": text, "pin": PIN}).to_string();
    let spell = format!("{{\"key\":\"{escaped}\"}}");
    let read = |more: Value| {
        let mut arguments = json!({"path": "all.txt"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("read_text_file", arguments.to_string())
    };
    let mut first = said(rng, "reasoning_content");
    first.extend(said(rng, "content"));
    first.extend(calls(rng, &[("spill", spill), ("spill", spell)]));
    // Parts of a key block, a file that is written, arguments that are no arguments, and a tool of no name.
    let lines = text.lines().count();
    let mut reads: Vec<(&str, String)> =
        (0..6).map(|_| read(json!({"offset": rng.usize(1..lines), "limit": rng.usize(1..9)}))).collect();
    reads.push(read(json!({})));
    reads.push(("write_text_file", json!({"path": "copy.txt", "content": text}).to_string()));
    reads.push(("spill", json!({"key": [text], "other": text}).to_string()));
    reads.push(("spill", format!("{{\"key\": {text}")));
    let odd = plant.traces[0].clone() + &plant.traces[1];
    let second = calls(rng, &reads);
    let third = calls(rng, &[(odd.as_str(), "{}".into()), ("burst", json!({"key": ""}).to_string())]);
    vec![
        stream(first, "tool_calls"),
        Reply::Error { status: 500, headers: Vec::new(), body: json!({"error": {"message": text}}).to_string() },
        stream(second, "tool_calls"),
        stream(third, "tool_calls"),
        stream(said(rng, "content"), "stop"),
    ]
}

/// Every file below a folder, name and bytes.
fn each_file(folder: &Path, see: &mut dyn FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => each_file(&path, see),
            false => see(&path, &String::from_utf8_lossy(&std::fs::read(&path).unwrap())),
        }
    }
}

async fn nothing_gets_out(seed: u64) {
    let plant = Arc::new(plant(seed));
    let mut rng = Rng::with_seed(seed);
    let server = ModelServer::start(Behaviour::in_order(replies(&plant, &mut rng)).unchecked()).unwrap();
    let data = TempDir::new().unwrap();
    let place = Place::files(&data, Brain::steps(&[]));
    std::fs::write(place.workspace.path().join("all.txt"), &plant.text).unwrap();
    let tools = Tools::kernel().with(Spill(Arc::clone(&plant), seed)).with(Burst(Arc::clone(&plant), seed));
    let vault = Vault::new([("A_KEY".to_string(), NAMED.to_string())]);
    let vault = vault.with_pattern(r"case<\d+>[a-z]*").unwrap().with_path("$..pin").unwrap();
    let spec = Spec {
        model: server.model(),
        instructions: plant.text.clone(),
        tools: tools.specs(),
        context_window: 1_000_000,
        ..place.spec()
    };
    let runtime = Runtime::new(Config { tools, vault, ..place.config() });
    let trace = id("t");
    let mut watcher = runtime.watch(&local(), &trace, 1);
    runtime.start(&local(), &trace, spec, Mail::message(&plant.text)).await.unwrap();
    let add = GoalOp::Add { description: plant.text.clone(), reason: plant.text.clone(), under: None, after: None };
    runtime.send(&local(), &trace, &Mail::Goals { ops: vec![add] }).await.unwrap();
    let mut seen = until(&mut watcher, run_finished).await;
    runtime.send(&local(), &trace, &Mail::message(&plant.text)).await.unwrap();
    runtime.resume(&local(), &trace);
    seen.extend(until(&mut watcher, run_finished).await);
    assert_eq!(settled(&runtime, &trace).await, Phase::Idle);
    views::write(TraceStore::new(&*place.store, &local(), &trace)).await.unwrap();

    plant.is_not_in("what watchers saw", &format!("{seen:?}"));
    let streamed = |live: &Live| match live {
        Live::Delta { delta, .. } => match delta {
            Delta::Text { text } | Delta::Thinking { text } => text.clone(),
            Delta::Arguments { text, .. } | Delta::ToolOutput { text, .. } => text.clone(),
            Delta::Partial { value, .. } => value.clone(),
        },
        _ => String::new(),
    };
    plant.is_not_in("the streams, put together", &seen.iter().map(streamed).collect::<String>());
    let log = place.inspect(&trace).await;
    let mut projector = Projector::new(trace.clone());
    for event in &log {
        projector.project(event).iter().for_each(|line| plant.is_not_in("a wire event", &line.to_string()));
    }
    assert_eq!(server.count(), 6, "{}", names(&log));
    let spilt = |event: &Event| matches!(&event.kind, EventKind::CallResolved(data) if data.output.iter().any(|output| !output.artifacts.is_empty()));
    assert_eq!(log.iter().filter(|event| spilt(event)).count(), 2, "both calls have put something aside");
    for request in server.requests() {
        plant.is_not_in("a request", &String::from_utf8_lossy(&request.bytes));
    }
    let mut files = 0;
    each_file(data.path(), &mut |path, text| {
        files += 1;
        plant.is_not_in("a file's name", &path.display().to_string());
        plant.is_not_in(&path.display().to_string(), text);
    });
    assert!(files > 8, "{files} files");
    // It was all there: the text stays readable, and one secret has one handle.
    let said = place.answer(&trace).await;
    for kind in Vault::kinds().iter().filter(|kind| !matches!(**kind, "perplexity-key" | "sendgrid-key")) {
        assert!(said.contains(&format!("{{{{secret:{kind}-")), "{kind} in {said}");
    }
    assert!(said.contains("{{secret:A_KEY}} and {{secret:pattern-"), "{said}");
    let asked = server.requests()[4].body()["messages"].to_string();
    assert!(asked.contains(said.lines().last().unwrap()), "{asked}");
    assert!(asked.contains("{{redacted:$..pin-"), "{asked}");
}

#[tokio::test]
async fn secrets_of_every_kind_planted_everywhere_are_in_nothing_that_is_written_sent_or_shown() {
    for seed in 0..4 {
        nothing_gets_out(seed).await;
    }
}

#[tokio::test]
async fn a_turn_in_text_hides_what_it_writes_in_escapes_and_at_configured_places_also_where_its_call_is_refused() {
    let escaped: String = NAMED.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let turn = |args: &str| format!(r#"{{"type":"action","tool":"spill","args":{args}}}"#);
    let turns = [
        turn(&format!(r#"{{"key":["{escaped}"],"pin":"{PIN}"}}"#)),
        turn(&format!(r#"{{"key":"{escaped}","pin":"{PIN}"}}"#)),
        // No turn at all.
        format!(r#"{{"type":"action","tool":"spill","args":{{"pin":"{PIN}"}},"{escaped}":"{escaped}"}} {NAMED}"#),
        format!(r#"{{"type":"final","answer":"It is {escaped}."}}"#),
    ];
    let replies = turns.iter().map(|turn| Answer::text(turn).into()).collect();
    let server = ModelServer::start(Behaviour::in_order(replies).unchecked()).unwrap();
    let place = Place::memory_in_real_time(Brain::steps(&[]));
    let plant =
        Arc::new(Plant { text: NAMED.into(), traces: vec![NAMED.into(), PIN.into(), escaped.replace('\\', "")] });
    let tools = Tools::new().with(Spill(Arc::clone(&plant), 1));
    let vault = Vault::new([("A_KEY".to_string(), NAMED.to_string())]).with_path("$.pin").unwrap();
    let vault = vault.with_path("$.a[0].pin").unwrap();
    let spec = Spec { model: server.model(), tools: tools.specs(), protocol: Protocol::Json, ..place.spec() };
    let runtime = Runtime::new(Config { tools, vault, ..place.config() });
    let trace = id("t");
    let mut watcher = runtime.watch(&local(), &trace, 1);
    runtime.start(&local(), &trace, spec, Mail::message("go")).await.unwrap();
    let seen = until(&mut watcher, run_finished).await;
    settled(&runtime, &trace).await;
    let log = place.inspect(&trace).await;
    plant.is_not_in("what watchers saw", &format!("{seen:?}"));
    for event in &log {
        // However often backslashes were doubled.
        let text = String::from_utf8(event.kind.encode().unwrap()).unwrap().replace('\\', "");
        plant.is_not_in("the log", &text);
    }
    server.requests().iter().for_each(|request| plant.is_not_in("a request", &String::from_utf8_lossy(&request.bytes)));
    assert_eq!(place.answer(&trace).await, "It is {{secret:A_KEY}}.", "{}", names(&log));
    // The first call was refused and the third answer was no turn.
    assert_eq!(resolutions(&log), [Resolution::Error]);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_recorded_as_it_is_may_hold_no_secret() {
    let place = Place::memory(Brain::steps(&[]));
    let (runtime, trace) = (place.runtime(), id("t"));
    let model = format!("brain?key={NAMED}");
    let begun = runtime.start(&local(), &trace, Spec { model, ..place.spec() }, Mail::message("go")).await;
    let why = "the name of the model holds a secret (brain?key={{secret:A_KEY}}), and names are recorded: use one without, a \
               key belongs into its variable";
    assert_eq!(begun.unwrap_err().to_string(), why);
    let workspace = format!("/tmp/{NAMED}");
    run(&runtime, &trace, place.spec(), "go").await;
    let spec = std::sync::Arc::new(Spec { workspace, ..place.spec() });
    let sent = runtime.send(&local(), &trace, &Mail::SetSpec { spec }).await;
    assert!(sent.unwrap_err().to_string().starts_with("the name of the workspace holds a secret"));
}
