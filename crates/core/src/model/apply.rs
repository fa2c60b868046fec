//! A request goes out; its answer, or its failure, becomes part of the state.

use crate::context::scale::believed;
use crate::{Branch, ModelCall, NodeKind, Scale, SpecHead, State, Turn};
use mainpath_types::{
    BranchKind, Breach, CallId, EventId, FinishReason, Micros, Millis, ModelErrorKind, ModelFailed, ModelFinished,
    ModelMalformed, ModelRequested, Remedy, Spent, StopReason, Usage,
};
use std::sync::Arc;

impl State {
    /// Ends the model call in flight.
    pub(crate) fn settle(&mut self, usage: Usage, cost: Micros, spent: Spent) -> Option<ModelCall> {
        self.spent += spent;
        self.with_run(|run| run.settle(usage, cost, spent));
        self.model.take()
    }

    /// A new spec takes effect. Its system text and tools have another size, so the count no longer holds.
    pub(crate) fn take_spec(&mut self) {
        if let Some(spec) = self.next_spec.take() {
            self.spec = Some(SpecHead { since: self.tree.next_seq(), ..spec });
            self.counting.counted = None;
        }
    }

    /// Another model counts tokens in its own way.
    pub(crate) fn use_model(&mut self, which: usize) {
        let since = self.tree.next_seq();
        if let Some(spec) = self.spec.as_mut().filter(|spec| spec.using != which) {
            (spec.using, spec.since) = (which, since);
            self.counting.counted = None;
        }
    }

    /// Takes in how many tokens the vendor has counted of what was estimated.
    pub(crate) fn learn(&mut self, estimated: u64, counted: u64) {
        let Some(spec) = self.spec.take() else { return };
        let mut scale = spec.model().scale;
        scale.learn(estimated, counted);
        if let (Some(learned), Some(name)) = (scale.learned, spec.names.get(spec.using)) {
            self.counting.learned.insert(Arc::clone(name), learned);
        }
        self.spec = Some(spec.scaled(&self.counting.learned));
        self.next_spec = self.next_spec.take().map(|next| next.scaled(&self.counting.learned));
    }

    pub(crate) fn request(&mut self, data: &ModelRequested, at: Millis) {
        if self.branch.is_none() {
            self.take_spec();
        }
        self.counts.requests = data.request;
        let estimate = self.estimated_tokens();
        let scale = self.spec.as_ref().map_or(Scale::default(), |spec| spec.model().scale);
        // Without the margin for what is not known yet.
        let likely = Scale { margin: 0, ..scale }.real(scale.estimated(data.input.into()));
        self.model = Some(ModelCall {
            estimate,
            likely,
            request: data.request,
            since: at,
            head: data.head,
            input: data.input,
            reserve: data.reserve,
            last: data.last.is_some(),
            minimal: data.minimal,
            standing: data.standing.as_ref().map(|_| self.log.last),
        });
        self.context.expand = None;
        self.with_run(|run| (run.last_answer, run.remedy) = (data.last.or(run.last_answer), None));
        match &mut self.branch {
            Some(branch) => branch.rounds = branch.rounds.saturating_add(1),
            None if self.run.as_ref().is_some_and(|run| !run.asking) => {
                self.counts.turns = self.counts.turns.saturating_add(1);
                self.with_run(|run| {
                    run.turns = run.turns.saturating_add(1);
                    run.asking = true;
                });
            }
            None => {}
        }
    }

    /// A valid answer. In a repair it is the turn that was asked for, so it continues the main path.
    pub(crate) fn answer(&mut self, id: EventId, data: &ModelFinished) {
        let model = self.settle(data.usage, data.cost, data.spent());
        if data.aside {
            return self.answer_aside(id, data);
        }
        let repaired = self.branch.is_some_and(|branch| branch.kind != BranchKind::Compaction);
        if repaired {
            self.branch = None;
            self.counting.counted = None;
        }
        let asked_at = model.and_then(|model| model.head);
        let calls = u16::try_from(data.calls.len()).unwrap_or(u16::MAX);
        let tip = self.tip();
        let goal = self.goals.focus;
        let seq = self.tree.push(tip, id, NodeKind::Assistant { calls }, data.tokens, goal);
        self.set_tip(seq);
        if repaired
            || !self.context.recalled.is_empty()
            || model.is_some_and(|model| model.last || model.minimal || model.standing.is_some())
        {
            self.tree.set_apart(seq);
        }
        self.change_goals(&data.goals);
        self.with_run(|run| run.progress.note_answer(&data.parts));
        for call in data.calls() {
            if self.branch.is_none() {
                self.read_messages(seq, call.planned);
            }
            self.plan(id, CallId { seq, ..call.id }, call.planned);
        }
        let last = model.is_some_and(|model| model.last);
        if calls > 0 {
            self.turn = Some(Turn { assistant: seq, last });
        }
        if self.branch.is_some() {
            if calls == 0 {
                self.branch_answered(id, data.tokens);
            }
            return;
        }
        self.context.recalled.clear();
        self.context.expand = data.expand;
        if model.is_some_and(|model| model.minimal) {
            // What was counted is not the path.
            self.counting.counted = None;
        } else if data.counted && !repaired {
            let estimate = model.map_or(0, |model| model.estimate);
            self.counting.counted = asked_at.map(|seq| (seq, believed(estimate, data.usage.input)));
            self.learn(estimate, data.usage.input);
        }
        let ends = match data.stop {
            StopReason::MaxTokens => FinishReason::MaxOutput,
            StopReason::End | StopReason::ToolCalls | StopReason::ContentFilter => FinishReason::Final,
        };
        self.with_run(|run| {
            run.asking = false;
            run.asides = 0;
            run.model_failures = 0;
            run.answered = (calls == 0).then_some(ends);
        });
    }

    /// The answer and the request to repair it hang off the frozen path; a second one gives up.
    pub(crate) fn malformed(&mut self, id: EventId, data: &ModelMalformed) {
        self.settle(data.usage, data.cost, data.spent());
        let tip = self.tip();
        let answer = self.tree.push(tip, id, NodeKind::Malformed, data.tokens, None);
        let head = self.tree.push(Some(answer), id, NodeKind::RepairPrompt, data.repair_tokens, None);
        match &mut self.branch {
            Some(branch) => {
                branch.failed = true;
                if branch.kind == BranchKind::Repair {
                    self.close(match data.breach {
                        Breach::Protocol => FinishReason::ProtocolError,
                        Breach::Schema => FinishReason::SchemaError,
                    });
                }
            }
            None => {
                let kind = BranchKind::Repair;
                self.branch = Some(Branch::new(kind, head));
            }
        }
    }

    pub(crate) fn model_failed(&mut self, data: &ModelFailed) {
        self.settle(data.usage, data.cost, data.spent());
        self.with_run(|run| {
            run.model_failures = run.model_failures.saturating_add(1);
            run.retry_at = data.retry_at;
            run.remedy = data.remedy;
        });
        if data.remedy == Some(Remedy::Fallback) {
            self.use_model(self.spec.as_ref().map_or(0, |spec| spec.using + 1));
            self.with_run(|run| (run.model_failures, run.remedy) = (0, None));
        }
        if data.retry_at.is_none() && data.remedy.is_none() {
            // A summary that the model refuses is made by rules.
            if let Some(branch) = self.branch.as_mut().filter(|branch| branch.kind == BranchKind::Compaction) {
                branch.failed = true;
                return;
            }
            let overflow = data.error.kind == ModelErrorKind::Overflow;
            self.close(if overflow { FinishReason::ContextLimit } else { FinishReason::ModelError });
        }
    }
}
