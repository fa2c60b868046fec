//! Where the texts of a trace came from: the words of foreign results (pages, MCP servers, messages of others), so that a
//! call whose arguments hold them can be judged as what it is.
//!
//! Coarse, and never lost: what a result once said is remembered over cuts, summaries and restarts, for it is in the log. A
//! word that people of the trace said themselves is theirs, and one that a call itself gave is not its result's. A trace that has seen nothing foreign keeps nothing here.

use crate::gate::destinations::Destinations;
use crate::gate::fold::folded;
use crate::prompt::gone::Gone;
use crate::prompt::notes::parted;
use crate::prompt::texts::{load, parts};
use mainpath_store::{ScopedStore, StoreError};
use mainpath_tools::Tools;
use mainpath_types::{
    ApprovalGranted, CallId, CallResolved, Decision, EventKind, MCP_TOOLS, MessageQueued, ModelFinished, Origin, Part,
    Principal, RecordedCall, RewindRequested, Role, ToolSpec, TraceId, own_tool_name,
};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The words of a trace, by where they were said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    marks: HashMap<u64, u8>,
    /// More words than are kept: then every argument counts as having come from everywhere foreign that was seen.
    full: bool,
    seen: u8,
    /// The words of the calls that are under way: a result that says them again has them from here.
    asked: HashMap<CallId, HashSet<u64>>,
    /// The trace that started this one, where the tasks that it sets have no words from outside.
    asks_in_own_words: Option<TraceId>,
    /// Who named where calls go.
    pub destinations: Destinations,
}

/// Words that are kept at most.
const MOST: usize = 200_000;
/// Shorter words say nothing by themselves, only together with their neighbours.
const TELLING: usize = 8;

impl Origins {
    /// Takes in a text.
    pub fn note(&mut self, origin: Origin, text: &str) {
        self.note_but(origin, text, None);
    }

    /// Takes in a text but for what is `known` to come from elsewhere.
    fn note_but(&mut self, origin: Origin, text: &str, known: Option<&HashSet<u64>>) {
        let bit = bit(origin);
        self.seen |= bit;
        if self.full {
            return;
        }
        // What people name without a scheme is named by them too.
        let said = if origin == Origin::User { marks_of_use(text) } else { marks(text) };
        for mark in said.into_iter().filter(|mark| !known.is_some_and(|known| known.contains(mark))) {
            *self.marks.entry(mark).or_default() |= bit;
        }
        if self.marks.len() > MOST {
            (self.full, self.marks) = (true, HashMap::new());
        }
    }

    /// Takes in what an event says. `tools`: those that there are now. Errors: a long text is not where it was put.
    pub async fn note_event(
        &mut self,
        store: ScopedStore<'_>,
        kind: &EventKind,
        tools: &Tools,
    ) -> Result<(), StoreError> {
        if let EventKind::SpecChanged(data) = kind {
            self.asks_in_own_words =
                data.spec.relations.parent_trace.as_ref().filter(|_| data.spec.relations.own_task).cloned();
            for (origin, text) in parted(&data.spec.instructions) {
                self.note(origin, text);
                match origin {
                    Origin::User => self.destinations.note_said(text),
                    _ => self.destinations.note_text(text),
                }
            }
            // The configuration may name a server's tools in its own way; of one that there is no more only the usual name tells.
            let is_of_server = |tool: &&ToolSpec| {
                let known = tools.doc(&tool.name).map(|doc| doc.origin == Origin::Mcp);
                known.unwrap_or_else(|| tool.name.starts_with(MCP_TOOLS))
            };
            let of_servers = data.spec.tools.iter().filter(is_of_server);
            of_servers.for_each(|tool| self.destinations.note_description(tool));
        }
        if let EventKind::Injected(data) = kind {
            data.hooks.iter().for_each(|said| self.note(Origin::Message, &said.text));
            data.hooks.iter().for_each(|said| self.destinations.note_text(&said.text));
        }
        if let EventKind::ApprovalGranted(ApprovalGranted { arguments: Some(arguments), .. }) = kind {
            self.note(Origin::User, arguments);
            self.destinations.note_said(arguments);
        }
        if let EventKind::ApprovalGranted(_) = kind {
            self.destinations.note_seen();
        }
        if let EventKind::ModelFinished(data) = kind {
            self.note_calls(data);
        }
        let asked = match kind {
            EventKind::CallResolved(data) => self.asked.remove(&data.call),
            _ => None,
        };
        if let (EventKind::MessageQueued(data), Some(parent)) = (kind, &self.asks_in_own_words)
            && data.from == Principal::agent(parent.as_str())
        {
            // As good as the words of this trace's own model.
            return Ok(());
        }
        let imported = matches!(kind, EventKind::MessageImported(_));
        if origin_of(kind) == Origin::Model && !imported {
            return Ok(());
        }
        let mut said = parts(kind).to_vec();
        // What is gone has no words that could be known again.
        load(store, &mut said, &mut Gone::noted()).await?;
        self.note_destinations(kind, &said);
        foreign_results(kind, &said).for_each(|text| self.note(Origin::Message, text));
        for (at, part) in said.iter().enumerate().filter(|_| !imported) {
            if let Part::Text { text } = part {
                // What people hand on is not what they say.
                let origin = if is_typed(kind, at) { origin_of(kind) } else { Origin::Workspace };
                self.note_but(origin, text, asked.as_ref());
            }
        }
        Ok(())
    }

    /// Takes in who named where calls go: the texts of an event, with those of blobs in their places.
    fn note_destinations(&mut self, kind: &EventKind, said: &[Part]) {
        if said.iter().any(is_unread) {
            self.destinations.note_unread();
        }
        match kind {
            EventKind::MessageImported(data) => {
                let results = said.iter().filter_map(|part| match part {
                    Part::ToolResult { content, .. } => Some(content),
                    _ => None,
                });
                results.flat_map(|content| texts(content)).for_each(|text| self.destinations.note_text(text));
                if data.role == Role::User {
                    texts(said).for_each(|text| self.destinations.note_said(text));
                }
            }
            EventKind::CallResolved(data) if origin_of(kind) != Origin::User => {
                self.destinations.note_result(data.call, origin_of(kind), texts(said));
            }
            _ if origin_of(kind) == Origin::User => {
                // What was piped in or attached is somebody's text.
                for (at, part) in said.iter().enumerate() {
                    match (part, is_typed(kind, at)) {
                        (Part::Text { text }, true) => self.destinations.note_said(text),
                        (Part::Text { text }, false) => self.destinations.note_text(text),
                        _ => {}
                    }
                }
            }
            _ => texts(said).for_each(|text| self.destinations.note_text(text)),
        }
    }

    /// Takes in the words of a model's calls, until they are answered.
    fn note_calls(&mut self, data: &ModelFinished) {
        for RecordedCall { id, arguments, planned, .. } in data.calls() {
            if let Some(shown) = planned.answer.as_ref().filter(|_| !planned.messages.is_empty()) {
                self.note(Origin::Message, shown);
                self.destinations.note_text(shown);
            }
            let is_allowed = planned.verdict.as_ref().is_some_and(|verdict| verdict.decision == Decision::Allow);
            if !planned.destinations.is_empty() && !is_allowed {
                self.destinations.note_held_back();
            }
            if planned.ended().is_none() {
                let mut words = HashSet::new();
                let arguments = serde_json::from_str(arguments).unwrap_or_default();
                words_of(&arguments, &mut words);
                self.asked.insert(id, words);
                self.destinations.note_call(id, planned.tool.clone(), &arguments);
            }
        }
    }

    /// Whether anything was said that came from elsewhere.
    pub fn is_foreign(&self) -> bool {
        self.foreign().next().is_some()
    }

    /// Where from.
    pub fn foreign(&self) -> impl Iterator<Item = Origin> {
        foreign(self.seen)
    }

    /// Whether a person named the server of an address.
    pub fn names(&self, url: &str) -> bool {
        let url = folded(url);
        let Some(host) = url.split_once("://").and_then(|(_, rest)| server(rest)) else { return false };
        let by_people = |host: &str| self.marks.get(&of_server(host)).is_some_and(|bits| bits & bit(Origin::User) != 0);
        by_people(host) || host.strip_prefix("www.").is_some_and(by_people) || by_people(&format!("www.{host}"))
    }

    /// Where the texts of a call's arguments came from. What nobody said before is the model's own.
    pub fn of(&self, arguments: &Value) -> BTreeSet<Origin> {
        let mut found = BTreeSet::from([Origin::Model]);
        self.look(arguments, &mut found);
        found
    }

    fn look(&self, value: &Value, found: &mut BTreeSet<Origin>) {
        match value {
            Value::String(_) if self.full => found.extend(foreign(self.seen)),
            Value::String(text) => {
                for mark in marks_of_use(text) {
                    let bits = self.marks.get(&mark).copied().unwrap_or_default();
                    match bits & bit(Origin::User) {
                        0 => found.extend(foreign(bits)),
                        _ => drop(found.insert(Origin::User)),
                    }
                    if bits & bit(Origin::Workspace) != 0 {
                        found.insert(Origin::Workspace);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.look(item, found)),
            Value::Object(map) => map.values().for_each(|item| self.look(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Whether a part of an event is what its author typed, rather than what was piped in or attached.
fn is_typed(kind: &EventKind, at: usize) -> bool {
    match kind {
        EventKind::MessageQueued(MessageQueued { typed: Some(typed), parts, .. }) => {
            usize::from(*typed) >= parts.len() || usize::from(*typed) == at
        }
        _ => true,
    }
}

/// Whether a part is shown to the model, and its words are not known here.
fn is_unread(part: &Part) -> bool {
    match part {
        Part::ToolResult { content, .. } => content.iter().any(is_unread),
        Part::Text { .. } | Part::ToolCall { .. } | Part::Thinking { .. } => false,
        Part::StoredText { .. } | Part::Image { .. } | Part::Audio { .. } | Part::Document { .. } => true,
    }
}

/// The texts among parts.
fn texts(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    })
}

/// The marks of all texts of a value.
fn words_of(value: &Value, words: &mut HashSet<u64>) {
    match value {
        Value::String(text) => words.extend(marks_of_use(text)),
        Value::Array(items) => items.iter().for_each(|item| words_of(item, words)),
        Value::Object(map) => map.values().for_each(|item| words_of(item, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Where what an event says came from, where that is elsewhere. An answer that shows messages of other agents brings theirs.
pub(crate) fn foreign_in(kind: &EventKind) -> Option<Origin> {
    match kind {
        EventKind::ModelFinished(data) if data.calls.iter().any(|call| !call.messages.is_empty()) => {
            Some(Origin::Message)
        }
        EventKind::MessageImported(data) => foreign_results(kind, &data.parts).next().map(|_| Origin::Message),
        _ => Some(origin_of(kind)).filter(|origin| origin.is_foreign()),
    }
}

/// The tools, by their own names, whose results are of the workspace in a conversation that was held elsewhere as well.
const OF_WORKSPACE: [&str; 9] =
    ["bash", "edit_text_file", "glob", "goal", "grep", "list_files", "read_image", "read_text_file", "write_text_file"];

/// The texts of results in an imported message that may hold the words of others: of all tools but those that only see the workspace. A
/// call with an address may have fetched it. `said`: the parts of the message, with the texts of blobs in their places.
fn foreign_results<'a>(kind: &'a EventKind, said: &'a [Part]) -> impl Iterator<Item = &'a str> {
    let parts = if matches!(kind, EventKind::MessageImported(_)) { said } else { &[] };
    let calls: Vec<(&str, &str)> = parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { name, arguments, .. } => Some((name.as_str(), arguments.as_str())),
            _ => None,
        })
        .collect();
    let is_foreign = move |call: CallId, name: &str| {
        let asked = calls.get(usize::from(call.index));
        let name = asked.map_or(name, |(asked, _)| asked).to_lowercase();
        !OF_WORKSPACE.contains(&own_tool_name(&name)) || asked.is_none_or(|(_, arguments)| arguments.contains("://"))
    };
    let results = parts.iter().filter_map(move |part| match part {
        Part::ToolResult { call, name, content, .. } if is_foreign(*call, name) => Some(content),
        _ => None,
    });
    results.flat_map(|content| texts(content))
}

/// Where what an event says came from.
fn origin_of(kind: &EventKind) -> Origin {
    match kind {
        // An answer that came by a channel is not the owner's, whoever gave it.
        EventKind::CallResolved(CallResolved { output: Some(output), .. }) if output.origin.is_foreign() => {
            output.origin
        }
        EventKind::MessageQueued(MessageQueued { from: by, .. })
        | EventKind::RewindRequested(RewindRequested { by, .. })
        | EventKind::CallResolved(CallResolved { by: Some(by), .. }) => match by.is_agent() {
            true => Origin::Message,
            false => Origin::User,
        },
        EventKind::CallResolved(CallResolved { output: Some(output), .. }) => output.origin,
        // What a hook says may be somebody else's words.
        EventKind::Injected(data) if data.hooks.iter().any(|said| !said.text.is_empty()) => Origin::Message,
        _ => Origin::Model,
    }
}

const ALL: [Origin; 6] = [Origin::User, Origin::Workspace, Origin::Web, Origin::Mcp, Origin::Message, Origin::Model];

fn bit(origin: Origin) -> u8 {
    ALL.iter().position(|known| *known == origin).map_or(0, |at| 1 << at)
}

fn foreign(bits: u8) -> impl Iterator<Item = Origin> {
    ALL.into_iter().filter(move |origin| origin.is_foreign() && bits & bit(*origin) != 0)
}

/// The marks of what is said: its telling words, and its words in pairs. Case does not count, nor what stands around a word,
/// such as a full stop, quotes or brackets of any script; the parts of an address or a path count as words of their own as
/// well, and the server of an address counts however short it is.
fn marks(text: &str) -> HashSet<u64> {
    let text = folded(text);
    let mut found = HashSet::new();
    let mut last: Option<&str> = None;
    for spaced in text.split_whitespace() {
        for around in around_schemes(spaced).flat_map(by_script).filter(|around| !bare(around).is_empty()) {
            let word = bare(around);
            let telling = pieces(around).chain([word]).filter(|piece| piece.chars().count() >= TELLING);
            found.extend(telling.map(|piece| hash(&[piece])));
            found.extend(last.map(|last| hash(&[last, word])));
            last = Some(word);
        }
        let servers = spaced.match_indices("://").filter_map(|(at, mark)| server(spaced.get(at + mark.len()..)?));
        let mailed = spaced.match_indices('@').filter_map(|(at, mark)| server(spaced.get(at + mark.len()..)?));
        let mailed = mailed.filter(|host| host.contains('.'));
        found.extend(servers.chain(mailed).map(of_server));
    }
    found
}

/// The marks of what is to be used: the same, and whatever may be a server.
fn marks_of_use(text: &str) -> HashSet<u64> {
    let mut found = marks(text);
    let text = folded(text);
    let words = text.split_whitespace().flat_map(by_script);
    found.extend(words.flat_map(pieces).filter(|piece| piece.contains('.')).map(of_server));
    found
}

/// A word where letters of other scripts follow without a blank, as Chinese and Japanese do, taken apart there.
fn by_script(word: &str) -> impl Iterator<Item = &str> {
    let is_wide = |letter: char| matches!(letter, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = is_wide(rest.chars().next()?);
        let end = rest.find(|letter| is_wide(letter) != first).unwrap_or(rest.len());
        let (word, more) = rest.split_at(end);
        rest = more;
        Some(word)
    })
}

/// The parts of a text without blanks that are on both sides of `://`. A scheme of the web directly before it is left out, as users leave
/// it out; everything else there is a word like any other: compact JSON and Markdown have no blank before an address.
fn around_schemes(spaced: &str) -> impl Iterator<Item = &str> {
    let mut parts = spaced.split("://").peekable();
    std::iter::from_fn(move || {
        let part = parts.next()?;
        Some(if parts.peek().is_some() { without_scheme(part) } else { part })
    })
}

fn without_scheme(part: &str) -> &str {
    let before = ["https", "http", "wss", "ws"].iter().find_map(|scheme| part.strip_suffix(scheme));
    before.filter(|before| !before.ends_with(char::is_alphanumeric)).unwrap_or(part)
}

/// A word without the signs around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|letter: char| !letter.is_alphanumeric())
}

/// The parts of an address, a path or a quoted text. A part after an escape (`\n`, `\u0022`, `%20`) is given with its letters and without
/// them: only the program that reads the text knows which is meant.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let parts = word.split(|letter: char| !letter.is_alphanumeric() && !"-_.".contains(letter));
    parts.flat_map(move |part| {
        let before =
            word.get(..part.as_ptr() as usize - word.as_ptr() as usize).and_then(|before| before.chars().next_back());
        [Some(part), before.and_then(|sign| unescaped(sign, part))].into_iter().flatten().map(bare)
    })
}

/// Returns the text after an escape that starts with this sign.
fn unescaped(sign: char, part: &str) -> Option<&str> {
    let digits = match (sign, part.chars().next()?) {
        ('%', _) => 0..2,
        ('\\', 'n' | 'r' | 't' | 'b' | 'f' | 'v' | '0' | 'a' | 'e') => 1..1,
        ('\\', 'x') => 1..3,
        ('\\', 'u') => 1..5,
        _ => return None,
    };
    let rest = part.get(digits.end..)?;
    part.get(digits)?.chars().all(|digit| digit.is_ascii_hexdigit()).then_some(rest)
}

/// The server that an address begins with, what stands before its `@` left out.
fn server(address: &str) -> Option<&str> {
    let authority = address.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = bare(host.split(|letter: char| !letter.is_alphanumeric() && !"-.".contains(letter)).next()?);
    (!host.is_empty()).then_some(host)
}

/// A mark apart from those of words.
fn of_server(name: &str) -> u64 {
    hash(&["server", "", name])
}

fn hash(words: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
