//! generateContent through the driver, against the model server.

use crate::{head, result, user};
use mainpath_providers::{Call, Endpoint, Gemini, HttpClient, HttpProvider, Key, Provider, Quirks, encode};
use mainpath_testkit::model_server::{Answer, Behaviour, Format, ModelServer, Reply};
use mainpath_types::{Message, ModelError, ModelErrorKind, ModelReply, ModelRequest, Part, Role, Seq, Signature};
use serde_json::{Value, json};

fn provider(server: &ModelServer) -> HttpProvider {
    let mut endpoint = Endpoint::new(&server.url_of(Format::Gemini)).unwrap();
    endpoint.key = Key::new("very-secret");
    HttpProvider::new(&HttpClient::new(), endpoint, Box::new(Gemini::new(Quirks::default(), "gemini")))
}

fn ask(provider: &HttpProvider, messages: &[Message], stream: bool) -> Result<ModelReply, ModelError> {
    let request = ModelRequest { head: head(stream), messages: messages.into() };
    let body = vec![encode(provider.codec(), &request).into()];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(provider.call(Call { body, head: &request.head, request: 1 }, &mut |_| {}))
}

#[test]
fn a_tool_loop_runs_whole_and_streamed_and_every_signature_comes_back() {
    let signed = |answer: Answer, signature: &str| Answer { signature: signature.into(), ..answer };
    for stream in [false, true] {
        let replies = vec![
            signed(Answer::call("look", json!({"at": "x"})).and_call("look", json!({})), "QUJD").into(),
            signed(Answer::text("Grüße."), "REVG").into(),
            Answer::text("Bye.").into(),
        ];
        let server = ModelServer::start(Behaviour::in_order(replies)).unwrap();
        let provider = provider(&server);
        let mut messages = vec![user(1, "hi")];
        let first = ask(&provider, &messages, stream).unwrap();
        let signature = Some(Signature { issuer: "gemini".into(), value: "QUJD".into() });
        assert!(matches!(&first.parts[0], Part::ToolCall { signature: sent, .. } if *sent == signature), "{first:?}");
        messages.push(Message { seq: Some(Seq(2)), role: Role::Assistant, parts: first.parts });
        messages.extend([result(3, (2, 0), "A"), result(4, (2, 1), "B")]);
        let second = ask(&provider, &messages, stream).unwrap();
        messages.push(Message { seq: Some(Seq(5)), role: Role::Assistant, parts: second.parts });
        messages.push(user(6, "bye"));
        assert_eq!(ask(&provider, &messages, stream).unwrap().parts, [Part::text("Bye.")]);

        assert_eq!(server.violations(), Vec::<String>::new());
        let request = &server.requests()[2];
        let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        assert_eq!(request.path, format!("/v1/models/m-1:{method}"));
        assert_eq!(request.header("x-goog-api-key"), Some("very-secret"));
        assert_eq!(request.header("authorization"), None);
        let contents = &request.body()["contents"];
        let signatures: Vec<&Value> = contents
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|content| content["parts"].as_array().unwrap())
            .filter_map(|part| part.get("thoughtSignature"))
            .collect();
        assert_eq!(signatures, ["QUJD", "REVG"]);
    }
}

#[test]
fn a_stream_that_breaks_off_is_cut_and_a_refusal_keeps_its_words() {
    let quota = json!({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"},
    ]}});
    let replies = vec![
        Reply::CutAfter(Answer::text("Hello"), 400),
        Reply::Error { status: 429, headers: Vec::new(), body: quota.to_string() },
    ];
    let server = ModelServer::start(Behaviour::in_order(replies)).unwrap();
    let provider = provider(&server);
    let refused = || ask(&provider, &[user(1, "hi")], true).unwrap_err();
    assert_eq!(refused().kind, ModelErrorKind::StreamCut);
    let url = format!("{}/v1/models/m-1:streamGenerateContent", server.url_of(Format::Gemini));
    let expected = ModelError {
        kind: ModelErrorKind::RateLimit,
        message: format!("{url} answered 429: too many requests; wait a little: slow down"),
        status: Some(429),
        retry_after_ms: Some(7000),
    };
    assert_eq!(refused(), expected);
}
