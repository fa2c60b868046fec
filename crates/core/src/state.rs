//! The state of a trace: tables, not phases. It holds heads of messages; their bodies stay in the log.

use crate::context::cut::AROUND;
use crate::{Calls, Goals, ModelCall, Queued, Queues, Reopened, Run, Scale, Tree, Window, estimate};
use mainpath_types::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
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

/// The part of a spec that decisions need. The texts stay in the event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpecHead {
    /// The event that holds the whole spec.
    pub event: EventId,
    /// The limits.
    pub limits: Limits,
    /// The bounds of what its calls start.
    pub confinement: Confinement,
    /// The tools.
    pub tools: Arc<[ToolHead]>,
    /// Whether hooks have a word in reminders.
    pub has_context_hooks: bool,
    /// The estimated size of system text and tools.
    pub fixed_tokens: u32,
    /// The model, then those to fall back to.
    pub models: Arc<[ModelHead]>,
    /// Their names.
    pub names: Arc<[Arc<str>]>,
    /// Which of them is used.
    pub using: usize,
    /// The first message that was or will be made under it and this model.
    pub since: Seq,
}

impl SpecHead {
    /// The model that is used.
    pub fn model(&self) -> ModelHead {
        self.models.get(self.using).copied().unwrap_or_default()
    }

    /// The same with what is known of how its models count.
    pub(crate) fn scaled(mut self, learned: &BTreeMap<Arc<str>, u32>) -> SpecHead {
        let names = Arc::clone(&self.names);
        for (model, name) in Arc::make_mut(&mut self.models).iter_mut().zip(names.iter()) {
            model.scale.learned = learned.get(name).copied().or(model.scale.learned);
        }
        self
    }
}

/// The part of a model's description that decisions need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelHead {
    /// Its window.
    pub context_window: u32,
    /// The part of it kept free for the answer.
    pub reserved_output: u32,
    /// What it costs.
    pub price: Price,
    /// How its own tokens relate to estimated ones.
    pub scale: Scale,
}

/// The part of a tool's spec that decisions need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolHead {
    /// Its name.
    pub name: Arc<str>,
    /// What it can do.
    pub effect: EffectClass,
    /// Whether it can tell after a crash if a call was done.
    pub can_probe: bool,
    /// How long a call may take.
    pub timeout_ms: Option<Millis>,
    /// How often it may be called in a run.
    pub max_calls: Option<u32>,
    /// How often it may be called in a time.
    pub rate: Option<RateLimit>,
}

/// A turn whose calls have not all ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// The assistant message that made the calls.
    pub assistant: Seq,
    /// Whether it was a last answer, so that no call starts.
    pub last: bool,
}

/// A side branch: its messages hang below the frozen head and leave the main path again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    /// What it is for.
    pub kind: BranchKind,
    /// Who summarises, where it is for that.
    pub by: SummaryMode,
    /// The event that began it, where one did alone for that; else 0.
    pub opened: EventId,
    /// The size of the plan that this event holds.
    pub plan_tokens: u32,
    /// The request of a person's that it follows.
    pub asked: Option<EventId>,
    /// Whether the model has yet to be asked for the summary itself.
    pub reflects: bool,
    /// Whether it was opened in the middle of a turn, since the request does not fit.
    pub squeezes: bool,
    /// Which messages of the main path its requests do not show.
    pub hidden: Option<Hidden>,
    /// Its tip.
    pub head: Seq,
    /// Model calls on it.
    pub rounds: u32,
    /// The event that holds what it was for, once it is there.
    pub result: Option<(EventId, u32)>,
    /// Whether its aim is reached.
    pub done: bool,
    /// Whether it cannot be reached.
    pub failed: bool,
}

/// The newest messages of the main path, where a request for a summary does not show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hidden {
    /// The first of them.
    pub from: Seq,
    /// The first message of the side branch.
    pub until: Seq,
    /// Their size in tokens, as they would be shown.
    pub tokens: u64,
}

impl Hidden {
    /// Whether a message is one of them.
    pub fn has(&self, seq: Seq) -> bool {
        (self.from..self.until).contains(&seq)
    }
}

/// A rewind that waits for the run to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rewind {
    /// The message, as asked; 0 is before the first.
    pub after: Seq,
    /// What to say there.
    pub message: Option<Queued>,
}

/// What a run opens with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// A message.
    Message(Queued),
    /// Nothing new: the model answers again.
    Again,
    /// Nothing new: the model goes on.
    GoOn,
}

/// Which mailbox entries have been consumed. Urgent ones overtake, so there may be gaps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MailCursor {
    /// All entries up to this one.
    pub upto: MailId,
    /// Those beyond it.
    pub ahead: BTreeSet<MailId>,
}

impl MailCursor {
    /// Whether an entry has been consumed.
    pub fn has(&self, mail: MailId) -> bool {
        mail <= self.upto || self.ahead.contains(&mail)
    }
    /// Notes that an entry has been consumed.
    pub fn note(&mut self, mail: MailId) {
        if mail > self.upto {
            self.ahead.insert(mail);
        }
        while self.ahead.remove(&(self.upto + 1)) {
            self.upto += 1;
        }
    }
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

    /// The estimated size of the next request, whatever the vendor has counted of it.
    pub(crate) fn estimated_tokens(&self) -> u64 {
        let fixed = self.coming_spec().map_or(0, |spec| u64::from(spec.fixed_tokens));
        let hides = self.branch.and_then(|branch| branch.hidden).map_or(0, |hidden| hidden.tokens);
        let shown = self.tree.shown_tokens(self.tip()).saturating_sub(hides);
        fixed.saturating_add(shown).saturating_add(self.recalled_tokens())
    }

    fn recalled_tokens(&self) -> u64 {
        let again = self.recalled.iter().filter_map(|id| self.calls.get(*id)).map(|call| u64::from(call.tokens));
        again.sum()
    }

    /// The size of the next request in estimated tokens: the vendor's last count, scaled, plus an estimate of what came since. What
    /// the model will count is [`crate::Scale::real`] of it.
    pub fn request_tokens(&self) -> u64 {
        self.request_tokens_without(self.branch.and_then(|branch| branch.hidden))
    }

    /// The same, where these messages are not shown.
    pub(crate) fn request_tokens_without(&self, hidden: Option<Hidden>) -> u64 {
        let tip = self.tip();
        let hides = hidden.map_or(0, |hidden| hidden.tokens);
        let shown = || self.tree.shown_tokens(tip).saturating_sub(hides);
        let fixed = self.coming_spec().map_or(0, |spec| u64::from(spec.fixed_tokens));
        let scale = self.coming_spec().map_or(Scale::default(), |spec| spec.model().scale);
        let path = match self.counted.filter(|(seq, _)| hidden.is_none_or(|hidden| *seq < hidden.from)) {
            Some((seq, count)) => {
                let size = |seq| self.tree.node(seq).map_or(0, |node| node.path_tokens);
                let new = tip.map_or(0, size).saturating_sub(size(seq)).saturating_sub(hides);
                scale.estimated(count).saturating_add(new)
            }
            None => fixed.saturating_add(shown()),
        };
        let limits_chars = self.coming_spec().is_some_and(|spec| spec.limits.context_chars.is_some());
        // A vendor counts tokens: where characters are limited, they are told from the estimates, and from what is around them.
        let in_chars = || {
            let around = AROUND.saturating_mul(self.tree.shown_count(tip).into());
            fixed.saturating_add(shown()).saturating_add(around)
        };
        let path = if limits_chars { path.max(in_chars()) } else { path };
        let standing = self.coming_spec().and_then(|spec| crate::inject::standing(self, spec));
        let standing = standing.map_or(0, |text| u64::from(estimate(&text)) + 4);
        path.saturating_add(self.recalled_tokens()).saturating_add(standing)
    }

    /// What a lost request is charged: all that was set aside.
    pub(crate) fn reserved(&self, model: &ModelCall) -> (Usage, Micros) {
        let input = u64::from(model.input);
        let usage = Usage { input, output: model.reserve.saturating_sub(input), ..Usage::default() };
        (usage, self.price_of(&usage))
    }

    /// What a request that was given up has really used, by estimate, when so many tokens of its answer had come.
    pub(crate) fn spent_on(&self, model: &ModelCall, received: u32) -> Spent {
        let output = u64::from(received).min(model.reserve.saturating_sub(model.input.into()));
        let usage = Usage { input: model.likely, output, ..Usage::default() };
        Spent { usage, cost: self.price_of(&usage), about: true }
    }

    /// What that costs with the model in use.
    pub(crate) fn price_of(&self, usage: &Usage) -> Micros {
        self.spec.as_ref().map_or(0, |spec| spec.model().price.cost(usage))
    }
}
