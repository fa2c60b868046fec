//! The manifests of the workspace: what each package depends on, and tests that no program runs.

use crate::walk;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A package of the workspace.
pub struct Package {
    /// The folder, relative to the root of the tree.
    pub folder: String,
    /// The name of the package.
    pub name: String,
    /// The packages that its code and its build script depend on, by the name that the code has for each.
    pub needs: BTreeMap<String, String>,
    /// The packages that only its tests, examples and benchmarks depend on, likewise.
    pub dev_needs: BTreeMap<String, String>,
}

impl Package {
    /// Reads a manifest. `workspace` is the manifest at the root, from which dependencies may be inherited.
    ///
    /// # Errors
    ///
    /// The text is not a manifest of a package; the message names the file.
    pub fn read(folder: &str, manifest: &str, workspace: &Table) -> Result<Package, String> {
        let bad = |why: String| format!("{folder}/Cargo.toml cannot be read: {why}");
        let manifest: Table = manifest.parse().map_err(|error: toml::de::Error| bad(error.message().into()))?;
        let name = manifest.get("package").and_then(|package| package.get("name")?.as_str());
        let name = name.ok_or_else(|| bad("it names no package".into()))?.to_string();
        let of = |kinds: &[&str]| dependencies(&manifest, kinds, workspace);
        let needs = of(&["dependencies", "build-dependencies"]);
        Ok(Package { folder: folder.into(), name, needs, dev_needs: of(&["dev-dependencies"]) })
    }

    /// The name without the prefix of the project, as in documents: `core`.
    pub fn short(&self) -> &str {
        short(&self.name)
    }
}

/// The name of a package without the prefix of the project.
pub fn short(package: &str) -> &str {
    package.strip_prefix("mainpath-").unwrap_or(package)
}

/// The dependencies of some kinds, also those of one target alone: the name in code, and the package.
fn dependencies(manifest: &Table, kinds: &[&str], workspace: &Table) -> BTreeMap<String, String> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let places = targets.filter_map(Value::as_table).chain([manifest]);
    let tables = places.flat_map(|place| kinds.iter().filter_map(|kind| place.get(*kind)?.as_table()));
    let inherited = workspace.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let package = |key: &str, value: &Value| {
        let renamed = |value: &Value| value.get("package").and_then(Value::as_str).map(String::from);
        let is_inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
        let above = inherited.filter(|_| is_inherited).and_then(|all| all.get(key));
        renamed(value).or_else(|| renamed(above?)).unwrap_or_else(|| key.into())
    };
    tables.flatten().map(|(key, value)| (key.replace('-', "_"), package(key, value))).collect()
}

/// The packages of the tree.
///
/// # Errors
///
/// A manifest cannot be read; the message names it.
pub fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let text = |folder: &Path| fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let workspace = text(root).parse().map_err(|error| format!("Cargo.toml cannot be read: {error}"))?;
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let mut folders: Vec<String> = crates.map(|entry| format!("crates/{}", entry.file_name().display())).collect();
    folders.extend(["bench".into(), "xtask".into()]);
    folders.sort();
    folders.iter().map(|folder| Package::read(folder, &text(&root.join(folder)), &workspace)).collect()
}

/// Tests in the source of a crate whose library has no test program: no command runs them.
pub fn unrun_tests(name: &str, folder: &Path) -> Vec<String> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let manifest: Table = manifest.parse().unwrap_or_default();
    let has_program = manifest.get("lib").and_then(|lib| lib.get("test")?.as_bool()).unwrap_or(true);
    let mut files = Vec::new();
    if !has_program {
        walk(&folder.join("src"), "rs", &mut files);
    }
    let has_tests = |text: String| ["#[test]", "#[cfg(test)]"].iter().any(|mark| text.contains(mark));
    let with_tests = files.iter().filter(|file| fs::read_to_string(file).is_ok_and(has_tests));
    let told = |file: &PathBuf| format!("{}: no program runs its tests, as {name} has `test = false`", file.display());
    with_tests.map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_found_however_a_manifest_writes_it() {
        let workspace: Table =
            "[workspace.dependencies]\nmainpath-tools = { path = \"a\" }\nours = { package = \"mainpath-tools\", path = \"a\" }"
                .parse()
                .unwrap();
        for (written, key) in [
            ("[dependencies]\nmainpath-tools.workspace = true", "mainpath_tools"),
            ("[dependencies.mainpath-tools]\nworkspace = true", "mainpath_tools"),
            ("[build-dependencies]\nmainpath-tools = \"1\"", "mainpath_tools"),
            ("[target.'cfg(unix)'.dependencies]\nmainpath-tools.workspace = true", "mainpath_tools"),
            ("[dependencies]\ntools = { package = \"mainpath-tools\", path = \"../tools\" }", "tools"),
            ("[dependencies]\nours = { workspace = true, optional = true }", "ours"),
            ("[target.x86_64-unknown-linux-gnu.build-dependencies]\nours.workspace = true", "ours"),
        ] {
            let package =
                Package::read("crates/a", &format!("{written}\n[package]\nname = \"a\""), &workspace).unwrap();
            assert_eq!(package.needs, BTreeMap::from([(key.into(), "mainpath-tools".into())]), "{written}");
            assert_eq!(package.dev_needs, BTreeMap::new(), "{written}");
            let dev = written.replace("build-", "").replace("dependencies", "dev-dependencies");
            let package = Package::read("crates/a", &format!("{dev}\n[package]\nname = \"a\""), &workspace).unwrap();
            assert_eq!(package.dev_needs, BTreeMap::from([(key.into(), "mainpath-tools".into())]), "{dev}");
            assert_eq!(package.needs, BTreeMap::new(), "{dev}");
        }
        let nameless = Package::read("crates/a", "[lib]", &workspace).err();
        assert_eq!(nameless.as_deref(), Some("crates/a/Cargo.toml cannot be read: it names no package"));
    }

    #[test]
    fn a_test_that_no_program_runs_is_found() {
        let folder = std::env::temp_dir().join(format!("mainpath-xtask-unrun-{}", std::process::id()));
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::write(folder.join("src/lib.rs"), "//! A crate.\n#[cfg(test)]\nmod tests {}\n").unwrap();
        let found = |manifest: &str| {
            fs::write(folder.join("Cargo.toml"), manifest).unwrap();
            unrun_tests("x", &folder).len()
        };
        let counts = ["[lib]\ntest = false", "[lib]\n", "[package]\nname = \"x\""].map(found);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(counts, [1, 0, 0]);
    }
}
