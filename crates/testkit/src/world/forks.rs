//! Forks of a life.

use super::World;
use crate::check;
use mainpath_core::{Input, InputKind, Log, Machine, Refusal, State, apply, fork, pack, pending};
use mainpath_types::{Event, EventKind, Goal, GoalId, MessageQueued, Part, Principal, Seq, Terms, Usage};

/// The goals of a plan and their places, however far each has come.
type Places = Vec<(GoalId, Option<GoalId>, String, Option<String>)>;

fn places(state: &State) -> (Places, Terms) {
    let place = |goal: &Goal| (goal.id, goal.parent, goal.description.clone(), goal.step.clone());
    (state.goals.list().iter().map(place).collect(), state.goals.terms.clone())
}

impl World {
    /// After a rewind the plan is the one that there was when the message was the newest, and the one of a fork there, if
    /// that was not changed at the message later. `batch` is what comes after the log, the rewind in it.
    pub(super) fn check_plan(&self, rewound: &State, batch: &[Event]) -> Result<(), String> {
        let mut state = State::new(rewound.trace.clone());
        // As it was when the message was first left, and when it was the newest last.
        let (mut first, mut last, mut was_left) = (None, None, false);
        let before: Vec<Event> =
            self.log.iter().chain(batch).take_while(|event| event.id < rewound.log.last).cloned().collect();
        for event in &before {
            apply(&mut state, event);
            if state.tree.head == rewound.tree.head {
                last = Some(places(&state));
                first = if was_left { first } else { last.clone() };
            }
            was_left |= first.is_some() && state.tree.head != rewound.tree.head;
        }
        let (at, is) = (rewound.tree.head, Some(places(rewound)));
        check::ensure(is == last, || format!("rewound to {at:?}, the plan is {is:?}, and was {last:?}"))?;
        let (trace, by) = ("fork".parse().expect("a valid id"), Principal::local_user());
        let log = fork(&rewound.trace, &before, at.unwrap_or(Seq(0)), &trace, &by, self.now);
        let log = log.map_err(|refusal| format!("no fork at {at:?}: {refusal}"))?;
        let mut fork = State::new(trace);
        log.iter().for_each(|event| apply(&mut fork, event));
        let forked = Some(places(&fork));
        check::ensure(forked == first, || format!("the plan of a fork at {at:?} is {forked:?}, and was {first:?}"))
    }

    /// A fork at any message is complete, owes nothing, and can be gone on with.
    pub(super) fn fork(&mut self) {
        let (trace, by) = ("fork".parse().expect("a valid id"), Principal::local_user());
        let from = &self.machine.state().trace;
        let most = u32::try_from(self.machine.state().tree.len()).unwrap_or(0);
        let at = Seq(self.rng.u32(0..=most));
        let fail = |problem: String| panic!("seed {}: fork at {at}: {problem}", self.seed);
        let log = match fork(from, &self.log, at, &trace, &by, self.now) {
            Ok(log) => log,
            Err(refusal) => return assert_eq!(refusal, Refusal::OnSideBranch(at), "seed {}", self.seed),
        };
        let own = log.iter().position(|event| matches!(event.kind, EventKind::Forked(_))).expect("the fork says so");
        let mut state = State::new(trace.clone());
        for (index, event) in log.iter().enumerate() {
            if index > own {
                check::event(&state, event, &self.not_done).unwrap_or_else(fail);
            }
            apply(&mut state, event);
            if let EventKind::RunFinished(finished) = &event.kind
                && index > own
            {
                check::finished(&state, finished).unwrap_or_else(fail);
            }
        }
        check::log(&log).unwrap_or_else(fail);
        check::alive(&state, &pending(&state)).unwrap_or_else(fail);
        let open = state.calls.iter().filter(|call| !call.state.is_done()).count();
        let left = (&state.run, state.queues.is_empty(), open, state.spent.usage, state.log.mail.upto);
        assert_eq!(left, (&None, true, 0, Usage::default(), 0), "seed {}: fork at {at}", self.seed);
        let holds = at == Seq(0) && state.tree.head.is_none() || state.tree.is_on_path(state.tree.head, at);
        assert!(holds, "seed {}: the fork at {at} has its head at {:?}", self.seed, state.tree.head);
        let mut machine = Machine::resume(state);
        let parts = vec![Part::text("go on")];
        let said = InputKind::UserMessage(MessageQueued::new(parts, 2, by));
        let batch = machine.handle(&Input::new(self.now, said)).expect("a fork can be gone on with");
        let mut bodies = Log::default();
        bodies.extend(log.iter().chain(&batch));
        if machine.state().model.is_some() {
            check::packed(machine.state(), &bodies, &pack(machine.state()).expect("a spec")).unwrap_or_else(fail);
        }
    }
}
