//! Requests to the model and its answers.

pub(crate) mod apply;
pub(crate) mod budget;
pub(crate) mod call;
pub(crate) mod cost;
pub(crate) mod decide;
