//! The core does no I/O, reads no clock, draws nothing and starts nothing: neither its own code nor what it depends on can.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that `types`, `policy` and `core` may be built with. All of it computes; none of it touches the world.
/// Most of it is `url` with its tables of letters, `toml` and `globset`, which policy reads rules with.
const ALLOWED: [&str; 73] = [
    "aho-corasick",
    "block-buffer",
    "bstr",
    "cfg-if",
    "cpufeatures",
    "crypto-common",
    "digest",
    "displaydoc",
    "dyn-clone",
    "form_urlencoded",
    "generic-array",
    "globset",
    "humantime",
    "icu_collections",
    "icu_locale_core",
    "icu_normalizer",
    "icu_normalizer_data",
    "icu_properties",
    "icu_properties_data",
    "icu_provider",
    "idna",
    "idna_adapter",
    "itoa",
    "litemap",
    "mainpath-core",
    "mainpath-policy",
    "mainpath-types",
    "memchr",
    "percent-encoding",
    "potential_utf",
    "proc-macro2",
    "quote",
    "rable",
    "ref-cast",
    "ref-cast-impl",
    "regex-automata",
    "regex-syntax",
    "schemars",
    "schemars_derive",
    "serde",
    "serde_core",
    "serde_derive",
    "serde_derive_internals",
    "serde_json",
    "serde_spanned",
    "sha2",
    "smallvec",
    "stable_deref_trait",
    "strsim",
    "syn",
    "synstructure",
    "thiserror",
    "thiserror-impl",
    "tinystr",
    "toml",
    "toml_datetime",
    "toml_parser",
    "toml_writer",
    "typenum",
    "unicode-ident",
    "url",
    "utf8_iter",
    "utf_types",
    "winnow",
    "writeable",
    "yoke",
    "yoke-derive",
    "zerofrom",
    "zerofrom-derive",
    "zerotrie",
    "zerovec",
    "zerovec-derive",
    "zmij",
];

/// What a pure crate's source never mentions.
const FOREIGN: [&str; 14] = [
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "Instant",
    "SystemTime::now",
    "Mutex",
    "println!",
    "async fn",
    "extern \"C\"",
    "static mut",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn nothing_that_the_core_is_built_with_can_touch_the_world() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "--package", "mainpath-core", "--edges", "normal", "--prefix", "none"])
        .args(["--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let listed = String::from_utf8(tree.stdout).unwrap();
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"mainpath-types"), "the tree was read: {names:?}");
    let foreign: Vec<&&str> = names.iter().filter(|name| !ALLOWED.contains(name)).collect();
    assert!(foreign.is_empty(), "the core came to depend on {foreign:?}; if that is pure, add it to ALLOWED");
}

#[test]
fn the_pure_crates_mention_nothing_of_the_world() {
    let mut files = Vec::new();
    for pure in ["types", "policy", "core", "json"] {
        sources(&crates().join(pure).join("src"), &mut files);
    }
    assert!(files.len() > 30, "the sources were found: {}", files.len());
    let mut mentions = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            let words = FOREIGN.iter().filter(|word| code.contains(**word));
            mentions.extend(words.map(|word| format!("{}:{number}: {word}", file.display())));
        }
    }
    assert_eq!(mentions, [""; 0]);
}
