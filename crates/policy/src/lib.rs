//! From a tool call, rules and facts to a verdict, and from a verdict to a grant. Pure.
//!
//! **This crate owns** who may do what: rules and their files as text, patterns, what a command line makes a shell do.
//! **Its caller owns** the facts: it resolves paths and symlinks, says where arguments came from and whether anybody can be
//! asked, and reads the files. Nothing here reads a file, a clock or the environment.
//!
//! Three invariants: a call with no matching rule is never allowed more than the run's [`Access`](mainpath_types::Access)
//! says; deny beats ask beats allow over all layers, so that no rule added can loosen a denial; and a [`Grant`] cannot be
//! made from anything but a verdict that allows, or one that asks together with somebody's approval.

mod breakpoints;
mod checks;
mod error;
mod example;
mod facts;
mod file;
mod glob;
mod grant;
mod judge;
mod known_arguments;
mod narrow;
mod narrow_pattern;
mod part;
mod pattern;
mod policy;
mod predicate;
mod rule;
mod sample;
mod shell;
mod spelling;
mod tool_names;
mod weigh;

pub use breakpoints::{AtStop, BREAKPOINT, Breakpoints};
pub use checks::{Breach, Budget, Checks, ChecksError, PastCall, PastRun};
pub use error::{PolicyError, RulePlace, RuleProblem};
pub use example::PolicyExample;
pub use facts::{CallFacts, PathFact, UrlFact};
pub use file::{policy_examples, with_preset};
pub use glob::GlobError;
pub use grant::{Attempt, Grant};
pub use judge::{
    AppliedRule, BY_YES, Explanation, HEADLESS, NON_INTERACTIVE, PartVerdict, Rules, explain, is_asked_by_default,
    is_unattended, judge, judge_found, not_given,
};
pub use narrow::{EVERY_FILE_HERE, RuleText, is_for_files_here, narrowest};
pub use narrow_pattern::NarrowPattern;
pub use pattern::{AddressRule, Folders, NeverMatches, OWN_TOOLS, PatternError};
pub use policy::Policy;
pub use predicate::{
    Condition, FieldTest, NumberOrder, Predicate, PredicateError, PredicateProblem, SearchError, StepFacts, StepField,
    Term, TextSearch, argument_values,
};
pub use rule::{Layer, Rule};
pub use sample::{SampleError, sample};
pub use spelling::{check_spelling, narrow_words};
pub use tool_names::{ToolNameError, ToolNames, check_rule_tool, check_slip};
