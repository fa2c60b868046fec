//! The home of an installation: its folders, and what its files say.

#[cfg(feature = "home")]
mod allowed;
#[cfg(feature = "home")]
mod called;
#[cfg(feature = "home")]
pub mod edit;
#[cfg(feature = "home")]
mod error;
mod file;
#[cfg(feature = "home")]
mod found;
#[cfg(feature = "home")]
mod hidden;
#[cfg(feature = "home")]
mod hooks;
#[cfg(feature = "home")]
mod keys;
pub(crate) mod limits;
#[cfg(feature = "home")]
mod mistakes;
#[cfg(feature = "home")]
mod otlp;
#[cfg(feature = "home")]
mod peers;
mod place;
mod secrets;
mod server;
mod sessions;
#[cfg(feature = "home")]
mod signing;
#[cfg(feature = "home")]
mod telemetry;
#[cfg(feature = "home")]
mod toolbox;
mod units;

#[cfg(feature = "home")]
pub(crate) use called::{CallError, CallParts, Runner};
pub use file::*;
#[cfg(feature = "home")]
pub use hidden::hidden;
#[cfg(feature = "home")]
pub use hooks::{ContextHookEntry, HookEntry};
pub use limits::LimitsConfig;
#[cfg(feature = "home")]
pub use otlp::Otlp;
#[cfg(feature = "home")]
pub use peers::PeerConfig;
pub use place::Home;
pub use server::ServerConfig;
pub use sessions::SessionsConfig;
#[cfg(feature = "home")]
pub use signing::SignConfig;
#[cfg(feature = "home")]
pub use telemetry::TelemetryConfig;
#[cfg(feature = "home")]
pub use toolbox::{OPTIONAL, Optional, ToolsConfig, Unready};
pub use units::{Rate, Temperature, Time, ToolNamesText};
