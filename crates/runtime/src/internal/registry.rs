//! The internal tools that there are.

use crate::internal::goal::Goal;
use crate::internal::inbox::Inbox;
use crate::internal::look_back::{Expand, OlderMessages, PastCalls, PastResult};
use crate::internal::tool::{InternalTool, Purpose};

/// Each of them. Whoever adds one adds it here.
const ALL: [&dyn InternalTool; 6] = [&Goal, &Inbox, &OlderMessages, &PastCalls, &PastResult, &Expand];

/// The internal tool of a name.
pub(crate) fn find(name: &str) -> Option<&'static dyn InternalTool> {
    ALL.into_iter().find(|tool| tool.name() == name)
}

/// What calls of a tool are for, if it is an internal one.
pub(crate) fn purpose(name: &str) -> Option<Purpose> {
    find(name).map(InternalTool::purpose)
}

/// Whether a tool only looks back or changes what is shown, so that a call of it is none of the run's.
pub fn is_look_back(tool: &str) -> bool {
    matches!(purpose(tool), Some(Purpose::LookBack | Purpose::ShowMore))
}

/// The names of the tools of which [`is_look_back`] holds.
pub fn look_back_tools() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().map(InternalTool::name).filter(|name| is_look_back(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_tools::{CheckMessages, Tools};
    use std::collections::BTreeSet;

    #[test]
    fn the_tools_that_count_as_internal_are_those_that_are_answered_here() {
        let tools = Tools::kernel().with_internal().with(CheckMessages);
        let specs = tools.specs();
        let is_internal = |name: &&str| tools.doc(name).is_some_and(|doc| doc.internal);
        let internal: BTreeSet<&str> = specs.iter().map(|spec| spec.name.as_str()).filter(is_internal).collect();
        assert_eq!(internal, ALL.iter().map(|tool| tool.name()).collect());
    }
}
