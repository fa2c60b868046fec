//! Approvals that last: the narrowest rule that allows a call, for the rest of its trace or for good.

use crate::exit::Failure;
use crate::ui::text::{plain, short};
use mainpath::Home;
use mainpath::home::edit::{below, rewrite};
use mainpath::policy::{Folders, Layer, Policy};
use mainpath::types::{CONTENT, CallId, Event, EventKind, TraceId, Verdict};
use std::path::PathBuf;

/// The narrowest rule that would allow calls like this one, as it was offered when the call was judged.
pub fn offer(events: &[Event], call: CallId) -> Option<String> {
    let recorded = events.iter().find_map(|event| match &event.kind {
        EventKind::ModelFinished(data) if data.seq == call.seq => data.call(call.index),
        _ => None,
    });
    recorded.and_then(|call| call.planned.offer.clone())
}

/// A rule of several patterns, for people.
pub fn in_a_line(rule: &str) -> String {
    rule.lines().map(plain).collect::<Vec<_>>().join(" and ")
}

/// Which rule has a call asked about, and why.
pub fn why(verdict: &Verdict) -> String {
    format!("asked by {}: {}", plain(&verdict.rule), short(&verdict.reason, 400))
}

/// Where the paths of a call lead, if that is not where they are written.
pub fn leads(places: &[String]) -> Option<String> {
    let (contents, places): (Vec<String>, Vec<String>) =
        places.iter().map(|place| plain(place)).partition(|place| place.starts_with(CONTENT));
    if !contents.is_empty() {
        return Some(format!("it runs {}", contents.join(" and ")));
    }
    (!places.is_empty()).then(|| format!("it links to {}", places.join(" and ")))
}

/// The rule that an approval would make with `--for`.
pub fn offered(rule: &str) -> String {
    format!("with --for trace or --for always this becomes a rule: {}", in_a_line(rule))
}

/// Writes a rule that allows something into the user's own rules. Gives the file. Errors: the file's rules are wrong, or it
/// cannot be written.
pub fn keep(home: &Home, rule: &str, trace: &TraceId, call: CallId) -> Result<PathBuf, Failure> {
    let file = home.config_dir().join("policy.toml");
    let bad = |why: String| Failure::error(format!("the rule cannot be kept in {}: {why}", file.display()));
    let patterns = rule.lines().map(|line| toml::Value::String(line.into())).collect();
    let quoted = toml::Value::Array(patterns).to_string();
    let entry =
        format!("[[rule]]\ndecision = \"allow\"\nmatch = {quoted}\nreason = \"Approved at call {call} of {trace}.\"\n");
    rewrite(&file, |old| {
        let new = below(&old, &entry);
        // What would not be read again is not written.
        let mut policy = Policy::builtin(Folders::default()).map_err(|error| bad(error.to_string()))?;
        policy.add_file(Layer::User, &file.display().to_string(), &new).map_err(|error| bad(error.to_string()))?;
        Ok(new)
    })?;
    Ok(file)
}
