//! What a model is told when it looks back: answered from the log, as much as the window has room for.

use crate::internal::problem::BadCall;
use crate::internal::tool::{InternalContext, InternalTool, Purpose};
use crate::prompt::texts::Hydrated;
use mainpath_core::{
    Bodies, Call, CallState, Item, Log, Shown, State, estimate, excerpt, expand, in_brief, message, older,
};
use mainpath_tools::{
    ExpandArgs, ExpandWindow, Fut, ListCalls, ListCallsArgs, LoadOlderMessages, OlderArgs, RecallArgs, RecallResult,
    Tool,
};
use mainpath_types::{CallId, EventKind, Part, Role, Seq, WrittenCall, own_tool_name, text_of, written_calls};
use std::collections::BTreeSet;

/// With less room than this in the window, nothing is shown again.
const LEAST: u64 = 100;
/// What it takes to say that there is more.
const REST: u64 = 24;
/// So many characters of a past call's arguments are listed.
const GIST: usize = 80;
/// So many characters are a token at least: two where a script is wide.
const CHARS_A_TOKEN: usize = 2;
/// The tools below, whose calls are not listed themselves.
const OURS: [&str; 4] = [LoadOlderMessages::NAME, ListCalls::NAME, RecallResult::NAME, ExpandWindow::NAME];

/// Shows messages that are left out.
pub(super) struct OlderMessages;

impl InternalTool for OlderMessages {
    fn name(&self) -> &'static str {
        LoadOlderMessages::NAME
    }

    fn purpose(&self) -> Purpose {
        Purpose::LookBack
    }

    fn answer<'a>(
        &'a self,
        arguments: &'a str,
        context: &'a mut InternalContext<'_>,
    ) -> Fut<'a, Result<String, BadCall>> {
        Box::pin(async move {
            check_room(context)?;
            let args = context.read(self.name(), arguments)?;
            older_messages(context, args).await
        })
    }
}

/// Lists calls.
pub(super) struct PastCalls;

impl InternalTool for PastCalls {
    fn name(&self) -> &'static str {
        ListCalls::NAME
    }

    fn purpose(&self) -> Purpose {
        Purpose::LookBack
    }

    fn answer<'a>(
        &'a self,
        arguments: &'a str,
        context: &'a mut InternalContext<'_>,
    ) -> Fut<'a, Result<String, BadCall>> {
        Box::pin(async move {
            check_room(context)?;
            let args = context.read(self.name(), arguments)?;
            Ok(past_calls(context, &args))
        })
    }
}

/// Shows the result of a call again.
pub(super) struct PastResult;

impl InternalTool for PastResult {
    fn name(&self) -> &'static str {
        RecallResult::NAME
    }

    fn purpose(&self) -> Purpose {
        Purpose::LookBack
    }

    fn answer<'a>(
        &'a self,
        arguments: &'a str,
        context: &'a mut InternalContext<'_>,
    ) -> Fut<'a, Result<String, BadCall>> {
        Box::pin(async move {
            check_room(context)?;
            let args = context.read(self.name(), arguments)?;
            past_result(context, args).await
        })
    }
}

/// Has more messages shown from here on.
pub(super) struct Expand;

impl InternalTool for Expand {
    fn name(&self) -> &'static str {
        ExpandWindow::NAME
    }

    fn purpose(&self) -> Purpose {
        Purpose::ShowMore
    }

    fn answer<'a>(
        &'a self,
        arguments: &'a str,
        context: &'a mut InternalContext<'_>,
    ) -> Fut<'a, Result<String, BadCall>> {
        Box::pin(async move {
            let ExpandArgs { by, .. } = context.read(self.name(), arguments)?;
            expand(context.state, by.into()).map_err(BadCall::Window)?;
            context.expand = Some(by.into());
            Ok("More is shown from here on, as far as there is room.".into())
        })
    }
}

fn check_room(context: &InternalContext<'_>) -> Result<(), BadCall> {
    match context.room {
        room @ ..LEAST => Err(BadCall::NoRoom(room)),
        _ => Ok(()),
    }
}

/// So many messages are shown where no number is given.
const COUNT: u16 = 20;

async fn older_messages(context: &InternalContext<'_>, args: OlderArgs) -> Result<String, BadCall> {
    let InternalContext { state, log, store, room, .. } = *context;
    let before = args.before.map(Seq);
    let wanted = Wanted::new(args.search.as_deref().unwrap_or_default());
    let items: Vec<Item> = older(state, before, !wanted.is_all()).collect();
    if items.is_empty() {
        return Ok(match before {
            Some(seq) => format!("Nothing before {seq} is left out."),
            None => "Nothing is left out: all messages are shown.".into(),
        });
    }
    let count = usize::from(args.count.unwrap_or(COUNT));
    let (mut said, mut left) = (Vec::new(), room.saturating_sub(REST));
    let (mut oldest, mut unread) = (None, items.len());
    // The newest first, so that what there is no room for is the oldest. One that is too long leaves room for others.
    for item in &items {
        if said.len() == count || left < LEAST / 2 {
            break;
        }
        unread -= 1;
        let mut whole = Hydrated::new(log);
        if let Some(event) = item.event() {
            let _ = whole.load(store, event).await;
        }
        oldest = item.seq();
        let Some(message) = message(state, &whole, item) else { continue };
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "result",
        };
        let words = words(&message.parts);
        let Some(at) = wanted.found_in(&words) else { continue };
        let mut text = format!("#{} {role}: {words}", item.seq().unwrap_or(Seq(0)));
        if u64::from(estimate(&text)) >= left {
            let some = u32::try_from(left / 2).unwrap_or(u32::MAX).saturating_sub(10);
            let part =
                if wanted.is_all() { excerpt(&text, some) } else { around(&text, text.len() - words.len() + at, some) };
            text = format!("{part}\n[Only this is shown of it.]");
        }
        left = left.saturating_sub(u64::from(estimate(&text)) + 1);
        said.push(text);
    }
    if said.is_empty() {
        return Ok(format!(
            "None of the {} messages that are left out has all these words: {}. Try fewer or other words.",
            items.len(),
            args.search.unwrap_or_default()
        ));
    }
    if let Some(oldest) = oldest.filter(|_| unread > 0) {
        let are = if unread == 1 { "older message is" } else { "older messages are" };
        let what = if wanted.is_all() { "left out as well" } else { "left out as well, and not searched" };
        said.push(format!("({unread} {are} {what}: call it with before {oldest}.)"));
    }
    said.reverse();
    Ok(said.join("\n\n"))
}

/// What messages must say to be shown.
struct Wanted(Vec<String>);

impl Wanted {
    fn new(search: &str) -> Wanted {
        Wanted(search.split_whitespace().map(str::to_lowercase).collect())
    }

    /// Whether any message is wanted.
    fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Where the first of the words stands in a text that has all of them, in bytes.
    fn found_in(&self, text: &str) -> Option<usize> {
        let lower = text.to_lowercase();
        let places: Option<Vec<usize>> = self.0.iter().map(|word| lower.find(word.as_str())).collect();
        let first = places?.into_iter().min().unwrap_or(0);
        // In small letters a text may have another length.
        Some(first.min(text.len()))
    }
}

/// What stands around a place of a text, about so many tokens.
fn around(text: &str, at: usize, tokens: u32) -> String {
    let reach = (tokens as usize).saturating_mul(CHARS_A_TOKEN) / 2;
    let floor = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (from, to) = (floor(at.saturating_sub(reach)), floor(at.saturating_add(reach)));
    let head = text.split(": ").next().unwrap_or_default();
    let begun = if from == 0 { String::new() } else { format!("{head}: […] ") };
    let goes_on = if to == text.len() { "" } else { " […]" };
    format!("{begun}{}{goes_on}", text.get(from..to).unwrap_or_default())
}

/// What parts say, calls and results included.
fn words(parts: &[Part]) -> String {
    let said = parts.iter().map(|part| match part {
        Part::Text { text } => text.clone(),
        Part::ToolCall { name, arguments, .. } => format!("[call of {name}: {arguments}]"),
        Part::ToolResult { call, content, .. } => format!("[{call}] {}", text_of(content)),
        Part::StoredText { .. } | Part::Thinking { .. } => String::new(),
        Part::Image { .. } | Part::Audio { .. } | Part::Document { .. } => "[an attachment]".into(),
    });
    said.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn past_calls(context: &InternalContext<'_>, args: &ListCallsArgs) -> String {
    let InternalContext { state, log, room, .. } = *context;
    let wanted = args.tool.as_deref().map(own_tool_name);
    let on_path = on_path(state);
    let works = |call: &&Call| !call.tool.as_deref().is_some_and(|tool| OURS.contains(&tool));
    let calls = state.calls.iter().rev().filter(|call| on_path.contains(&call.id.seq)).filter(works);
    let calls = calls.filter(|call| wanted.is_none_or(|tool| call.tool.as_deref() == Some(tool)));
    let (mut lines, mut size) = (Vec::new(), 0);
    for call in calls.take(args.limit.unwrap_or(50).into()) {
        let how = match call.state {
            CallState::Done(resolution) => format!("{resolution:?}").to_lowercase(),
            _ => "open".into(),
        };
        let made = made(state, log, call.id).unwrap_or(WrittenCall { name: "a tool", arguments: "(erased)" });
        let (name, arguments) = (call.tool.as_deref().unwrap_or(made.name), in_brief(made.arguments, GIST));
        let line = format!("{} {name} {how}, {} tokens: {arguments}", call.id, call.tokens);
        size += u64::from(estimate(&line)) + 1;
        if size > room {
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    if lines.is_empty() { "No such call was made.".into() } else { lines.join("\n") }
}

/// A call as the model made it.
fn made<'a>(state: &State, log: &'a Log, id: CallId) -> Option<WrittenCall<'a>> {
    let parts = match log.get(state.tree.node(id.seq)?.event)? {
        EventKind::ModelFinished(data) => &data.parts,
        EventKind::MessageImported(data) => &data.parts,
        _ => return None,
    };
    written_calls(parts).nth(id.index.into())
}

/// What the conversation holds, shown or not: nothing that was cleared, or said on a branch that was left.
fn on_path(state: &State) -> BTreeSet<Seq> {
    state.tree.up(state.tree.head).map(|(seq, _)| seq).collect()
}

async fn past_result(context: &InternalContext<'_>, args: RecallArgs) -> Result<String, BadCall> {
    let InternalContext { state, log, store, room, .. } = *context;
    let is_known = |call: &&Call| call.state.is_done() && on_path(state).contains(&call.id.seq);
    let call = state.calls.get(args.call).filter(is_known).ok_or(BadCall::NoCall(args.call))?;
    let mut whole = Hydrated::new(log);
    let _ = whole.load(store, call.result).await;
    let item = Item::Result { seq: call.id.seq, call: call.id, event: call.result, shown: Shown::Whole };
    let message = message(state, &whole, &item).ok_or(BadCall::Erased)?;
    let content = message.parts.iter().map(|part| match part {
        Part::ToolResult { content, .. } => words(content),
        _ => String::new(),
    });
    let text: String = content.collect::<String>().chars().skip(args.from as usize).collect();
    if text.is_empty() {
        return Err(BadCall::PastEnd { call: args.call, from: args.from });
    }
    let most = usize::try_from(room).unwrap_or(usize::MAX).saturating_sub(40).saturating_mul(CHARS_A_TOKEN);
    let shown: String = text.chars().take(most).collect();
    if shown.len() == text.len() {
        return Ok(text);
    }
    let next = args.from as usize + shown.chars().count();
    Ok(format!("{shown}\n[… it goes on: call recall_result with from {next}]"))
}
