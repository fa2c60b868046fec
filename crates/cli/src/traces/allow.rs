//! How the rules of approvals are told: why a call is asked about, and what an approval that lasts would allow.

use crate::ui::text::{one_line, plain, short};
use mainpath::types::{CONTENT, Verdict};

/// A rule of several patterns, for people.
pub fn in_a_line(rule: &str) -> String {
    rule.lines().map(plain).collect::<Vec<_>>().join(" and ")
}

/// Which rule has a call asked about, and why.
pub fn why(verdict: &Verdict) -> String {
    format!("asked by {}: {}", one_line(&verdict.rule), short(&verdict.reason, 400))
}

/// Where the paths of a call lead, if that is not where they are written.
pub fn leads(places: &[String]) -> Option<String> {
    let (contents, places): (Vec<String>, Vec<String>) =
        places.iter().map(|place| one_line(place)).partition(|place| place.starts_with(CONTENT));
    if !contents.is_empty() {
        return Some(format!("it runs {}", contents.join(" and ")));
    }
    (!places.is_empty()).then(|| format!("it links to {}", places.join(" and ")))
}

/// The rule that an approval would make with `--for`.
pub fn offered(rule: &str) -> String {
    format!("with --for trace or --for always this becomes a rule: {}", in_a_line(rule))
}
