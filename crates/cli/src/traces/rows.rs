//! What the index says that cannot be done.

use crate::exit::Failure;
use mainpath::index::IndexError;

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Failure {
        match error {
            IndexError::NoWords(_) => Failure::usage(error.to_string()),
            _ => Failure::error(error.to_string()),
        }
    }
}
