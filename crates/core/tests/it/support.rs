//! A scripted agent: inputs in, exact events and effects out.

use mainpath_core::*;
use mainpath_testkit::{check, world};
use mainpath_types::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A machine with its log, whose every batch is checked and committed.
#[derive(Clone)]
pub struct Agent {
    pub machine: Machine,
    pub log: Vec<Event>,
    pub bodies: Log,
    pub now: Millis,
    not_done: BTreeSet<CallId>,
}

/// Limits that limit nothing.
/// A message from elsewhere, with a call for each result.
pub fn elsewhere(role: Role, results: &[&str]) -> MessageImported {
    let call = |n: usize| Part::ToolCall { name: format!("tool{n}"), arguments: "{}".into(), signature: None };
    let result = |text: &&str| Part::ToolResult {
        call: CallId { seq: Seq(0), index: 0 },
        name: String::new(),
        content: vec![Part::text(*text)],
        is_error: text.starts_with("no"),
    };
    let mut parts = vec![Part::text("said elsewhere")];
    parts.extend((0..results.len()).map(call));
    parts.extend(results.iter().map(result));
    let source = "history.json".into();
    MessageImported {
        seq: Seq(0),
        role,
        parts,
        tokens: 0,
        result_tokens: Vec::new(),
        demands: 0,
        demanded: Vec::new(),
        source,
        by: user(),
        recorded: None,
    }
}

pub fn no_limits() -> Limits {
    Limits { model_retries: 2, ..Limits::default() }
}

/// A window of so many messages, and nobody but rules to summarise.
pub fn windowed(messages: u32) -> Limits {
    Limits { window_messages: Some(messages), summary: SummaryMode::Rules, ..no_limits() }
}

pub fn user() -> Principal {
    Principal::local_user()
}

pub fn call(id: &str) -> CallId {
    id.parse().unwrap()
}

/// A call of a tool that rules allow, want asked, or deny.
pub fn planned(tool: &str, decision: Decision) -> PlannedCall {
    let verdict = Verdict { decision, rule: format!("test.{tool}"), reason: "by the test".into() };
    PlannedCall { tool: Some(tool.into()), verdict: Some(verdict), ..PlannedCall::default() }
}

pub fn allowed(tool: &str) -> PlannedCall {
    planned(tool, Decision::Allow)
}

impl Agent {
    /// An agent with a spec and no message yet.
    pub fn new(limits: Limits) -> Agent {
        Agent::with_window(limits, 100_000)
    }

    pub fn with_window(limits: Limits, window: u32) -> Agent {
        Agent::with_spec(world::spec(limits, window))
    }

    /// An agent that is reminded of its plan after every turn, with these hooks having a word in it.
    pub fn reminded(hooks: &[&str]) -> Agent {
        let limits = Limits { inject_every: Some(1), turns: Some(99), ..no_limits() };
        let context_hooks = hooks.iter().map(|hook| hook.to_string()).collect();
        Agent::with_spec(Spec { context_hooks, ..world::spec(limits, 100_000) })
    }

    pub fn with_spec(spec: Spec) -> Agent {
        let mut agent = Agent {
            machine: Machine::new("test".parse().unwrap()),
            log: Vec::new(),
            bodies: Log::default(),
            now: 1_000,
            not_done: BTreeSet::new(),
        };
        agent.gives(InputKind::SetSpec { spec: Arc::new(spec), by: None }, &["spec_changed"]);
        agent
    }

    /// An agent whose first request is pending.
    pub fn asked(limits: Limits) -> Agent {
        let mut agent = Agent::new(limits);
        agent.says(MessageMode::Message, "do it");
        agent
    }

    /// An agent whose model has just made these calls.
    pub fn calling(limits: Limits, calls: &[PlannedCall]) -> Agent {
        let mut agent = Agent::asked(limits);
        agent.calls(calls);
        agent
    }

    /// The machine of a process that read this log prefix again.
    pub fn reopened(&self, events: usize) -> Agent {
        let log = self.log[..events].to_vec();
        let mut bodies = Log::default();
        bodies.extend(&log);
        let machine = Machine::fold(self.state().trace.clone(), &log);
        Agent { machine, log, bodies, now: self.now, not_done: self.not_done.clone() }
    }

    /// What this agent's log comes to as a fork at a message, in another trace.
    pub fn fork(&self, at: u32) -> Result<Agent, Refusal> {
        let (new, from) = ("forked".parse().unwrap(), &self.state().trace);
        let log = mainpath_core::fork(from, &self.log, Seq(at), &new, &user(), self.now)?;
        let mut bodies = Log::default();
        bodies.extend(&log);
        let agent = Agent { machine: Machine::fold(new, &log), log, bodies, now: self.now, not_done: BTreeSet::new() };
        agent.settled();
        Ok(agent)
    }

    /// A crash after the last event, before anybody recovered.
    pub fn crashed(&self) -> Agent {
        self.reopened(self.log.len())
    }

    pub fn state(&self) -> &State {
        self.machine.state()
    }

    pub fn request(&self) -> u32 {
        self.state().model.expect("a request is pending").request
    }

    /// Offers an input, commits what it decides, and checks every invariant along the way.
    #[track_caller]
    pub fn offer(&mut self, input: &Input) -> Result<Vec<String>, Refusal> {
        let mut live = self.state().clone();
        let batch = match self.machine.handle(input) {
            Ok(batch) => batch,
            Err(refusal) => {
                assert_eq!(live, *self.state(), "a refusal changed the state");
                return Err(refusal);
            }
        };
        if let Some(last) = batch.last() {
            assert_eq!(self.machine.pending(), None, "effects before the commit");
            self.machine.commit(last.id);
        }
        for event in &batch {
            check::event(&live, event, &self.not_done).unwrap();
            apply(&mut live, event);
            if let EventKind::RunFinished(finished) = &event.kind {
                check::finished(&live, finished).unwrap();
            }
        }
        assert_eq!(live, *self.state(), "the live state is not the fold of its log");
        self.bodies.extend(&batch);
        let shown = batch.iter().map(show).collect();
        self.log.extend(batch);
        Ok(shown)
    }

    /// Offers an input that decides exactly these events.
    #[track_caller]
    pub fn gives(&mut self, kind: InputKind, events: &[&str]) {
        let shown = self.offer(&Input::new(self.now, kind));
        assert_eq!(shown, Ok(events.iter().map(|event| event.to_string()).collect::<Vec<_>>()));
        self.settled();
    }

    /// Offers an input whose events are not the point.
    #[track_caller]
    pub fn takes(&mut self, kind: InputKind) -> Vec<String> {
        let mut shown = self.offer(&Input::new(self.now, kind)).unwrap();
        self.settled();
        // Where rules are asked what a model's summary leaves out, that is nothing.
        if self.words().is_some() {
            let nothing = InputKind::Summarised { text: String::new(), tokens: 0, all: false };
            shown.extend(self.offer(&Input::new(self.now, nothing)).unwrap());
            self.settled();
        }
        shown
    }

    /// The event with a model's summary, where rules are asked what it leaves out.
    pub fn words(&self) -> Option<EventId> {
        self.machine.pending().unwrap().values().find_map(|effect| match effect {
            Effect::Summarise { below, .. } => *below,
            _ => None,
        })
    }

    /// Offers an input that is refused, and changes nothing.
    #[track_caller]
    pub fn refuses(&mut self, kind: InputKind, refusal: Refusal) {
        assert_eq!(self.offer(&Input::new(self.now, kind)), Err(refusal));
    }

    #[track_caller]
    fn settled(&self) {
        check::alive(self.state(), &self.machine.pending().unwrap()).unwrap();
        if self.state().model.is_some() {
            check::packed(self.state(), &self.bodies, &pack(self.state()).unwrap()).unwrap();
            check::fits(self.state()).unwrap();
        }
        check::log(&self.log).unwrap();
    }

    /// Makes the summary by rules that is waited for.
    #[track_caller]
    pub fn summarises(&mut self) -> Vec<String> {
        let (text, tokens) = self.rules();
        self.takes(InputKind::Summarised { text, tokens, all: false })
    }

    /// The summary by rules that is waited for.
    pub fn rules(&self) -> (String, u32) {
        let pending = self.machine.pending().unwrap();
        let wanted = pending.values().find_map(|effect| match effect {
            Effect::Summarise { most, keeps, .. } => Some((*most, keeps)),
            _ => None,
        });
        let (most, keeps) = wanted.expect("a summary is wanted");
        summary_text(summarise(self.state(), &self.bodies).without(keeps), most)
    }

    /// What is pending now, by key.
    pub fn pending(&self) -> Vec<String> {
        self.machine.pending().unwrap().keys().map(ToString::to_string).collect()
    }

    #[track_caller]
    pub fn says(&mut self, mode: MessageMode, text: &str) -> Vec<String> {
        self.takes(mail(mode, text))
    }

    pub fn reply(&self, text: &str, calls: &[PlannedCall]) -> Box<Reply> {
        reply(self.request(), text, calls)
    }

    /// The model gives its final answer.
    #[track_caller]
    pub fn answers(&mut self, text: &str) -> Vec<String> {
        self.takes(InputKind::ModelFinished(self.reply(text, &[])))
    }

    /// The model calls tools.
    #[track_caller]
    pub fn calls(&mut self, calls: &[PlannedCall]) -> Vec<String> {
        self.takes(InputKind::ModelFinished(self.reply("let me see", calls)))
    }

    /// The model makes one call, and its tool succeeds.
    #[track_caller]
    pub fn works(&mut self) {
        self.calls(&[allowed("read")]);
        let open = self.state().turn_calls()[0].id;
        self.takes(done(&open.to_string(), 1));
    }

    /// The same, and where rules are to summarise, they do.
    #[track_caller]
    pub fn works_on(&mut self) {
        self.works();
        if self.state().branch.is_some_and(|branch| branch.by == SummaryMode::Rules) {
            self.summarises();
        }
    }

    /// What the pending request shows, a line a message.
    pub fn shown(&self) -> Vec<String> {
        let packed = pack(self.state()).unwrap();
        packed.items.iter().map(|item| line(&message_of(self, item))).collect()
    }

    /// The last event, as it is.
    pub fn last(&self) -> &EventKind {
        &self.log.last().unwrap().kind
    }

    /// The newest event of a kind that `pick` knows.
    pub fn newest<'a, T>(&'a self, pick: impl Fn(&'a EventKind) -> Option<T>) -> T {
        self.log.iter().rev().find_map(|event| pick(&event.kind)).expect("such an event")
    }

    /// How the last run ended.
    pub fn ended(&self) -> RunFinished {
        self.newest(|kind| if let EventKind::RunFinished(data) = kind { Some(data.clone()) } else { None })
    }
}

fn message_of(agent: &Agent, item: &Item) -> Message {
    mainpath_core::message(agent.state(), &agent.bodies, item).expect("a body")
}

fn line(message: &Message) -> String {
    let part = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::ToolCall { name, .. } => format!("<{name}>"),
        Part::ToolResult { call, content, is_error, .. } => {
            format!("{call}{} {}", if *is_error { "!" } else { "" }, text_of(content))
        }
        other => format!("{other:?}"),
    };
    let parts: Vec<String> = message.parts.iter().map(part).collect();
    format!("{:?}: {}", message.role, parts.join(" "))
}

pub fn mail(mode: MessageMode, text: &str) -> InputKind {
    let parts = vec![Part::text(text)];
    let demands = if demands_of(&parts).tokens > 0 { 10 } else { 0 };
    InputKind::UserMessage(MessageQueued { mode, demands, ..MessageQueued::new(parts, 10, user()) })
}

/// A message of this size, with what it demands as it is found when somebody says it.
pub fn sized(text: &str, tokens: u32) -> InputKind {
    let parts = vec![Part::text(text)];
    let Demands { tokens: demands, at: demanded } = demands_of(&parts);
    InputKind::UserMessage(MessageQueued { demands, demanded, ..MessageQueued::new(parts, tokens, user()) })
}

/// A message of which only the first part was typed.
pub fn attached(parts: Vec<Part>) -> InputKind {
    let tokens = estimate_parts(&parts);
    InputKind::UserMessage(MessageQueued { typed: Some(0), ..MessageQueued::new(parts, tokens, user()) })
}

/// A rewind with another message of this size.
pub fn rewind_to(after: u32, text: &str, tokens: u32) -> InputKind {
    let parts = vec![Part::text(text)];
    let Demands { tokens: demands, at: demanded } = demands_of(&parts);
    let again = RewindRequested::again(Seq(after), user());
    InputKind::Rewind(RewindRequested { parts: Some(parts), tokens, demands, demanded, ..again })
}

/// An answer of ten tokens, without a vendor's count.
pub fn reply(request: u32, text: &str, calls: &[PlannedCall]) -> Box<Reply> {
    let mut parts = vec![Part::text(text)];
    parts.extend(calls.iter().map(|planned| Part::ToolCall {
        name: planned.tool.clone().unwrap_or_else(|| "nonesuch".into()),
        arguments: "{}".into(),
        signature: None,
    }));
    Box::new(Reply { tokens: 10, ..Reply::new(request, parts, calls.to_vec()) })
}

/// A tool succeeds.
pub fn done(id: &str, attempt: u32) -> InputKind {
    InputKind::ToolFinished { call: call(id), attempt, output: ToolOutput::text("it worked"), tokens: 5 }
}

/// A tool fails.
pub fn failed(id: &str, attempt: u32) -> InputKind {
    InputKind::ToolFinished { call: call(id), attempt, output: ToolOutput::failed("exit_code", "it failed"), tokens: 5 }
}

/// A tool is confirmed dead.
pub fn dead(id: &str, attempt: u32) -> InputKind {
    InputKind::ToolDead { call: call(id), attempt, output: None, tokens: 0 }
}

pub fn approve(id: &str) -> InputKind {
    InputKind::Approve { call: call(id), by: user(), edit: None, rule: None }
}

/// A skill of this name, whose text is its name and size.
pub fn skill(name: &str, by: SkillBy, tokens: u32) -> SkillSelected {
    SkillSelected {
        skill: name.into(),
        source: "user".into(),
        by,
        call: None,
        person: None,
        reason: "it fits".into(),
        hash: format!("{name}-{tokens}"),
        folder: Some(format!("/skills/{name}")),
        effect: EffectClass::ReadOnly,
        parts: vec![Part::text(format!("how to do {name}"))],
        tokens,
    }
}

pub fn stop() -> InputKind {
    InputKind::Stop { by: user() }
}

pub fn clear() -> InputKind {
    InputKind::Clear { by: user() }
}

pub fn rewind(after: u32, text: Option<&str>) -> InputKind {
    let parts = text.map(|text| vec![Part::text(text)]);
    InputKind::Rewind(RewindRequested { parts, tokens: 6, ..RewindRequested::again(Seq(after), user()) })
}

pub fn model_failed(request: u32, kind: ModelErrorKind, retry_at: Option<Millis>) -> InputKind {
    let error = ModelError { kind, message: "no".into(), status: None, retry_after_ms: None };
    InputKind::ModelFailed { request, error, retry_at, usage: None, received: 0 }
}

/// What comes next for a child: it begins, as one of `of`, or has done its task.
pub fn child_next(agent: &Agent, call: CallId, nth: u16) -> InputKind {
    match agent.state().children.get(call, nth) {
        None => InputKind::ChildStarting(child(call, nth, 1)),
        Some(_) => child_ended(call, nth, ChildOutcome::Result, HandedBack::default()),
    }
}

/// A child that is to start, one of so many.
pub fn child(call: CallId, nth: u16, of: u16) -> ChildStarting {
    let (mode, place) = match of {
        1 => (ChildMode::Delegate, ChildPlace::Alone),
        _ => (ChildMode::Explore, ChildPlace::Reading),
    };
    ChildStarting {
        call,
        nth,
        of,
        mode,
        place,
        host: None,
        continues: None,
        after: 0,
        task: "look".into(),
        no_copy: None,
    }
}

/// A child that has ended.
pub fn child_ended(call: CallId, nth: u16, outcome: ChildOutcome, handed: HandedBack) -> InputKind {
    InputKind::ChildEnded(ChildEnded { call, nth, of: 1, outcome, handed })
}

/// A crash lost everything that was in flight.
pub fn recovered() -> InputKind {
    InputKind::Recovered { lost: true, tail_cut: None }
}

/// An event in a line: everything about it that a decision chose.
pub fn show(event: &Event) -> String {
    let name = event.kind.name();
    let at = |seq: Option<Seq>| seq.map_or("-".into(), |seq| seq.to_string());
    let list = |seqs: &[Seq]| seqs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    match &event.kind {
        EventKind::MessageQueued(data) => format!("{name} {:?}", data.mode),
        EventKind::MessageJoined(data) => format!("{name} {}", data.seq),
        EventKind::RunStarted(data) => format!("{name} {} {:?}", data.run, data.cause),
        EventKind::RunClosing(data) => format!("{name} {}", data.reason.as_str()),
        EventKind::RunFinished(data) => {
            format!("{name} {} turns={} calls={}", data.reason.as_str(), data.turns, data.calls)
        }
        EventKind::ModelRequested(data) => {
            let last = data.last.map_or(String::new(), |reason| format!(" last {}", reason.as_str()));
            format!("{name} {} at {}{last}", data.request, at(data.head))
        }
        EventKind::ModelFinished(data) => format!("{name} {} calls={}", data.seq, data.calls.len()),
        EventKind::ModelMalformed(data) => format!("{name} {} {}", data.seq, data.repair_seq),
        EventKind::ModelFailed(data) => format!("{name} {:?} retry={}", data.error.kind, data.retry_at.is_some()),
        EventKind::ModelAbandoned(data) => format!("{name} {} lost={}", data.request, data.lost),
        EventKind::ActionStarted(data) => format!("{name} {} #{}", data.call, data.attempt),
        EventKind::CallReopened(data) => format!("{name} {} at {}", data.of, data.seq),
        EventKind::ApprovalGranted(data) => format!("{name} {} edited={}", data.call, data.arguments.is_some()),
        EventKind::CallCancelling(data) => format!("{name} {} {:?}", data.call, data.cause),
        EventKind::CallDelayed(data) => format!("{name} {} until {}", data.call, data.until),
        EventKind::CallDue(data) => format!("{name} {}", data.call),
        EventKind::CallRetried(data) => format!("{name} {} #{}", data.call, data.attempt),
        EventKind::CallProbing(data) => format!("{name} {}", data.call),
        EventKind::CallResolved(data) => format!("{name} {} {:?} {:?}", data.call, data.resolution, data.cause),
        EventKind::LateResult(data) => format!("{name} {} #{}", data.call, data.attempt),
        EventKind::TurnFinished(data) => format!("{name} {} results={}", data.seq, data.results),
        EventKind::RewindRequested(data) => format!("{name} {}", data.after),
        EventKind::Rewound(data) => format!("{name} {} to {}", data.asked, at(data.head)),
        EventKind::SessionCleared(data) => format!("{name} {}", data.upto),
        EventKind::Forked(data) => format!("{name} {} at {} of {}", data.from, data.at, data.event),
        EventKind::BranchOpened(data) if data.by == SummaryMode::default() => {
            format!("{name} {:?} {}", data.kind, data.seq)
        }
        EventKind::BranchOpened(data) => format!("{name} {:?} {} by {:?}", data.kind, data.seq, data.by),
        EventKind::BranchClosed(data) => format!("{name} {:?} done={}", data.kind, data.done),
        EventKind::Compacted(data) => {
            let sets = sets(&data.keeps);
            format!("{name} {} keeps {} pins {}{sets}", data.seq, at(data.keeps.first_kept), list(&data.keeps.pinned))
        }
        EventKind::ContextCut(data) => {
            let sets = sets(&data.keeps);
            let (kept, pinned) = (at(data.keeps.first_kept), list(&data.keeps.pinned));
            format!("{name} {} keeps {kept} pins {pinned} {:?}{sets}", data.seq, data.cause)
        }
        EventKind::SkillSelected(data) => format!("{name} {} by {:?}", data.skill, data.by),
        EventKind::ResourceLoaded(data) => format!("{name} {} {}/{}", data.call, data.skill, data.path),
        EventKind::Injected(data) => format!("{name} {}", data.seq),
        EventKind::SubTraceStarted(data) => format!("{name} {}/{} {}", data.call, data.nth, data.child),
        EventKind::SubTraceCompleted(data) => format!("{name} {}/{} {:?}", data.call, data.nth, data.outcome),
        EventKind::SpecChanged(_)
        | EventKind::CompactionRequested(_)
        | EventKind::ContinueRequested(_)
        | EventKind::RetryDue(_)
        | EventKind::CallsRecalled(_)
        | EventKind::GoalsChanged(_)
        | EventKind::MailRefused(_)
        | EventKind::FilesKept(_)
        | EventKind::FilesRestored(_)
        | EventKind::ClearRequested(_)
        | EventKind::Omitted(_)
        | EventKind::TraceNamed(_)
        | EventKind::QuestionSent(_)
        | EventKind::MessageReceived(_)
        | EventKind::TailCut(_) => name.into(),
        EventKind::MessageImported(data) => {
            format!("{name} {} {:?} results={}", data.seq, data.role, data.result_tokens.len())
        }
        EventKind::Erased(data) => {
            let left: Vec<String> = data.left.iter().map(|left| left.event.to_string()).collect();
            format!("{name} {}", left.join(","))
        }
    }
}

/// The sets of a cut, where there are any.
fn sets(Keeps { demands, partly, omitted, shortened, .. }: &Keeps) -> String {
    let mut text = String::new();
    demands.iter().for_each(|seq| text.push_str(&format!(" demands {seq}")));
    partly.iter().for_each(|(seq, tokens)| text.push_str(&format!(" {tokens} of {seq}")));
    omitted.iter().for_each(|(first, last)| text.push_str(&format!(" omits {first}-{last}")));
    for short in shortened {
        let how = if short.excerpt { "excerpt" } else { "line" };
        text.push_str(&format!(" {} {how} of {}", short.call, short.tokens));
    }
    text
}

/// One run: a message (1), a call (2), its result (3), a final answer (4).
pub fn told() -> Agent {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash")]);
    agent.takes(done("2.0", 1));
    agent.answers("done");
    agent
}
