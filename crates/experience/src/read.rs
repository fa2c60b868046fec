//! From a file's text to its entries.

use crate::block::{Block, blocks};
use crate::entry::{Broken, Entry, LONGEST_NAME, LONGEST_TEXT, MOST_TAGS, Placed, Status, is_id};
use crate::error::EntryError;
use mainpath_skills::yaml::{self, Node, Value};
use mainpath_types::Origin;
use std::collections::BTreeSet;
use std::path::Path;

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Its entries, in their order.
    pub entries: Vec<Placed>,
    /// What is no entry.
    pub broken: Vec<Broken>,
}

/// Reads a file's text. It never fails: what is wrong is told, and the rest is read.
pub fn read_text(file: &Path, text: &str) -> Contents {
    let mut contents = Contents::default();
    let (blocks, stray) = blocks(text);
    let tell = |line: usize, why: String| Broken { file: file.into(), line: Some(line), why };
    if let Some(line) = stray {
        contents
            .broken
            .push(tell(line, "an entry begins with a line of ---; what stands before that is ignored".into()));
    }
    for block in blocks {
        match read_block(text, &block) {
            Ok(entry) => contents.entries.push(Placed { entry, file: file.into(), line: block.line }),
            Err((line, error)) => contents.broken.push(tell(line, error.to_string())),
        }
    }
    contents
}

type Wrong = (usize, EntryError);

/// Reads one entry. Errors: the line of the file, and what is wrong.
pub(crate) fn read_block(text: &str, block: &Block) -> Result<Entry, Wrong> {
    let Some(front) = block.front.clone().and_then(|front| text.get(front)) else {
        return Err((block.line, EntryError::NotClosed));
    };
    let document = yaml::parse(front).map_err(|at| (block.line + at.line, EntryError::Yaml { problem: at.text }))?;
    let Some(Node { value: Value::Map(fields), .. }) = document.root else {
        return Err((block.line, EntryError::NoFields));
    };
    let mut read = Read::default();
    for field in &fields {
        let Value::Text(name) = &field.key.value else { continue };
        let line = block.line + field.key.line;
        if !read.seen.insert(name.clone()) {
            return Err((line, EntryError::SecondTime(name.clone())));
        }
        read.field(name, &field.value).map_err(|why| (line, why))?;
    }
    read.entry.text = block.body(text).trim().to_string();
    read.finish().map_err(|why| (block.line, why))
}

#[derive(Default)]
struct Read {
    entry: Entry,
    seen: BTreeSet<String>,
    helpful: Option<u32>,
    harmful: Option<u32>,
    status: Option<Status>,
}

impl Read {
    fn field(&mut self, name: &str, value: &Node) -> Result<(), EntryError> {
        let word = || plain(value).ok_or_else(|| of_kind(name, "be a text"));
        match name {
            "id" => self.entry.id = word()?.into(),
            "category" => self.entry.category = word()?.into(),
            "trace_id" => self.entry.trace_id = Some(word()?.to_string()).filter(|text| !text.is_empty()),
            "created_at" => self.entry.created_at = Some(word()?.to_string()).filter(|text| !text.is_empty()),
            "helpful" => self.helpful = Some(count(name, value)?),
            "harmful" => self.harmful = Some(count(name, value)?),
            "state" => self.entry.state = texts(name, value)?,
            "intent" => self.entry.intent = texts(name, value)?,
            "tags" | "metrics" => {
                let Value::Map(inner) = &value.value else { return Err(of_kind(name, "have fields")) };
                for field in inner {
                    let Value::Text(inner) = &field.key.value else { continue };
                    // What stands at the top comes first.
                    let known = match inner.as_str() {
                        "helpful" => self.helpful.is_some(),
                        "harmful" => self.harmful.is_some(),
                        "state" => !self.entry.state.is_empty(),
                        "intent" => !self.entry.intent.is_empty(),
                        _ => true,
                    };
                    if !known {
                        self.field(inner, &field.value)?;
                    }
                }
            }
            "origin" => {
                let of = |text: String| origin(&text).ok_or(EntryError::Origin(text));
                self.entry.origin = texts(name, value)?.into_iter().map(of).collect::<Result<_, _>>()?;
            }
            "status" => {
                self.status = Some(match word()? {
                    "accepted" => Status::Accepted,
                    "waiting" => Status::Waiting,
                    other => return Err(EntryError::Status(other.into())),
                });
            }
            // People and other programs may keep more.
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Entry, EntryError> {
        let Read { mut entry, helpful, harmful, status, .. } = self;
        (entry.helpful, entry.harmful) = (helpful.unwrap_or(1), harmful.unwrap_or(0));
        // What rests on somebody else's words counts only if a person says so.
        let usual = if entry.is_foreign() { Status::Waiting } else { Status::Accepted };
        entry.status = status.unwrap_or(usual);
        check(&entry)?;
        Ok(entry)
    }
}

/// Whether this is an entry. Errors: what is wrong.
pub(crate) fn check(entry: &Entry) -> Result<(), EntryError> {
    if entry.id.is_empty() {
        return Err(EntryError::NoId);
    }
    if !is_id(&entry.id) {
        return Err(EntryError::Id(entry.id.clone()));
    }
    let names = || entry.state.iter().chain(&entry.intent).chain([&entry.category]);
    if let Some(long) = names().find(|name| name.chars().count() > LONGEST_NAME) {
        return Err(EntryError::LongName(long.chars().take(20).collect()));
    }
    if entry.state.len() > MOST_TAGS || entry.intent.len() > MOST_TAGS {
        return Err(EntryError::TooManyTags);
    }
    if entry.text.is_empty() {
        return Err(EntryError::Empty);
    }
    if entry.text.len() > LONGEST_TEXT {
        return Err(EntryError::LongText(entry.text.len()));
    }
    Ok(())
}

fn plain(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text.trim()),
        _ => None,
    }
}

fn of_kind(field: &str, wanted: &'static str) -> EntryError {
    EntryError::Kind { field: field.into(), wanted }
}

fn count(name: &str, value: &Node) -> Result<u32, EntryError> {
    let text = plain(value).unwrap_or_default();
    text.parse().map_err(|_| EntryError::Count { field: name.into(), text: text.into() })
}

/// A list of texts, or one text with commas.
fn texts(name: &str, value: &Node) -> Result<Vec<String>, EntryError> {
    let wrong = || of_kind(name, "be a list of texts");
    let all: Vec<&str> = match &value.value {
        Value::List(items) => items.iter().map(|item| plain(item).ok_or_else(wrong)).collect::<Result<_, _>>()?,
        Value::Text(text) => text.split(',').map(str::trim).collect(),
        _ => return Err(wrong()),
    };
    Ok(all.into_iter().filter(|text| !text.is_empty()).map(String::from).collect())
}

fn origin(text: &str) -> Option<Origin> {
    Some(match text {
        "user" => Origin::User,
        "workspace" | "file" => Origin::Workspace,
        "web" | "http" => Origin::Web,
        "mcp" => Origin::Mcp,
        "message" => Origin::Message,
        "model" => Origin::Model,
        _ => return None,
    })
}
