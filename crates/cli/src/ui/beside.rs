//! Two steps beside each other.

use crate::exit::Failure;
use crate::ui::out::out;
use crate::ui::text::{count, plain, short};

/// The columns of each.
const COLUMN: usize = 46;
/// Lines of a step that are shown at most.
const MOST_LINES: usize = 12;

/// Two steps beside each other under their names, with a mark where they differ.
pub fn side_by_side(names: [&str; 2], one: &[String], other: &[String]) -> Result<(), Failure> {
    let lines = |step: &[String]| {
        let lines = step.iter().flat_map(|text| text.lines()).map(plain);
        lines.map(|line| short(&line, COLUMN)).collect::<Vec<_>>()
    };
    let (mut left, mut right) = (lines(one), lines(other));
    let more = left.len().max(right.len()).saturating_sub(MOST_LINES);
    left.truncate(MOST_LINES);
    right.truncate(MOST_LINES);
    let [name, other_name] = names;
    out(&format!("    {name:COLUMN$}   {other_name}"))?;
    for at in 0..left.len().max(right.len()) {
        let (left, right) = (left.get(at).map_or("", String::as_str), right.get(at).map_or("", String::as_str));
        let mark = if left == right { ' ' } else { '|' };
        out(format!("    {left:COLUMN$} {mark} {right}").trim_end())?;
    }
    if more > 0 {
        out(&format!("    … {}", count(more as u64, "more line")))?;
    }
    Ok(())
}
