//! What the rules say of each part of a call, and what follows where none says anything.

use crate::part::{Part, parts, resolved, short};
use crate::pattern::{Fit, Opened, Reading, Seen};
use crate::rule::{Layer, Rule};
use crate::shell::{self, Script};
use crate::{CallFacts, PathFact, Policy};
use mainpath_types::{Access, Decision, Destination, EffectClass};
use std::borrow::Cow;
use std::sync::Arc;

/// The rule by which changes are asked about.
pub(crate) const ASK: &str = "builtin.ask";

/// What is said of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub decision: Decision,
    /// The rule's id.
    pub rule: String,
    /// Why, in a sentence.
    pub reason: String,
    /// The part, in words.
    pub part: String,
    /// Whether the organisation says it.
    pub by_organisation: bool,
    /// Whether an ask stands where the owner said yes beforehand.
    pub firm: bool,
    /// Whether a rule says it, rather than what the run may do by default.
    pub by_rule: bool,
}

/// A rule that was looked at and how well it fitted.
#[derive(Clone, Debug)]
pub(crate) struct Applied<'p> {
    pub rule: &'p Rule,
    pub part: String,
    pub fit: Fit,
}

/// What is said of every part of a call; `applied` takes every rule that fits a part, whether it decides or not.
pub(crate) fn weigh<'p>(
    policy: &'p Policy,
    access: Access,
    facts: &CallFacts,
    applied: Option<&mut Vec<Applied<'p>>>,
) -> Vec<Finding> {
    let unnamed = Unnamed::of(policy, facts);
    let scripts: Vec<Script> = facts.commands.iter().map(|line| shell::read(line)).collect();
    let seen: Vec<Vec<Seen<'_>>> = scripts
        .iter()
        .map(|script| script.commands.iter().map(|simple| Seen::new(simple, policy.folders())).collect())
        .collect();
    let parts = parts(facts, &scripts, &seen, policy.folders());
    let tainted = scripts.iter().find_map(|script| script.tainted.as_deref());
    let mut applied = applied;
    let said: Vec<Option<Said<'p>>> = parts
        .iter()
        .map(|part| {
            if let Some(applied) = applied.as_deref_mut() {
                let fits = policy.rules().iter().map(|rule| Applied {
                    rule,
                    part: String::new(),
                    fit: rule.fit(unnamed.facts(rule), part),
                });
                let fits = fits.filter(|applied| applied.fit != Fit::No && is_about(applied.rule, part, applied.fit));
                applied.extend(fits.map(|found| Applied { part: part.describe(&facts.tool), ..found }));
            }
            say(policy, &unnamed, part)
        })
        .collect();
    let allowed = Allowed::of(&parts, &said);
    let default = Default { access, facts, allowed };
    let outside = parts.iter().filter_map(|part| outside_bounds(policy, facts, part, tainted)).collect::<Vec<_>>();
    let within = parts.iter().zip(said).filter_map(|(part, said)| {
        let Some(said) = said else { return default.of(part) };
        // Only an allow opens what is closed by default: an ask may be answered by `--yes`.
        let closed =
            default.of(part).filter(|found| said.decision == Decision::Ask && found.decision == Decision::Deny);
        Some(closed.unwrap_or_else(|| said.finding(unnamed.facts(said.rule), part, tainted)))
    });
    within.chain(outside).collect()
}

/// What the rules say of a file that a call comes upon; nothing where those that fit it fit the call as well, unless they deny.
pub(crate) fn weigh_found(policy: &Policy, call: &CallFacts, file: &PathFact) -> Option<Finding> {
    let part = Part::Path(resolved(file, &call.tool, policy.folders()));
    let fits_call =
        |rule: &Rule| parts(call, &[], &[], policy.folders()).iter().any(|part| rule.fit(call, part) == Fit::Yes);
    let counts = |rule: &&Arc<Rule>| match rule.decision {
        Decision::Allow => false,
        Decision::Ask => rule.fit(call, &part) == Fit::Yes && !fits_call(rule),
        Decision::Deny => rule.fit(call, &part) == Fit::Yes,
    };
    let said = policy.rules().iter().filter(counts).map(|rule| Said { decision: rule.decision, rule, certain: true });
    said.max_by_key(Said::weight).map(|said| said.finding(call, &part, None))
}

/// The denial of a command that is not among those that the run may use at all.
fn outside_bounds(policy: &Policy, facts: &CallFacts, part: &Part<'_>, tainted: Option<&str>) -> Option<Finding> {
    let is_command = match part {
        Part::Command(seen) => !seen.simple.is_harmless() || tainted.is_some(),
        Part::Unclear(_) => true,
        _ => false,
    };
    let is_in = |rule: &Rule| {
        let every = rule.patterns.iter().any(|pattern| pattern.is_every_command());
        every || tainted.is_none() && rule.patterns_fit(&facts.tool, part, Reading::Strict) == Fit::Yes
    };
    let bound = policy.command_bounds().iter().find(|rule| is_command && !is_in(rule))?;
    let subject = part.describe(&facts.tool);
    let which: Vec<&str> = bound.matches.iter().map(String::as_str).collect();
    let mut reason = format!("{subject} is not among the commands that this agent may run: {}.", which.join(", "));
    if let Some(first) = reason.get(..1).map(str::to_uppercase) {
        reason.replace_range(..1, &first);
    }
    Some(Finding {
        decision: Decision::Deny,
        rule: bound.id.clone(),
        reason,
        part: subject,
        by_organisation: false,
        firm: false,
        by_rule: true,
    })
}

/// A call with those destinations that no rule allows by name: what a person has allowed so, that person has named.
struct Unnamed<'a> {
    facts: Cow<'a, CallFacts>,
    /// For the organisation's rules, which no other rule loosens.
    for_organisation: Cow<'a, CallFacts>,
}

impl<'a> Unnamed<'a> {
    fn of(policy: &Policy, facts: &'a CallFacts) -> Unnamed<'a> {
        if facts.destinations.is_empty() {
            return Unnamed { facts: Cow::Borrowed(facts), for_organisation: Cow::Borrowed(facts) };
        }
        let but_named = |counts: &dyn Fn(&Rule) -> bool| {
            let names = |destination: &Destination| {
                policy.rules().iter().any(|rule| counts(rule) && rule.names(facts, destination))
            };
            let destinations = facts.destinations.iter().filter(|found| !names(found)).cloned().collect();
            Cow::Owned(CallFacts { destinations, ..facts.clone() })
        };
        let by_organisation = |rule: &Rule| rule.layer == Layer::Organisation;
        Unnamed { facts: but_named(&|_| true), for_organisation: but_named(&by_organisation) }
    }

    fn facts(&self, rule: &Rule) -> &CallFacts {
        if rule.layer == Layer::Organisation { &self.for_organisation } else { &self.facts }
    }
}

/// What a rule says of a part.
struct Said<'p> {
    decision: Decision,
    rule: &'p Rule,
    /// Whether it is certain that the rule is about the part.
    certain: bool,
}

/// Whether it counts that a rule may fit. What comes with Mainpath guards against what can be seen; what people wrote must hold.
fn counts(rule: &Rule) -> bool {
    rule.layer != Layer::Builtin && rule.decision != Decision::Allow
}

/// Whether a rule that fits a part so well says something of it.
fn is_about(rule: &Rule, part: &Part<'_>, fit: Fit) -> bool {
    let certain = fit == Fit::Yes && !matches!(part, Part::Path(place) if place.opened == Opened::Command);
    certain || counts(rule)
}

/// The strongest thing that the rules say of a part.
fn say<'p>(policy: &'p Policy, unnamed: &Unnamed<'_>, part: &Part<'_>) -> Option<Said<'p>> {
    let mut strongest: Option<Said<'p>> = None;
    for rule in policy.rules() {
        let (decision, certain) = match rule.fit(unnamed.facts(rule), part) {
            Fit::No => continue,
            fit if !is_about(rule, part, fit) => continue,
            Fit::Maybe => (Decision::Ask, false),
            Fit::Yes => (rule.decision, true),
        };
        let said = Said { decision, rule, certain };
        if strongest.as_ref().is_none_or(|other| said.weight() > other.weight()) {
            strongest = Some(said);
        }
    }
    strongest
}

impl Said<'_> {
    /// Deny over ask over allow; among equals the organisation's, then an ask that `--yes` does not answer, then what is certain.
    fn weight(&self) -> (u8, bool, bool, bool) {
        (strength(self.decision), self.rule.layer == Layer::Organisation, self.is_firm(), self.certain)
    }

    /// Whether an ask stands under `--yes`: what may be denied is not allowed by a yes to all.
    fn is_firm(&self) -> bool {
        self.rule.is_firm() || !self.certain && self.rule.decision == Decision::Deny
    }

    fn finding(&self, facts: &CallFacts, part: &Part<'_>, tainted: Option<&str>) -> Finding {
        let subject = part.describe(&facts.tool);
        let is_command = matches!(part, Part::Command(_) | Part::Unclear(_));
        let every = || self.rule.patterns.iter().any(|pattern| pattern.is_every_command());
        if let (Decision::Allow, true, Some(why)) = (self.decision, is_command, tainted)
            && !every()
        {
            let reason = format!("The rule {} allows {subject}, but {why}.", self.rule.id);
            return Finding {
                decision: Decision::Ask,
                rule: "builtin.environment".into(),
                reason,
                part: subject,
                by_organisation: false,
                firm: false,
                by_rule: true,
            };
        }
        if self.rule.destination {
            let why = self.rule.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_else(|| ".".into());
            let reason = format!("{}{why}", nobody_named(&facts.destinations));
            return Finding {
                decision: self.decision,
                rule: self.rule.id.clone(),
                reason,
                part: subject,
                by_organisation: self.rule.layer == Layer::Organisation,
                firm: self.is_firm(),
                by_rule: true,
            };
        }
        let does = match (self.decision, self.certain) {
            (_, false) => "may match",
            (Decision::Allow, _) => "is allowed by",
            (Decision::Ask, _) => "needs your approval by",
            (Decision::Deny, _) => "is denied by",
        };
        let id = &self.rule.id;
        let rule = if id.starts_with("preset ") { "the" } else { "the rule" };
        let end = match (self.certain, self.rule.decision) {
            (false, Decision::Deny) => " (deny); not all of it is known before it runs",
            (false, _) => " (ask); not all of it is known before it runs",
            (true, _) => "",
        };
        let why = self.rule.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_else(|| ".".into());
        let mut reason = format!("{subject} {does} {rule} {id}{end}{why}");
        if let Some(first) = reason.get(..1).map(str::to_uppercase) {
            reason.replace_range(..1, &first);
        }
        Finding {
            decision: self.decision,
            rule: id.clone(),
            reason,
            part: subject,
            by_organisation: self.rule.layer == Layer::Organisation,
            firm: self.is_firm(),
            by_rule: true,
        }
    }
}

/// Which destination nobody named, and where it comes from.
fn nobody_named(destinations: &[Destination]) -> String {
    let Some((first, more)) = destinations.split_first() else { return String::new() };
    let Destination { argument, value, call, tool } = first;
    let value = short(value);
    let more = match more.len() {
        0 => String::new(),
        1 => " and one more".into(),
        n => format!(" and {n} more"),
    };
    let what = format!("{value:?} (argument {argument}){more}");
    match (call, tool) {
        (Some(call), Some(tool)) => {
            format!("{what} comes from text that {tool} returned (call {call}), and no person named it")
        }
        (Some(call), None) => format!("{what} comes from text in the result of call {call}, and no person named it"),
        (None, _) => {
            format!("{what} was named by no person and no server, and this trace has read other people's text")
        }
    }
}

/// How strong a decision is.
pub(crate) fn strength(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask => 1,
        Decision::Deny => 2,
    }
}

/// What rules have allowed of a call.
struct Allowed {
    command: bool,
    /// Something, by a rule about this very tool.
    by_tool: bool,
    /// The call with its arguments, by a rule about this very tool: so the addresses that follow from them as well.
    call: bool,
}

impl Allowed {
    fn of(parts: &[Part<'_>], said: &[Option<Said<'_>>]) -> Allowed {
        let mut allowed = Allowed { command: false, by_tool: false, call: false };
        for (part, said) in parts.iter().zip(said) {
            let Some(said) = said.as_ref().filter(|said| said.decision == Decision::Allow) else { continue };
            allowed.command |= matches!(part, Part::Command(_) | Part::Unclear(_));
            let names_tool = said.rule.patterns.iter().any(|pattern| pattern.names_tool());
            let is_call = matches!(part, Part::Call(_));
            allowed.by_tool |= !is_call && names_tool;
            allowed.call |= is_call && names_tool;
        }
        allowed
    }
}

/// What holds where no rule says anything.
struct Default<'a> {
    access: Access,
    facts: &'a CallFacts,
    allowed: Allowed,
}

impl Default<'_> {
    /// `None` where a part needs no permission of its own.
    fn of(&self, part: &Part<'_>) -> Option<Finding> {
        let facts = self.facts;
        let row = || self.row(facts.effect);
        let reaches_out = facts.effect == EffectClass::ReadOnly && !facts.urls.is_empty();
        let finding = match part {
            Part::Flow(..) => return None,
            Part::Path(place) if place.opened == Opened::Command => return None,
            Part::Call(_) => {
                let covered = match facts.effect {
                    EffectClass::ProcessControl => !facts.commands.is_empty() && self.allowed.command,
                    EffectClass::LocalWrite => facts.paths.iter().any(|path| path.write),
                    _ => false,
                };
                if covered || self.allowed.by_tool || reaches_out {
                    return None;
                }
                row()
            }
            Part::Command(seen) if self.allowed.command && seen.simple.is_harmless() => {
                default(Decision::Allow, "builtin.harmless", "It does nothing by itself.")
            }
            Part::Address(..) if self.allowed.call => return None,
            Part::Address(_, url) if reaches_out => self.address(url),
            Part::Command(_) | Part::Address(..) => row(),
            Part::Unclear(_) if self.access == Access::Full => row(),
            Part::Unclear(why) => {
                let reason = format!("Not all that the command line runs is known before it runs ({why}).");
                default(Decision::Ask, "builtin.unclear", &reason)
            }
            Part::Path(place) if place.opened == Opened::Shell => match row() {
                allow if allow.decision == Decision::Allow => allow,
                _ if !place.write && place.inside => {
                    default(Decision::Allow, "builtin.read-only", "Reading inside the workspace is allowed.")
                }
                _ if place.inside && place.certain => self.row(EffectClass::LocalWrite),
                other => other,
            },
            Part::Path(place) if !place.inside && self.access != Access::Full => {
                let reason = format!("{:?} lies outside the workspace.", place.written);
                default(Decision::Deny, "builtin.workspace", &reason)
            }
            Part::Path(place) if place.write => self.row(EffectClass::LocalWrite),
            Part::Path(_) => self.row(EffectClass::ReadOnly),
        };
        Some(Finding { part: part.describe(&facts.tool), ..finding })
    }

    /// Reading what a server has is no reading inside the workspace: whoever is asked learns what is in the address.
    fn address(&self, url: &str) -> Finding {
        if self.facts.named {
            return default(
                Decision::Allow,
                "builtin.named-address",
                "Reading addresses that people named is allowed.",
            );
        }
        if self.access == Access::Full {
            return self.row(EffectClass::SideEffecting);
        }
        let reason = format!("Nobody in this conversation named the address {url:?} or its server.");
        default(Decision::Ask, "builtin.address", &reason)
    }

    /// What a run may do unasked, by what its tools can do.
    fn row(&self, effect: EffectClass) -> Finding {
        let granted = match self.access {
            Access::Ask => ASK,
            Access::ReadOnly => "access.read-only",
            Access::WorkspaceWrite => "access.workspace-write",
            Access::Full => "access.full",
        };
        let allow = |reason: &str| default(Decision::Allow, granted, reason);
        let changes = match effect {
            EffectClass::LocalWrite => "This changes files.",
            EffectClass::ProcessControl if self.facts.commands.is_empty() => "This starts or stops processes.",
            EffectClass::ProcessControl => "This runs a command.",
            EffectClass::MessageSend => "This sends a message.",
            _ => "This may have effects outside the workspace.",
        };
        let ask = || default(Decision::Ask, ASK, changes);
        match (effect, self.access) {
            (EffectClass::ReadOnly, _) => {
                default(Decision::Allow, "builtin.read-only", "Reading inside the workspace is allowed.")
            }
            // What it is told leaves this machine, and what it does there nobody here is asked about.
            (EffectClass::StartChild, Access::Ask | Access::ReadOnly | Access::WorkspaceWrite)
                if !self.facts.urls.is_empty() =>
            {
                default(Decision::Ask, "builtin.elsewhere", "This hands work to an agent on another machine.")
            }
            (EffectClass::AskPerson | EffectClass::StartChild, _) => {
                default(Decision::Allow, "builtin.agent", "Asking a person and starting an agent are allowed.")
            }
            (_, Access::Full) => allow("The run may do everything that no rule denies."),
            (EffectClass::LocalWrite, Access::ReadOnly) => {
                default(Decision::Deny, granted, "This run cannot change anything.")
            }
            (EffectClass::LocalWrite, Access::WorkspaceWrite) => allow("This run may change files in the workspace."),
            (EffectClass::ProcessControl, Access::ReadOnly | Access::WorkspaceWrite) if self.facts.confined => {
                allow("This run may start processes that cannot leave the workspace.")
            }
            (
                EffectClass::LocalWrite
                | EffectClass::ProcessControl
                | EffectClass::Idempotent
                | EffectClass::MessageSend
                | EffectClass::UiControl
                | EffectClass::SideEffecting,
                Access::Ask | Access::ReadOnly | Access::WorkspaceWrite,
            ) => ask(),
        }
    }
}

fn default(decision: Decision, rule: &str, reason: &str) -> Finding {
    Finding {
        decision,
        rule: rule.into(),
        reason: reason.into(),
        part: String::new(),
        by_organisation: false,
        firm: false,
        by_rule: false,
    }
}
