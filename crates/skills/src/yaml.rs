//! YAML as front matter has it: a small tree, and everything in it that the strict reading of the Agent Skills specification
//! does not allow.
//!
//! The specification's own validator reads front matter with StrictYAML: every scalar is text, and flow style, tags, anchors,
//! aliases, keys that come twice and tabs outside quotes are errors. Here these are told apart from YAML that cannot be read at
//! all. Aliases are never expanded, so a bomb of them is as small as its text.

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, options};
use std::ops::Range;

/// How deep front matter may be nested. StrictYAML ends with an error below 246.
const DEEPEST: usize = 245;

/// A value, and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 0.
    pub column: usize,
    /// What it is.
    pub value: Value,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A scalar.
    Text(String),
    /// `=` or `<<` without quotes: types of their own in YAML 1.1, so not text for StrictYAML.
    Special(&'static str),
    /// `*name`. What it stands for is never looked up.
    Alias,
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the text.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Node,
    /// What it stands for.
    pub value: Node,
}

/// Something at a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The line, from 1.
    pub line: usize,
    /// What, in a few words.
    pub text: String,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Nothing for an empty text.
    pub root: Option<Node>,
    /// What StrictYAML does not allow.
    pub refused: Vec<At>,
}

/// A list or a mapping whose end has not come.
struct Open {
    node: Node,
    /// The key whose value comes next.
    key: Option<Node>,
}

/// Reads front matter. Errors: it is no YAML.
pub fn parse(text: &str) -> Result<Document, At> {
    let mut document = Document::default();
    document.refused.extend(odd_characters(text));
    document.refused.extend(odd_beginning(text));
    // As PyYAML and its descendants read, of which StrictYAML is one.
    let options = options! { block_nesting_limit: DEEPEST, flow_nesting_limit: DEEPEST,
        bom_inside_document_as_content: true, block_scalar_eof_without_line_feed: true, emit_unresolved_aliases: true,
    };
    let mut open: Vec<Open> = Vec::new();
    let mut documents = 0;
    // Where tabs may be, in characters.
    let mut with_tabs: Vec<Range<usize>> = Vec::new();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| At { line: error.marker().line(), text: error.info() })?;
        let (line, column) = (span.start.line(), span.start.col());
        let mut refuse = |what: &str| document.refused.push(At { line, text: what.into() });
        if event.tag().is_some() {
            refuse("a tag (`!`); put text that begins so in quotes");
        }
        if event.anchor_id().is_some() {
            refuse("an anchor (`&`); put text that begins so in quotes");
        }
        let places = span.start.index()..span.end.index();
        match &event {
            Event::Scalar(_, ScalarStyle::Plain, ..) => {}
            // Of literal and folded text this is what follows its first line.
            Event::Comment(..) | Event::Scalar(..) => with_tabs.push(places.clone()),
            _ => {}
        }
        let node = |value| Node { line, column, value };
        let done = match event {
            Event::DocumentStart(..) => {
                documents += 1;
                if documents > 1 {
                    refuse("a second document");
                }
                continue;
            }
            // The parser says `~` of what is not there.
            Event::Scalar(_, ScalarStyle::Plain, ..) if places.is_empty() => node(Value::Text(String::new())),
            Event::Scalar(text, style, ..) => node(scalar(text.into_owned(), style)),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                refuse("an alias (`*`); put text that begins so in quotes");
                node(Value::Alias)
            }
            Event::SequenceStart(style, ..) | Event::MappingStart(style, ..) => {
                if style == StructureStyle::Flow {
                    refuse("a list or mapping in brackets; write one entry a line");
                }
                let is_list = matches!(event, Event::SequenceStart(..));
                let empty = if is_list { Value::List(Vec::new()) } else { Value::Map(Vec::new()) };
                open.push(Open { node: node(empty), key: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open { node, .. }) => {
                    document.refused.extend(check_mapping(&node));
                    node
                }
                None => continue,
            },
            _ => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.add(done),
            None if document.root.is_none() => document.root = Some(done),
            // Of a further document; it was refused above.
            None => {}
        }
    }
    document.refused.extend(check_tabs(text, &with_tabs));
    Ok(document)
}

/// The first tab that is in none of these places.
fn check_tabs(text: &str, with_tabs: &[Range<usize>]) -> Option<At> {
    let mut line = 1;
    for (place, c) in text.chars().enumerate() {
        line += usize::from(c == '\n');
        if c == '\t' && !with_tabs.iter().any(|places| places.contains(&place)) {
            return Some(At { line, text: "a tab outside quotes".into() });
        }
    }
    None
}

impl Open {
    fn add(&mut self, done: Node) {
        match (&mut self.node.value, self.key.take()) {
            (Value::List(items), _) => items.push(done),
            (Value::Map(entries), Some(key)) => entries.push(Entry { key, value: done }),
            (_, _) => self.key = Some(done),
        }
    }
}

fn scalar(text: String, style: ScalarStyle) -> Value {
    match (style, text.as_str()) {
        (ScalarStyle::Plain, "=") => Value::Special("="),
        (ScalarStyle::Plain, "<<") => Value::Special("<<"),
        _ => Value::Text(text),
    }
}

/// Keys that come twice or are no text, and mappings that are not indented alike.
fn check_mapping(node: &Node) -> Vec<At> {
    let Value::Map(entries) = &node.value else { return Vec::new() };
    let mut refused = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut indented = None;
    for Entry { key, value } in entries {
        let mut refuse = |text: String| refused.push(At { line: key.line, text });
        match &key.value {
            Value::Text(name) if !seen.insert(name) => refuse(format!("{name:?} for the second time")),
            Value::Text(_) => {}
            Value::Special("<<") if is_merge(value) => {}
            _ => refuse("a key that is not text".into()),
        }
        if let Value::Map(_) = value.value
            && *indented.get_or_insert(value.column) != value.column
        {
            refused.push(At { line: value.line, text: "a mapping that is indented unlike the one before".into() });
        }
    }
    refused
}

/// Whether this can be merged into a mapping, as the key `<<` does.
fn is_merge(value: &Node) -> bool {
    match &value.value {
        Value::Map(_) => true,
        Value::List(items) => items.iter().all(|item| matches!(item.value, Value::Map(_))),
        _ => false,
    }
}

/// What the parser skips before the first value and StrictYAML does not.
fn odd_beginning(text: &str) -> Option<At> {
    let is_skipped = |line: &str| line.is_empty() || line.starts_with('#');
    let mut lines = (1..).zip(text.lines().map(|line| line.trim_start_matches(' ')));
    let (number, first) = lines.find(|(_, line)| !is_skipped(line))?;
    let is_mark = first.starts_with('\u{feff}') && !text.starts_with('\u{feff}');
    let text = match first {
        _ if is_mark => "a byte order mark",
        first if first.trim_end() == "..." => "the end of a document (`...`) before its beginning",
        _ => return None,
    };
    Some(At { line: number, text: text.into() })
}

/// Characters that StrictYAML does not read.
fn odd_characters(text: &str) -> Option<At> {
    let is_read =
        |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    let (place, odd) = text.char_indices().find(|(_, c)| !is_read(*c))?;
    let line = 1 + text.get(..place).unwrap_or_default().matches('\n').count();
    Some(At { line, text: format!("the character U+{:04X}", u32::from(odd)) })
}
