//! Where every token of a request goes, and what was left out and why.

use super::handle::Trace;
use super::read::ReadTrace;
use crate::{Error, ErrorKind};
use mainpath_core::{Bodies, Item, Layout, Section, Shown, State, apply, fixed_parts, layout, message};
use mainpath_runtime::sent::{SentRequest, sent};
use mainpath_types::{CutCause, Event, EventId, EventKind, ListedSkill, Message, Seq, Spec, TraceId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A request, and the log that it is of.
pub struct Look<'a> {
    /// The state in which it was made, or would be.
    state: State,
    bodies: &'a (dyn Bodies + Send + Sync),
    spec: &'a Spec,
    layout: Layout,
    /// The vendor's count of it, where it has been answered and counted.
    counted: Option<u64>,
}

/// What takes away from the window before a request has its room, in tokens, besides what is reserved for the answer.
struct Taken {
    /// For sizes being estimates.
    margin: u64,
    /// What the owner's limit takes.
    beyond_limit: u64,
}

/// A request as numbers: what `mainpath context --json` prints. All sizes are in tokens, by estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextReport {
    /// The trace.
    pub trace_id: TraceId,
    /// The turn.
    pub turn: u32,
    /// The number of the request in flight; `None` for the one that would be made now.
    pub request: Option<u32>,
    /// The model.
    pub model: String,
    /// The preset that the agent was made from, if it was.
    #[serde(default)]
    pub agent: Option<String>,
    /// The model's window.
    pub window: u32,
    /// What of it is kept free for the answer.
    pub reserved: u32,
    /// What of it is kept free because sizes are estimates.
    pub margin: u64,
    /// What of it the owner's own limit takes.
    pub beyond_limit: u64,
    /// How much the request may have.
    pub most: u64,
    /// From how much on it is nearly full.
    pub full: u64,
    /// The model's tokens for one that is estimated.
    pub ratio: f64,
    /// The size of the request.
    pub estimate: u64,
    /// The vendor's count of it, where it has been answered and counted.
    pub counted: Option<u64>,
    /// Its sections by name.
    pub sections: BTreeMap<String, SectionSize>,
    /// Its parts, in order.
    pub parts: Vec<ContextPart>,
    /// What is not shown of the main path.
    pub left_out: Vec<ContextGap>,
    /// The skills that there were when the spec was made, and how the model is told of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<ListedSkill>,
}

/// A section of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionSize {
    /// What it may have before others give way.
    pub share: u64,
    /// What it has.
    pub tokens: u64,
}

/// A part of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ContextPart {
    /// A message, or what stands in the place of some.
    Message {
        /// Its section.
        section: String,
        /// What it is: `user`, `assistant`, `result`, …
        what: String,
        /// How it is shown, if not as it is; else empty.
        how: String,
        /// The message, where it is one.
        message: Option<Seq>,
        /// The event that it comes from, where it comes from one.
        event: Option<EventId>,
        /// Its size.
        tokens: u32,
    },
    /// What every request begins with: texts and tools.
    Fixed {
        /// Its section.
        section: String,
        /// What it is: a text by its name, or `tool NAME`.
        what: String,
        /// Its size.
        tokens: u32,
    },
}

/// Neighbouring messages that are left out or shortened for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextGap {
    /// The first of them.
    pub first: Seq,
    /// The last of them.
    pub last: Seq,
    /// How many they are.
    pub messages: u32,
    /// Their size.
    pub tokens: u64,
    /// What of that is shown all the same.
    pub shown: u64,
    /// How many of them demand something for which there was no room.
    pub demands: u32,
    /// The event that left them out: a cut or a summary.
    pub by: EventId,
    /// Why, in words.
    pub why: String,
}

impl<'a> Look<'a> {
    /// The request of a turn; without one, the request in flight or the one that would be made now. Errors: there is none.
    pub fn new(of: ReadTrace<'a>, turn: Option<u32>) -> Result<Look<'a>, Error> {
        let (trace, events) = (of.trace, of.log.events.as_slice());
        let is_asked = |event: &Event| matches!(event.kind, EventKind::ModelRequested(_)) && Some(event.turn) == turn;
        let upto = match turn {
            None => events.len(),
            Some(turn) => {
                1 + events.iter().rposition(is_asked).ok_or_else(|| {
                    Error::invalid(match events.last().map_or(0, |event| event.turn) {
                        0 => format!("{trace} has no turn {turn}: no model request was made yet"),
                        last => format!("{trace} has no turn {turn}: it has turns 1 to {last}"),
                    })
                })?
            }
        };
        let (known, later) = events.split_at(upto);
        let mut state = State::new(trace.clone());
        known.iter().for_each(|event| apply(&mut state, event));
        let nothing = || match &of.log.damage {
            Some(damage) => Error::new(ErrorKind::Damaged, format!("the log of {trace} is damaged: {damage}")),
            None => Error::new(ErrorKind::Refused, format!("{trace} has no messages yet")),
        };
        let layout = layout(&state).filter(|_| !state.tree.is_empty()).ok_or_else(nothing)?;
        let event = state.coming_spec().map(|spec| spec.event);
        let spec = known.iter().rev().find_map(|one| match &one.kind {
            EventKind::SpecChanged(data) if Some(one.id) == event => Some(&*data.spec),
            _ => None,
        });
        let request = state.model.map(|model| model.request);
        let counted = later.iter().find_map(|event| match &event.kind {
            EventKind::ModelFinished(data) if Some(data.request) == request && data.counted => Some(data.usage.input),
            _ => None,
        });
        let spec =
            spec.ok_or_else(|| Error::new(ErrorKind::Refused, format!("the settings of {trace} were erased")))?;
        Ok(Look { state, bodies: of.bodies, spec, layout, counted })
    }

    /// The folder that the agent works in.
    pub fn workspace(&self) -> &str {
        &self.spec.workspace
    }

    /// The names of the sections, in the order of the request.
    pub fn sections(&self) -> impl Iterator<Item = &'static str> {
        self.layout.sections.iter().map(|(name, ..)| name.as_str())
    }

    /// The messages of the report's [`ContextPart::Message`]s, in their order. `None`: the message was erased.
    pub fn messages(&self) -> impl Iterator<Item = Option<Message>> {
        self.layout.parts.iter().map(|part| message(&self.state, self.bodies, &part.item))
    }

    /// The size of the request, by estimate.
    fn estimate(&self) -> u64 {
        self.layout.sections.iter().map(|(_, _, tokens)| tokens).sum()
    }

    /// What takes away from the window before the request has its room.
    fn taken(&self) -> Taken {
        let Layout { window, reserved, most, .. } = self.layout;
        let leaves = u64::from(window.saturating_sub(reserved));
        let estimated = self.state.coming_spec().map_or(leaves, |spec| spec.model().scale.estimated(leaves));
        Taken { margin: leaves.saturating_sub(estimated), beyond_limit: estimated.saturating_sub(most) }
    }

    /// It as numbers.
    pub fn report(&self) -> ContextReport {
        let Look { state, layout, .. } = self;
        let size = |share: &u64, tokens: &u64| SectionSize { share: *share, tokens: *tokens };
        let sections = layout.sections.iter();
        let fixed = fixed_parts(self.spec).into_iter().map(|(what, tokens)| ContextPart::Fixed {
            section: Section::System.as_str().into(),
            what,
            tokens,
        });
        let parts = layout.parts.iter().map(|part| {
            let (what, how) = kind(&part.item);
            ContextPart::Message {
                section: part.section.as_str().into(),
                what: what.into(),
                how: how.into(),
                message: part.item.seq(),
                event: part.item.event(),
                tokens: part.tokens,
            }
        });
        let left_out = layout.left_out.iter().map(|left| ContextGap {
            first: left.first,
            last: left.last,
            messages: left.messages,
            tokens: left.tokens,
            shown: left.shown,
            demands: left.demands,
            by: left.by,
            why: why(self.bodies, left.by),
        });
        let Taken { margin, beyond_limit } = self.taken();
        ContextReport {
            trace_id: state.trace.clone(),
            turn: state.counts.turns,
            request: state.model.map(|model| model.request),
            model: self.spec.model.clone(),
            agent: self.spec.preset.as_ref().map(|preset| preset.name.clone()),
            window: layout.window,
            reserved: layout.reserved,
            margin,
            beyond_limit,
            most: layout.most,
            full: layout.full,
            ratio: layout.per_mille as f64 / 1_000.0,
            estimate: self.estimate(),
            counted: self.counted,
            sections: sections.map(|(name, share, tokens)| (name.as_str().to_string(), size(share, tokens))).collect(),
            parts: fixed.chain(parts).collect(),
            left_out: left_out.collect(),
            skills: self.spec.told_skills().cloned().collect(),
        }
    }
}

/// What a message of a request is, and how it is shown if not as it is.
fn kind(item: &Item) -> (&'static str, &'static str) {
    match item {
        Item::User { .. } => ("user", ""),
        Item::Assistant { .. } => ("assistant", ""),
        Item::Result { shown: Shown::Whole, .. } => ("result", ""),
        Item::Result { shown: Shown::Line, .. } => ("result", "long-term line"),
        Item::Result { shown: Shown::Excerpt(_), .. } => ("result", "excerpt"),
        Item::Demands { most: None, .. } => ("user", "its requirements"),
        Item::Demands { most: Some(_), .. } => ("user", "some of its requirements"),
        Item::Malformed { .. } => ("malformed answer", ""),
        Item::RepairPrompt { .. } => ("retry prompt", ""),
        Item::Skill { .. } => ("skill", ""),
        Item::Injected { .. } => ("reminder", ""),
        Item::Summary { .. } => ("summary", ""),
        Item::ReflectPrompt { .. } => ("reflection prompt", ""),
        Item::SummaryPrompt { .. } => ("summary prompt", ""),
        Item::Recalled { .. } => ("recalled result", ""),
        Item::Standing { .. } => ("plan and budgets now", ""),
        Item::LastAnswer => ("last answer prompt", ""),
    }
}

/// Why an event left something out.
fn why(bodies: &dyn Bodies, event: EventId) -> String {
    let why = match bodies.get(event) {
        Some(EventKind::Compacted(data)) if data.text.is_some() => "summarised by rules",
        Some(EventKind::Compacted(data)) if data.floor.as_ref().is_some_and(|floor| floor.all) => {
            "summarised by rules, as the model's summary was empty"
        }
        Some(EventKind::Compacted(_)) => "summarised by the model",
        Some(EventKind::ContextCut(data)) => match data.cause {
            CutCause::Window => "more messages than the window holds",
            CutCause::Overflow => "the request did not fit",
            CutCause::Expand => "left out to make room for older messages",
            CutCause::Goals => "its goal is finished",
            CutCause::Full => "the window was nearly full",
            CutCause::Once => "its tool's results are shown once",
        },
        _ => "erased",
    };
    format!("{why} (event {event})")
}

impl Trace {
    /// Where every token of a request goes: of the one in flight or the one that would be made now, or that of a turn. Errors: there is
    /// none.
    pub async fn context(&self, turn: Option<u32>) -> Result<ContextReport, Error> {
        let read = self.look().await?;
        Ok(Look::new(self.of(&read), turn)?.report())
    }

    /// A request of the model as it was sent, by its number. `None`: there is none, or its model's form is not known here. Errors: the log
    /// or a blob cannot be read.
    pub async fn request(&self, number: u32) -> Result<Option<SentRequest>, Error> {
        Ok(sent(self.host().at(self.id()), &**self.host().models(), number).await?)
    }
}
