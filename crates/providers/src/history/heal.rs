//! From messages as they came to a conversation that every vendor takes.

use super::loose::{Loose, LooseCall, LooseResult, Notes, Speaker, unsigned};
use super::{History, Whole};
use mainpath_types::{CallId, Part, Role, Seq};
use std::collections::HashMap;

/// What a call without a result is told.
const NO_RESULT: &str = "(no result: the imported conversation has none)";
/// What an empty result says: no vendor takes nothing.
const EMPTY: &str = "(empty)";
/// What a conversation that does not begin with a person begins with.
const BEGINNING: &str = "(the beginning of this conversation was not imported)";

/// A result on its way to its call.
struct Found {
    result: LooseResult,
    /// The message that it came in.
    at: usize,
    used: bool,
}

pub(super) fn heal(messages: Vec<Loose>, mut notes: Notes) -> History {
    let mut note = |what: &'static str| *notes.entry(what).or_default() += 1;
    let mut results = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        results.extend(message.results.iter().map(|result| Found { result: result.clone(), at, used: false }));
    }
    // How many messages before each one say or call something.
    let speaks = |message: &Loose| !message.said.is_empty() || !message.calls.is_empty();
    let spoken: Vec<usize> = (messages.iter())
        .scan(0, |count, message| Some(std::mem::replace(count, *count + usize::from(speaks(message)))))
        .collect();
    // Ids that are given twice are told apart by their order.
    let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, found) in results.iter().enumerate().rev() {
        if let Some(id) = &found.result.id {
            by_id.entry(id.clone()).or_default().push(number);
        }
    }
    let mut seen = HashMap::<String, usize>::new();
    let mut healed: Vec<Whole> = Vec::new();
    for (at, message) in messages.into_iter().enumerate() {
        let Loose { speaker, said, calls, results: own } = message;
        if speaker == Speaker::System {
            note("system messages were left out: an agent's instructions come with its run");
            continue;
        }
        let before = said.len();
        let mut parts: Vec<Part> = said.into_iter().filter(|part| !is_empty(part)).collect();
        (parts.len()..before).for_each(|_| note("empty texts were left out"));
        let role = if speaker == Speaker::User { Role::User } else { Role::Assistant };
        match role {
            Role::User => parts.retain(|part| !matches!(part, Part::Thinking { .. })),
            Role::Assistant | Role::Tool => {
                let before = parts.len();
                parts = parts.into_iter().filter_map(unsigned).collect();
                (parts.len()..before).for_each(|_| note("thoughts were left out, which only their vendor could check"));
            }
        }
        if role == Role::User && !calls.is_empty() {
            calls.iter().for_each(|_| note("calls that no model made were left out"));
        }
        let calls = if role == Role::Assistant { calls } else { Vec::new() };
        if parts.is_empty() && calls.is_empty() {
            if own.is_empty() {
                note("messages without content were left out");
            }
            continue;
        }
        if healed.is_empty() && role != Role::User {
            note("a first message was put before a conversation that did not begin with a person");
            healed.push(Whole { role: Role::User, parts: vec![Part::text(BEGINNING)] });
        }
        let mut answers = Vec::with_capacity(calls.len());
        for (index, call) in (0u16..).zip(calls) {
            if let Some(id) = &call.id {
                let times = seen.entry(id.clone()).or_default();
                *times += 1;
                if *times == 2 {
                    note("ids of calls that were given twice were told apart by their order");
                }
            }
            let found = find(&mut results, &mut by_id, &call, at);
            let spoken_before = |at: usize| spoken.get(at).copied().unwrap_or_default();
            let name = if call.name.trim().is_empty() { "unknown".to_string() } else { call.name };
            let (content, is_error) = match found {
                Some((result, from)) => {
                    if spoken_before(from) > spoken_before(at + 1) {
                        note("results were put back behind their calls");
                    }
                    let content: Vec<Part> = result.content.into_iter().filter(|part| !is_empty(part)).collect();
                    (if content.is_empty() { vec![Part::text(EMPTY)] } else { content }, result.is_error)
                }
                None => {
                    note("calls without a result got one that says so");
                    (vec![Part::text(NO_RESULT)], true)
                }
            };
            parts.push(Part::ToolCall { name: name.clone(), arguments: call.arguments, signature: None });
            // Its number is given when it enters a trace.
            let call = CallId { seq: Seq(0), index };
            answers.push(Part::ToolResult { call, name, content, is_error });
        }
        parts.extend(answers);
        healed.push(Whole { role, parts });
    }
    results.iter().filter(|found| !found.used).for_each(|_| note("results without a call were left out"));
    let told = notes.into_iter().map(|(what, times)| format!("{what} ({times})")).collect();
    History { messages: healed, healed: told }
}

fn is_empty(part: &Part) -> bool {
    matches!(part, Part::Text { text } if text.trim().is_empty())
}

/// The result of a call that was made in message `at`, and the message that it came in. By its id, or where there is none by
/// the tool's name, or by its order.
fn find(
    results: &mut [Found],
    by_id: &mut HashMap<String, Vec<usize>>,
    call: &LooseCall,
    at: usize,
) -> Option<(LooseResult, usize)> {
    let after = results.partition_point(|found| found.at <= at);
    let number = match &call.id {
        Some(id) => {
            let numbers = by_id.get_mut(id)?;
            // Results before the call belong to an earlier one of the same id.
            while numbers.last().is_some_and(|number| *number < after) {
                numbers.pop();
            }
            numbers.pop()?
        }
        None => {
            let fits = |found: &Found| {
                !found.used
                    && found.at <= at + 1
                    && found.result.id.is_none()
                    && found.result.name.as_ref().is_none_or(|name| *name == call.name)
            };
            after + results.get(after..)?.iter().position(fits)?
        }
    };
    let found = results.get_mut(number)?;
    found.used = true;
    Some((found.result.clone(), found.at))
}
