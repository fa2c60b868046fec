//! Pipes in the place of files: nothing waits for a writer that never comes.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use std::path::Path;
use std::process::Command;

fn pipe(file: &Path) {
    let _ = std::fs::remove_file(file);
    assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
}

#[test]
fn a_pipe_in_the_place_of_a_file_keeps_nobody_waiting() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Done.")]);
    place.run_on(&server, &["Do it."]);
    let trace = place.trace();
    place.ok(&["ls"]);
    // The index is made anew; what else cannot be read is named.
    let index = place.home.join("index.sqlite");
    assert!(index.is_file());
    pipe(&index);
    assert!(place.ok(&["ls"]).contains("Do it."));
    let key = place.home.join("handles.key");
    let kept = std::fs::read(&key).unwrap();
    pipe(&key);
    place.run(&["run", "Do it."]).fails(1, "handles.key cannot be read: it is not a file");
    std::fs::remove_file(&key).unwrap();
    std::fs::write(&key, kept).unwrap();
    for view in ["meta.json", "state.json"] {
        pipe(&place.file(&trace, view));
        place.run(&["verify", &trace]);
        place.run(&["replay", "--dry-run", &trace]);
        std::fs::remove_file(place.file(&trace, view)).unwrap();
    }
    pipe(&place.work.join(".mcp.json"));
    let done = place.run_on(&scripted(vec![Answer::text("Done.")]), &["Do it."]);
    assert!(done.code == 0 && done.err.contains(".mcp.json: it is not a file"), "{done:#?}");
    std::fs::remove_file(place.work.join(".mcp.json")).unwrap();
    std::fs::create_dir_all(&place.home).unwrap();
    let config = place.home.join("config.toml");
    pipe(&config);
    place.run(&["run", "Do it."]).fails(1, "config.toml cannot be read: it is not a file");
    place.run(&["ls"]);
    std::fs::remove_file(&config).unwrap();
}
