//! Breakpoints: calls that a person looks at before they run, whatever rules say of them.

use crate::facts::CallFacts;
use crate::predicate::{Predicate, StepFacts};
use mainpath_types::{Decision, Micros, Origin, Spec, TraceId, Verdict};

/// The rule by which a call waits at a breakpoint.
pub const BREAKPOINT: &str = "run.breakpoint";

/// The breakpoints of a spec, with what they may ask of it.
#[derive(Debug)]
pub struct Breakpoints {
    all: Vec<Breakpoint>,
    model: String,
    agent: String,
    folder: String,
}

#[derive(Debug)]
struct Breakpoint {
    text: String,
    /// `None`: it cannot be read.
    predicate: Option<Predicate>,
}

/// What breakpoints may ask of a trace.
#[derive(Clone, Debug)]
pub struct AtStop {
    /// Which.
    pub trace: TraceId,
    /// What it has cost so far.
    pub spent: Micros,
}

impl Breakpoints {
    /// Those of a spec. One that cannot be read stops at every call: whoever set it wanted to see some.
    pub fn of(spec: &Spec) -> Breakpoints {
        let read = |text: &String| Breakpoint { text: text.clone(), predicate: Predicate::breakpoint(text).ok() };
        Breakpoints {
            all: spec.rules.breakpoints.iter().map(read).collect(),
            model: spec.model.clone(),
            agent: spec.preset.as_ref().map(|preset| preset.name.clone()).unwrap_or_default(),
            folder: spec.workspace.clone(),
        }
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The verdict on a call, where a breakpoint may stop it; `said` is what the model said with it. What rules deny stays denied.
    pub fn stop(&self, at: &AtStop, verdict: Verdict, facts: &CallFacts, said: &str) -> Verdict {
        let Breakpoints { all, model, agent, folder } = self;
        if all.is_empty() || verdict.decision == Decision::Deny {
            return verdict;
        }
        let origins: Vec<Origin> = facts.origins.iter().copied().collect();
        let step = StepFacts {
            trace: at.trace.as_str(),
            tool: &facts.tool,
            arguments: Some(&facts.arguments),
            verdict: Some(verdict.decision),
            rule: &verdict.rule,
            origins: &origins,
            text: said,
            cost: at.spent,
            model,
            agent,
            folder,
            ..StepFacts::default()
        };
        let is_met = |stop: &&Breakpoint| stop.predicate.as_ref().is_none_or(|predicate| predicate.matches(&step));
        let Some(met) = all.iter().find(is_met) else { return verdict };
        let Verdict { decision, rule, reason } = verdict;
        let otherwise = match decision {
            Decision::Ask => format!("it needs approval anyway, by {rule}: {reason}"),
            Decision::Allow | Decision::Deny => format!("without it the call would run, by {rule}"),
        };
        let reason = format!("Breakpoint {:?}; {}.", met.text, otherwise.trim_end_matches('.'));
        Verdict { decision: Decision::Ask, rule: BREAKPOINT.into(), reason }
    }
}
