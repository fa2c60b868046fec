//! Plots as SVG within a page: no script, no colours that a reader's dark page hides.

use super::report::CriterionTally;
use crate::trace::as_html;
use std::fmt::Write;

/// The width of a plot, in its own units.
const WIDTH: f64 = 640.0;
/// The height of a bar with what is around it.
const ROW: f64 = 26.0;
/// Where bars begin: before it stand their names.
const BARS: f64 = 220.0;
/// The longest name that is drawn, in characters.
const NAME: usize = 28;

/// For each check and grader, how many runs passed, did not, could not be judged or met an error, with the share that is wanted.
pub(super) fn shares(criteria: &[CriterionTally], to: &mut String) {
    let height = ROW * criteria.len() as f64 + 24.0;
    open("How many runs passed", height, to);
    for (at, one) in criteria.iter().enumerate() {
        let (y, all) = (ROW * at as f64 + 4.0, (one.judged_runs() + one.unjudged_runs).max(1) as f64);
        let middle = y + 13.0;
        let name = shortened(&one.name);
        let _ = write!(to, "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>", BARS - 8.0, as_html(&name));
        let mut x = BARS;
        for (class, runs) in [
            ("passed", one.passed_runs),
            ("failed", one.failed_runs),
            ("error", one.error_runs),
            ("unjudged", one.unjudged_runs),
        ] {
            let wide = (WIDTH - BARS - 10.0) * runs as f64 / all;
            let title = format!("{}: {runs} {class}", one.name);
            let _ = write!(
                to,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{wide:.1}\" height=\"18\"><title>{}</title></rect>",
                as_html(&title)
            );
            x += wide;
        }
        // Of the runs that could be judged.
        let judged = (WIDTH - BARS - 10.0) * one.judged_runs() as f64 / all;
        let mark = BARS + judged * one.wanted;
        let _ = writeln!(
            to,
            "<line class=\"wanted\" x1=\"{mark:.1}\" x2=\"{mark:.1}\" y1=\"{}\" y2=\"{}\"><title>wanted: {} %</title></line>",
            y - 2.0,
            y + 20.0,
            one.wanted * 100.0
        );
    }
    to.push_str("</svg>\n");
}

/// How often each tenth of the range of scores was given.
pub(super) fn histogram(name: &str, scores: &[f64], to: &mut String) {
    let mut counts = [0_usize; 10];
    for score in scores {
        let tenth = ((score * 10.0) as usize).min(9);
        if let Some(count) = counts.get_mut(tenth) {
            *count += 1;
        }
    }
    let most = counts.iter().max().copied().unwrap_or(0).max(1) as f64;
    open(&format!("Scores by {name}"), 140.0, to);
    for (at, count) in counts.iter().enumerate() {
        let (x, tall) = (40.0 + at as f64 * 58.0, 100.0 * *count as f64 / most);
        let (from, until) = (at as f64 / 10.0, (at + 1) as f64 / 10.0);
        let _ = write!(
            to,
            "<rect class=\"bar\" x=\"{x}\" y=\"{:.1}\" width=\"52\" height=\"{tall:.1}\"><title>{from} to {until}: {count}</title></rect>\
             <text x=\"{}\" y=\"130\" text-anchor=\"middle\">{from}</text>",
            112.0 - tall,
            x + 4.0
        );
        if *count > 0 {
            let _ =
                write!(to, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"middle\">{count}</text>", x + 26.0, 108.0 - tall);
        }
    }
    to.push_str("<text x=\"624\" y=\"130\" text-anchor=\"middle\">1</text></svg>\n");
}

/// A point of [`over_time`].
pub(super) struct TimePoint {
    /// How high it lies.
    pub value: f64,
    /// How it looks: the name of a class.
    pub class: &'static str,
    /// What it is.
    pub title: String,
}

/// Values of the runs from the oldest to the newest.
pub(super) fn over_time(title: &str, unit: &str, points: &[TimePoint], to: &mut String) {
    let most = points.iter().map(|point| point.value).fold(0.0, f64::max);
    let most = if most > 0.0 { most } else { 1.0 };
    open(title, 150.0, to);
    let _ = write!(
        to,
        "<line class=\"axis\" x1=\"110\" x2=\"630\" y1=\"130\" y2=\"130\"/><line class=\"axis\" x1=\"110\" x2=\"110\" y1=\"10\" y2=\"130\"/>\
         <text x=\"104\" y=\"18\" text-anchor=\"end\">{}</text><text x=\"104\" y=\"134\" text-anchor=\"end\">0</text>\
         <text x=\"630\" y=\"146\" text-anchor=\"end\">newest</text><text x=\"110\" y=\"146\">oldest</text>",
        as_html(&format!("{} {unit}", figure(most)))
    );
    let step = 510.0 / points.len().max(1) as f64;
    for (at, point) in points.iter().enumerate() {
        let (x, y) = (115.0 + step * (at as f64 + 0.5), 130.0 - 115.0 * point.value / most);
        let _ = write!(
            to,
            "<circle class=\"{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}</title></circle>",
            point.class,
            as_html(&point.title)
        );
    }
    to.push_str("</svg>\n");
}

/// A number with as many digits as one reads.
fn figure(value: f64) -> String {
    if value >= 100.0 || value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn open(title: &str, height: f64, to: &mut String) {
    let title = as_html(title);
    let _ =
        writeln!(to, "<h2>{title}</h2>\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">");
}

fn shortened(name: &str) -> String {
    crate::text::short(name, NAME)
}
