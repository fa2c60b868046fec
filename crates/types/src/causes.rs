//! What an error comes from.

use std::error::Error;
use std::io;

/// The first error in a chain of causes that is a `T`, also where an [`io::Error`] carries it.
pub fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
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
