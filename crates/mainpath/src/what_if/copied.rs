//! A host whose runs work in copies of folders.

use super::answers::OnlyInCopy;
use crate::Host;
use mainpath_runtime::EnvModels;
use std::sync::Arc;

/// The same host, whose calls do what these answers let them.
pub(crate) fn copied_host(host: &Host, models: Arc<EnvModels>, answers: &Arc<OnlyInCopy>) -> Host {
    host.with_parts(host.tools().answered_by(Arc::clone(answers) as _), models)
}
