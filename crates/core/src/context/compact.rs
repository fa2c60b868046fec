//! A summary takes the place of what is old: made by the model on a side branch, or by rules where no model can.

use crate::artifact_files;
use crate::context::bodies::{arguments, called_name, summary_words};
use crate::context::floor::{SUMMARY_FRAME, summary_floor};
use crate::context::leaving::{leaving, too_many};
use crate::context::loss::Loss;
use crate::context::note::note;
use crate::context::room::{AROUND, Room};
use crate::context::rules::{Called, Said, Summary};
use crate::context::sentences::line;
use crate::goals::view::LEGEND;
use crate::{Bodies, Branch, CallState, Cut, Hidden, InputKind, NodeKind, Refusal, Run, SpecHead, State};
use crate::{estimate, result_text};
use mainpath_types::{
    BranchClosed, BranchKind, BranchOpened, CommandEnd, Compacted, EventId, EventKind, Keeps, Part, PlanView, Remedy,
    Resolution, Role, Seq, SummaryFloor, SummaryMode, text_of,
};

/// The estimated size of the request for a summary, or to reflect.
const PROMPT_TOKENS: u32 = 120;

/// The most of a call's arguments that a summary quotes where none of them names what it is about, in characters.
const GIST_CHARS: usize = 120;

/// A model's summary of which less than this could be shown is of no use.
const LEAST: u32 = 64;

/// What reflecting may take, in hundredths of what a request may take.
const REFLECTION: u8 = 5;

/// The beginning of a summary. The model that is to make it is shown as much as fits, and not what has just not fitted; where
/// that is nothing it could summarise, rules do.
pub(crate) fn opened(state: &State, run: &Run, spec: &SpecHead) -> BranchOpened {
    let (mut by, mut hidden) = (run.summary_next.unwrap_or(spec.limits.summary), None);
    let (room, tokens) = (Room::of(spec).most, state.request_tokens());
    if by != SummaryMode::Rules && (run.asking || tokens + asking(spec, by) > room) {
        hidden = newest(state, spec, by);
        let whole_fits = !run.asking && tokens <= room;
        by = if hidden.is_some() || whole_fits { by } else { SummaryMode::Rules };
    }
    let plan = if by == SummaryMode::Rules { None } else { plan(state, spec, hidden) };
    let tokens = match by {
        SummaryMode::Rules => 0,
        SummaryMode::Single => PROMPT_TOKENS.saturating_add(plan.as_ref().map_or(0, |plan| plan.tokens)),
        SummaryMode::Agent => PROMPT_TOKENS,
    };
    let (kind, seq, before) = (BranchKind::Compaction, state.tree.next_seq(), hidden.map(|hidden| hidden.from));
    BranchOpened { kind, seq, tokens, by, asked: state.context.compaction, plan, before }
}

/// What asking for a summary adds to a request: what is asked, and before that what comes of reflecting, which is asked to be short.
fn asking(spec: &SpecHead, by: SummaryMode) -> u64 {
    let asked = u64::from(PROMPT_TOKENS) + AROUND;
    match by {
        SummaryMode::Agent => asked * 2 + Room::of(spec).share(REFLECTION),
        SummaryMode::Single | SummaryMode::Rules => asked,
    }
}

/// The newest turn, and as many messages before it as must be hidden so that the request for a summary fits; `None` where what is
/// left could not be summarised to any use.
fn newest(state: &State, spec: &SpecHead, by: SummaryMode) -> Option<Hidden> {
    let (tree, until) = (&state.tree, state.tree.next_seq());
    let (current, floor) = (tree.current_from(tree.head)?, tree.floor(tree.head));
    let room = Room::of(spec).most.saturating_sub(asking(spec, by));
    let leaves_room = |hidden: &Hidden| state.request_tokens_without(Some(*hidden)) <= room;
    let older = tree.starts(tree.head).filter(|start| start.seq <= current && start.seq > floor);
    let fitting = older.filter_map(|start| {
        let hidden = Hidden { from: start.seq, until, tokens: start.tokens };
        leaves_room(&hidden).then_some((hidden, start.is_said || start.seq == current))
    });
    // What is hidden begins at what a person said, if it may.
    let fitting: Vec<(Hidden, bool)> = fitting.collect();
    let (hidden, _) = *fitting.iter().find(|(_, is_said)| *is_said).or(fitting.first())?;
    let squeezes = state.run.as_ref().is_some_and(|run| run.asking);
    let loss = leaving(state, spec, squeezes, Some(hidden.from));
    (loss.frees() > 0 && most(state, spec, &loss) >= LEAST.into()).then_some(hidden)
}

/// The plan for a summary: with what came of it, or in short where the request has not twice the room for that.
fn plan(state: &State, spec: &SpecHead, hidden: Option<Hidden>) -> Option<PlanView> {
    let taken = state.request_tokens_without(hidden) + u64::from(PROMPT_TOKENS);
    let room = Room::of(spec).most.saturating_sub(taken);
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

/// Whether a summary would stand for anything.
pub(crate) fn shrinks(state: &State, spec: &SpecHead, squeezes: bool) -> bool {
    leaving(state, spec, squeezes, None).frees() > 0
}

/// How large a summary may be: the share of its section, and half of what goes with no request; and where it is made for want of
/// room, less than what it stands for.
fn most(state: &State, spec: &SpecHead, loss: &Loss<'_>) -> u64 {
    let room = Room::of(spec);
    let share = room.share(room.shares.summary).min(room.full.saturating_sub(spec.fixed_tokens.into()) / 2);
    if too_many(state, spec).is_some() {
        return share;
    }
    let earlier = state.tree.cut_at(state.tree.head).map_or(0, |cut| u64::from(cut.tokens));
    share.min((loss.frees() + earlier).saturating_sub(1))
}

/// What becomes of a model's summary, with the floor below it. Of one that is larger than it may be as much is shown as may be:
/// it was paid for. `None` while what rules find beyond it is waited for.
pub(crate) fn summarised(state: &State, spec: &SpecHead, floor: Option<(SummaryFloor, u32)>) -> Option<EventKind> {
    let branch = state.branch?;
    let (summary, tokens) = branch.result?;
    let most = most_below(state, spec, &branch);
    if most < LEAST && tokens > most {
        return Some(BranchClosed { kind: BranchKind::Compaction, done: false }.into());
    }
    if floor.is_none() && !is_closing(state) {
        return None;
    }
    let own = floor.as_ref().map_or(0, |(_, tokens)| *tokens);
    let most = most.saturating_sub(own);
    let excerpt = (tokens > most).then_some(most);
    let (seq, keeps) = (state.tree.next_seq(), model_leaving(state, spec, &branch).keeps());
    let note = note(state, &keeps);
    let (tokens, floor) = (tokens.min(most).saturating_add(own), floor.map(|(floor, _)| floor));
    let floor = floor.filter(|floor| !floor.text.is_empty());
    Some(Compacted { seq, summary, text: None, keeps, tokens, excerpt, floor, note, some_shown: true }.into())
}

fn is_closing(state: &State) -> bool {
    state.closing().is_some()
}

/// What goes when a model's summary takes its place.
fn model_leaving<'a>(state: &'a State, spec: &SpecHead, branch: &Branch) -> Loss<'a> {
    leaving(state, spec, branch.keeps_less(), branch.hidden.map(|hidden| hidden.from))
}

/// How large a model's summary may be, with what stands below it.
fn most_below(state: &State, spec: &SpecHead, branch: &Branch) -> u32 {
    u32::try_from(most(state, spec, &model_leaving(state, spec, branch))).unwrap_or(u32::MAX)
}

/// What becomes of a summary by rules: it is the summary, or what stands below a model's. One that is too large is left.
pub(crate) fn by_rules(state: &State, text: &str, tokens: u32, all: bool) -> Result<EventKind, Refusal> {
    let Wanted { most, below, keeps } = wanted(state).ok_or(Refusal::NoSummaryWanted)?;
    let spec = state.coming_spec().ok_or(Refusal::NoSpec)?;
    if below.is_some() {
        let fits = tokens <= most && !text.is_empty();
        let floor = if fits { (text.to_string(), tokens) } else { (String::new(), 0) };
        let floor = (SummaryFloor { text: floor.0, all: all && fits }, floor.1);
        return summarised(state, spec, Some(floor)).ok_or(Refusal::NoSummaryWanted);
    }
    if tokens > most {
        return Ok(BranchClosed { kind: BranchKind::Compaction, done: false }.into());
    }
    let (seq, note) = (state.tree.next_seq(), note(state, &keeps));
    let (text, summary) = (Some(text.into()), state.log.last + 1);
    Ok(Compacted { seq, summary, text, keeps, tokens, excerpt: None, floor: None, note, some_shown: true }.into())
}

/// A summary by rules that is waited for.
pub(crate) struct Wanted {
    /// How large it may be, in tokens. At least a quarter of the room is left to a model's words above it.
    pub most: u32,
    /// The event with the model's words below which it is to stand, if it is.
    pub below: Option<EventId>,
    /// What stays of what it tells about.
    pub keeps: Keeps,
}

/// The summary by rules that is waited for; `None` while none is.
pub(crate) fn wanted(state: &State) -> Option<Wanted> {
    let branch =
        state.branch.filter(|branch| branch.kind == BranchKind::Compaction && !branch.done && !branch.failed)?;
    let spec = state.coming_spec()?;
    if branch.is_by_rules() {
        let loss = leaving(state, spec, branch.keeps_less(), None);
        let most = u32::try_from(most(state, spec, &loss)).unwrap_or(u32::MAX);
        return Some(Wanted { most, below: None, keeps: loss.keeps() });
    }
    let (words, tokens) = branch.result.filter(|_| !is_closing(state))?;
    let most = most_below(state, spec, &branch);
    let most = most.saturating_sub(tokens.min(most / 4));
    Some(Wanted { most, below: Some(words), keeps: model_leaving(state, spec, &branch).keeps() })
}

/// What a summary by rules begins with: what a model has summarised of the path before, so far as that is at hand.
pub fn earlier_summary(state: &State, bodies: &dyn Bodies) -> Summary {
    let by_model = state.tree.cut_at(state.tree.head).and_then(|cut| cut.by_model);
    Summary { earlier: by_model.and_then(|event| model_summary(bodies, event)), ..Summary::default() }
}

/// What a model wrote as a summary, by the event that has it; `None` where that is nothing, or is not at hand.
pub fn model_summary(bodies: &dyn Bodies, event: EventId) -> Option<String> {
    summary_words(bodies, event).filter(|text| !text.trim().is_empty())
}

/// The answer to [`crate::Effect::Summarise`]: what rules found, in at most so many tokens, without a line for the exchanges that
/// stay in view; below a model's words only what those do not tell.
pub fn summary_input(found: Summary, below: Option<&str>, most: u32, keeps: &Keeps) -> InputKind {
    let found = found.without(keeps);
    match below {
        None => {
            let (text, tokens) = summary_text(found, most);
            InputKind::Summarised { text, tokens, all: false }
        }
        Some(words) => {
            let (SummaryFloor { text, all }, tokens) = summary_floor(found, words, most);
            InputKind::Summarised { text, tokens, all }
        }
    }
}

/// The messages that [`summarise`] reads, and the events that hold their texts: the main path, oldest first.
pub fn summary_messages(state: &State) -> Vec<(Seq, EventId)> {
    let mut path: Vec<_> = state.tree.up(state.tree.head).map(|(seq, node)| (seq, node.event)).collect();
    path.reverse();
    path
}

/// The summary by rules of the main path, so far as its texts are at hand: of all of it, also of what is no longer shown.
pub fn summarise(state: &State, bodies: &dyn Bodies) -> Summary {
    let mut summary = earlier_summary(state, bodies);
    summary_messages(state).into_iter().for_each(|(seq, _)| summary.take(state, bodies, seq));
    summary
}

/// How much a part of a message says, in characters.
fn letters_of(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.chars().count(),
        Part::StoredText { bytes, .. } => usize::try_from(*bytes).unwrap_or(usize::MAX),
        _ => 0,
    }
}

/// What a call came to.
struct Outcome<'a> {
    said: &'a [Part],
    artifacts: &'a [String],
    command: Option<CommandEnd>,
}

impl Summary {
    /// Reads a message of a trace, so far as its text is at hand.
    pub fn take(&mut self, state: &State, bodies: &dyn Bodies, seq: Seq) {
        let Some(node) = state.tree.node(seq) else { return };
        let said = |role, text| Said { number: Some(seq), ..Said::new(role, text) };
        match (node.kind, bodies.get(node.event)) {
            (NodeKind::User, Some(EventKind::MessageQueued(data))) => {
                let beside: usize = data.parts.iter().map(letters_of).sum::<usize>()
                    - data.typed().iter().map(letters_of).sum::<usize>();
                let beside = if beside > 0 { format!(" (with {beside} characters of input)") } else { String::new() };
                self.read(Said { beside: &beside, ..said(Role::User, &text_of(data.typed())) });
            }
            (NodeKind::User, Some(EventKind::RewindRequested(data))) => {
                self.read(said(Role::User, &text_of(data.parts.as_deref().unwrap_or_default())));
            }
            (NodeKind::Assistant { .. }, Some(EventKind::ModelFinished(data))) => {
                let calls = !data.calls.is_empty();
                self.read(Said { calls, ..said(Role::Assistant, &text_of(&data.parts)) });
            }
            (NodeKind::User | NodeKind::Assistant { .. }, Some(EventKind::MessageImported(data))) => {
                let calls = matches!(node.kind, NodeKind::Assistant { calls } if calls > 0);
                self.read(Said { calls, ..said(data.role, &text_of(&data.said())) });
            }
            (NodeKind::Result(call), Some(EventKind::CallResolved(data))) => {
                let artifacts = data.output.as_ref().map_or(&[][..], |output| &output.artifacts);
                let command = data.output.as_ref().and_then(|output| output.command);
                let result = Outcome { said: &result_text(data), artifacts: &artifact_files(call, artifacts), command };
                self.take_result(state, bodies, seq, &result);
            }
            (NodeKind::Result(call), Some(EventKind::MessageImported(data))) => {
                let content = data.result(call.index).map(|(content, _)| content);
                let result = Outcome { said: content.unwrap_or_default(), artifacts: &[], command: None };
                self.take_result(state, bodies, seq, &result);
            }
            _ => {}
        }
    }

    fn take_result(&mut self, state: &State, bodies: &dyn Bodies, seq: Seq, result: &Outcome<'_>) {
        let Some(node) = state.tree.node(seq) else { return };
        let NodeKind::Result(call) = node.kind else { return };
        let row = state.calls.get(call);
        let tool = row.and_then(|row| row.tool.as_deref().map(String::from));
        let (tool, id) = (tool.or_else(|| called_name(bodies, call, state)), call.to_string());
        let about = arguments(bodies, call, state).map(|arguments| gist(&arguments)).unwrap_or_default();
        let failed = row.is_some_and(|row| row.state != CallState::Done(Resolution::Ok));
        let tool = tool.as_deref().unwrap_or("an unknown tool");
        let called = Called { tool, id: &id, event: node.event, about: &about, failed, command: result.command };
        let text = text_of(result.said);
        self.read(Said { artifacts: result.artifacts, call: Some(called), ..Said::new(Role::Tool, &text) });
    }
}

/// What a call is about: the argument that names a place or a thing, else all of them as they are.
fn gist(arguments: &str) -> String {
    const NAMES: [&str; 9] = ["path", "url", "command", "pattern", "query", "file", "id", "name", "filter"];
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(arguments) else { return String::new() };
    let named = NAMES.iter().find_map(|name| fields.get(*name)?.as_str());
    match named {
        Some(text) => text.into(),
        None if fields.is_empty() => String::new(),
        None => line(arguments, GIST_CHARS),
    }
}

/// The text of a summary by rules of at most so many tokens, and its size.
pub fn summary_text(summary: Summary, most: u32) -> (String, u32) {
    let text = summary.within(most.saturating_sub(SUMMARY_FRAME)).markdown();
    let tokens = estimate(&text).saturating_add(SUMMARY_FRAME);
    (text, tokens)
}

impl State {
    pub(crate) fn open_branch(&mut self, id: EventId, data: &BranchOpened) {
        let reflects = data.by == SummaryMode::Agent;
        let prompt = if reflects { NodeKind::ReflectPrompt } else { NodeKind::SummaryPrompt };
        // Of a longer conversation than fits, the rest is summarised after this part.
        let is_part = data.before.is_some_and(|before| Some(before) < self.tree.current_from(self.tree.head));
        let hidden = data.before.map(|from| self.hidden(from));
        let head = match data.by {
            SummaryMode::Rules => self.tree.head.unwrap_or(Seq(0)),
            SummaryMode::Single | SummaryMode::Agent => self.tree.push(self.tree.head, id, prompt, data.tokens, None),
        };
        let squeezes = self.run.as_ref().is_some_and(|run| run.asking);
        let (by, asked, opened) = (data.by, data.asked, id);
        let plan_tokens = data.plan.as_ref().map_or(0, |plan| plan.tokens);
        let branch =
            Branch { by, asked, opened, plan_tokens, reflects, squeezes, hidden, ..Branch::new(data.kind, head) };
        self.branch = Some(branch);
        self.context.compaction = None;
        self.with_run(|run| {
            (run.compacted_at, run.compacted) = (Some(run.turns).filter(|_| !is_part), false);
            run.summary_next = None;
            run.remedy = run.remedy.filter(|remedy| *remedy != Remedy::Cut);
        });
    }

    /// What a side branch that begins now does not show, from a message of the main path on.
    fn hidden(&self, from: Seq) -> Hidden {
        let start = self.tree.starts(self.tree.head).find(|start| start.seq <= from);
        Hidden { from, until: self.tree.next_seq(), tokens: start.map_or(0, |start| start.tokens) }
    }

    /// A summary that came to nothing is made in a plainer way: without reflection, or by rules.
    pub(crate) fn close_branch(&mut self, data: &BranchClosed) {
        let Some(branch) = self.branch.take() else { return };
        let failed = branch.kind == BranchKind::Compaction && !data.done;
        if failed && self.closing().is_none() {
            self.context.summarised_to = Some(self.request_tokens());
        }
        if failed && !branch.is_by_rules() && self.closing().is_none() {
            self.context.compaction = branch.asked;
        }
        self.with_run(|run| {
            let open = failed && !branch.is_by_rules() && run.closing.is_none();
            // Where it came to no reflection, or to one that left no room, the summary itself may still be had.
            let reflected_too_much = branch.by == SummaryMode::Agent && branch.rounds == 0 && !branch.failed;
            let plainer = if branch.reflects || reflected_too_much { SummaryMode::Single } else { SummaryMode::Rules };
            run.summary_next = open.then_some(plainer);
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
        (branch.reflects, branch.rounds) = (false, 0);
        let (above, size) = (Some(branch.head), PROMPT_TOKENS.saturating_add(branch.plan_tokens));
        let prompt = self.tree.push(above, id, NodeKind::SummaryPrompt, size, None);
        self.set_tip(prompt);
    }

    pub(crate) fn compacted(&mut self, id: EventId, data: &Compacted) {
        let above = self.tree.cut_at(self.tree.head).and_then(|cut| cut.by_model);
        let has_words = data.note.is_some() || data.excerpt.is_some() || data.some_shown;
        // Words that tell nothing do not stand for what was summarised before.
        let by_model = above.filter(|_| data.floor.as_ref().is_some_and(|floor| floor.all)).unwrap_or(data.summary);
        let event = if has_words { id } else { data.summary };
        let note = data.note.as_ref().map_or(0, |note| note.tokens);
        self.cut(
            id,
            Cut {
                keeps: data.keeps.clone(),
                summary: Some(event),
                tokens: data.tokens.saturating_add(note),
                base: Some(event),
                base_tokens: data.tokens,
                by_model: if data.text.is_none() { Some(by_model) } else { above },
                ..Cut::default()
            },
        );
        let hidden = self.branch.and_then(|branch| branch.hidden);
        let is_part = hidden.is_some_and(|hidden| Some(hidden.from) < self.tree.current_from(self.tree.head));
        if let Some(branch) = &mut self.branch {
            branch.done = true;
        }
        let spec = self.coming_spec().map_or(0, |spec| u64::from(spec.fixed_tokens));
        let size = spec.saturating_add(self.tree.shown_tokens(self.tree.head));
        // The rest follows at once if it is nearly full all the same, and not only once it has grown.
        self.context.summarised_to = Some(size).filter(|_| !is_part);
        self.with_run(|run| run.compacted = true);
    }
}
