//! Skills of this host: where they are looked for, which of them count, what a model is told of them, and the tools for them.

mod catalogue;
mod load_tools;
mod offered;
mod problem;
mod run_tool;
mod selected;
mod shelf;

pub(crate) use catalogue::tell;
pub(crate) use offered::with_tools;
pub use selected::{is_loaded, no_such_name, preloads, said, select_named, selected};
pub use shelf::{Shelf, Trusting};

use mainpath_types::{FIND_SKILL, LOAD_RESOURCE, RUN_SCRIPT, SELECT_SKILLS};

/// The tools that are about skills.
pub(crate) const SKILL_TOOLS: [&str; 4] = [FIND_SKILL, LOAD_RESOURCE, RUN_SCRIPT, SELECT_SKILLS];
