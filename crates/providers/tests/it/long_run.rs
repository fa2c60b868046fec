//! A run of 2,000 turns in a window of 16k: every request has the task and what was demanded in their own words, is within its
//! budget, and is one that every vendor takes.

use crate::conformance::request_check;
use crate::head;
use fastrand::Rng;
use mainpath_core::*;
use mainpath_testkit::model_server::Format;
use mainpath_testkit::{check, world};
use mainpath_types::*;
use std::sync::Arc;

const TASK: &str = "Port the parser, file by file, until all tests pass.";
const DEMANDS: [&str; 4] = [
    "You must keep the public names.",
    "不要删除任何文件。",
    "Never touch the folder vendor/.",
    "Only ASCII in the sources, please.",
];
const TURNS: u32 = 2_000;
const FORMATS: [Format; 4] = [Format::Chat, Format::Responses, Format::Anthropic, Format::Gemini];

/// Whether a vendor takes a request.
type Checked = Box<dyn Fn(&ModelRequest) -> Result<(), String>>;

/// The size of a message as heads know it: a result's is that of its content.
fn size(message: &Message) -> u32 {
    match message.parts.as_slice() {
        [Part::ToolResult { content, .. }] => estimate_parts(content),
        parts => estimate_parts(parts),
    }
}

/// What a life was like.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    cuts: u32,
    summaries: u32,
    by_rules: u32,
    shortened: bool,
    omitted: bool,
}

struct Life {
    machine: Machine,
    bodies: Log,
    rng: Rng,
    now: Millis,
    said: usize,
    seen: Seen,
    requests: u32,
    /// The size of the request in flight.
    size: u32,
    goal_every: u32,
    /// The summary by rules so far, and the last message that it has read.
    summed: (Seq, Summary),
    checks: Vec<(Format, Checked)>,
}

impl Life {
    fn offer(&mut self, kind: InputKind) {
        self.now += 10;
        let batch = self.machine.handle(&Input::new(self.now, kind)).unwrap();
        self.machine.commit(batch.last().unwrap().id);
        let mut broken = false;
        for event in &batch {
            match &event.kind {
                EventKind::ContextCut(data) => {
                    self.seen.cuts += 1;
                    self.seen.shortened |= !data.keeps.shortened.is_empty();
                    self.seen.omitted |= !data.keeps.omitted.is_empty();
                    broken = true;
                }
                EventKind::Compacted(data) => {
                    self.seen.summaries += 1;
                    self.seen.by_rules += u32::from(data.text.is_some());
                    broken = true;
                }
                EventKind::RunFinished(data) => assert_eq!(data.reason, FinishReason::Final, "{data:?}"),
                _ => {}
            }
        }
        self.bodies.extend(&batch);
        if self.machine.state().model.is_some() {
            self.check(broken);
        }
    }

    /// The request in flight.
    fn check(&mut self, broken: bool) {
        self.requests += 1;
        let state = self.machine.state();
        let packed = pack(state).unwrap();
        if broken || self.requests.is_multiple_of(8) {
            check::packed(state, &self.bodies, &packed).unwrap();
        }
        check::fits(state).unwrap();
        let messages: Vec<Message> =
            packed.items.iter().map(|item| message(state, &self.bodies, item).unwrap()).collect();
        let texts: Vec<String> = messages.iter().map(|message| text_of(&message.parts)).collect();
        for demanded in [TASK].iter().chain(&DEMANDS[..self.said]) {
            assert!(texts.iter().any(|text| text.contains(demanded)), "{demanded} is not shown in {texts:#?}");
        }
        if broken && state.branch.is_none() && !state.goals.is_empty() {
            let plan = state.goals.short_view();
            assert!(texts.iter().any(|text| text.contains(&plan)), "the plan {plan} is not shown in {texts:#?}");
        }
        let size: u32 = messages.iter().map(size).sum();
        let fixed = state.spec.as_ref().unwrap().fixed_tokens;
        self.size = size + fixed;
        // Those of a side branch add their prompt.
        let more = if state.branch.is_some() { 400 } else { 0 };
        assert!(size + fixed <= 16_384 - 2_048 + more, "{} tokens", size + fixed);
        // Where the conversation has another shape all vendors look at it, else now and then one.
        let request = ModelRequest { head: head(true), messages };
        for (at, (format, check)) in self.checks.iter().enumerate() {
            if broken || self.requests % 64 == at as u32 * 16 {
                let checked = check(&request);
                assert!(checked.is_ok(), "{format:?}: {checked:?}\n{:#?}", request.messages);
            }
        }
    }

    fn say(&mut self, mode: MessageMode, text: &str) {
        let parts = vec![Part::text(text)];
        let (tokens, Demands { tokens: demands, at: demanded }) = (estimate_parts(&parts), demands_of(&parts));
        let said = MessageQueued::new(parts, tokens, Principal::local_user());
        self.offer(InputKind::UserMessage(MessageQueued { mode, demands, demanded, ..said }));
    }

    fn answer(&mut self, text: &str, tool: Option<&str>) {
        let request = self.machine.state().model.unwrap();
        let mut parts = vec![Part::text(text)];
        let mut calls = Vec::new();
        if let Some(tool) = tool {
            let arguments = format!("{{\"path\":\"src/file_{}.rs\"}}", self.rng.u32(0..500));
            parts.push(Part::ToolCall { name: tool.into(), arguments, signature: None });
            let verdict = Verdict { decision: Decision::Allow, rule: "test".into(), reason: String::new() };
            calls.push(PlannedCall { tool: Some(tool.into()), verdict: Some(verdict), ..PlannedCall::default() });
        }
        let usage = Usage { input: self.size.into(), output: 20, ..Usage::default() };
        let reply = Reply { usage: Some(usage), ..Reply::new(request.request, parts, calls) };
        self.offer(InputKind::ModelFinished(Box::new(reply)));
    }

    fn output(&mut self) -> ToolOutput {
        // Mostly short, now and then more than the newest turn's share, once in a while more than the window.
        let words = match self.rng.u32(0..100) {
            0 => self.rng.usize(12_000..40_000),
            1..8 => self.rng.usize(1_000..4_000),
            _ => self.rng.usize(5..300),
        };
        let text = format!("status: read\n{}", "word 词 ".repeat(words / 2));
        let long_term_memory = self.rng.bool().then(|| format!("Read a file of {words} words."));
        let include_output_only_once = self.rng.u32(0..4) == 0;
        ToolOutput { long_term_memory, include_output_only_once, ..ToolOutput::text(text) }
    }

    fn plan(&mut self, turn: u32) {
        let add = |description| GoalOp::Add { description, reason: String::new(), under: None, after: None };
        let id = GoalId(turn / self.goal_every + 1);
        let mut ops = vec![add(format!("part {}", id.0)), GoalOp::Focus { id }];
        if id.0 > 1 {
            let done = GoalOp::Done { id: Some(GoalId(id.0 - 1)), summary: "ported".into() };
            ops.insert(0, done);
        }
        self.offer(InputKind::ChangeGoals { ops, by: Principal::local_user() });
    }
}

fn live(summary: SummaryMode, goal_every: u32) -> (Seen, u32) {
    let limits = Limits { summary, ..Profile::Trace.limits() };
    let mut spec = world::spec(Limits { turns: None, ..limits }, 16_384);
    spec.reserved_output = 2_048;
    let mut life = Life {
        machine: Machine::new("long".parse().unwrap()),
        bodies: Log::default(),
        rng: Rng::with_seed(goal_every.into()),
        now: 0,
        said: 0,
        seen: Seen::default(),
        requests: 0,
        size: 0,
        goal_every,
        summed: (Seq(0), Summary::default()),
        checks: FORMATS.map(|format| (format, Box::new(request_check(format)) as Checked)).into(),
    };
    life.offer(InputKind::SetSpec { spec: Arc::new(spec), by: None });
    life.say(MessageMode::Message, TASK);
    let mut turns = 0;
    while turns < TURNS {
        let state = life.machine.state();
        let pending = life.machine.pending().unwrap();
        let (key, effect) = pending.into_iter().next().expect("something is pending");
        match (key, effect) {
            (EffectKey::Model(_), _) if state.branch.is_some() => {
                // Now and then a summary that is far too long, or none at all.
                match life.rng.u32(0..8) {
                    0 => life.answer(&"It was long. ".repeat(4_000), None),
                    1 => life.answer("Let me look.", Some("read")),
                    _ => life.answer("Goal: port the parser. Open Items: most files.", None),
                }
            }
            (EffectKey::Model(_), _) => {
                turns += 1;
                if turns % goal_every == 1 {
                    life.plan(turns);
                }
                if turns % 150 == 0 && life.said < DEMANDS.len() {
                    let demanded = DEMANDS[life.said];
                    life.say(MessageMode::Steer, demanded);
                    // It is in the next request, not in the one in flight.
                    life.answer("I see.", Some("read"));
                    life.said += 1;
                } else if turns == TURNS {
                    life.answer("All is ported.", None);
                } else {
                    life.answer("I read on.", Some("read"));
                }
            }
            (EffectKey::Tool(call, attempt), _) => {
                let output = life.output();
                let tokens = estimate_parts(&output.content);
                life.offer(InputKind::ToolFinished { call, attempt, output, tokens });
            }
            (EffectKey::Summary(_), Effect::Summarise { most, below, keeps }) => {
                // As a driver does: what was read before is not read again.
                let new = summary_messages(state).into_iter().filter(|(seq, _)| *seq > life.summed.0);
                for (seq, _) in new.collect::<Vec<_>>() {
                    life.summed.1.take(state, &life.bodies, seq);
                    life.summed.0 = seq;
                }
                let earlier = earlier_summary(state, &life.bodies).earlier;
                let words = below.map(|event| model_summary(&life.bodies, event).unwrap_or_default());
                let found = Summary { earlier, ..life.summed.1.clone() };
                life.offer(summary_input(found, words.as_deref(), most, &keeps));
            }
            (key, _) => panic!("{key}"),
        }
    }
    assert_eq!(life.machine.state().ended.reason, Some(FinishReason::Final));
    (life.seen, life.requests)
}

#[test]
fn two_thousand_turns_with_summaries_by_rules_keep_the_task_and_what_was_demanded() {
    let (seen, requests) = live(SummaryMode::Rules, 25);
    assert!(requests >= TURNS && seen.cuts > 50 && seen.shortened && seen.omitted, "{seen:?}");
    assert!(seen.summaries > 0 && seen.summaries == seen.by_rules, "{seen:?}");
}

#[test]
fn two_thousand_turns_with_summaries_by_an_agent_keep_the_task_and_what_was_demanded() {
    // With goals that take so long, cuts alone are not enough.
    let (seen, requests) = live(SummaryMode::Agent, 500);
    assert!(requests >= TURNS && seen.cuts > 50 && seen.shortened && seen.omitted, "{seen:?}");
    // Rules help out only where the model fails.
    assert!(seen.summaries > 20 && seen.by_rules * 10 < seen.summaries, "{seen:?}");
}
