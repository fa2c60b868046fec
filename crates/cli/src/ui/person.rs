//! What only a person does.

use crate::exit::Failure;

/// What an agent calls is not a person's word.
pub fn person_only(what: &str) -> Result<(), Failure> {
    match std::env::var_os("MAINPATH_CALL") {
        Some(_) => Err(Failure::error(format!("agents cannot {what}; run this command yourself"))),
        None => Ok(()),
    }
}
