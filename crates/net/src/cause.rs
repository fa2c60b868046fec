//! Causes of errors.

use std::error::Error;

/// The cause at the bottom of an error.
pub(crate) fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut at = error;
    while let Some(next) = at.source() {
        at = next;
    }
    at
}
