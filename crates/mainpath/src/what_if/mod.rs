//! What if: a run decided again from a message on, with something changed.
//!
//! Up to the first difference everything is the log's: nothing is asked, nothing runs. From there on the model is asked, and calls work in
//! a copy of the folder as it was. What reaches others is refused, unless the caller says otherwise. Results are never made up.

mod answers;
mod change;
mod folder;
mod held;
mod lane;
mod provider;
mod repeated;
mod run;

pub use change::{WhatIf, spec_at};
pub use held::StopWork;
pub use lane::LaneFigures;
pub use repeated::RepeatedOutcome;
pub use run::WhatIfOutcome;

pub(crate) use answers::{OnlyInCopy, REFUSED};
pub(crate) use folder::{Original, copy_as_it_was};
pub(crate) use held::{HeldCopy, sweep};
