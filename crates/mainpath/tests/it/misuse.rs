//! What embedding programs get wrong, and what comes of it: an error that says so, never a run that waits for ever.

use crate::support::{COUNT, CountWords, Place, WRITE, Words};
use mainpath::prelude::*;
use mainpath::tools::Touches;
use mainpath::types::RunRules;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

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
    let script =
        "[[turn]]\ncalls = [{ tool = \"count_words\", args = { text = \"one\" } }]\n[[turn]]\nfinal = \"One.\"\n";
    let place = Place::new(script);
    // The only turn that is allowed ends once the message is there.
    let said = Arc::new(Notify::new());
    let waits = Arc::clone(&said);
    let count = tool_fn("count_words", "Counts.", move |_: Words| {
        let waits = Arc::clone(&waits);
        async move {
            waits.notified().await;
            "1"
        }
    });
    let host = Host::builder().in_memory().tool(count.effect(EffectClass::ReadOnly)).build().await.unwrap();
    let limits = LimitOptions { turns: Some(1), ..LimitOptions::default() };
    let agent = host.agent(place.model()).workspace(place.work()).limits(limits);
    let run = agent.start("Count.").await.unwrap();
    let trace = run.trace().clone();
    trace.next("And again.").await.unwrap();
    said.notify_one();
    assert_eq!(run.outcome().await.unwrap().reason, FinishReason::MaxTurns);
    assert!(!trace.drive().await.unwrap(), "it waits until somebody goes on");
    let outcome = trace.resume().await.unwrap().outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.run, outcome.answer.as_str()), (FinishReason::Final, 2, "One."));
    let said = serde_json::to_string(&trace.messages().await.unwrap()).unwrap();
    assert!(said.contains("And again."), "{said}");
}

#[tokio::test]
async fn a_rule_of_an_agent_in_another_program_s_spelling_is_an_error_with_what_to_write() {
    let place = Place::new(WRITE);
    let host = Host::builder().in_memory().build().await.unwrap();
    let agent = || host.agent(place.model()).workspace(place.work());
    for (field, agent) in [
        ("rules.deny", agent().deny("bash(git push:*)")),
        ("rules.ask", agent().ask("bash(git push:*)")),
        ("rules.allow", agent().allow("execute_bash(npm run test:*)")),
    ] {
        let error = agent.start("Do it.").await.err().expect("the rule is refused");
        assert_eq!((error.kind(), error.field()), (ErrorKind::Invalid, Some(field)), "{error}");
        assert!(error.message().contains("with any arguments write "), "{error}");
    }
    for (rule, own) in [
        ("bash(git push:*, rm:*)", "write bash(git push *) and bash(rm *), one rule for each"),
        ("Bash(git *)", "write bash(git *)"),
        ("Read(./.env)", "write read(./.env)"),
        ("WebFetch(domain:example.com)", "write web_fetch(*://example.com)"),
    ] {
        let error = agent().deny(rule).start("Do it.").await.err().expect("the rule is refused");
        assert_eq!((error.kind(), error.field()), (ErrorKind::Invalid, Some("rules.deny")), "{error}");
        assert!(error.message().ends_with(own), "{error}");
        let file = format!("[[rule]]\ndecision = \"deny\"\nmatch = {rule:?}\n");
        let error = Host::builder().in_memory().rules("mine", &file).build().await.expect_err("the rules are refused");
        assert!(error.message().ends_with(own), "{error}");
    }
    // What may be meant is only pointed out.
    let narrow = agent().deny("bash(rm*)").deny("bash(ls *)");
    let hint = "bash(rm*) is compared with a single word that begins with \"rm\", so it does not fit `rm x`; with any arguments write bash(rm *)";
    assert_eq!(narrow.warnings().unwrap(), [hint]);
    std::fs::write(place.work().join("AGENTS.md"), b"\xff\xfeA\0").unwrap();
    let file = place.work().canonicalize().unwrap().join("AGENTS.md");
    assert_eq!(agent().warnings().unwrap(), [format!("{} is not used: it is not UTF-8 text", file.display())]);
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

#[tokio::test]
async fn a_policy_in_code_that_panics_is_an_error_of_the_start_and_keeps_no_other_from_starting() {
    let place = Place::new(COUNT);
    let policy = |_: &Path, _: &RunRules| -> Result<Policy, Error> { panic!("the table is {}", "gone") };
    let host = Host::builder().in_memory().tool(CountWords).policy(policy).build().await.unwrap();
    for _ in 0..2 {
        let error = host.agent(place.model()).workspace(place.work()).start("Count.").await.map(drop).unwrap_err();
        assert_eq!(error.message(), "the policy of this host panicked: the table is gone");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_policy_in_code_that_takes_its_time_holds_up_no_start_in_another_folder() {
    let (slow, quick) = (Place::new(COUNT), Place::new(COUNT));
    let (asked, waits) = std::sync::mpsc::channel();
    let (goes_on, held) = std::sync::mpsc::channel::<()>();
    let (folder, held) = (slow.work().canonicalize().unwrap(), std::sync::Mutex::new(held));
    let times = std::sync::atomic::AtomicU32::new(0);
    let make = move |workspace: &Path, _: &RunRules| {
        // The first time the host only asks which tools it can offer.
        if workspace == folder && times.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1 {
            asked.send(()).unwrap();
            let _ = held.lock().unwrap().recv_timeout(Duration::from_secs(60));
        }
        Policy::builtin(Folders::default()).map_err(|error| Error::invalid(error.to_string()))
    };
    let host = Host::builder().in_memory().tool(CountWords).policy(make).build().await.unwrap();
    let agent = host.agent(slow.model()).workspace(slow.work());
    let begun = tokio::spawn(async move { agent.start("Count.").await.map(drop) });
    tokio::task::spawn_blocking(move || waits.recv_timeout(Duration::from_secs(20))).await.unwrap().unwrap();
    let other = host.agent(quick.model()).workspace(quick.work()).start("Count.");
    let run = tokio::time::timeout(Duration::from_secs(20), other).await.expect("it starts").unwrap();
    assert_eq!(run.outcome().await.unwrap().answer, "Three words.");
    assert!(!begun.is_finished());
    goes_on.send(()).unwrap();
    begun.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_says_nothing_is_an_error_and_begins_nothing() {
    let place = Place::new(COUNT);
    let host = place.host().await;
    let agent = || host.agent(place.model()).workspace(place.work());
    assert_eq!(agent().start(" \n").await.map(drop).unwrap_err().message(), "task is empty");
    assert_eq!(host.traces().await.unwrap(), []);
    let run = agent().start("Count.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    let before = trace.events(1).await.unwrap().len();
    for error in [
        trace.say("").await.map(drop),
        trace.steer(" ").await,
        trace.next("").await,
        trace.rewind(Seq(1), "").await.map(drop),
    ] {
        assert_eq!(error.unwrap_err().message(), "text is empty");
    }
    let nothing = trace.resume().await.map(drop).unwrap_err();
    let line = format!("trace {} ended with its final answer", trace.id());
    assert_eq!((nothing.kind(), nothing.message()), (ErrorKind::Refused, line.as_str()));
    assert_eq!(trace.events(1).await.unwrap().len(), before);
}

#[tokio::test]
async fn what_a_tool_or_mainpath_says_about_a_run_comes_as_a_notice_and_is_in_no_log() {
    let place = Place::new(COUNT);
    let watched = Arc::new(Notify::new());
    let waits = Arc::clone(&watched);
    let count = tool_fn_with("count_words", "Counts.", move |context: ToolContext, words: Words| {
        let (notice, waits) = (Arc::clone(&context.notice), Arc::clone(&waits));
        async move {
            waits.notified().await;
            notice("the table is being read");
            words.text.split_whitespace().count().to_string()
        }
    });
    let host = Host::builder().in_memory().tool(count.effect(EffectClass::ReadOnly)).build().await.unwrap();
    let run = host.agent(place.model()).workspace(place.work()).start("Count.").await.unwrap();
    let notices = |mut run: Run, begun: Option<Arc<Notify>>| async move {
        let mut notices = Vec::new();
        while let Some(event) = run.next().await {
            // Whoever has seen an event hears all that comes.
            begun.iter().for_each(|begun| begun.notify_one());
            if let RunEvent::Notice(notice) = event.unwrap() {
                notices.push((notice.id, notice.text.clone()));
            }
        }
        notices
    };
    let trace = run.trace().clone();
    let (one, all) = tokio::join!(notices(run, None), notices(trace.watch_all(1), Some(watched)));
    assert_eq!(one, [(None, "the table is being read".to_string())]);
    assert_eq!(all, one);
    assert!(!serde_json::to_string(&trace.events(1).await.unwrap()).unwrap().contains("is being read"));
}

#[tokio::test]
async fn a_host_that_cannot_be_is_an_error_that_names_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let why = |built: Result<Host, Error>| built.map(drop).unwrap_err().message().to_string();
    assert_eq!(why(Host::builder().data_dir("").build().await), "data_dir is empty; give a folder, such as \"./data\"");
    assert_eq!(
        why(Host::builder().in_memory().experiences(&file).build().await),
        format!("experiences: {} is no folder", file.display())
    );
    assert_eq!(
        why(Host::builder().in_memory().experiences("").build().await),
        "experiences is empty; give a folder, such as \"./experiences\""
    );
}

#[test]
fn a_host_that_is_built_outside_a_tokio_runtime_is_an_error_that_says_so() {
    let built =
        futures_util::FutureExt::now_or_never(Host::builder().in_memory().build()).expect("it needs no runtime");
    assert_eq!(
        built.map(drop).unwrap_err().message(),
        "a host lives in a tokio runtime: call build() inside one, as under #[tokio::main]"
    );
}
