//! A stop that is carried out before anything else.

use crate::exit::Failure;
use mainpath::Installation;
use mainpath::runtime::views;
use mainpath::types::{MailId, TraceId};

/// Does what follows from mail to a trace that no process drives, and writes its views.
pub async fn settle(app: &Installation, trace: &TraceId, mail: MailId) -> Result<(), Failure> {
    app.runtime()?.settle(&app.logs.scope, trace, mail).await?;
    Ok(views::write(app.logs.at(trace)).await?)
}
