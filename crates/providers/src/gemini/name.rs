//! Names of functions as the format allows them.

use crate::wire::wire_name;
use std::borrow::Cow;

/// A function's name: it must begin with a letter or `_`.
pub(super) fn function_name(name: &str) -> Cow<'_, str> {
    let name = wire_name(name);
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return name;
    }
    let mut begun = format!("_{name}");
    begun.truncate(64);
    Cow::Owned(begun)
}
