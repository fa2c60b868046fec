//! Feishu (Lark): messages by an app of the owner's, and the callbacks of its open platform.

pub(crate) mod api;
pub(crate) mod callback;
