//! A seeded simulation of an agent's life: random inputs, crashes after single events, virtual time. No I/O, so the same
//! seed gives the same life on every machine.

mod children;
mod drawn;
mod forks;
mod said;
mod spec;

use crate::plans::hook_texts;
use crate::{check, prefix};
use fastrand::Rng;
use mainpath_core::{
    Answered, CallState, Edit, Effect, EffectKey, Input, InputKind, Log, Machine, Packed, Packer, Probed, Refusal,
    Reply, State, TimerKey, apply, model_summary, next_step, pack, pending, summarise, summary_input,
};
use mainpath_types::{
    Asking, Breach, BudgetMode, CallId, ChildLimits, Decision, EffectClass, Event, EventId, EventKind, Fallback,
    FileChange, FileState, Finished, Limits, MessageMode, MessageReceived, Millis, ModelError, ModelErrorKind, Part,
    PlannedCall, Principal, QuestionSent, RateLimit, Recovery, RewindRequested, Seq, Shares, SkillBy, SkillSelected,
    StopReason, SummaryMode, ToolOutput, Usage, Verdict,
};
pub use spec::{hearing, spec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How hostile the world is.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// Of a hundred steps, how many crash the process somewhere inside the last batch.
    pub crashes: u32,
    /// Of a hundred steps, how many offer an input that makes no sense.
    pub nonsense: u32,
}

/// An agent, what surrounds it, and everything that is checked about it.
pub struct World {
    /// The virtual time.
    pub now: Millis,
    /// The seed, for messages.
    pub seed: u64,
    faults: Faults,
    rng: Rng,
    /// The agent.
    pub machine: Machine,
    /// Its log.
    pub log: Vec<Event>,
    bodies: Log,
    last_batch: usize,
    recovered_batch: bool,
    /// Whether what is offered is not the last of what was said.
    more: bool,
    packs: BTreeMap<u32, Packed>,
    /// What packs the requests of one process, one after the other.
    packer: Packer,
    /// The events that broke what the main path showed, and how many items of it stand after each.
    broken: BTreeMap<EventId, usize>,
    not_done: BTreeSet<CallId>,
}

impl World {
    /// A new world. The seed also draws the limits.
    pub fn new(seed: u64, faults: Faults) -> World {
        let mut rng = Rng::with_seed(seed);
        let machine = Machine::new("sim".parse().expect("a valid id"));
        let some = |rng: &mut Rng, low: u32, high: u32| rng.bool().then(|| rng.u32(low..high));
        let limits = Limits {
            turns: some(&mut rng, 1, 12),
            calls: some(&mut rng, 1, 12),
            calls_per_turn: some(&mut rng, 1, 4),
            script_runs: some(&mut rng, 1, 4),
            run_timeout_ms: some(&mut rng, 500, 20_000).map(u64::from),
            call_timeout_ms: some(&mut rng, 100, 2_000).map(u64::from),
            tokens: some(&mut rng, 300, 20_000).map(u64::from),
            money: some(&mut rng, 1_000, 100_000).map(u64::from),
            budget: if rng.bool() { BudgetMode::Soft } else { BudgetMode::Hard },
            repeated_failures: some(&mut rng, 1, 4),
            model_retries: rng.u32(0..3),
            call_retries: rng.u32(0..3),
            approval_timeout_ms: some(&mut rng, 50, 3_000).map(u64::from),
            observation_chars: None,
            window_messages: some(&mut rng, 2, 12),
            inject_every: some(&mut rng, 1, 6),
            standing: rng.u32(0..4) == 0,
            recovery: if rng.bool() { Recovery::Rerun } else { Recovery::Notify },
            context_chars: some(&mut rng, 800, 4_000).filter(|_| rng.bool()),
            shares: Shares::default(),
            finished_goals: if rng.bool() { Finished::Lazy } else { Finished::EveryTurn },
            summary: *rng.choice(&[SummaryMode::Rules, SummaryMode::Single, SummaryMode::Agent]).expect("three modes"),
            children: ChildLimits { depth: rng.u8(0..3), at_once: rng.u16(1..4), in_all: rng.u16(1..8) },
        };
        let window = if rng.bool() { rng.u32(200..900) } else { 100_000 };
        let mut world = World {
            now: 1_000,
            seed,
            faults,
            rng,
            machine,
            log: Vec::new(),
            bodies: Log::default(),
            last_batch: 0,
            recovered_batch: false,
            more: false,
            packs: BTreeMap::new(),
            packer: Packer::default(),
            broken: BTreeMap::new(),
            not_done: BTreeSet::new(),
        };
        let mut spec = hearing(spec(limits, window));
        for tool in &mut spec.tools {
            tool.max_calls = (world.rng.u32(0..4) == 0).then(|| world.rng.u32(0..4));
            tool.rate = (world.rng.u32(0..3) == 0)
                .then(|| RateLimit { calls: world.rng.u32(1..3), per_ms: world.rng.u64(100..3_000) });
        }
        spec.context_hooks.extend(["news", "alerts"].into_iter().map(String::from).take(world.rng.usize(0..3)));
        let (price, context_window) = (spec.price, window / 2 + 100);
        let other = |model: &str| Fallback {
            model: model.into(),
            model_by: None,
            context_window,
            reserved_output: 32,
            price,
            temperature: None,
        };
        spec.fallback.extend(["second", "third"].into_iter().take(world.rng.usize(0..3)).map(other));
        let set = world.offer(InputKind::SetSpec { spec: Arc::new(spec), by: None });
        assert!(set.is_ok(), "seed {seed}: {set:?}");
        world.say(MessageMode::Message);
        world
    }

    /// Lives for so many steps, then lets everything come to its end, and checks all along.
    pub fn live(&mut self, steps: u32) {
        for _ in 0..steps {
            self.step();
        }
        self.fork();
        self.end();
        self.fork();
    }

    fn step(&mut self) {
        self.now += self.rng.u64(0..400);
        let roll = self.rng.u32(0..100);
        if roll < self.faults.crashes {
            return self.crash();
        }
        if roll < self.faults.crashes + self.faults.nonsense {
            let kind = self.nonsense();
            let before = self.machine.state().clone();
            if self.offer(kind.clone()).is_err() {
                assert_eq!(
                    before,
                    *self.machine.state(),
                    "seed {}: a refused input changed the state: {kind:?}",
                    self.seed
                );
            }
            return;
        }
        match self.rng.u32(0..21) {
            20 => self.said_at_once(),
            0 => self.say(MessageMode::Message),
            1 => self.say(MessageMode::Steer),
            2 => self.say(MessageMode::FollowUp),
            8 if self.rng.bool() => self.offer_any(InputKind::Continue { by: Principal::local_user() }),
            3 if self.rng.u32(0..4) == 0 => self.offer_any(InputKind::Stop { by: Principal::local_user() }),
            4 => self.rewind(),
            5 => self.tick(),
            6 if self.rng.bool() => {
                let by = self.rng.u32(1..5);
                self.offer_any(InputKind::ExpandContext { by });
            }
            7 if self.rng.bool() => self.plan(),
            10 if self.rng.u32(0..6) == 0 => {
                let (to, by) = (self.rng.u64(0..9), Principal::local_user());
                let before = pending(self.machine.state());
                self.offer_any(InputKind::RestoreFiles { to, changes: vec![drawn::change()], by });
                assert_eq!(before, pending(self.machine.state()), "seed {}: files are no effect", self.seed);
            }
            9 if self.rng.u32(0..6) == 0 => self.offer_any(InputKind::Clear { by: Principal::local_user() }),
            9 if self.rng.bool() => self.import(),
            11 if self.rng.bool() => self.think_better(),
            12 if self.rng.u32(0..3) == 0 => self.skill(),
            13 if self.rng.u32(0..3) == 0 => self.hears_of_another(),
            _ => self.work(),
        }
    }

    /// Answers one effect that is pending.
    fn work(&mut self) {
        let pending: Vec<(EffectKey, Effect)> = self.machine.pending().expect("committed").into_iter().collect();
        let Some((key, effect)) = self.rng.choice(&pending).cloned() else { return self.say(MessageMode::Message) };
        let kind = match (key, &effect) {
            (EffectKey::Model(request), _) => self.model(request),
            (EffectKey::Tool(call, attempt), _) if self.rng.u32(0..8) == 0 => return self.keeps_files(call, attempt),
            (EffectKey::Tool(call, attempt), _) => {
                let output = self.output();
                let tokens = if self.rng.u32(0..12) == 0 { self.rng.u32(60..900) } else { self.rng.u32(1..60) };
                InputKind::ToolFinished { call, attempt, output, tokens }
            }
            (EffectKey::EndChild(call, nth), _) => children::stopped(self.machine.state(), call, nth),
            (EffectKey::Kill(call, attempt), _) if self.rng.u32(0..4) > 0 || self.starts_agents(call) => {
                InputKind::ToolDead { call, attempt, output: None, tokens: 0 }
            }
            (EffectKey::Child(..) | EffectKey::HandBack(_), effect) => {
                children::answer(self.machine.state(), effect, &mut self.rng)
            }
            (EffectKey::Kill(call, attempt), _) => {
                InputKind::ToolFinished { call, attempt, output: ToolOutput::text("late"), tokens: 3 }
            }
            (EffectKey::Probe(call, attempt), _) => {
                let answer = match self.rng.u32(0..3) {
                    0 => Probed::Done { output: ToolOutput::text("was done"), tokens: 3 },
                    1 => Probed::NotDone,
                    _ => Probed::Unknown,
                };
                if answer == Probed::NotDone {
                    self.not_done.insert(call);
                }
                InputKind::ToolProbed { call, attempt, answer }
            }
            (EffectKey::Approval(call), _) => self.decision(call),
            (EffectKey::Answer(call), _) => {
                let by = Principal::local_user();
                InputKind::Answered(Answered { call, output: ToolOutput::text("yes"), tokens: 3, by })
            }
            (EffectKey::Hooks(turn), _) => InputKind::ContextTexts { turn, texts: hook_texts(&mut self.rng) },
            (EffectKey::Timer(key), Effect::Timer { at }) => {
                self.now = self.now.max(*at);
                InputKind::Timer { key }
            }
            (EffectKey::Summary(_), effect) => self.summary(effect),
            (EffectKey::Send(call), _) => self.sent(call),
            (EffectKey::Timer(_), _) => unreachable!("a timer key has a timer"),
        };
        let outcome = self.offer(kind.clone());
        assert!(outcome.is_ok(), "seed {}: {key} was pending, yet {kind:?} was refused: {outcome:?}", self.seed);
    }

    fn starts_agents(&self, call: CallId) -> bool {
        self.machine.state().calls.get(call).is_some_and(|call| call.effect == EffectClass::StartChild)
    }

    fn model(&mut self, request: u32) -> InputKind {
        let model = self.machine.state().model.expect("a request is pending");
        let room = u32::try_from(model.reserve).unwrap_or(u32::MAX).saturating_sub(model.input).max(1);
        let usage = Usage { input: model.input.into(), output: self.rng.u32(0..room).into(), ..Usage::default() };
        let usage = self.rng.bool().then_some(usage);
        match self.rng.u32(0..12) {
            0 => {
                use ModelErrorKind::*;
                let kinds = [RateLimit, StreamCut, Auth, NotFound, Overflow, ContentFilter];
                let kind = *self.rng.choice(&kinds).expect("six kinds");
                let usage = usage.filter(|_| kind == ContentFilter);
                let error = ModelError { kind, message: "no".into(), status: None, retry_after_ms: None };
                InputKind::ModelFailed {
                    request,
                    error,
                    retry_at: Some(self.now + self.rng.u64(1..900)),
                    usage,
                    received: 0,
                }
            }
            1 => {
                let reply = self.reply(request, 0, usage);
                let reply = Box::new(Reply { tokens: reply.tokens.min(room), ..reply });
                InputKind::ModelMalformed {
                    reply,
                    problem: "no JSON".into(),
                    breach: Breach::Protocol,
                    repair_tokens: 12,
                }
            }
            2 => InputKind::ModelUnsent { request },
            _ => {
                let calls = if self.rng.u32(0..3) == 0 { 0 } else { self.rng.u16(1..5) };
                let mut reply = self.reply(request, calls, usage);
                // Its server was told how long it may be.
                reply.tokens = reply.tokens.min(room);
                InputKind::ModelFinished(Box::new(reply))
            }
        }
    }

    fn tick(&mut self) {
        let pending = self.machine.pending().expect("committed");
        let next = pending.iter().find_map(|(key, effect)| match (key, effect) {
            (EffectKey::Timer(key), Effect::Timer { at }) => Some((*key, *at)),
            _ => None,
        });
        if let Some((key, at)) = next {
            if self.now < at {
                assert_eq!(self.offer(InputKind::Timer { key }), Err(Refusal::NotDue(at)), "seed {}", self.seed);
            }
            self.now = self.now.max(at);
            let due = self.offer(InputKind::Timer { key });
            assert!(due.is_ok(), "seed {}: {due:?}", self.seed);
        }
    }

    /// The process dies inside the last batch: any part of it may be lost, but nothing before.
    fn crash(&mut self) {
        let from = self.log.len() - self.last_batch;
        let keep = if self.last_batch == 0 { from } else { from + self.rng.usize(0..=self.last_batch) };
        if !self.recovered_batch && keep > from {
            self.check_remainder(keep);
        }
        self.log.truncate(keep);
        self.last_batch = 0;
        self.bodies = Log::default();
        self.bodies.extend(&self.log);
        let folded = Machine::fold(self.machine.state().trace.clone(), &self.log);
        // It goes on as well from a state that was stored and read back.
        let stored = check::stored(folded.state()).unwrap_or_else(|problem| panic!("seed {}: {problem}", self.seed));
        self.machine = Machine::resume(stored);
        self.packer = Packer::default();
        self.packs.retain(|request, _| *request <= self.machine.state().counts.requests);
        self.broken.retain(|event, _| *event <= self.machine.state().log.last);
        if self.log.is_empty() {
            return;
        }
        let recovered = self.offer(InputKind::Recovered { lost: true, tail_cut: None });
        assert!(recovered.is_ok(), "seed {}: {recovered:?}", self.seed);
        self.recovered_batch = true;
    }

    /// What a torn batch lost is what `next_step` says again.
    fn check_remainder(&self, keep: usize) {
        let mut state = State::new(self.machine.state().trace.clone());
        self.log[..keep].iter().for_each(|event| apply(&mut state, event));
        for lost in &self.log[keep..] {
            let derived = next_step(&state);
            assert_eq!(derived.as_ref(), Some(&lost.kind), "seed {}: a torn batch is not derived again", self.seed);
            apply(&mut state, lost);
        }
        assert!(next_step(&state).is_none() || self.machine.holds_back(), "seed {}", self.seed);
    }

    fn offer_any(&mut self, kind: InputKind) {
        let before = self.machine.state().clone();
        if self.offer(kind).is_err() {
            assert_eq!(before, *self.machine.state(), "seed {}: a refusal changed the state", self.seed);
        }
    }

    fn offer(&mut self, kind: InputKind) -> Result<(), Refusal> {
        let before = self.machine.state().clone();
        let batch = self.machine.handle(&Input { more: self.more, ..Input::new(self.now, kind) })?;
        assert!(batch.len() < 200, "seed {}: a batch of {} events", self.seed, batch.len());
        if let Some(last) = batch.last() {
            assert_eq!(self.machine.pending(), None, "seed {}: effects before the commit", self.seed);
            self.machine.commit(last.id);
            self.recovered_batch = false;
            self.last_batch = batch.len();
        }
        self.bodies.extend(&batch);
        let fail = |problem: String| panic!("seed {}: {problem}", self.seed);
        let mut live = before;
        for event in &batch {
            check::event(&live, event, &self.not_done).unwrap_or_else(fail);
            let before = live.clone();
            apply(&mut live, event);
            if let EventKind::RunFinished(finished) = &event.kind {
                check::finished(&live, finished).unwrap_or_else(fail);
            }
            if matches!(event.kind, EventKind::Rewound(_)) {
                self.check_plan(&live, &batch).unwrap_or_else(fail);
            }
            let broken = prefix::broken(&before, event, &live, &self.bodies);
            let broken = broken.unwrap_or_else(|problem| panic!("seed {}: {problem}", self.seed));
            self.broken.extend(broken.map(|stands| (event.id, stands)));
        }
        assert_eq!(live, *self.machine.state(), "seed {}: the live state is not the fold of its log", self.seed);
        self.log.extend(batch);
        if !self.more {
            self.check();
        }
        Ok(())
    }

    fn check(&mut self) {
        let state = self.machine.state();
        let fail = |problem: String| {
            panic!("seed {}: {problem}\n{:#?}", self.seed, self.log.iter().rev().take(12).collect::<Vec<_>>())
        };
        let pending = self.machine.pending().expect("committed");
        check::alive(state, &pending).unwrap_or_else(fail);
        check::granted(&pending, &self.bodies).unwrap_or_else(fail);
        check::counted(state).unwrap_or_else(fail);
        let Some(model) = state.model else { return };
        let packed = pack(state).expect("a run has a spec");
        let next = self.packer.pack(state);
        assert_eq!(next, Some(&packed), "seed {}: what is new alone makes another pack", self.seed);
        check::packed(state, &self.bodies, &packed).unwrap_or_else(fail);
        check::fits(state).unwrap_or_else(fail);
        prefix::request(state, &packed).unwrap_or_else(fail);
        if let Some(first) = self.packs.get(&model.request) {
            assert_eq!(*first, packed, "seed {}: the pack of a pending request changed", self.seed);
            return;
        }
        if let Some((last, before)) = self.packs.last_key_value() {
            let made = |event: &Event| matches!(&event.kind, EventKind::ModelRequested(data) if data.request == *last);
            let since = self.log.iter().rposition(made).expect("it is in the log");
            prefix::under(before, &packed, &self.log, &self.log[since..]).unwrap_or_else(fail);
        }
        self.packs.insert(model.request, packed);
    }

    /// Everything that is pending is answered kindly until nothing is, then nothing may be left over.
    fn end(&mut self) {
        for round in 0..2_000 {
            let pending = self.machine.pending().expect("committed");
            if pending.is_empty() {
                break;
            }
            let last = || self.log.iter().rev().take(12).collect::<Vec<_>>();
            assert!(round < 1_999, "seed {}: no end: {:#?}", self.seed, last());
            let (key, effect) =
                pending.iter().find(|(key, _)| !key.is_waiting()).or(pending.iter().next()).expect("some");
            let (key, effect) = (*key, effect.clone());
            let kind = match (key, effect) {
                (EffectKey::Model(request), _) => {
                    let model = self.machine.state().model.expect("pending");
                    let usage = Some(Usage { input: model.input.into(), output: 1, ..Usage::default() });
                    InputKind::ModelFinished(Box::new(self.reply(request, 0, usage)))
                }
                (EffectKey::Hooks(turn), _) => InputKind::ContextTexts { turn, texts: Vec::new() },
                (EffectKey::Timer(key), Effect::Timer { at }) => {
                    self.now = self.now.max(at);
                    InputKind::Timer { key }
                }
                (EffectKey::Tool(call, attempt), _) => {
                    InputKind::ToolFinished { call, attempt, output: ToolOutput::text("ok"), tokens: 2 }
                }
                (EffectKey::EndChild(call, nth), _) => children::stopped(self.machine.state(), call, nth),
                (EffectKey::Child(..) | EffectKey::HandBack(_), effect) => {
                    children::answer(self.machine.state(), &effect, &mut self.rng)
                }
                (EffectKey::Kill(call, attempt), _) => InputKind::ToolDead { call, attempt, output: None, tokens: 0 },
                (EffectKey::Probe(call, attempt), _) => {
                    InputKind::ToolProbed { call, attempt, answer: Probed::Unknown }
                }
                (EffectKey::Approval(call), _) => InputKind::Deny { call, by: Principal::local_user(), reason: None },
                (EffectKey::Answer(call), _) => InputKind::Answered(Answered {
                    call,
                    output: ToolOutput::text("yes"),
                    tokens: 2,
                    by: Principal::local_user(),
                }),
                (EffectKey::Summary(_), effect) => self.summary(&effect),
                (EffectKey::Send(call), _) => self.sent(call),
                (EffectKey::Timer(_), _) => unreachable!("a timer key has a timer"),
            };
            let outcome = self.offer(kind);
            assert!(outcome.is_ok(), "seed {}: {key}: {outcome:?}", self.seed);
        }
        let state = self.machine.state();
        assert_eq!(
            (&state.run, &state.model, &state.turn, &state.branch),
            (&None, &None, &None, &None),
            "seed {}",
            self.seed
        );
        assert!(state.calls.iter().all(|call| call.state.is_done()), "seed {}: a call is left over", self.seed);
        assert_eq!(state.children.open().count(), 0, "seed {}: a child outlives its run", self.seed);
        assert!(state.queues.is_empty() || state.queues.held, "seed {}: mail is left over", self.seed);
        check::log(&self.log).unwrap_or_else(|problem| panic!("seed {}: {problem}", self.seed));
    }
}
