//! What is depended on: licences, sources and bans as `deny.toml` has them, and the bill of materials (CycloneDX 1.5).

use serde_json::{Value, json};
use spdx::{Expression, ParseMode};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The only place that packages may come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The most crates that the library may be built of, itself and its parts among them, with these features.
const MOST: [(&str, usize); 5] = [("", 110), ("http", 176), ("mcp", 235), ("home", 287), ("people", 296)];

/// `cargo xtask deps`
pub fn deps(root: &Path) -> ExitCode {
    let found = metadata(root).and_then(|metadata| Ok((metadata, Rules::read(&root.join("deny.toml"))?)));
    let (metadata, rules) = match found {
        Ok(found) => found,
        Err(problem) => return failed(&problem),
    };
    let packages = foreign(&metadata);
    let mut problems: Vec<String> = packages.iter().flat_map(|package| rules.problems(package)).collect();
    for (features, most) in MOST {
        match library(root, features) {
            Ok(crates) if crates <= most => {}
            Ok(crates) => {
                problems.push(format!("mainpath with {features:?} is built of {crates} crates, more than {most}"))
            }
            Err(problem) => problems.push(problem),
        }
    }
    problems.iter().for_each(|problem| eprintln!("deps: {problem}"));
    println!("deps: {} packages, {} problems", packages.len(), problems.len());
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `cargo xtask sbom`: what the program is made of, on standard output.
pub fn sbom(root: &Path) -> ExitCode {
    let metadata = match metadata(root) {
        Ok(metadata) => metadata,
        Err(problem) => return failed(&problem),
    };
    let inside = made_of(&metadata, "mainpath-cli");
    let component = |package: &&Value| {
        let (name, version) = (text(package, "name"), text(package, "version"));
        let licences = package
            .get("license")
            .and_then(Value::as_str)
            .map(|expression| json!([{"expression": expression.replace('/', " OR ")}]));
        let hash = checksum(root, name, version).map(|hash| json!([{"alg": "SHA-256", "content": hash}]));
        let mut one = json!({
            "type": "library", "name": name, "version": version, "purl": format!("pkg:cargo/{name}@{version}"),
            "bom-ref": format!("pkg:cargo/{name}@{version}"),
        });
        if let Some(one) = one.as_object_mut() {
            one.extend(licences.map(|licences| ("licenses".into(), licences)));
            one.extend(hash.map(|hash| ("hashes".into(), hash)));
        }
        one
    };
    let components: Vec<Value> =
        foreign(&metadata).iter().filter(|package| inside.contains(text(package, "id"))).map(component).collect();
    let version = env!("CARGO_PKG_VERSION");
    let bom = json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "name": "mainpath", "version": version, "bom-ref": "mainpath"}},
        "components": components,
    });
    println!("{bom:#}");
    ExitCode::SUCCESS
}

/// How many crates the library is built of on Linux with these features. Those of other platforms do not count.
fn library(root: &Path, features: &str) -> Result<usize, String> {
    let args = ["tree", "--locked", "-p", "mainpath", "--no-default-features", "--features", features];
    let more = ["-e", "normal", "--prefix", "none", "--target", "x86_64-unknown-linux-gnu", "--format", "{p}"];
    let done = Command::new("cargo").args(args).args(more).current_dir(root).output();
    let done = done.map_err(|error| format!("cargo tree cannot be run: {error}"))?;
    if !done.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&done.stdout);
    // Name and version; what follows says where it lies, or that it was shown before.
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    Ok(text.lines().filter(|line| !line.is_empty()).map(name).collect::<BTreeSet<_>>().len())
}

fn failed(problem: &str) -> ExitCode {
    eprintln!("deps: {problem}");
    ExitCode::FAILURE
}

fn metadata(root: &Path) -> Result<Value, String> {
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    let done = cargo.args(["metadata", "--format-version", "1", "--locked"]).current_dir(root).output();
    let done = done.map_err(|error| format!("cargo metadata: {error}"))?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).trim().to_string());
    }
    serde_json::from_slice(&done.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// The packages that are not ours.
fn foreign(metadata: &Value) -> Vec<&Value> {
    let all = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    all.filter(|package| package.get("source").is_some_and(|source| !source.is_null())).collect()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The ids of all packages that end in a program: its dependencies, not those of tests and build scripts.
fn made_of<'m>(metadata: &'m Value, program: &str) -> BTreeSet<&'m str> {
    let nodes = || metadata.pointer("/resolve/nodes").and_then(Value::as_array).into_iter().flatten();
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let first = packages.filter(|package| text(package, "name") == program).map(|package| text(package, "id"));
    let mut open: Vec<&str> = first.collect();
    let mut inside = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !inside.insert(id) {
            continue;
        }
        let node = nodes().find(|node| text(node, "id") == id);
        let needs = node.and_then(|node| node.get("deps")).and_then(Value::as_array).into_iter().flatten();
        let is_inside = |dep: &&Value| {
            let kinds = dep.get("dep_kinds").and_then(Value::as_array).into_iter().flatten();
            kinds.into_iter().any(|kind| kind.get("kind").is_none_or(Value::is_null))
        };
        open.extend(needs.filter(is_inside).map(|dep| text(dep, "pkg")));
    }
    inside
}

/// A package's hash as `Cargo.lock` has it.
fn checksum(root: &Path, name: &str, version: &str) -> Option<String> {
    let lock: toml::Table = std::fs::read_to_string(root.join("Cargo.lock")).ok()?.parse().ok()?;
    let packages = lock.get("package")?.as_array()?;
    let is = |package: &&toml::Value, key: &str, wanted: &str| {
        package.get(key).and_then(toml::Value::as_str) == Some(wanted)
    };
    let package = packages.iter().find(|package| is(package, "name", name) && is(package, "version", version))?;
    package.get("checksum")?.as_str().map(String::from)
}

/// What `deny.toml` says.
struct Rules {
    licences: Vec<String>,
    banned: Vec<String>,
}

impl Rules {
    fn read(file: &Path) -> Result<Rules, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let table: toml::Table = text.parse().map_err(|error| format!("{}: {error}", file.display()))?;
        let list = |part: &str, key: &str| table.get(part)?.get(key)?.as_array().cloned();
        let licences = list("licenses", "allow").unwrap_or_default();
        let banned = list("bans", "deny").unwrap_or_default();
        let name = |entry: &toml::Value| entry.get("name").or(Some(entry))?.as_str().map(String::from);
        let licences: Vec<String> = licences.iter().filter_map(name).collect();
        if licences.is_empty() {
            return Err(format!("{} allows no licence", file.display()));
        }
        Ok(Rules { licences, banned: banned.iter().filter_map(name).collect() })
    }

    fn problems(&self, package: &Value) -> Vec<String> {
        let name = format!("{} {}", text(package, "name"), text(package, "version"));
        let mut problems = Vec::new();
        if text(package, "source") != REGISTRY {
            problems.push(format!("{name} comes from {}", text(package, "source")));
        }
        if self.banned.iter().any(|banned| banned == text(package, "name")) {
            problems.push(format!("{name} is banned"));
        }
        let licence = text(package, "license");
        match Expression::parse_mode(licence, ParseMode::LAX) {
            Ok(expression) => {
                let allowed = |needed: &spdx::LicenseReq| self.licences.contains(&needed.to_string());
                if !expression.evaluate(allowed) {
                    problems.push(format!("{name} has the licence {licence:?}, which deny.toml does not allow"));
                }
            }
            Err(error) => problems.push(format!("{name}: its licence {licence:?} cannot be read: {}", error.reason)),
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_of_another_licence_or_source_or_a_banned_one_is_named() {
        let rules = Rules { licences: vec!["MIT".into(), "Apache-2.0".into()], banned: vec!["bad".into()] };
        let package = |name: &str, licence: &str, source: &str| {
            rules.problems(&json!({"name": name, "version": "1.0.0", "license": licence, "source": source}))
        };
        assert_eq!(package("a", "MIT/GPL-3.0", REGISTRY), Vec::<String>::new());
        assert_eq!(package("a", "(GPL-2.0-only OR Apache-2.0) AND MIT", REGISTRY), Vec::<String>::new());
        assert_eq!(
            package("a", "MIT AND GPL-3.0-only", REGISTRY),
            ["a 1.0.0 has the licence \"MIT AND GPL-3.0-only\", which deny.toml does not allow"]
        );
        assert_eq!(package("a", "", REGISTRY).len(), 1);
        assert_eq!(package("bad", "MIT", REGISTRY), ["bad 1.0.0 is banned"]);
        assert_eq!(package("a", "MIT", "git+https://example.org/a"), ["a 1.0.0 comes from git+https://example.org/a"]);
    }
}
