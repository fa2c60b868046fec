//! Where calls go and to whom, and who said so: a person of the trace, a server in a field of its own, or somebody's text.
//!
//! Whoever writes a mail or a page may not decide where an agent sends. So a value that says where a call goes (a recipient, an
//! address, an account, an id) has to come from a person, or from a field that a server fills (`"from": "anna@corp.example"` of a mail, not what
//! stands in its body). What else looks like an address is told apart by no search, as it can be written in a hundred ways that a model
//! understands: it is enough that nobody named it. Names and paths are searched for in the texts.

mod forms;
mod records;

use crate::gate::fold::folded;
use forms::{
    AT, addresses, is_address, is_file, is_host, is_place, is_telling, is_time, is_web, normal, reads_place, squeezed,
};
use mainpath_policy::CallFacts;
use mainpath_types::{CallId, Destination, EffectClass, Origin};
use records::Records;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What was said of where to and to whom, by people, servers and texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Destinations {
    said: Vec<Arc<PersonsText>>,
    said_addresses: HashSet<String>,
    /// What servers filled in.
    fields: HashSet<String>,
    texts: Vec<Arc<Text>>,
    kept: usize,
    /// More text than is kept: what nobody named counts as having come from it.
    full: bool,
    /// Something was shown whose words are not known here, such as an image.
    unread: bool,
    /// The calls that are under way.
    asked: HashMap<CallId, OpenCall>,
}

/// Bytes of texts that are kept at most.
const MOST: usize = if cfg!(test) { 100_000 } else { 16 * 1024 * 1024 };
/// Values of one call that are searched for in texts; what more of them nobody named is asked about.
const MOST_SEARCHED: usize = 1_000;
/// Shorter values are searched for as words.
const SEARCHED: usize = 5;
/// The same of names.
const SEARCHED_NAME: usize = 6;

/// What a person said.
#[derive(Debug)]
struct PersonsText {
    /// Without case.
    words: String,
    squeezed: String,
}

/// A text that somebody wrote.
#[derive(Debug)]
struct Text {
    call: Option<CallId>,
    tool: Option<String>,
    /// Without case and invisible letters.
    folded: String,
    squeezed: String,
    /// What the server says of the record that it stands in.
    fields: HashSet<String>,
    /// The arguments of its own call, squeezed: an answer repeats what was asked.
    own: Arc<str>,
}

/// A call that is under way.
#[derive(Clone, Debug)]
struct OpenCall {
    tool: Option<String>,
    arguments: Arc<str>,
    /// Whether it reads what lies in a place that it names.
    reads_place: bool,
}

/// Whether calls of this kind change something elsewhere, or tell it to somebody.
pub(crate) fn acts(effect: EffectClass) -> bool {
    match effect {
        EffectClass::Idempotent | EffectClass::MessageSend | EffectClass::UiControl | EffectClass::SideEffecting => {
            true
        }
        EffectClass::ReadOnly
        | EffectClass::LocalWrite
        | EffectClass::ProcessControl
        | EffectClass::AskPerson
        | EffectClass::StartChild => false,
    }
}

impl Destinations {
    /// Takes in what a person said.
    pub fn note_said(&mut self, text: &str) {
        self.said_addresses.extend(addresses(text).iter().map(|address| normal(address)));
        let words = text.to_lowercase();
        if !self.said.iter().any(|said| said.words == words) {
            self.said.push(Arc::new(PersonsText { squeezed: squeezed(text), words }));
        }
    }

    /// Takes in a text that somebody wrote outside of any call.
    pub fn note_text(&mut self, text: &str) {
        self.keep(None, text, HashSet::new());
    }

    /// Takes in that something was shown whose words are not known: an image, a sound, a document.
    pub fn note_unread(&mut self) {
        self.unread = true;
    }

    /// Takes in a call, until it is answered.
    pub fn note_call(&mut self, call: CallId, tool: Option<String>, arguments: &Value) {
        let mut names = Vec::new();
        names_of(arguments, &mut names);
        let asked = OpenCall {
            tool,
            arguments: squeezed(&arguments.to_string()).into(),
            reads_place: names.iter().any(|name| reads_place(name)),
        };
        self.asked.insert(call, asked);
    }

    /// Takes in the texts of a result.
    pub fn note_result<'a>(&mut self, call: CallId, origin: Origin, texts: impl Iterator<Item = &'a str>) {
        let asked = self.asked.remove(&call);
        let is_place = asked.as_ref().is_some_and(|asked| asked.reads_place);
        let from = Some((call, asked));
        for text in texts {
            let records =
                || serde_json::from_str::<Value>(text).ok().filter(|value| value.is_object() || value.is_array());
            match (origin == Origin::Mcp && !is_place).then(records).flatten() {
                Some(value) => {
                    let Records { fields, passages } = Records::of(&value);
                    let own = from
                        .as_ref()
                        .and_then(|(_, asked)| asked.as_ref())
                        .map(|asked| &*asked.arguments)
                        .unwrap_or_default();
                    // What was asked for and comes back is not the server's word.
                    self.fields.extend(fields.into_iter().filter(|field| !own.contains(&squeezed(field))));
                    passages.into_iter().for_each(|passage| self.keep(from.as_ref(), &passage.text, passage.fields));
                }
                None => self.keep(from.as_ref(), text, HashSet::new()),
            }
        }
    }

    fn keep(&mut self, from: Option<&(CallId, Option<OpenCall>)>, text: &str, fields: HashSet<String>) {
        if text.trim().is_empty() {
            return;
        }
        let (folded, squeezed) = (folded(text), squeezed(text));
        if self.texts.iter().any(|known| known.folded == folded && known.fields == fields) {
            return;
        }
        self.kept += folded.len() + squeezed.len();
        let asked = from.and_then(|(_, asked)| asked.as_ref());
        let own = asked.map_or_else(|| "".into(), |asked| Arc::clone(&asked.arguments));
        let (call, tool) = (from.map(|(call, _)| *call), asked.and_then(|asked| asked.tool.clone()));
        self.texts.push(Arc::new(Text { call, tool, folded, squeezed, fields, own }));
        if self.kept > MOST {
            (self.full, self.kept) = (true, 0);
            self.texts.clear();
        }
    }

    /// The destinations of a call that no person and no server named. `names_server`: whether a person named the server of an address.
    pub fn of(&self, facts: &CallFacts, names_server: &dyn Fn(&str) -> bool) -> Vec<Destination> {
        let acts = acts(facts.effect) || facts.effect == EffectClass::ReadOnly && facts.results == Origin::Mcp;
        if !acts || self.texts.is_empty() && !self.full && !self.unread {
            return Vec::new();
        }
        let mut candidates = Vec::new();
        collect(&facts.arguments, "", "", &mut candidates);
        if facts.says_read_only {
            // What changes nothing tells a server no more than the address that it is asked for.
            candidates
                .retain(|candidate| !candidate.is_file && (is_web(&candidate.value) || is_host(&candidate.value)));
        }
        let owned = |value: &str| facts.named && facts.urls.iter().any(|fact| fact.url == value) || names_server(value);
        let mut found: Vec<Destination> = Vec::new();
        let mut searched = 0;
        for candidate in candidates {
            let normal = normal(&candidate.value);
            if normal.is_empty() || is_time(&candidate.value) || self.is_said(&candidate.value, &normal) {
                continue;
            }
            searched += 1;
            if searched > MOST_SEARCHED {
                let Candidate { argument, value, .. } = candidate;
                found.push(Destination { argument, value, call: None, tool: None });
                break;
            }
            let unsaid = self.unsaid(&candidate, &normal, &owned);
            found.extend(unsaid.filter(|unsaid| !found.contains(unsaid)));
        }
        found
    }

    /// The destination, unless a server or, in other words, a person has named it.
    fn unsaid(&self, candidate: &Candidate, normal: &str, names_server: &dyn Fn(&str) -> bool) -> Option<Destination> {
        let Candidate { argument, value, is_file } = candidate;
        // Of a file, a model makes up names itself.
        let telling = !is_file && is_telling(value);
        let strict = telling || *is_file && value.contains(['/', '.']);
        let by_server = self.fields.contains(normal);
        if by_server && !strict {
            return None;
        }
        let squeezed = squeezed(value);
        let says = |text: &&Arc<Text>| {
            let long = squeezed.len() >= if strict { SEARCHED } else { SEARCHED_NAME };
            let said = long && text.squeezed.contains(&squeezed) || has_word(&text.folded, &folded(value), false);
            // The sender's address in a signature is the sender's; a link in a text is the text's.
            let own_record = !is_web(value) && text.fields.contains(normal);
            said && !text.own.contains(&squeezed) && !own_record
        };
        let by = self.texts.iter().find(says);
        let named = by_server || is_web(value) && names_server(value) || self.is_in_words(value, normal);
        if by.is_none() && (named || !telling && !self.full) {
            return None;
        }
        let (call, tool) = by.map_or((None, None), |text| (text.call, text.tool.clone()));
        Some(Destination { argument: argument.clone(), value: value.clone(), call, tool })
    }

    fn is_said(&self, value: &str, normal: &str) -> bool {
        if is_address(value) {
            let is_host = !value.contains(AT) && !is_web(value);
            return self.said_addresses.contains(normal) || is_host && self.is_word(normal);
        }
        let number = normal.chars().filter(char::is_ascii_digit).count() >= 7;
        self.is_word(normal) || number && self.said.iter().any(|said| said.squeezed.contains(normal))
    }

    /// Whether people said the words of a name: `launch-team` where they speak of the launch team.
    fn is_in_words(&self, value: &str, normal: &str) -> bool {
        let mut words = normal.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        !is_address(value) && !normal.contains(char::is_numeric) && words.all(|word| self.is_word(word))
    }

    fn is_word(&self, word: &str) -> bool {
        self.said.iter().any(|said| has_word(&said.words, word, true))
    }
}

/// A value that says where a call goes.
#[derive(Debug)]
struct Candidate {
    argument: String,
    value: String,
    is_file: bool,
}

/// The values of a call's arguments that say where to or to whom: those of arguments with such a name, and addresses wherever they stand.
fn collect(value: &Value, argument: &str, name: &str, found: &mut Vec<Candidate>) {
    let mut put = |value: &str, is_file: bool| {
        found.push(Candidate { argument: argument.into(), value: value.trim().into(), is_file });
    };
    match value {
        Value::String(text) => {
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                return collect(&inner, argument, name, found);
            }
            let is_file = is_file(name) && !text.contains("://");
            if is_file {
                return put(text, true);
            }
            let is_name = is_place(name);
            let is_url = text.contains("://") && !text.trim().contains(char::is_whitespace);
            if !is_name || is_url {
                return addresses(text).iter().for_each(|address| put(address, false));
            }
            for piece in text.split([',', ';', '\n', '\r']) {
                let inner = addresses(piece);
                inner.iter().for_each(|address| put(address, false));
                if inner.is_empty() {
                    put(piece, false);
                }
            }
        }
        Value::Number(number) if is_place(name) => put(&number.to_string(), false),
        Value::Array(items) => items.iter().for_each(|item| collect(item, argument, name, found)),
        Value::Object(map) => map.iter().for_each(|(inner, value)| {
            let dot = if argument.is_empty() { "" } else { "." };
            addresses(inner).into_iter().for_each(|value| {
                found.push(Candidate { argument: argument.into(), value, is_file: false });
            });
            collect(value, &format!("{argument}{dot}{inner}"), inner, found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The names of all arguments.
fn names_of<'a>(value: &'a Value, names: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| names_of(item, names)),
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            names.push(name);
            names_of(value, names);
        }),
        _ => {}
    }
}

/// Whether a text has a value as a word. `strict`: it is no part of a longer address or path either.
fn has_word(text: &str, value: &str, strict: bool) -> bool {
    let joins = |letter: char| letter.is_alphanumeric() || letter == '_' || strict && "-@/".contains(letter);
    !value.is_empty()
        && text.match_indices(value).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let mut after = text[at + value.len()..].chars();
            let next = after.next();
            let dotted = strict && next == Some('.') && after.next().is_some_and(char::is_alphanumeric);
            !before.is_some_and(joins) && !next.is_some_and(joins) && !dotted
        })
}

#[cfg(test)]
mod tests;
