//! A log of the first version, kept as it was written: today's code writes the same lines and reads them to the same state.
//! After a deliberate change of the vocabulary: `MAINPATH_BLESS=1 cargo test -p mainpath-core golden`, and look at the diff.

use crate::support::*;
use mainpath_core::*;
use mainpath_testkit::check;
use mainpath_testkit::world::spec;
use mainpath_types::*;
use std::path::Path;
use std::sync::Arc;

/// A life that writes every event there is.
fn life() -> Vec<Event> {
    let limits =
        Limits { calls_per_turn: Some(4), window_messages: Some(6), call_timeout_ms: Some(900), ..no_limits() };
    let mut agent = Agent::with_window(limits.clone(), 400);
    let ops = vec![
        GoalOp::Add { description: "first".into(), reason: "why not".into(), under: None, after: None },
        GoalOp::Focus { id: GoalId(1) },
    ];
    agent.takes(InputKind::ChangeGoals { ops, by: user() });
    let sent = Input { at: 2_000, mail: Some(1), more: false, kind: mail(MessageMode::Message, "do it") };
    agent.offer(&sent).unwrap();
    agent.offer(&Input { at: 2_000, mail: Some(2), more: false, kind: rewind(9, None) }).unwrap();
    agent.now = 2_100;
    agent.takes(model_failed(1, ModelErrorKind::StreamCut, Some(2_200)));
    agent.now = 2_200;
    agent.takes(InputKind::Timer { key: TimerKey::Retry });
    let malformed = agent.reply("no json", &[]);
    agent.takes(InputKind::ModelMalformed {
        reply: malformed,
        problem: "not JSON".into(),
        breach: Breach::Protocol,
        repair_tokens: 12,
    });
    let problem = PlannedCall { problem: Some("there is no such tool".into()), ..PlannedCall::default() };
    let linked = PlannedCall { places: vec!["/work/real".into()], ..planned("bash", Decision::Ask) };
    agent.calls(&[linked, problem, allowed("write"), allowed("read"), allowed("read")]);
    let verdict = Verdict { decision: Decision::Ask, rule: "fresh".into(), reason: String::new() };
    let edit = Some(Edit {
        arguments: "{\"x\":1}".into(),
        verdict,
        places: vec!["/work/other".into()],
        changed_by: Vec::new(),
        asking: None,
    });
    let first = agent.state().turn_calls()[0].id;
    agent.takes(InputKind::Approve { call: first, by: user(), edit, rule: None });
    agent.now = 3_200;
    agent.takes(InputKind::Timer { key: TimerKey::Call(first) });
    agent.takes(InputKind::ToolDead { call: first, attempt: 1, output: Some(ToolOutput::text("so far")), tokens: 4 });
    agent.takes(done(&first.to_string(), 1));
    let mut agent = agent.crashed();
    agent.takes(InputKind::Recovered { lost: true, tail_cut: Some(TailCut { bytes: 17, kept: "cut".into() }) });
    let second = agent.state().turn_calls()[2].id;
    let answer = Probed::Done { output: ToolOutput::text("was done"), tokens: 3 };
    agent.takes(InputKind::ToolProbed { call: second, attempt: 1, answer });
    let third = agent.state().turn_calls()[3].id;
    agent.takes(failed(&third.to_string(), 1));
    agent.says(MessageMode::Steer, "rather this");
    agent.answers("as you like");
    let mut agent = finish(agent);
    agent.takes(InputKind::RecallCalls { calls: vec![second] });
    agent.takes(InputKind::Compact { hint: Some("the numbers".into()), by: user() });
    let mut agent = finish(agent);
    agent.takes(InputKind::ExpandContext { by: 1 });
    let mut other = spec(Limits { window_messages: None, call_retries: 1, ..limits }, 400);
    other.tools[0].rate = Some(RateLimit { calls: 1, per_ms: 500 });
    other.tools[1].max_calls = Some(7);
    agent.takes(InputKind::SetSpec { spec: Arc::new(other), by: None });
    agent.says(MessageMode::Message, "again");
    let long = Box::new(Reply { tokens: 210, ..*agent.reply("a long text", &[allowed("read")]) });
    agent.takes(InputKind::ModelFinished(long));
    let open = agent.state().turn_calls()[0].id;
    let output = ToolOutput { transient: true, ..ToolOutput::failed("busy", "not now") };
    agent.takes(InputKind::ToolFinished { call: open, attempt: 1, output, tokens: 2 });
    agent.now += 500;
    agent.takes(InputKind::Timer { key: TimerKey::Call(open) });
    agent.takes(done(&open.to_string(), 2));
    let mut agent = finish(agent);
    agent.takes(rewind(1, Some("another way")));
    agent.takes(stop());
    agent.takes(InputKind::Continue { by: user() });
    let mut agent = finish(agent);
    let limits = Limits { inject_every: Some(1), ..no_limits() };
    let hooks = vec!["news".to_string()];
    let preset = AppliedPreset {
        name: "explore".into(),
        source: "builtin".into(),
        skills: Some(vec!["planning".into()]),
        instructions: "Only look.".into(),
    };
    let rules = RunRules { deny: vec!["bash".into()], commands: vec![vec!["git *".into()]], ..RunRules::default() };
    let relations = Relations { agent_type: Some("explore".into()), ..Relations::default() };
    let reader = Spec { context_hooks: hooks, preset: Some(preset), rules, relations, ..spec(limits, 4_000) };
    agent.takes(InputKind::SetSpec { spec: Arc::new(reader), by: None });
    agent.says(MessageMode::Message, "once more");
    let planned = PlannedCall { answer: Some("the plan in short".into()), ..allowed("read") };
    let step = Step { id: Some("s1".into()), title: Some("a step".into()), ..Step::default() };
    let constraints = Some(vec!["never that".into()]);
    let terms = GoalOp::Terms { mission: Some("all of it".into()), assumptions: None, constraints };
    let goals = vec![terms, GoalOp::Set { steps: vec![step] }];
    agent.takes(InputKind::ModelFinished(Box::new(Reply { goals, ..*agent.reply("a plan", &[planned]) })));
    let failed = HookText { hook: "news".into(), text: String::new(), problem: Some("it took too long".into()) };
    agent.takes(InputKind::ContextTexts { turn: agent.state().counts.turns, texts: vec![failed] });
    let mut agent = finish(agent);
    agent.takes(InputKind::Import(Box::new(elsewhere(Role::User, &[]))));
    agent.takes(InputKind::Import(Box::new(elsewhere(Role::Assistant, &["it was so", "so too"]))));
    agent.takes(clear());
    // What only the log of a fork holds.
    let (last, at) = (agent.log.last().unwrap().clone(), agent.state().tree.next_seq());
    let forked = Forked { from: "other".parse().unwrap(), event: last.id + 1, at, by: user() };
    let hash: BlobHash = "0f".repeat(32).try_into().unwrap();
    let before = FileState::File { hash: hash.clone(), bytes: 3, mode: 0o644 };
    let change = FileChange { path: "a.txt".into(), before, after: FileState::Absent };
    let turned = FileChange { path: "b".into(), before: FileState::Link { hash }, after: FileState::Unknown };
    let call = CallId { seq: Seq(2), index: 0 };
    let kept = FilesKept { call, attempt: 1, changes: vec![change.clone()] };
    let restored = FilesRestored { to: 4, changes: vec![change, turned], by: user() };
    for kind in [Omitted {}.into(), forked.into(), kept.into(), restored.into()] {
        agent.log.push(Event { id: agent.log.len() as u64 + 1, kind, ..last.clone() });
    }
    // The only event that no input decides: whoever erases writes it.
    let mut log = agent.log;
    let first = log.iter().find(|event| event.kind.name() == "message_queued").unwrap();
    let left = vec![Left { event: first.id, kind: first.kind.without_words() }];
    let last = log.last().unwrap();
    let erased = Erased { left, by: user(), why: Some("asked for".into()) };
    log.push(Event { id: last.id + 1, ts: last.ts, turn: last.turn, mail: None, kind: erased.into() });
    // Younger than the rest; what is decided with it is in `reopened.rs`.
    let last = log.last().unwrap();
    let reopened = CallReopened { of: call, seq: Seq(99), grant: 1 };
    log.push(Event { id: last.id + 1, kind: reopened.into(), ..last.clone() });
    // Younger still; what is decided with them is in `names.rs`.
    let usage = Usage { input: 9, output: 2, ..Usage::default() };
    let made = NameMade { model: "small".into(), usage, cost: 3, about: true };
    for (name, made) in [("A name", None), ("Another name", Some(made))] {
        let last = log.last().unwrap();
        let named = TraceNamed { name: name.into(), by: user(), made };
        log.push(Event { id: last.id + 1, kind: named.into(), ..last.clone() });
    }
    // Younger still; what is decided with them is in `skills.rs`.
    let last = log.last().unwrap().clone();
    let resource = ResourceLoaded {
        call,
        skill: "forms".into(),
        path: "references/a.md".into(),
        section: Some("Filling in".into()),
        hash: "0f".repeat(32),
        partial: true,
    };
    let by_model = SkillSelected { call: Some(call), ..skill("forms", SkillBy::Model, 9) };
    let by_person = SkillSelected { person: Some(user()), folder: None, ..skill("plans", SkillBy::Person, 9) };
    // What is decided with them is in `children.rs`.
    let (nth, of, mode, place) = (0, 1, ChildMode::Delegate, ChildPlace::Alone);
    let (child, task) = ("test@delegate-1000-001".parse::<TraceId>().unwrap(), "look".into());
    let share = Share { tokens: Some(900), calls: Some(3), ..Share::default() };
    let started =
        SubTraceStarted { call, nth, of, child: child.clone(), mode, place, continued: true, after: 9, task, share };
    let handed = HandedBack {
        child: Some(child),
        answer: "found".into(),
        files: vec!["a".into()],
        calls: 2,
        ..HandedBack::default()
    };
    let ended = SubTraceCompleted { call, nth, of, outcome: ChildOutcome::Partial, handed };
    for kind in [by_model.into(), by_person.into(), resource.into(), started.into(), ended.into()] {
        log.push(Event { id: log.len() as u64 + 1, kind, ..last.clone() });
    }
    // The youngest; what is decided with them is in `questions.rs`.
    let went = QuestionSent {
        call,
        to: "lan".into(),
        channel: Some("feishu".into()),
        receipt: Some("om_1".into()),
        problem: None,
        retry_at: None,
    };
    let (problem, retry_at) = (Some("nobody there".into()), Some(9_000));
    let failed = QuestionSent { channel: None, receipt: None, problem, retry_at, ..went.clone() };
    for sent in [went, failed] {
        let last = log.last().unwrap();
        log.push(Event { id: last.id + 1, kind: sent.into(), ..last.clone() });
    }
    // What is decided with it is in `inboxes.rs`.
    let last = log.last().unwrap();
    let received = MessageReceived {
        from: Principal::agent("reviewer"),
        conversation: Some("pr-7".into()),
        id: Some("msg_1".into()),
        text: "the build is broken".into(),
    };
    log.push(Event { id: last.id + 1, kind: received.into(), ..last.clone() });
    log
}

/// Every request is answered, until nothing is asked any more.
fn finish(mut agent: Agent) -> Agent {
    while agent.state().run.is_some() {
        match agent.state().model {
            Some(_) => agent.answers("done"),
            None => agent.summarises(),
        };
    }
    agent
}

fn lines(log: &[Event]) -> String {
    log.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
}

fn fold(log: &[Event]) -> State {
    let mut state = State::new("test".parse().unwrap());
    log.iter().for_each(|event| apply(&mut state, event));
    state
}

#[test]
fn the_golden_log_is_written_and_read_as_ever() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/v2.jsonl");
    let log = life();
    if std::env::var_os("MAINPATH_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, lines(&log)).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    for (number, (new, old)) in (1..).zip(lines(&log).lines().zip(golden.lines())) {
        assert_eq!(new, old, "line {number}");
    }
    assert_eq!(golden.lines().count(), log.len());
    let read: Vec<Event> = golden.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, log, "what is read is what was written");
    assert_eq!(fold(&read), fold(&log));
    for event in &read {
        let data = String::from_utf8(event.kind.encode().unwrap()).unwrap();
        let decoded = EventKind::decode(event.kind.name(), &data).unwrap().unwrap();
        assert_eq!(decoded, event.kind, "the store's way of reading says the same");
    }
}

/// The log that the first version wrote: its cuts say nothing of what they leave out, and what was asked then is what is asked now.
#[test]
fn the_log_of_the_first_version_shows_what_it_showed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/v1.jsonl");
    let golden = std::fs::read_to_string(&path).unwrap();
    let log: Vec<Event> = golden.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines(&log), golden, "nothing of it is lost");
    let (mut state, mut bodies, mut asked) = (State::new("test".parse().unwrap()), Log::default(), String::new());
    for event in &log {
        apply(&mut state, event);
        bodies.extend(std::slice::from_ref(event));
        let EventKind::ModelRequested(data) = &event.kind else { continue };
        asked.push_str(&format!("request {}\n", data.request));
        for item in pack(&state).unwrap().items {
            let message = message(&state, &bodies, &item);
            asked.push_str(&serde_json::to_string(&message).unwrap());
            asked.push('\n');
        }
    }
    insta::assert_snapshot!(asked);
}

#[test]
fn logs_of_earlier_versions_are_read_without_a_change() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden");
    for name in ["v1.jsonl"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let log: Vec<Event> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines(&log), text, "{name}: what they do not say is not made up");
        // A fork begins to count anew.
        let own: Vec<Event> =
            log.iter().take_while(|event| !matches!(event.kind, EventKind::Forked(_))).cloned().collect();
        let state = fold(&own);
        let runs = own.iter().filter_map(|event| match &event.kind {
            EventKind::RunFinished(data) => Some((data.usage, data.cost)),
            _ => None,
        });
        let (mut usage, mut cost) = (Usage::default(), 0);
        for (used, paid) in runs {
            usage += used;
            cost += paid;
        }
        assert_eq!(
            (state.spent.usage, state.spent.cost),
            (usage, cost),
            "{name}: what was booked then is still booked"
        );
    }
}

#[test]
fn the_golden_log_holds_every_event_there_is() {
    let schema = serde_json::to_value(schemars::schema_for!(EventKind)).unwrap();
    let variants = schema["oneOf"].as_array().unwrap();
    let mut known: Vec<&str> =
        variants.iter().map(|variant| variant["properties"]["type"]["const"].as_str().unwrap()).collect();
    known.sort_unstable();
    let log = life();
    let mut written: Vec<&str> = log.iter().map(|event| event.kind.name()).collect();
    written.sort_unstable();
    written.dedup();
    assert_eq!(written, known);
}

#[test]
fn after_every_event_the_state_can_be_stored_as_its_published_schema_says() {
    let mut state = State::new("test".parse().unwrap());
    assert_eq!(check::stored(&state).unwrap(), state);
    for event in life() {
        apply(&mut state, &event);
        check::stored(&state).unwrap_or_else(|problem| panic!("{problem}"));
        let fits =
            |name, value| check::fits_schema(name, &value).unwrap_or_else(|problem| panic!("{}: {problem}", event.id));
        fits("State", serde_json::to_value(&state).unwrap());
        state.calls.iter().for_each(|call| fits("Call", serde_json::to_value(call).unwrap()));
        pending(&state).values().for_each(|effect| fits("Effect", serde_json::to_value(effect).unwrap()));
        pack(&state).iter().for_each(|packed| fits("Packed", serde_json::to_value(packed).unwrap()));
    }
}

#[test]
fn a_stored_state_of_another_version_is_refused_and_not_guessed_at() {
    let stored = serde_json::to_value(State::new("test".parse().unwrap())).unwrap();
    let changed = |change: fn(&mut serde_json::Map<String, serde_json::Value>)| {
        let mut stored = stored.clone();
        change(stored.as_object_mut().unwrap());
        serde_json::from_value::<State>(stored).unwrap_err().to_string()
    };
    let unknown = changed(|state| drop(state.insert("mood".into(), "good".into())));
    assert!(unknown.starts_with("unknown field `mood`"), "{unknown}");
    assert_eq!(changed(|state| drop(state.remove("tree"))), "missing field `tree`");
}

#[test]
fn an_event_of_an_unknown_type_is_not_taken_for_another() {
    assert!(EventKind::decode("no_such_event", "{}").is_none());
    assert!(serde_json::from_str::<Event>(r#"{"id":1,"ts":1,"turn":0,"type":"no_such_event","data":{}}"#).is_err());
}
