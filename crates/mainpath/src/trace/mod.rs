//! A trace: everything that can be done to an agent, and everything that can be computed of its log.

mod approving;
mod branches;
mod clearing;
mod comparison;
mod context;
mod decidable;
mod deciding;
mod erase;
mod export;
mod facts;
mod file_diff;
mod fork;
mod handle;
mod layouts;
mod markdown;
mod open_questions;
mod outcomes;
mod overview;
mod page;
mod plan;
mod point;
#[cfg(feature = "home")]
mod proving;
mod read;
mod readings;
mod restore;
mod taking;
mod tree;
mod unread;
mod waits;

pub use approving::{ApprovedFor, LastingRule};
pub use branches::{SideBranch, SideBranchKind, branches};
pub use comparison::{ComparedTrace, Comparison};
pub use context::{ContextGap, ContextPart, ContextReport, Look, SectionSize};
pub use decidable::{CallChoice, CallStanding, DecidableCall, Ruling, SettledCall};
pub use erase::{Erase, Erased, Everywhere, everywhere, is_grade_of};
pub use export::{Export, ExportFormat, ExportLayout, reworded_by};
pub use facts::{Facts, FactsFrom};
pub use file_diff::{FileDiff, LARGEST_COMPARED, file_diff};
#[cfg(feature = "home")]
pub(crate) use fork::fork_once;
pub use handle::Trace;
pub use layouts::MessagePart;
pub use mainpath_runtime::erase::What;
pub use open_questions::{NotAsked, QuestionChoice, QuestionStanding, UnansweredQuestion};
pub use outcomes::{Clearing, Compaction, Sent, Stopping};
pub use overview::{Overview, SubTrace};
#[cfg(feature = "home")]
pub(crate) use page::as_html;
pub use plan::starts_with_task;
pub use point::Point;
pub(crate) use read::{Read, long_answer};
pub use read::{ReadTrace, TraceState, spec_of};
pub(crate) use readings::Readings;
pub use restore::{Restore, RestoreTo, Restored};
pub use taking::{Taking, Took};
pub use tree::TreeMessage;
pub use unread::UnreadMail;
pub use waits::{AgentWaits, RunningCall, Waits};
