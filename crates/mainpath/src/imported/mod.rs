//! What other agents recorded: the session files of codex, Claude Code, opencode and pi, found where those programs keep them, read, and
//! made into traces.
//!
//! Nothing is invented: such a trace has what the file has, as imported messages with what was recorded of them (time, model, tokens, cost).
//! It has no runs, no verdicts and no approvals, since nobody gave them here. What a file has that a trace cannot hold is said, by kind and
//! count. The files are other programs' own: they are only read, they may be broken, and nothing in them is trusted.

mod claude_code;
mod codex;
mod file;
mod find;
mod opencode;
mod pi;
mod session;
mod take;
mod tree;

pub use crate::agent::{is_folder_unchosen, reconstructed_from};
pub use find::{FoundSession, Places, find};
pub use session::{Program, RecordedBranch, RecordedMessage, RecordedSession, SessionProblem, Unreadable};
pub use take::{Reconstructed, reconstruct};
