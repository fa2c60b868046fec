//! What is off about a skill.

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Within our own rules, but not of the Agent Skills specification: other programs may refuse or ignore it.
    Extension,
    /// Not as it was meant; the skill can be used.
    Warning,
    /// Against the rules.
    Error,
}

/// Something off about a skill: one line for people.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The line in the skill's file, from 1, if it is about one.
    pub line: Option<usize>,
    /// What is off, and what to do.
    pub text: String,
}

impl Finding {
    pub(crate) fn error(line: Option<usize>, text: impl Into<String>) -> Finding {
        Finding { severity: Severity::Error, line, text: text.into() }
    }

    pub(crate) fn warning(line: Option<usize>, text: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, line, text: text.into() }
    }

    pub(crate) fn extension(line: Option<usize>, text: impl Into<String>) -> Finding {
        Finding { severity: Severity::Extension, line, text: text.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Whether none of these is an error.
pub fn is_valid(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.severity != Severity::Error)
}
