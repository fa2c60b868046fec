//! A workspace that holds the home of its user.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::json;
use std::os::unix::fs::symlink;

/// Writes a file with `--yes`, where `HOME` is this folder of the workspace.
fn write_file(place: &Place, home: &str, file: &str) -> Done {
    let call = Answer::call("write_text_file", json!({"path": file, "content": "x"}));
    let server = scripted(vec![call, Answer::text("Done.")]);
    let mut command = place.command(&["run", "--mode", "workspace-write", "--yes", "-m", &server.model(), "Do it."]);
    command.env("HOME", place.work.join(home));
    finish(command, None)
}

#[test]
fn the_start_up_files_of_a_home_inside_the_workspace_are_not_written_unasked() {
    let place = Place::new();
    std::fs::create_dir_all(place.work.join("homes/u")).unwrap();
    symlink("homes/u", place.work.join("link")).unwrap();
    for home in ["homes/u", "link"] {
        for name in [".bashrc", ".gitconfig", ".config/autostart/x.desktop", ".zprofile", ".local/bin/x", "bin/x"] {
            for file in [format!("homes/u/{name}"), format!("link/{name}")] {
                let done = write_file(&place, home, &file);
                assert!(!place.work.join(&file).exists(), "{file}, home {home}: {done:#?}");
            }
        }
    }
    for file in ["homes/u/notes.txt", "homes/.bashrc.txt"] {
        let done = write_file(&place, "homes/u", file);
        assert!(place.work.join(file).exists(), "{file}: {done:#?}");
    }
}
