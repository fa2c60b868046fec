//! Why a rule, or a file of rules, cannot be used.

use crate::pattern::{PatternError, question};
use crate::sample::SampleError;
use mainpath_types::Decision;
use std::fmt;

/// The largest rule file, in bytes.
pub(crate) const LARGEST: usize = 1024 * 1024;
/// The most rules of a file.
pub(crate) const MOST_RULES: usize = 2_000;

/// What is wrong with a rule, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct PolicyError {
    /// Where the rule is written.
    pub place: RulePlace,
    /// The cause.
    pub problem: RuleProblem,
}

/// Where a rule is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulePlace {
    /// A line of a file.
    Line {
        /// The file, as its reader names it.
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// A file as a whole.
    File(String),
    /// A single rule of a run, such as that of the option `--deny`.
    Single {
        /// What the rule decides.
        decision: Decision,
        /// Its place among the single rules that decide so, from 0.
        index: usize,
    },
    /// The list of the commands that a preset bounds.
    Commands,
}

impl fmt::Display for RulePlace {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulePlace::Line { file, line } => write!(to, "{file}, line {line}"),
            RulePlace::File(file) => to.write_str(file),
            RulePlace::Single { decision, .. } => write!(to, "--{}", decision.as_str()),
            RulePlace::Commands => to.write_str("commands"),
        }
    }
}

/// Why a rule or a file of rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleProblem {
    /// The file is too large.
    #[error("a rule file has at most {LARGEST} bytes")]
    LargeFile,
    /// The file has too many rules.
    #[error("a rule file has at most {MOST_RULES} rules")]
    ManyRules,
    /// The file is not TOML, or not of the right form.
    #[error("{message}{}", question(meant.as_deref()))]
    Syntax {
        /// The message of the TOML parser.
        message: String,
        /// The nearest known name, if one was misspelt.
        meant: Option<String>,
    },
    /// The file of a project switches rules off.
    #[error("a project cannot switch rules off")]
    ProjectOff,
    /// The file switches off a rule that does not exist, or that no file can switch off.
    #[error("off names the rule {id:?}, and there is none that can be switched off{}", question(meant.as_deref()))]
    UnknownOff {
        /// The rule's id.
        id: String,
        /// The nearest id of a rule.
        meant: Option<String>,
    },
    /// The id begins like those of built-in rules.
    #[error("the id {id:?} begins with {reserved}, as only Mainpath's own rules do")]
    ReservedId {
        /// The id.
        id: String,
        /// The beginning that is reserved.
        reserved: &'static str,
    },
    /// The id is empty, too long or has other characters.
    #[error("the id {0:?} is not made of 1 to 100 letters, digits, '.', '_' and '-'")]
    BadId(String),
    /// Two rules of a file have this id.
    #[error("two rules have the id {0:?}")]
    SameId(String),
    /// The rule is `always`, and does not ask.
    #[error("always is for rules that ask")]
    AlwaysWithoutAsk,
    /// The rule of a file has no pattern.
    #[error("the rule matches nothing: its list is empty")]
    NoPattern,
    /// A pattern cannot be used.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The rule allows by the text that is written.
    #[error("a rule about content denies or asks; allow files by their path: write(src/**)")]
    ContentAllows,
    /// What follows `if` is not a condition.
    #[error("the condition in {0:?} cannot be read; it looks like: if origin = web, or: if destination = text")]
    Condition(String),
    /// An origin is unknown.
    #[error("{message}{}", question(meant.as_deref()))]
    Origin {
        /// The message of the deserializer, which lists the known ones.
        message: String,
        /// The nearest known one.
        meant: Option<String>,
    },
    /// An example is not a call.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// An example contradicts its rule.
    #[error("the rule {rule} {} its example {call:?}", if *expected { "does not match" } else { "matches" })]
    Example {
        /// The rule's id.
        rule: String,
        /// The call of the example.
        call: String,
        /// True if the author expects the rule to match.
        expected: bool,
    },
    /// The rule compares an argument that its tool does not have.
    #[error("the tool {tool:?} has no argument {argument:?}; {}", listed(known))]
    UnknownArgument {
        /// The tool.
        tool: String,
        /// The argument: names with dots between.
        argument: String,
        /// The arguments that the tool has in its place.
        known: Vec<String>,
    },
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "it has none".into() } else { format!("it has: {}", known.join(", ")) }
}
