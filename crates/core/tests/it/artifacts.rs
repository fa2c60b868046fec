//! The files under which what calls have kept lies beside the log.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

fn files(names: &[&str]) -> Vec<String> {
    let artifact = |name: &&str| Artifact {
        name: (*name).into(),
        hash: BlobHash::try_from("0".repeat(64)).unwrap(),
        bytes: 4,
        media_type: "text/plain".into(),
    };
    artifact_files(call("2.0"), &names.iter().map(artifact).collect::<Vec<_>>())
}

#[test]
fn a_file_has_the_name_of_what_was_kept() {
    assert_eq!(
        files(&["stdout", "page-2_of@site.html"]),
        ["artifacts/2.0/stdout", "artifacts/2.0/page-2_of@site.html"]
    );
}

#[test]
fn no_name_leads_out_of_the_folder_or_hides_a_file() {
    assert_eq!(
        files(&["../../etc/passwd", "..", "", ".profile", "a b\\c:\n", "日本"]),
        [
            "artifacts/2.0/_.._etc_passwd",
            "artifacts/2.0/artifact",
            "artifacts/2.0/2-artifact",
            "artifacts/2.0/profile",
            "artifacts/2.0/a_b_c__",
            "artifacts/2.0/__",
        ]
    );
    assert_eq!(files(&["x".repeat(500).as_str()]), [format!("artifacts/2.0/{}", "x".repeat(120))]);
}

#[test]
fn no_two_files_have_the_same_name_in_any_case() {
    assert_eq!(
        files(&["out", "Out", "out", "2-out"]),
        ["artifacts/2.0/out", "artifacts/2.0/2-Out", "artifacts/2.0/3-out", "artifacts/2.0/2-2-out"]
    );
}
