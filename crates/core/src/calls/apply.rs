//! A call enters the table, moves on in it, and ends; results join the conversation in the order of the calls.

use crate::calls::end::note_tokens;
use crate::context::loss::saves;
use crate::run::progress::{Outcome, output_result, text_result};
use crate::{Call, CallState, Judged, NodeKind, Question, State, ToolHead, estimate};
use mainpath_types::{
    ActionStarted, ApprovalGranted, CallId, CallResolved, Decision, EffectClass, EventId, Millis, PlannedCall,
    Resolution, ResolveCause,
};
use std::sync::Arc;

impl State {
    /// A call enters the table: to wait, to be asked for, or as good as ended.
    pub(crate) fn plan(&mut self, event: EventId, id: CallId, planned: &PlannedCall) {
        let named = |tool: &&ToolHead| planned.tool.as_deref() == Some(&*tool.name);
        let tool = self.spec.as_ref().and_then(|spec| spec.tools.iter().find(named)).cloned();
        let ended = planned.ended();
        let asked = planned.verdict.as_ref().is_some_and(|verdict| verdict.decision == Decision::Ask);
        let state = match ended {
            Some((resolution, _)) => CallState::Done(resolution),
            None if asked => CallState::Asked,
            None => CallState::Ready,
        };
        self.calls.push(Call {
            id,
            tool: tool.as_ref().map(|tool| Arc::clone(&tool.name)),
            effect: tool.as_ref().map_or(EffectClass::SideEffecting, |tool| tool.effect),
            can_probe: tool.as_ref().is_some_and(|tool| tool.can_probe),
            timeout_ms: tool.as_ref().and_then(|tool| tool.timeout_ms),
            state,
            attempt: 0,
            started: self.log.now,
            not_before: 0,
            judged: Judged::boxed(planned.verdict.clone().filter(|_| !state.is_done()), &planned.places),
            question: Question::boxed(planned.asking.as_deref().filter(|_| !state.is_done())),
            approved: false,
            arguments: event,
            result: event,
            tokens: ended.map_or(0, |(_, text)| estimate(text).saturating_add(note_tokens(planned.repeated))),
            memory: None,
            once: planned.once,
            reopened: false,
            may_be_late: false,
        });
        if let Some((_, text)) = ended {
            self.note_result(id, text_result(text));
        }
    }

    pub(crate) fn start_call(&mut self, data: &ActionStarted, at: Millis) {
        let first = self.calls.get(data.call).is_some_and(|call| call.attempt == 0);
        self.calls.start(data.call, data.attempt, at);
        let Some(name) = self.calls.get(data.call).and_then(|call| call.tool.clone()) else { return };
        if let Some(limit) = self.tool(&name).and_then(|tool| tool.rate) {
            self.rates.entry(Arc::clone(&name)).or_default().take(limit, at);
        }
        if first {
            self.with_run(|run| {
                run.calls = run.calls.saturating_add(1);
                let of_tool = run.tool_calls.entry(name).or_default();
                *of_tool = of_tool.saturating_add(1);
            });
        }
    }

    pub(crate) fn delay_call(&mut self, id: CallId, until: Millis) {
        if let Some(call) = self.calls.get_mut(id) {
            call.not_before = until;
        }
    }

    pub(crate) fn set_call(&mut self, id: CallId, state: CallState) {
        if let Some(call) = self.calls.get_mut(id) {
            call.state = state;
        }
    }

    pub(crate) fn approve(&mut self, id: EventId, data: &ApprovalGranted) {
        if let Some(rule) = &data.rule
            && !self.approvals.rules.iter().any(|known| **known == **rule)
        {
            self.approvals.rules.push(rule.as_str().into());
        }
        if self.calls.get(data.call).is_some_and(|call| call.state.is_done()) {
            return self.note_reopened(id, data);
        }
        let Some(call) = self.calls.get_mut(data.call) else { return };
        call.state = CallState::Ready;
        call.approved = true;
        if data.arguments.is_some() {
            call.arguments = id;
            call.judged = Judged::boxed(data.verdict.clone(), &data.places);
            call.question = Question::boxed(data.asking.as_deref());
        }
    }

    pub(crate) fn resolve(&mut self, id: EventId, data: &CallResolved) {
        let may_be_late =
            data.attempt > 0 && !matches!(data.cause, ResolveCause::Result | ResolveCause::QuestionExpired);
        self.calls.resolve(data.call, data.resolution, id, data.tokens, may_be_late);
        let once = data.output.as_ref().is_some_and(|output| output.include_output_only_once);
        if let Some(call) = self.calls.get_mut(data.call) {
            (call.memory, call.once) = (data.memory, once);
        }
        match data.resolution {
            Resolution::Ok | Resolution::Error | Resolution::Denied => {
                self.note_result(data.call, output_result(data.output.as_ref()));
            }
            Resolution::Skipped => self.with_run(|run| {
                run.calls_spent |= data.cause == ResolveCause::CallBudget;
                run.scripts_spent |= data.cause == ResolveCause::ScriptBudget;
            }),
            Resolution::Interrupted | Resolution::Unknown => {}
        }
    }

    pub(crate) fn note_result(&mut self, call: CallId, result: Outcome) {
        let request = self.counts.requests;
        self.with_run(|run| run.progress.note_result(call.index, result, request));
    }

    /// The results enter the tree in call order. They serve their assistant message's goal.
    pub(crate) fn finish_turn(&mut self) {
        if !self.wants_summary()
            && let (Some(run), Some(turn)) = (&mut self.run, self.turn)
        {
            run.progress.note_turn(self.calls.of(turn.assistant));
        }
        let Some(turn) = self.turn.take() else { return };
        let goal = self.tree.node(turn.assistant).and_then(|node| node.goal);
        let results: Vec<(CallId, EventId, u32, u32)> = self
            .calls
            .of(turn.assistant)
            .iter()
            .map(|call| (call.id, call.result, call.tokens, if call.once { saves(call) } else { 0 }))
            .collect();
        for (call, event, tokens, once) in results {
            let tip = self.tip();
            let seq = self.tree.push(tip, event, NodeKind::Result(call), tokens, goal);
            self.tree.set_once(seq, once);
            self.set_tip(seq);
        }
        self.leave_aside();
    }
}
