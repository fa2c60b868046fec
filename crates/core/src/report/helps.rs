//! What helps after a run has ended without an answer: what is to be done before the trace goes on.

use crate::context::room::Room;
use crate::{Bodies, Call, NodeKind, State};
use mainpath_policy::{is_unattended, not_given};
use mainpath_types::{CallId, EventKind, FinishReason, ResolveCause, Seq};

/// What is to be done so that going on does not meet the same end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Help {
    /// Nothing: it may just go on.
    GoOn,
    /// This call was denied only because nobody was there to decide, or by a person: to approve it.
    Approve(CallId),
    /// This call was denied by a rule, which an approval does not overcome: to change the rules.
    Allow(CallId),
    /// This call was denied because its run was not given its tool: to give it.
    Give(CallId),
    /// This message alone, of so many tokens, is larger than what is left for it: something smaller in its place, or a larger window.
    Smaller {
        /// Which.
        message: Seq,
        /// The message that it follows, to go back to.
        after: Option<Seq>,
        /// Its size in tokens of the model, about.
        tokens: u64,
        /// What the window leaves for it, in the same.
        room: u64,
    },
    /// System text and tools alone are larger than the window: fewer of them, or a larger window.
    Window,
    /// The conversation as a whole is too long: a summary, or an earlier message to go on from.
    Shorten,
}

/// What helps after the last run; [`Help::GoOn`] also where it ended well or goes on.
pub fn what_helps(state: &State, bodies: &dyn Bodies) -> Help {
    match state.ended.reason.filter(|_| state.run.is_none()) {
        Some(FinishReason::ContextLimit) => too_large(state),
        Some(FinishReason::RepeatedFailure) => match last_denied(state) {
            Some(call) if lacking(call, bodies).is_some() => Help::Give(call.id),
            Some(call) if is_by_rule(bodies, call) => Help::Allow(call.id),
            Some(call) => Help::Approve(call.id),
            None => Help::GoOn,
        },
        _ => Help::GoOn,
    }
}

fn too_large(state: &State) -> Help {
    let Some(spec) = state.coming_spec() else { return Help::Shorten };
    let (most, fixed, scale) = (Room::of(spec).most, u64::from(spec.fixed_tokens), spec.model().scale);
    if fixed >= most {
        return Help::Window;
    }
    let room = most - fixed;
    let shown = state.tree.shown(state.tree.head);
    let said = shown.iter().filter_map(|seq| Some((*seq, state.tree.node(*seq)?)));
    let said: Vec<_> = said.filter(|(_, node)| node.kind == NodeKind::User).collect();
    let Some((message, node)) = said.iter().max_by_key(|(_, node)| node.tokens) else { return Help::Shorten };
    // Of one message nothing can be summarised, whatever its size is estimated at.
    if shown.len() > 1 && u64::from(node.tokens) <= room {
        return Help::Shorten;
    }
    let (tokens, room) = (scale.real(node.tokens.into()), scale.real(room));
    Help::Smaller { message: *message, after: node.parent, tokens, room }
}

/// The tool that a call is of, if there is such a tool; also one that its run was not given.
pub fn tool_of<'a>(call: &'a Call, bodies: &'a dyn Bodies) -> Option<&'a str> {
    call.tool.as_deref().or_else(|| match bodies.get(call.arguments) {
        Some(EventKind::ModelFinished(data)) => data.call(call.id.index)?.planned.tool.as_deref(),
        _ => None,
    })
}

/// The tool of a call that was denied because its run was not given that tool.
pub fn lacking<'a>(call: &Call, bodies: &'a dyn Bodies) -> Option<&'a str> {
    match bodies.get(call.result)? {
        EventKind::ModelFinished(data) => not_given(data.call(call.id.index)?.planned.verdict.as_ref()?),
        _ => None,
    }
}

/// The last call since somebody said something, if it was denied and nobody has taken that back.
fn last_denied(state: &State) -> Option<&Call> {
    let said = state.tree.up(state.tree.head).find(|(_, node)| node.kind == NodeKind::User);
    let since = said.map_or(Seq(0), |(seq, _)| seq);
    let last = state.calls.iter().next_back().filter(|call| call.id.seq > since)?;
    last.is_denied().then_some(last)
}

/// Whether a rule denied it, and not only that nobody could be asked.
fn is_by_rule(bodies: &dyn Bodies, call: &Call) -> bool {
    match bodies.get(call.result) {
        Some(EventKind::ModelFinished(data)) => {
            let verdict = data.call(call.id.index).and_then(|call| call.planned.verdict.as_ref());
            verdict.is_some_and(|verdict| !is_unattended(verdict))
        }
        Some(EventKind::CallResolved(data)) => data.cause == ResolveCause::DeniedByRule,
        _ => false,
    }
}
