//! The plan in words, for models and people.

use super::Goals;
use crate::context::sentences::{in_brief, words};
use mainpath_types::{Goal, GoalId, GoalStatus};
use std::collections::BTreeSet;

/// So many goals the short view shows, and the full one; what is in focus is always among them.
const MOST_LINES: (usize, usize) = (40, 200);
/// So many characters of a text the short view shows, and the full one. What must be kept to is always shown whole.
const MOST_CHARS: (usize, usize) = (160, 600);

impl Goals {
    /// The plan in short: every goal a line, what serves a finished goal left out where it is finished too.
    pub fn short_view(&self) -> String {
        self.view(false)
    }

    /// The plan with everything that came of it.
    pub fn full_view(&self) -> String {
        self.view(true)
    }

    /// What differs from the plan as it was, a line each: terms, goals that are new or stand otherwise, goals that are gone.
    pub fn changes_since(&self, before: &Goals) -> Vec<String> {
        let (old, new) = (&before.terms, &self.terms);
        let terms =
            [("constraints", &old.constraints, &new.constraints), ("assumptions", &old.assumptions, &new.assumptions)];
        let changed = terms.iter().filter(|(_, old, new)| old != new);
        let mut lines: Vec<String> =
            changed.map(|(name, _, new)| in_brief(&format!("{name}: {}", new.join("; ")), MOST_CHARS.1)).collect();
        if old.mission != new.mission && !old.mission.is_empty() {
            lines.push(format!("mission: {}", in_brief(&new.mission, MOST_CHARS.0)));
        }
        let line = |plan: &Goals, goal: &Goal| {
            let summary = goal.summary.as_deref().filter(|summary| !summary.trim().is_empty());
            let came = summary.map(|summary| format!(" → {}", in_brief(summary, MOST_CHARS.0)));
            format!("{}{}", plan.line(goal, false), came.unwrap_or_default())
        };
        let mut shown = Vec::new();
        self.walk(None, 0, &|_| true, &mut shown);
        for (goal, level) in shown {
            let now = line(self, goal);
            if before.get(goal.id).map(|goal| line(before, goal)) != Some(now.clone()) {
                lines.push(format!("{}{now}", "  ".repeat(level)));
            }
        }
        let gone = before.list().iter().filter(|goal| self.get(goal.id).is_none());
        lines.extend(gone.map(|goal| format!("dropped: {}", line(before, goal))));
        lines
    }

    fn view(&self, full: bool) -> String {
        let mut text = String::new();
        if !self.terms.mission.is_empty() {
            text.push_str(&format!("Mission: {}\n", in_brief(&self.terms.mission, MOST_CHARS.1)));
        }
        for (name, list) in [("Constraints", &self.terms.constraints), ("Assumptions", &self.terms.assumptions)] {
            if !list.is_empty() {
                text.push_str(&format!("{name}:\n"));
                list.iter().for_each(|term| text.push_str(&format!("- {}\n", in_a_line(term))));
            }
        }
        if !self.terms.pinned.is_empty() {
            text.push_str("Pinned (to be kept to, in these words):\n");
            for (number, pinned) in (1..).zip(&self.terms.pinned) {
                text.push_str(&format!("{number}. {}\n", in_a_line(pinned)));
            }
        }
        // What is above something that is still to be done, and what is above the focus.
        let to_do = self.list().iter().filter(|goal| !goal.is_finished());
        let open: BTreeSet<GoalId> = to_do.flat_map(|goal| self.above(goal.id)).map(|goal| goal.id).collect();
        let path: BTreeSet<GoalId> = self.focus.iter().flat_map(|id| self.above(*id)).map(|goal| goal.id).collect();
        let mut shown = Vec::new();
        self.walk(None, 0, &|goal| full || !goal.is_finished() || open.contains(&goal.id), &mut shown);
        if shown.is_empty() {
            text.push_str("There are no goals yet.");
        }
        let most = if full { MOST_LINES.1 } else { MOST_LINES.0 };
        // What is done is the first to be left out.
        let mut surplus = shown.len().saturating_sub(most);
        let (mut room, mut left_out) = (most, 0);
        for (goal, level) in &shown {
            let is_done = goal.is_finished() && !open.contains(&goal.id);
            let is_focus = self.focus == Some(goal.id) || path.contains(&goal.id);
            if !is_focus && (room == 0 || is_done && surplus > 0) {
                (left_out, surplus) = (left_out + 1, surplus.saturating_sub(1));
                continue;
            }
            room = room.saturating_sub(1);
            text.push_str(&format!("{}{}\n", "  ".repeat(*level), self.line(goal, full)));
        }
        if left_out > 0 {
            let goals = if left_out == 1 { "goal is" } else { "goals are" };
            text.push_str(&format!("({left_out} more {goals} not shown)\n"));
        }
        text.trim_end().into()
    }

    /// The goals under one with their levels, as they stand; those under a goal that is not `opened` are left out.
    fn walk<'a>(
        &'a self,
        parent: Option<GoalId>,
        level: usize,
        opened: &impl Fn(&Goal) -> bool,
        into: &mut Vec<(&'a Goal, usize)>,
    ) {
        for goal in self.under(parent) {
            into.push((goal, level));
            if opened(goal) {
                self.walk(Some(goal.id), level + 1, opened, into);
            }
        }
    }

    fn line(&self, goal: &Goal, full: bool) -> String {
        let status = match goal.status {
            GoalStatus::Pending => " ",
            GoalStatus::InProgress if self.focus == Some(goal.id) => ">",
            GoalStatus::InProgress => "~",
            GoalStatus::Completed => "x",
            GoalStatus::Abandoned => "-",
        };
        let most = if full { MOST_CHARS.1 } else { MOST_CHARS.0 };
        let mut line = format!("[{status}] {}. {}", goal.id.0, in_brief(&goal.description, most));
        if let Some(step) = &goal.step {
            line.push_str(&format!(" ({})", in_brief(step, MOST_CHARS.0)));
        }
        if let Some(agents) = &goal.agent_call {
            let which = if agents.sub_trace_ids.len() == 1 { "another agent" } else { "other agents" };
            line.push_str(&format!(" (handed to {which})"));
        }
        if full && !goal.reason.is_empty() {
            line.push_str(&format!(" — because {}", in_brief(&goal.reason, most)));
        }
        if let Some(summary) = goal.summary.as_deref().filter(|summary| full && !summary.trim().is_empty()) {
            line.push_str(&format!(" → {}", in_brief(summary, most)));
        }
        line
    }
}

/// What the signs of a view mean.
pub const LEGEND: &str = "[ ] pending, [>] in focus, [~] in progress, [x] completed, [-] abandoned";

/// A text whose line ends cannot be taken for the view's own, without what steers a terminal.
fn in_a_line(text: &str) -> String {
    words(text).join(" ")
}
