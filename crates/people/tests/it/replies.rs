//! Replies by the handler: which are handed on, and what is answered.

use crate::signatures::headers;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use mainpath_people::{
    AgentWord, Answer, Channel, Desk, From, Keys, Request, Response, Taken, Which, WordTaken, handle, sign,
};
use serde_json::{Value, json};
use std::sync::Mutex;

/// Takes answers, and says of each the same.
pub struct Clerk {
    says: Taken,
    taken: Mutex<Vec<Answer>>,
    words: Mutex<Vec<AgentWord>>,
}

impl Clerk {
    pub fn new(says: Taken) -> Clerk {
        Clerk { says, taken: Mutex::default(), words: Mutex::default() }
    }

    pub fn taken(&self) -> Vec<Answer> {
        self.taken.lock().unwrap().clone()
    }
}

impl Desk for Clerk {
    /// Of one id it is told once; what is for nobody's trace has none.
    fn word(&self, word: AgentWord) -> BoxFuture<'_, WordTaken> {
        let mut words = self.words.lock().unwrap();
        let taken = match word.trace.as_str() {
            "nobody's" => WordTaken::NoTrace("there is no trace".into()),
            "deaf" => WordTaken::Refused("it has no inbox".into()),
            "full disk" => WordTaken::Failed("no space is left".into()),
            _ if words.iter().any(|known| known.id == word.id) => WordTaken::Before,
            _ => WordTaken::Received,
        };
        words.push(word);
        Box::pin(async move { taken })
    }

    fn answer(&self, answer: Answer) -> BoxFuture<'_, Taken> {
        self.taken.lock().unwrap().push(answer);
        let says = self.says.clone();
        Box::pin(async move { says })
    }
}

pub fn take(path: &str, headers: &HeaderMap, body: &[u8], keys: Keys<'_>, desk: &dyn Desk, now: u64) -> (u16, Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let request = Request { method: "POST", path, headers, body };
    let Response { status, body } = runtime.block_on(handle(request, keys, desk, now));
    (status, body)
}

const KEYS: Keys<'_> =
    Keys { webhook: Some("a secret"), has_feishu: false, encrypt_key: None, verification_token: None };

fn reply(body: &str, says: Taken) -> ((u16, Value), Vec<Answer>) {
    let clerk = Clerk::new(says);
    let signed = headers(&sign("a secret", "m1", 1_000, body.as_bytes()));
    (take("/people/webhook", &signed, body.as_bytes(), KEYS, &clerk, 1_000), clerk.taken())
}

#[test]
fn a_genuine_message_of_an_agent_is_handed_on_and_answered_by_what_became_of_it() {
    let clerk = Clerk::new(Taken::NotTheirs);
    let send = |id: &str, body: Value| {
        let body = body.to_string();
        let signed = headers(&sign("a secret", id, 1_000, body.as_bytes()));
        take("/webhook/a2a-messages", &signed, body.as_bytes(), KEYS, &clerk, 1_000)
    };
    let word = json!({"from_agent_id": "reviewer", "content": "Broken.", "conversation_id": "pr-7", "trace": "t"});
    assert_eq!(send("m1", word.clone()), (200, json!({"status": "received"})));
    assert_eq!(send("m1", word), (200, json!({"status": "already_received"})));
    let to = |trace: &str| json!({"from_agent_id": "reviewer", "content": "Broken.", "conversation_id": trace});
    assert_eq!(send("m2", to("nobody's")), (404, json!({"error": "there is no trace"})));
    assert_eq!(send("m3", to("deaf")), (409, json!({"error": "it has no inbox"})));
    assert_eq!(send("m4", to("full disk")), (503, json!({"error": "no space is left"})));
    assert_eq!(send("m5", json!({"from_agent_id": "", "content": "x", "trace": "t"})).0, 400);
    assert_eq!(send("m5", json!({"from_agent_id": "x", "content": "x"})).0, 400);
    let twice = r#"{"from_agent_id":"x","content":"a","content":"b","trace":"t"}"#;
    let signed = headers(&sign("a secret", "m7", 1_000, twice.as_bytes()));
    assert_eq!(take("/webhook/a2a-messages", &signed, twice.as_bytes(), KEYS, &clerk, 1_000).0, 400);
    let first = AgentWord {
        from: "reviewer".into(),
        trace: "t".into(),
        conversation: Some("pr-7".into()),
        id: "m1".into(),
        text: "Broken.".into(),
    };
    assert_eq!(clerk.words.lock().unwrap()[0], first);
    let forged = headers(&sign("another", "m6", 1_000, b"{}"));
    assert_eq!(take("/webhook/a2a-messages", &forged, b"{}", KEYS, &clerk, 1_000).0, 401);
}

#[test]
fn a_genuine_reply_is_handed_on_and_answered_by_what_became_of_it() {
    let body = r#"{"question":"t/2.0","answer":"blue","by":"lan"}"#;
    let answer = Answer {
        channel: Channel::Webhook,
        which: Which::Id("t/2.0".into()),
        from: From::Holder(Some("lan".into())),
        text: "blue".into(),
    };
    let told = |says: Taken| {
        let (told, taken) = reply(body, says);
        assert_eq!(taken, std::slice::from_ref(&answer));
        told
    };
    assert_eq!(told(Taken::Recorded("t/2.0".into())), (200, json!({"status": "recorded", "question": "t/2.0"})));
    assert_eq!(told(Taken::Already("it was".into())), (200, json!({"status": "already_answered", "detail": "it was"})));
    assert_eq!(told(Taken::NotAsked("no".into())), (404, json!({"error": "no"})));
    assert_eq!(told(Taken::NoChoice("9 is none".into())), (400, json!({"error": "9 is none"})));
    assert_eq!(told(Taken::NotTheirs), (403, json!({"error": "somebody else was asked"})));
    assert_eq!(told(Taken::Failed("disk".into())), (503, json!({"error": "disk"})));
}

#[test]
fn a_number_is_an_answer_and_nothing_else_that_is_no_text() {
    let text = |body: &str| reply(body, Taken::NotTheirs).1.pop().map(|answer| answer.text);
    assert_eq!(text(r#"{"question":"t/2.0","answer":2}"#), Some("2".into()));
    for wrong in ["true", "[2]", "2.5", "null"] {
        let (told, _) = reply(&format!(r#"{{"question":"t/2.0","answer":{wrong}}}"#), Taken::NotTheirs);
        let text = told.1["error"].as_str().unwrap();
        assert!(text.contains("answer is a text or a number"), "{text}");
    }
    for body in [
        "",
        "[]",
        r#"["t/2.0","blue","lan"]"#,
        r#"{"question":"t/2.0"}"#,
        r#"{"question":"t/2.0","answer":" "}"#,
        r#"{"question":"t/2.0","answer":true}"#,
        r#"{"question":"t/2.0","answer":"x","approve":true}"#,
        r#"{"question":"t/2.0","answer":"no","answer":"yes"}"#,
        r#"{"question":"t/1.0","question":"t/2.0","answer":"yes"}"#,
    ] {
        let ((status, _), taken) = reply(body, Taken::NotTheirs);
        assert_eq!((status, taken.len()), (400, 0), "{body}");
    }
}

#[test]
fn only_the_two_addresses_take_posts() {
    let clerk = Clerk::new(Taken::NotTheirs);
    let none = HeaderMap::new();
    assert_eq!(take("/", &none, b"", KEYS, &clerk, 0).0, 404);
    assert_eq!(
        take("/people/feishu", &none, b"{}", KEYS, &clerk, 0),
        (404, json!({"error": "[people.feishu] is not configured"}))
    );
    assert_eq!(take("/people/webhook", &none, b"{}", Keys::default(), &clerk, 0).0, 404);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let request = Request { method: "GET", path: "/people/webhook", headers: &none, body: b"" };
    assert_eq!(runtime.block_on(handle(request, KEYS, &clerk, 0)).status, 405);
    assert_eq!(clerk.taken(), []);
}
