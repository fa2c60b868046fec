//! The home of an installation: its folders, and what its files say.

pub mod edit;
mod file;
mod hidden;
mod hooks;
pub(crate) mod limits;
mod place;
mod secrets;
mod sessions;
mod toolbox;
mod units;

pub use file::*;
pub use hidden::hidden;
pub use hooks::{ContextHookEntry, HookEntry};
pub use limits::LimitsConfig;
pub use place::Home;
pub use sessions::SessionsConfig;
pub use toolbox::{OPTIONAL, Optional, ToolsConfig, Unready};
pub use units::{Rate, Temperature, Time, ToolNamesText};
