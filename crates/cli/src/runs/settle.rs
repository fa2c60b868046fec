//! A stop that is carried out before anything else.

use crate::app::App;
use crate::exit::Failure;
use mainpath::types::{MailId, TraceId};

/// Does what follows from mail to a trace that no process drives, and writes its views.
pub async fn settle(app: &App, trace: &TraceId, mail: MailId) -> Result<(), Failure> {
    app.host.check_usable()?;
    app.host.runtime().settle(app.host.whose(), trace, mail).await?;
    Ok(app.logs.write_views(trace).await?)
}
