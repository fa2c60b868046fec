//! Numbers in Prometheus' text format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// As many label values a family has at most; what comes after them is counted together. Values come from closed lists, so this is
/// reached by mistake alone.
const MOST: usize = 1_000;
/// The value of all after those.
const OTHERS: &str = "(others)";

/// What is said of a family.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
}

/// Numbers that only grow, by labels.
pub struct Counters {
    about: Family,
    values: Mutex<BTreeMap<Vec<String>, f64>>,
}

/// How long things took, by labels.
pub struct Histograms {
    about: Family,
    /// The upper bounds, in seconds.
    bounds: &'static [f64],
    values: Mutex<BTreeMap<Vec<String>, Buckets>>,
}

#[derive(Clone, Debug, Default)]
struct Buckets {
    counts: Vec<u64>,
    count: u64,
    sum: f64,
}

fn locked<T>(values: &Mutex<T>) -> MutexGuard<'_, T> {
    values.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key<T>(values: &BTreeMap<Vec<String>, T>, labels: &[&str]) -> Vec<String> {
    let key: Vec<String> = labels.iter().map(|label| (*label).to_string()).collect();
    match values.len() < MOST || values.contains_key(&key) {
        true => key,
        false => labels.iter().map(|_| OTHERS.to_string()).collect(),
    }
}

impl Counters {
    /// None yet. Without labels it is 0 from the beginning.
    pub fn new(about: Family) -> Counters {
        let values = if about.labels.is_empty() { BTreeMap::from([(Vec::new(), 0.0)]) } else { BTreeMap::new() };
        Counters { about, values: Mutex::new(values) }
    }

    /// Counts so much more.
    pub fn add(&self, labels: &[&str], more: f64) {
        let mut values = locked(&self.values);
        let key = key(&values, labels);
        *values.entry(key).or_default() += more;
    }

    /// Counts one more.
    pub fn count(&self, labels: &[&str]) {
        self.add(labels, 1.0);
    }

    /// Its lines.
    pub fn write(&self, to: &mut String) {
        head(to, &self.about, "counter");
        for (labels, value) in locked(&self.values).iter() {
            let labels = braced(&self.about, labels, None);
            let _ = writeln!(to, "{}{labels} {value}", self.about.name);
        }
    }
}

impl Histograms {
    /// None yet, with these upper bounds in seconds.
    pub fn new(about: Family, bounds: &'static [f64]) -> Histograms {
        Histograms { about, bounds, values: Mutex::default() }
    }

    /// Something took so many seconds.
    pub fn took(&self, labels: &[&str], seconds: f64) {
        let mut values = locked(&self.values);
        let key = key(&values, labels);
        let buckets = values.entry(key).or_default();
        buckets.counts.resize(self.bounds.len(), 0);
        buckets.count += 1;
        buckets.sum += seconds;
        for (count, bound) in buckets.counts.iter_mut().zip(self.bounds) {
            *count += u64::from(seconds <= *bound);
        }
    }

    /// Its lines.
    pub fn write(&self, to: &mut String) {
        head(to, &self.about, "histogram");
        for (labels, buckets) in locked(&self.values).iter() {
            let name = self.about.name;
            for (bound, count) in self.bounds.iter().zip(&buckets.counts) {
                let within = braced(&self.about, labels, Some(&bound.to_string()));
                let _ = writeln!(to, "{name}_bucket{within} {count}");
            }
            let all = braced(&self.about, labels, Some("+Inf"));
            let plain = braced(&self.about, labels, None);
            let _ = writeln!(to, "{name}_bucket{all} {}", buckets.count);
            let _ = writeln!(to, "{name}_sum{plain} {}", buckets.sum);
            let _ = writeln!(to, "{name}_count{plain} {}", buckets.count);
        }
    }
}

/// The lines of a number that goes up and down.
pub fn gauge(to: &mut String, about: &Family, value: f64) {
    head(to, about, "gauge");
    let _ = writeln!(to, "{} {value}", about.name);
}

/// The lines of a number that is always 1, and whose labels say something.
pub fn info(to: &mut String, about: &Family, labels: &[&str]) {
    head(to, about, "gauge");
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_string()).collect();
    let _ = writeln!(to, "{}{} 1", about.name, braced(about, &labels, None));
}

fn head(to: &mut String, about: &Family, kind: &str) {
    let _ = writeln!(to, "# HELP {} {}", about.name, about.help);
    let _ = writeln!(to, "# TYPE {} {kind}", about.name);
}

/// Labels in braces; nothing if there are none.
fn braced(about: &Family, values: &[String], within: Option<&str>) -> String {
    let named = about.labels.iter().copied().zip(values.iter().map(String::as_str)).chain(within.map(|le| ("le", le)));
    let texts: Vec<String> = named.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    if texts.is_empty() { String::new() } else { format!("{{{}}}", texts.join(",")) }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: Family = Family { name: "calls_total", help: "Calls.", labels: &["tool"] };

    #[test]
    fn values_are_escaped_and_what_is_not_labelled_begins_with_0() {
        let (counters, mut text) = (Counters::new(CALLS), String::new());
        counters.count(&["a\"b\\c\nd"]);
        counters.add(&["x"], 2.5);
        counters.write(&mut text);
        let all = "# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total{tool=\"a\\\"b\\\\c\\nd\"} 1\ncalls_total{tool=\"x\"} 2.5\n";
        assert_eq!(text, all);
        let mut text = String::new();
        Counters::new(Family { labels: &[], ..CALLS }).write(&mut text);
        assert_eq!(text.lines().last(), Some("calls_total 0"));
    }

    #[test]
    fn buckets_hold_all_that_took_at_most_so_long() {
        let times = Histograms::new(Family { name: "s", help: "S.", labels: &[] }, &[0.1, 1.0]);
        [0.1, 0.5, 3.0].iter().for_each(|seconds| times.took(&[], *seconds));
        let mut text = String::new();
        times.write(&mut text);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            ["s_bucket{le=\"0.1\"} 1", "s_bucket{le=\"1\"} 2", "s_bucket{le=\"+Inf\"} 3", "s_sum 3.6", "s_count 3"]
        );
    }

    #[test]
    fn a_family_has_so_many_values_and_no_more() {
        let counters = Counters::new(CALLS);
        (0..MOST + 5).for_each(|n| counters.count(&[&n.to_string()]));
        counters.count(&["0"]);
        let mut text = String::new();
        counters.write(&mut text);
        assert_eq!(text.lines().count(), 2 + MOST + 1);
        assert!(text.contains("calls_total{tool=\"(others)\"} 5\n"), "{text}");
        assert!(text.contains("calls_total{tool=\"0\"} 2\n"), "{text}");
    }
}
