//! What people say and take in, one by one and at once.

use super::World;
use crate::plans::goal_op;
use mainpath_core::{InputKind, demands_of};
use mainpath_types::{
    CallId, Event, EventKind, MessageImported, MessageMode, MessageQueued, Part, Principal, RewindRequested, Role, Seq,
};

impl World {
    pub(super) fn plan(&mut self) {
        let ops = (0..self.rng.usize(0..3)).map(|_| goal_op(&mut self.rng)).collect();
        self.offer_any(InputKind::ChangeGoals { ops, by: Principal::local_user() });
    }

    pub(super) fn say(&mut self, mode: MessageMode) {
        let mut text = format!("message at {}.", self.now);
        let demand = match self.rng.u32(0..8) {
            0 => format!("You must do it by {}.", self.now),
            1 => format!("You must do all of this:\n- the first by {0}\n- the second by {0}\nThen go on.", self.now),
            2 => format!("You must go {}and be there by {}.", "on and on ".repeat(60), self.now),
            _ => String::new(),
        };
        let is_demand = !demand.is_empty();
        if is_demand {
            text = format!("{text} {demand} {}", "Nothing else matters here. ".repeat(9));
        }
        let parts = vec![Part::text(text)];
        // Some demand more than a small window has room for.
        let tokens = if demand.len() > 500 { self.rng.u32(90..180) } else { self.rng.u32(4..40) };
        // Some are as large as what they demand.
        let whole = self.rng.bool();
        let demanded = demands_of(&parts).at;
        let demands = match (is_demand, whole) {
            (false, _) => 0,
            (true, true) => tokens,
            (true, false) => tokens / 2 + 1,
        };
        let said = MessageQueued::new(parts, tokens, Principal::local_user());
        let said = self.offer(InputKind::UserMessage(MessageQueued { mode, demands, demanded, ..said }));
        assert!(said.is_ok(), "seed {}: {said:?}", self.seed);
    }

    /// A message from elsewhere; one in five lacks a result, and must be refused.
    pub(super) fn import(&mut self) {
        let assistant = self.rng.bool();
        let calls = if assistant { self.rng.usize(0..4) } else { 0 };
        let results = if self.rng.u32(0..5) == 0 { calls.saturating_sub(1) } else { calls };
        let mut parts = vec![Part::text("said elsewhere")];
        let call = Part::ToolCall { name: "elsewhere".into(), arguments: "{}".into(), signature: None };
        parts.extend(vec![call; calls]);
        let nowhere = CallId { seq: Seq(0), index: 0 };
        let result = |_| Part::ToolResult {
            call: nowhere,
            name: "elsewhere".into(),
            content: vec![Part::text("it was so")],
            is_error: calls > 2,
        };
        parts.extend((0..results).map(result));
        let taken = self.offer(InputKind::Import(Box::new(MessageImported {
            seq: Seq(0),
            role: if assistant { Role::Assistant } else { Role::User },
            parts,
            tokens: 0,
            result_tokens: Vec::new(),
            demands: 0,
            demanded: Vec::new(),
            source: "elsewhere".into(),
            by: Principal::local_user(),
            recorded: None,
        })));
        assert!(taken.is_err() || results == calls, "seed {}: a call without a result was taken in", self.seed);
    }

    /// Several things said before anything follows from the first.
    pub(super) fn said_at_once(&mut self) {
        let (requests, from) = (self.machine.state().counts.requests, self.log.len());
        self.more = true;
        for _ in 0..self.rng.u32(1..4) {
            match self.rng.u32(0..8) {
                0 => self.rewind(),
                1 => self.plan(),
                2 => self.think_better(),
                3 => self.offer_any(InputKind::Stop { by: Principal::local_user() }),
                4 => self.offer_any(InputKind::Clear { by: Principal::local_user() }),
                5 => self.say(MessageMode::FollowUp),
                _ => self.say(MessageMode::Steer),
            }
        }
        self.more = false;
        assert_eq!(self.machine.state().counts.requests, requests, "seed {}: a request was not held back", self.seed);
        let begins = |event: &Event| matches!(event.kind, EventKind::RunStarted(_) | EventKind::ActionStarted(_));
        assert!(!self.log[from..].iter().any(begins), "seed {}: a run or a call was not held back", self.seed);
        if self.rng.u32(0..4) == 0 {
            return self.crash();
        }
        let settled = self.offer(InputKind::Recovered { lost: false, tail_cut: None });
        assert!(settled.is_ok() && !self.machine.holds_back(), "seed {}: {settled:?}", self.seed);
    }

    pub(super) fn rewind(&mut self) {
        let most = u32::try_from(self.machine.state().tree.len()).unwrap_or(0);
        let parts = self.rng.bool().then(|| vec![Part::text("another way")]);
        let back = RewindRequested::again(Seq(self.rng.u32(0..=most)), Principal::local_user());
        self.offer_any(InputKind::Rewind(RewindRequested { parts, tokens: 6, ..back }));
    }
}
