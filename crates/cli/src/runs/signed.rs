//! The head of a log is signed when a run has ended, where the configuration says so.

use crate::ui::text::plain;
use mainpath::Logs;
use mainpath::proof::sign;
use mainpath::types::TraceId;
use mainpath::values::now;

/// Signs the head of a trace whose run has ended. What goes wrong is told: the run is as it is.
pub async fn sign_at_end(logs: &Logs, trace: &TraceId) {
    if !logs.home.config.sign.at_end {
        return;
    }
    let signed = async { sign(logs.at(trace), &logs.home.signing()?, now()).await };
    let told = match signed.await {
        Ok(signed) => signed.untold.into_iter().map(|why| format!("the end of {trace} is signed, but {why}")).collect(),
        Err(error) => vec![format!("the end of {trace} could not be signed: {}", error.message())],
    };
    for line in told {
        eprintln!("! {}", plain(&line));
    }
}
