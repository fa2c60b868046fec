//! A rule, and the layers that rules come from.

use crate::CallFacts;
use crate::part::Part;
use crate::pattern::{Fit, Pattern, Reading};
use mainpath_types::{Decision, Destination, EffectClass, Origin};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// Where a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RuleLayer")]
pub enum Layer {
    /// It comes with Mainpath.
    Builtin,
    /// The user's own file.
    User,
    /// The project's file, in the workspace.
    Project,
    /// The command line of this run.
    Run,
    /// Approvals of this trace that were given for calls of a kind.
    Trace,
    /// The organisation's file. Nothing below loosens it.
    Organisation,
}

impl Layer {
    /// What the ids of its rules begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            Layer::Builtin => "builtin",
            Layer::User => "user",
            Layer::Project => "project",
            Layer::Run => "run",
            Layer::Trace => "trace",
            Layer::Organisation => "organisation",
        }
    }
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name, unlike that of every other rule of its layer.
    pub id: String,
    /// What it says.
    pub decision: Decision,
    /// What it is about, as it was written.
    pub matches: Vec<String>,
    /// It holds only for arguments from here; empty: from anywhere.
    pub origins: Vec<Origin>,
    /// It holds only for tools with these effects; empty: with any.
    pub effects: Vec<EffectClass>,
    /// It holds only for calls whose destination comes from somebody's text: see [`CallFacts::destinations`].
    pub destination: bool,
    /// Why there is such a rule.
    pub reason: Option<String>,
    /// For an ask: `--yes` is no answer to it.
    pub always: bool,
    /// Where it comes from.
    pub layer: Layer,
    /// The file and the line that it stands in, if it stands in one.
    pub place: Option<(String, usize)>,
    /// Why it does not hold, if it does not.
    pub ignored: Option<&'static str>,
    /// Shared by the copies of a policy: they are what reading a rule costs.
    pub(crate) patterns: Arc<[Pattern]>,
}

impl Rule {
    /// How well it fits a part of a call.
    pub(crate) fn fit(&self, facts: &CallFacts, part: &Part<'_>) -> Fit {
        let reading = if self.decision == Decision::Allow { Reading::Strict } else { Reading::Wide };
        if self.ignored.is_some() || !self.holds(facts, reading) {
            return Fit::No;
        }
        self.patterns_fit(&facts.tool, part, reading)
    }

    pub(crate) fn patterns_fit(&self, tool: &str, part: &Part<'_>, reading: Reading) -> Fit {
        self.patterns.iter().map(|pattern| pattern.fit(tool, part, reading)).max().unwrap_or(Fit::No)
    }

    /// Whether its conditions are met. One origin is enough for a deny or an ask; an allow wants all to be among its own.
    fn holds(&self, facts: &CallFacts, reading: Reading) -> bool {
        let origin = self.origins.is_empty()
            || match reading {
                Reading::Wide => facts.origins.iter().any(|origin| self.origins.contains(origin)),
                Reading::Strict => {
                    !facts.origins.is_empty() && facts.origins.iter().all(|origin| self.origins.contains(origin))
                }
            };
        origin
            && (!self.destination || !facts.destinations.is_empty())
            && (self.effects.is_empty() || self.effects.contains(&facts.effect))
    }

    /// Whether a person has allowed calls to this destination by name: a rule that allows any is not about it.
    pub(crate) fn names(&self, facts: &CallFacts, destination: &Destination) -> bool {
        self.decision == Decision::Allow
            && self.layer != Layer::Builtin
            && self.ignored.is_none()
            && self.holds(facts, Reading::Strict)
            && self.patterns.iter().any(|pattern| pattern.names(facts, destination))
    }

    /// Whether it denies every call of a tool.
    pub(crate) fn denies_all_of(&self, tool: &str, effect: EffectClass) -> bool {
        self.decision == Decision::Deny
            && self.ignored.is_none()
            && self.origins.is_empty()
            && !self.destination
            && (self.effects.is_empty() || self.effects.contains(&effect))
            && self.patterns.iter().any(|pattern| pattern.is_whole_tool(tool))
    }

    /// Whether its ask stands even where the owner of the run said yes beforehand.
    pub(crate) fn is_firm(&self) -> bool {
        self.always || self.layer == Layer::Organisation
    }

    /// Whether another rule says the same: as their fingerprints would be.
    pub(crate) fn says_the_same(&self, other: &Rule) -> bool {
        let Rule { id, decision, matches, origins, effects, destination, reason, always, layer, ignored, .. } = self;
        *id == other.id
            && *decision == other.decision
            && *matches == other.matches
            && *origins == other.origins
            && *effects == other.effects
            && *destination == other.destination
            && *reason == other.reason
            && *always == other.always
            && *layer == other.layer
            && *ignored == other.ignored
    }

    /// What is hashed: everything that changes a verdict or what is said of it.
    pub(crate) fn fingerprint(&self) -> String {
        let Rule { id, decision, matches, origins, effects, destination, reason, always, layer, ignored, .. } = self;
        let destination = if *destination { "destination\0" } else { "" };
        format!(
            "{layer:?}\0{id}\0{decision:?}\0{matches:?}\0{origins:?}\0{effects:?}\0{destination}{reason:?}\0{always}\0{ignored:?}\n"
        )
    }
}
