//! What is left of a fact when its words are taken out: everything that the state of a trace is made of, and nothing that
//! anybody said.

use crate::quotes::{ERASED, unquote};
use crate::{
    BlobHash, CallRetried, Event, EventKind, FileChange, Goal, GoalOp, LateResult, LeftOutNote, Part, PlannedCall,
    Source, Spec, ToolOutput,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What stands for the texts that tell the goals of a plan apart: the same text has the same stand-in everywhere, so that a
/// plan without its words takes the same changes.
#[derive(Clone, Debug, Default)]
pub struct StandIns {
    known: BTreeMap<String, usize>,
    last: usize,
}

impl StandIns {
    /// Those that go on where the erased events of a log ended.
    pub fn after<'a>(log: impl IntoIterator<Item = &'a Event>) -> StandIns {
        let mut names = StandIns::default();
        for event in log {
            let ops = match &event.kind {
                EventKind::ModelFinished(data) => &data.goals,
                EventKind::GoalsChanged(data) => &data.ops,
                _ => continue,
            };
            for text in ops
                .iter()
                .cloned()
                .flat_map(|mut op| op.texts_mut().into_iter().map(std::mem::take).collect::<Vec<_>>())
            {
                names.last = names.last.max(number_of(&text).unwrap_or(0));
            }
        }
        names
    }

    fn of(&mut self, text: &mut String) {
        // What says nothing has no words, and a number is a goal's own. What only begins like a stand-in is none.
        let is_stand_in = text == ERASED || number_of(text).is_some();
        if text.trim().is_empty() || is_stand_in || text.trim().parse::<u32>().is_ok() {
            return;
        }
        let next = self.last + 1;
        let number = *self.known.entry(text.trim().into()).or_insert(next);
        self.last = self.last.max(number);
        *text = format!("{ERASED} {number}");
    }
}

/// The number of a stand-in, where a text is exactly one.
fn number_of(text: &str) -> Option<usize> {
    let number = text.strip_prefix(ERASED)?.strip_prefix(' ')?;
    number.parse().ok().filter(|read: &usize| read.to_string() == number)
}

impl EventKind {
    /// Whether there is anything left to erase in it, also after an erasure that has taken out only quotes.
    pub fn has_words(&self) -> bool {
        match self {
            EventKind::Erased(data) => !data.left.is_empty(),
            _ => *self != self.without_words(),
        }
    }

    /// Whether it is what an erasure leaves of an event that was erased whole. Of an event whose type has no words an erasure leaves
    /// nothing, because it takes out nothing.
    pub fn is_wordless(&self) -> bool {
        let has_no_words = matches!(
            self,
            EventKind::MessageJoined(_)
                | EventKind::RunStarted(_)
                | EventKind::RunFinished(_)
                | EventKind::ModelRequested(_)
                | EventKind::ModelAbandoned(_)
                | EventKind::RetryDue(_)
                | EventKind::ActionStarted(_)
                | EventKind::CallReopened(_)
                | EventKind::CallDelayed(_)
                | EventKind::CallDue(_)
                | EventKind::CallCancelling(_)
                | EventKind::CallProbing(_)
                | EventKind::TurnFinished(_)
                | EventKind::ContinueRequested(_)
                | EventKind::BranchClosed(_)
                | EventKind::CallsRecalled(_)
                | EventKind::TailCut(_)
                | EventKind::ClearRequested(_)
                | EventKind::Forked(_)
                | EventKind::Omitted(_)
        );
        !has_no_words && !self.has_words()
    }

    /// The same fact without what people, models and tools said in it. Numbers, sizes, names of tools, ids of rules and
    /// decisions stay, so that the state which follows is the same.
    #[must_use]
    pub fn without_words(&self) -> EventKind {
        self.without_words_by(&mut StandIns::default())
    }

    /// The same fact without quotes of these messages in what Mainpath itself wrote of them: goals that were made of a task, notes of
    /// what was left out, reminders. What models and tools said of them stays.
    #[must_use]
    pub fn without_quotes(&self, said: &[String], names: &mut StandIns) -> EventKind {
        let mut kind = self.clone();
        let mut ops = |ops: &mut Vec<GoalOp>| {
            for text in ops.iter_mut().flat_map(GoalOp::texts_mut) {
                let mut rest = text.clone();
                if unquote(&mut rest, said) {
                    names.of(text);
                }
            }
        };
        match &mut kind {
            EventKind::ModelFinished(data) => {
                ops(&mut data.goals);
                // What tools of Mainpath's own answered shows the plan.
                data.calls.iter_mut().filter_map(|call| call.answer.as_mut()).for_each(|answer| {
                    unquote(answer, said);
                });
            }
            EventKind::GoalsChanged(data) => ops(&mut data.ops),
            EventKind::BranchOpened(data) => data.plan.iter_mut().for_each(|plan| {
                unquote(&mut plan.text, said);
            }),
            EventKind::Compacted(data) => {
                let texts = data.floor.iter_mut().map(|floor| &mut floor.text);
                texts.chain(data.note.iter_mut().map(|note| &mut note.text)).for_each(|text| {
                    unquote(text, said);
                });
            }
            EventKind::ContextCut(data) => {
                if let Some(note) = &mut data.note {
                    unquote(&mut note.text, said);
                }
            }
            EventKind::Injected(data) => {
                unquote(&mut data.text, said);
            }
            EventKind::Rewound(data) => data.goal_tree_snapshot.iter_mut().for_each(|goal| unquote_goal(goal, said)),
            EventKind::SessionCleared(data) => {
                data.goal_tree_snapshot.iter_mut().for_each(|goal| unquote_goal(goal, said));
            }
            _ => {}
        }
        kind
    }

    /// The same, with the stand-ins that the other events of its trace have.
    #[must_use]
    pub fn without_words_by(&self, names: &mut StandIns) -> EventKind {
        let mut kind = self.clone();
        match &mut kind {
            EventKind::SpecChanged(data) => {
                wipe_spec(Arc::make_mut(&mut data.spec));
            }
            EventKind::MessageQueued(data) => {
                wipe(&mut data.parts);
                data.demanded.clear();
                data.typed = None;
            }
            EventKind::RewindRequested(data) => {
                data.parts.iter_mut().for_each(wipe);
                data.demanded.clear();
            }
            EventKind::MessageReceived(data) => {
                blank(&mut data.text);
                wipe_text(&mut data.conversation);
            }
            EventKind::MessageImported(data) => {
                data.demanded.clear();
                let mut said = data.said();
                wipe(&mut said);
                data.parts.retain(|part| matches!(part, Part::ToolResult { .. }));
                for part in &mut data.parts {
                    if let Part::ToolResult { content, .. } = part {
                        wipe(content);
                    }
                }
                data.parts.splice(0..0, said);
            }
            EventKind::SkillSelected(data) => {
                wipe(&mut data.parts);
                blank(&mut data.reason);
            }
            EventKind::ResourceLoaded(data) => {
                blank(&mut data.path);
                wipe_text(&mut data.section);
            }
            EventKind::RunClosing(data) => wipe_text(&mut data.why),
            EventKind::ModelFinished(data) => {
                wipe(&mut data.parts);
                data.calls.iter_mut().for_each(wipe_planned);
                data.goals.iter_mut().for_each(|op| wipe_op(op, names));
                data.sent = None;
            }
            EventKind::ModelMalformed(data) => {
                wipe(&mut data.parts);
                blank(&mut data.problem);
                data.sent = None;
            }
            EventKind::ModelFailed(data) => blank(&mut data.error.message),
            EventKind::ApprovalGranted(data) => {
                data.arguments = data.arguments.take().map(|_| "{}".into());
                data.verdict.iter_mut().for_each(|verdict| blank(&mut verdict.reason));
                data.places.clear();
                data.asking.iter_mut().for_each(|asking| wipe_text(&mut asking.default));
            }
            EventKind::QuestionSent(data) => wipe_text(&mut data.problem),
            EventKind::CallRetried(data) => wipe_output(&mut data.output),
            EventKind::CallResolved(data) => {
                data.output.iter_mut().for_each(wipe_output);
                wipe_text(&mut data.reason);
            }
            EventKind::LateResult(data) => wipe_output(&mut data.output),
            EventKind::Rewound(data) => data.goal_tree_snapshot.iter_mut().for_each(wipe_goal),
            EventKind::SessionCleared(data) => data.goal_tree_snapshot.iter_mut().for_each(wipe_goal),
            EventKind::FilesRestored(data) => data.changes.clear(),
            EventKind::FilesKept(data) => data.changes.clear(),
            EventKind::GoalsChanged(data) => data.ops.iter_mut().for_each(|op| wipe_op(op, names)),
            EventKind::MailRefused(data) => blank(&mut data.problem),
            EventKind::CompactionRequested(data) => wipe_text(&mut data.hint),
            EventKind::Compacted(data) => {
                wipe_text(&mut data.text);
                data.floor.iter_mut().for_each(|floor| blank(&mut floor.text));
                wipe_note(&mut data.note);
            }
            EventKind::TraceNamed(data) => blank(&mut data.name),
            EventKind::ContextCut(data) => wipe_note(&mut data.note),
            EventKind::BranchOpened(data) => data.plan.iter_mut().for_each(|plan| blank(&mut plan.text)),
            EventKind::Injected(data) => {
                blank(&mut data.text);
                data.hooks.iter_mut().for_each(|hook| blank(&mut hook.text));
                data.hooks.iter_mut().for_each(|hook| wipe_text(&mut hook.problem));
            }
            EventKind::SubTraceStarted(data) => blank(&mut data.task),
            EventKind::SubTraceCompleted(data) => {
                blank(&mut data.handed.answer);
                wipe_text(&mut data.handed.problem);
                data.handed.files.clear();
                data.handed.patch = None;
            }
            EventKind::MessageJoined(_)
            | EventKind::RunStarted(_)
            | EventKind::RunFinished(_)
            | EventKind::ModelRequested(_)
            | EventKind::ModelAbandoned(_)
            | EventKind::RetryDue(_)
            | EventKind::ActionStarted(_)
            | EventKind::CallReopened(_)
            | EventKind::CallDelayed(_)
            | EventKind::CallDue(_)
            | EventKind::CallCancelling(_)
            | EventKind::CallProbing(_)
            | EventKind::TurnFinished(_)
            | EventKind::ContinueRequested(_)
            | EventKind::BranchClosed(_)
            | EventKind::CallsRecalled(_)
            | EventKind::TailCut(_)
            | EventKind::ClearRequested(_)
            | EventKind::Forked(_)
            | EventKind::Omitted(_)
            | EventKind::Erased(_) => {}
        }
        kind
    }

    /// The blobs that hold a part of what it says, files that were kept among them.
    pub fn blobs(&self) -> Vec<BlobHash> {
        let mut found = self.long_texts();
        match self {
            EventKind::CallRetried(CallRetried { output, .. }) | EventKind::LateResult(LateResult { output, .. }) => {
                kept(&output.changes, &mut found);
            }
            EventKind::CallResolved(data) => {
                data.output.iter().for_each(|output| kept(&output.changes, &mut found));
            }
            EventKind::FilesRestored(data) => kept(&data.changes, &mut found),
            EventKind::SubTraceCompleted(data) => found.extend(data.handed.patch.clone()),
            EventKind::FilesKept(data) => kept(&data.changes, &mut found),
            EventKind::Erased(data) => found.extend(data.left.iter().flat_map(|left| left.kind.blobs())),
            _ => {}
        }
        found
    }

    /// The blobs that hold what was said or what a call returned, where that is long. No secret is in them; in files there may be.
    pub fn long_texts(&self) -> Vec<BlobHash> {
        let mut found = Vec::new();
        match self {
            EventKind::MessageQueued(data) => in_parts(&data.parts, &mut found),
            EventKind::RewindRequested(data) => in_parts(data.parts.as_deref().unwrap_or_default(), &mut found),
            EventKind::ModelFinished(data) => in_parts(&data.parts, &mut found),
            EventKind::MessageImported(data) => in_parts(&data.parts, &mut found),
            EventKind::ModelMalformed(data) => in_parts(&data.parts, &mut found),
            EventKind::SkillSelected(data) => in_parts(&data.parts, &mut found),
            EventKind::CallRetried(CallRetried { output, .. }) | EventKind::LateResult(LateResult { output, .. }) => {
                in_output(output, &mut found);
            }
            EventKind::CallResolved(data) => data.output.iter().for_each(|output| in_output(output, &mut found)),
            _ => {}
        }
        found
    }
}

/// One text in place of all that is said; calls stay, without their arguments, as each has a result.
fn wipe(parts: &mut Vec<Part>) {
    let said = parts.iter().any(|part| !matches!(part, Part::ToolCall { .. }));
    parts.retain(|part| matches!(part, Part::ToolCall { .. }));
    for part in parts.iter_mut() {
        if let Part::ToolCall { arguments, signature, .. } = part {
            (*arguments, *signature) = ("{}".into(), None);
        }
    }
    if said {
        parts.insert(0, Part::text(ERASED));
    }
}

fn wipe_note(note: &mut Option<LeftOutNote>) {
    note.iter_mut().for_each(|note| blank(&mut note.text));
}

/// A text that is there.
fn blank(text: &mut String) {
    if !text.is_empty() {
        *text = ERASED.into();
    }
}

fn wipe_text(text: &mut Option<String>) {
    text.iter_mut().for_each(blank);
}

/// What the owner, the caller and files tell the agent, in whichever field. Rules stay: they hold for what is still to come.
fn wipe_spec(spec: &mut Spec) {
    blank(&mut spec.instructions);
    blank(&mut spec.own_instructions);
    wipe_text(&mut spec.system_prompt);
    spec.preset.iter_mut().for_each(|preset| blank(&mut preset.instructions));
    wipe_text(&mut spec.name);
    // Whoever has a text can try it against its hash.
    spec.instruction_parts.clear();
    spec.output_schema = spec.output_schema.take().map(|_| true.into());
    wipe_text(&mut spec.relations.agent_type);
    for (name, value) in &mut spec.relations.context {
        match value {
            Value::Object(fields) if OWN_CONTEXT.contains(&name.as_str()) => {
                if let Some(told) = fields.get_mut("instructions").filter(|told| !told.is_null()) {
                    *told = ERASED.into();
                }
            }
            _ => *value = ERASED.into(),
        }
    }
}

/// What Mainpath itself keeps in the context of an agent: where an imported trace came from, the settings of a conversation of OpenAI's
/// clients. Of these only what the agent is told is erased.
const OWN_CONTEXT: [&str; 2] = ["reconstructed", "openai"];

fn wipe_output(output: &mut ToolOutput) {
    wipe(&mut output.content);
    output.artifacts.clear();
    output.changes.clear();
    output.notices = Box::default();
    wipe_text(&mut output.title);
    wipe_text(&mut output.long_term_memory);
}

fn wipe_planned(call: &mut PlannedCall) {
    wipe_text(&mut call.problem);
    wipe_text(&mut call.answer);
    call.arguments = call.arguments.take().map(|_| "{}".into());
    call.offer = None;
    call.destinations.iter_mut().for_each(|destination| blank(&mut destination.value));
    call.places.clear();
    call.asking.iter_mut().for_each(|asking| wipe_text(&mut asking.default));
    call.verdict.iter_mut().for_each(|verdict| blank(&mut verdict.reason));
}

fn wipe_goal(goal: &mut Goal) {
    blank(&mut goal.description);
    goal.reason.clear();
    wipe_text(&mut goal.summary);
    wipe_text(&mut goal.step);
}

fn unquote_goal(goal: &mut Goal, said: &[String]) {
    let (description, reason) = (unquote(&mut goal.description, said), unquote(&mut goal.reason, said));
    if description || reason {
        wipe_goal(goal);
    }
}

fn wipe_op(op: &mut GoalOp, names: &mut StandIns) {
    match op {
        GoalOp::Set { steps } | GoalOp::Update { steps } => {
            let texts = steps.iter_mut().flat_map(|step| [&mut step.id, &mut step.title, &mut step.under]);
            texts.flatten().for_each(|text| names.of(text));
        }
        GoalOp::Add { description, reason, .. } => {
            names.of(description);
            reason.clear();
        }
        GoalOp::Patch { description, reason, .. } => {
            description.iter_mut().for_each(|text| names.of(text));
            reason.iter_mut().for_each(String::clear);
        }
        GoalOp::Pin { text } => names.of(text),
        GoalOp::Unpin { .. } => {}
        GoalOp::Focus { .. } | GoalOp::Done { .. } | GoalOp::Abandon { .. } | GoalOp::Terms { .. } => {
            let said = op.texts_mut().into_iter().filter(|text| !text.trim().is_empty());
            said.for_each(blank);
        }
    }
}

fn in_parts(parts: &[Part], found: &mut Vec<BlobHash>) {
    for part in parts {
        match part {
            Part::StoredText { hash, .. } => found.push(hash.clone()),
            Part::Image { source } | Part::Audio { source } | Part::Document { source, .. } => {
                if let Source::Blob { hash, .. } = source {
                    found.push(hash.clone());
                }
            }
            Part::ToolResult { content, .. } => in_parts(content, found),
            Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } => {}
        }
    }
}

fn in_output(output: &ToolOutput, found: &mut Vec<BlobHash>) {
    in_parts(&output.content, found);
    found.extend(output.artifacts.iter().map(|artifact| artifact.hash.clone()));
}

/// What files held before they were changed, and after it.
fn kept(changes: &[FileChange], found: &mut Vec<BlobHash>) {
    let states = changes.iter().flat_map(|change| [&change.before, &change.after]);
    found.extend(states.filter_map(|state| state.blob().cloned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_begins_like_a_stand_in_is_erased_like_any_text() {
        let ops = |texts: &[&str]| {
            let ops = texts.iter().map(|text| GoalOp::Pin { text: (*text).into() }).collect();
            EventKind::from(crate::GoalsChanged { ops, by: crate::Principal::local_user() })
        };
        let said = ops(&["(erased) and pay", "(erased) 07", "(erased)  7", "(erased) 7", "(erased)", "9", "", "pay"]);
        let left = said.without_words();
        assert_eq!(
            left,
            ops(&["(erased) 1", "(erased) 2", "(erased) 3", "(erased) 7", "(erased)", "9", "", "(erased) 4"])
        );
        assert!(said.has_words() && !left.has_words() && left.is_wordless());
    }

    #[test]
    fn an_event_without_words_is_no_erasure_and_one_that_tells_of_others_is_not_wordless() {
        let due = EventKind::from(crate::RetryDue {});
        assert!(!due.has_words() && !due.is_wordless());
        let by = crate::Principal::local_user();
        let empty = EventKind::from(crate::Erased { left: Vec::new(), by: by.clone(), why: Some("asked for".into()) });
        assert!(empty.is_wordless() && !empty.has_words());
        let left = vec![crate::Left { event: 1, kind: due }];
        assert!(!EventKind::from(crate::Erased { left, by, why: None }).is_wordless());
    }
}
