//! A stop, while real processes run.

use crate::support::*;
use mainpath_testkit::model_server::Answer;

/// Neither the shell nor what it started hears the first wish.
const DEAF: &str = "trap '' TERM; (while :; do echo beat >> beats; sleep 0.01; done) & echo $$ > pid; sleep 30";

#[test]
fn a_stopped_run_ends_only_when_nothing_of_its_tool_runs_any_more() {
    let answer = |n| if n == 1 { bash(DEAF) } else { Answer::text("Done after all.") };
    let (place, server) = (Place::new(), server(move |request| answer(request.n).into()));
    let mut process = place.start_run(&server, &["--yes", "--json", "Do it."]);
    wait_until("the tool runs", || place.text("pid").ends_with('\n') && !place.text("beats").is_empty());
    assert!(!place.tools().is_empty());
    place.ok(&["stop"]);
    process.event("call_cancelling");
    process.event("run_finished");
    assert_eq!(place.tools(), Vec::<u32>::new());
    let beats = place.text("beats");
    assert_eq!(process.end().code, 130);
    let ends: Vec<_> =
        place.events(&place.trace()).into_iter().filter(|event| event["type"] == "call_resolved").collect();
    assert_eq!(ends.iter().map(|end| &end["data"]["resolution"]).collect::<Vec<_>>(), ["interrupted"]);
    let resumed = place.run(&["resume", "--yes"]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "Done after all.\n"), "{resumed:#?}");
    assert_eq!(server.violations(), Vec::<String>::new());
    assert_eq!(place.text("beats"), beats, "something went on");
}
