//! Results as JUnit XML, as CI systems read it.

use crate::exit::Failure;
use std::fmt::Write;
use std::path::Path;

/// A case of a suite.
#[derive(Clone, Debug)]
pub struct JunitCase {
    /// What it belongs to, such as its file.
    pub class: String,
    /// What it is called.
    pub name: String,
    /// What is wrong, if something is.
    pub problem: Option<String>,
}

/// Writes a suite into a file. Errors: it cannot be written.
pub fn write_junit(file: &Path, suite: &str, cases: &[JunitCase]) -> Result<(), Failure> {
    let bad = |error: std::io::Error| Failure::error(format!("--junit {}: {error}", file.display()));
    std::fs::write(file, junit(suite, cases)).map_err(bad)
}

fn junit(suite: &str, cases: &[JunitCase]) -> String {
    let failures = cases.iter().filter(|case| case.problem.is_some()).count();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing into a text cannot fail.
    let _ = writeln!(xml, "<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\">", escaped(suite), cases.len());
    for JunitCase { class, name, problem } in cases {
        let head = format!("<testcase classname=\"{}\" name=\"{}\"", escaped(class), escaped(name));
        let _ = match problem {
            None => writeln!(xml, "  {head}/>"),
            Some(problem) => {
                writeln!(xml, "  {head}>\n    <failure message=\"{}\"/>\n  </testcase>", escaped(problem))
            }
        };
    }
    xml.push_str("</testsuite>\n");
    xml
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
            problem: problem.map(Into::into),
        };
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"policy\" tests=\"2\" failures=\"1\">\n  \
                        <testcase classname=\"policy.toml\" name=\"a &lt;b&gt; &amp; &quot;c&quot;\"/>\n  \
                        <testcase classname=\"policy.toml\" name=\"d\">\n    <failure message=\"one&#10;two?\"/>\n  \
                        </testcase>\n</testsuite>\n";
        assert_eq!(junit("policy", &[case("a <b> & \"c\"", None), case("d", Some("one\ntwo\u{1b}"))]), expected);
    }
}
