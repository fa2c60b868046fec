//! Results as JUnit XML, as CI systems read it.

use crate::exit::Failure;
use mainpath::store::put_private;
use std::fmt::Write;
use std::path::Path;

/// A case of a suite.
#[derive(Clone, Debug)]
pub struct JunitCase {
    /// What it belongs to, such as its file.
    pub class: String,
    /// What it is called.
    pub name: String,
    /// How long it took, where that was measured.
    pub elapsed_ms: Option<u64>,
    /// What is wrong, if something is: its first line says it in short.
    pub problem: Option<String>,
}

/// Writes a suite into a file. Errors: it cannot be written.
pub fn write_junit(file: &Path, suite: &str, cases: &[JunitCase]) -> Result<(), Failure> {
    let bad = |error: std::io::Error| Failure::error(format!("--junit {}: {error}", file.display()));
    put_private(file, junit(suite, cases).as_bytes()).map_err(bad)
}

fn junit(suite: &str, cases: &[JunitCase]) -> String {
    let failures = cases.iter().filter(|case| case.problem.is_some()).count();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing into a text cannot fail.
    let all = cases.iter().filter_map(|case| case.elapsed_ms).reduce(u64::saturating_add);
    let _ = writeln!(
        xml,
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\"{}>",
        escaped(suite),
        cases.len(),
        time(all)
    );
    for JunitCase { class, name, elapsed_ms, problem } in cases {
        let time = time(*elapsed_ms);
        let head = format!("<testcase classname=\"{}\" name=\"{}\"{time}", escaped(class), escaped(name));
        let _ = match problem {
            None => writeln!(xml, "  {head}/>"),
            Some(problem) => {
                let short = problem.lines().next().unwrap_or_default();
                let (short, whole) = (escaped(short), escaped(problem));
                writeln!(xml, "  {head}>\n    <failure message=\"{short}\">{whole}</failure>\n  </testcase>")
            }
        };
    }
    xml.push_str("</testsuite>\n");
    xml
}

/// How long something took, in seconds.
fn time(ms: Option<u64>) -> String {
    ms.map_or_else(String::new, |ms| format!(" time=\"{}.{:03}\"", ms / 1000, ms % 1000))
}

/// A text within an attribute; what XML cannot hold becomes a question mark.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            letter if letter.is_control() || matches!(letter, '\u{FFFE}' | '\u{FFFF}') => safe.push('?'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_has_its_cases_and_no_text_can_break_it() {
        let case = |name: &str, problem: Option<&str>| JunitCase {
            class: "policy.toml".into(),
            name: name.into(),
            elapsed_ms: problem.map(|_| 1_005),
            problem: problem.map(Into::into),
        };
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"policy\" tests=\"2\" failures=\"1\" time=\"1.005\">\n  \
                        <testcase classname=\"policy.toml\" name=\"a &lt;b&gt; &amp; &quot;c&quot;\"/>\n  \
                        <testcase classname=\"policy.toml\" name=\"d\" time=\"1.005\">\n    \
                        <failure message=\"one\">one&#10;two?</failure>\n  \
                        </testcase>\n</testsuite>\n";
        assert_eq!(junit("policy", &[case("a <b> & \"c\"", None), case("d", Some("one\ntwo\u{1b}"))]), expected);
    }
}
