//! Arguments as they are shown beside a call.

/// How much of the arguments of a call is shown, in characters.
const SHOWN: usize = 200;

/// The beginning of arguments.
pub(super) fn shown(arguments: &str) -> String {
    let mut short: String = arguments.chars().take(SHOWN).collect();
    if short.len() < arguments.len() {
        short.push('…');
    }
    short
}
