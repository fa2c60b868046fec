//! Tool calls, from the answer that makes them to their results.

pub(crate) mod apply;
pub(crate) mod decide;
pub(crate) mod end;
pub(crate) mod kept;
pub(crate) mod next;
pub(crate) mod question;
pub(crate) mod rate;
pub(crate) mod reopen;
pub(crate) mod table;
