//! `docs/configuration.md` is made of the schema of `config.toml`, of what `mainpath config` says holds by default, and of
//! `examples/config.toml`, which has every key. After a change: `MAINPATH_BLESS=1 cargo test -p mainpath-cli configuration`, and look
//! at the diff.

use crate::support::Place;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

const BEGINNING: &str = "# Configuration

`config.toml` is in `~/.config/mainpath`, or in the folder that `$MAINPATH_HOME` names. It need not exist, and every key may be
left out. `mainpath config` shows the value of every key and where it comes from; a mistake is told with its line. A flag goes
before the file. [`examples/config.toml`](../examples/config.toml) has every key once; `mainpath schema ConfigFile` is the JSON
Schema for editors. Models and their prices have [files of their own](models.md), rules too ([control.md](control.md)).

Times have a unit: `90s`, `10m`, `12h` or `30d`; rates are written like `10/1m`, ten in a minute. Where a *name of a secret* belongs, the
secret itself is a variable of the environment or an entry of `[secrets]`; `{{secret:NAME}}` stands for one in headers and
variables. In `[limits]`, 0 is no limit.

<!-- Made by `MAINPATH_BLESS=1 cargo test -p mainpath-cli configuration`; change the comments in the code instead. -->
";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The reference while it is written.
struct Reference {
    schema: Value,
    example: toml::Table,
    /// What holds where nobody sets a key.
    usual: BTreeMap<String, String>,
    text: String,
    /// Keys that the example lacks.
    missing: Vec<String>,
}

impl Reference {
    /// A schema without references and without the `null` of what may be left out.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.resolved(self.schema.pointer(&reference[1..]).unwrap());
        }
        let alternatives = schema["anyOf"].as_array().into_iter().flatten();
        let alternative = alternatives.clone().find(|one| one["type"] != "null");
        alternative.filter(|_| alternatives.count() == 2).map_or(schema, |one| self.resolved(one))
    }

    /// The name of the type that a schema refers to.
    fn named(schema: &Value) -> Option<&str> {
        let alternatives = schema["anyOf"].as_array().into_iter().flatten();
        let reference = std::iter::once(schema).chain(alternatives).find_map(|one| one["$ref"].as_str())?;
        reference.strip_prefix("#/$defs/")
    }

    fn type_of(&self, schema: &Value) -> String {
        match Self::named(schema) {
            Some("Time" | "TimeLimit") => return "time".into(),
            Some("Rate" | "CallRate") => return "rate".into(),
            Some("Dollars") => return "dollars, as text".into(),
            Some("Seconds") => return "seconds, 1 to 3600".into(),
            Some("SecretName") => return "name of a secret".into(),
            Some("WebAddress") => return "address".into(),
            Some("ToolNamesText") => return "names of tools".into(),
            Some("InputSchema") => return "table, or path of a JSON file".into(),
            Some("Temperature") => return "number, 0 to 2".into(),
            _ => {}
        }
        let schema = self.resolved(schema);
        if let Some(alternatives) = schema["oneOf"].as_array() {
            let names = |one: &Value| -> Vec<Value> {
                one["enum"].as_array().cloned().unwrap_or_else(|| vec![one["const"].clone()])
            };
            return alternatives.iter().flat_map(names).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        }
        if let Some(names) = schema["enum"].as_array() {
            return names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        }
        let first = schema["type"].as_array().map_or(&schema["type"], |types| &types[0]);
        match first.as_str().unwrap() {
            "array" => format!(
                "list of {}",
                match self.type_of(&schema["items"]).as_str() {
                    "text" => "texts".into(),
                    other => other.to_owned(),
                }
            ),
            "object" => "table of texts".into(),
            "integer" => "whole number".into(),
            "boolean" => "`true`, `false`".into(),
            "string" => "text".into(),
            other => other.to_owned(),
        }
    }

    /// A part of the file with the parts below it. `path` is how it is written, `keys` what leads to its examples.
    fn part(&mut self, schema: &Value, path: &str, examples: &[Value]) {
        let mut rows = String::new();
        let mut below = Vec::new();
        let needed: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let bare = path.trim_matches(['[', ']']).to_owned();
        for (key, field) in schema["properties"].as_object().unwrap() {
            let full = if bare.is_empty() { key.clone() } else { format!("{bare}.{key}") };
            let kind = self.resolved(field).clone();
            let found: Vec<Value> = examples.iter().filter_map(|example| example.get(key).cloned()).collect();
            let has_keys = |schema: &Value| schema["properties"].is_object();
            let inner = self.resolved(&kind["additionalProperties"]).clone();
            let item = self.resolved(&kind["items"]).clone();
            if has_keys(&kind) {
                below.push((kind, format!("[{full}]"), found));
            } else if has_keys(&inner) {
                let each =
                    found.iter().flat_map(|map| map.as_object().into_iter().flatten().map(|(_, one)| one.clone()));
                below.push((inner, format!("[{full}.NAME]"), each.collect()));
            } else if has_keys(&item) {
                let each = found.iter().flat_map(|list| list.as_array().into_iter().flatten().cloned());
                below.push((item, format!("[[{full}]]"), each.collect()));
            } else {
                let example = found.first().map(|value| {
                    let value: toml::Value = serde_json::from_value(value.clone()).unwrap();
                    format!("`{value}`")
                });
                if example.is_none() {
                    self.missing.push(full.clone());
                }
                let (what, said) = without_default(field["description"].as_str().unwrap_or_default());
                let usual = match (self.usual.get(&full), needed.contains(&key.as_str()), said, &field["default"]) {
                    (_, true, ..) => "needed".into(),
                    (Some(usual), ..) => usual.clone(),
                    (None, _, Some(said), _) => said,
                    (None, _, None, Value::Bool(usual)) => usual.to_string(),
                    (None, _, None, _) if kind["type"] == "boolean" => "false".into(),
                    (None, ..) => "none".into(),
                };
                let what = format!("{what}{}", variants(&kind));
                let cells = [self.type_of(field), usual, what, example.unwrap_or_default()]
                    .map(|cell| cell.replace('|', "\\|"));
                writeln!(rows, "| `{key}` | {} |", cells.join(" | ")).unwrap();
            }
        }
        if !rows.is_empty() {
            let title = if path.is_empty() { "At the top".into() } else { format!("`{path}`") };
            let what = about(schema["description"].as_str().unwrap_or_default());
            let head = "| key | type | default | what it does | example |\n|---|---|---|---|---|";
            write!(self.text, "\n## {title}\n\n{what}{head}\n{rows}").unwrap();
        }
        for (schema, path, examples) in below {
            self.part(&schema, &path, &examples);
        }
    }
}

/// What a comment says of a key, and what it says holds without it.
fn without_default(comment: &str) -> (String, Option<String>) {
    let comment = comment.replace('\n', " ");
    if let Some((what, usual)) = comment.split_once(" Default: ") {
        return (what.into(), Some(usual.trim_end_matches('.').into()));
    }
    for ending in [" where nothing is said.", ", without it."] {
        let found = comment.strip_suffix(ending).and_then(|rest| rest.rsplit_once("; "));
        if let Some((what, usual)) = found {
            return (format!("{what}."), Some(usual.trim_start_matches("they are").into()));
        }
    }
    (comment, None)
}

/// What each of the values means that a key may have.
fn variants(schema: &Value) -> String {
    let variants = schema["oneOf"].as_array().into_iter().flatten();
    let said = variants.filter_map(|one| Some((&one["const"], one["description"].as_str()?)));
    said.map(|(name, what)| format!("<br>`{name}`: {}", what.replace('\n', " "))).collect()
}

/// What a comment says of a part, without the name of the part that it begins with.
fn about(comment: &str) -> String {
    let comment = comment.replace('\n', " ");
    let rest = match comment.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        Some((_, rest)) => rest.split_once([':', '.']).map_or("", |(_, rest)| rest),
        None => &comment,
    };
    let mut letters = rest.trim().chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    if first.is_empty() { String::new() } else { format!("{first}{}\n\n", letters.as_str()) }
}

#[test]
fn the_reference_says_what_the_schema_and_the_defaults_say_with_an_example_of_every_key() {
    let place = Place::new();
    let usual = place
        .ok(&["config", "--json"])
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            (row["key"].as_str().unwrap().to_owned(), row["value"].as_str().unwrap().to_owned())
        })
        .collect();
    let example = std::fs::read_to_string(root().join("examples/config.toml")).unwrap();
    let schema: Value = serde_json::from_str(&place.ok(&["schema", "ConfigFile"])).unwrap();
    let mut reference = Reference {
        schema: schema.clone(),
        example: toml::from_str(&example).unwrap(),
        usual,
        text: BEGINNING.into(),
        missing: Vec::new(),
    };
    let examples = [serde_json::to_value(&reference.example).unwrap()];
    reference.part(&schema, "", &examples);
    assert_eq!(reference.missing, [""; 0], "examples/config.toml lacks keys");

    let file = root().join("docs/configuration.md");
    if std::env::var_os("MAINPATH_BLESS").is_some() {
        std::fs::write(&file, &reference.text).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == reference.text,
        "docs/configuration.md is not what the code says; run this with MAINPATH_BLESS=1"
    );
}

#[test]
fn the_example_with_every_key_is_one_that_can_be_used() {
    let place = Place::new();
    place.config(&std::fs::read_to_string(root().join("examples/config.toml")).unwrap());
    place.ok(&["config"]);
    let tools = place.ok(&["tools"]);
    for tool in ["count_words", "translate", "http_request", "json_transform", "web_fetch"] {
        assert!(tools.contains(tool), "{tool} is not in {tools}");
    }
}
