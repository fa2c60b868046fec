//! What is asked of a child.

use crate::children::ChildError;
use mainpath_core::Child;
use mainpath_tools::AgentCall;
use mainpath_types::Spec;
use std::sync::Arc;

/// What is asked of a child.
pub(crate) struct Asked {
    /// Its row in the parent's table.
    pub child: Child,
    /// What it is made of. Errors: why it cannot be.
    pub making: Result<Making, ChildError>,
}

/// What a child is made of.
pub(crate) struct Making {
    /// What its parent is.
    pub parent: Arc<Spec>,
    /// The parent's run, counted from 1.
    pub run: u32,
    /// The child's run, counted from 1.
    pub child_run: u32,
    /// What the call asks for.
    pub call: AgentCall,
    /// What it is told.
    pub message: String,
    /// Whether that has no words from outside.
    pub own_task: bool,
}
