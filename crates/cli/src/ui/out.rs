//! Results on standard output.

use crate::exit::Failure;
use crate::ui::say::to_output;
use mainpath::types::TraceId;

/// Prints a line; somebody who no longer reads is no error.
pub fn out(text: &str) -> Result<(), Failure> {
    match to_output(&format!("{text}\n")) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::error(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Reports that a request waits until the trace continues.
pub fn queued(trace: &TraceId) -> Result<(), Failure> {
    out(&format!("queued; {trace} reads it when it continues: mainpath resume {trace}"))
}
