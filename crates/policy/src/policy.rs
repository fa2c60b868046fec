//! The rules of a run, layer by layer.

use crate::error::{PolicyError, RulePlace, RuleProblem};
use crate::file::{ReadPattern, of_preset, parse, parse_one};
use crate::part::short;
use crate::pattern::{Folders, Pattern};
use crate::rule::{Layer, Rule};
use mainpath_types::{Decision, EffectClass};
use sha2::{Digest, Sha256};
use std::sync::{Arc, OnceLock};

/// The rules that come with Mainpath.
const BUILTIN: &str = include_str!("builtin.toml");
/// What errors in them call their file.
const BUILTIN_NAME: &str = "builtin.toml";

/// Every rule that holds for a run. Deny beats ask beats allow, whatever layer they come from.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    folders: Folders,
    /// Shared by its copies.
    rules: Vec<Arc<Rule>>,
    /// Each has the commands of which a command must be one.
    command_bounds: Vec<Arc<Rule>>,
    /// True if rules of a run are read as a log has them.
    is_recorded: bool,
    /// Made when it is asked for.
    hash: OnceLock<String>,
}

impl PartialEq for Policy {
    fn eq(&self, other: &Policy) -> bool {
        let says_the_same = |one: &[Arc<Rule>], other: &[Arc<Rule>]| {
            let pair = |(one, other): (&Arc<Rule>, &Arc<Rule>)| Arc::ptr_eq(one, other) || one.says_the_same(other);
            one.len() == other.len() && one.iter().zip(other).all(pair)
        };
        self.folders == other.folders
            && says_the_same(&self.rules, &other.rules)
            && says_the_same(&self.command_bounds, &other.command_bounds)
    }
}

impl Eq for Policy {}

impl Policy {
    /// No rules.
    pub fn new(folders: Folders) -> Policy {
        Policy { folders, ..Policy::default() }
    }

    /// The rules that come with Mainpath. Errors: none, unless Mainpath itself is broken.
    pub fn builtin(folders: Folders) -> Result<Policy, PolicyError> {
        // Its examples are the business of a test, not of every start.
        let rules = parse(Layer::Builtin, BUILTIN_NAME, BUILTIN, &folders, Pattern::parse)?.rules;
        Ok(Policy { rules: rules.into_iter().map(Arc::new).collect(), folders, ..Policy::default() })
    }

    /// The same policy, to which the rules of a run are added as a log has them: those that no call can fit were accepted once.
    pub fn reading_recorded(self) -> Policy {
        Policy { is_recorded: true, ..self }
    }

    /// Adds the rules of a file. Those that it switches off must come before; it cannot switch off the organisation's.
    /// Errors: file, line, what is wrong; nothing is added.
    pub fn add_file(&mut self, layer: Layer, name: &str, text: &str) -> Result<(), PolicyError> {
        let read = self.reads(layer);
        let parsed = parse(layer, name, text, &self.folders, read)?;
        parsed.test(&self.folders)?;
        for id in &parsed.off {
            let known = self.rules.iter_mut().filter(|rule| rule.id == *id && rule.layer != Layer::Organisation);
            let mut found = false;
            for rule in known {
                Arc::make_mut(rule).ignored = Some("switched off");
                found = true;
            }
            if !found {
                let near = self.rules.iter().find(|rule| strsim::damerau_levenshtein(&rule.id, id) <= 2);
                let problem = RuleProblem::UnknownOff { id: id.clone(), meant: near.map(|rule| rule.id.clone()) };
                return Err(PolicyError { place: RulePlace::File(name.into()), problem });
            }
        }
        self.rules.extend(parsed.rules.into_iter().map(Arc::new));
        self.changed();
        Ok(())
    }

    /// Adds the file of a project that the user has not trusted: what it allows does not hold. Errors: as [`Policy::add_file`].
    pub fn add_untrusted(&mut self, name: &str, text: &str) -> Result<(), PolicyError> {
        let from = self.rules.len();
        self.add_file(Layer::Project, name, text)?;
        for rule in self.rules.iter_mut().skip(from).filter(|rule| rule.decision == Decision::Allow) {
            Arc::make_mut(rule).ignored = Some("the project's policy is not trusted");
        }
        self.changed();
        Ok(())
    }

    /// Adds the file of a project in whose folder the workspace lies, further down: relative paths in it are from `folder`. What an
    /// untrusted one allows does not hold. Errors: as [`Policy::add_file`].
    pub fn add_above(&mut self, folder: &str, name: &str, text: &str, is_trusted: bool) -> Result<(), PolicyError> {
        let above = Folders { above: folder.trim_end_matches('/').into(), ..self.folders.clone() };
        let own = std::mem::replace(&mut self.folders, above);
        let added = match is_trusted {
            true => self.add_file(Layer::Project, name, text),
            false => self.add_untrusted(name, text),
        };
        self.folders = own;
        added
    }

    /// Adds a rule of the command line, such as `bash(git push *) if origin = web`, or of a preset ([`crate::with_preset`]). Errors: what
    /// is wrong with it.
    pub fn add_rule(&mut self, decision: Decision, text: &str) -> Result<(), PolicyError> {
        let word = decision.as_str();
        let of_run = self.rules.iter().filter(|rule| rule.layer == Layer::Run && rule.decision == decision);
        let (number, index) = (1 + of_run.clone().count(), of_run.filter(|rule| rule.place.is_none()).count());
        let (text, preset) = of_preset(text);
        let id =
            preset.map_or_else(|| format!("run.{word}.{number}"), |name| format!("preset {name}: {}", short(text)));
        let rule = parse_one(decision, Layer::Run, id, text, &self.folders, self.reads(Layer::Run))
            .map_err(|problem| PolicyError { place: RulePlace::Single { decision, index }, problem })?;
        self.rules.push(Arc::new(rule));
        self.changed();
        Ok(())
    }

    /// Denies every command that is none of these, such as `git *`, whatever else allows it. Of several such lists a command must be in
    /// each. Errors: what is wrong with one.
    pub fn bound_commands(&mut self, commands: &[String]) -> Result<(), PolicyError> {
        let id = format!("preset: commands {}", short(&commands.join(", ")));
        let patterns: Vec<String> = commands.iter().map(|command| format!("bash({command})")).collect();
        let read = self.reads(Layer::Run);
        let rule = parse_one(Decision::Allow, Layer::Run, id, &patterns.join("\n"), &self.folders, read)
            .map_err(|problem| PolicyError { place: RulePlace::Commands, problem })?;
        self.command_bounds.push(Arc::new(rule));
        self.changed();
        Ok(())
    }

    /// What [`Policy::bound_commands`] added.
    pub(crate) fn command_bounds(&self) -> &[Arc<Rule>] {
        &self.command_bounds
    }

    /// The policy with the rules that approvals made of a trace. What cannot be read any more allows nothing.
    pub fn with_approved<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> Policy {
        let mut policy = self.clone();
        for (number, text) in (1..).zip(texts) {
            let id = format!("trace.{number}");
            let read = parse_one(Decision::Allow, Layer::Trace, id, text, &self.folders, Pattern::recorded);
            policy.rules.extend(read.map(Arc::new));
        }
        policy.changed();
        policy
    }

    /// Whether a rule denies every call of a tool, whatever its arguments and wherever they come from. Such a tool need not be
    /// offered to a model at all.
    pub fn denies_all_of(&self, tool: &str, effect: EffectClass) -> bool {
        self.rules.iter().any(|rule| rule.denies_all_of(tool, effect))
    }

    /// The rules in the order in which they were added.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// The folders that the patterns speak of.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// The SHA-256 of all that its verdicts follow from, as hexadecimal digits: what a record names it by.
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| self.make_hash())
    }

    /// How the patterns of a layer are read.
    fn reads(&self, layer: Layer) -> ReadPattern {
        if self.is_recorded && layer == Layer::Run { Pattern::recorded } else { Pattern::parse }
    }

    /// It says something else from now on.
    fn changed(&mut self) {
        self.hash = OnceLock::new();
    }

    fn make_hash(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{}\0{}\n", self.folders.workspace, self.folders.home));
        if !self.folders.copy_of.is_empty() {
            hash.update(format!("a copy of {}\n", self.folders.copy_of));
        }
        for rule in self.rules.iter().chain(&self.command_bounds) {
            hash.update(rule.fingerprint());
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_mainpath_hold_to_their_examples_wherever_the_folders_are() {
        for (workspace, home) in [("/work", "/home/somebody"), ("/home/somebody/work", "/home/somebody"), ("/w", "")] {
            let folders = Folders { workspace: workspace.into(), home: home.into(), ..Folders::default() };
            let tested = parse(Layer::Builtin, BUILTIN_NAME, BUILTIN, &folders, Pattern::parse)
                .and_then(|parsed| parsed.test(&folders));
            assert_eq!(tested, Ok(()), "{workspace} {home}");
        }
        let folders = Folders { workspace: "/work".into(), home: "/home/somebody".into(), ..Folders::default() };
        let spoilt = BUILTIN.replacen("bash(rm -rf /)", "bash(ls)", 1);
        let tested = parse(Layer::Builtin, BUILTIN_NAME, &spoilt, &folders, Pattern::parse)
            .and_then(|parsed| parsed.test(&folders));
        assert_eq!(
            tested.map_err(|error| error.problem.to_string()),
            Err("the rule builtin.destroy does not match its example \"bash(ls)\"".into())
        );
    }
}
