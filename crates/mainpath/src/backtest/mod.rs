//! Recorded calls, judged by other rules: what these would have decided otherwise, and which rules would have answered what people
//! were asked.
//!
//! A verdict follows from rules and facts. What a call was is in its log, with where its words came from; which files it means is
//! looked up in its folder as it is now. What cannot be judged any more is told with the reason, and never guessed.

mod findings;
mod judge;
mod many;
mod past;
mod shown;
mod suggest;
mod suggestions;

pub use findings::{Backtest, ChangedCall, RuleChange, UnjudgedCalls, UnreadTrace};
pub use judge::{JudgedCall, PastJudge, PersonSaid, Unjudged};
pub use many::{BacktestScope, NewRules};
pub use suggestions::{CoveredCall, RuleSuggestion, Suggestions};
