//! The rules that a run was given, as its log has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rules that the caller of a run gave: they hold as long as its trace goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunRules {
    /// Calls that are allowed, a rule each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Calls that a person decides on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// Calls that are denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// The commands that may run at all, such as `git *`: of every list here, a command must be one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Vec<String>>,
    /// Calls to stop before, whatever else is said of them: a predicate each, such as `tool=bash and args~deploy`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breakpoints: Vec<String>,
    /// Files with rules, as they were when they were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<RuleText>,
}

/// A file with rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleText {
    /// Where it was.
    pub name: String,
    /// What it said.
    pub text: String,
}

impl RunRules {
    /// All that they say, in no order.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        let RunRules { allow, ask, deny, commands, breakpoints, files } = self;
        let files = files.iter().flat_map(|file| [&file.name, &file.text]);
        [allow, ask, deny, breakpoints].into_iter().chain(commands).flatten().chain(files)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == RunRules::default()
    }

    /// These, and those that are new among others.
    #[must_use]
    pub fn with(mut self, others: &RunRules) -> RunRules {
        fn add<T: Clone + PartialEq>(list: &mut Vec<T>, others: &[T]) {
            for other in others {
                if !list.contains(other) {
                    list.push(other.clone());
                }
            }
        }
        add(&mut self.allow, &others.allow);
        add(&mut self.ask, &others.ask);
        add(&mut self.deny, &others.deny);
        add(&mut self.commands, &others.commands);
        add(&mut self.breakpoints, &others.breakpoints);
        add(&mut self.files, &others.files);
        self
    }
}
