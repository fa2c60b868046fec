//! What the model is shown, as bytes: texts from the log and its blobs, the workspace's notes, the encoded conversation.

pub(crate) mod found;
pub(crate) mod gone;
pub(crate) mod media;
pub(crate) mod notes;
pub(crate) mod prefix;
pub(crate) mod prompts;
pub(crate) mod request;
pub(crate) mod texts;
