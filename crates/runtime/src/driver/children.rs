//! The driver's part of child agents: what a call asks for, who is followed, what is handed back.

use crate::children::asked::{Asked, Making};
use crate::children::{ChildError, Parent, copies, follow, hand_back};
use crate::driver::error::DriveError;
use crate::driver::{Driver, ParentSpec};
use mainpath_core::{
    Bodies, Call, Child, ChildEnded, ChildStarting, EffectKey, InputKind, arguments_in, estimate_parts, in_brief,
};
use mainpath_store::StoreError;
use mainpath_tools::AgentCall;
use mainpath_types::{
    Access, CallId, ChildMode, ChildOutcome, ChildPlace, EffectClass, Event, EventId, EventKind, GoalId, HandedBack,
    Share, Spec, SubTraceCompleted, ToolOutput, TraceId,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many characters of its task are shown of a child.
const TASK_CHARS: usize = 160;

impl Driver {
    /// Finds out what a child is to do.
    pub(super) async fn start_child(
        &mut self,
        key: EffectKey,
        call: CallId,
        nth: u16,
        arguments: EventId,
    ) -> Result<(), DriveError> {
        let (asked, starting) = match self.agent_call(call, arguments, &[]).await? {
            Ok(asked) => {
                let starting = self.starting(call, nth, &asked).await?;
                (Some(asked), starting)
            }
            Err(problem) => (None, Err(problem)),
        };
        let input = match starting {
            Ok(starting) if starting.host.is_some() && starting.continues.is_some() => {
                let context = self.context().await?;
                self.in_flight.start(key, |_| follow::continued(context, starting));
                return Ok(());
            }
            Ok(starting)
                if starting.place == ChildPlace::Alone || (starting.continues.is_some() && starting.host.is_none()) =>
            {
                let is_beside = self.has_other_writers(call, &[]).await?;
                let context = self.context().await?;
                self.in_flight.start(key, |_| async move {
                    let (place, no_copy) = match &starting.continues {
                        // What could not be handed back is mended where it lies.
                        Some(child) if copies::is_kept(&context, child).await => (ChildPlace::Own, None),
                        _ if !is_beside || starting.place == ChildPlace::Reading => (starting.place, None),
                        // Writers do not share a folder.
                        _ => match copies::problem(&context).await {
                            None => (ChildPlace::Own, None),
                            why => (ChildPlace::Alone, why),
                        },
                    };
                    InputKind::ChildStarting(ChildStarting { place, no_copy, ..starting })
                });
                return Ok(());
            }
            Ok(starting) => InputKind::ChildStarting(starting),
            Err(problem) => unstarted(call, nth, asked.as_ref(), &problem),
        };
        self.in_flight.start(key, |_| async move { input });
        Ok(())
    }

    async fn starting(
        &mut self,
        call: CallId,
        nth: u16,
        asked: &AgentCall,
    ) -> Result<Result<ChildStarting, ChildError>, DriveError> {
        let starting = match self.beginning(call, nth, asked).await? {
            Ok(starting) => starting,
            Err(problem) => return Ok(Err(problem)),
        };
        let Some(child) = &asked.continue_from else { return Ok(Ok(starting)) };
        let mut children = self.machine.state().children.list.iter();
        if !children.any(|row| row.trace.as_ref() == Some(child)) {
            return Ok(Err(ChildError::Unknown(child.clone())));
        }
        // The log of a remote agent is read by an effect: the driver waits for no server.
        match child.elsewhere() {
            Some(_) => Ok(Ok(starting)),
            None => Ok(self.last_of(child).await?.map(|after| ChildStarting { after, ..starting })),
        }
    }

    /// The same of a child that is new. Errors: it has no task.
    pub(super) async fn beginning(
        &mut self,
        call: CallId,
        nth: u16,
        asked: &AgentCall,
    ) -> Result<Result<ChildStarting, ChildError>, DriveError> {
        let task = match self.task_of(asked, nth) {
            Ok(task) => in_brief(&task, TASK_CHARS),
            Err(problem) => return Ok(Err(problem)),
        };
        let place = match self.place(asked).await? {
            Ok(place) => place,
            Err(problem) => return Ok(Err(problem)),
        };
        let (mode, of, continues, host) = (asked.mode, asked.count(), asked.continue_from.clone(), asked.host.clone());
        Ok(Ok(ChildStarting { call, nth, of, mode, place, host, continues, after: 0, task, no_copy: None }))
    }

    /// Where a child is to work, as long as no other writes there. Errors: there can be none such.
    async fn place(&mut self, asked: &AgentCall) -> Result<Result<ChildPlace, ChildError>, DriveError> {
        if asked.host.is_some() {
            return Ok(Ok(ChildPlace::Elsewhere));
        }
        let may_write = match self.parent_spec().await? {
            Ok(spec) => {
                let depth = spec.limits.children.depth.saturating_sub(1);
                let confined = spec.access == Access::ReadOnly && self.shared.config.launcher.support().can_confine();
                let share = Share { children: spec.limits.children.in_all, depth, ..Share::default() };
                let state = self.machine.state();
                let (trace, run) = (&state.trace, state.counts.runs);
                let parent = Parent { trace, spec: &spec, run, share: &share, child_run: 1, folder: None };
                let children = &self.shared.config.children;
                if let Some(problem) = children.problem(parent, asked) {
                    return Ok(Err(problem));
                }
                children.may_write(parent, asked, confined)
            }
            Err(_) => !asked.mode.is_read_only(),
        };
        Ok(Ok(if may_write { ChildPlace::Alone } else { ChildPlace::Reading }))
    }

    /// Whether others than a call's child write in the workspace, or are about to.
    pub(super) async fn has_other_writers(&mut self, call: CallId, batch: &[Event]) -> Result<bool, DriveError> {
        let state = self.machine.state();
        if state.children.open().any(|child| child.call != call && child.place == ChildPlace::Alone) {
            return Ok(true);
        }
        let is_other = |other: &&Call| other.id != call && !other.state.is_done() && other.tool.is_some();
        let others = state.calls.iter().filter(is_other).filter(|other| other.effect == EffectClass::StartChild);
        let others: Vec<(CallId, EventId)> = others.map(|other| (other.id, other.arguments)).collect();
        for (other, arguments) in others {
            let asked = self.agent_call(other, arguments, batch).await?;
            if let Ok(asked) = asked
                && matches!(self.place(&asked).await?, Ok(ChildPlace::Alone))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the last event of a child that is to continue. Errors: it is gone.
    async fn last_of(&mut self, child: &TraceId) -> Result<Result<EventId, ChildError>, DriveError> {
        match self.store().of(child).read(1).await {
            Ok(log) => Ok(Ok(log.head)),
            Err(StoreError::NotFound { .. }) => Ok(Err(ChildError::Gone(child.clone()))),
            Err(error) => Err(error.into()),
        }
    }

    /// Begins a child or attaches to it.
    pub(super) async fn await_child(
        &mut self,
        key: EffectKey,
        call: CallId,
        nth: u16,
        arguments: EventId,
    ) -> Result<(), DriveError> {
        let Some(child) = self.machine.state().children.get(call, nth).cloned() else { return Ok(()) };
        let asked = self.agent_call(call, arguments, &[]).await?;
        let making = match asked {
            Ok(asked) => self.making(&child, asked).await?,
            Err(problem) => Err(problem),
        };
        let context = self.context().await?;
        self.in_flight.wait(key, follow::follow(context, Asked { child, making }));
        Ok(())
    }

    /// What a child is made of. Errors: it cannot be made, for the parent's model.
    async fn making(&mut self, child: &Child, call: AgentCall) -> Result<Result<Making, ChildError>, DriveError> {
        let message = match self.message_of(&call, child.nth) {
            Ok(message) => message,
            Err(problem) => return Ok(Err(problem)),
        };
        let parent = match self.parent_spec().await? {
            Ok(parent) => parent,
            Err(problem) => return Ok(Err(problem)),
        };
        let is_here = child.place != ChildPlace::Elsewhere;
        let child_run = match child.trace.as_ref().filter(|_| child.after > 0 && is_here) {
            Some(trace) => {
                let log = self.store().of(trace).read(1).await?;
                let runs = log.events.iter().filter(|event| matches!(event.kind, EventKind::RunStarted(_)));
                let before = runs.filter(|event| event.id <= child.after).count();
                u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
            }
            None => 1,
        };
        let run = self.machine.state().counts.runs;
        self.note_origins().await?;
        let own_task = !self.provenance.origins.as_ref().is_some_and(|origins| origins.is_foreign());
        Ok(Ok(Making { parent, run, child_run, call, message, own_task }))
    }

    /// What the trace is, as its children are made from it. Errors: nobody knows.
    async fn parent_spec(&mut self) -> Result<Result<Arc<Spec>, ChildError>, DriveError> {
        let Some((event, using)) = self.machine.state().spec.as_ref().map(|spec| (spec.event, spec.using)) else {
            return Ok(Err(ChildError::NoSpec));
        };
        if let Some(known) = self.parent.as_ref().filter(|known| (known.event, known.using) == (event, using)) {
            return Ok(Ok(Arc::clone(&known.spec)));
        }
        let spec = match self.event(event).await? {
            Some(EventKind::SpecChanged(data)) => Arc::new(data.spec.on_model(using)),
            _ => return Ok(Err(ChildError::SpecErased)),
        };
        self.parent = Some(ParentSpec { event, using, spec: Arc::clone(&spec) });
        Ok(Ok(spec))
    }

    /// The children of a call that worked in copies.
    fn copied(&self, call: CallId) -> Vec<Child> {
        let children = self.machine.state().children.of(call);
        children.filter(|child| child.place == ChildPlace::Own).cloned().collect()
    }

    /// Removes the copies of a call's children before it is ended: what was changed in them is durable by then.
    async fn clear_copies(&mut self, call: CallId) -> Result<impl Future<Output = ()> + Send + use<>, DriveError> {
        let copied = self.copied(call);
        let context = if copied.is_empty() { None } else { Some(self.context().await?) };
        Ok(async move {
            if let Some(context) = context {
                copies::clear(&context, copied).await;
            }
        })
    }

    /// Puts together what the children of a call came to.
    pub(super) async fn hand_back(&mut self, key: EffectKey, call: CallId) -> Result<(), DriveError> {
        let output = self.handed_back(call).await?;
        let tokens = estimate_parts(&output.content);
        let cleared = self.clear_copies(call).await?;
        self.in_flight.start(key, |_| async move {
            cleared.await;
            InputKind::HandedBack { call, output, tokens }
        });
        Ok(())
    }

    async fn handed_back(&mut self, call: CallId) -> Result<ToolOutput, DriveError> {
        let ended = match self.ended(call, &[]) {
            Some(ended) => ended,
            None => {
                let from = self.machine.state().calls.get(call).map_or(1, |call| call.arguments);
                let log = self.trace_store().read(from).await?;
                in_order(log.events.iter().map(|event| &event.kind), call)
            }
        };
        self.output_of(&ended).await
    }

    /// What the children of a call came to, as its result.
    pub(super) async fn output_of(&mut self, ended: &[SubTraceCompleted]) -> Result<ToolOutput, DriveError> {
        let mut patches = BTreeMap::new();
        for patch in ended.iter().filter_map(|child| child.handed.patch.as_ref()) {
            // One that is gone is not shown.
            if let Ok(bytes) = self.store().get_blob(patch).await {
                patches.insert(patch.clone(), hand_back::beginning(&bytes));
            }
        }
        let mut output = hand_back::hand_back(ended, &patches);
        self.shared.config.vault.redact_output(&mut output);
        Ok(output)
    }

    /// Ends a child of a call.
    pub(super) async fn end_child(&mut self, key: EffectKey, call: CallId, nth: u16) -> Result<(), DriveError> {
        let Some(child) = self.machine.state().children.get(call, nth).cloned() else { return Ok(()) };
        let context = self.context().await?;
        self.in_flight.start(key, |_| follow::end(context, child));
        Ok(())
    }

    /// Ends a call whose children have ended, with what they came to.
    pub(super) async fn end_call(&mut self, key: EffectKey, call: CallId, attempt: u32) -> Result<(), DriveError> {
        let has_any = self.machine.state().children.of(call).next().is_some();
        let output = if has_any { Some(self.handed_back(call).await?) } else { None };
        let tokens = output.as_ref().map_or(0, |output| estimate_parts(&output.content));
        let cleared = self.clear_copies(call).await?;
        self.in_flight.start(key, |_| async move {
            cleared.await;
            InputKind::ToolDead { call, attempt, output, tokens }
        });
        Ok(())
    }

    /// What the children of a call came to, from what is held of the log and a batch that is not in it yet. `None`: that is not all.
    pub(super) fn ended(&self, call: CallId, batch: &[Event]) -> Option<Vec<SubTraceCompleted>> {
        let state = self.machine.state();
        let from = state.calls.get(call)?.arguments;
        let held = (from..=state.log.last).filter_map(|id| self.cached.bodies.get(id));
        let ended = in_order(held.chain(batch.iter().map(|event| &event.kind)), call);
        (ended.len() == state.children.of(call).count()).then_some(ended)
    }

    /// What a call asks of other agents, where a batch may not be in the log yet. Errors: what is wrong with it, for the model.
    pub(super) async fn agent_call(
        &mut self,
        call: CallId,
        arguments: EventId,
        batch: &[Event],
    ) -> Result<Result<AgentCall, ChildError>, DriveError> {
        let text = match batch.iter().find(|event| event.id == arguments) {
            Some(event) => arguments_in(&event.kind, call).unwrap_or_default().to_string(),
            None => self.arguments(call, arguments).await?,
        };
        let tool = self.machine.state().calls.get(call).and_then(|call| call.tool.clone());
        let asked = AgentCall::read(tool.as_deref().unwrap_or_default(), &text);
        Ok(asked.map_err(|problem| ChildError::Call { problem: problem.to_string() }))
    }

    /// The task of one child.
    fn task_of(&self, asked: &AgentCall, nth: u16) -> Result<String, ChildError> {
        if asked.mode != ChildMode::Evaluate {
            return asked.tasks.get(usize::from(nth)).cloned().ok_or(ChildError::NoTask);
        }
        let goals = &self.machine.state().goals;
        let id = asked.target_goal.map(GoalId).or(goals.focus);
        let id = id.ok_or(ChildError::NoFocus)?;
        let goal = goals.list().iter().find(|goal| goal.id == id);
        let goal = goal.ok_or(ChildError::NoGoal(id))?;
        Ok(format!("Judge whether this goal was reached: {}", goal.description))
    }

    /// All that a child is told: what else it should know, and its task.
    fn message_of(&self, asked: &AgentCall, nth: u16) -> Result<String, ChildError> {
        let task = self.task_of(asked, nth)?;
        // One list for all, or a list for each.
        let lists = !asked.messages.is_empty() && asked.messages.iter().all(Value::is_array);
        let known: Vec<&Value> = match (lists, asked.messages.get(usize::from(nth))) {
            (true, Some(Value::Array(own))) => own.iter().collect(),
            (true, _) => Vec::new(),
            (false, _) => asked.messages.iter().collect(),
        };
        let known = known.into_iter().map(in_words).collect::<Vec<_>>().join("\n\n");
        Ok(if known.is_empty() { task } else { format!("{known}\n\n{task}") })
    }
}

/// What the children of a call came to, in their order.
fn in_order<'e>(events: impl Iterator<Item = &'e EventKind>, call: CallId) -> Vec<SubTraceCompleted> {
    let of_call = |kind: &EventKind| match kind {
        EventKind::SubTraceCompleted(data) if data.call == call => Some(data.clone()),
        _ => None,
    };
    let mut ended: Vec<SubTraceCompleted> = events.filter_map(of_call).collect();
    ended.sort_by_key(|child| child.nth);
    ended
}

/// A child that cannot be started. `asked`: what the call asks for, if that can be read.
pub(super) fn unstarted(call: CallId, nth: u16, asked: Option<&AgentCall>, problem: &ChildError) -> InputKind {
    let handed = HandedBack { problem: Some(problem.to_string()), ..HandedBack::default() };
    let (of, outcome) = (asked.map_or(1, AgentCall::count), ChildOutcome::Failed);
    InputKind::ChildEnded(ChildEnded { call, nth, of, outcome, handed })
}

/// A message in OpenAI's form, or a plain text, as words.
fn in_words(message: &Value) -> String {
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    };
    match (message.get("role").and_then(Value::as_str), message.get("content")) {
        (Some("user") | None, Some(content)) => text(content),
        (Some(role), Some(content)) => format!("{role}: {}", text(content)),
        _ => text(message),
    }
}
