//! The rule of layers: which crate depends on which, written in `xtask/layers.toml`.

use crate::manifests::{Package, short};
use std::collections::{BTreeMap, BTreeSet};

/// The file of the layers, from the root of the tree.
pub const FILE: &str = "xtask/layers.toml";

/// The crates that the tests of every crate may use.
const FOR_TESTS: &str = "testkit";

/// The crate that faces depend on.
const HOST: &str = "mainpath";

type Layers = BTreeMap<String, Vec<String>>;

/// The packages that depend on the host library: the command, the server and what follows them.
pub fn faces(packages: &[Package]) -> impl Iterator<Item = &Package> {
    packages.iter().filter(|package| package.needs.values().any(|needed| needed == HOST))
}

/// Returns the differences between the manifests and the file with the text `written`, and the rules that either breaks.
pub fn problems(packages: &[Package], written: &str) -> Vec<String> {
    let layers: Layers = match toml::from_str(written) {
        Ok(layers) => layers,
        Err(error) => return vec![format!("{FILE} cannot be read: {}", error.message())],
    };
    let own: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut problems = Vec::new();
    for package in packages {
        let (name, folder) = (package.short(), &package.folder);
        let Some(allowed) = layers.get(name) else {
            problems.push(format!("{FILE} has no line for {name}: write which crates of the project it depends on"));
            continue;
        };
        let of = |needs: &'_ BTreeMap<String, String>| -> BTreeSet<String> {
            needs.values().filter(|needed| own.contains(needed.as_str())).map(|needed| short(needed).into()).collect()
        };
        let needs = of(&package.needs);
        for needed in needs.iter().filter(|needed| !allowed.contains(needed)) {
            problems.push(format!("{folder} depends on {needed}, which is not in its line of {FILE}"));
        }
        for unused in allowed.iter().filter(|allowed| !needs.contains(*allowed)) {
            problems.push(format!("{folder} does not depend on {unused}: delete it from the line of {name} in {FILE}"));
        }
        for needed in of(&package.dev_needs) {
            if needed != name && needed != FOR_TESTS && is_built_on(&layers, &needed, name) {
                problems.push(format!("the tests of {folder} depend on {needed}, which is built on {name}"));
            }
        }
    }
    let beside: BTreeSet<&str> = faces(packages).map(|face| face.name.as_str()).chain([HOST]).collect();
    for face in faces(packages) {
        let inner =
            face.needs.values().filter(|needed| own.contains(needed.as_str()) && !beside.contains(needed.as_str()));
        for needed in inner.map(|needed| short(needed)) {
            let folder = &face.folder;
            problems.push(format!("{folder} depends on {needed}: a face depends on {HOST} and on other faces alone"));
        }
    }
    for name in layers.keys().filter(|name| !packages.iter().any(|package| package.short() == *name)) {
        problems.push(format!("{FILE} has a line for {name}, which is not a crate: delete it"));
    }
    problems
}

/// Returns true if a crate depends on another, directly or not.
fn is_built_on(layers: &Layers, upper: &str, lower: &str) -> bool {
    let (mut open, mut seen) = (vec![upper], BTreeSet::new());
    while let Some(name) = open.pop() {
        for needed in layers.get(name).into_iter().flatten() {
            if needed == lower {
                return true;
            }
            open.extend(Some(needed.as_str()).filter(|needed| seen.insert(*needed)));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::Table;

    const WRITTEN: &str = "types = []\ncore = ['types']\nmainpath = ['core']\nserver = ['mainpath']\ncli = ['mainpath', 'server']\ntestkit = ['core']";

    fn packages(changed: &[(&str, &str)]) -> Vec<Package> {
        let on = |name: &str| format!("[dependencies]\n{name}.workspace = true\n");
        let usual = [
            ("types", String::new()),
            ("core", on("mainpath-types") + "[dev-dependencies]\nmainpath-testkit.workspace = true\n"),
            ("mainpath", on("mainpath-core")),
            ("server", on("mainpath")),
            ("cli", on("mainpath") + "mainpath-server.workspace = true\nserde = '1'\n"),
            ("testkit", on("mainpath-core")),
        ];
        let manifest = |(name, usual): (&str, String)| {
            let other = changed.iter().find(|(changed, _)| *changed == name).map(|(_, manifest)| manifest.to_string());
            let package = if name == "mainpath" { name.into() } else { format!("mainpath-{name}") };
            let text = format!("{}\n[package]\nname = '{package}'", other.unwrap_or(usual));
            Package::read(&format!("crates/{name}"), &text, &Table::new()).unwrap()
        };
        usual.into_iter().map(manifest).collect()
    }

    fn found(name: &str, manifest: &str) -> Vec<String> {
        problems(&packages(&[(name, manifest)]), WRITTEN)
    }

    #[test]
    fn manifests_that_are_as_written_have_no_problem() {
        assert_eq!(problems(&packages(&[]), WRITTEN), Vec::<String>::new());
        let names = |package: &Package| package.name.clone();
        assert_eq!(faces(&packages(&[])).map(names).collect::<Vec<_>>(), ["mainpath-server", "mainpath-cli"]);
    }

    #[test]
    fn a_dependency_that_is_not_written_is_refused_in_every_table() {
        let expected = ["crates/types depends on core, which is not in its line of xtask/layers.toml"];
        for manifest in [
            "[dependencies]\nmainpath-core.workspace = true",
            "[build-dependencies]\nmainpath-core.workspace = true",
            "[target.'cfg(unix)'.dependencies]\nmainpath-core.workspace = true",
            "[dependencies]\nmachine = { package = 'mainpath-core', path = '../core', optional = true }",
        ] {
            assert_eq!(found("types", manifest), expected, "{manifest}");
        }
    }

    #[test]
    fn a_written_dependency_that_no_manifest_has_is_refused() {
        let expected = "crates/core does not depend on types: delete it from the line of core in xtask/layers.toml";
        assert_eq!(found("core", ""), [expected]);
        assert_eq!(
            problems(&packages(&[]), &format!("{WRITTEN}\ngone = []")),
            ["xtask/layers.toml has a line for gone, which is not a crate: delete it"]
        );
        assert_eq!(
            problems(&packages(&[]), &WRITTEN.replace("types = []\n", "")),
            ["xtask/layers.toml has no line for types: write which crates of the project it depends on"]
        );
    }

    #[test]
    fn tests_depend_on_nothing_that_is_built_on_their_crate_but_the_testkit() {
        let tests = |needed: &str| {
            let usual = "[dependencies]\nmainpath-types.workspace = true\n";
            found("core", &format!("{usual}[target.'cfg(unix)'.dev-dependencies]\n{needed}.workspace = true"))
        };
        assert_eq!(tests("mainpath-cli"), ["the tests of crates/core depend on cli, which is built on core"]);
        assert_eq!(tests("mainpath"), ["the tests of crates/core depend on mainpath, which is built on core"]);
        for allowed in ["mainpath-core", "mainpath-types", "mainpath-testkit", "serde"] {
            assert_eq!(tests(allowed), Vec::<String>::new(), "{allowed}");
        }
    }

    #[test]
    fn a_face_depends_on_no_inner_crate_even_if_that_is_written() {
        let face = "[dependencies]\nmainpath.workspace = true\nmainpath-core.workspace = true";
        let written = WRITTEN.replace("server = ['mainpath']", "server = ['core', 'mainpath']");
        let expected = "crates/server depends on core: a face depends on mainpath and on other faces alone";
        assert_eq!(problems(&packages(&[("server", face)]), &written), [expected]);
    }
}
