//! A host whose runs work in copies of folders.

use super::answers::OnlyInCopy;
use crate::host::{Inner, Kept};
use crate::{Error, Host, Installation};
use mainpath_runtime::EnvModels;
use std::sync::Arc;

/// A host of this installation whose calls do what these answers let them. Errors: a tool is configured that cannot be used.
pub(crate) fn copied_host(
    app: &Installation,
    models: Arc<EnvModels>,
    answers: &Arc<OnlyInCopy>,
) -> Result<Host, Error> {
    let tools = app.tools.answered_by(Arc::clone(answers) as _);
    let runtime = app.runtime_of(None, tools, Arc::clone(&models))?;
    Ok(Host::from(Inner {
        runtime,
        kept: Kept::Files(app.logs.clone()),
        models,
        sources: app.sources.clone(),
        readings: Arc::default(),
        experience: None,
        shelf: None,
        _servers: None,
    }))
}
