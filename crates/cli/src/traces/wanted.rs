//! The calls that a followed run waits with for a person: its own, and those of the agents that it has started.

use crate::exit::Failure;
use crate::ui::text::one_line;
use mainpath::Logs;
use mainpath::runtime::Waiting;
use mainpath::trace::{AgentWaits, CallStanding, DecidableCall, QuestionStanding, UnansweredQuestion};
use mainpath::types::{CallId, TraceId};

/// A call, whichever trace it is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallAt {
    /// The trace.
    pub trace: TraceId,
    /// The call.
    pub call: CallId,
}

/// A call that waits for a person.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The call.
    pub at: CallAt,
    /// What it waits for.
    pub asks: Asks,
}

/// What a call wants of a person.
#[derive(Clone, Debug)]
pub enum Asks {
    /// Leave to run.
    Approval(Box<DecidableCall>),
    /// An answer.
    Answer(Box<UnansweredQuestion>),
}

/// Names the agents that cannot be read.
pub fn tell_unasked(below: &AgentWaits) {
    below.unasked.iter().for_each(|agent| eprintln!("! {}", one_line(&agent.problem)));
}

/// Returns the undecided calls of a trace, and then those of its agents, if it waits for any.
pub async fn wanted(logs: &Logs, trace: &TraceId, waiting: &[Waiting]) -> Result<Vec<Wanted>, Failure> {
    let (log, state, bodies) = logs.read(trace).await?;
    let own = logs.of(trace, &log, &state, &bodies).waits().await?;
    let has_agents = waiting.iter().any(|one| matches!(one, Waiting::Child(_)));
    let below = if has_agents { logs.agent_waits(trace).await? } else { AgentWaits::default() };
    tell_unasked(&below);
    let mut found = Vec::new();
    for waits in std::iter::once(own).chain(below.agents) {
        let at = |call| CallAt { trace: waits.trace.clone(), call };
        let calls = waits.calls.into_iter().filter(|call| call.standing == CallStanding::Open);
        found.extend(calls.map(|call| Wanted { at: at(call.call), asks: Asks::Approval(Box::new(call)) }));
        let open = waits.questions.into_iter().filter(|question| question.standing == QuestionStanding::Open);
        found.extend(open.map(|question| Wanted { at: at(question.call), asks: Asks::Answer(Box::new(question)) }));
    }
    Ok(found)
}
