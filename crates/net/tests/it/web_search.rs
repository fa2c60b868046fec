//! The three backends, against servers that answer as the vendors document it.

use crate::server::{Server, reply};
use crate::support::{World, client, pair};
use mainpath_net::{NotReady, WebSearch, WebSearchConfig};
use mainpath_tools::Tools;
use serde_json::{Value, json};

fn secret(name: &str) -> Option<String> {
    (name == "SEARCH_KEY").then(|| "k-123".into())
}

fn search(config: Value) -> Result<WebSearch, NotReady> {
    let config: WebSearchConfig = serde_json::from_value(config).unwrap();
    WebSearch::new(&client(&[]), &config, &secret)
}

fn world(config: Value) -> World {
    World::new(Tools::new().with(search(config).unwrap()))
}

const FOUND: &str =
    "1. Rust\n   https://rust-lang.org/\n   A <language> for \"everyone\" & more\n\n2. Second\n   https://b.test/\n   ";

#[tokio::test]
async fn searxng_is_asked_for_json() {
    let body = json!({
        "query": "q", "number_of_results": 2, "answers": [], "infoboxes": [], "unresponsive_engines": [],
        "results": [
            {"title": "Rust", "url": "https://rust-lang.org/", "content": "A <language> for\n \"everyone\" & more", "engine": "x", "score": 1.5},
            {"title": "Second", "url": "https://b.test/", "content": null},
            {"title": "Third", "url": "https://c.test/", "content": "over the count"}
        ]
    });
    let server = Server::new(move |_| reply(200, &[("content-type", "application/json")], body.to_string())).await;
    let world = world(json!({"backend": "searxng", "url": server.url("/searx/")}));
    assert_eq!(world.say("web_search", json!({"query": "a b&c", "count": 2})).await, pair("ok", FOUND));
    let [request] = server.seen().try_into().unwrap();
    assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/searx/search?q=a+b%26c&format=json"));
}

#[tokio::test]
async fn brave_gets_its_token_in_a_header() {
    let body = json!({
        "type": "search", "query": {"original": "q"},
        "web": {"type": "search", "results": [
            {"type": "search_result", "title": "<strong>Rust</strong>", "url": "https://rust-lang.org/", "description": "A &lt;language&gt; for &quot;everyone&quot; &amp; more"},
            {"type": "search_result", "title": "Second", "url": "https://b.test/"}
        ]}
    });
    let server = Server::new(move |_| reply(200, &[], body.to_string())).await;
    let world = world(json!({"backend": "brave", "url": server.url(""), "key": "SEARCH_KEY"}));
    assert_eq!(world.say("web_search", json!({"query": "q"})).await, pair("ok", FOUND));
    let [request] = server.seen().try_into().unwrap();
    assert_eq!(
        (request.path.as_str(), request.header("x-subscription-token")),
        ("/res/v1/web/search?q=q&count=8", Some("k-123"))
    );
    assert_eq!((request.header("authorization"), request.header("accept")), (None, Some("application/json")));
}

#[tokio::test]
async fn tavily_gets_its_key_as_bearer() {
    let body = json!({
        "query": "q", "follow_up_questions": null, "answer": null, "images": [], "response_time": 1.2,
        "results": [
            {"title": "Rust", "url": "https://rust-lang.org/", "content": "A <language> for \"everyone\" & more", "score": 0.9, "raw_content": null},
            {"title": "Second", "url": "https://b.test/", "content": ""}
        ]
    });
    let server = Server::new(move |_| reply(200, &[], body.to_string())).await;
    let world = world(json!({"backend": "tavily", "url": server.url(""), "key": "SEARCH_KEY"}));
    assert_eq!(world.say("web_search", json!({"query": "q", "count": 3})).await, pair("ok", FOUND));
    let [request] = server.seen().try_into().unwrap();
    assert_eq!(
        (request.method.as_str(), request.path.as_str(), request.body.as_str()),
        ("POST", "/search", r#"{"max_results":3,"query":"q"}"#)
    );
    assert_eq!(request.header("authorization"), Some("Bearer k-123"));
}

#[tokio::test]
async fn odd_answers_are_told_apart() {
    let answers = [
        (200, r#"{"results": []}"#, "ok", "Nothing was found."),
        (200, r#"{"results": [1, null, {"title": 5}]}"#, "ok", "1. \n   \n   \n\n2. \n   \n   \n\n3. \n   \n   "),
        (
            200,
            r#"{"error": "x"}"#,
            "bad_answer",
            "The search server's answer is not what it should be: there is no list of results.",
        ),
        (429, "slow down", "unavailable", "The search server answered with HTTP 429: slow down"),
        (
            403,
            "",
            "http_status",
            "The SearXNG server refuses (HTTP 403); its settings.yml must have json among search.formats.",
        ),
        (302, "", "http_status", "The search server answered with HTTP 302"),
    ];
    for (status, body, code, text) in answers {
        let server = Server::new(move |_| reply(status, &[], body)).await;
        let world = world(json!({"backend": "searxng", "url": server.url("/")}));
        assert_eq!(world.say("web_search", json!({"query": "q"})).await, pair(code, text));
    }
    let server = Server::new(|_| reply(200, &[], "<html>")).await;
    let world = world(json!({"backend": "searxng", "url": server.url("/")}));
    assert_eq!(world.say("web_search", json!({"query": "q"})).await.0, "bad_answer");
}

#[test]
fn what_is_missing_is_said() {
    let told = |config| search(config).err().unwrap().to_string();
    assert_eq!(told(json!({"backend": "searxng"})), "SearXNG has no public server; set url to that of yours");
    assert_eq!(told(json!({"backend": "brave"})), "set key to the name of the secret that holds the key");
    assert_eq!(
        told(json!({"backend": "tavily", "key": "OTHER"})),
        "OTHER is not set; set that variable, or OTHER under [secrets]"
    );
}
