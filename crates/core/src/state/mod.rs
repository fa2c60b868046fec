//! The state of a trace: tables, not phases. It holds heads of messages; their bodies stay in the log.

pub(crate) mod branch;
pub(crate) mod position;
pub(crate) mod spec;

use crate::{
    Branch, Calls, Goals, MailCursor, ModelCall, Opening, Queues, Reopened, Rewind, Run, SpecHead, ToolHead, Tree,
    Turn, Window,
};
use mainpath_types::*;
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
    /// The last event.
    pub last: EventId,
    /// The last event's time.
    pub now: Millis,
    /// Model calls on the main path so far, retries and repairs not counted.
    pub turn_number: u32,
    /// What the agent is.
    pub spec: Option<SpecHead>,
    /// What it will be from the next turn on.
    pub next_spec: Option<SpecHead>,
    /// The messages.
    pub tree: Tree,
    /// The calls.
    pub calls: Calls,
    /// The turn whose calls have not all ended.
    pub turn: Option<Turn>,
    /// The model call in flight.
    pub model: Option<ModelCall>,
    /// The side branch under way; the main path is frozen meanwhile.
    pub branch: Option<Branch>,
    /// The run that is going on.
    pub run: Option<Run>,
    /// Runs so far.
    pub runs: u32,
    /// Why the last run ended.
    pub finished: Option<FinishReason>,
    /// Model requests so far.
    pub requests: u32,
    /// A rewind that waits for the run to close.
    pub rewind: Option<Rewind>,
    /// Whether the conversation is to be begun anew once the run has closed.
    pub clearing: bool,
    /// The last message of conversations that were cleared: nothing up to it is shown or recalled.
    pub cleared: Seq,
    /// What a rewind wants the next run to open with.
    pub opening: Option<Opening>,
    /// Messages that wait.
    pub queues: Queues,
    /// When tools were called that may be called only so often.
    pub rates: BTreeMap<Arc<str>, Window>,
    /// The rules that were made of approvals, as they were written.
    pub rules: Vec<Arc<str>>,
    /// Calls that were denied, were approved since, and are to be made.
    pub reopened: Vec<Reopened>,
    /// The plan.
    pub goals: Goals,
    /// The number of turns when the model was last reminded of its plan.
    pub injected_at: u32,
    /// Whether somebody else than the model has changed the plan since.
    pub plan_is_news: bool,
    /// Whether what is pinned was changed since.
    pub pin_is_news: bool,
    /// Whether the plan was changed since, or another run has begun: what was told is out of date.
    pub plan_changed: bool,
    /// Whether a cut has taken the plan, as it is now, out of sight.
    pub plan_hidden: bool,
    /// Which mailbox entries have been consumed.
    pub mail: MailCursor,
    /// How many messages beyond its limit the window may show, after somebody asked to see more.
    pub window_extra: u32,
    /// The event that asks for a summary, until one is begun.
    pub compaction: Option<EventId>,
    /// The size of the request after the last summary, also of one that came to nothing: no other is worth it before enough new
    /// was said. `None` where the path has changed since.
    pub summarised_to: Option<u64>,
    /// Whether messages of finished goals may be shown.
    pub unswept: bool,
    /// How many more messages the model wants to be shown.
    pub expand: Option<u32>,
    /// The event that says why the last run ended, where its reason alone does not.
    pub ended_by: Option<EventId>,
    /// Past calls that the next request shows again.
    pub recalled: Vec<CallId>,
    /// What is known of how models count, by their names: see [`crate::Scale`].
    pub learned: BTreeMap<Arc<str>, u32>,
    /// The vendor's last count of input tokens, and the message that it ended with.
    pub counted: Option<(Seq, u64)>,
    /// What all runs really used, as far as it is known.
    pub usage: Usage,
    /// What that cost.
    pub cost: Micros,
    /// Whether some of that was estimated.
    pub about: bool,
}

impl State {
    /// The state of a trace whose log is empty.
    pub fn new(trace: TraceId) -> State {
        State {
            trace,
            last: 0,
            now: 0,
            turn_number: 0,
            spec: None,
            next_spec: None,
            tree: Tree::default(),
            calls: Calls::default(),
            turn: None,
            model: None,
            branch: None,
            run: None,
            runs: 0,
            finished: None,
            requests: 0,
            rewind: None,
            clearing: false,
            cleared: Seq(0),
            opening: None,
            queues: Queues::default(),
            rates: BTreeMap::new(),
            rules: Vec::new(),
            reopened: Vec::new(),
            goals: Goals::default(),
            injected_at: 0,
            plan_is_news: false,
            pin_is_news: false,
            plan_changed: false,
            plan_hidden: false,
            mail: MailCursor::default(),
            window_extra: 0,
            compaction: None,
            summarised_to: None,
            unswept: false,
            expand: None,
            ended_by: None,
            recalled: Vec::new(),
            learned: BTreeMap::new(),
            counted: None,
            usage: Usage::default(),
            cost: 0,
            about: false,
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
        self.rates.get(tool)?.wait(limit, self.now)
    }

    /// Whether a turn is open that waits for nothing but people.
    pub fn waits_for_people(&self) -> bool {
        use crate::CallState::*;
        self.turn_calls().iter().all(|call| match call.state {
            Ready => call.not_before == 0,
            Asked | Done(_) => true,
            Started => call.effect == EffectClass::AskPerson,
            Cancelling(_) | Probing => false,
        }) && self.turn_calls().iter().any(|call| matches!(call.state, Asked | Started))
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
