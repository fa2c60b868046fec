//! What can be started, and what cannot: traces that are there already, models of one's own, keys that are given by hand.

use crate::support::{COUNT, Place};
use mainpath::prelude::*;
use mainpath::providers::{Call, Codec, Neutral};
use mainpath::types::{Delta, ModelError, ModelErrorKind, ModelReply};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn id(name: &str) -> TraceId {
    name.parse().unwrap()
}

#[tokio::test]
async fn a_trace_that_is_there_already_is_not_started_again_and_nothing_is_added_to_it() {
    let place = Place::new(COUNT);
    let host = place.host().await;
    let agent = host.agent(place.model()).workspace(place.work()).trace_id(id("mine"));
    agent.clone().start("Count.").await.unwrap().outcome().await.unwrap();
    let trace = host.trace(&id("mine")).await.unwrap();
    let before = trace.events(1).await.unwrap();
    let error = agent.clone().start("Count again.").await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(error.message(), "there is a trace mine already; it was not begun again, and nothing was added to it");
    assert_eq!(trace.events(1).await.unwrap(), before);
    // Another process finds it so as well, and the trace goes on as before.
    let other = place.agent().await.trace_id(id("mine")).start("Count again.").await.map(drop).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Refused);
    assert_eq!(trace.events(1).await.unwrap(), before);
    assert_eq!(trace.say("Again.").await.unwrap().outcome().await.unwrap().answer, "Still three.");
}

#[tokio::test]
async fn of_several_starts_under_one_id_at_once_one_is_made_and_the_others_are_told() {
    let place = Place::new(COUNT);
    let host = place.host().await;
    // The last one is that of another process.
    let hosts = [host.clone(), host.clone(), host.clone(), place.host().await];
    let agents = hosts.map(|host| host.agent(place.model()).workspace(place.work()).trace_id(id("once")));
    let starts = agents.map(|agent| tokio::spawn(agent.start("Count.")));
    let (mut runs, mut kinds) = (Vec::new(), Vec::new());
    for start in starts {
        match start.await.unwrap() {
            Ok(run) => runs.push(run),
            Err(error) => kinds.push(error.kind()),
        }
    }
    assert_eq!((runs.len(), kinds), (1, vec![ErrorKind::Refused; 3]));
    assert_eq!(runs.remove(0).outcome().await.unwrap().answer, "Three words.");
}

/// A model that has a defect.
struct Defective;

impl Provider for Defective {
    fn codec(&self) -> &dyn Codec {
        &Neutral
    }

    fn call<'a>(
        &'a self,
        _: Call<'a>,
        deltas: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        deltas(Delta::Text { text: "I beg".into() });
        Box::pin(async { panic!("the weights are {}", "missing") })
    }
}

#[tokio::test]
async fn a_panic_of_a_model_of_ones_own_is_a_failure_of_the_model_that_is_told_and_not_tried_again() {
    let place = Place::new("");
    let host = Host::builder().in_memory().model("own", Arc::new(Defective)).build().await.unwrap();
    let mut run = host.agent("own").workspace(place.work()).start("Go.").await.unwrap();
    let mut failures = Vec::new();
    while let Some(event) = run.next().await {
        if let RunEvent::ModelFailed(failed) = event.unwrap() {
            failures.push((failed.error.kind, failed.error.message.clone()));
        }
    }
    assert_eq!(failures, [(ModelErrorKind::BadRequest, "the model panicked: the weights are missing".to_string())]);
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.reason, FinishReason::ModelError, "{outcome:?}");
}

#[tokio::test]
async fn a_key_that_is_given_by_hand_is_used_without_any_variable_and_is_kept_out_of_what_is_said() {
    let key = "by-hand-0123456789-abcdef";
    let place = Place::new(&format!("[[turn]]\nfinal = \"The key is {key}.\"\n"));
    let build = |provider: &str, key: &str| Host::builder().in_memory().api_key(provider, key).build();
    let host = build("openai-compatible", &format!(" {key}\n")).await.unwrap();
    let agent = |model: &str| host.agent(model.to_string()).workspace(place.work());
    assert!(std::env::var("MAINPATH_API_KEY").is_err() && std::env::var("GROQ_API_KEY").is_err());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let model = format!("openai-compatible:http://{}/v1#any", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            assert!(stream.read_buf(&mut head).await.unwrap() > 0);
        }
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        String::from_utf8_lossy(&head).to_string()
    });
    let run = agent(&model).start("Go.").await.unwrap();
    assert_eq!(run.outcome().await.unwrap().reason, FinishReason::ModelError);
    let head = asked.await.unwrap();
    assert!(head.lines().any(|line| line == format!("authorization: Bearer {key}")), "{head}");
    let other = agent("groq:any-model").start("Go.").await.map(drop).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Auth, "the key is that of one provider: {other}");
    let run = agent(&place.model()).start("Which key?").await.unwrap();
    assert_eq!(run.outcome().await.unwrap().answer, "The key is {{secret:openai-compatible-api-key}}.");
    for (provider, key, wrong) in [
        ("mistrall", key, "api_key: there is no provider \"mistrall\"; they are: "),
        ("mistral", " ", "api_key: the key of mistral is empty"),
    ] {
        let error = build(provider, key).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.message().starts_with(wrong), "{error}");
    }
}

#[tokio::test]
async fn secrets_that_are_given_one_after_another_are_all_kept_out_of_what_is_said() {
    let place = Place::new("[[turn]]\nfinal = \"first-secret-1 and second-secret-2\"\n");
    let one = |name: &str, value: &str| [(name.to_string(), value.to_string())];
    let host = Host::builder().in_memory().secrets(one("A", "first-secret-1")).secrets(one("B", "second-secret-2"));
    let host = host.build().await.unwrap();
    let run = host.agent(place.model()).workspace(place.work()).start("Say.").await.unwrap();
    assert_eq!(run.outcome().await.unwrap().answer, "{{secret:A}} and {{secret:B}}");
}
