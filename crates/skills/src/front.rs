//! Reading a `SKILL.md`: its front matter and its body.
//!
//! Here a skill is loaded, so reading is lenient: what is off is told, and what can be known is used. The strict reading is in
//! `validate.rs`.

use crate::finding::Finding;
use crate::names::strip;
use crate::yaml::{self, At, Document, Entry, Node, Value};
use mainpath_types::EffectClass;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The field that keeps a skill from models: only a person may call it by its name. An extension.
pub const DISABLE_MODEL_INVOCATION: &str = "disable-model-invocation";
/// The entry of `metadata` that says what the skill does to the world. An extension.
pub const EFFECT: &str = "effect";

/// What front matter says about a skill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Front {
    /// What the skill is called.
    pub name: Option<String>,
    /// What it does and when to use it.
    pub description: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs to work.
    pub compatibility: Option<String>,
    /// The tools that it expects to use, as it writes them.
    pub allowed_tools: Vec<String>,
    /// Everything else that it says about itself.
    pub metadata: BTreeMap<String, String>,
    /// What it does to the world at most. Undeclared or unknown is the strictest: [`EffectClass::SideEffecting`].
    pub effect: EffectClass,
    /// Whether only a person may choose it.
    pub disable_model_invocation: bool,
}

/// A skill's file, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillText<'t> {
    /// What its front matter says.
    pub front: Front,
    /// What follows the front matter.
    pub body: &'t str,
    /// What is off.
    pub findings: Vec<Finding>,
}

/// Front matter and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts<'t> {
    /// It begins on the first line of the file.
    pub front: &'t str,
    pub body: &'t str,
}

/// A file's text with all line ends as one line feed, as Python and with it the specification's validator reads files.
pub fn line_feeds(text: &str) -> Cow<'_, str> {
    match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    }
}

/// A file's front matter as it is written, and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter<'t> {
    /// Its fields, in their order; none where the file has no front matter.
    pub entries: Vec<Entry>,
    /// What follows it.
    pub body: &'t str,
    /// Whether it could be read as YAML, not only line by line.
    pub is_yaml: bool,
    /// What is off.
    pub findings: Vec<Finding>,
}

/// Takes a skill's file apart, with line feeds as line ends ([`line_feeds`]). It never fails: what is off is among the findings.
pub fn read_text(text: &str) -> SkillText<'_> {
    let FrontMatter { entries, body, mut findings, .. } = front_matter(text);
    SkillText { front: read_entries(&entries, &mut findings), body, findings }
}

/// Takes any file with front matter apart, with line feeds as line ends. It never fails: what is no YAML is read line by line, and what is
/// off is among the findings.
pub fn front_matter(text: &str) -> FrontMatter<'_> {
    let mut findings = Vec::new();
    let without_mark = text.strip_prefix('\u{feff}');
    if without_mark.is_some() {
        findings.push(Finding::warning(
            Some(1),
            "it begins with a byte order mark; other programs may not find its front matter",
        ));
    }
    let text = without_mark.unwrap_or(text);
    let Some(parts) = by_lines(text).or_else(|| by_fences(text)) else {
        let what = match text.starts_with("---") {
            true => "its front matter is not closed by a line with ---",
            false => "it does not begin with front matter (a line with ---)",
        };
        findings.push(Finding::warning(Some(1), what));
        return FrontMatter { entries: Vec::new(), body: text, is_yaml: false, findings };
    };
    if by_fences(text).is_some_and(|fenced| fenced.front != parts.front) {
        findings.push(Finding::warning(None, "--- inside its front matter; other programs end the front matter there"));
    }
    let parsed = yaml::parse(parts.front);
    let is_yaml = parsed.is_ok();
    let entries = match parsed {
        Ok(Document { root: Some(Node { value: Value::Map(entries), .. }), .. }) => entries,
        Ok(_) => {
            findings.push(Finding::warning(Some(1), "its front matter has no fields (name: …)"));
            Vec::new()
        }
        Err(At { line, text }) => {
            let text = format!("its front matter is not YAML: {text}; read line by line instead");
            findings.push(Finding::warning(Some(line), text));
            line_by_line(parts.front)
        }
    };
    FrontMatter { entries, body: parts.body, is_yaml, findings }
}

/// Front matter between two lines that are `---`: what people mean.
fn by_lines(text: &str) -> Option<Parts<'_>> {
    let rest = text.strip_prefix("---")?;
    let (first, _) = rest.split_once('\n')?;
    if !first.trim().is_empty() {
        return None;
    }
    let mut place = 0;
    for line in rest.split_inclusive('\n') {
        if place > 0 && line.trim_end() == "---" {
            return Some(Parts { front: rest.get(..place)?, body: rest.get(place + line.len()..)? });
        }
        place += line.len();
    }
    None
}

/// Front matter between the first two `---`, wherever they are: what the specification's validator takes.
pub(crate) fn by_fences(text: &str) -> Option<Parts<'_>> {
    let (front, body) = text.strip_prefix("---")?.split_once("---")?;
    Some(Parts { front, body })
}

fn read_entries(entries: &[Entry], findings: &mut Vec<Finding>) -> Front {
    let mut front = Front::default();
    for Entry { key, value } in entries {
        let Value::Text(name) = &key.value else { continue };
        let line = Some(key.line);
        let text = text_of(value).map(|text| strip(text).to_string()).filter(|text| !text.is_empty());
        match name.as_str() {
            // Of a field that comes twice the first one holds.
            "name" => front.name = front.name.take().or(text),
            "description" => front.description = front.description.take().or(text),
            "license" => front.license = front.license.take().or(text),
            "compatibility" => front.compatibility = front.compatibility.take().or(text),
            "allowed-tools" if front.allowed_tools.is_empty() => front.allowed_tools = tool_list(value),
            "metadata" if front.metadata.is_empty() => front.metadata = metadata(value),
            DISABLE_MODEL_INVOCATION => {
                let says = text.as_deref().and_then(truth);
                if says.is_none() {
                    findings.push(Finding::warning(line, format!("{name} is neither true nor false; taken as true")));
                }
                front.disable_model_invocation |= says.unwrap_or(true);
            }
            _ => {}
        }
    }
    if let Some(said) = front.metadata.get(EFFECT) {
        let known = effect(said);
        if known.is_none() {
            findings.push(Finding::warning(None, format!("there is no metadata.effect {said:?}; the strictest holds")));
        }
        front.effect = known.unwrap_or_default();
    }
    front
}

pub(crate) fn text_of(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        Value::Special(_) | Value::Alias | Value::List(_) | Value::Map(_) => None,
    }
}

/// Whether a text says yes or no.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" => Some(true),
        "false" | "no" => Some(false),
        _ => None,
    }
}

/// What a skill may declare of its effect.
pub(crate) const EFFECTS: [(&str, EffectClass); 6] = [
    ("read-only", EffectClass::ReadOnly),
    ("idempotent", EffectClass::Idempotent),
    ("local-write", EffectClass::LocalWrite),
    ("message-send", EffectClass::MessageSend),
    ("process-control", EffectClass::ProcessControl),
    ("ui-control", EffectClass::UiControl),
];

/// The effect that a text declares.
pub(crate) fn effect(said: &str) -> Option<EffectClass> {
    EFFECTS.iter().find(|(name, _)| *name == strip(said)).map(|(_, effect)| *effect)
}

/// `Read, Bash(git add:*)`, `Read Bash(git add:*)` or a list of such.
pub fn tool_list(value: &Node) -> Vec<String> {
    let items: Vec<&str> = match &value.value {
        Value::List(items) => items.iter().filter_map(text_of).collect(),
        _ => text_of(value).into_iter().collect(),
    };
    let mut found = Vec::new();
    for item in items {
        let (mut tool, mut depth) = (String::new(), 0_usize);
        for c in item.chars().chain([' ']) {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && (c == ',' || c.is_whitespace()) {
                found.extend(Some(std::mem::take(&mut tool)).filter(|tool| !tool.is_empty()));
            } else {
                tool.push(c);
            }
        }
        // A bracket was never closed.
        found.extend(Some(tool.trim().to_string()).filter(|tool| !tool.is_empty()));
    }
    found
}

fn metadata(value: &Node) -> BTreeMap<String, String> {
    let Value::Map(entries) = &value.value else { return BTreeMap::new() };
    let texts = entries.iter().filter_map(|entry| Some((text_of(&entry.key)?.into(), text_of(&entry.value)?.into())));
    texts.collect()
}

/// `key: text` at the beginning of lines, with the indented lines that follow. For front matter that is nearly YAML: most often
/// a description with a colon in it.
fn line_by_line(front: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let node = |line: usize, text: &str| Node { line, column: 0, value: Value::Text(text.into()) };
    for (number, line) in (1..).zip(front.lines()) {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let is_name = |name: &&str| !name.is_empty() && name.chars().all(is_letter);
        let field = line.split_once(':').filter(|(name, _)| is_name(name));
        match (field, entries.last_mut()) {
            (Some((name, text)), _) => {
                let text = if matches!(text.trim(), "|" | "|-" | ">" | ">-") { "" } else { unquoted(text.trim()) };
                entries.push(Entry { key: node(number, name), value: node(number, text) });
            }
            (None, Some(Entry { value: Node { value: Value::Text(text), .. }, .. }))
                if line.starts_with([' ', '\t']) =>
            {
                let more = line.trim();
                let space = if text.is_empty() || more.is_empty() { "" } else { " " };
                *text = format!("{text}{space}{more}");
            }
            (None, _) => {}
        }
    }
    entries
}

fn unquoted(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|text: &str| text.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}
