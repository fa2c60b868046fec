//! What models, tools, people and fools say in a simulated life.

use super::spec::TOOLS;
use super::{
    Answered, Asking, CallId, CallState, Decision, Edit, Effect, EffectClass, FileChange, FileState, InputKind,
    MessageReceived, Part, PlannedCall, Principal, QuestionSent, Reply, RewindRequested, Seq, SkillBy, SkillSelected,
    StopReason, TimerKey, ToolOutput, Usage, Verdict, World, hook_texts, model_summary, pending, summarise,
    summary_input,
};
use crate::plans::goal_op;
use mainpath_types::CHECK_MESSAGES;

impl World {
    /// A skill is loaded: by a running call, by a person, or by whoever set the agent up.
    pub(super) fn skill(&mut self) {
        let running = self.machine.state().turn_calls().iter().filter(|call| call.state == CallState::Started);
        let running: Vec<CallId> = running.map(|call| call.id).collect();
        let call = self.rng.choice(&running).copied();
        let by = match (call, self.rng.bool()) {
            (Some(_), true) => SkillBy::Model,
            (_, true) => SkillBy::Preset,
            (_, false) => SkillBy::Person,
        };
        let skill = format!("skill-{}", self.rng.u32(0..6));
        let (text, tokens) = (format!("how {skill} is done"), self.rng.u32(5..60));
        self.offer_any(InputKind::SelectSkill(Box::new(SkillSelected {
            hash: skill.clone(),
            skill,
            source: "user".into(),
            by,
            call: call.filter(|_| by == SkillBy::Model),
            person: None,
            reason: "it fits".into(),
            folder: None,
            effect: EffectClass::ReadOnly,
            tokens,
            parts: vec![Part::text(text)],
        })));
    }

    /// Another agent sends a message, now and then one that came before.
    pub(super) fn hears_of_another(&mut self) {
        let (from, text) = (Principal::agent("other"), format!("news {}", self.rng.u32(0..9)));
        let id = self.rng.bool().then(|| format!("msg_{}", self.rng.u32(0..6)));
        self.offer_any(InputKind::Receive(MessageReceived { from, conversation: None, id, text }));
    }

    /// A call that reads what waits in the inbox, some of it or all.
    fn checks(&mut self) -> PlannedCall {
        let mut messages: Vec<_> = self.machine.state().inbox.unread().map(|arrival| arrival.event).collect();
        messages.truncate(self.rng.usize(0..=messages.len()));
        let verdict = Verdict { decision: Decision::Allow, rule: "sim".into(), reason: String::new() };
        let (tool, answer) = (Some(CHECK_MESSAGES.into()), Some("what others say".into()));
        PlannedCall { tool, verdict: Some(verdict), answer, messages, ..PlannedCall::default() }
    }

    pub(super) fn reply(&mut self, request: u32, calls: u16, usage: Option<Usage>) -> Reply {
        let mut parts = vec![Part::text(format!("answer {request}"))];
        let mut planned = Vec::new();
        for _ in 0..calls {
            let (name, effect, _) = *self.rng.choice(&TOOLS).expect("six tools");
            parts.push(Part::ToolCall { name: name.into(), arguments: "{}".into(), signature: None });
            let decision = match self.rng.u32(0..10) {
                0 => Decision::Deny,
                1..4 => Decision::Ask,
                _ => Decision::Allow,
            };
            let verdict = Verdict { decision, rule: "sim".into(), reason: format!("{effect:?}") };
            planned.push(match self.rng.u32(0..12) {
                0 => PlannedCall { problem: Some("unknown tool".into()), ..PlannedCall::default() },
                2 => self.checks(),
                1 => {
                    let answer = Some("answered at once".into());
                    PlannedCall { tool: Some(name.into()), verdict: Some(verdict), answer, ..PlannedCall::default() }
                }
                _ => {
                    let (tool, verdict, places) = (Some(name.into()), Some(verdict), self.places());
                    let asking = self.asking(effect);
                    PlannedCall { tool, verdict, places, asking, ..PlannedCall::default() }
                }
            });
        }
        let stop = match calls {
            _ if self.rng.u32(0..8) == 0 => StopReason::MaxTokens,
            0 => StopReason::End,
            _ => StopReason::ToolCalls,
        };
        let goals = (0..self.rng.usize(0..4)).map(|_| goal_op(&mut self.rng)).collect();
        let tokens = self.rng.u32(1..60);
        let aside = calls > 0 && self.rng.u32(0..8) == 0;
        if aside {
            for call in &mut planned {
                let verdict = Verdict { decision: Decision::Allow, rule: "sim".into(), reason: String::new() };
                (call.verdict, call.answer) = (Some(verdict), Some("as it was said then".into()));
            }
        }
        let expand = (self.rng.u32(0..10) == 0).then(|| self.rng.u32(0..6));
        let tolerated = false;
        Reply { request, parts, calls: planned, goals, stop, tolerated, tokens, usage, sent: None, aside, expand }
    }

    /// What a question says about the waiting: that it expires, with a default or without, and whom it is sent to.
    fn asking(&mut self, effect: EffectClass) -> Option<Box<Asking>> {
        if effect != EffectClass::AskPerson || self.rng.u32(0..4) == 0 {
            return None;
        }
        let expires_ms = self.rng.bool().then(|| self.rng.u64(1..4_000));
        let default = self.rng.bool().then(|| "as you like".into()).filter(|_| expires_ms.is_some());
        let to = self.rng.bool().then(|| "lan".into());
        Some(Box::new(Asking { expires_ms, default, to }))
    }

    /// How the sending of a question goes.
    pub(super) fn sent(&mut self, call: CallId) -> InputKind {
        let to = "lan".into();
        InputKind::QuestionSent(match self.rng.u32(0..3) {
            0 => {
                let retry_at = self.rng.bool().then(|| self.now + self.rng.u64(1..3_000));
                QuestionSent { call, to, channel: None, receipt: None, problem: Some("no".into()), retry_at }
            }
            1 => QuestionSent { call, to, channel: Some("email".into()), receipt: None, problem: None, retry_at: None },
            _ => {
                let receipt = Some(format!("om_{call}"));
                QuestionSent { call, to, channel: Some("feishu".into()), receipt, problem: None, retry_at: None }
            }
        })
    }

    /// Where the paths of a call lead, now and then not where they are written.
    fn places(&mut self) -> Vec<String> {
        match self.rng.u32(0..4) {
            0 => vec![format!("/work/{}", self.rng.u32(0..9))],
            _ => Vec::new(),
        }
    }

    pub(super) fn decision(&mut self, call: CallId) -> InputKind {
        let by = Principal::local_user();
        let places = self.places();
        let asks = self.machine.state().calls.get(call).map(|call| call.effect);
        let asking = asks.and_then(|effect| self.asking(effect));
        let edit = |decision| Edit {
            changed_by: Vec::new(),
            asking,
            arguments: "{\"edited\":true}".into(),
            verdict: Verdict { decision, rule: "sim.edit".into(), reason: String::new() },
            places,
        };
        match self.rng.u32(0..6) {
            0 => InputKind::Deny { call, by, reason: Some("not today".into()) },
            1 => InputKind::Approve { call, by, edit: Some(edit(Decision::Deny)), rule: None },
            2 => InputKind::Approve { call, by, edit: Some(edit(Decision::Ask)), rule: None },
            _ => InputKind::Approve { call, by, edit: None, rule: None },
        }
    }

    /// Somebody denies a call that was approved or never asked about. It counts as long as an approved call has not started.
    pub(super) fn think_better(&mut self) {
        let calls = self.machine.state().turn_calls();
        let calls: Vec<(CallId, bool)> = calls.iter().map(|call| (call.id, call.is_approved_only())).collect();
        let Some((call, counts)) = self.rng.choice(&calls).copied() else { return };
        let denied = self.offer(InputKind::Deny { call, by: Principal::local_user(), reason: None });
        assert!(denied.is_ok() || !counts, "seed {}: {call} could not be denied: {denied:?}", self.seed);
    }

    pub(super) fn output(&mut self) -> ToolOutput {
        let long_term_memory = self.rng.bool().then(|| "it was tried".to_string());
        let include_output_only_once = self.rng.u32(0..3) == 0;
        let output = if self.rng.u32(0..4) == 0 {
            ToolOutput { transient: self.rng.bool(), ..ToolOutput::failed("exit_code", "it failed") }
        } else {
            ToolOutput::text("it worked, and this is what came of it")
        };
        ToolOutput { long_term_memory, include_output_only_once, ..output }
    }

    /// The summary by rules that is waited for, now and then far too long.
    pub(super) fn summary(&mut self, effect: &Effect) -> InputKind {
        let Effect::Summarise { most, below, keeps } = effect else { unreachable!("a summary key has a summary") };
        let words = below.map(|event| model_summary(&self.bodies, event).unwrap_or_default());
        let mut summary = summary_input(summarise(self.machine.state(), &self.bodies), words.as_deref(), *most, keeps);
        if let InputKind::Summarised { tokens, .. } = &mut summary
            && self.rng.u32(0..5) == 0
        {
            *tokens = 9_999;
        }
        summary
    }

    /// A running call is about to change a file, and goes on running.
    pub(super) fn keeps_files(&mut self, call: CallId, attempt: u32) {
        let before = pending(self.machine.state());
        let kept = self.offer(InputKind::KeepFiles { call, attempt, changes: vec![change()] });
        assert_eq!(kept, Ok(()), "seed {}: {call} runs", self.seed);
        assert_eq!(before, pending(self.machine.state()), "seed {}: files are no effect", self.seed);
    }

    pub(super) fn nonsense(&mut self) -> InputKind {
        let call = CallId { seq: Seq(self.rng.u32(0..30)), index: self.rng.u16(0..4) };
        let attempt = self.rng.u32(0..3);
        let by = Principal::local_user();
        match self.rng.u32(0..13) {
            11 => self.sent(call),
            10 => InputKind::KeepFiles { call, attempt: attempt + 7, changes: vec![change()] },
            8 => InputKind::ContextTexts { turn: self.rng.u32(0..20), texts: hook_texts(&mut self.rng) },
            9 => InputKind::Summarised { text: "?".into(), tokens: 1, all: false },
            0 => InputKind::ToolFinished { call, attempt: attempt + 7, output: ToolOutput::text("?"), tokens: 1 },
            1 => InputKind::ToolDead { call, attempt: attempt + 7, output: None, tokens: 0 },
            2 => InputKind::ModelFinished(Box::new(self.reply(9_999, 1, None))),
            3 => InputKind::Approve { call: CallId { seq: Seq(9_999), index: 0 }, by, edit: None, rule: None },
            4 => InputKind::Answered(Answered { call, output: ToolOutput::text("?"), tokens: 1, by }),
            5 => InputKind::Rewind(RewindRequested::again(Seq(9_999), by)),
            6 => InputKind::RecallCalls { calls: vec![call] },
            7 => InputKind::Interrupt { call },
            _ => InputKind::Timer { key: TimerKey::Call(call) },
        }
    }
}

/// What becomes of some file.
pub(super) fn change() -> FileChange {
    FileChange { path: "a".into(), before: FileState::Unknown, after: FileState::Absent }
}
