//! What the owner's hooks may do to a run, and what becomes of it when they fail.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_tools::Fut;
use mainpath_types::*;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Answer = Box<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// A hook that answers by what it is told, and remembers that.
struct Teller {
    answer: Answer,
    told: Mutex<Vec<Value>>,
}

impl HookRunner for Teller {
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, HookError>> {
        Box::pin(async move {
            self.told.lock().unwrap().push(event.clone());
            let answer = (self.answer)(event);
            if answer == Ok(json!("hang")) {
                std::future::pending::<()>().await;
            }
            answer.map_err(HookError::failed)
        })
    }
}

fn hook(
    points: &[HookPoint],
    answer: impl Fn(&Value) -> Result<Value, String> + Send + Sync + 'static,
) -> (Hook, Arc<Teller>) {
    let teller = Arc::new(Teller { answer: Box::new(answer), told: Mutex::default() });
    let hook = Hook {
        name: "guard".into(),
        points: points.to_vec(),
        tools: Vec::new(),
        timeout: Duration::from_secs(5),
        on_failure: OnFailure::Closed,
        runner: Arc::clone(&teller) as Arc<dyn HookRunner>,
    };
    (hook, teller)
}

/// Runs these steps with these hooks; gives the place and the trace's log.
async fn with(hooks: Vec<Hook>, steps: &'static [&'static [(&'static str, &'static str)]]) -> (Place, Vec<Event>) {
    let place = Place::memory(Brain::steps(steps));
    let runtime = Runtime::new(Config { hooks: hooks.into_iter().collect(), ..place.config() });
    assert_eq!(run(&runtime, &id("t"), place.spec(), "count").await, Phase::Idle);
    let log = place.inspect(&id("t")).await;
    (place, log)
}

fn told(teller: &Teller) -> Vec<Value> {
    teller.told.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_hook_denies_a_call_and_the_model_is_told_why() {
    let (guard, teller) = hook(&[HookPoint::BeforeTool], |event| {
        let denies = event["arguments"]["key"] == "a";
        Ok(if denies { json!({"decision": "deny", "reason": "Not on a Sunday."}) } else { json!({}) })
    });
    let (place, log) = with(vec![guard], &[&[("count", "a"), ("count", "b")]]).await;
    assert_eq!((place.hands.count("a"), place.hands.count("b")), (0, 1));
    assert_eq!(place.answer(&id("t")).await, "final: Denied (hook.guard): Not on a Sunday.; counted b");
    assert_eq!(resolutions(&log), [Resolution::Ok]);
    let first = &told(&teller)[0];
    assert_eq!(
        (&first["hook"], &first["tool"], &first["trace_id"], &first["verdict"]["rule"]),
        (&json!("before_tool"), &json!("count"), &json!("t"), &json!("flag.yes"))
    );
}

#[tokio::test(start_paused = true)]
async fn other_arguments_get_a_fresh_verdict_run_and_are_told_to_the_model() {
    let (guard, _) = hook(&[HookPoint::BeforeTool], |_| Ok(json!({"arguments": {"key": "b"}})));
    let (place, log) = with(vec![guard], &[&[("count", "a")]]).await;
    assert_eq!((place.hands.count("a"), place.hands.count("b")), (0, 1));
    // What was changed, and by which hook, is on record.
    let planned = log.iter().find_map(|event| match &event.kind {
        EventKind::ModelFinished(data) => data.calls.first(),
        _ => None,
    });
    let planned = planned.unwrap();
    assert_eq!(
        (planned.arguments.as_deref(), planned.changed_by.as_slice()),
        (Some(r#"{"key":"b"}"#), &["guard".to_string()][..])
    );
    let mut projector = wire::Projector::new(id("t"));
    let wire: Vec<Value> = log.iter().flat_map(|event| projector.project(event)).collect();
    let made = wire.iter().find(|line| line["type"] == "action_planned").unwrap();
    assert_eq!(
        made["data"],
        json!({"call": made["data"]["call"], "tool": "count", "arguments": "{\"key\":\"b\"}", "changed_by": ["guard"]})
    );
    let told = place.brain.requests()[1].results().join("\n");
    assert_eq!(told, "[The arguments of this call were changed by the owner's rules: {\"key\":\"b\"}]\ncounted b");
    // What does not match the tool's schema is not run.
    let (guard, _) = hook(&[HookPoint::BeforeTool], |_| Ok(json!({"arguments": {"kee": "b"}})));
    let (place, _) = with(vec![guard], &[&[("count", "a")]]).await;
    assert!(place.hands.counts().is_empty());
    assert!(
        place.answer(&id("t")).await.contains("The arguments were changed by hook guard: Wrong arguments for count"),
        "{}",
        place.answer(&id("t")).await
    );
}

#[tokio::test(start_paused = true)]
async fn the_second_hook_sees_what_the_first_has_made_of_it() {
    let (first, _) = hook(&[HookPoint::BeforeTool], |_| Ok(json!({"arguments": {"key": "b"}})));
    let (second, teller) = hook(&[HookPoint::BeforeTool], |_| Ok(json!({})));
    with(vec![first, second], &[&[("count", "a")]]).await;
    assert_eq!(told(&teller)[0]["arguments"], json!({"key": "b"}));
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_closed_denies_and_one_that_fails_open_lets_go_on() {
    for answer in [Err("it is broken".to_string()), Ok(json!({"decison": "allow"})), Ok(json!("hang")), Ok(json!(7))] {
        let closed = answer.clone();
        let (guard, _) = hook(&[HookPoint::BeforeTool], move |_| closed.clone());
        let open = Hook { on_failure: OnFailure::Open, ..guard.clone() };
        let (place, _) = with(vec![guard], &[&[("count", "a")]]).await;
        assert!(place.hands.counts().is_empty(), "{answer:?}");
        let said = place.answer(&id("t")).await;
        assert!(said.starts_with("final: Denied (hook.guard): The hook guard failed: "), "{said}");
        let (place, _) = with(vec![open], &[&[("count", "a")]]).await;
        assert_eq!(place.hands.count("a"), 1, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_for_some_tools_is_not_called_for_others() {
    let (guard, teller) = hook(&[HookPoint::BeforeTool], |_| Ok(json!({"decision": "deny"})));
    let guard = Hook { tools: vec!["lo?k".parse().unwrap()], ..guard };
    let (place, _) = with(vec![guard], &[&[("count", "a"), ("look", "x")]]).await;
    assert_eq!(place.answer(&id("t")).await, "final: counted a; Denied (hook.guard): The hook guard denied it.");
    assert_eq!(told(&teller).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_is_changed_or_withheld_before_it_is_recorded() {
    let (guard, teller) = hook(&[HookPoint::AfterTool], |event| {
        Ok(match event["output"].as_str() {
            Some("counted a") => json!({"output": "counted something"}),
            Some("counted b") => json!({"decision": "deny", "reason": "Too secret."}),
            _ => json!({}),
        })
    });
    let (place, log) = with(vec![guard], &[&[("count", "a"), ("count", "b"), ("trip", "c")]]).await;
    let words = "The call was made; its result is withheld by hook.guard: Too secret.";
    assert_eq!(place.answer(&id("t")).await, format!("final: counted something; {words}; over c"));
    assert_eq!((place.hands.count("a"), place.hands.count("b")), (1, 1));
    assert!(!serde_json::to_string(&log).unwrap().contains("counted b"));
    assert_eq!(told(&teller)[2]["error"], "tripped");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_a_hook_forbids_ends_as_denied_before_the_model_is_asked() {
    let (guard, _) = hook(&[HookPoint::RunStart], |_| Ok(json!({"decision": "deny", "reason": "No budget left."})));
    let (place, log) = with(vec![guard], &[]).await;
    assert_eq!((reasons(&log), place.brain.requests().len()), (vec![FinishReason::Denied], 0));
    let why = log.iter().find_map(|event| match &event.kind {
        EventKind::RunClosing(data) => Some((data.by.clone(), data.why.clone())),
        _ => None,
    });
    assert_eq!(why, Some((Some("hook.guard".parse().unwrap()), Some("No budget left.".into()))));
    // What was never sent costs nothing.
    let spent = log.iter().find_map(|event| match &event.kind {
        EventKind::RunFinished(data) => Some((data.usage.total(), data.cost)),
        _ => None,
    });
    assert_eq!(spent, Some((0, 0)));
}

#[tokio::test(start_paused = true)]
async fn the_points_of_a_run_are_told_in_order() {
    use HookPoint::*;
    let (guard, teller) = hook(&[RunStart, TurnStart, BeforeTool, AfterTool, TurnEnd, RunEnd], |_| Ok(Value::Null));
    with(vec![guard], &[&[("count", "a")]]).await;
    let points: Vec<String> = told(&teller).iter().map(|event| event["hook"].as_str().unwrap().into()).collect();
    let order = ["run_start", "turn_start", "before_tool", "after_tool", "turn_end", "turn_start", "run_end"];
    assert_eq!(points, order);
    let last = &told(&teller)[6];
    assert_eq!((&last["data"]["reason"], &last["turn"]), (&json!("final"), &json!(2)));
}
