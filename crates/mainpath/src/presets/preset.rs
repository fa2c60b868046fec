//! What a preset says, and where it comes from.

use super::trust::Distrust;
use mainpath_types::{Effort, Micros, Millis};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// A named set of what an agent is. What it does not say is as it would be without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where it stands: a file, or `builtin`.
    pub source: String,
    /// The tools that it may use: names and patterns. `None`: all; empty: none.
    pub tools: Option<Vec<String>>,
    /// The calls that are denied to it, a rule each, such as `bash` or `bash(rm *)`.
    pub denied_tools: Vec<String>,
    /// The commands that it may run, such as `git *`; empty: whatever the tools allow.
    pub commands: Vec<String>,
    /// The limits of its runs.
    pub limits: PresetLimits,
    /// The sampling temperature, 0 to 2.
    pub temperature: Option<f64>,
    /// How much the model should think.
    pub effort: Option<Effort>,
    /// The model, in Mainpath's notation.
    pub model: Option<String>,
    /// The skills that it has; `None`: it says nothing of skills.
    pub skills: Option<Vec<String>>,
    /// What it is told.
    pub instructions: String,
}

/// The limits of a preset, over those of the profile. `None`: it says nothing; 0: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PresetLimits {
    /// Model turns.
    pub turns: Option<u32>,
    /// Tool calls.
    pub calls: Option<u32>,
    /// Tokens, input and output together.
    pub tokens: Option<u64>,
    /// Money in millionths of a dollar.
    pub money: Option<Micros>,
    /// Wall time in milliseconds, waiting for people excluded.
    pub time_ms: Option<Millis>,
}

/// Something about a preset's file, in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remark {
    /// The line of the file, from 1, if it is about one.
    pub line: Option<usize>,
    /// What there is to say.
    pub text: String,
}

/// Whose a preset is. The smaller one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PresetLayer")]
pub enum Layer {
    /// The repository's: anybody may have written it, so it counts only when trusted.
    Project,
    /// The person's own.
    User,
    /// It comes with Mainpath.
    Builtin,
}

impl Layer {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Project => "project",
            Layer::User => "user",
            Layer::Builtin => "built in",
        }
    }
}

/// A preset that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// What it says; of a faulty one, what of it could be read.
    pub preset: Preset,
    /// Whose it is.
    pub layer: Layer,
    /// Its file.
    pub file: Option<PathBuf>,
    /// The SHA-256 of that file, as it was read.
    pub hash: String,
    /// Why it does not count, if nobody has trusted it.
    pub distrust: Option<Distrust>,
    /// Why it cannot be used, if it cannot.
    pub faults: Vec<Remark>,
    /// What of it is not as its author may think.
    pub notes: Vec<Remark>,
    /// The presets of the same name that it hides, by their places.
    pub shadows: Vec<String>,
}

impl Listed {
    /// Its file with the line of a remark and what it says.
    pub fn told(&self, remark: &Remark) -> String {
        let line = remark.line.map_or_else(String::new, |line| format!(", line {line}"));
        format!("{}{line}: {}", self.preset.source, remark.text)
    }
}
