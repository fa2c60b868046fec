//! From what people answered to rules that would have answered it.
//!
//! A rule is the one that Mainpath offers at the question ("always"): the narrowest for the call ([`narrowest`]). It is never wider
//! than that, and it is no suggestion if a person has decided otherwise on any recorded call that it covers.

use super::findings::UnreadTrace;
use super::judge::{JudgedCall, PastJudge, PersonSaid};
use super::many::{BacktestScope, each_log, in_part, own_after};
use super::past::{Known, PastFacts};
use super::shown::shown;
use super::suggestions::{CoveredCall, RuleSuggestion, Suggestions};

use crate::{Error, Logs};
use mainpath_policy::{CallFacts, Policy, narrowest};
use mainpath_types::{Decision, TraceId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// How many other calls are shown of a rule.
const SHOWN: usize = 5;
/// The most rules that are looked into: those that answer the most.
const MOST: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CandidateKey {
    allows: bool,
    rule: String,
}

/// What is known of a rule before it is tried on all calls.
#[derive(Clone, Debug, Default)]
struct Answers {
    answers: usize,
    traces: usize,
    folders: BTreeSet<String>,
}

/// What one log has of answers.
#[derive(Default)]
struct OfLog {
    read: bool,
    unread: Option<UnreadTrace>,
    answers: usize,
    already: usize,
    without_rule: usize,
    candidates: BTreeMap<CandidateKey, Answers>,
}

/// A rule that is tried.
struct Candidate {
    key: CandidateKey,
    answers: Answers,
    /// The only folder that it is for.
    folder: Option<String>,
}

/// What a rule does to calls.
#[derive(Clone, Debug, Default)]
struct Effect {
    also: usize,
    also_calls: Vec<CoveredCall>,
    against: Option<CoveredCall>,
}

impl PastJudge {
    /// The rules that would have answered what people were asked at least so many times. It reads a great many files: call it where that
    /// may block. Errors: no log can be read.
    pub fn suggest(&self, logs: &Logs, scope: &BacktestScope, least: usize) -> Result<Suggestions, Error> {
        let names = scope.names(logs)?;
        let read = each_log(&logs.store, &logs.scope, &names, &|trace, log| {
            let log = match log {
                Ok(log) => log,
                Err(problem) => {
                    let unread = Some(UnreadTrace { trace: trace.clone(), problem: problem.to_string() });
                    return OfLog { unread, ..OfLog::default() };
                }
            };
            if scope.leaves_out(log) {
                return OfLog::default();
            }
            let unread = in_part(log).map(|problem| UnreadTrace { trace: trace.clone(), problem });
            let mut of = OfLog { read: true, unread, ..OfLog::default() };
            self.each(log, own_after(log, &names), &mut |past| {
                if scope.has(trace, &past) {
                    self.answer(&past, &mut of);
                }
            });
            of.candidates.values_mut().for_each(|answers| answers.traces = 1);
            of
        });
        let mut all = Suggestions::default();
        let mut candidates: BTreeMap<CandidateKey, Answers> = BTreeMap::new();
        for of in read {
            all.traces += usize::from(of.read);
            all.answers += of.answers;
            all.already += of.already;
            all.without_rule += of.without_rule;
            all.unread.extend(of.unread);
            for (key, more) in of.candidates {
                let known = candidates.entry(key).or_default();
                known.answers += more.answers;
                known.traces += more.traces;
                known.folders.extend(more.folders);
            }
        }
        let enough = candidates.into_iter().filter(|(_, answers)| answers.answers >= least.max(1));
        let mut candidates: Vec<Candidate> = enough
            .map(|(key, answers)| {
                let folder = answers.folders.first().filter(|_| answers.folders.len() == 1).cloned();
                Candidate { key, answers, folder }
            })
            .collect();
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.answers.answers));
        candidates.truncate(MOST);
        let effects = self.effects(logs, &names, &candidates);
        for (candidate, effect) in candidates.into_iter().zip(effects) {
            let Candidate { key, answers, folder } = candidate;
            let suggestion = RuleSuggestion {
                decision: if key.allows { Decision::Allow } else { Decision::Deny },
                r#match: key.rule.lines().map(Into::into).collect(),
                folder,
                answers: answers.answers,
                traces: answers.traces,
                also: effect.also,
                also_calls: effect.also_calls,
                against: effect.against,
            };
            let list = if suggestion.against.is_some() { &mut all.contradicted } else { &mut all.rules };
            list.push(suggestion);
        }
        Ok(all)
    }

    /// Takes in what a person answered on a call.
    fn answer(&self, past: &PastFacts<'_>, of: &mut OfLog) {
        let PastFacts { judged, known: Some(known) } = past else { return };
        let allows = match judged.person {
            Some(PersonSaid::Approved) => true,
            Some(PersonSaid::Denied) => false,
            Some(PersonSaid::Edited) | None => return,
        };
        of.answers += 1;
        let wanted = if allows { Decision::Allow } else { Decision::Deny };
        if judged.now.as_ref().is_ok_and(|now| now.decision == wanted) {
            of.already += 1;
            return;
        }
        let rule = narrowest(&known.facts).map(|rule| rule.to_string());
        let answers = |rule: &String| {
            let policy = with_rule(&known.terms.policy, rule, allows);
            policy.is_some_and(|policy| self.decides(judged, known, &policy) == wanted)
        };
        let Some(rule) = rule.filter(answers) else {
            of.without_rule += 1;
            return;
        };
        let candidate = of.candidates.entry(CandidateKey { allows, rule }).or_default();
        candidate.answers += 1;
        candidate.folders.insert(known.terms.spec.source().into());
    }

    fn decides(&self, judged: &JudgedCall<'_>, known: &Known<'_>, policy: &Arc<Policy>) -> Decision {
        self.verdict(&known.terms, policy, judged.tool, &known.facts).decision
    }

    /// What each rule would do to all recorded calls.
    fn effects(&self, logs: &Logs, names: &[TraceId], candidates: &[Candidate]) -> Vec<Effect> {
        let none = || vec![Effect::default(); candidates.len()];
        if candidates.is_empty() {
            return none();
        }
        let found = each_log(&logs.store, &logs.scope, names, &|trace, log| {
            let mut effects = none();
            let Ok(log) = log else { return effects };
            let mut policies: HashMap<(String, usize), Option<Arc<Policy>>> = HashMap::new();
            self.each(log, own_after(log, names), &mut |past| {
                for (at, (candidate, effect)) in candidates.iter().zip(&mut effects).enumerate() {
                    let PastFacts { judged, known: Some(known) } = &past else { return };
                    if !candidate.may_cover(known) {
                        continue;
                    }
                    let key = (known.terms.policy.hash().to_string(), at);
                    let make = || with_rule(&known.terms.policy, &candidate.key.rule, candidate.key.allows);
                    let Some(policy) = policies.entry(key).or_insert_with(make).clone() else { continue };
                    let now = self.decides(judged, known, &policy);
                    effect.take(trace, judged, candidate.key.allows, now);
                }
            });
            effects
        });
        let mut all = none();
        for one in found {
            for (known, more) in all.iter_mut().zip(one) {
                known.also += more.also;
                known.against = known.against.take().or(more.against);
                let room = SHOWN.saturating_sub(known.also_calls.len());
                known.also_calls.extend(more.also_calls.into_iter().take(room));
            }
        }
        all
    }
}

/// A policy with one rule more.
fn with_rule(policy: &Arc<Policy>, rule: &str, allows: bool) -> Option<Arc<Policy>> {
    if allows {
        return Some(Arc::new(policy.with_approved([rule])));
    }
    let mut policy = Policy::clone(policy);
    policy.add_rule(Decision::Deny, rule).ok()?;
    Some(Arc::new(policy))
}

impl Candidate {
    /// Whether it could be about such a call at all, told at a glance.
    fn may_cover(&self, known: &Known<'_>) -> bool {
        let CallFacts { tool, commands, paths, .. } = &known.facts;
        let is_here = self.folder.as_ref().is_none_or(|folder| known.terms.spec.source() == folder);
        let about = |pattern: &str| match pattern.split('(').next().unwrap_or_default() {
            "bash" => !commands.is_empty(),
            "read" | "write" => !paths.is_empty() || !commands.is_empty(),
            name => name.replace('\\', "") == *tool,
        };
        is_here && self.key.rule.lines().any(about)
    }
}

impl Effect {
    /// Takes in what is decided on a call with the rule.
    fn take(&mut self, trace: &TraceId, judged: &JudgedCall<'_>, allows: bool, with: Decision) {
        let wanted = if allows { Decision::Allow } else { Decision::Deny };
        let without = judged.now.as_ref().map_or(wanted, |now| now.decision);
        if with != wanted || without == wanted {
            return;
        }
        let covered = || CoveredCall {
            trace: trace.clone(),
            call: judged.call,
            tool: judged.tool.into(),
            arguments: shown(judged.arguments),
        };
        match (judged.person, allows) {
            (Some(PersonSaid::Approved), true) | (Some(PersonSaid::Denied), false) => {}
            // With other arguments than these.
            (Some(PersonSaid::Denied | PersonSaid::Edited), true) | (Some(PersonSaid::Approved), false) => {
                self.against.get_or_insert_with(covered);
            }
            (Some(PersonSaid::Edited), false) | (None, _) => {
                self.also += 1;
                if self.also_calls.len() < SHOWN {
                    self.also_calls.push(covered());
                }
            }
        }
    }
}
