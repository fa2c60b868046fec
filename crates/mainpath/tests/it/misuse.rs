//! What embedding programs get wrong, and what comes of it: an error that says so, never a run that waits for ever.

use crate::support::{COUNT, Place, WRITE, Words};
use mainpath::prelude::*;
use mainpath::tools::Touches;
use std::time::Duration;

#[tokio::test]
async fn a_program_that_did_not_say_it_is_a_launcher_is_not_started_anew_to_apply_a_filter() {
    let place = Place::new(
        "[[turn]]\ncalls = [{ tool = \"json_transform\", args = { filter = \".a\", input = { a = 1 } } }]\n[[turn]]\nfinal = \"Done.\"\n",
    );
    let home = place.work().parent().unwrap().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("config.toml"), "[tools]\njson_transform = true\n").unwrap();
    let host = Host::from_folder(&home).unwrap();
    let agent = host.agent(place.model()).workspace(place.work()).approvals(ApprovalMode::Yes);
    let run = agent.start("Transform it.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let said = serde_json::to_string(&trace.messages().await.unwrap()).unwrap();
    assert!(said.contains("call mainpath::launcher_main() first in main"), "{said}");
}

#[tokio::test]
async fn what_was_said_before_a_limit_is_answered_by_who_resumes() {
    let script = "[[turn]]\ndelay_ms = 300\ncalls = [{ tool = \"count_words\", args = { text = \"one\" } }]\n[[turn]]\nfinal = \"One.\"\n";
    let place = Place::new(script);
    let limits = LimitOptions { turns: Some(1), ..LimitOptions::default() };
    let run = place.agent().await.limits(limits).start("Count.").await.unwrap();
    let trace = run.trace().clone();
    trace.next("And again.").await.unwrap();
    assert_eq!(run.outcome().await.unwrap().reason, FinishReason::MaxTurns);
    assert!(!trace.drive().await.unwrap(), "it waits until somebody goes on");
    let outcome = trace.resume().await.unwrap().outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.run, outcome.answer.as_str()), (FinishReason::Final, 2, "One."));
    let said = serde_json::to_string(&trace.messages().await.unwrap()).unwrap();
    assert!(said.contains("And again."), "{said}");
}

#[tokio::test]
async fn a_rule_of_an_agent_that_misspells_a_tool_is_an_error_with_what_was_meant() {
    let place = Place::new(COUNT);
    for agent in [
        place.agent().await.deny("count_wrds"),
        place.agent().await.ask("count_wrds(text=*)"),
        place.agent().await.allow("count_wrds"),
    ] {
        let error = agent.spec().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.message().contains("did you mean \"count_words\"?"), "{error}");
    }
    // Tools that are there, that could be, and that servers may bring.
    for rule in ["count_words", "bash(rm *)", "web_fetch", "mcp__files__*", "*_text_file", "use_tool", "comes_later"] {
        place.agent().await.deny(rule).spec().unwrap();
    }
}

#[tokio::test]
async fn a_tool_that_panics_over_where_a_call_reaches_tells_the_model_so() {
    let script =
        "[[turn]]\ncalls = [{ tool = \"count_words\", args = { text = \"é\" } }]\n[[turn]]\nfinal = \"Done.\"\n";
    let place = Place::new(script);
    let count = tool_fn("count_words", "Counts.", |_: Words| async { "1" });
    let count = count.effect(EffectClass::ReadOnly).touches(|words: &Words| Touches::reading(&words.text[..1]));
    let host = Host::builder().in_memory().tool(count).build().await.unwrap();
    let run = host.agent(place.model()).workspace(place.work()).start("Count.").await.unwrap();
    let trace = run.trace().clone();
    assert_eq!(run.outcome().await.unwrap().reason, FinishReason::Final);
    let said = serde_json::to_string(&trace.messages().await.unwrap()).unwrap();
    assert!(said.contains("count_words panicked at these arguments"), "{said}");
}

#[tokio::test]
async fn an_approval_has_been_read_when_it_returns_so_that_a_later_denial_says_it_comes_too_late() {
    let place = Place::new(WRITE);
    let mut run = place.agent().await.start("Write it.").await.unwrap();
    let trace = run.trace().clone();
    while let Some(event) = run.next().await {
        let RunEvent::ApprovalRequired(call) = event.unwrap() else { continue };
        call.approve().await.unwrap();
        assert_eq!(trace.deny(call.call, None).await.unwrap_err().kind(), ErrorKind::Refused);
    }
    assert!(place.work().join("new.txt").exists());
}

#[test]
fn a_host_whose_tokio_runtime_has_ended_goes_on_in_another_and_who_waits_is_told() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let place =
        Place::new(&format!("[[turn]]\ndelay_ms = 60000\nfinal = \"Late.\"\n{}", WRITE.replace("new.txt", "b.txt")));
    let (first, second) = (runtime(), runtime());
    let (host, run) = first.block_on(async {
        let host = place.host().await;
        let run = host.agent(place.model()).workspace(place.work()).start("Say it.").await.unwrap();
        (host, run)
    });
    first.shutdown_timeout(Duration::from_secs(5));
    second.block_on(async {
        let ended = tokio::time::timeout(Duration::from_secs(20), run.outcome()).await.expect("it is told");
        let error = ended.unwrap_err();
        assert!(error.message().contains("runtime") || error.message().contains("the program is ending"), "{error}");
        // What is begun now is heard of, and decided.
        let place = Place::new(WRITE);
        let mut run = host.agent(place.model()).workspace(place.work()).start("Write it.").await.unwrap();
        let done = async {
            while let Some(event) = run.next().await {
                if let RunEvent::ApprovalRequired(call) = event.unwrap() {
                    call.approve().await.unwrap();
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), done).await.expect("it goes on");
        assert!(place.work().join("new.txt").exists());
    });
}
