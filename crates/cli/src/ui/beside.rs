//! Two steps beside each other.

use crate::exit::Failure;
use crate::ui::out::out;
use crate::ui::text::{count, plain, short};

/// The columns of each.
const COLUMN: usize = 46;
/// Lines of a step that are shown at most,
const MOST_LINES: usize = 12;
/// and so many of them before the first that differs.
const BEFORE: usize = 3;
/// Letters of a line before the first that differs, where its beginning is left out.
const LETTERS_BEFORE: usize = 12;

/// Two steps beside each other under their names, with a mark where they differ: of long ones the lines around the first difference.
pub fn side_by_side(names: [&str; 2], one: &[String], other: &[String]) -> Result<(), Failure> {
    rows(names, one, other).iter().try_for_each(|row| out(row))
}

fn rows(names: [&str; 2], one: &[String], other: &[String]) -> Vec<String> {
    let lines = |step: &[String]| step.iter().flat_map(|text| text.lines()).map(plain).collect::<Vec<String>>();
    let (left, right) = (lines(one), lines(other));
    let all = left.len().max(right.len());
    let first = (0..all).find(|at| left.get(*at) != right.get(*at)).unwrap_or(0);
    let from = first.saturating_sub(BEFORE).min(all.saturating_sub(MOST_LINES));
    let [name, other_name] = names;
    let mut rows = vec![format!("    {name:COLUMN$}   {other_name}")];
    if from > 0 {
        rows.push(format!("    … {} before", count(from as u64, "line")));
    }
    for at in (from..all).take(MOST_LINES) {
        let (left, right) = (left.get(at).map_or("", String::as_str), right.get(at).map_or("", String::as_str));
        let mark = if left == right { ' ' } else { '|' };
        let [left, right] = cells(left, right);
        rows.push(format!("    {left:COLUMN$} {mark} {right}").trim_end().to_owned());
    }
    let more = all.saturating_sub(from + MOST_LINES);
    if more > 0 {
        rows.push(format!("    … {}", count(more as u64, "more line")));
    }
    rows
}

/// Two lines as far as there is room: their beginnings, or what is around the first letter that differs.
fn cells(left: &str, right: &str) -> [String; 2] {
    let same = left.chars().zip(right.chars()).take_while(|(one, other)| one == other).count();
    let skipped = same.saturating_sub(LETTERS_BEFORE);
    let is_seen = left == right || same + LETTERS_BEFORE < COLUMN;
    [left, right].map(|line| match is_seen {
        true => short(line, COLUMN),
        false => short(&format!("…{}", line.chars().skip(skipped).collect::<String>()), COLUMN),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(lines: std::ops::Range<u32>) -> String {
        lines.map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn of_long_steps_the_lines_around_the_difference_are_shown_and_the_others_counted() {
        let (one, other) = (numbered(0..40), numbered(0..40).replace("line 25\n", "line XXV\n"));
        let rows = rows(["recorded", "played"], &["ok".into(), one], &["ok".into(), other]);
        let shown: Vec<&str> = rows.iter().map(|row| row.trim()).collect();
        assert_eq!(shown.len(), 15, "{rows:#?}");
        assert_eq!((shown[1], shown[14]), ("… 23 lines before", "… 6 more lines"));
        assert!(shown[2].starts_with("line 22 ") && shown[13].starts_with("line 33 "), "{rows:#?}");
        let differs: Vec<&&str> = shown.iter().filter(|row| row.contains(" | ")).collect();
        assert!(
            differs.len() == 1 && differs[0].starts_with("line 25 ") && differs[0].ends_with("line XXV"),
            "{rows:#?}"
        );
    }

    #[test]
    fn short_steps_are_shown_whole_and_of_a_long_line_what_differs() {
        let long = "x".repeat(200);
        let one = ["a".to_owned(), format!("{long} one")];
        let other = ["a".to_owned(), format!("{long} two"), "b".to_owned()];
        let rows = rows(["l", "r"], &one, &other);
        assert_eq!(rows.len(), 4, "{rows:#?}");
        assert!(
            rows[2].trim_start().starts_with("…xxxxxxxxxxx one ") && rows[2].ends_with("| …xxxxxxxxxxx two"),
            "{rows:#?}"
        );
        assert!(rows[1].trim() != "a" && !rows[1].contains('|') && rows[3].ends_with("| b"), "{rows:#?}");
        // The end is shown where only that is left.
        let (one, other) = ([numbered(0..30)], [numbered(0..31)]);
        let rows = super::rows(["l", "r"], &one, &other);
        assert_eq!(rows[1].trim(), "… 19 lines before");
        assert!(rows.last().unwrap().ends_with("| line 30"), "{rows:#?}");
    }
}
