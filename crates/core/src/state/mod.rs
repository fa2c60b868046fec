//! The state of a trace: tables, not phases. It holds heads of messages; their bodies stay in the log.

pub(crate) mod branch;
pub(crate) mod position;
pub(crate) mod spec;

use crate::{
    Approvals, BetweenRuns, Branch, Call, Calls, Child, Children, Context, Counting, Counts, Ended, Goals, Inbox,
    ModelCall, Position, Queues, Reminders, Run, Skills, SpecHead, ToolHead, Tree, Turn, Window,
};
use mainpath_types::{BranchKind, EffectClass, Event, EventKind, FinishReason, Limits, Millis, Seq, Spent, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that an agent's next step depends on. Made by folding a log with [`crate::apply()`], and by nothing else.
///
/// It can be stored as JSON and read back; what follows from it is the same. The form is that of this version: a state that
/// another version wrote is refused or folded again from the log, never guessed at. It grants what the log granted, so keep it
/// where you keep the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The trace.
    pub trace: TraceId,
    /// What it is called, once somebody or a model has named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How far its log and its mailbox have been read.
    pub log: Position,
    /// What is numbered.
    pub counts: Counts,
    /// What the agent is.
    pub spec: Option<SpecHead>,
    /// What it will be from the next turn on.
    pub next_spec: Option<SpecHead>,
    /// The messages.
    pub tree: Tree,
    /// The calls.
    pub calls: Calls,
    /// The agents that it has started.
    pub children: Children,
    /// The turn whose calls have not all ended.
    pub turn: Option<Turn>,
    /// The model call in flight.
    pub model: Option<ModelCall>,
    /// The side branch under way; the main path is frozen meanwhile.
    pub branch: Option<Branch>,
    /// The run that is going on.
    pub run: Option<Run>,
    /// How the last run ended.
    pub ended: Ended,
    /// What happens once the run has closed.
    pub between_runs: BetweenRuns,
    /// Messages that wait.
    pub queues: Queues,
    /// What other agents have sent.
    #[serde(default, skip_serializing_if = "Inbox::is_empty")]
    pub inbox: Inbox,
    /// When tools were called that may be called only so often.
    pub rates: BTreeMap<Arc<str>, Window>,
    /// The skills that were selected.
    #[serde(default, skip_serializing_if = "Skills::is_empty")]
    pub skills: Skills,
    /// What people have approved beyond the calls that wait.
    pub approvals: Approvals,
    /// The plan.
    pub goals: Goals,
    /// What the model was told of its plan, and what is news since.
    pub reminders: Reminders,
    /// What the requests to come show.
    pub context: Context,
    /// How models count tokens.
    pub counting: Counting,
    /// What all runs really used, as far as it is known.
    pub spent: Spent,
}

/// Returns true if a log holds only a part of the batch that a trace starts with. The first message is the last input of that batch, so
/// only the agent's definition and its preloaded skills come before it. Any other event shows that the start was complete.
pub fn is_cut_start(events: &[Event]) -> bool {
    let precedes_message = |event: &Event| {
        matches!(event.kind, EventKind::SpecChanged(_) | EventKind::SkillSelected(_) | EventKind::TailCut(_))
    };
    events.iter().all(precedes_message)
}

impl State {
    /// The state of a trace whose log is empty.
    pub fn new(trace: TraceId) -> State {
        State {
            trace,
            name: None,
            log: Position::default(),
            counts: Counts::default(),
            spec: None,
            next_spec: None,
            tree: Tree::default(),
            calls: Calls::default(),
            children: Children::default(),
            turn: None,
            model: None,
            branch: None,
            run: None,
            ended: Ended::default(),
            between_runs: BetweenRuns::default(),
            queues: Queues::default(),
            inbox: Inbox::default(),
            rates: BTreeMap::new(),
            skills: Skills::default(),
            approvals: Approvals::default(),
            goals: Goals::default(),
            reminders: Reminders::default(),
            context: Context::default(),
            counting: Counting::default(),
            spent: Spent::default(),
        }
    }

    /// The spec that the next request is made under: a new one takes effect there.
    pub fn coming_spec(&self) -> Option<&SpecHead> {
        self.next_spec.as_ref().or(self.spec.as_ref())
    }

    /// The limits of the run.
    pub fn limits(&self) -> Option<&Limits> {
        self.spec.as_ref().map(|spec| &spec.limits)
    }

    /// Whether the model is asked for a summary, on a side branch.
    pub fn wants_summary(&self) -> bool {
        self.branch.is_some_and(|branch| branch.kind == BranchKind::Compaction)
    }

    /// The tip of the path that the model works on: the side branch's, or the main path's.
    pub fn tip(&self) -> Option<Seq> {
        self.branch.map_or(self.tree.head, |branch| Some(branch.head))
    }

    /// Moves the tip.
    pub(crate) fn set_tip(&mut self, seq: Seq) {
        match &mut self.branch {
            Some(branch) => branch.head = seq,
            None => self.tree.head = Some(seq),
        }
    }

    /// The calls of the open turn, in order.
    pub fn turn_calls(&self) -> &[crate::Call] {
        self.turn.map_or(&[], |turn| self.calls.of(turn.assistant))
    }

    /// What the run will end with, if it is ending.
    pub fn closing(&self) -> Option<FinishReason> {
        self.run.as_ref().and_then(|run| run.closing)
    }

    /// What is known of a tool.
    pub fn tool(&self, name: &str) -> Option<&ToolHead> {
        self.spec.as_ref()?.tools.iter().find(|tool| *tool.name == *name)
    }

    /// When a call of this tool may be made, if it may not be made now.
    pub fn wait_for(&self, tool: &str) -> Option<Millis> {
        let limit = self.tool(tool)?.rate?;
        self.rates.get(tool)?.wait(limit, self.log.now)
    }

    /// Whether a turn is open that waits for nothing but people.
    pub fn waits_for_people(&self) -> bool {
        use crate::CallState::*;
        self.turn_calls().iter().all(|call| match call.state {
            Ready => call.not_before == 0,
            Asked | Done(_) => true,
            Started if call.effect == EffectClass::StartChild => self.has_clock_of_child(call),
            Started => call.effect == EffectClass::AskPerson,
            Cancelling(_) | Probing => false,
        }) && self.turn_calls().iter().any(|call| matches!(call.state, Asked | Started))
    }

    /// Returns whether the time that a call takes is counted by a child. While it is only found out what to start, nobody else counts it.
    fn has_clock_of_child(&self, call: &Call) -> bool {
        self.children.of(call.id).any(Child::is_open)
    }

    pub(crate) fn with_run(&mut self, change: impl FnOnce(&mut Run)) {
        if let Some(run) = &mut self.run {
            change(run);
        }
    }

    pub(crate) fn close(&mut self, reason: FinishReason) {
        self.with_run(|run| run.closing = Some(run.closing.unwrap_or(reason)));
    }
}
