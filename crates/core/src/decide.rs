//! From a state and an input to the one event that it decides, or a refusal. What follows is `next_step`'s.

use crate::calls::decide as calls;
use crate::calls::end::{resolved, started};
use crate::calls::question;
use crate::children::decide as children;
use crate::context::{compact, cut, decide as context};
use crate::conversation::{clear, decide as conversation, name, received};
use crate::error::Decided;
use crate::goals::decide as goals;
use crate::model::cost::abandoned;
use crate::model::decide as model;
use crate::run::decide as run;
use crate::skills;
use crate::{CallState, Effect, EffectKey, InputKind, Refusal, State, TimerKey, pending};
use mainpath_types::{
    CallProbing, EffectClass, EventKind, FilesRestored, FinishReason, Millis, Recovery, Resolution, ResolveCause,
    RetryDue, RunClosing, SpecChanged, TailCut,
};

/// The events that an input decides: one, but for `Recovered`, which heals every row for itself. The pieces of an answer
/// that is still coming decide none; they never get here.
pub fn decide(state: &State, at: Millis, input: &InputKind) -> Result<Vec<EventKind>, Refusal> {
    let decided = match input {
        InputKind::SetSpec { spec, by } => Ok(SpecChanged { spec: spec.clone(), by: by.clone() }.into()),
        InputKind::UserMessage(message) => conversation::message(state, message),
        InputKind::Continue { by } => conversation::go_on(state, by),
        InputKind::Rewind(asked) => conversation::rewind(state, asked),
        InputKind::Clear { by } => clear::decide(state, by),
        InputKind::Import(message) => state.take_in(message),
        InputKind::Stop { by } => run::stop(state, FinishReason::Stopped, by, None),
        InputKind::Forbid { by, why } => run::stop(state, FinishReason::Denied, by, Some(why)),
        InputKind::ModelChunk { .. } | InputKind::ToolStarted { .. } => return Ok(Vec::new()),
        InputKind::ModelUnsent { request } => model::unsent(state, *request),
        InputKind::ModelFinished(reply) => model::answer(state, at, reply),
        InputKind::ModelMalformed { reply, problem, breach, repair_tokens } => {
            model::malformed(state, at, reply, problem, *breach, *repair_tokens)
        }
        InputKind::ModelFailed { request, error, retry_at, usage, received } => {
            model::model_failed(state, *request, error, *retry_at, *usage, *received)
        }
        InputKind::Interrupt { call } => calls::interrupt(state, *call),
        InputKind::ToolFinished { call, attempt, output, tokens } => {
            calls::finished(state, at, *call, *attempt, output, *tokens)
        }
        InputKind::ToolDead { call, attempt, output, tokens } => {
            calls::dead(state, at, *call, *attempt, output.as_ref(), *tokens)
        }
        InputKind::ToolProbed { call, attempt, answer } => calls::probed(state, at, *call, *attempt, answer),
        InputKind::Answered(answered) => calls::person_answered(state, at, answered),
        InputKind::ChildStarting(asked) => children::starting(state, asked),
        InputKind::ChildEnded(ended) => children::ended(state, ended),
        InputKind::HandedBack { call, output, tokens } => calls::handed_back(state, at, *call, output, *tokens),
        InputKind::QuestionSent(sent) => question::sent(state, sent),
        InputKind::Approve { call, by, edit, rule } => calls::approve(state, *call, by, edit.as_ref(), rule.as_deref()),
        InputKind::Deny { call, by, reason } => calls::deny(state, *call, by, reason.as_deref()),
        InputKind::KeepFiles { call, attempt, changes } => calls::keep_files(state, *call, *attempt, changes),
        InputKind::RestoreFiles { changes, .. } if changes.is_empty() => Err(Refusal::Empty),
        InputKind::RestoreFiles { to, changes, by } => {
            Ok(FilesRestored { to: *to, changes: changes.clone(), by: by.clone() }.into())
        }
        InputKind::ExpandContext { .. } if state.branch.is_some() => Err(Refusal::InBranch),
        InputKind::ExpandContext { by } => cut::expand(state, *by).map(EventKind::from),
        InputKind::Compact { hint, by } => context::compact(state, hint.as_deref(), by),
        InputKind::Summarised { text, tokens, all } => compact::by_rules(state, text, *tokens, *all),
        InputKind::RecallCalls { calls } => context::recall(state, calls),
        InputKind::ContextTexts { turn, texts } => goals::hooks_said(state, *turn, texts),
        InputKind::ChangeGoals { ops, by } => goals::change(state, ops, by),
        InputKind::Receive(message) => received::decide(state, message),
        InputKind::Name(named) => name::decide(state, named),
        InputKind::SelectSkill(data) => skills::decide::select(state, data),
        InputKind::LoadResource(data) => skills::decide::load(state, data),
        InputKind::BadMail { problem } => Err(Refusal::BadMail(problem.clone())),
        InputKind::Timer { key } => timer(state, at, *key),
        InputKind::Recovered { lost, tail_cut } => return Ok(recovered(state, *lost, tail_cut.as_ref())),
    };
    decided.map(|event| vec![event])
}

/// Deadlines come from the state; a timer before its time is refused.
fn timer(state: &State, at: Millis, key: TimerKey) -> Decided {
    let due = match pending(state).get(&EffectKey::Timer(key)) {
        Some(Effect::Timer { at }) => *at,
        _ => return Err(Refusal::NoTimer),
    };
    if at < due {
        return Err(Refusal::NotDue(due));
    }
    Ok(match key {
        TimerKey::Run => RunClosing { reason: FinishReason::Timeout, by: None, why: None }.into(),
        TimerKey::Call(call) => calls::due(calls::find(state, call)?),
        TimerKey::Retry => RetryDue {}.into(),
    })
}

/// Heals what a crash left: the table of recovery, a row at a time, so that a torn batch of these heals further.
fn recovered(state: &State, lost: bool, tail_cut: Option<&TailCut>) -> Vec<EventKind> {
    let mut events: Vec<EventKind> = tail_cut.cloned().map(EventKind::from).into_iter().collect();
    if !lost {
        return events;
    }
    if let Some(model) = &state.model {
        events.push(abandoned(state, model, true).into());
    }
    let rerun = state.limits().is_none_or(|limits| limits.recovery == Recovery::Rerun);
    for call in state.turn_calls().iter().filter(|call| call.state == CallState::Started) {
        let at = state.log.now;
        let event = match call.effect {
            // The person or the child is still there: announced again, attached to again.
            EffectClass::AskPerson | EffectClass::StartChild => continue,
            effect if effect.may_repeat() && state.closing().is_some() => {
                resolved(call, at, Resolution::Interrupted, ResolveCause::Stopped).into()
            }
            effect if effect.may_repeat() && rerun => started(call).into(),
            effect if effect.may_repeat() => resolved(call, at, Resolution::Interrupted, ResolveCause::Crash).into(),
            _ if call.can_probe => CallProbing { call: call.id }.into(),
            _ => resolved(call, at, Resolution::Unknown, ResolveCause::Uncertain).into(),
        };
        events.push(event);
    }
    events
}
