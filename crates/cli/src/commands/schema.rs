//! `mainpath schema`: the JSON Schema of every type that crosses a boundary.
//!
//! The program has them as a file, `schemas.json`, where each type stands once: as code they would be much of it. What is built with debug
//! assertions makes them of the types, and a test holds the file to that. After a change of a type:
//! `MAINPATH_BLESS=1 cargo test -p mainpath-cli the_schemas_in_the_program`, and look at the diff.

use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use crate::ui::suggest::nearest;
use clap::Args;
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// `mainpath schema`
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// The type, such as Event [default: all]
    pub name: Option<String>,
}

/// Other names of types, by which people look for them.
const ALIASES: [(&str, &str); 2] = [("Context", "Packed"), ("CallRecord", "Call")];

/// Where a schema has those that it refers to.
const DEFINITIONS: &str = "#/$defs/";

/// A type's schema with all that it refers to.
#[derive(Debug, PartialEq)]
struct Named {
    name: String,
    schema: Value,
}

/// Schemas, each once.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The names of those that are printed, in order.
    names: Vec<String>,
    /// All, also those that are only referred to.
    schemas: BTreeMap<String, Value>,
}

/// `mainpath schema`
pub fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let all = if cfg!(debug_assertions) { made() } else { kept()?.parted() };
    let named = args.name.as_ref().filter(|name| !name.eq_ignore_ascii_case("all"));
    let Some(wanted) = named else {
        let all: Map<String, Value> = all.into_iter().map(|one| (one.name, one.schema)).collect();
        out(&format!("{:#}", Value::Object(all)))?;
        return Ok(Exit::Ok);
    };
    let other = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(wanted)).map(|(_, name)| *name);
    let found = all.iter().find(|one| one.name.eq_ignore_ascii_case(other.unwrap_or(wanted)));
    let names = || all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    let none = || {
        let near = nearest(wanted, all.iter().map(|one| one.name.as_str()));
        let all = near.map_or_else(|| "there are".into(), |name| format!("did you mean {name}? There are"));
        Failure::usage(format!("there is no type {wanted:?}; {all}: {}", names()))
    };
    let found = found.ok_or_else(none)?;
    out(&format!("{:#}", found.schema))?;
    Ok(Exit::Ok)
}

/// They as the types say.
fn made() -> Vec<Named> {
    let mut all = mainpath::types::schema::all();
    all.extend(mainpath::core::schemas());
    all.push(("ConfigFile", mainpath::home::ConfigFile::schema()));
    all.into_iter().map(|(name, schema)| Named { name: name.into(), schema: schema.to_value() }).collect()
}

/// They as this program has them.
fn kept() -> Result<Kept, Failure> {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.json.gz")).as_slice();
    serde_json::from_reader(GzDecoder::new(packed)).map_err(|error| Failure::error(error.to_string()))
}

impl Kept {
    /// Each with all that it refers to.
    fn parted(&self) -> Vec<Named> {
        self.names.iter().filter_map(|name| Some(Named { name: name.clone(), schema: self.whole(name)? })).collect()
    }

    fn whole(&self, name: &str) -> Option<Value> {
        let mut whole = self.schemas.get(name)?.clone();
        let mut found: BTreeMap<String, Value> = BTreeMap::new();
        let mut open = names_in(&mut whole, name);
        while let Some(next) = open.pop() {
            if found.contains_key(&next) {
                continue;
            }
            let mut schema = self.schemas.get(&next)?.clone();
            open.extend(names_in(&mut schema, name));
            found.insert(next, schema);
        }
        let fields = whole.as_object_mut()?;
        fields.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        fields.insert("title".into(), name.into());
        if !found.is_empty() {
            fields.insert("$defs".into(), Value::Object(found.into_iter().collect()));
        }
        Some(whole)
    }
}

/// The schemas that a part refers to. What refers to the whole itself is made to say so.
fn names_in(part: &mut Value, whole: &str) -> Vec<String> {
    let mut names = Vec::new();
    match part {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("$ref", Value::String(to)) => match to.strip_prefix(DEFINITIONS) {
                        Some(name) if name == whole => *to = "#".into(),
                        Some(name) => names.push(name.into()),
                        None => {}
                    },
                    (_, value) => names.extend(names_in(value, whole)),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| names.extend(names_in(item, whole))),
        _ => {}
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{DEFINITIONS, Kept, kept, made};
    use serde_json::Value;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// What refers to the whole says so by name.
    fn named(part: &mut Value, whole: &str) {
        match part {
            Value::Object(fields) => {
                if let Some(Value::String(to)) = fields.get_mut("$ref").filter(|to| *to == "#") {
                    *to = format!("{DEFINITIONS}{whole}");
                }
                fields.values_mut().for_each(|value| named(value, whole));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| named(item, whole)),
            _ => {}
        }
    }

    fn joined() -> Kept {
        let mut schemas = BTreeMap::new();
        let mut names = Vec::new();
        for one in made() {
            let Value::Object(mut whole) = one.schema else { panic!("{}", one.name) };
            let parts = whole.remove("$defs").and_then(|parts| parts.as_object().cloned()).unwrap_or_default();
            whole.remove("$schema");
            whole.remove("title");
            let whole = [(one.name.clone(), Value::Object(whole))];
            for (name, mut schema) in parts.into_iter().chain(whole) {
                named(&mut schema, &one.name);
                schemas.insert(name, schema);
            }
            names.push(one.name);
        }
        Kept { names, schemas }
    }

    #[test]
    fn the_schemas_in_the_program_are_those_of_the_types() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas.json");
        let text = serde_json::to_string_pretty(&joined()).unwrap() + "\n";
        if std::env::var_os("MAINPATH_BLESS").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        assert!(
            std::fs::read_to_string(&file).unwrap() == text,
            "schemas.json is not what the types say; run this with MAINPATH_BLESS=1"
        );
        assert_eq!(joined().parted(), made());
        // What was just written is in the next build.
        assert!(std::env::var_os("MAINPATH_BLESS").is_some() || kept().unwrap().parted() == made());
    }
}
