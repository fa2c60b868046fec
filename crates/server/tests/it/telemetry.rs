//! Spans, as a receiver of OTLP gets them.

use crate::support::{Place, READS, until};
use mainpath_server::otel_trace_id;
use mainpath_testkit::receiver::{Received, Receiver};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// A server that sends its spans to a receiver, with these further lines of configuration.
async fn place(receiver: &Receiver, more: &str) -> Place {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("work")).unwrap();
    std::fs::create_dir_all(dir.path().join("home")).unwrap();
    std::fs::write(dir.path().join("work/README.md"), "correct-horse-battery\n").unwrap();
    let config = format!(
        "[secrets]\nTILL = \"correct-horse-battery\"\n\n[server.telemetry]\notlp = \"{}\"\n{more}",
        receiver.url()
    );
    std::fs::write(dir.path().join("home/config.toml"), config).unwrap();
    Place::again(dir, |_| {}).await
}

/// A receiver that takes all.
fn taking() -> Receiver {
    Receiver::start(|_| (200, "{}".into()))
}

/// The spans that were received, by their names.
fn spans(received: &[Received]) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for request in received.iter().filter(|request| request.path != "/v1/metrics") {
        assert_eq!((request.path.as_str(), request.header("content-type")), ("/v1/traces", "application/json"));
        for resource in request.json()["resourceSpans"].as_array().unwrap() {
            for scope in resource["scopeSpans"].as_array().unwrap() {
                assert_eq!(scope["schemaUrl"], "https://opentelemetry.io/schemas/1.41.0");
                for span in scope["spans"].as_array().unwrap() {
                    let before = all.insert(span["name"].as_str().unwrap().to_string(), span.clone());
                    assert!(before.is_none() || span["name"] == "chat scripted", "{span}");
                }
            }
        }
    }
    all
}

fn said(span: &Value) -> BTreeMap<String, Value> {
    let all = span["attributes"].as_array().unwrap();
    let one = |attribute: &Value| {
        let value = attribute["value"].as_object().unwrap().values().next().unwrap().clone();
        (attribute["key"].as_str().unwrap().to_string(), value)
    };
    all.iter().map(one).collect()
}

#[tokio::test]
async fn a_run_is_a_trace_that_is_found_from_its_log_and_holds_no_words() {
    let receiver = taking();
    let place = place(&receiver, "headers = { X-Key = \"{{secret:TILL}}\" }\n").await;
    let trace = place.run(READS).await;
    let detail = place.get(&format!("/api/traces/{trace}")).await.json();
    place.end().await;
    let received = receiver.received();
    assert!(received.iter().all(|request| request.header("x-key") == "correct-horse-battery"));
    let all = spans(&received);
    assert_eq!(
        all.keys().collect::<Vec<_>>(),
        ["chat scripted", "execute_tool read_text_file", "invoke_agent mainpath"]
    );
    let root = &all["invoke_agent mainpath"];
    // printf %s TRACE/1 | sha256sum | cut -c1-32
    let id = otel_trace_id(&trace.parse().unwrap(), 1);
    assert_eq!((detail["otel_trace_id"].as_str(), id.len()), (Some(id.as_str()), 32));
    assert!(root["parentSpanId"].is_null() && root["status"].is_null(), "{root}");
    for (name, kind, operation) in [
        ("invoke_agent mainpath", 1, "invoke_agent"),
        ("chat scripted", 3, "chat"),
        ("execute_tool read_text_file", 1, "execute_tool"),
    ] {
        let span = &all[name];
        assert_eq!((&span["traceId"], &span["kind"]), (&json!(id), &json!(kind)), "{span}");
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        if name != "invoke_agent mainpath" {
            assert_eq!(span["parentSpanId"], root["spanId"]);
        }
        let nanos = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(
            nanos("startTimeUnixNano") > 1_600_000_000_000_000_000
                && nanos("endTimeUnixNano") >= nanos("startTimeUnixNano")
        );
        let said = said(span);
        assert_eq!(said["gen_ai.operation.name"], operation);
        assert_eq!(
            (&said["gen_ai.conversation.id"], &said["mainpath.run_id"]),
            (&json!(trace), &json!(format!("{trace}/1")))
        );
    }
    let (root, chat, tool) = (said(root), said(&all["chat scripted"]), said(&all["execute_tool read_text_file"]));
    assert_eq!((&root["mainpath.finish_reason"], &chat["gen_ai.provider.name"]), (&json!("final"), &json!("scripted")));
    assert!(root["gen_ai.usage.input_tokens"].as_str().unwrap().parse::<u64>().unwrap() > 0, "{root:?}");
    assert_eq!((&tool["gen_ai.tool.name"], &tool["gen_ai.tool.type"]), (&json!("read_text_file"), &json!("function")));
    for request in &received {
        let text = String::from_utf8(request.body.clone()).unwrap();
        for word in ["README", "Look around", "It says", "correct-horse", ".toml"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}

#[tokio::test]
async fn tokens_and_durations_are_sent_as_the_histograms_of_the_conventions() {
    let receiver = taking();
    let place = place(&receiver, "").await;
    place.run(READS).await;
    place.run(READS).await;
    place.end().await;
    let received = receiver.received();
    let last = received.iter().rfind(|request| request.path == "/v1/metrics").expect("measurements").json();
    let of_scope = &last["resourceMetrics"][0]["scopeMetrics"][0];
    assert_eq!(of_scope["schemaUrl"], "https://opentelemetry.io/schemas/1.41.0");
    let metrics = of_scope["metrics"].as_array().unwrap();
    let named: Vec<_> = metrics.iter().map(|metric| (metric["name"].as_str().unwrap(), &metric["unit"])).collect();
    let tokens = json!("{token}");
    assert_eq!(named, [("gen_ai.client.token.usage", &tokens), ("gen_ai.client.operation.duration", &json!("s"))]);
    let mut kinds = Vec::new();
    for metric in metrics {
        assert_eq!(metric["histogram"]["aggregationTemporality"], 2);
        for point in metric["histogram"]["dataPoints"].as_array().unwrap() {
            let about = said(point);
            assert_eq!(
                (&about["gen_ai.operation.name"], &about["gen_ai.provider.name"]),
                (&json!("chat"), &json!("scripted"))
            );
            kinds.extend(about.get("gen_ai.token.type").cloned());
            let counts = point["bucketCounts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|count| count.as_str().unwrap().parse::<u64>().unwrap());
            let (counts, bounds) = (counts.collect::<Vec<_>>(), point["explicitBounds"].as_array().unwrap());
            assert_eq!((counts.len(), counts.iter().sum::<u64>(), &point["count"]), (bounds.len() + 1, 4, &json!("4")));
            assert!(point["sum"].as_f64() >= point["max"].as_f64() && point["min"].as_f64() >= Some(0.0), "{point}");
        }
    }
    assert_eq!(kinds, [json!("input"), json!("output")]);
}

#[tokio::test]
async fn words_are_sent_where_that_is_switched_on_and_secrets_never() {
    let receiver = taking();
    let place = place(&receiver, "content = true\n").await;
    place.run(READS).await;
    place.end().await;
    let received = receiver.received();
    let all = spans(&received);
    let (chat, tool) = (said(&all["chat scripted"]), said(&all["execute_tool read_text_file"]));
    let arguments: Value = serde_json::from_str(tool["gen_ai.tool.call.arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"path": "README.md"}));
    assert!(tool["gen_ai.tool.call.result"].as_str().unwrap().contains("secret:TILL"), "{tool:?}");
    let messages: Value = serde_json::from_str(chat["gen_ai.output.messages"].as_str().unwrap()).unwrap();
    let last = json!([{"role": "assistant", "parts": [{"type": "text", "content": "It says hello."}], "finish_reason": "stop"}]);
    assert_eq!(messages, last);
    assert!(received.iter().all(|request| !String::from_utf8_lossy(&request.body).contains("correct-horse")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let asked = AtomicU32::new(0);
    let busy = Receiver::start(move |request| {
        let is_first = request.path == "/v1/traces" && asked.fetch_add(1, Ordering::Relaxed) == 0;
        (if is_first { 503 } else { 200 }, "{}".into())
    });
    let place_of_busy = place(&busy, "").await;
    place_of_busy.run("[[turn]]\nfinal = \"Done.\"\n").await;
    place_of_busy.end().await;
    let mut received = busy.received();
    received.retain(|request| request.path == "/v1/traces");
    assert!(received.len() >= 2 && received[0].body == received[1].body, "{}", received.len());
    let refusing = Receiver::start(|_| (400, "{}".into()));
    let place = place(&refusing, "").await;
    place.run("[[turn]]\nfinal = \"Done.\"\n").await;
    refusing.wait_for(1);
    let dropped = "mainpath_telemetry_spans_total{outcome=\"dropped\"}";
    until("two spans that are counted as dropped", async || {
        place.get("/metrics").await.body.contains(&format!("{dropped} 2\n")).then_some(())
    })
    .await;
}
