//! Whether a skill is as the Agent Skills specification has it (agentskills.io). Its reference validator, `skills-ref` 0.1.1 on
//! PyPI, is the measure: every skill is valid here if and only if it is there. That includes what the specification's text
//! leaves open: that front matter ends at the next `---` wherever it is, and that it is StrictYAML.
//!
//! Known to differ, all of them slips of its YAML reader: the characters U+0085, U+2028 and U+2029 end lines there, text whose
//! `|` or `>` begins a line of its own may be read, a comment may follow a quote without a space, and comments before a value can
//! make it stop with an error of its own.

use crate::finding::Finding;
use crate::front::{DISABLE_MODEL_INVOCATION, EFFECT, EFFECTS, by_fences, effect, line_feeds, text_of, truth};
use crate::names::{is_alphanumeric, normalize, strip};
use crate::open::{self, Problem};
use crate::yaml::{self, At, Entry, Node, Value};
use std::io;
use std::path::{Component, Path, PathBuf};

/// The longest name, in characters.
pub const LONGEST_NAME: usize = 64;
/// The longest description, in characters.
pub const LONGEST_DESCRIPTION: usize = 1024;
/// The longest text on compatibility, in characters.
pub const LONGEST_COMPATIBILITY: usize = 500;
/// The description of a skill that was made to be filled in.
pub const TEMPLATE_DESCRIPTION: &str =
    "What it does. Use it when … (say in which situations, in the words of who asks).";
/// The text of one, below its title.
pub const TEMPLATE_BODY: &str = "1. First …\n2. Then …\n3. Check the result: …\n";
/// The largest file of a skill that is validated, in bytes.
const LARGEST_FILE: u64 = 16 << 20;
/// The names of a skill's file, the preferred one first.
pub(crate) const FILES: [&str; 2] = ["SKILL.md", "skill.md"];
/// The fields of the specification.
const FIELDS: [&str; 6] = ["allowed-tools", "compatibility", "description", "license", "metadata", "name"];

/// Which rules a skill is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// The Agent Skills specification.
    Spec,
    /// The specification with our extensions, `disable-model-invocation` and `metadata.effect`. Each of them is a finding, and
    /// no error. What was made to be filled in and is not is a warning.
    Ours,
}

/// What is off about the skill in a folder. It is valid if none of this is an error ([`crate::is_valid`]). The folder is named by
/// its path: `.` has no name.
pub fn validate(folder: &Path, strictness: Strictness) -> Vec<Finding> {
    let text = match read(folder, strictness) {
        Ok(text) => text,
        Err(error) => return vec![Finding::error(None, error.to_string())],
    };
    validate_text(&text, Some(&name_of(folder)), strictness)
}

/// Why the file of a skill cannot be read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("it is not a folder")]
    NotAFolder,
    #[error("the folder cannot be read: {0}")]
    Folder(#[from] io::Error),
    #[error("there is no SKILL.md in the folder")]
    NoFile,
    #[error("{0}: it is a link, which is not loaded in a project")]
    Link(String),
    #[error("{file}: {problem}")]
    File { file: String, problem: Problem },
}

fn read(folder: &Path, strictness: Strictness) -> Result<String, ReadError> {
    if !folder.metadata()?.is_dir() {
        return Err(ReadError::NotAFolder);
    }
    let mut files = FILES.iter().map(|name| folder.join(name));
    let Some(file): Option<PathBuf> = files.find(|file| file.exists()) else {
        return Err(ReadError::NoFile);
    };
    // The specification says nothing of links.
    if strictness == Strictness::Ours && file.is_symlink() {
        return Err(ReadError::Link(name_of(&file)));
    }
    let of_file = |problem: Problem| ReadError::File { file: name_of(&file), problem };
    let bytes = open::read_whole(open::open_regular(&file).map_err(of_file)?, LARGEST_FILE).map_err(of_file)?;
    String::from_utf8(bytes).map_err(|_| of_file(Problem::NotText))
}

/// The last part of a path as it is written.
fn name_of(path: &Path) -> String {
    match path.components().next_back() {
        Some(Component::Normal(name)) => name.to_string_lossy().into_owned(),
        Some(Component::ParentDir) => "..".into(),
        _ => String::new(),
    }
}

/// What is off about the text of a skill's file, in a folder of this name if it is in one.
pub fn validate_text(text: &str, folder: Option<&str>, strictness: Strictness) -> Vec<Finding> {
    let text = line_feeds(text);
    let Some(parts) = by_fences(&text) else {
        let what = match text.starts_with("---") {
            true => "the front matter is not closed by ---",
            false if text.starts_with('\u{feff}') => "the file begins with a byte order mark; remove it",
            false => "the file must begin with front matter: a line with ---, fields, and a line with ---",
        };
        return vec![Finding::error(Some(1), what)];
    };
    let document = match yaml::parse(parts.front) {
        Ok(document) => document,
        Err(At { line, text }) => {
            return vec![Finding::error(Some(line), format!("the front matter is not YAML: {text}"))];
        }
    };
    let refused = document.refused.into_iter();
    let mut findings: Vec<Finding> = refused
        .map(|At { line, text }| Finding::error(Some(line), format!("front matter must not have {text}")))
        .collect();
    match document.root {
        Some(Node { value: Value::Map(entries), .. }) => findings.extend(check_fields(&entries, folder, strictness)),
        _ => findings.push(Finding::error(Some(1), "the front matter must be fields: name: …, description: …")),
    }
    if strictness == Strictness::Ours && parts.body.contains(TEMPLATE_BODY) {
        findings.push(Finding::warning(None, "its steps are still the template's; write what is to be done"));
    }
    findings
}

fn check_fields(entries: &[Entry], folder: Option<&str>, strictness: Strictness) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Entry { key, value } in entries {
        // Other keys were refused above, but for merges, which the reference validator leaves out.
        let Value::Text(name) = &key.value else { continue };
        let line = Some(key.line);
        match name.as_str() {
            "name" => findings.extend(check_name(value, folder)),
            "description" => {
                findings.extend(check_description(value));
                if strictness == Strictness::Ours && text_of(value).map(strip) == Some(TEMPLATE_DESCRIPTION) {
                    let text = "the description is still the template's; say what the skill does and when to use it";
                    findings.push(Finding::warning(Some(value.line), text));
                }
            }
            "compatibility" => findings.extend(check_compatibility(value)),
            "metadata" if strictness == Strictness::Ours => findings.extend(check_effect(value)),
            DISABLE_MODEL_INVOCATION if strictness == Strictness::Ours => {
                findings.push(Finding::extension(line, format!("{name} is an extension of Mainpath and others")));
                if text_of(value).and_then(truth).is_none() {
                    findings.push(Finding::error(line, format!("{name} must be true or false")));
                }
            }
            name if FIELDS.contains(&name) => {}
            name => {
                let text = format!("unknown field {name:?}; possible are {}", FIELDS.join(", "));
                findings.push(Finding::error(line, text));
            }
        }
    }
    for needed in ["name", "description"] {
        if !entries.iter().any(|entry| text_of(&entry.key) == Some(needed)) {
            findings.push(Finding::error(None, format!("the field {needed} is missing")));
        }
    }
    findings
}

fn check_name(value: &Node, folder: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut wrong = |text: String| findings.push(Finding::error(Some(value.line), text));
    let name = normalize(strip(text_of(value).unwrap_or_default()));
    if name.is_empty() {
        wrong("name must be text that is not empty".into());
        return findings;
    }
    let length = name.chars().count();
    if length > LONGEST_NAME {
        wrong(format!("the name has {length} characters; the most is {LONGEST_NAME}"));
    }
    if name != name.to_lowercase() {
        wrong(format!("the name {name:?} must be in lower case"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        wrong(format!("the name {name:?} must not begin or end with a hyphen"));
    }
    if name.contains("--") {
        wrong(format!("the name {name:?} must not have two hyphens in a row"));
    }
    if !name.chars().all(|c| is_alphanumeric(c) || c == '-') {
        wrong(format!("the name {name:?} must have only letters, digits and hyphens"));
    }
    if let Some(folder) = folder.filter(|folder| normalize(folder) != name) {
        wrong(format!("the name {name:?} is not that of its folder, {folder:?}"));
    }
    findings
}

fn check_description(value: &Node) -> Vec<Finding> {
    let line = Some(value.line);
    let text = text_of(value).unwrap_or_default();
    let length = text.chars().count();
    if strip(text).is_empty() {
        vec![Finding::error(line, "description must be text that is not empty")]
    } else if length > LONGEST_DESCRIPTION {
        vec![Finding::error(
            line,
            format!("the description has {length} characters; the most is {LONGEST_DESCRIPTION}"),
        )]
    } else {
        Vec::new()
    }
}

fn check_compatibility(value: &Node) -> Vec<Finding> {
    let line = Some(value.line);
    match text_of(value).map(|text| text.chars().count()) {
        None => vec![Finding::error(line, "compatibility must be text")],
        Some(length) if length > LONGEST_COMPATIBILITY => {
            vec![Finding::error(
                line,
                format!("compatibility has {length} characters; the most is {LONGEST_COMPATIBILITY}"),
            )]
        }
        Some(_) => Vec::new(),
    }
}

/// Our entry of `metadata`: for the specification it is an entry like any other.
fn check_effect(value: &Node) -> Vec<Finding> {
    let Value::Map(entries) = &value.value else { return Vec::new() };
    let Some(Entry { key, value }) = entries.iter().find(|entry| text_of(&entry.key) == Some(EFFECT)) else {
        return Vec::new();
    };
    let line = Some(key.line);
    let mut findings = vec![Finding::extension(line, "metadata.effect is an extension of Mainpath")];
    if text_of(value).and_then(effect).is_none() {
        let possible = EFFECTS.map(|(name, _)| name).join(", ");
        findings.push(Finding::error(line, format!("metadata.effect must be one of {possible}")));
    }
    findings
}
