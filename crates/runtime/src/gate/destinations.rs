//! Where calls go and to whom, and who said so: a person of the trace, a server in a field of its own, or somebody's text.
//!
//! Whoever writes a mail or a page may not decide where an agent sends. So a value that says where a call goes (a recipient, an
//! address, an account, an id) has to come from a person, or from a field that a server fills (`"from": "anna@corp.example"` of a mail, not what
//! stands in its body). What else looks like an address is told apart by no search, as it can be written in a hundred ways that a model
//! understands: it is enough that nobody named it. Names and paths are searched for in the texts.

mod arguments;
mod days;
mod described;
mod flow;
mod forms;
mod lines;
mod records;
mod requests;
mod yaml;

use crate::gate::fold::folded;
use arguments::{Candidate, Kind, collect};
use days::{Day, days};
use described::Described;
use forms::{
    AT, addresses, is_address, is_host, is_id, is_telling, is_time, is_title, is_web, normal, reads_place, squeezed,
    words,
};
use mainpath_policy::CallFacts;
use mainpath_types::{CallId, Destination, EffectClass, Origin, ToolSpec};
use records::{Passage, Records};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What was said of where to and to whom, by people, servers and texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Destinations {
    said: Vec<Arc<PersonsText>>,
    said_addresses: HashSet<String>,
    said_days: HashSet<Day>,
    /// What servers filled in.
    fields: HashSet<String>,
    /// Whole values of other fields of servers. They name a thing, but no place.
    names: HashSet<String>,
    /// The names of the arguments that servers' tools have.
    parameters: HashSet<String>,
    /// The days of such values.
    named_days: HashSet<Day>,
    texts: Vec<Arc<Text>>,
    /// The addresses that texts have.
    linked: HashSet<String>,
    kept: usize,
    /// More text than is kept: what nobody named counts as having come from it.
    full: bool,
    /// Something was shown whose words are not known here, such as an image.
    unread: bool,
    /// The calls that are under way.
    asked: HashMap<CallId, OpenCall>,
    /// A call was held back because only a text names its destination, and no person has written since: the model obeys a text.
    is_misled: bool,
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
    days: HashSet<Day>,
    /// Without the fields of records, where the text has any.
    prose: Option<String>,
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
    /// Takes in that a call was held back because only a text says where it goes.
    pub fn note_held_back(&mut self) {
        self.is_misled = true;
    }

    /// Takes in that a person has looked at what the trace does.
    pub fn note_seen(&mut self) {
        self.is_misled = false;
    }

    /// Takes in what a person said.
    pub fn note_said(&mut self, text: &str) {
        self.note_seen();
        self.said_addresses.extend(addresses(text).iter().map(|address| normal(address)));
        self.said_days.extend(days(text));
        let words = text.to_lowercase();
        if !self.said.iter().any(|said| said.words == words) {
            self.said.push(Arc::new(PersonsText { squeezed: squeezed(text), words }));
        }
    }

    /// Takes in a text that somebody wrote outside of any call.
    pub fn note_text(&mut self, text: &str) {
        self.keep(None, text, HashSet::new(), None);
    }

    /// Takes in how a server describes a tool: the addresses that its words name. The values that it offers for an argument are its own.
    pub fn note_description(&mut self, tool: &ToolSpec) {
        let mut described = Described { addresses: addresses(&tool.description), ..Described::default() };
        described.look(&tool.input_schema);
        self.fields.extend(described.offered.iter().map(|value| normal(value)));
        self.parameters.extend(described.parameters);
        self.note_text(&described.addresses.join("\n"));
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
            if origin != Origin::Mcp || is_place {
                self.keep(from.as_ref(), text, HashSet::new(), Records::prose(text));
                continue;
            }
            let Records { fields, names, passages } = Records::of_result(text, &|word| self.points(word));
            let own =
                from.as_ref().and_then(|(_, asked)| asked.as_ref()).map(|asked| &*asked.arguments).unwrap_or_default();
            // A server may return the values of the request: those are not its own.
            let is_own = |value: &String| own.contains(&squeezed(value));
            self.fields.extend(fields.into_iter().filter(|field| !is_own(field)));
            self.named_days.extend(names.iter().flat_map(|name| days(name)));
            self.names.extend(names.iter().filter(|name| !is_own(name)).map(|name| normal(name)));
            for Passage { text, mut fields } in passages {
                // A small number may be the id of many things.
                fields.retain(|field| is_telling(field));
                self.keep(from.as_ref(), &text, fields, None);
            }
        }
    }

    fn keep(
        &mut self,
        from: Option<&(CallId, Option<OpenCall>)>,
        text: &str,
        fields: HashSet<String>,
        prose: Option<String>,
    ) {
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
        self.note_links(&addresses(text));
        self.texts.push(Arc::new(Text { call, tool, folded, squeezed, days: days(text), prose, fields, own }));
        if self.kept > MOST {
            (self.full, self.kept) = (true, 0);
            self.texts.clear();
            self.linked.clear();
        }
    }

    /// The destinations of a call that no person and no server named. `names_server`: whether a person named the server of an address.
    pub fn of(&self, facts: &CallFacts, names_server: &dyn Fn(&str) -> bool) -> Vec<Destination> {
        if self.texts.is_empty() && !self.full && !self.unread {
            return Vec::new();
        }
        if facts.effect == EffectClass::ReadOnly && facts.results == Origin::Web {
            let owned = |url: &str| facts.named || names_server(url);
            return facts.urls.iter().filter_map(|fact| self.of_address(&fact.url, &owned, false)).collect();
        }
        if !(acts(facts.effect) || facts.effect == EffectClass::ReadOnly && facts.results == Origin::Mcp) {
            return Vec::new();
        }
        let mut candidates = Vec::new();
        collect(&facts.arguments, "", "", &self.parameters, &mut candidates);
        if facts.says_read_only {
            // What changes nothing tells a server no more than the address that it is asked for.
            candidates.retain(|candidate| {
                candidate.kind == Kind::Place && (is_web(&candidate.value) || is_host(&candidate.value))
            });
        }
        // Mainpath's own tools go where the owner's configuration says.
        let is_fixed = facts.results == Origin::Web || facts.effect == EffectClass::MessageSend;
        let has_place = is_fixed
            || candidates.iter().any(|candidate| {
                matches!(candidate.kind, Kind::Place | Kind::File)
                    && !candidate.value.is_empty()
                    && !is_time(&candidate.value)
            });
        // If a person named the title, the person asked for it, wherever its details come from.
        let is_asked_for = candidates.iter().any(|candidate| {
            matches!(candidate.kind, Kind::Name | Kind::Text)
                && is_title(candidate.name())
                && self.is_word(&normal(&candidate.value))
        });
        candidates.retain(|candidate| match candidate.kind {
            Kind::Place | Kind::File => true,
            Kind::Name | Kind::Day if is_asked_for => false,
            Kind::Name => true,
            // Where it says where it goes, a text and a day are what it says there.
            Kind::Text | Kind::Day => !is_asked_for && !has_place,
        });
        let owned = |value: &str| facts.named && facts.urls.iter().any(|fact| fact.url == value) || names_server(value);
        // Whom a person speaks of may still be written to.
        let is_misled = self.is_misled && !facts.says_read_only;
        let mut found: Vec<Destination> = Vec::new();
        let mut searched = 0;
        for candidate in candidates {
            let normal = normal(&candidate.value);
            if normal.is_empty() || self.is_said(&candidate, &normal) {
                continue;
            }
            if candidate.kind != Kind::Day && is_time(&candidate.value) {
                continue;
            }
            searched += 1;
            if searched > MOST_SEARCHED {
                let Candidate { argument, value, .. } = candidate;
                found.push(Destination { argument, value, call: None, tool: None });
                break;
            }
            let unsaid = match candidate.kind {
                Kind::Place | Kind::File
                    if is_misled && !lines::words(&candidate.value).any(|word| self.points(word)) =>
                {
                    Some(found_in(&candidate, None))
                }
                Kind::Place | Kind::File => self.unsaid(&candidate, &normal, &owned),
                Kind::Name | Kind::Text => self.unsaid_name(&candidate, &normal),
                Kind::Day => self.unsaid_day(&candidate),
            };
            found.extend(unsaid.filter(|unsaid| !found.contains(unsaid)));
        }
        found
    }

    /// The destination, unless a server or, in other words, a person has named it.
    fn unsaid(&self, candidate: &Candidate, normal: &str, names_server: &dyn Fn(&str) -> bool) -> Option<Destination> {
        let Candidate { value, kind, .. } = candidate;
        // Of a file, a model makes up names itself.
        let is_file = *kind == Kind::File;
        let telling = !is_file && is_telling(value);
        let strict = telling || is_file && value.contains(['/', '.']);
        let is_short_id = is_short_id(candidate);
        let by_server = self.fields.contains(normal);
        if by_server && !strict && !is_short_id {
            return None;
        }
        let squeezed = squeezed(value);
        let says = |text: &&Arc<Text>| {
            let long = squeezed.len() >= if strict { SEARCHED } else { SEARCHED_NAME };
            let said = match is_short_id {
                true => names_id(text.prose.as_ref().unwrap_or(&text.folded), &folded(value), candidate.name()),
                false => long && text.squeezed.contains(&squeezed) || has_word(&text.folded, &folded(value), false),
            };
            // The sender's address in a signature is the sender's; a link in a text is the text's.
            let own_record = !is_web(value) && text.fields.contains(normal);
            said && !text.own.contains(&squeezed) && !own_record
        };
        let by = self.texts.iter().find(says);
        let named = by_server || is_web(value) && names_server(value) || self.is_in_words(value, normal);
        if by.is_none() && (named || !telling && !self.full) {
            return None;
        }
        Some(found_in(candidate, by))
    }

    /// The name of a thing that a text has, unless a server or a person has named it.
    fn unsaid_name(&self, candidate: &Candidate, normal: &str) -> Option<Destination> {
        let Candidate { value, .. } = candidate;
        if self.fields.contains(normal) || self.names.contains(normal) || self.is_in_words(value, normal) {
            return None;
        }
        let (folded, squeezed) = (folded(value), squeezed(value));
        let says = |text: &&Arc<Text>| has_word(&text.folded, &folded, false) && !text.own.contains(&squeezed);
        self.texts.iter().find(says).map(|text| found_in(candidate, Some(text)))
    }

    /// The day that a text names, unless a server or a person has named it.
    fn unsaid_day(&self, candidate: &Candidate) -> Option<Destination> {
        let meant = days(&candidate.value);
        if !meant.is_disjoint(&self.said_days) || !meant.is_disjoint(&self.named_days) {
            return None;
        }
        let squeezed = squeezed(&candidate.value);
        let says = |text: &&Arc<Text>| !meant.is_disjoint(&text.days) && !text.own.contains(&squeezed);
        self.texts.iter().find(says).map(|text| found_in(candidate, Some(text)))
    }

    fn is_said(&self, candidate: &Candidate, normal: &str) -> bool {
        let value = &*candidate.value;
        if is_short_id(candidate) {
            return self.said.iter().any(|said| names_id(&said.words, normal, candidate.name()));
        }
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

    /// Returns true if a person used a word, or one that starts with it: `newsletter` for newsletters. Words within an address do not count.
    fn points(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let starts = |before: &str| {
            let last = before.chars().next_back();
            last.is_none_or(|last| last.is_whitespace() || "\"'(\u{201c}\u{2018}".contains(last))
        };
        let is_short = word.chars().count() < 5;
        self.said.iter().any(|said| {
            said.words.match_indices(&word).any(|(at, _)| {
                let ends = !said.words[at + word.len()..].starts_with(char::is_alphanumeric);
                starts(&said.words[..at]) && (ends || !is_short)
            })
        })
    }
}

fn found_in(candidate: &Candidate, by: Option<&Arc<Text>>) -> Destination {
    let Candidate { argument, value, .. } = candidate;
    let (call, tool) = by.map_or((None, None), |text| (text.call, text.tool.clone()));
    Destination { argument: argument.clone(), value: value.clone(), call, tool }
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

/// Returns true for an id of a few digits. Most texts contain such numbers, so one counts only if the text calls it an id.
fn is_short_id(candidate: &Candidate) -> bool {
    is_id(candidate.name())
        && !is_telling(&candidate.value)
        && candidate.value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true if a text contains a short id: one of the three words before it calls it an id.
fn names_id(text: &str, id: &str, argument: &str) -> bool {
    const SIGNS: [&str; 6] = ["id", "ids", "no", "nr", "number", "numbers"];
    let joins = |letter: char| letter.is_alphanumeric() || "-.:/_".contains(letter);
    text.match_indices(id).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + id.len()..]);
        let mut after = after.chars();
        let ends = after.next().is_none_or(|next| {
            !joins(next) || ".:".contains(next) && after.next().is_none_or(|next| !next.is_alphanumeric())
        });
        let mut last =
            before.split(|letter: char| !letter.is_alphanumeric()).rev().filter(|word| !word.is_empty()).take(3);
        let is_sign = |word: &str| SIGNS.contains(&word) || words(argument).any(|noun| noun == word);
        ends && !before.ends_with(joins) && (before.trim_end().ends_with('#') || last.any(is_sign))
    })
}

#[cfg(test)]
mod tests;
