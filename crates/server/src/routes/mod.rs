//! The routes, in the order of the document.

mod agent_core;
mod control;
mod decide;
mod keys;
mod lists;
mod look;
mod metrics;
mod peers;
mod runs;
pub mod start;
mod traces;
mod watch;

use crate::route::{Route, RouteError};

/// All of them. Errors: a schema cannot be used.
pub fn all() -> Result<Vec<Route>, RouteError> {
    let parts = [
        traces::routes()?,
        look::routes()?,
        runs::routes()?,
        agent_core::routes()?,
        control::routes()?,
        decide::routes()?,
        watch::routes()?,
        peers::routes()?,
        lists::routes()?,
        keys::routes()?,
        metrics::routes()?,
    ];
    Ok(parts.into_iter().flatten().collect())
}
