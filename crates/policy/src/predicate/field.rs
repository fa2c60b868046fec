//! What a predicate can ask about.

use std::fmt;

/// What a predicate can ask about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepField {
    /// The tool's own name; empty for an answer without a call.
    Tool,
    /// The values of all arguments, a line each.
    Args,
    /// One argument: its names from the outside in, with dots between.
    Arg(String),
    /// What rules said: `allow`, `ask` or `deny`.
    Verdict,
    /// The rule that said so.
    Rule,
    /// How the call ended: `ok`, `error`, `denied`, `skipped`, `interrupted`, `unknown`.
    Outcome,
    /// Its error: `=` compares the code, `~` searches the code and the text.
    Error,
    /// Where the arguments came from, such as `web`.
    Origin,
    /// What the model said in the answer with the call.
    Text,
    /// What the trace had cost by then, in dollars.
    Cost,
    /// The model.
    Model,
    /// The preset of the agent.
    Agent,
    /// The folder that the agent works in.
    Folder,
    /// The trace's id.
    Trace,
}

/// The fields and how they are written; an argument is `args.NAME`.
pub(crate) const FIELDS: [(&str, StepField); 13] = [
    ("tool", StepField::Tool),
    ("args", StepField::Args),
    ("verdict", StepField::Verdict),
    ("rule", StepField::Rule),
    ("outcome", StepField::Outcome),
    ("error", StepField::Error),
    ("origin", StepField::Origin),
    ("text", StepField::Text),
    ("cost", StepField::Cost),
    ("model", StepField::Model),
    ("agent", StepField::Agent),
    ("folder", StepField::Folder),
    ("trace", StepField::Trace),
];

impl StepField {
    /// Whether it is known before a call runs.
    pub fn is_known_before(&self) -> bool {
        !matches!(self, StepField::Outcome | StepField::Error)
    }

    /// Whether it is a number.
    pub(crate) fn is_number(&self) -> bool {
        *self == StepField::Cost
    }

    /// Whether it may be compared as a number.
    pub(crate) fn may_be_number(&self) -> bool {
        matches!(self, StepField::Cost | StepField::Arg(_))
    }

    /// The only values that it can have, where these are few.
    pub(crate) fn values(&self) -> Option<&'static [&'static str]> {
        match self {
            StepField::Verdict => Some(&["allow", "ask", "deny"]),
            StepField::Outcome => Some(&["ok", "error", "denied", "skipped", "interrupted", "unknown"]),
            StepField::Origin => Some(&["user", "workspace", "web", "mcp", "message", "model"]),
            _ => None,
        }
    }
}

impl fmt::Display for StepField {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let StepField::Arg(name) = self {
            return write!(to, "args.{name}");
        }
        let name = FIELDS.iter().find(|(_, field)| field == self).map_or("", |(name, _)| name);
        to.write_str(name)
    }
}
