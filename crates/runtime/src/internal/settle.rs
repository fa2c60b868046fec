//! SettleInput a model's answer before it is recorded: its calls of internal tools are answered, its plan is carried out.

use crate::internal::plan::Planning;
use crate::internal::registry::{find, purpose};
use crate::internal::tool::{InternalContext, Purpose};
use mainpath_core::{InputKind, Log, Reply, State, estimate, free_tokens};
use mainpath_store::ScopedStore;
use mainpath_tools::Tools;
use mainpath_types::{Breach, PlannedCall};

/// What an answer is settled with.
pub(crate) struct SettleInput<'a> {
    pub state: &'a State,
    pub tools: &'a Tools,
    /// What the agent was first asked to do, in short, where there is no plan yet.
    pub task: Option<String>,
    /// The whole log, where the answer looks back.
    pub log: &'a Log,
    pub store: ScopedStore<'a>,
}

/// Whether an answer looks back.
fn looks_back(reply: &Reply) -> bool {
    reply.calls.iter().any(|call| is_for(call, Purpose::LookBack) || is_for(call, Purpose::ShowMore))
}

/// Whether the whole log is needed to answer its calls.
pub(crate) fn needs_log(reply: &Reply) -> bool {
    looks_back(reply) || reply.calls.iter().any(|call| is_for(call, Purpose::Read))
}

/// Settles an answer. One whose text plans what cannot be is malformed, unless it is the last one. One that does nothing but look
/// back is an aside, whatever comes of it.
pub(crate) async fn settle(mut reply: Box<Reply>, with: SettleInput<'_>) -> InputKind {
    let SettleInput { state, tools, task, log, store } = with;
    let planning = Planning::of(&reply, task);
    let (mut plan, head) = (state.goals.clone(), Some(state.tree.next_seq()));
    let mut ops = Vec::new();
    if let Some(planning) = &planning {
        let (mission, begun) = planning.begin(&reply, &mut plan, head);
        // A final answer is not lost for its plan: what cannot be carried out of it is left out of its event.
        if let Err(refusal) = begun
            && !reply.calls.is_empty()
        {
            let problem = format!("its plan cannot be: {refusal}.");
            let repair_tokens = estimate(&problem).saturating_add(20);
            reply.goals.clear();
            return InputKind::ModelMalformed { reply, problem, breach: Breach::Protocol, repair_tokens };
        }
        ops = mission;
    }
    ops.append(&mut reply.goals);
    let looks_back = looks_back(&reply);
    let aside = looks_back && is_aside(&reply);
    let room = if looks_back { room(state, &reply, aside) } else { 0 };
    let (read, expand) = (Vec::new(), reply.expand);
    let mut context = InternalContext { state, tools, log, store, room, plan, ops, head, read, expand };
    answer_calls(&mut reply, &mut context).await;
    let InternalContext { plan, mut ops, expand, .. } = context;
    ops.extend(planning.map_or(Vec::new(), |planning| planning.finish(&plan)));
    (reply.goals, reply.expand) = (ops, expand);
    if looks_back {
        reply.aside = aside;
    }
    InputKind::ModelFinished(reply)
}

async fn answer_calls(reply: &mut Reply, context: &mut InternalContext<'_>) {
    for call in reply.calls_mut().filter(|call| call.planned.ended().is_none()) {
        let name = call.planned.tool.as_deref().unwrap_or_default();
        let is_internal = context.tools.doc(name).is_some_and(|doc| doc.internal);
        let Some(tool) = find(name).filter(|_| is_internal) else { continue };
        let known = context.read.len();
        match tool.answer(call.arguments(), context).await {
            Ok(answer) => {
                call.planned.messages = context.read.get(known..).unwrap_or_default().to_vec();
                (call.planned.answer, call.planned.once) = (Some(answer), tool.purpose() == Purpose::LookBack);
            }
            Err(problem) => call.planned.problem = Some(problem.to_string()),
        }
    }
}

fn is_for(call: &PlannedCall, what: Purpose) -> bool {
    call.tool.as_deref().and_then(purpose) == Some(what)
}

/// Whether an answer does nothing but look back, or nothing but have more shown.
fn is_aside(reply: &Reply) -> bool {
    [Purpose::LookBack, Purpose::ShowMore].into_iter().any(|what| reply.calls.iter().all(|call| is_for(call, what)))
}

/// How many tokens each call that looks back may be answered with.
fn room(state: &State, reply: &Reply, aside: bool) -> u64 {
    // Beside other calls what is shown again leaves room for what these bring.
    let share = reply.calls.len().max(1) as u64 * if aside { 1 } else { 2 };
    free_tokens(state).saturating_sub(reply.tokens.into()) / share
}
