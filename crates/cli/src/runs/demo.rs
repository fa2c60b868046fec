//! Whether a trace is the demonstration.

use crate::app::App;
use crate::exit::Failure;
use mainpath::types::{Spec, TraceId};
use std::path::Path;

/// The model that plays the script.
pub const DEMO: &str = "scripted";

/// Whether a trace is the demonstration, by the folder in which it works.
pub fn is_demo(app: &App, trace: &TraceId, folder: &str) -> bool {
    let demo = app.logs.home.demo_workspace(trace);
    demo.canonicalize().unwrap_or(demo) == Path::new(folder)
}

/// Checks that there is a model to ask. Errors: it is the script of the demonstration, or the trace was imported and has no model.
pub fn check_asked(trace: &TraceId, spec: &Spec, is_demo: bool) -> Result<(), Failure> {
    if spec.model != DEMO {
        return Ok(());
    }
    let how = format!("mainpath run --trace {trace} --model MODEL \"TASK\"");
    Err(Failure::usage(match is_demo {
        true => {
            format!("trace {trace} is the demonstration, whose script answers no questions; to ask a real model: {how}")
        }
        false => format!("trace {trace} has no model; name one (see mainpath models): {how}"),
    }))
}
