//! The rules that a run begins with.

use crate::exit::Failure;
use mainpath::Installation;
use mainpath::rules::{Checked, untrusted};
use mainpath::types::RunRules;
use std::sync::Arc;

/// The rules of a run, checked before anything is begun; says what of them does not hold.
pub fn check_rules(app: &Installation, workspace: &str, run: RunRules, quiet: bool) -> Result<Checked, Failure> {
    let policy = app.sources.load(workspace, &run)?;
    if let Some(note) = untrusted(&policy).filter(|_| !quiet) {
        eprintln!("mainpath: {note}");
    }
    Ok(Checked { workspace: workspace.into(), run, policy: Arc::new(policy) })
}
