//! Whether a trace is the demonstration.

use crate::app::App;
use crate::exit::Failure;
use mainpath::runtime::Mail;
use mainpath::types::{Spec, TraceId};
use std::path::Path;

/// The model that plays the script.
pub const DEMO: &str = "scripted";

/// Whether a trace is the demonstration, by the folder in which it works.
pub fn is_demo(app: &App, trace: &TraceId, folder: &str) -> bool {
    let demo = app.logs.home.demo_workspace(trace);
    demo.canonicalize().unwrap_or(demo) == Path::new(folder)
}

/// The script answers nobody. Errors: somebody asks it, or what is to be answered came from elsewhere and has no model.
pub fn check_asked(trace: &TraceId, spec: &Spec, is_demo: bool, mail: Option<&Mail>) -> Result<(), Failure> {
    let asks = match mail {
        Some(Mail::Continue) => !is_demo,
        mail => mail.is_some(),
    };
    if !asks || spec.model != DEMO {
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
