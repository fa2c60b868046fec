//! Conversations that sessions hold: kept in step with the run.

use crate::app::App;
use crate::exit::Failure;
use crate::ui::text::{one_line, plain};
use mainpath::Error;
use mainpath::named_sessions::{Session, Turn, settle};
use mainpath::sessions::{Held, sessions};
use mainpath::types::TraceId;
use mainpath::values::now;

/// Waits until no other run of the session is under way. Errors: one is, and the user does not want to wait.
pub async fn turn(held: &Held, name: &str, no_wait: bool) -> Result<Turn, Failure> {
    if no_wait {
        let turn = held.sessions.try_turn(name).map_err(Error::from)?;
        let busy = || {
            Failure::error(format!("another run of the session {name} is under way; without --no-wait this one waits"))
        };
        return turn.ok_or_else(busy);
    }
    let tell = || eprintln!("mainpath: waiting until the current run of the session {} ends", one_line(name));
    Ok(held.turn(name, tell).await?)
}

/// Writes what was said since into the mirror, and tells why that cannot be.
pub async fn mirror(held: &Held, app: &App, session: &Session) {
    if let Some(problem) = held.mirror(&app.host, session).await {
        eprintln!("! the messages are saved, but not mirrored: {}", plain(&problem));
    }
}

/// Says what was mended.
pub fn tell(healed: &[String]) {
    healed.iter().for_each(|healed| eprintln!("! {healed}"));
}

/// Before a run goes on with a trace, what waits for the results of calls joins it without them; that is said. Errors: the
/// trace cannot be written.
pub async fn settled(app: &App, trace: &TraceId) -> Result<(), Failure> {
    tell(&settle(app.logs.at(trace), app.host.vault(), &sessions(&app.logs), now()).await?);
    Ok(())
}
