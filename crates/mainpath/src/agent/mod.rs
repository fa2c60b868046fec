//! What an agent is: from what a caller says to its spec.

mod builder;
mod configured;
mod import;
mod limits;
mod model;
mod notes;
mod offer;
mod options;
pub(crate) mod reconstructed;
mod skills;
mod spec;
mod spec_inputs;
mod start;
mod task;

pub(crate) use start::id_of;

pub use builder::Agent;
pub use configured::ConfiguredAgent;
pub use import::ImportedConversation;
pub use limits::beyond;
#[cfg(feature = "home")]
pub use limits::time_limit;
pub(crate) use model::Recorded;
#[cfg(feature = "home")]
pub(crate) use model::is_played;
pub use model::{Chosen, check_model, choose_model, env, find_model};
pub(crate) use notes::repository_root;
pub use offer::REACHING;
#[cfg(feature = "home")]
pub(crate) use offer::{tools_now, without_denied};
pub use options::*;
#[cfg(feature = "home")]
pub use reconstructed::is_folder_unchosen;
pub use reconstructed::reconstructed_from;
pub use spec::{ModeFor, sizes, unused_notes, workspace};
pub(crate) use spec::{with_model, with_words};
pub(crate) use spec_inputs::SpecInputs;
pub use start::PreparedAgent;
pub use task::Task;
