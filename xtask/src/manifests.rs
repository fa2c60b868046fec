//! The rules of manifests: what a face depends on, and tests that no program runs.

use crate::walk;
use std::fs;
use std::path::Path;
use toml::{Table, Value};

/// A face composes nothing: of this project's crates it depends on the host library alone (its tests on what they look at), and the command
/// on the server, which it starts.
pub fn own_parts(face: &str, manifest: &str) -> Vec<String> {
    let Ok(manifest) = manifest.parse::<Table>() else {
        return vec![format!("crates/{face}/Cargo.toml cannot be read")];
    };
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let places = targets.filter_map(Value::as_table).chain([&manifest]);
    let tables = places.filter_map(|place| place.get("dependencies")?.as_table());
    let named = tables.flatten().map(|(key, value)| value.get("package").and_then(Value::as_str).unwrap_or(key));
    let own = named.filter(|name| name.starts_with("mainpath-"));
    let own = own.filter(|name| face != "cli" || *name != "mainpath-server");
    own.map(|name| format!("crates/{face} depends on {name}: a face depends on mainpath alone")).collect()
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
    let told = |file: &std::path::PathBuf| {
        format!("{}: no program runs its tests, as {name} has `test = false`", file.display())
    };
    with_tests.map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_face_is_held_to_the_host_library_however_a_manifest_writes_it() {
        for refused in [
            "[dependencies]\nmainpath-tools.workspace = true",
            "[dependencies.mainpath-tools]\nworkspace = true",
            "[target.'cfg(unix)'.dependencies]\nmainpath-tools.workspace = true",
            "[dependencies]\ntools = { package = \"mainpath-tools\", path = \"../tools\" }",
        ] {
            let expected = "crates/cli depends on mainpath-tools: a face depends on mainpath alone";
            assert_eq!(own_parts("cli", refused), [expected], "{refused}");
        }
        let fine = "[dependencies]\nmainpath.workspace = true\nmainpath-server.workspace = true\n[dev-dependencies]\nmainpath-testkit = \"1\"";
        assert_eq!(own_parts("cli", fine), Vec::<String>::new());
        assert_eq!(own_parts("server", fine).len(), 1);
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
