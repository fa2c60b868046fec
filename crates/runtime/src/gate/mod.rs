//! Judging calls: what is known of one, where its words come from and go to, and what the rules say of it.

pub(crate) mod destinations;
pub(crate) mod facts;
mod fold;
pub(crate) mod judge;
pub(crate) mod origins;
mod reply;
pub(crate) mod schema;
pub(crate) mod terms;
