//! `mainpath rename`: what a trace is called.

use crate::app::App;
use crate::commands::control::driven_elsewhere;
use crate::exit::{Exit, Failure, logs};
use crate::runs::settle::settle;
use crate::ui::out::out;
use clap::Args;
use mainpath::core::{LONGEST_NAME, Refusal};
use mainpath::runtime::Mail;
use mainpath::types::{Event, EventKind};
use std::time::Duration;
use tokio::time::Instant;

/// How long a process that has the trace is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// `mainpath rename`
#[derive(Args, Debug)]
pub struct RenameArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// Its name, up to 80 letters
    pub name: String,
}

/// `mainpath rename`
pub async fn rename(args: RenameArgs) -> Result<Exit, Failure> {
    // Said at once: whoever has the trace may read it much later.
    let name = args.name.trim();
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(Failure::usage(Refusal::BadName.to_string()));
    }
    let logs = logs()?;
    let trace = logs.find_anywhere(Some(&args.trace)).await?;
    let (_, state, _) = logs.read(&trace).await?;
    // Where nobody works, it is named here and now.
    let here = if state.run.is_none() && !driven_elsewhere(&logs, &trace)? { Some(App::open()?) } else { None };
    let mail = logs.send(&trace, &Mail::Rename { name: args.name, made: None }).await?;
    let came = |event: &&Event| event.mail == Some(mail);
    let until = Instant::now() + PATIENCE;
    if let Some(app) = here.filter(|_| !driven_elsewhere(&logs, &trace).unwrap_or(true)) {
        settle(&app, &trace, mail).await?;
    }
    loop {
        let (log, ..) = logs.read(&trace).await?;
        match log.events.iter().find(came).map(|event| &event.kind) {
            Some(EventKind::MailRefused(refused)) => return Err(Failure::usage(refused.problem.clone())),
            Some(_) => return Ok(Exit::Ok),
            None if driven_elsewhere(&logs, &trace)? && Instant::now() < until => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            None => {
                out(&format!("queued; {trace} reads it when it continues: mainpath resume {trace}"))?;
                return Ok(Exit::Ok);
            }
        }
    }
}
