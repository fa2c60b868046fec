//! `rewind`, `regenerate`, `fork` and `restore`.

use super::{AgentArgs, OutputArgs};
use clap::Args;
use mainpath::trace::Point;
use mainpath_types::{GoalId, Seq};

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

/// What becomes of the files.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct FilesArgs {
    /// Restore files that calls have changed since [default: asks in a terminal, otherwise no]
    #[arg(long)]
    pub files: bool,
    /// Leave the files as they are
    #[arg(long, conflicts_with = "files")]
    pub no_files: bool,
    /// Also restore files that somebody else has changed since
    #[arg(long, requires = "files")]
    pub force: bool,
    /// Only show which files would change
    #[arg(long, conflicts_with = "no_files")]
    pub dry_run: bool,
}

/// `mainpath restore`
#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    #[command(flatten)]
    pub point: PointArgs,
    /// Undo the last restore
    #[arg(long, conflicts_with_all = ["to", "turn", "goal"])]
    pub undo: bool,
    /// Only show what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Also restore files that somebody else has changed since
    #[arg(long, conflicts_with = "dry_run")]
    pub force: bool,
}

/// `mainpath rewind`
#[derive(Args, Debug)]
pub struct RewindArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// The message to go back to (unless an option names it), then a new task [default: the model answers again at once]
    #[arg(value_name = "[N] [TASK]", num_args = 0..=2)]
    pub words: Vec<String>,
    #[command(flatten)]
    pub point: PointArgs,
    #[command(flatten)]
    pub files: FilesArgs,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl RewindArgs {
    /// Where to, and what to say there. Errors: a line that says what is missing.
    pub fn read(&mut self) -> Result<Option<String>, String> {
        let PointArgs { to, turn, goal } = self.point;
        let mut words = std::mem::take(&mut self.words).into_iter();
        if to.is_none() && turn.is_none() && goal.is_none() {
            let first = words
                .next()
                .ok_or("give a message, a turn or a goal: mainpath rewind TRACE --to MESSAGE, --turn N or --goal N")?;
            self.point.to = Some(seq(&first)?);
        }
        let task = words.next();
        match words.next() {
            Some(extra) => Err(format!("unexpected argument {extra:?}; put the task in quotes")),
            None => Ok(task),
        }
    }
}

/// `mainpath regenerate`
#[derive(Args, Debug)]
pub struct RegenerateArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `mainpath fork`
#[derive(Args, Debug)]
pub struct ForkArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// A new task [default: the model answers again at once; --no-run only copies]
    pub task: Option<String>,
    #[command(flatten)]
    pub point: PointArgs,
    #[command(flatten)]
    pub files: FilesArgs,
    /// Only create the trace and print its id
    #[arg(long, conflicts_with_all = ["task", "json", "output"])]
    pub no_run: bool,
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The number of a message, with or without its mark.
pub fn seq(text: &str) -> Result<Seq, String> {
    let number = text.trim_start_matches('#').parse();
    number.map(Seq).map_err(|_| format!("expected the number of a message, not {text:?}"))
}
