//! Carrying effects out: what runs beside the driver, each as a future that ends in an input.

pub(crate) mod context;
pub(crate) mod context_hooks;
pub(crate) mod context_texts;
pub(crate) mod hook_error;
pub(crate) mod hooks;
pub(crate) mod model;
pub(crate) mod questions;
pub(crate) mod snapshots;
pub(crate) mod tool;
mod tool_context;
