//! The forms of files that hold presets, taken apart into fields: Markdown with front matter, TOML, and tables of several presets in JSON or
//! YAML.

use super::preset::Remark;
use mainpath_skills::{At, Entry, FrontMatter, Node, Value, front_matter, parse};
use toml::de::{DeTable, DeValue};

/// Whose form a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Mainpath's own: what it does not know is a mistake.
    Own,
    /// Claude Code's Markdown.
    Claude,
    /// Codex's TOML, or Markdown beside it.
    Codex,
    /// A table of several.
    Table,
}

impl Form {
    /// Whether it may say what means nothing here.
    pub fn is_foreign(self) -> bool {
        self != Form::Own
    }
}

/// A preset as it is written.
pub(super) struct Written<'t> {
    pub form: Form,
    /// Its name, where its fields give none.
    pub name: String,
    /// Where it begins.
    pub line: usize,
    pub entries: Vec<Entry>,
    /// What follows its fields.
    pub body: &'t str,
    pub faults: Vec<Remark>,
    pub notes: Vec<Remark>,
}

impl<'t> Written<'t> {
    fn new(form: Form, name: &str) -> Written<'t> {
        let (entries, faults, notes) = Default::default();
        Written { form, name: name.into(), line: 1, entries, body: "", faults, notes }
    }
}

/// Markdown with front matter. `stem`: the file's name without its end.
pub(super) fn markdown<'t>(text: &'t str, stem: &str, form: Form) -> Written<'t> {
    let FrontMatter { entries, body, is_yaml, findings } = front_matter(text);
    let remarks = findings.into_iter().map(|finding| Remark { line: finding.line, text: finding.text });
    // Front matter that is nearly YAML is what other programs write; what it says of tools is held to their names in any case.
    let is_usable = !entries.is_empty() && (is_yaml || form.is_foreign());
    let (faults, notes) = if is_usable { (Vec::new(), remarks.collect()) } else { (remarks.collect(), Vec::new()) };
    Written { entries, body, faults, notes, ..Written::new(form, stem) }
}

/// One preset in TOML.
pub(super) fn toml<'t>(text: &'t str, stem: &str) -> Written<'t> {
    let mut written = Written::new(Form::Codex, stem);
    let line = |at: usize| line_at(text, at);
    match DeTable::parse(text) {
        Ok(table) => written.entries = entries_of(table.get_ref(), &line),
        Err(error) => {
            let at = error.span().map_or(1, |span| line(span.start));
            written.faults.push(Remark { line: Some(at), text: error.message().into() });
        }
    }
    written
}

fn line_at(text: &str, at: usize) -> usize {
    text.get(..at).map_or(1, |before| before.matches('\n').count() + 1)
}

fn entries_of(table: &DeTable<'_>, line: &dyn Fn(usize) -> usize) -> Vec<Entry> {
    let entry = |(name, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| Entry {
        key: Node { line: line(name.span().start), column: 0, value: Value::Text(name.get_ref().to_string()) },
        value: node_of(value, line),
    };
    let mut entries: Vec<Entry> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.key.line);
    entries
}

fn node_of(value: &toml::Spanned<DeValue<'_>>, line: &dyn Fn(usize) -> usize) -> Node {
    let own = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => Value::Text(number.to_string()),
        DeValue::Float(number) => Value::Text(number.to_string()),
        DeValue::Boolean(flag) => Value::Text(flag.to_string()),
        DeValue::Datetime(time) => Value::Text(time.to_string()),
        DeValue::Array(items) => Value::List(items.iter().map(|item| node_of(item, line)).collect()),
        DeValue::Table(table) => Value::Map(entries_of(table, line)),
    };
    Node { line: line(value.span().start), column: 0, value: own }
}

/// What a file is that may hold a table of presets.
pub(super) enum Table<'t> {
    /// They.
    Presets(Vec<Written<'t>>),
    /// It cannot be read.
    Broken(Remark),
    /// It is about something else.
    Other,
}

/// The names of fields by which a table of presets is told from others.
const TELLING: [&str; 13] = [
    "allowed_tools",
    "backstory",
    "denied_tools",
    "description",
    "goal",
    "instructions",
    "max_iterations",
    "max_turns",
    "role",
    "skills",
    "system_prompt",
    "temperature",
    "tools",
];

/// A table of presets by their names, in YAML or in JSON, which is YAML as well.
pub(super) fn table(text: &str) -> Table<'_> {
    let root = match parse(text) {
        Ok(document) => document.root,
        Err(At { line, text }) => return Table::Broken(Remark { line: Some(line), text }),
    };
    let Some(Node { value: Value::Map(mut entries), .. }) = root else { return Table::Other };
    if let [Entry { key, value: Node { value: Value::Map(inner), .. } }] = entries.as_slice()
        && matches!(&key.value, Value::Text(name) if matches!(name.as_str(), "presets" | "agents"))
    {
        entries = inner.clone();
    }
    let tells = |entry: &Entry| match &entry.value.value {
        Value::Map(fields) => {
            fields.iter().any(|field| matches!(&field.key.value, Value::Text(name) if TELLING.contains(&name.as_str())))
        }
        _ => false,
    };
    if !entries.iter().any(tells) {
        return Table::Other;
    }
    let mut presets: Vec<Written<'_>> = Vec::new();
    for Entry { key, value } in entries {
        let Value::Text(name) = key.value else { continue };
        let mut written = Written { line: key.line, ..Written::new(Form::Table, &name) };
        let mut fault = |text: String| written.faults.push(Remark { line: Some(key.line), text });
        if presets.iter().any(|known| known.name == name) {
            fault(format!("{name} stands here for the second time"));
        }
        match value.value {
            Value::Map(entries) => written.entries = entries,
            _ => fault(format!("{name}: expected the fields of a preset")),
        }
        presets.push(written);
    }
    Table::Presets(presets)
}
