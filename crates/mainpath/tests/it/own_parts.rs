//! What an embedding program brings of its own (tools of every shape, hooks, policies, models), and what it does with what waits.

use crate::support::{CountWords, Place, WRITE};
use mainpath::prelude::*;
use mainpath::providers::{Call, Codec, ModelFacts, Neutral};
use mainpath::types::{Delta, ModelError, ModelReply, Price, StopReason, Usage};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Choice {
    Circle { radius: u8 },
    Square { side: u8 },
}

#[derive(Deserialize, JsonSchema)]
struct Tagged {
    id: u8,
    #[serde(flatten)]
    more: HashMap<String, String>,
}

/// The result of a call of a tool with these arguments.
async fn called(tool: impl IntoTool, arguments: &Value) -> String {
    let args = toml::Value::try_from(arguments).unwrap();
    let call = format!("[[turn]]\ncalls = [{{ tool = \"own\", args = {args} }}]\n");
    let place = Place::new(&format!("{call}[[turn]]\nfinal = \"Done.\"\n"));
    let host = Host::builder().in_memory().tool(tool).build().await.unwrap();
    let run = host.agent(place.model()).workspace(place.work()).start("Call it.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    serde_json::to_string(&trace.messages().await.unwrap()).unwrap()
}

#[tokio::test]
async fn arguments_may_be_a_map_or_any_object_and_a_choice_between_shapes_is_refused_when_the_host_is_built() {
    let map = tool_fn("own", "Takes a map.", |map: HashMap<String, String>| async move { format!("got {}", map["a"]) });
    assert!(called(map.effect(EffectClass::ReadOnly), &json!({"a": "it"})).await.contains("got it"));
    let any = tool_fn("own", "Takes anything.", |any: Value| async move { format!("got {}", any["a"]["b"]) });
    assert!(called(any.effect(EffectClass::ReadOnly), &json!({"a": {"b": 7}})).await.contains("got 7"));
    let object =
        tool_fn("own", "Takes an object.", |any: Map<String, Value>| async move { format!("got {}", any.len()) });
    assert!(called(object.effect(EffectClass::ReadOnly), &json!({"a": 1, "b": 2})).await.contains("got 2"));
    let both =
        tool_fn(
            "own",
            "Takes more.",
            |tagged: Tagged| async move { format!("got {} {}", tagged.id, tagged.more["x"]) },
        );
    assert!(called(both.effect(EffectClass::ReadOnly), &json!({"id": 3, "x": "y"})).await.contains("got 3 y"));
    // What has fields takes no others, as before.
    let said = called(CountWords, &json!({"text": "a"})).await;
    assert!(said.contains("own") && !said.contains("got"), "{said}");
    let choice = tool_fn("own", "Takes a shape.", |shape: Choice| async move {
        match shape {
            Choice::Circle { radius: size } | Choice::Square { side: size } => size.to_string(),
        }
    });
    let error = Host::builder().in_memory().tool(choice).build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("\"own\" are a choice between shapes (oneOf)"), "{error}");
}

struct Panics;

impl HookRunner for Panics {
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, HookError>> {
        assert!(event["hook"].is_null(), "an audit that is not there");
        Box::pin(async { Ok(Value::Null) })
    }
}

fn hook(point: HookPoint, on_failure: OnFailure) -> Hook {
    let (points, tools, timeout) = (vec![point], Vec::new(), Duration::from_secs(5));
    Hook { name: "audit".into(), points, tools, timeout, on_failure, runner: Arc::new(Panics) }
}

#[tokio::test]
async fn a_hook_that_panics_has_failed_and_what_follows_is_as_it_was_set() {
    for (point, on_failure, reason, is_written) in [
        (HookPoint::BeforeTool, OnFailure::Open, FinishReason::Final, true),
        (HookPoint::BeforeTool, OnFailure::Closed, FinishReason::Final, false),
        (HookPoint::RunEnd, OnFailure::Closed, FinishReason::Final, true),
        (HookPoint::TurnEnd, OnFailure::Open, FinishReason::Final, true),
        (HookPoint::RunStart, OnFailure::Closed, FinishReason::Denied, false),
    ] {
        let place = Place::new(WRITE);
        let host = Host::builder().in_memory().hook(hook(point, on_failure)).build().await.unwrap();
        let agent = host.agent(place.model()).workspace(place.work()).approvals(ApprovalMode::Yes);
        let mut run = agent.start("Write it.").await.unwrap();
        let trace = run.trace().clone();
        let mut notices = String::new();
        while let Some(event) = run.next().await {
            if let RunEvent::Notice(notice) = event.unwrap() {
                notices.push_str(&notice.text);
            }
        }
        assert_eq!(trace.outcome().await.unwrap().reason, reason, "{point:?} {on_failure:?}");
        assert_eq!(place.work().join("new.txt").exists(), is_written, "{point:?} {on_failure:?}");
        if on_failure == OnFailure::Open {
            assert!(notices.contains("the hook audit failed: it panicked: an audit that is not there"), "{notices}");
        }
    }
}

#[tokio::test]
async fn a_rule_of_a_policy_in_code_that_misspells_a_tool_is_an_error() {
    for rule in ["count_wrds", "count_words(txt=*)"] {
        let place = Place::new(WRITE);
        let policy = move |_: &std::path::Path, _: &mainpath::types::RunRules| {
            let mut policy = Policy::new(Folders::default());
            policy.add_rule(Decision::Deny, rule)?;
            Ok(policy)
        };
        let host = Host::builder().in_memory().tool(CountWords).policy(policy).build().await.unwrap();
        let error = host.agent(place.model()).workspace(place.work()).start("Go.").await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.message().contains("count_wrds") || error.message().contains("txt"), "{error}");
    }
}

/// A model that says much for a word.
struct Dear {
    price: Option<Price>,
}

impl Provider for Dear {
    fn codec(&self) -> &dyn Codec {
        &Neutral
    }

    fn facts(&self) -> Option<ModelFacts> {
        Some(ModelFacts { price: self.price, context_window: 2_000_000, ..ModelFacts::own() })
    }

    fn call<'a>(
        &'a self,
        _: Call<'a>,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        let usage = Usage { input: 1_000_000, output: 100_000, ..Usage::default() };
        let reply =
            ModelReply { parts: vec![Part::text("Said.")], usage: Some(usage), stop: StopReason::End, model: None };
        Box::pin(async { Ok(reply) })
    }
}

#[tokio::test]
async fn a_limit_in_money_needs_the_price_of_a_model_of_ones_own_and_holds_with_it() {
    let place = Place::new("");
    let limits = LimitOptions { money: Some(5_000_000), ..LimitOptions::default() };
    let host = async |price| Host::builder().in_memory().model("own", Arc::new(Dear { price })).build().await.unwrap();
    let agent = |host: &Host| host.agent("own").workspace(place.work()).limits(limits.clone());
    let error = agent(&host(None).await).spec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.message().contains("needs the price of own, which is unknown; say it in its Provider::facts"),
        "{error}"
    );
    let price = Price { input: 1_250_000, output: 10_000_000, ..Price::default() };
    let host = host(Some(price)).await;
    let run = agent(&host).start("Go.").await.unwrap();
    let trace = run.trace().clone();
    let outcome = run.outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.cost), (FinishReason::Final, 2_250_000));
    assert_eq!(trace.spec().await.unwrap().unwrap().context_window, 2_000_000);
    for name in ["", "x y", "x\n"] {
        let builder = Host::builder().in_memory().model(name, Arc::new(Dear { price: None }));
        assert_eq!(builder.build().await.unwrap_err().kind(), ErrorKind::Invalid, "{name:?}");
    }
}

struct NoCodec;

impl Provider for NoCodec {
    fn codec(&self) -> &dyn Codec {
        panic!("no codec")
    }

    fn call<'a>(
        &'a self,
        _: Call<'a>,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        Box::pin(async { panic!("never") })
    }
}

#[tokio::test]
async fn a_model_whose_codec_panics_is_an_error_of_who_starts_it() {
    let place = Place::new("");
    let host = Host::builder().in_memory().model("own", Arc::new(NoCodec)).build().await.unwrap();
    let error = host.agent("own").workspace(place.work()).start("Go.").await.err().unwrap();
    assert!(error.message().contains("the model own panicked: no codec"), "{error}");
}

#[tokio::test]
async fn a_call_that_waits_is_denied_by_rules_that_have_become_stricter_whoever_approves_it() {
    let place = Place::new(WRITE);
    let data = place.work().parent().unwrap().join("data");
    // Its names alone: whoever holds the call holds the host, which would read the approval as well, under the rules of then.
    let (asked, call) = {
        let host = Host::builder().data_dir(&data).build().await.unwrap();
        let mut run = host.agent(place.model()).workspace(place.work()).start("Write it.").await.unwrap();
        loop {
            match run.next().await.unwrap().unwrap() {
                RunEvent::ApprovalRequired(call) => break (call.trace_id.clone(), call.call),
                _ => continue,
            }
        }
    };
    // Another start of the program, under a rule that it did not have then.
    let rule = "[[rule]]\ndecision = \"deny\"\nmatch = \"write(new.txt)\"\n";
    let host = Host::builder().data_dir(&data).rules("host.toml", rule).build().await.unwrap();
    let trace = host.trace(&asked).await.unwrap();
    let run = trace.resume().await.unwrap();
    trace.approve(call).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().reason, FinishReason::Final);
    assert!(!place.work().join("new.txt").exists());
    let said = serde_json::to_string(&trace.messages().await.unwrap()).unwrap();
    assert!(said.contains("host.toml") || said.contains("denied"), "{said}");
}

#[tokio::test]
async fn an_old_page_that_approves_does_not_undo_a_denial() {
    let place = Place::new(WRITE);
    let mut run = place.agent().await.start("Write it.").await.unwrap();
    let trace = run.trace().clone();
    let mut asked = None;
    while let Some(event) = run.next().await {
        if let RunEvent::ApprovalRequired(call) = event.unwrap() {
            call.deny("Not now.").await.unwrap();
            asked = Some(call);
        }
    }
    let asked = asked.unwrap();
    let error = asked.approve().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.message().contains("only a decision to reopen it undoes a denial"), "{error}");
    assert!(!place.work().join("new.txt").exists());
    // Who says so has it made.
    trace.reopen(asked.call).await.unwrap().outcome().await.unwrap();
    assert!(place.work().join("new.txt").exists());
}

#[tokio::test]
async fn what_was_cleared_has_no_outcome_and_nothing_to_resume() {
    let place = Place::new("[[turn]]\nfinal = \"Said.\"\n");
    let run = place.agent().await.start("Say it.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    trace.clear().await.unwrap();
    assert_eq!(trace.status().await.unwrap(), Status::Idle);
    let error = trace.outcome().await.unwrap_err();
    assert!(error.message().contains("has no run that ended"), "{error}");
    let error = trace.resume().await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(error.message(), format!("trace {} has no message yet", trace.id()));
    assert_eq!(trace.say("Again?").await.unwrap().outcome().await.unwrap().answer, "Said.", "it begins anew");
}

#[tokio::test]
async fn a_summary_was_made_or_is_known_not_to_be_when_compact_returns() {
    for pause in [0, 5, 50] {
        let place = Place::new("[[turn]]\nfinal = \"Said.\"\n[[turn]]\nfinal = \"Goal: say it.\"\n");
        let run = place.agent().await.start("Say it.").await.unwrap();
        let trace = run.trace().clone();
        run.outcome().await.unwrap();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let why = trace.compact(None).await.unwrap_err();
        assert_eq!(why.kind(), ErrorKind::Refused, "{why}");
        assert!(why.message().ends_with("was not summarised: a summary would not be shorter"), "{why}");
        assert_eq!(trace.status().await.unwrap(), Status::Ended(FinishReason::Final), "{pause}");
        trace.erase(What::Messages(vec![Seq(1)]), None).await.unwrap();
    }
}

#[tokio::test]
async fn what_cannot_be_is_said_at_once_also_while_a_run_goes_on() {
    let place = Place::new("[[turn]]\ndelay_ms = 60000\nfinal = \"Late.\"\n");
    let run = place.agent().await.start("Wait.").await.unwrap();
    let trace = run.trace();
    for name in ["", " ", "a\nb", &"x".repeat(81)] {
        assert_eq!(trace.rename(name).await.unwrap_err().kind(), ErrorKind::Invalid, "{name:?}");
    }
    assert_eq!(trace.goal(Vec::new()).await.unwrap_err().kind(), ErrorKind::Invalid);
    trace.stop().await.unwrap();
    let host = place.host().await;
    let with = |options: AgentOptions| host.agent("scripted:x").options(options).workspace(place.work()).spec();
    let other = AgentOptions { model: Some("other".into()), ..AgentOptions::default() };
    assert!(with(other).unwrap_err().message().contains("give it to Host::agent"));
    let servers = AgentOptions { mcp_config: Some("/nowhere.json".into()), ..AgentOptions::default() };
    assert!(with(servers).unwrap_err().message().contains("HostBuilder::mcp_server"));
}

#[tokio::test]
async fn the_shortest_time_is_a_limit_and_wrong_arguments_of_an_approval_are_one_line() {
    let place = Place::new(WRITE);
    let limits = LimitOptions { time: Some(Duration::from_nanos(1)), ..LimitOptions::default() };
    let spec = place.agent().await.limits(limits).spec().unwrap();
    assert_eq!(spec.limits.run_timeout_ms, Some(1));
    let mut run = place.agent().await.start("Write it.").await.unwrap();
    let trace = run.trace().clone();
    while let Some(event) = run.next().await {
        let RunEvent::ApprovalRequired(call) = event.unwrap() else { continue };
        let error = trace.approve_with(call.call, r#"{"path": 1, "other": 2}"#).await.unwrap_err();
        assert!(!error.message().contains('\n') && error.message().matches("rong arguments").count() == 1, "{error}");
        call.deny("No.").await.unwrap();
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_result_of_megabytes_holds_up_nothing_else_of_the_host() {
    let place = Place::new("[[turn]]\ncalls = [{ tool = \"big\" }]\n[[turn]]\nfinal = \"Done.\"\n");
    let big =
        tool_fn("big", "Says much.", |(): ()| async { "some words and more of them, key=abc123 ".repeat(200_000) });
    let data = place.work().parent().unwrap().join("data");
    let host = Host::builder().data_dir(data).tool(big.effect(EffectClass::ReadOnly)).build().await.unwrap();
    let run = host.agent(place.model()).workspace(place.work()).start("Go.").await.unwrap();
    // How long this thread has worked. What other processes take of the machine is not counted.
    let worked = || {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
    };
    let (began, mut longest) = (Instant::now(), Duration::ZERO);
    let outcome = {
        let mut ended = std::pin::pin!(run.outcome());
        loop {
            let before = worked();
            tokio::select! {
                outcome = &mut ended => break outcome.unwrap(),
                () = tokio::time::sleep(Duration::from_millis(2)) => longest = longest.max(worked() - before),
            }
        }
    };
    assert_eq!(outcome.reason, FinishReason::Final);
    // On the one thread of this host nothing else ran for so long at once, of all that the run took.
    let all = began.elapsed();
    assert!(longest * 2 < all, "{longest:?} of {all:?}");
}
