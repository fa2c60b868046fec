//! What an evaluation came to, as one page that needs nothing else: no server, no script, nothing from elsewhere.

use super::plots::{TimePoint, histogram, over_time, shares};
use super::report::{CriterionTally, EvalReport, EvaluatedRun, RunResult};
use super::scores::{ScoreKind, ScoreOutcome};
use crate::text::span;
use crate::trace::as_html;
use std::fmt::Write;

/// How it looks. Colours follow the reader's choice of light or dark.
const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--dim:#777;--good:#2a8a4a;--bad:#c33;--odd:#c80}\
body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:0 auto;padding:1.5rem}\
h1{font-size:1.4rem;margin:0}h2{font-size:1rem;margin:1.4rem 0 .3rem}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;color:var(--dim)}dd{margin:0}\
table{border-collapse:collapse;width:100%;font-size:13px}td,th{border-top:1px solid var(--line);vertical-align:top;padding:.2rem .5rem;\
text-align:left;overflow-wrap:anywhere}td.n{text-align:right;white-space:nowrap}\
p,li,td{unicode-bidi:isolate}details{margin:.4rem 0}summary{cursor:pointer}small{color:var(--dim)}\
b.passed{color:var(--good)}b.failed{color:var(--bad)}b.error{color:var(--odd)}b.unjudged{color:var(--dim)}\
svg{max-width:100%;height:auto;font:12px system-ui,sans-serif}svg text{fill:currentColor}\
svg .passed{fill:var(--good)}svg .failed{fill:var(--bad)}svg .error{fill:var(--odd)}svg .unjudged{fill:#8886}svg .bar{fill:#57c}\
svg .wanted{stroke:currentColor;stroke-width:2}svg .axis{stroke:var(--line)}";
/// Nothing in the page may load or run anything, whatever an agent or a grader has written.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

impl EvalReport {
    /// The report as one HTML file that opens without a server: plots, what each check and grader came to, and every run.
    pub fn page(&self) -> String {
        let title = as_html(&format!("Evaluation {}", self.suite));
        let verdict = if self.passed { "<b class=\"passed\">passed</b>" } else { "<b class=\"failed\">failed</b>" };
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"><title>{title}</title><style>{STYLE}</style></head>\n\
             <body><h1>{title}: {verdict}</h1>\n"
        );
        if let Some(description) = &self.description {
            let _ = writeln!(page, "<p>{}</p>", as_html(description));
        }
        let facts = [
            ("runs", self.runs.len().to_string()),
            ("results", format!("{} new, {} known", self.graded, self.known)),
            ("grading cost", dollars(self.cost_micros)),
            ("at", self.at.clone()),
            ("suite", self.suite_hash.clone()),
        ];
        page.push_str("<dl>");
        for (name, value) in facts {
            let _ = write!(page, "<dt>{name}</dt><dd>{}</dd>", as_html(&value));
        }
        page.push_str("</dl>\n");
        self.plots(&mut page);
        page.push_str(
            "<h2>Checks and graders</h2>\n<table><tr><th>name<th>passed<th>share<th>wanted<th>mean<th></tr>\n",
        );
        self.criteria.iter().for_each(|one| criterion(one, &mut page));
        page.push_str("</table>\n<h2>Runs</h2>\n<table><tr><th>run<th>task<th>ended");
        for one in &self.criteria {
            let _ = write!(page, "<th>{}", as_html(&one.name));
        }
        page.push_str("<th>turns<th>calls<th>tokens<th>cost<th>time</tr>\n");
        self.runs.iter().for_each(|run| row(run, &mut page));
        page.push_str("</table>\n");
        if !self.notes.is_empty() {
            page.push_str("<h2>Notes</h2>\n<ul>");
            for note in &self.notes {
                let _ = write!(page, "<li>{}", as_html(note));
            }
            page.push_str("</ul>\n");
        }
        page.push_str("</body></html>\n");
        page
    }

    fn plots(&self, page: &mut String) {
        shares(&self.criteria, page);
        for (at, one) in self.criteria.iter().enumerate().filter(|(_, one)| one.kind == ScoreKind::Grader) {
            let results = self.runs.iter().filter_map(|run| run.results.get(at));
            let scores: Vec<f64> = results.filter_map(|result| result.score).collect();
            if !scores.is_empty() {
                histogram(&one.name, &scores, page);
            }
        }
        let mut runs: Vec<&EvaluatedRun> = self.runs.iter().filter(|run| !run.created.is_empty()).collect();
        runs.sort_by(|one, other| one.created.cmp(&other.created));
        let mut plot =
            |title: &str, unit: &str, of: &dyn Fn(&EvaluatedRun) -> f64, words: &dyn Fn(&EvaluatedRun) -> String| {
                let point = |run: &&EvaluatedRun| TimePoint {
                    value: of(run),
                    class: if run.passed() { "passed" } else { "failed" },
                    title: format!("{}: {}", run.trace_id, words(run)),
                };
                let points: Vec<TimePoint> = runs.iter().map(point).collect();
                if points.iter().any(|point| point.value > 0.0) {
                    over_time(title, unit, &points, page);
                }
            };
        plot("Cost", "$", &|run| run.cost_micros as f64 / 1e6, &|run| dollars(run.cost_micros));
        plot("Tokens", "tokens", &|run| run.tokens as f64, &|run| run.tokens.to_string());
        plot("Turns", "turns", &|run| f64::from(run.turns), &|run| run.turns.to_string());
    }
}

fn criterion(one: &CriterionTally, page: &mut String) {
    let share = one.share.map_or("-".into(), |share| format!("{:.0} %", share * 100.0));
    let mean = one.mean.map_or("-".into(), |mean| format!("{mean:.2}"));
    let wanted = one.wanted_mean.map_or(String::new(), |mean| format!(", mean {mean}"));
    let word = if one.passed { "passed" } else { "failed" };
    let others = [(one.error_runs, "error"), (one.unjudged_runs, "not judged")];
    let others =
        others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(" <small>{count} {what}</small>"));
    let _ = writeln!(
        page,
        "<tr><td>{}<td>{} of {}{}<td>{share}<td>{:.0} %{wanted}<td>{mean}<td><b class=\"{word}\">{word}</b></tr>",
        as_html(&one.name),
        one.passed_runs,
        one.judged_runs(),
        others.collect::<String>(),
        one.wanted * 100.0
    );
}

fn row(run: &EvaluatedRun, page: &mut String) {
    let ended = run.finish.map_or(run.status.as_str(), |finish| finish.as_str());
    let _ = write!(page, "<tr><td>{}<td>{}<td>{}", as_html(run.trace_id.as_str()), as_html(&run.task), as_html(ended));
    run.results.iter().for_each(|result| cell(result, page));
    let time = run.elapsed_ms.map(span).unwrap_or_default();
    let _ = writeln!(
        page,
        "<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{time}</tr>",
        run.turns,
        run.calls,
        run.tokens,
        dollars(run.cost_micros)
    );
}

fn cell(result: &RunResult, page: &mut String) {
    let word = result.outcome.as_str();
    let score = result.score.map(|score| format!(" {score:.2}")).unwrap_or_default();
    let trace = result.trace.as_ref().map(|trace| format!("<br><small>{}</small>", as_html(trace.as_str())));
    let (reason, trace) = (as_html(&result.reason), trace.unwrap_or_default());
    let _ = match (result.outcome, reason.is_empty() && trace.is_empty()) {
        (_, true) => write!(page, "<td><b class=\"{word}\">{word}</b>{score}"),
        (ScoreOutcome::Passed, false) => write!(
            page,
            "<td><details><summary><b class=\"{word}\">{word}</b>{score}</summary>{reason}{trace}</details>"
        ),
        (_, false) => write!(page, "<td><b class=\"{word}\">{word}</b>{score}<br>{reason}{trace}"),
    };
}

/// Millionths of a dollar for people.
fn dollars(cost: u64) -> String {
    format!("${}.{:06}", cost / 1_000_000, cost % 1_000_000).trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::report::{EvalReport, EvaluatedRun};

    #[test]
    fn nothing_that_an_agent_or_a_grader_writes_is_markup() {
        let evil = "</style></td><script>alert(1)</script>\u{202E}<img src=x onerror=\"a'b\">";
        let result = RunResult {
            name: evil.into(),
            outcome: ScoreOutcome::Failed,
            score: Some(0.5),
            reason: evil.into(),
            trace: None,
            known: false,
        };
        let run = EvaluatedRun {
            trace_id: "t".parse().unwrap(),
            task: evil.into(),
            status: evil.into(),
            finish: None,
            model: evil.into(),
            created: evil.into(),
            turns: 3,
            calls: 1,
            tokens: 9,
            cost_micros: 1_500_000,
            elapsed_ms: Some(3),
            results: vec![result],
            notes: Vec::new(),
        };
        let mut tally = CriterionTally {
            kind: ScoreKind::Grader,
            name: evil.into(),
            hash: evil.into(),
            passed_runs: 0,
            failed_runs: 1,
            unjudged_runs: 0,
            error_runs: 0,
            share: None,
            wanted: 0.9,
            mean: None,
            wanted_mean: Some(0.5),
            passed: true,
        };
        tally.settle(&[0.5]);
        assert_eq!((tally.share, tally.mean, tally.passed), (Some(0.0), Some(0.5), false));
        let report = EvalReport {
            suite: evil.into(),
            description: Some(evil.into()),
            suite_hash: evil.into(),
            at: evil.into(),
            passed: false,
            criteria: vec![tally],
            runs: vec![run],
            graded: 1,
            known: 0,
            cost_micros: 0,
            notes: vec![evil.into()],
        };
        let page = report.page();
        assert!(!page.contains("<script") && !page.contains("<img") && page.matches("</style>").count() == 1, "{page}");
        assert!(page.contains("&lt;script&gt;") && page.contains("&lt;U+202E&gt;"), "{page}");
        assert!(page.contains("default-src 'none'") && page.matches("<svg").count() == 5, "{page}");
        assert!(page.contains("$1.5") && page.contains(">0.50"), "{page}");
    }

    #[test]
    fn money_is_shown_with_the_digits_that_it_has() {
        assert_eq!([0, 5, 1_500_000, 20_000_000].map(dollars), ["$0", "$0.000005", "$1.5", "$20"]);
    }
}
