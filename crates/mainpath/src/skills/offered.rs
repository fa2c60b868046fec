//! The tools for the skills of a shelf.

use crate::skills::Shelf;
use crate::skills::load_tools::{FindSkill, LoadResource, SelectSkills};
use crate::skills::run_tool::RunScript;
use mainpath_tools::Tools;

/// The same tools with those for the skills of a shelf.
pub(crate) fn with_tools(tools: Tools, shelf: &Shelf) -> Tools {
    let shelf = || shelf.clone();
    tools.with(FindSkill(shelf())).with(LoadResource(shelf())).with(RunScript(shelf())).with(SelectSkills(shelf()))
}
