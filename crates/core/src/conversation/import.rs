//! Messages from elsewhere: a conversation that was held without Mainpath, taken in as facts that it did not decide.

use crate::{Call, CallState, Demands, NodeKind, Refusal, State, demands_of, estimate_parts};
use mainpath_types::{CallId, EffectClass, EventId, EventKind, MessageImported, Part, Resolution, Role};

impl State {
    /// Whether messages from elsewhere can join now: not during a run, nor while messages wait for one.
    pub fn can_take_in(&self) -> bool {
        self.run.is_none()
            && self.between_runs.rewind.is_none()
            && self.queues.is_empty()
            && self.between_runs.opening.is_none()
    }

    /// Whether, and as what, a message from elsewhere joins the conversation. Its results get the ids of their calls.
    /// Refused during a run and while messages wait; an assistant's calls must all have results.
    pub(crate) fn take_in(&self, message: &MessageImported) -> Result<EventKind, Refusal> {
        if self.coming_spec().is_none() {
            return Err(Refusal::NoSpec);
        }
        if !self.can_take_in() {
            return Err(Refusal::Running);
        }
        let seq = self.tree.next_seq();
        let mut message = MessageImported { seq, ..message.clone() };
        let said = message.said();
        let calls = said.iter().filter(|part| matches!(part, Part::ToolCall { .. })).count();
        let fits = match message.role {
            Role::User => calls == 0,
            Role::Assistant => self.tree.head.is_some() && calls <= usize::from(u16::MAX),
            Role::Tool => false,
        };
        if said.is_empty() {
            return Err(Refusal::Empty);
        }
        if !fits || calls != message.results().count() {
            return Err(Refusal::BadImport);
        }
        message.tokens = estimate_parts(&said);
        let demands = if message.role == Role::User { demands_of(&said) } else { Demands::default() };
        (message.demands, message.demanded) = (demands.tokens, demands.at);
        message.result_tokens = message.results().map(|(content, _)| estimate_parts(content)).collect();
        let (mut parts, mut index) = (said, 0);
        for mut part in message.parts.drain(..) {
            if let Part::ToolResult { call, .. } = &mut part {
                *call = CallId { seq, index };
                index += 1;
                parts.push(part);
            }
        }
        message.parts = parts;
        Ok(message.into())
    }

    pub(crate) fn import(&mut self, event: EventId, data: &MessageImported) {
        if let Some(spent) = data.recorded.as_ref().and_then(|recorded| recorded.spent) {
            self.spent += spent;
        }
        let goal = self.goals.focus;
        let calls = u16::try_from(data.results().count()).unwrap_or(u16::MAX);
        let kind = if data.role == Role::User { NodeKind::User } else { NodeKind::Assistant { calls } };
        let seq = self.tree.push(self.tree.head, event, kind, data.tokens, goal);
        self.tree.head = Some(seq);
        self.tree.set_demands(seq, data.demands);
        // A vendor that signed it did so elsewhere, after words that need not be the same.
        self.tree.set_apart(seq);
        for (index, (_, failed)) in (0..calls).zip(data.results()) {
            let id = CallId { seq, index };
            let resolution = if failed { Resolution::Error } else { Resolution::Ok };
            let tokens = data.result_tokens.get(usize::from(index)).copied().unwrap_or_default();
            self.calls.push(Call {
                id,
                tool: None,
                effect: EffectClass::SideEffecting,
                can_probe: false,
                timeout_ms: None,
                state: CallState::Done(resolution),
                attempt: 0,
                started: self.log.now,
                not_before: 0,
                judged: None,
                question: None,
                approved: false,
                arguments: event,
                result: event,
                tokens,
                memory: None,
                once: false,
                reopened: false,
                may_be_late: false,
            });
            let result = self.tree.push(self.tree.head, event, NodeKind::Result(id), tokens, goal);
            self.tree.head = Some(result);
        }
    }
}
