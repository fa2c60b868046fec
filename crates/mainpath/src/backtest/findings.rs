//! What other rules would have decided otherwise.

use super::judge::{JudgedCall, PersonSaid, Unjudged};
use super::shown::shown;
use mainpath_types::{CallId, Decision, TraceId, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many examples of a change are kept.
const EXAMPLES: usize = 3;

/// What other rules would have decided otherwise of recorded calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Backtest {
    /// Traces whose logs were read.
    pub traces: usize,
    /// Calls in them.
    pub calls: usize,
    /// Calls that could be judged.
    pub judged: usize,
    /// What was allowed and would not be, by rule; the most calls first.
    pub stricter: Vec<RuleChange>,
    /// What was asked about or denied and would pass, by rule.
    pub looser: Vec<RuleChange>,
    /// What was asked about and would be denied, or the other way round, by rule.
    pub other: Vec<RuleChange>,
    /// Calls that cannot be judged, by why.
    pub unjudged: Vec<UnjudgedCalls>,
    /// Traces whose logs cannot be read, or only in part.
    pub unread: Vec<UnreadTrace>,
}

/// Calls that one rule decided on then and one decides on now, otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleChange {
    /// What was decided.
    pub then: Decision,
    /// The rule that did.
    pub then_rule: String,
    /// What would be decided.
    pub now: Decision,
    /// The rule that would.
    pub now_rule: String,
    /// How many calls.
    pub calls: usize,
    /// In how many traces.
    pub traces: usize,
    /// How many of them the rules that hold today would decide on in the same way.
    pub today: usize,
    /// How many of them a person approved.
    pub approved: usize,
    /// How many of them a person denied.
    pub denied: usize,
    /// Some of them.
    pub examples: Vec<ChangedCall>,
}

/// A call that would be decided on otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedCall {
    /// The trace.
    pub trace: TraceId,
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: String,
    /// The beginning of its arguments.
    pub arguments: String,
    /// Why it would be decided so.
    pub reason: String,
}

/// Calls that cannot be judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnjudgedCalls {
    /// Why.
    pub why: Unjudged,
    /// Of which tool.
    pub tool: String,
    /// How many.
    pub calls: usize,
    /// One of the traces.
    pub trace: TraceId,
}

/// A trace whose log cannot be read, or only in part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadTrace {
    /// Which.
    pub trace: TraceId,
    /// Why.
    pub problem: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ChangeKey {
    then: &'static str,
    then_rule: String,
    now: &'static str,
    now_rule: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UnjudgedKey {
    why: Unjudged,
    tool: String,
}

/// What was found in one trace, or in several so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    traces: usize,
    calls: usize,
    judged: usize,
    changes: BTreeMap<ChangeKey, RuleChange>,
    unjudged: BTreeMap<UnjudgedKey, UnjudgedCalls>,
    unread: Vec<UnreadTrace>,
}

impl Found {
    /// What cannot be read of a trace.
    pub fn unread(trace: TraceId, problem: String) -> Found {
        Found { unread: vec![UnreadTrace { trace, problem }], ..Found::default() }
    }

    /// The trace was read.
    pub fn read(&mut self) {
        self.traces = 1;
    }

    /// The log was read up to a place only.
    pub fn read_in_part(&mut self, trace: &TraceId, problem: String) {
        self.unread.push(UnreadTrace { trace: trace.clone(), problem });
    }

    /// Takes in a call. `today`: what the rules that hold today say, asked only where it matters.
    pub fn take(&mut self, trace: &TraceId, judged: &JudgedCall<'_>, today: impl FnOnce() -> Option<Decision>) {
        self.calls += 1;
        let now = match &judged.now {
            Ok(now) => now,
            Err(why) => {
                let key = UnjudgedKey { why: *why, tool: judged.tool.into() };
                let none = || UnjudgedCalls { why: *why, tool: judged.tool.into(), calls: 0, trace: trace.clone() };
                self.unjudged.entry(key).or_insert_with(none).calls += 1;
                return;
            }
        };
        self.judged += 1;
        let then: &Verdict = judged.then;
        if then.decision == now.decision {
            return;
        }
        let key = ChangeKey {
            then: then.decision.as_str(),
            then_rule: then.rule.clone(),
            now: now.decision.as_str(),
            now_rule: now.rule.clone(),
        };
        let change = self.changes.entry(key).or_insert_with(|| RuleChange {
            then: then.decision,
            then_rule: then.rule.clone(),
            now: now.decision,
            now_rule: now.rule.clone(),
            calls: 0,
            traces: 1,
            today: 0,
            approved: 0,
            denied: 0,
            examples: Vec::new(),
        });
        change.calls += 1;
        change.today += usize::from(today() == Some(now.decision));
        change.approved += usize::from(matches!(judged.person, Some(PersonSaid::Approved)));
        change.denied += usize::from(judged.person == Some(PersonSaid::Denied));
        if change.examples.len() < EXAMPLES {
            change.examples.push(ChangedCall {
                trace: trace.clone(),
                call: judged.call,
                tool: judged.tool.into(),
                arguments: shown(judged.arguments),
                reason: now.reason.clone(),
            });
        }
    }

    /// What was found in another trace, too.
    pub fn add(&mut self, other: Found) {
        self.traces += other.traces;
        self.calls += other.calls;
        self.judged += other.judged;
        self.unread.extend(other.unread);
        for (key, more) in other.unjudged {
            match self.unjudged.get_mut(&key) {
                Some(known) => known.calls += more.calls,
                None => drop(self.unjudged.insert(key, more)),
            }
        }
        for (key, more) in other.changes {
            let Some(known) = self.changes.get_mut(&key) else {
                self.changes.insert(key, more);
                continue;
            };
            known.calls += more.calls;
            known.traces += more.traces;
            known.today += more.today;
            known.approved += more.approved;
            known.denied += more.denied;
            // One of each trace says more than three of one.
            let room = EXAMPLES.saturating_sub(known.examples.len());
            known.examples.extend(more.examples.into_iter().take(room));
        }
    }
}

impl From<Found> for Backtest {
    fn from(found: Found) -> Backtest {
        let mut changes: Vec<RuleChange> = found.changes.into_values().collect();
        changes.sort_by_key(|change| std::cmp::Reverse(change.calls));
        let (stricter, rest): (Vec<RuleChange>, Vec<RuleChange>) =
            changes.into_iter().partition(|change| change.then == Decision::Allow);
        let (looser, other) = rest.into_iter().partition(|change| change.now == Decision::Allow);
        let mut unjudged: Vec<UnjudgedCalls> = found.unjudged.into_values().collect();
        unjudged.sort_by_key(|calls| std::cmp::Reverse(calls.calls));
        Backtest {
            traces: found.traces,
            calls: found.calls,
            judged: found.judged,
            stricter,
            looser,
            other,
            unjudged,
            unread: found.unread,
        }
    }
}
