//! The OpenAI-compatible face: clients of OpenAI's Chat Completions and Responses use governed agents as models.
//!
//! Tools run inside Mainpath, under its rules. What cannot be honoured is refused, never ignored: [`refused`] has the list.

mod chat;
mod chat_answer;
mod conversation;
mod ending;
pub mod error;
mod format;
pub mod headers;
mod messages;
mod models;
mod refused;
mod response;
mod response_events;
mod responses;
mod sse;
mod told;

use crate::route::{Route, RouteError};

/// Its routes. Errors: a schema cannot be used.
pub fn routes() -> Result<Vec<Route>, RouteError> {
    let parts = [chat::routes()?, responses::routes()?, models::routes()?];
    Ok(parts.into_iter().flatten().collect())
}
