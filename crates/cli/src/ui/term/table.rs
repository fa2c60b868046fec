//! A table of Markdown, drawn with columns.

use crate::ui::term::ink::Style;
use crate::ui::term::inline::inline;
use crate::ui::term::width::width;
use crate::ui::term::wrap::{Piece, painted, push, rows};

/// More columns than this are shown as they were written.
const COLUMNS: usize = 32;
/// What stands between two columns, and its width.
const BETWEEN: (&str, usize) = (" │ ", 3);

/// Where the text of a column stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Middle,
    Right,
}

/// The lines of a table in rows of at most so many columns, if there is room for it. `None`: they are no table.
pub fn drawn(lines: &[String], room: usize) -> Option<String> {
    let [head, rule, body @ ..] = lines else { return None };
    let aligns: Vec<Align> = cells(rule).into_iter().map(align).collect::<Option<_>>()?;
    let head = cells(head);
    if head.len() != aligns.len() || aligns.len() > COLUMNS {
        return None;
    }
    let pieces = |cell: &str, style| inline(&cell.replace("\\|", "|"), style);
    let mut table: Vec<Vec<Vec<Piece>>> = vec![head.iter().map(|cell| pieces(cell, Style::BOLD)).collect()];
    for line in body {
        let mut row: Vec<Vec<Piece>> = cells(line).into_iter().map(|cell| pieces(cell, Style::PLAIN)).collect();
        row.resize(aligns.len(), Vec::new());
        table.push(row);
    }
    let wanted = |column: usize| table.iter().filter_map(|row| row.get(column)).map(|cell| wide(cell)).max();
    let widths: Vec<usize> = (0..aligns.len()).map(|column| wanted(column).unwrap_or_default().max(1)).collect();
    let widths = fitted(widths, room.saturating_sub(BETWEEN.1 * (aligns.len() - 1)))?;
    let mut drawn: Vec<String> = Vec::new();
    for (n, row) in table.into_iter().enumerate() {
        if n == 1 {
            let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            drawn.push(Style::DIM.paint(&rule.join("─┼─")));
        }
        let cells: Vec<Vec<Vec<Piece>>> =
            row.into_iter().zip(&widths).map(|(cell, width)| rows(&[], cell, 0, *width)).collect();
        let style = if n == 0 { Style::BOLD } else { Style::PLAIN };
        for at in 0..cells.iter().map(Vec::len).max().unwrap_or_default() {
            let one = |((cell, width), align): ((&Vec<Vec<Piece>>, &usize), &Align)| {
                padded(cell.get(at).cloned().unwrap_or_default(), *width, *align, style)
            };
            let mut line: Vec<Piece> = Vec::new();
            for cell in cells.iter().zip(&widths).zip(&aligns).map(one) {
                if !line.is_empty() {
                    line.push((Style::DIM, BETWEEN.0.into()));
                }
                cell.into_iter().for_each(|(style, text)| text.chars().for_each(|c| push(&mut line, style, c)));
            }
            if let Some((_, last)) = line.last_mut() {
                last.truncate(last.trim_end().len());
            }
            drawn.push(painted(&line));
        }
    }
    Some(drawn.join("\n"))
}

/// The cells of a line.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let (mut cells, mut from, mut escaped) = (Vec::new(), 0, false);
    for (at, c) in line.char_indices() {
        if c == '|' && !escaped {
            cells.push(line.get(from..at).unwrap_or_default().trim());
            from = at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    let last = line.get(from..).unwrap_or_default().trim();
    if !last.is_empty() {
        cells.push(last);
    }
    cells
}

/// What a cell of the second line says of its column; `None` where it is none of a table.
fn align(cell: &str) -> Option<Align> {
    let (left, right) = (cell.starts_with(':'), cell.len() > 1 && cell.ends_with(':'));
    let dashes = cell.trim_matches(':');
    (!dashes.is_empty() && dashes.bytes().all(|b| b == b'-')).then_some(match (left, right) {
        (true, true) => Align::Middle,
        (false, true) => Align::Right,
        _ => Align::Left,
    })
}

fn wide(cell: &[Piece]) -> usize {
    cell.iter().map(|(_, text)| width(text)).sum()
}

/// The widths, the widest made narrower until all fit. `None`: there is no room for so many columns.
fn fitted(mut widths: Vec<usize>, room: usize) -> Option<Vec<usize>> {
    const NARROWEST: usize = 4;
    while widths.iter().sum::<usize>() > room {
        let widest = widths.iter_mut().max().filter(|widest| **widest > NARROWEST)?;
        *widest -= 1;
    }
    Some(widths)
}

/// A row of a cell with the blanks that it takes.
fn padded(mut cell: Vec<Piece>, to: usize, align: Align, style: Style) -> Vec<Piece> {
    let missing = to.saturating_sub(wide(&cell));
    let before = match align {
        Align::Left => 0,
        Align::Middle => missing / 2,
        Align::Right => missing,
    };
    let blanks = |many: usize| (style, " ".repeat(many));
    if before > 0 {
        cell.insert(0, blanks(before));
    }
    if missing > before {
        cell.push(blanks(missing - before));
    }
    cell
}
