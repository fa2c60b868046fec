//! What a request says of the messages that it does not show: how many, what came of the goals they served, and with which tools
//! they can be looked up.

use crate::context::room::Room;
use crate::context::sentences::in_brief;
use crate::{NodeKind, State, estimate};
use mainpath_types::{Goal, GoalId, GoalStatus, Keeps, LeftOutNote, Seq, Span};
use std::collections::BTreeMap;
use std::fmt::Write;

/// So many characters of what came of a goal are told.
const GOAL_CHARS: usize = 600;
/// So many runs of messages are named one by one.
const SPANS: usize = 6;
/// The tools that look back, in the order in which they are named.
const TOOLS: [&str; 3] = ["load_older_messages", "list_calls", "recall_result"];

/// The note on what these sets leave out of the main path; `None` where that is nothing.
pub(crate) fn note(state: &State, keeps: &Keeps) -> Option<LeftOutNote> {
    let first = keeps.first_kept.unwrap_or(Seq(u32::MAX));
    let shown_early = |seq: Seq| {
        let partly = keeps.partly.is_some_and(|(partly, _)| partly == seq);
        partly || keeps.pinned.contains(&seq) || keeps.demands.contains(&seq)
    };
    let is_omitted = |seq: Seq| {
        let after = keeps.omitted.partition_point(|(_, last)| *last < seq);
        keeps.omitted.get(after).is_some_and(|(first, _)| *first <= seq)
    };
    let (mut messages, mut results) = (0u32, 0u32);
    // Neighbours among what was said, newest first.
    let (mut spans, mut goes_on): (Vec<Span>, bool) = (Vec::new(), false);
    let mut goals: BTreeMap<GoalId, (Seq, Seq)> = BTreeMap::new();
    for (seq, node) in state.tree.up(state.tree.head) {
        let is_said = matches!(node.kind, NodeKind::User | NodeKind::Assistant { .. } | NodeKind::Result(_));
        let is_out = if seq < first { !shown_early(seq) } else { is_omitted(seq) };
        if !is_said {
            continue;
        }
        if !is_out {
            goes_on = false;
            continue;
        }
        match spans.last_mut().filter(|_| goes_on) {
            Some((first, _)) => *first = seq,
            None => spans.push((seq, seq)),
        }
        goes_on = true;
        messages += 1;
        results += u32::from(matches!(node.kind, NodeKind::Result(_)));
        if let Some(goal) = node.goal.filter(|_| node.kind != NodeKind::User) {
            goals.entry(goal).and_modify(|(from, _)| *from = seq).or_insert((seq, seq));
        }
    }
    let which = numbers(&spans)?;
    let mut text = match messages {
        1 => format!("[From the system: the earlier message {which}"),
        _ => format!("[From the system: {messages} earlier messages, {which}"),
    };
    match results {
        0 => {}
        1 => text.push_str(", with 1 tool result"),
        _ => {
            let _ = write!(text, ", with {results} tool results");
        }
    }
    text.push_str(match (messages, results) {
        (1, 0) => " is not shown here.",
        (1, _) => ", is not shown here.",
        _ => ", are not shown here.",
    });
    let has =
        |tool: &&str| state.coming_spec().is_some_and(|spec| spec.tools.iter().any(|known| *known.name == **tool));
    let tools: Vec<&str> = TOOLS.into_iter().filter(has).collect();
    if !tools.is_empty() {
        let _ = write!(text, " If you need one, look it up with {}.", tools.join(", "));
    }
    text.push(']');
    tell_goals(state, &goals, &mut text);
    let tokens = estimate(&text).saturating_add(4);
    Some(LeftOutNote { text, tokens })
}

/// Which messages these are, oldest first; where that would be a long list, from the first to the last.
fn numbers(spans: &[Span]) -> Option<String> {
    let name = |(first, last): &Span| match first == last {
        true => format!("#{}", first.0),
        false => format!("#{} to #{}", first.0, last.0),
    };
    let (newest, oldest) = (spans.first()?, spans.last()?);
    if spans.len() > SPANS {
        return Some(format!("between {} and #{}", name(&(oldest.0, oldest.0)), newest.1.0));
    }
    let mut names: Vec<String> = spans.iter().rev().map(name).collect();
    let last = names.pop()?;
    Some(if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) })
}

/// What came of the finished goals whose messages are left out, the newest first where not all find room.
fn tell_goals(state: &State, goals: &BTreeMap<GoalId, (Seq, Seq)>, text: &mut String) {
    let mut room = state.coming_spec().map_or(0, |spec| {
        let room = Room::of(spec);
        room.share(room.shares.summary) / 2
    });
    let told = goals.iter().filter_map(|(id, at)| Some((state.goals.get(*id).filter(|goal| goal.is_finished())?, at)));
    let mut lines = Vec::new();
    let mut unsaid = 0;
    for (goal, (from, to)) in told.collect::<Vec<_>>().into_iter().rev() {
        let line = format!(
            "- goal {}, {} (#{} to #{}): {}",
            goal.id.0,
            in_brief(&goal.description, GOAL_CHARS),
            from.0,
            to.0,
            came_of(goal)
        );
        match room.checked_sub(u64::from(estimate(&line)) + 1) {
            Some(left) if unsaid == 0 => {
                room = left;
                lines.push(line);
            }
            _ => unsaid += 1,
        }
    }
    if !lines.is_empty() {
        text.push_str("\nAmong them is all work on these goals, which are finished:");
    }
    if unsaid > 0 {
        let _ = write!(text, "\n({unsaid} older finished goals are not listed.)");
    }
    for line in lines.iter().rev() {
        text.push('\n');
        text.push_str(line);
    }
}

fn came_of(goal: &Goal) -> String {
    let how = if goal.status == GoalStatus::Abandoned { "given up: " } else { "" };
    match goal.summary.as_deref().map(|summary| in_brief(summary, GOAL_CHARS)).filter(|summary| !summary.is_empty()) {
        Some(summary) => format!("{how}{summary}"),
        None => format!("{how}no summary was given"),
    }
}
