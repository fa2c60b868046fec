//! The permission that a tool needs to run.

use mainpath_types::{CallId, Confinement, Decision, EffectClass, TraceId, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

/// The permission to run one attempt of one call. Only [`Grant::issue`] makes one; the tool runtime accepts nothing else. It
/// can be shown as JSON, and not be read from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Grant {
    trace: TraceId,
    call: CallId,
    attempt: u32,
    tool: String,
    effect: EffectClass,
    confinement: Confinement,
    rule: String,
    places: Vec<String>,
}

/// One attempt of one call.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The trace that the call belongs to.
    pub trace: &'a TraceId,
    /// The call.
    pub call: CallId,
    /// From 1.
    pub number: u32,
    /// The tool's own name.
    pub tool: &'a str,
    /// What the tool can do to the world.
    pub effect: EffectClass,
}

impl Grant {
    /// The grant that follows from a verdict: from `allow`, or from `ask` once somebody has approved. Nothing else.
    pub fn issue(of: Attempt<'_>, confinement: Confinement, verdict: &Verdict, approved: bool) -> Option<Grant> {
        let allowed = match verdict.decision {
            Decision::Allow => true,
            Decision::Ask => approved,
            Decision::Deny => false,
        };
        allowed.then(|| Grant {
            trace: of.trace.clone(),
            call: of.call,
            attempt: of.number,
            tool: of.tool.into(),
            effect: of.effect,
            confinement,
            rule: verdict.rule.clone(),
            places: Vec::new(),
        })
    }

    /// The same for a call whose paths led to these places when it was judged, links followed. Without this it is good for
    /// paths that lead to just where they are written.
    pub fn at(self, places: Vec<String>) -> Grant {
        Grant { places, ..self }
    }

    /// The trace that the call belongs to.
    pub fn trace(&self) -> &TraceId {
        &self.trace
    }
    /// The call.
    pub fn call(&self) -> CallId {
        self.call
    }
    /// The attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }
    /// The tool's own name.
    pub fn tool(&self) -> &str {
        &self.tool
    }
    /// What the tool may do.
    pub fn effect(&self) -> EffectClass {
        self.effect
    }
    /// The bounds of the processes that it starts.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }
    /// The rule that allowed it.
    pub fn rule(&self) -> &str {
        &self.rule
    }
    /// The places that were judged, absolute, one for each path that the tool reaches for, in its order. None at all: each path
    /// is to lead to just where it is written.
    pub fn places(&self) -> &[String] {
        &self.places
    }
    /// The effect's id, stable across restarts: the idempotency key that a tool hands on.
    pub fn effect_id(&self) -> String {
        format!("{}/tool/{}", self.trace, self.call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::Seq;

    fn issue(decision: Decision, approved: bool) -> Option<Grant> {
        let trace: TraceId = "t1".parse().unwrap();
        let call = CallId { seq: Seq(4), index: 2 };
        let verdict = Verdict { decision, rule: "some.rule".into(), reason: String::new() };
        let of = Attempt { trace: &trace, call, number: 3, tool: "bash", effect: EffectClass::ProcessControl };
        Grant::issue(of, Confinement::default(), &verdict, approved)
    }

    #[test]
    fn only_allow_or_an_approved_ask_makes_a_grant() {
        assert_eq!(issue(Decision::Deny, true), None);
        assert_eq!(issue(Decision::Deny, false), None);
        assert_eq!(issue(Decision::Ask, false), None);
        assert_eq!(issue(Decision::Ask, true), issue(Decision::Allow, false));
        assert!(issue(Decision::Allow, false).is_some());
    }

    #[test]
    fn a_grant_keeps_the_bounds_that_it_was_issued_with() {
        let trace: TraceId = "t1".parse().unwrap();
        let call = CallId { seq: Seq(4), index: 2 };
        let verdict = Verdict { decision: Decision::Allow, rule: "some.rule".into(), reason: String::new() };
        let bounds = Confinement { network: !Confinement::default().network, ..Confinement::default() };
        let of = Attempt { trace: &trace, call, number: 1, tool: "bash", effect: EffectClass::ProcessControl };
        let grant = Grant::issue(of, bounds, &verdict, false);
        assert_eq!(grant.unwrap().confinement(), bounds);
    }

    #[test]
    fn a_grant_names_its_call_and_cites_its_rule() {
        let grant = issue(Decision::Allow, false).unwrap();
        assert_eq!(
            (grant.trace().as_str(), grant.call().to_string().as_str(), grant.attempt(), grant.tool()),
            ("t1", "4.2", 3, "bash")
        );
        assert_eq!((grant.rule(), grant.effect()), ("some.rule", EffectClass::ProcessControl));
        assert_eq!(grant.effect_id(), "t1/tool/4.2");
        assert_eq!(
            (grant.places(), grant.clone().at(vec!["/w/a".into()]).places()),
            (&[][..], &["/w/a".to_string()][..])
        );
    }
}
