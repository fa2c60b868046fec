//! What a trace is left with when nothing goes on any more, and what a person can do then.

use crate::trace::Read;
use crate::{Error, Trace, spec_of};
use mainpath_core::{Bodies, Help, State, lacking, what_helps};
use mainpath_runtime::views;
use mainpath_types::{CallId, EventKind, FinishReason, Micros, Seq, Usage};

/// What a trace is left with when nothing goes on any more.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    /// No run has ended.
    Nothing,
    /// The conversation was started over, so there is no answer.
    Cleared,
    /// The last run has ended.
    Ended(Box<EndedRun>),
}

/// How the last run ended, for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedRun {
    /// Why.
    pub reason: FinishReason,
    /// The model's answer, or a stand-in that says what was done, what blocks and what to do next.
    pub answer: String,
    /// Whether the model said it.
    pub is_said: bool,
    /// A sentence about the changes of agents that nobody has applied.
    pub unapplied: Option<String>,
    /// What to do before the trace continues. `None` after a final answer.
    pub advice: Option<Advice>,
}

/// What to do so that the next run does not end in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Continue the trace.
    Continue,
    /// Approve this call, which was denied since nobody could be asked, or by a person.
    Approve {
        /// The call.
        call: CallId,
        /// Whether a person has denied it.
        by_person: bool,
    },
    /// Change the rules, which deny this call.
    ChangeRules(CallId),
    /// Give the agent this tool.
    AddTool {
        /// The tool.
        tool: String,
        /// The tools that the agent may use now.
        others: Vec<String>,
    },
    /// Summarise the conversation, or continue from an earlier message.
    Summarise,
    /// Use fewer instructions and tools: they alone are larger than this.
    ShortenInstructions(RequestLimit),
    /// Shorten a message: it alone is too large.
    ShortenMessage {
        /// The message.
        message: Seq,
        /// The message before it.
        after: Option<Seq>,
        /// What it is too large for.
        limit: RequestLimit,
    },
    /// Raise the token budget, which does not allow the first request.
    RaiseTokens {
        /// What the first request needs, with its answer, in tokens.
        needed: u64,
        /// The part of it for the answer.
        answer: u64,
        /// The budget.
        budget: u64,
    },
    /// Raise the money budget, which does not allow the first request.
    RaiseMoney {
        /// What the first request may cost.
        needed: Micros,
        /// The budget.
        budget: Micros,
    },
}

/// What limits the size of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestLimit {
    /// The context window of the model.
    Window,
    /// The owner's limit in characters.
    Characters,
}

impl Trace {
    /// What the trace is left with. Errors: its log cannot be read.
    pub async fn run_end(&self) -> Result<RunEnd, Error> {
        let read = self.look().await?;
        let state = &read.state;
        if state.tree.cleared > Seq(0) && state.tree.head.is_none() {
            return Ok(RunEnd::Cleared);
        }
        let Some(ending) = views::ending(self.host().at(self.id()).scoped(), state, &*read).await? else {
            return Ok(RunEnd::Nothing);
        };
        let advice = (ending.reason != FinishReason::Final).then(|| advice(&read, ending.reason));
        Ok(RunEnd::Ended(Box::new(EndedRun {
            reason: ending.reason,
            answer: ending.answer,
            is_said: ending.is_said,
            unapplied: views::untaken_in_words(state, &*read),
            advice,
        })))
    }
}

fn advice(read: &Read, reason: FinishReason) -> Advice {
    let state = &read.state;
    let turns = read.log.events.iter().rev().find_map(|event| match &event.kind {
        EventKind::RunFinished(data) => Some(data.turns),
        _ => None,
    });
    if let Some(advice) = too_dear(state, reason).filter(|_| turns == Some(0)) {
        return advice;
    }
    let bodies: &dyn Bodies = read;
    match what_helps(state, bodies) {
        Help::GoOn => Advice::Continue,
        Help::Approve(call) => {
            let by_person = state.calls.get(call).is_some_and(|row| row.is_denied_by_person(bodies));
            Advice::Approve { call, by_person }
        }
        Help::Allow(call) => Advice::ChangeRules(call),
        Help::Give(call) => {
            let tool = state.calls.get(call).and_then(|call| lacking(call, bodies)).unwrap_or_default().into();
            let others = spec_of(&read.log).map(|spec| spec.allowed_tools.clone()).unwrap_or_default();
            Advice::AddTool { tool, others }
        }
        Help::Shorten => Advice::Summarise,
        Help::Window => Advice::ShortenInstructions(limit(state)),
        Help::Smaller { message, after, .. } => Advice::ShortenMessage { message, after, limit: limit(state) },
    }
}

fn limit(state: &State) -> RequestLimit {
    let Some(spec) = state.coming_spec() else { return RequestLimit::Window };
    let model = spec.model();
    let leaves = u64::from(model.context_window.saturating_sub(model.reserved_output));
    // Four characters a token.
    match spec.limits.context_chars.is_some_and(|most| u64::from(most) / 4 < model.scale.estimated(leaves)) {
        true => RequestLimit::Characters,
        false => RequestLimit::Window,
    }
}

/// The budget that does not even allow the first request of a run.
fn too_dear(state: &State, reason: FinishReason) -> Option<Advice> {
    let spec = state.coming_spec()?;
    let (limits, model) = (&spec.limits, spec.model());
    let input = model.scale.real(state.request_tokens());
    let output = u64::from(model.reserved_output);
    match reason {
        FinishReason::TokenBudget => {
            Some(Advice::RaiseTokens { needed: input.saturating_add(output), answer: output, budget: limits.tokens? })
        }
        FinishReason::MoneyBudget => {
            let needed = model.price.cost(&Usage { input, output, ..Usage::default() });
            Some(Advice::RaiseMoney { needed, budget: limits.money? })
        }
        _ => None,
    }
}
