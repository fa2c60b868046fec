//! `mainpath rename`: what a trace is called.

use crate::app::App;
use crate::exit::{Exit, Failure, logs};
use crate::ui::out::queued;
use clap::Args;
use mainpath::trace::Sent;

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
    let logs = logs()?;
    let trace = logs.find_anywhere(Some(&args.trace)).await?;
    let on = App::for_sending(&logs)?.host.trace(&trace).await?;
    if on.rename(args.name).await? == Sent::Queued {
        queued(&trace)?;
    }
    Ok(Exit::Ok)
}
