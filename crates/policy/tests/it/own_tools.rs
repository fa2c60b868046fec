//! The list of Mainpath's own tools names those that exist.

use mainpath_policy::OWN_TOOLS;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The sources of all crates but this one.
fn sources() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<_> = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    folders.retain(|folder| folder.is_dir() && !folder.starts_with(env!("CARGO_MANIFEST_DIR")));
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|end| end == "rs") => {
                    texts.push(fs::read_to_string(path).unwrap())
                }
                false => {}
            }
        }
    }
    texts
}

/// The name and the value of a constant text that a line declares.
fn constant(line: &str) -> Option<(&str, &str)> {
    let line = line.trim().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
    let (name, value) = line.strip_prefix("const ")?.split_once(": ")?;
    let value = value.strip_prefix("&'static str = ").or(value.strip_prefix("&str = "))?;
    Some((name, value.strip_suffix(';')?))
}

#[test]
fn the_list_of_own_tools_names_just_those_that_there_are() {
    let sources = sources();
    let constants: Vec<(&str, &str)> = sources.iter().flat_map(|text| text.lines().filter_map(constant)).collect();
    let texts: BTreeMap<&str, &str> = constants
        .iter()
        .filter_map(|(name, value)| Some((*name, value.strip_prefix('"')?.strip_suffix('"')?)))
        .collect();
    // So a tool declares its name: see `mainpath_tools::Tool`.
    let declared = |line: &&str| line.trim().starts_with("const NAME: &'static str = ");
    let named =
        sources.iter().flat_map(|text| text.lines().filter(declared)).filter_map(constant).map(|(_, value)| value);
    let mut tools: BTreeSet<&str> = named
        .map(|value| {
            let constant = value.rsplit("::").next().unwrap();
            value.strip_prefix('"').map_or_else(|| texts[constant], |text| text.trim_end_matches('"'))
        })
        .collect();
    // These get their names when they are registered.
    for name in ["find_tools", "use_tool", "invoke_workflow"] {
        assert!(sources.iter().any(|text| text.contains(&format!("{name:?}"))) && tools.insert(name), "{name}");
    }
    assert_eq!(OWN_TOOLS.into_iter().collect::<BTreeSet<_>>(), tools);
}
