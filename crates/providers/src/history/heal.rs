//! From messages as they came to a conversation that every vendor takes.

use super::form::{History, TracedHistory, Whole};
use super::loose::{Loose, LooseCall, Notes, SYSTEM, Speaker, unsigned};
use mainpath_types::{CallId, Part, Role, Seq};
use std::collections::{HashMap, HashSet};

/// What a call without a result is told.
const NO_RESULT: &str = "(no result: the imported conversation has none)";
/// What an empty result says: no vendor takes nothing.
const EMPTY: &str = "(empty)";
/// What a conversation that does not begin with a person begins with.
const BEGINNING: &str = "(the beginning of this conversation was not imported)";

/// Where a result stands: its message, and which of that message's results it is.
type Place = (usize, usize);

/// `begun`: something was said before these messages, so that the first one need not be a person's.
pub(super) fn heal(messages: Vec<Loose>, mut notes: Notes, begun: bool) -> TracedHistory {
    let mut note = |what: &'static str| *notes.entry(what).or_default() += 1;
    let answers = answers(&messages);
    let used: HashSet<Place> = answers.iter().flatten().flatten().copied().collect();
    let results: Vec<_> = messages.iter().map(|message| message.results.clone()).collect();
    // How many messages before each one say or call something.
    let speaks = |message: &Loose| !message.said.is_empty() || !message.calls.is_empty();
    let spoken: Vec<usize> = (messages.iter())
        .scan(0, |count, message| Some(std::mem::replace(count, *count + usize::from(speaks(message)))))
        .collect();
    let mut seen = HashMap::<String, usize>::new();
    let mut healed: Vec<Whole> = Vec::new();
    let mut sources: Vec<Option<usize>> = Vec::new();
    for (at, message) in messages.into_iter().enumerate() {
        let Loose { speaker, said, calls, results: own } = message;
        let answered = answers.get(at).map(Vec::as_slice).unwrap_or_default();
        if speaker == Speaker::System {
            note(SYSTEM);
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
        if healed.is_empty() && !begun && role != Role::User {
            note("a first message was put before a conversation that did not begin with a person");
            healed.push(Whole { role: Role::User, parts: vec![Part::text(BEGINNING)] });
            sources.push(None);
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
            let from = answered.get(usize::from(index)).copied().flatten();
            let found = from.and_then(|(from, n)| Some((results.get(from)?.get(n)?.clone(), from)));
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
        sources.push(Some(at));
    }
    let unused = results.iter().map(Vec::len).sum::<usize>() - used.len();
    (0..unused).for_each(|_| note("results without a call were left out"));
    let told = notes.into_iter().map(|(what, times)| format!("{what} ({times})")).collect();
    TracedHistory { history: History { messages: healed, healed: told }, from: sources }
}

fn is_empty(part: &Part) -> bool {
    matches!(part, Part::Text { text } if text.trim().is_empty())
}

/// Parts from messages those at the end that have to wait: from the first call without a result on, if the model did not
/// give an answer without calls since. What waits is healed later, with what comes then.
pub(super) fn split_open(messages: &mut Vec<Loose>) -> Vec<Loose> {
    let answers = answers(messages);
    let ends = |message: &Loose| {
        message.speaker == Speaker::Assistant && message.calls.is_empty() && !message.said.iter().all(is_empty)
    };
    let settled = messages.iter().rposition(ends).map_or(0, |last| last + 1);
    let lacks = |calls: &Vec<Option<Place>>| calls.iter().any(Option::is_none);
    let Some(start) = answers.iter().skip(settled).position(lacks).map(|at| at + settled) else { return Vec::new() };
    // Results that belong to earlier calls stay with them.
    let mut early = Loose { speaker: Speaker::User, said: Vec::new(), calls: Vec::new(), results: Vec::new() };
    let mut theirs: Vec<Place> = answers.iter().take(start).flatten().flatten().copied().collect();
    theirs.retain(|(at, _)| *at >= start);
    theirs.sort();
    let mut open = messages.split_off(start);
    for (at, n) in theirs.into_iter().rev() {
        if let Some(message) = open.get_mut(at - start).filter(|message| n < message.results.len()) {
            early.results.insert(0, message.results.remove(n));
        }
    }
    // One of which nothing is left keeps its place where others follow: a result without an id belongs to the message before it.
    let is_bare = |last: &mut Loose| last.results.is_empty() && last.said.is_empty() && last.calls.is_empty();
    while open.pop_if(is_bare).is_some() {}
    if !early.results.is_empty() {
        messages.push(early);
    }
    open
}

/// How many calls of these messages have no result.
pub(super) fn unanswered(messages: &[Loose]) -> usize {
    answers(messages).iter().flatten().filter(|answer| answer.is_none()).count()
}

/// For each call of each message its result, if there is one.
fn answers(messages: &[Loose]) -> Vec<Vec<Option<Place>>> {
    let places = |(at, message): (usize, &Loose)| (0..message.results.len()).map(move |n| (at, n)).collect::<Vec<_>>();
    let places: Vec<Place> = messages.iter().enumerate().flat_map(places).collect();
    let mut results = Results { messages, places, used: HashSet::new(), by_id: HashMap::new() };
    // Ids that are given twice are told apart by their order.
    for (number, (at, n)) in results.places.iter().enumerate().rev() {
        if let Some(id) = messages.get(*at).and_then(|message| message.results.get(*n)?.id.clone()) {
            results.by_id.entry(id).or_default().push(number);
        }
    }
    let of = |(at, message): (usize, &Loose)| match message.speaker {
        Speaker::Assistant => message.calls.iter().map(|call| results.find(call, at)).collect(),
        Speaker::User | Speaker::System => Vec::new(),
    };
    messages.iter().enumerate().map(of).collect()
}

/// Results on their way to their calls.
struct Results<'a> {
    messages: &'a [Loose],
    /// Of all results, in order.
    places: Vec<Place>,
    /// Those that have found their call, by their numbers.
    used: HashSet<usize>,
    /// The numbers of those with an id, the first one last.
    by_id: HashMap<String, Vec<usize>>,
}

impl Results<'_> {
    /// The result of a call that was made in message `at`. By its id, or where there is none by the tool's name, or by its order.
    fn find(&mut self, call: &LooseCall, at: usize) -> Option<Place> {
        let after = self.places.partition_point(|(from, _)| *from <= at);
        let number = match &call.id {
            Some(id) => {
                let numbers = self.by_id.get_mut(id)?;
                // Results before the call belong to an earlier one of the same id.
                while numbers.last().is_some_and(|number| *number < after) {
                    numbers.pop();
                }
                numbers.pop()?
            }
            None => {
                let fits = |(number, (from, n)): &(usize, &Place)| {
                    let result = self.messages.get(*from).and_then(|message| message.results.get(*n));
                    let is_its = result.is_some_and(|result| {
                        result.id.is_none() && result.name.as_ref().is_none_or(|name| *name == call.name)
                    });
                    is_its && *from <= at + 1 && !self.used.contains(number)
                };
                self.places.iter().enumerate().skip(after).take_while(|(_, (from, _))| *from <= at + 1).find(fits)?.0
            }
        };
        self.used.insert(number);
        self.places.get(number).copied()
    }
}
