//! A run that was recorded, and playing it again: the model's answers and the results of calls come from the recording as long as
//! everything before them is what it was there. Nothing is made up: past the first difference there is no answer.
//!
//! A play goes through the usual driver, gate and log, so what it makes is a trace like any other.

mod answers;
mod children;
mod compare;
mod consent;
mod denials;
mod ending;
mod play;
mod playing;
mod provider;
mod reading;
mod step;
mod whole;

pub use compare::{Difference, first_difference};
pub use play::Played;
pub use step::{CallStep, RecordedAnswer, RecordedStep};

pub(crate) use compare::{common_hash, differ_in_verdicts, differ_only_in_calls};
pub(crate) use consent::Consent;
pub(crate) use play::{PlaySeed, PlaySetup, play};
pub(crate) use reading::{first_under_another, recording, step_messages, steps};
pub(crate) use whole::{WholeRun, whole_run};
