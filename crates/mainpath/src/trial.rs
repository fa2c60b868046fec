//! Runs that only try something: a run that is decided again, a test against a model. Whoever looks at all runs means no such run.

use mainpath_types::{Event, EventKind};
#[cfg(feature = "home")]
use mainpath_types::{Spec, TraceId};

/// What a run that is decided again belongs to: the run that it was.
const WHAT_IF_OF: &str = "what_if_of";
/// What a run of a test against a model belongs to: the test.
const LIVE_TEST: &str = "live_test";

/// Notes that a run decides another one again.
#[cfg(feature = "home")]
pub(crate) fn mark_what_if(spec: &mut Spec, of: &TraceId) {
    spec.relations.context.insert(WHAT_IF_OF.into(), of.as_str().into());
}

/// Notes that a run is one of a test against a model.
#[cfg(feature = "home")]
pub(crate) fn mark_live_test(spec: &mut Spec, name: &str) {
    spec.relations.context.insert(LIVE_TEST.into(), name.into());
}

/// Whether a log is of a run that only tries something.
pub(crate) fn is_trial(events: &[Event]) -> bool {
    events.iter().any(|event| match &event.kind {
        EventKind::SpecChanged(data) => {
            [WHAT_IF_OF, LIVE_TEST].iter().any(|mark| data.spec.relations.context.contains_key(*mark))
        }
        _ => false,
    })
}
