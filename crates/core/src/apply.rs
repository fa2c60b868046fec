//! From a state and an event to the next state. Total: no event, however odd, makes it fail.

use crate::Scale;
use crate::context::loss::saves;
use crate::context::scale::believed;
use crate::progress::{Outcome, Progress, output_result, text_result, told};
use crate::state::*;
use crate::{Call, CallState, Judged, ModelCall, NodeKind, Queued, Run, estimate};
use mainpath_types::*;
use std::sync::Arc;

/// Applies an event. This alone makes state; replay is nothing but this.
pub fn apply(state: &mut State, event: &Event) {
    let (id, at) = (event.id, event.ts);
    state.last = id;
    state.now = state.now.max(at);
    if let Some(mail) = event.mail {
        state.mail.note(mail);
    }
    match &event.kind {
        EventKind::SpecChanged(data) => state.next_spec = Some(SpecHead::new(id, &data.spec).scaled(&state.learned)),
        EventKind::MessageQueued(data) => {
            state.queues.push(data.mode, Queued { event: id, tokens: data.tokens, demands: data.demands })
        }
        EventKind::MessageJoined(data) => state.join(data.of),
        EventKind::RunStarted(data) => state.start_run(data, at),
        EventKind::RunClosing(data) => {
            state.close(data.reason);
            state.ended_by = data.why.is_some().then_some(id);
        }
        EventKind::RunFinished(data) => state.finish_run(data.reason),
        EventKind::ModelRequested(data) => state.request(data, at),
        EventKind::ModelFinished(data) => state.answer(id, data),
        EventKind::ModelMalformed(data) => state.malformed(id, data),
        EventKind::ModelFailed(data) => state.model_failed(data),
        EventKind::ModelAbandoned(data) => {
            state.settle((data.usage, data.cost), data.spent());
        }
        EventKind::RetryDue(RetryDue {}) => state.with_run(|run| run.retry_at = None),
        EventKind::ActionStarted(data) => {
            state.start_call(data, at);
        }
        EventKind::ApprovalGranted(data) => state.approve(id, data),
        EventKind::CallReopened(data) => state.reopen(id, data),
        EventKind::CallDelayed(data) => state.delay_call(data.call, data.until),
        EventKind::CallDue(data) => state.delay_call(data.call, 0),
        EventKind::CallRetried(data) => state.set_call(data.call, CallState::Ready),
        EventKind::CallCancelling(data) => state.set_call(data.call, CallState::Cancelling(data.cause)),
        EventKind::CallProbing(data) => state.set_call(data.call, CallState::Probing),
        EventKind::CallResolved(data) => state.resolve(id, data),
        EventKind::LateResult(data) => {
            if let Some(call) = state.calls.get_mut(data.call) {
                call.may_be_late = false;
            }
        }
        EventKind::TurnFinished(TurnFinished { .. }) => state.finish_turn(),
        EventKind::ContinueRequested(ContinueRequested { .. }) => state.opening = Some(Opening::GoOn),
        EventKind::RewindRequested(data) => {
            let message =
                data.parts.is_some().then_some(Queued { event: id, tokens: data.tokens, demands: data.demands });
            state.rewind = Some(Rewind { after: data.after, message });
            state.close(FinishReason::Stopped);
        }
        EventKind::Rewound(data) => state.rewound(data),
        EventKind::ClearRequested(ClearRequested { .. }) => state.clear_requested(),
        EventKind::SessionCleared(data) => state.session_cleared(data),
        EventKind::Forked(Forked { .. }) => state.forked(id),
        EventKind::BranchOpened(data) => state.open_branch(id, data),
        EventKind::BranchClosed(data) => state.close_branch(data),
        EventKind::CompactionRequested(CompactionRequested { .. }) => state.compaction = Some(id),
        EventKind::Compacted(data) => state.compacted(id, data),
        EventKind::ContextCut(data) => state.context_cut(id, data),
        EventKind::CallsRecalled(data) => state.recalled.extend(&data.calls),
        EventKind::Injected(data) => state.inject(id, data),
        EventKind::GoalsChanged(data) => {
            state.change_goals(&data.ops);
            state.plan_is_news = true;
            // What somebody pins is told before anything else is asked.
            state.pin_is_news |= data.ops.iter().any(|op| matches!(op, GoalOp::Pin { .. } | GoalOp::Unpin { .. }));
        }
        EventKind::MailRefused(MailRefused { .. })
        | EventKind::TailCut(TailCut { .. })
        | EventKind::FilesKept(FilesKept { .. })
        | EventKind::FilesRestored(FilesRestored { .. })
        | EventKind::Omitted(Omitted {}) => {}
        EventKind::MessageImported(data) => state.import(id, data),
        // Whoever reads the log has put what is left of them in the places of the erased events.
        EventKind::Erased(Erased { .. }) => {}
    }
    let (waits, now) = (state.waits_for_people(), state.now);
    state.with_run(|run| run.note_waiting(waits, now));
}

impl SpecHead {
    /// The head of a spec that lies in an event.
    pub fn new(event: EventId, spec: &Spec) -> SpecHead {
        let head = |tool: &ToolSpec| ToolHead {
            name: tool.name.as_str().into(),
            effect: tool.effect,
            can_probe: tool.can_probe,
            timeout_ms: tool.timeout_ms,
            max_calls: tool.max_calls,
            rate: tool.rate,
        };
        let scale = Scale { margin: spec.size_margin, learned: None };
        let model =
            |context_window, reserved_output, price| ModelHead { context_window, reserved_output, price, scale };
        let named = std::iter::once(&spec.model).chain(spec.fallback.iter().map(|other| &other.model));
        let first = model(spec.context_window, spec.reserved_output, spec.price);
        let others = spec.fallback.iter().map(|other| model(other.context_window, other.reserved_output, other.price));
        SpecHead {
            event,
            limits: spec.limits.clone().without_zeros(),
            confinement: spec.access.confinement(spec.network),
            tools: spec.tools.iter().map(head).collect(),
            has_context_hooks: !spec.context_hooks.is_empty(),
            fixed_tokens: SpecHead::fixed(spec),
            models: std::iter::once(first).chain(others).collect(),
            names: named.map(|name| name.as_str().into()).collect(),
            using: 0,
            since: Seq(1),
        }
    }
}

impl State {
    pub(crate) fn with_run(&mut self, change: impl FnOnce(&mut Run)) {
        if let Some(run) = &mut self.run {
            change(run);
        }
    }

    pub(crate) fn close(&mut self, reason: FinishReason) {
        self.with_run(|run| run.closing = Some(run.closing.unwrap_or(reason)));
    }

    /// Ends the model call in flight.
    fn settle(&mut self, charged: (Usage, Micros), spent: Spent) -> Option<ModelCall> {
        self.usage += spent.usage;
        self.cost = self.cost.saturating_add(spent.cost);
        self.about |= spent.about;
        self.with_run(|run| run.settle(charged, spent));
        self.model.take()
    }

    /// A new spec takes effect. Its system text and tools have another size, so the count no longer holds.
    fn take_spec(&mut self) {
        if let Some(spec) = self.next_spec.take() {
            self.spec = Some(SpecHead { since: self.tree.next_seq(), ..spec });
            self.counted = None;
        }
    }

    /// Another model counts tokens in its own way.
    fn use_model(&mut self, which: usize) {
        let since = self.tree.next_seq();
        if let Some(spec) = self.spec.as_mut().filter(|spec| spec.using != which) {
            (spec.using, spec.since) = (which, since);
            self.counted = None;
        }
    }

    /// Takes in how many tokens the vendor has counted of what was estimated.
    fn learn(&mut self, estimated: u64, counted: u64) {
        let Some(spec) = self.spec.take() else { return };
        let mut scale = spec.model().scale;
        scale.learn(estimated, counted);
        if let (Some(learned), Some(name)) = (scale.learned, spec.names.get(spec.using)) {
            self.learned.insert(Arc::clone(name), learned);
        }
        self.spec = Some(spec.scaled(&self.learned));
        self.next_spec = self.next_spec.take().map(|next| next.scaled(&self.learned));
    }

    fn start_run(&mut self, data: &RunStarted, at: Millis) {
        self.take_spec();
        self.use_model(0);
        self.runs = data.run;
        self.ended_by = None;
        // The reminders so far tell of the budgets of other runs: the next cut drops them, and the plan is told anew.
        self.plan_changed = true;
        let opening = self.opening.take().or_else(|| self.queues.front().map(Opening::Message));
        let message = opening.filter(|opening| matches!(opening, Opening::Message(_)));
        self.run = Some(Run::new(data.run, data.cause, at, message));
    }

    fn finish_run(&mut self, reason: FinishReason) {
        let run = self.run.take();
        let summarises = run.as_ref().is_some_and(|run| run.cause == RunCause::Compact);
        self.finished = Some(reason);
        // Whoever stops does not want a summary either; one that came to nothing is not tried for ever.
        if summarises || reason == FinishReason::Stopped {
            self.compaction = None;
        }
        // A run that only summarised says nothing about what waits.
        if !summarises || run.is_some_and(|run| run.closing.is_some()) {
            self.queues.held = reason != FinishReason::Final && !self.queues.is_empty();
        }
    }

    fn join(&mut self, of: EventId) {
        let opening = self.run.as_ref().and_then(|run| run.opening);
        let (tokens, demands) = match (self.queues.take(of), opening) {
            (Some(message), _) | (None, Some(Opening::Message(message))) => (message.tokens, message.demands),
            (None, _) => (0, 0),
        };
        let seq = self.tree.push(self.tree.head, of, NodeKind::User, tokens, self.goals.focus);
        self.tree.set_demands(seq, demands);
        self.tree.head = Some(seq);
        self.with_run(|run| {
            run.opening = None;
            run.answered = None;
            run.first = run.first.or(Some(seq));
            // Somebody had a look, and said how to go on.
            run.progress = Progress::default();
        });
    }

    fn request(&mut self, data: &ModelRequested, at: Millis) {
        if self.branch.is_none() {
            self.take_spec();
        }
        self.requests = data.request;
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
            standing: data.standing.as_ref().map(|_| self.last),
        });
        self.expand = None;
        self.with_run(|run| (run.last_answer, run.remedy) = (data.last.or(run.last_answer), None));
        match &mut self.branch {
            Some(branch) => branch.rounds += 1,
            None if self.run.as_ref().is_some_and(|run| !run.asking) => {
                self.turn_number += 1;
                self.with_run(|run| {
                    run.turns += 1;
                    run.asking = true;
                });
            }
            None => {}
        }
    }

    /// A valid answer. In a repair it is the turn that was asked for, so it continues the main path.
    fn answer(&mut self, id: EventId, data: &ModelFinished) {
        let model = self.settle((data.usage, data.cost), data.spent());
        if data.aside {
            return self.answer_aside(id, data);
        }
        let repaired = self.branch.is_some_and(|branch| branch.kind != BranchKind::Compaction);
        if repaired {
            self.branch = None;
            self.counted = None;
        }
        let asked_at = model.and_then(|model| model.head);
        let calls = u16::try_from(data.calls.len()).unwrap_or(u16::MAX);
        let tip = self.tip();
        let goal = self.goals.focus;
        let seq = self.tree.push(tip, id, NodeKind::Assistant { calls }, data.tokens, goal);
        self.set_tip(seq);
        if repaired
            || !self.recalled.is_empty()
            || model.is_some_and(|model| model.last || model.minimal || model.standing.is_some())
        {
            self.tree.set_apart(seq);
        }
        self.change_goals(&data.goals);
        self.with_run(|run| run.progress.note_answer(&data.parts));
        for call in data.calls() {
            self.plan(id, call.id, call.planned);
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
        self.recalled.clear();
        self.expand = data.expand;
        if model.is_some_and(|model| model.minimal) {
            // What was counted is not the path.
            self.counted = None;
        } else if data.counted && !repaired {
            let estimate = model.map_or(0, |model| model.estimate);
            self.counted = asked_at.map(|seq| (seq, believed(estimate, data.usage.input)));
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
            started: self.now,
            not_before: 0,
            judged: Judged::boxed(planned.verdict.clone().filter(|_| !state.is_done()), &planned.places),
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

    /// The answer and the request to repair it hang off the frozen path; a second one gives up.
    fn malformed(&mut self, id: EventId, data: &ModelMalformed) {
        self.settle((data.usage, data.cost), data.spent());
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

    fn model_failed(&mut self, data: &ModelFailed) {
        self.settle((data.usage, data.cost), data.spent());
        self.with_run(|run| {
            run.model_failures += 1;
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

    fn start_call(&mut self, data: &ActionStarted, at: Millis) {
        let first = self.calls.get(data.call).is_some_and(|call| call.attempt == 0);
        self.calls.start(data.call, data.attempt, at);
        let Some(name) = self.calls.get(data.call).and_then(|call| call.tool.clone()) else { return };
        if let Some(limit) = self.tool(&name).and_then(|tool| tool.rate) {
            self.rates.entry(Arc::clone(&name)).or_default().take(limit, at);
        }
        if first {
            self.with_run(|run| {
                run.calls += 1;
                *run.tool_calls.entry(name).or_default() += 1;
            });
        }
    }

    fn delay_call(&mut self, id: CallId, until: Millis) {
        if let Some(call) = self.calls.get_mut(id) {
            call.not_before = until;
        }
    }

    fn set_call(&mut self, id: CallId, state: CallState) {
        if let Some(call) = self.calls.get_mut(id) {
            call.state = state;
        }
    }

    fn approve(&mut self, id: EventId, data: &ApprovalGranted) {
        if let Some(rule) = &data.rule
            && !self.rules.iter().any(|known| **known == **rule)
        {
            self.rules.push(rule.as_str().into());
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
        }
    }

    fn resolve(&mut self, id: EventId, data: &CallResolved) {
        let may_be_late = data.attempt > 0 && data.cause != ResolveCause::Result;
        self.calls.resolve(data.call, data.resolution, id, data.tokens, may_be_late);
        let once = data.output.as_ref().is_some_and(|output| output.include_output_only_once);
        if let Some(call) = self.calls.get_mut(data.call) {
            (call.memory, call.once) = (data.memory, once);
        }
        match data.resolution {
            Resolution::Ok | Resolution::Error | Resolution::Denied => {
                self.note_result(data.call, output_result(data.output.as_ref()));
            }
            Resolution::Skipped => self.with_run(|run| run.calls_spent |= data.cause == ResolveCause::CallBudget),
            Resolution::Interrupted | Resolution::Unknown => {}
        }
    }

    fn note_result(&mut self, call: CallId, result: Outcome) {
        let request = self.requests;
        self.with_run(|run| run.progress.note_result(call.index, result, request));
    }

    /// The results enter the tree in call order. They serve their assistant message's goal.
    fn finish_turn(&mut self) {
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

    fn rewound(&mut self, data: &Rewound) {
        self.tree.head = data.head;
        self.rewind_goals();
        self.window_extra = 0;
        (self.counted, self.summarised_to) = (None, None);
        self.recalled.clear();
        self.reopened.clear();
        let message = self.rewind.take().and_then(|rewind| rewind.message);
        self.opening = Some(message.map_or(Opening::Again, Opening::Message));
    }

    fn inject(&mut self, event: EventId, data: &Injected) {
        let seq = self.tree.push(self.tree.head, event, NodeKind::Injected, data.tokens, None);
        self.tree.head = Some(seq);
        (self.injected_at, self.plan_is_news, self.pin_is_news) = (self.turn_number, false, false);
        (self.plan_changed, self.plan_hidden) = (false, false);
    }

    /// The plan as it was made up to the head. Where something is cut away there, it may not be seen any more.
    pub(crate) fn rewind_goals(&mut self) {
        self.goals.rewind(self.tree.head);
        let planned = !self.goals.is_empty();
        (self.plan_changed, self.plan_hidden) = (planned, planned && self.tree.cut_at(self.tree.head).is_some());
    }

    fn change_goals(&mut self, ops: &[GoalOp]) {
        let head = self.tree.head;
        self.unswept |= !ops.is_empty();
        self.plan_changed |= !ops.is_empty();
        let begins = self.goals.list().is_empty();
        for op in ops {
            // What was refused when it was offered is not in the log; an odd log changes nothing.
            let _ = self.goals.change(op, head);
        }
        if begins {
            let top: Vec<GoalId> = self.goals.under(None).map(|goal| goal.id).collect();
            self.goals.root = if let [only] = top[..] { Some(only) } else { None };
        }
    }
}

/// The size of what the model is told below a result that repeats.
pub(crate) fn note_tokens(repeated: u32) -> u32 {
    if repeated == 0 { 0 } else { estimate(&told(repeated)) }
}
