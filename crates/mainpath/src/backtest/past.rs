//! The calls of a log that rules judged, each with what held for it then.

use super::judge::{JudgedCall, PastJudge, PersonSaid, Place, Recorded, Terms, Unjudged};
use mainpath_policy::{BREAKPOINT, CallFacts, Policy};
use mainpath_store::ReadLog;
use mainpath_types::{
    ApprovalGranted, CallId, Decision, Event, EventId, EventKind, ModelFinished, Part, Principal, RecordedCall,
    ResolveCause, Spec, Verdict,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A call of a log with what is known of it.
pub(super) struct PastFacts<'a> {
    pub judged: JudgedCall<'a>,
    /// Its facts, where they can be known, and what it was judged under.
    pub known: Option<Known<'a>>,
}

/// The facts of a call and what it was judged under.
pub(super) struct Known<'a> {
    pub facts: CallFacts,
    pub terms: Terms<'a>,
}

impl PastJudge {
    /// The calls of a log that rules judged, in order, and what they say of them now; then those of a log that was imported.
    pub fn calls<'a>(&self, log: &'a ReadLog) -> Vec<JudgedCall<'a>> {
        let mut all = Vec::new();
        self.each(log, 0, &mut |past| all.push(past.judged));
        all
    }

    /// Goes through the calls of a log that were judged after an event.
    pub(super) fn each<'a>(&self, log: &'a ReadLog, after: EventId, tell: &mut dyn FnMut(PastFacts<'a>)) {
        let mut none = |_: PastFacts<'a>| {};
        let erased: BTreeSet<EventId> = log.erased.iter().map(|erased| erased.id).collect();
        let said = people(&log.events);
        let mut walk =
            Walk { judge: self, erased, said, spec: None, run: 1, place: None, approved: Vec::new(), policy: None };
        let mut last: BTreeMap<CallId, Made<'a>> = BTreeMap::new();
        for event in &log.events {
            let tell: &mut dyn FnMut(PastFacts<'a>) = if event.id > after { &mut *tell } else { &mut none };
            match &event.kind {
                EventKind::SpecChanged(data) => walk.change(&data.spec),
                EventKind::RunStarted(data) => walk.run = data.run,
                EventKind::ModelFinished(data) => walk.answer(event, data, &mut last, tell),
                EventKind::ApprovalGranted(data) => walk.approval(event, data, &last, tell),
                EventKind::MessageImported(data) => {
                    let calls = data.parts.iter().filter_map(|part| match part {
                        Part::ToolCall { name, arguments, .. } => Some((name, arguments)),
                        _ => None,
                    });
                    for (index, (name, arguments)) in (0..=u16::MAX).zip(calls) {
                        let call = CallId { seq: data.seq, index };
                        tell(PastFacts { judged: unjudged(call, name, arguments), known: None });
                    }
                }
                _ => {}
            }
        }
    }
}

/// What stands for the verdict on a call that none was given on.
static NONE: Verdict = Verdict { decision: Decision::Ask, rule: String::new(), reason: String::new() };

fn unjudged<'a>(call: CallId, tool: &'a str, arguments: &'a str) -> JudgedCall<'a> {
    JudgedCall { call, tool, arguments, then: &NONE, now: Err(Unjudged::Imported), person: None }
}

/// What people said of calls.
fn people(events: &[Event]) -> BTreeMap<CallId, PersonSaid> {
    let mut said = BTreeMap::new();
    for event in events {
        match &event.kind {
            EventKind::ApprovalGranted(ApprovalGranted { call, arguments, by, .. }) if by.is_person() => {
                let edited = arguments.is_some();
                said.insert(*call, if edited { PersonSaid::Edited } else { PersonSaid::Approved });
            }
            EventKind::CallResolved(data)
                if data.cause == ResolveCause::DeniedByPerson && data.by.as_ref().is_none_or(Principal::is_person) =>
            {
                said.insert(data.call, PersonSaid::Denied);
            }
            _ => {}
        }
    }
    said
}

/// A call as it was made.
#[derive(Clone, Copy)]
struct Made<'a> {
    tool: &'a str,
    arguments: &'a str,
    origins: &'a [mainpath_types::Origin],
}

struct Walk<'a, 'j> {
    judge: &'j PastJudge,
    erased: BTreeSet<EventId>,
    said: BTreeMap<CallId, PersonSaid>,
    spec: Option<&'a Spec>,
    run: u32,
    place: Option<Result<Arc<Place>, Unjudged>>,
    /// The rules that approvals have made.
    approved: Vec<&'a str>,
    /// The rules of the place with those.
    policy: Option<Arc<Policy>>,
}

impl<'a> Walk<'a, '_> {
    fn change(&mut self, spec: &'a Spec) {
        let same = |old: &Spec| old.workspace == spec.workspace && old.rules == spec.rules && old.copy == spec.copy;
        if !self.spec.is_some_and(same) {
            self.place = Some(self.judge.place(spec));
            self.policy = None;
        }
        self.spec = Some(spec);
    }

    fn answer(
        &mut self,
        event: &Event,
        data: &'a ModelFinished,
        last: &mut BTreeMap<CallId, Made<'a>>,
        tell: &mut dyn FnMut(PastFacts<'a>),
    ) {
        for RecordedCall { id, written, arguments, planned } in data.calls() {
            let Some(then) = planned.verdict.as_ref() else { continue };
            last.insert(id, Made { tool: written.name, arguments, origins: &planned.origins });
            let recorded = Recorded {
                tool: written.name,
                arguments,
                origins: &planned.origins,
                destinations: &planned.destinations,
                named: then.rule == "builtin.named-address",
            };
            tell(self.again(event.id, id, then, &recorded));
        }
    }

    /// A call that somebody approved with other arguments than it was judged with; a rule that an approval made holds from there on.
    fn approval(
        &mut self,
        event: &Event,
        data: &'a ApprovalGranted,
        last: &BTreeMap<CallId, Made<'a>>,
        tell: &mut dyn FnMut(PastFacts<'a>),
    ) {
        if let Some(rule) = &data.rule {
            self.approved.push(rule);
            self.policy = None;
        }
        let (Some(arguments), Some(then)) = (data.arguments.as_deref(), data.verdict.as_ref()) else { return };
        let Some(made) = last.get(&data.call).filter(|made| made.arguments != arguments) else { return };
        // Whoever wrote the arguments has named what stands in them.
        let recorded = Recorded { tool: made.tool, arguments, origins: made.origins, destinations: &[], named: true };
        let mut again = self.again(event.id, data.call, then, &recorded);
        again.judged.person = Some(PersonSaid::Approved);
        tell(again);
    }

    fn again(&mut self, event: EventId, call: CallId, then: &'a Verdict, recorded: &Recorded<'a>) -> PastFacts<'a> {
        let known = self.known(event, then, recorded);
        let now = match &known {
            Ok(Known { facts, terms }) => Ok(self.judge.verdict(terms, &terms.policy, recorded.tool, facts)),
            Err(why) => Err(*why),
        };
        let (tool, arguments, person) = (recorded.tool, recorded.arguments, self.said.get(&call).copied());
        PastFacts { judged: JudgedCall { call, tool, arguments, then, now, person }, known: known.ok() }
    }

    fn known(&mut self, event: EventId, then: &Verdict, recorded: &Recorded<'_>) -> Result<Known<'a>, Unjudged> {
        if self.erased.contains(&event) {
            return Err(Unjudged::Erased);
        }
        if then.rule.starts_with("hook.") {
            return Err(Unjudged::Hook);
        }
        if then.rule == BREAKPOINT {
            return Err(Unjudged::Breakpoint);
        }
        let (Some(spec), Some(place)) = (self.spec, &self.place) else { return Err(Unjudged::Rules) };
        let place = Arc::clone(place.as_ref().map_err(|why| *why)?);
        let policy = match (&self.policy, self.approved.is_empty()) {
            (Some(policy), _) => Arc::clone(policy),
            (None, true) => Arc::clone(&place.policy),
            (None, false) => Arc::new(place.policy.with_approved(self.approved.iter().copied())),
        };
        self.policy = Some(Arc::clone(&policy));
        let terms = Terms { spec, run: self.run, place, policy };
        let facts = self.judge.facts(&terms, recorded)?;
        Ok(Known { facts, terms })
    }
}
