//! A summary takes the place of what is old: made by the model on a side branch, or by rules where no model can.

use crate::artifact_files;
use crate::context::bodies::called_name;
use crate::context::cut::{Room, kept_after, pins};
use crate::context::rules::{Said, Summary};
use crate::goals::view::LEGEND;
use crate::{Bodies, Branch, Call, CallState, Cut, NodeKind, Refusal, SpecHead, State, estimate, result_text};
use mainpath_types::*;

/// The estimated size of the request for a summary, or to reflect.
const PROMPT_TOKENS: u32 = 120;

/// What a summary leaves free for what comes next, in hundredths of what a request may take.
const NEW: u8 = 15;

/// The beginning of a summary.
pub(crate) fn opened(state: &State, by: SummaryMode) -> BranchOpened {
    let plan = if by == SummaryMode::Rules { None } else { plan(state) };
    let tokens = match by {
        SummaryMode::Rules => 0,
        SummaryMode::Single => PROMPT_TOKENS.saturating_add(plan.as_ref().map_or(0, |plan| plan.tokens)),
        SummaryMode::Agent => PROMPT_TOKENS,
    };
    let (kind, seq) = (BranchKind::Compaction, state.tree.next_seq());
    BranchOpened { kind, seq, tokens, by, asked: state.compaction, plan }
}

/// The plan for a summary: with what came of it, or in short where the request has not twice the room for that.
fn plan(state: &State) -> Option<PlanView> {
    let room = Room::of(state.coming_spec()?).most.saturating_sub(state.request_tokens() + u64::from(PROMPT_TOKENS));
    if state.goals.is_empty() {
        return None;
    }
    let views = [state.goals.full_view(), state.goals.short_view()].into_iter();
    let mut sized = views.map(|view| {
        let text = format!("{view}\n({LEGEND})");
        PlanView { tokens: estimate(&text).saturating_add(12), text }
    });
    sized.find(|plan| u64::from(plan.tokens) <= room / 2)
}

/// The first message that a summary keeps: what is newer takes half of what the newest turn and what is recent may, and leaves
/// room for something new to be said. Where the request does not fit, or a person wants it smaller, also at most half of what
/// there is.
pub(crate) fn first_kept(state: &State, spec: &SpecHead, squeezes: bool) -> Option<Seq> {
    let room = Room::of(spec);
    let half = state.tree.shown_tokens(state.tree.head) / 2;
    let usual = (room.share(room.shares.recent) + room.share(room.shares.current)) / 2;
    let others = u64::from(spec.fixed_tokens) + room.share(room.shares.summary) + room.share(NEW);
    let usual = usual.min(room.full.saturating_sub(others));
    let keep = if squeezes { half.min(usual) } else { usual };
    state.tree.keep_from(state.tree.head, |_, tokens| tokens <= keep)
}

/// Whether a summary would stand for anything.
pub(crate) fn shrinks(state: &State, spec: &SpecHead, squeezes: bool) -> bool {
    first_kept(state, spec, squeezes).is_some_and(|first| {
        let pinned = pins(state, first).pinned;
        state.tree.left_out_by(state.tree.head, first, &pinned) > 0
    })
}

/// How large a summary may be: the share of its section, and less than what it stands for.
fn most(state: &State, spec: &SpecHead, first_kept: Option<Seq>) -> u64 {
    let room = Room::of(spec);
    let before = first_kept.unwrap_or(Seq(u32::MAX));
    let pinned = pins(state, before).pinned;
    let (tree, head) = (&state.tree, state.tree.head);
    let earlier = tree.cut_at(head).filter(|cut| cut.summary.is_some()).map_or(0, |cut| u64::from(cut.tokens));
    let replaced = tree.left_out_by(head, before, &pinned) + earlier;
    room.share(room.shares.summary).min(replaced.saturating_sub(1))
}

fn compacted(state: &State, first_kept: Option<Seq>, summary: EventId, text: Option<&str>, tokens: u32) -> Compacted {
    let (seq, keeps) = (state.tree.next_seq(), kept_after(state, first_kept));
    Compacted { seq, summary, text: text.map(Into::into), keeps, tokens }
}

/// What becomes of a model's summary: one that is larger than it may be helps nobody.
pub(crate) fn summarised(state: &State, spec: &SpecHead, summary: EventId, tokens: u32) -> EventKind {
    let squeezes = state.branch.is_some_and(|branch| branch.keeps_less());
    let first_kept = first_kept(state, spec, squeezes);
    if u64::from(tokens) > most(state, spec, first_kept) {
        return BranchClosed { kind: BranchKind::Compaction, done: false }.into();
    }
    compacted(state, first_kept, summary, None, tokens).into()
}

/// What becomes of a summary by rules.
pub(crate) fn by_rules(state: &State, text: &str, tokens: u32) -> Result<EventKind, Refusal> {
    let branch = state.branch.filter(|branch| branch.is_by_rules() && !branch.done).ok_or(Refusal::NoSummaryWanted)?;
    let spec = state.coming_spec().ok_or(Refusal::NoSpec)?;
    let first_kept = first_kept(state, spec, branch.keeps_less());
    if u64::from(tokens) > most(state, spec, first_kept) {
        return Ok(BranchClosed { kind: BranchKind::Compaction, done: false }.into());
    }
    Ok(compacted(state, first_kept, state.last + 1, Some(text), tokens).into())
}

/// How large the summary by rules that is waited for may be, in tokens; `None` while none is.
pub(crate) fn wanted(state: &State) -> Option<u32> {
    let branch = state.branch.filter(|branch| branch.is_by_rules() && !branch.done)?;
    let spec = state.coming_spec()?;
    let most = most(state, spec, first_kept(state, spec, branch.keeps_less()));
    Some(u32::try_from(most).unwrap_or(u32::MAX))
}

/// The messages that [`summarise`] reads, and the events that hold their texts: the main path, oldest first.
pub fn summary_messages(state: &State) -> Vec<(Seq, EventId)> {
    let mut path: Vec<_> = state.tree.up(state.tree.head).map(|(seq, node)| (seq, node.event)).collect();
    path.reverse();
    path
}

/// The summary by rules of the main path, so far as its texts are at hand: of all of it, also of what is no longer shown.
pub fn summarise(state: &State, bodies: &dyn Bodies) -> Summary {
    let mut summary = Summary::default();
    summary_messages(state).into_iter().for_each(|(seq, _)| summary.take(state, bodies, seq));
    summary
}

impl Summary {
    /// Reads a message of a trace, so far as its text is at hand.
    pub fn take(&mut self, state: &State, bodies: &dyn Bodies, seq: Seq) {
        let Some(node) = state.tree.node(seq) else { return };
        match (node.kind, bodies.get(node.event)) {
            (NodeKind::User, Some(EventKind::MessageQueued(data))) => {
                self.read(Said::new(Role::User, &text_of(data.typed())));
            }
            (NodeKind::User, Some(EventKind::RewindRequested(data))) => {
                self.read(Said::new(Role::User, &text_of(data.parts.as_deref().unwrap_or_default())));
            }
            (NodeKind::Assistant { .. }, Some(EventKind::ModelFinished(data))) => {
                self.read(Said::new(Role::Assistant, &text_of(&data.parts)));
            }
            (NodeKind::User | NodeKind::Assistant { .. }, Some(EventKind::MessageImported(data))) => {
                self.read(Said::new(data.role, &text_of(&data.said())));
            }
            (NodeKind::Result(call), Some(EventKind::CallResolved(data))) => {
                let artifacts = data.output.as_ref().map_or(&[][..], |output| &output.artifacts);
                self.take_result(state, bodies, call, &result_text(data), &artifact_files(call, artifacts));
            }
            (NodeKind::Result(call), Some(EventKind::MessageImported(data))) => {
                let content = data.result(call.index).map(|(content, _)| content);
                self.take_result(state, bodies, call, content.unwrap_or_default(), &[]);
            }
            _ => {}
        }
    }

    fn take_result(&mut self, state: &State, bodies: &dyn Bodies, call: CallId, said: &[Part], artifacts: &[String]) {
        let tool = state.calls.get(call).and_then(|call| call.tool.as_deref().map(String::from));
        let (tool, id) = (tool.or_else(|| called_name(bodies, call, state)), call.to_string());
        let tool = Some((tool.as_deref().unwrap_or("an unknown tool"), id.as_str()));
        self.read(Said { role: Role::Tool, text: &text_of(said), tool, artifacts });
    }
}

/// The text of a summary by rules of at most so many tokens, and its size.
pub fn summary_text(summary: Summary, most: u32) -> (String, u32) {
    let text = summary.within(most.saturating_sub(SUMMARY_FRAME)).markdown();
    let tokens = estimate(&text).saturating_add(SUMMARY_FRAME);
    (text, tokens)
}

/// The size of the sentence around a summary.
const SUMMARY_FRAME: u32 = 24;

impl Branch {
    /// A branch that has just begun.
    pub(crate) fn new(kind: BranchKind, head: Seq) -> Branch {
        let by = SummaryMode::default();
        Branch {
            kind,
            by,
            opened: 0,
            plan_tokens: 0,
            asked: None,
            reflects: false,
            squeezes: false,
            head,
            rounds: 0,
            result: None,
            done: false,
            failed: false,
        }
    }

    /// Whether rules summarise on it, and no model.
    pub(crate) fn is_by_rules(&self) -> bool {
        self.kind == BranchKind::Compaction && self.by == SummaryMode::Rules
    }

    /// Whether no more than half of the conversation is to be left.
    fn keeps_less(&self) -> bool {
        self.squeezes || self.asked.is_some()
    }

    /// Whether a call may start on it. Nobody is asked to approve one for a summary.
    pub(crate) fn lets(&self, call: &Call) -> bool {
        match (self.kind, self.by) {
            (BranchKind::Repair | BranchKind::Aside, _) => true,
            (BranchKind::Compaction, SummaryMode::Agent) => {
                call.effect.is_read_only() && call.state != CallState::Asked
            }
            (BranchKind::Compaction, SummaryMode::Rules | SummaryMode::Single) => false,
        }
    }
}

impl State {
    pub(crate) fn open_branch(&mut self, id: EventId, data: &BranchOpened) {
        let reflects = data.by == SummaryMode::Agent;
        let prompt = if reflects { NodeKind::ReflectPrompt } else { NodeKind::SummaryPrompt };
        let head = match data.by {
            SummaryMode::Rules => self.tree.head.unwrap_or(Seq(0)),
            SummaryMode::Single | SummaryMode::Agent => self.tree.push(self.tree.head, id, prompt, data.tokens, None),
        };
        let squeezes = self.run.as_ref().is_some_and(|run| run.asking);
        let (by, asked, opened) = (data.by, data.asked, id);
        let plan_tokens = data.plan.as_ref().map_or(0, |plan| plan.tokens);
        let branch = Branch { by, asked, opened, plan_tokens, reflects, squeezes, ..Branch::new(data.kind, head) };
        self.branch = Some(branch);
        self.compaction = None;
        self.with_run(|run| {
            (run.compacted_at, run.compacted) = (Some(run.turns), false);
            run.rules_next = false;
            run.remedy = run.remedy.filter(|remedy| *remedy != Remedy::Cut);
        });
    }

    /// A summary that came to nothing is made by rules.
    pub(crate) fn close_branch(&mut self, data: &BranchClosed) {
        let Some(branch) = self.branch.take() else { return };
        let failed = branch.kind == BranchKind::Compaction && !data.done;
        if failed && self.closing().is_none() {
            self.summarised_to = Some(self.request_tokens());
        }
        if failed && !branch.is_by_rules() && self.closing().is_none() {
            self.compaction = branch.asked;
        }
        self.with_run(|run| {
            run.rules_next = failed && !branch.is_by_rules() && run.closing.is_none();
            if failed && branch.squeezes {
                run.remedy = Some(Remedy::Cut);
            }
        });
    }

    /// An answer without calls on a side branch. After reflecting comes the summary itself.
    pub(crate) fn branch_answered(&mut self, id: EventId, tokens: u32) {
        let Some(branch) = &mut self.branch else { return };
        if !branch.reflects {
            branch.result = Some((id, tokens));
            return;
        }
        branch.reflects = false;
        let (above, size) = (Some(branch.head), PROMPT_TOKENS.saturating_add(branch.plan_tokens));
        let prompt = self.tree.push(above, id, NodeKind::SummaryPrompt, size, None);
        self.set_tip(prompt);
    }

    pub(crate) fn compacted(&mut self, id: EventId, data: &Compacted) {
        let (keeps, summary, tokens) = (data.keeps.clone(), Some(data.summary), data.tokens);
        self.cut(id, Cut { keeps, summary, tokens, ..Cut::default() });
        if let Some(branch) = &mut self.branch {
            branch.done = true;
        }
        let spec = self.coming_spec().map_or(0, |spec| u64::from(spec.fixed_tokens));
        let size = spec.saturating_add(self.tree.shown_tokens(self.tree.head));
        self.summarised_to = Some(size);
        self.with_run(|run| run.compacted = true);
    }
}
