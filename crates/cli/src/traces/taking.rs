//! The changes that a call takes from an agent, as whoever decides on it sees them.

use crate::ui::whole::visible;
use mainpath::trace::Taking;

/// The patch, line by line.
pub fn lines(changes: &Taking) -> Vec<String> {
    changes.text().lines().map(visible).collect()
}
