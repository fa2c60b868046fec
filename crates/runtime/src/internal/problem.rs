//! What can be wrong with a call of an internal tool.

use mainpath_core::{LEGEND, Refusal};
use mainpath_tools::Problem;
use mainpath_types::CallId;

/// Why a call of an internal tool has no answer, in words for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadCall {
    #[error(transparent)]
    Arguments(#[from] Problem),
    #[error("The arguments cannot be read: {0}.")]
    Unread(#[from] serde_json::Error),
    #[error("{problem}")]
    Operations { problem: String },
    #[error("The plan is unchanged: {refusal}.\n{plan}\n({LEGEND})")]
    Plan { refusal: Refusal, plan: String },
    #[error("The window stays as it is: {0}.")]
    Window(Refusal),
    #[error("The window has room for {0} more tokens only.")]
    NoRoom(u64),
    #[error("There is no finished call {0}; list_calls has them.")]
    NoCall(CallId),
    #[error("That result was erased.")]
    Erased,
    #[error("The result of {call} ends before character {from}.")]
    PastEnd { call: CallId, from: u32 },
}
