//! The names under which what calls have kept lies beside the log.

use mainpath_types::{Artifact, CallId};
use std::collections::BTreeSet;

/// The file of each of a call's artifacts: `artifacts/CALL/NAME`. Their names come from tools and servers: what could lead out
/// of the folder, or is no name everywhere, is an underscore; no two are the same.
pub fn artifact_files(call: CallId, artifacts: &[Artifact]) -> Vec<String> {
    let mut used = BTreeSet::new();
    let mut file = |artifact: &Artifact| {
        let name = safe(&artifact.name);
        let numbered = (2..).map(|n: u32| format!("{n}-{name}"));
        // Some file systems do not tell large letters from small ones.
        let free = |name: &String| used.insert(name.to_ascii_lowercase());
        let name = std::iter::once(name.clone()).chain(numbered).find(free).unwrap_or_default();
        format!("artifacts/{call}/{name}")
    };
    artifacts.iter().map(&mut file).collect()
}

/// A name as a file's, of letters, digits, `-`, `_`, `.` and `@`, at most 120, none of the dots at its beginning.
fn safe(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).take(120).collect();
    match plain.trim_start_matches('.') {
        "" => "artifact".into(),
        plain => plain.into(),
    }
}
