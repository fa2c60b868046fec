//! Files and folders of Mainpath's own are for their owner alone under any umask: they are made by the functions of `store/src/private.rs`.

/// Calls that leave the mode to the umask.
const CALLS: [&str; 5] = ["fs::write(", "File::create(", "File::create_new(", "create_dir(", "create_dir_all("];

/// The crates that write what was said in runs.
const CRATES: [&str; 4] = ["crates/mainpath/src/", "crates/cli/src/", "crates/server/src/", "crates/store/src/"];

/// Files that make what is not private, each with the reason.
const ALLOWED: [(&str, &str); 4] = [
    ("crates/cli/src/commands/doctor.rs", "an empty file that is removed at once"),
    ("crates/cli/src/commands/shells.rs", "manual pages"),
    ("crates/cli/src/commands/skills.rs", "a skill of the user's project"),
    ("crates/mainpath/src/what_if/folder.rs", "a copy has the modes of its original"),
];

/// The lines of a source file that leave a mode to the umask, with the call.
pub fn found(name: &str, text: &str) -> Vec<(usize, &'static str)> {
    if !CRATES.iter().any(|folder| name.starts_with(folder)) || ALLOWED.iter().any(|(file, _)| *file == name) {
        return Vec::new();
    }
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines.filter_map(|(number, line)| Some((number, *CALLS.iter().find(|call| line.contains(*call))?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_mode_is_left_to_the_umask_is_found_outside_tests() {
        let text = "// fs::write(\nstd::fs::write(a, b);\n#[cfg(test)]\nmod tests {\nfs::write(a, b);\n}\n";
        assert_eq!(found("crates/cli/src/x.rs", text), [(2, "fs::write(")]);
        assert_eq!(found("crates/tools/src/x.rs", text), []);
        assert_eq!(found(ALLOWED[0].0, text), []);
        assert!(ALLOWED.is_sorted());
    }
}
