//! Conversations that sessions hold: kept in step with the run.

use crate::exit::Failure;
use crate::ui::text::plain;
use mainpath::Installation;
use mainpath::named_sessions::{Session, settle};
use mainpath::sessions::{Held, sessions};
use mainpath::store::scheduler::system_clock;
use mainpath::types::TraceId;

/// Writes what was said since into the mirror, and tells why that cannot be.
pub async fn mirror(held: &Held, app: &Installation, session: &Session) {
    if let Some(problem) = held.mirror(app, session).await {
        eprintln!("! the messages are saved, but not mirrored: {}", plain(&problem));
    }
}

/// Says what was mended.
pub fn tell(healed: &[String]) {
    healed.iter().for_each(|healed| eprintln!("! {healed}"));
}

/// Before a run goes on with a trace, what waits for the results of calls joins it without them; that is said. Errors: the
/// trace cannot be written.
pub async fn settled(app: &Installation, trace: &TraceId) -> Result<(), Failure> {
    tell(&settle(app.logs.at(trace), &app.vault, &sessions(&app.logs), system_clock()).await?);
    Ok(())
}
