//! The table.

use serde::{Deserialize, Serialize};

/// A line of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// What is to be reached; empty where a line only informs.
    pub reach: String,
    /// What was measured, with its unit.
    pub measured: String,
    /// That divided by the same of the loop without a framework.
    pub ratio: Option<f64>,
    /// Whether it was reached.
    pub ok: Option<bool>,
}

impl Row {
    /// A line with something to reach.
    pub fn goal(what: &str, reach: &str, measured: String, ok: bool) -> Row {
        Row { what: what.into(), reach: reach.into(), measured, ratio: None, ok: Some(ok) }
    }

    /// A line that only informs.
    pub fn note(what: &str, measured: String) -> Row {
        Row { what: what.into(), reach: String::new(), measured, ratio: None, ok: None }
    }

    /// The same with a ratio to the floor.
    pub fn ratio(self, ratio: f64) -> Row {
        Row { ratio: Some(ratio), ..self }
    }
}

const HEAD: [&str; 5] = ["what", "reach", "measured", "ratio to floor", ""];

/// Markdown, aligned.
pub fn render(rows: &[Row]) -> String {
    let cells = |row: &Row| {
        let ratio = row.ratio.map_or_else(String::new, |ratio| format!("{ratio:.1} x"));
        let ok = row.ok.map_or("", |ok| if ok { "ok" } else { "MISSED" });
        [row.what.clone(), row.reach.clone(), row.measured.clone(), ratio, ok.into()]
    };
    let lines: Vec<[String; 5]> = std::iter::once(HEAD.map(String::from)).chain(rows.iter().map(cells)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(width);
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        for (cell, width) in line.iter().zip(widths) {
            out.push_str(&format!("| {cell:width$} "));
        }
        out.push_str("|\n");
        if at == 0 {
            widths.iter().for_each(|width| out.push_str(&format!("|{}", "-".repeat(width + 2))));
            out.push_str("|\n");
        }
    }
    out
}
