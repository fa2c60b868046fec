//! Source files that no other names: they are not compiled, and tests in them never run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that begin a program or a library of their own, by Cargo's rules.
fn is_root(file: &Path) -> bool {
    let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let folder = file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    ["main", "lib", "build"].contains(&name)
        || ["examples", "bin", "tests", "benches", "fuzz_targets"].contains(&folder)
}

/// Those of the files that are no beginning and that no `mod` of a file beside or above them names.
pub fn unreached(files: &[PathBuf]) -> Vec<&Path> {
    let all: BTreeSet<&Path> = files.iter().map(PathBuf::as_path).collect();
    let is_reached = |file: &Path| {
        let (Some(mut folder), Some(mut name)) = (file.parent(), file.file_stem()) else { return true };
        if name == "mod" {
            let (Some(above), Some(of)) = (folder.parent(), folder.file_name()) else { return true };
            (folder, name) = (above, of);
        }
        let declared = format!("mod {};", name.to_string_lossy());
        let above = [folder.join("mod.rs"), folder.join("main.rs"), folder.join("lib.rs"), folder.with_extension("rs")];
        let names = |text: String| {
            text.lines().any(|line| !line.trim_start().starts_with("//") && line.trim_end().ends_with(&declared))
        };
        above
            .iter()
            .filter(|file| all.contains(file.as_path()))
            .filter_map(|file| fs::read_to_string(file).ok())
            .any(names)
    };
    all.iter().copied().filter(|file| !is_root(file) && !is_reached(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_mod_names_is_found_wherever_it_lies() {
        let place = std::env::temp_dir().join(format!("mainpath-reached-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let file = place.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            file
        };
        let files = [
            write("src/lib.rs", "mod one;\npub mod two;\n#[cfg(test)] mod three;\n// mod lost;\n"),
            write("src/one.rs", ""),
            write("src/two/mod.rs", "pub(crate) mod deep;\n"),
            write("src/two/deep.rs", ""),
            write("src/two/lone.rs", ""),
            write("src/three.rs", "mod below;\n"),
            write("src/three/below.rs", ""),
            write("src/lost.rs", ""),
            write("tests/it/main.rs", "mod named;\n"),
            write("tests/it/named.rs", ""),
            write("tests/it/forgotten.rs", ""),
            write("examples/whole.rs", ""),
        ];
        let found: Vec<PathBuf> =
            unreached(&files).iter().map(|file| file.strip_prefix(&place).unwrap().to_path_buf()).collect();
        fs::remove_dir_all(&place).unwrap();
        let expected = ["src/lost.rs", "src/two/lone.rs", "tests/it/forgotten.rs"];
        assert_eq!(found, expected.map(PathBuf::from));
    }
}
