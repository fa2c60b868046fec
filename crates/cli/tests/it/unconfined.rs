//! A machine whose kernel refuses namespaces: `--yes` runs no command there without a sandbox, unless the owner accepts that.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use std::process::Command;

/// A run in a user namespace in which no further one can be made.
fn run(place: &Place, flags: &[&str]) -> (Done, ModelServer) {
    let server = scripted(vec![bash("echo ran >> ran"), Answer::text("Done.")]);
    let mut command = Command::new("unshare");
    place.surround(&mut command);
    let refuse = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -all \"$0\" \"$@\"";
    command.args(["-Ur", "sh", "-c", refuse, env!("CARGO_BIN_EXE_mainpath"), "run", "-m", &server.model()]);
    command.args(flags).arg("Do it.");
    (finish(command, None), server)
}

#[test]
fn without_a_sandbox_yes_runs_no_command() {
    let place = Place::new();
    for flags in [&["--yes"][..], &["--mode", "workspace-write", "--yes"]] {
        let (done, server) = run(&place, flags);
        assert!(done.err.contains("! commands are not run unless you approve each of them:"), "{flags:?}: {done:#?}");
        assert_eq!((done.code, place.text("ran").as_str()), (0, ""), "{flags:?}: {done:#?}");
        let told = server.requests().pop().unwrap().body()["messages"].to_string();
        assert!(told.contains("the sandbox could not be made"), "{told}");
        // The log has it too.
        let traces = place.traces();
        let log = traces.iter().map(|trace| String::from_utf8(place.log(trace)).unwrap()).collect::<String>();
        assert!(log.contains("the sandbox could not be made"), "{log}");
    }
}

#[test]
fn without_a_sandbox_commands_run_where_the_owner_accepts_that() {
    let place = Place::new();
    let (done, _) = run(&place, &["--yes", "--no-sandbox"]);
    assert!(done.err.contains("! commands run without a sandbox:"), "{done:#?}");
    assert_eq!((done.code, place.text("ran").as_str()), (0, "ran\n"), "{done:#?}");
    place.config("no_sandbox = true\n");
    let (done, _) = run(&place, &["--yes"]);
    assert_eq!((done.code, place.text("ran").as_str()), (0, "ran\nran\n"), "{done:#?}");
    // Without --yes they are not allowed.
    let (done, _) = run(&place, &[]);
    assert_eq!(place.text("ran"), "ran\nran\n", "{done:#?}");
}
