//! The commands by which a person decides on a call, and continues its trace.

use mainpath::types::{CallId, TraceId};

/// The command that approves a call, and what continues the trace then. `by_person`: a person has denied the call.
pub fn approve_command(trace: &TraceId, call: CallId, by_person: bool) -> String {
    format!("{}{}", approval(trace, Some(call), by_person), and_resume(trace))
}

/// The command that approves a call alone. `call`: `None` for the only one that waits.
pub fn approval(trace: &TraceId, call: Option<CallId>, by_person: bool) -> String {
    let call = call.map(|call| format!(" --call {call}")).unwrap_or_default();
    let reopen = if by_person { " --reopen" } else { "" };
    format!("mainpath approve {trace}{call}{reopen}")
}

/// What goes on with a trace after a decision. One of another machine goes on there by itself.
pub fn and_resume(trace: &TraceId) -> String {
    match trace.elsewhere() {
        Some(_) => String::new(),
        None => format!(" && mainpath resume {}", trace.root()),
    }
}
