//! What reflections are called, so that what one keeps is known to come from the trace that it is about.

use mainpath_types::{BadName, TraceId};

/// Between the name of a trace and the time in the name of a reflection on it.
const MARK: &str = "@reflect-";

/// The name of a reflection on a trace that begins at this time.
pub(crate) fn reflection_name(of: &TraceId, time: &str) -> Result<TraceId, BadName> {
    let time: String = time.chars().filter(char::is_ascii_digit).take(17).collect();
    format!("{}{MARK}{time}-001", reflected_trace(of)).parse()
}

/// The trace that a reflection is about; any other trace itself.
pub fn reflected_trace(trace: &TraceId) -> TraceId {
    let of = trace.as_str().split_once(MARK).and_then(|(of, _)| of.parse().ok());
    of.unwrap_or_else(|| trace.clone())
}
