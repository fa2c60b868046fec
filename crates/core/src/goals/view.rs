//! The plan in words, for models and people.

use super::Goals;
use mainpath_types::{Goal, GoalId, GoalStatus};

/// So many lines the short view has at most; what is in focus is always among them.
const MOST_LINES: usize = 60;

impl Goals {
    /// The plan in short: every goal a line, what serves a finished goal left out where it is finished too.
    pub fn short_view(&self) -> String {
        self.view(false)
    }

    /// The plan with everything that came of it.
    pub fn full_view(&self) -> String {
        self.view(true)
    }

    fn view(&self, full: bool) -> String {
        let mut text = String::new();
        if !self.terms.mission.is_empty() {
            text.push_str(&format!("Mission: {}\n", in_a_line(&self.terms.mission)));
        }
        for (name, list) in [("Constraints", &self.terms.constraints), ("Assumptions", &self.terms.assumptions)] {
            if !list.is_empty() {
                text.push_str(&format!("{name}:\n"));
                list.iter().for_each(|term| text.push_str(&format!("- {}\n", in_a_line(term))));
            }
        }
        let mut lines = Vec::new();
        self.lines(None, 0, full, &mut lines);
        if lines.is_empty() {
            text.push_str("There are no goals yet.");
        }
        let most = if full { usize::MAX } else { MOST_LINES };
        let open_path = |id: &GoalId| {
            self.focus == Some(*id) || self.focus.is_some_and(|at| self.above(at).any(|goal| goal.id == *id))
        };
        let (mut room, mut left_out) = (most, 0);
        for (id, line) in &lines {
            if room == 0 && !open_path(id) {
                left_out += 1;
                continue;
            }
            room = room.saturating_sub(1);
            text.push_str(line);
            text.push('\n');
        }
        if left_out > 0 {
            text.push_str(&format!("({left_out} more goals are not shown)\n"));
        }
        text.trim_end().into()
    }

    fn lines(&self, parent: Option<GoalId>, level: usize, full: bool, lines: &mut Vec<(GoalId, String)>) {
        for goal in self.under(parent) {
            lines.push((goal.id, format!("{}{}", "  ".repeat(level), self.line(goal, full))));
            if full || !goal.is_finished() || self.has_open(goal.id) {
                self.lines(Some(goal.id), level + 1, full, lines);
            }
        }
    }

    /// Whether anything is still to be done under a goal.
    fn has_open(&self, id: GoalId) -> bool {
        self.list().iter().any(|goal| !goal.is_finished() && self.above(goal.id).any(|above| above.id == id))
    }

    fn line(&self, goal: &Goal, full: bool) -> String {
        let status = match goal.status {
            GoalStatus::Pending => " ",
            GoalStatus::InProgress if self.focus == Some(goal.id) => ">",
            GoalStatus::InProgress => "~",
            GoalStatus::Completed => "x",
            GoalStatus::Abandoned => "-",
        };
        let mut line = format!("[{status}] {}. {}", goal.id.0, in_a_line(&goal.description));
        if let Some(step) = &goal.step {
            line.push_str(&format!(" ({})", in_a_line(step)));
        }
        if full && !goal.reason.is_empty() {
            line.push_str(&format!(" — because {}", in_a_line(&goal.reason)));
        }
        if let Some(summary) = goal.summary.as_deref().filter(|summary| full && !summary.trim().is_empty()) {
            line.push_str(&format!(" → {}", in_a_line(summary)));
        }
        line
    }
}

/// What the signs of a view mean.
pub const LEGEND: &str = "[ ] pending, [>] in focus, [~] in progress, [x] completed, [-] abandoned";

/// A text whose line ends cannot be taken for the view's own.
fn in_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
