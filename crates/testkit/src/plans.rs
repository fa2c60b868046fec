//! Random plans, and what hooks say, for the simulation.

use fastrand::Rng;
use mainpath_types::{GoalId, GoalOp, GoalStatus, HookText, Step};

/// An operation on the plan, as often as not on a goal that is not there.
pub(crate) fn goal_op(rng: &mut Rng) -> GoalOp {
    let goal = GoalId(rng.u32(1..7));
    let some = rng.bool();
    let add = |under, after| GoalOp::Add { description: "goal".into(), reason: String::new(), under, after };
    match rng.u32(0..12) {
        0 => GoalOp::Focus { id: goal },
        1 => GoalOp::Done { id: some.then_some(goal), summary: "done".into() },
        2 => GoalOp::Abandon { id: some.then_some(goal), summary: "given up".into() },
        3 => add(Some(goal), None),
        4 => add(None, Some(goal)),
        5 => add(Some(goal), some.then_some(goal)),
        6 => GoalOp::Patch {
            id: goal,
            description: some.then(|| "another goal".into()),
            reason: None,
            status: rng.bool().then(|| status(rng)),
        },
        7 => GoalOp::Set { steps: steps(rng) },
        8 => GoalOp::Update { steps: steps(rng) },
        9 => GoalOp::Pin { text: format!("word {}", rng.u32(0..3)) },
        10 => GoalOp::Unpin { number: rng.u32(0..3) },
        _ => GoalOp::Terms {
            mission: some.then(|| "the mission".into()),
            assumptions: None,
            constraints: Some(vec!["never this".into()]),
        },
    }
}

fn status(rng: &mut Rng) -> GoalStatus {
    use GoalStatus::*;
    *rng.choice(&[Pending, InProgress, Completed, Abandoned]).expect("four of them")
}

fn steps(rng: &mut Rng) -> Vec<Step> {
    let step = |rng: &mut Rng| rng.bool().then(|| format!("s{}", rng.u32(1..4)));
    let steps = rng.usize(0..4);
    (0..steps)
        .map(|_| Step {
            id: step(rng),
            title: (rng.u32(0..4) > 0).then(|| format!("step at {}", rng.u32(0..3))),
            status: rng.bool().then(|| status(rng)),
            under: step(rng).filter(|_| rng.bool()),
        })
        .collect()
}

/// What hooks say, and that they fail.
pub(crate) fn hook_texts(rng: &mut Rng) -> Vec<HookText> {
    let text = |hook: &str, text: &str, problem: Option<&str>| HookText {
        hook: hook.into(),
        text: text.into(),
        problem: problem.map(Into::into),
    };
    let all = [text("news", "one message waits", None), text("alerts", "", Some("it took too long"))];
    all.into_iter().take(rng.usize(0..3)).collect()
}
