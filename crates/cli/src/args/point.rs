//! A message of a trace.

use clap::Args;
use mainpath::trace::Point;
use mainpath::types::{GoalId, Seq};

/// Where to go back to.
#[derive(Args, Clone, Copy, Debug, Default)]
#[group(multiple = false)]
pub struct PointArgs {
    /// To this message and the results of its calls; `mainpath show` has the numbers, 0 is before the first
    #[arg(long, visible_alias = "at", value_name = "MESSAGE", value_parser = seq)]
    pub to: Option<Seq>,
    /// To the end of this turn; `mainpath show --events` has the numbers
    #[arg(long, value_name = "N")]
    pub turn: Option<u32>,
    /// To where this goal was set
    #[arg(long, value_name = "N")]
    pub goal: Option<u32>,
}

impl PointArgs {
    /// The point that is meant; before the first message, where nothing is said.
    pub fn point(self) -> Point {
        match (self.turn, self.goal) {
            (Some(turn), _) => Point::Turn(turn),
            (None, Some(goal)) => Point::Goal(GoalId(goal)),
            (None, None) => Point::Message(self.to.unwrap_or(Seq(0))),
        }
    }
}

/// The number of a message, with or without its mark.
pub fn seq(text: &str) -> Result<Seq, String> {
    let number = text.trim_start_matches('#').parse();
    number.map(Seq).map_err(|_| format!("expected the number of a message, not {text:?}"))
}
