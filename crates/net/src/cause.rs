//! Causes of errors.

use std::error::Error;
use std::io;

/// The cause at the bottom of an error.
pub(crate) fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut at = error;
    while let Some(next) = at.source() {
        at = next;
    }
    at
}

/// The first error in the chain of causes that is a `T`, also where an [`io::Error`] carries it.
pub(crate) fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(at) = next {
        if let Some(found) = at.downcast_ref::<T>() {
            return Some(found);
        }
        let carried = at.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = carried.map(|inner| inner as &(dyn Error + 'static)).or_else(|| at.source());
    }
    None
}
