use crate::server::{Server, Then, raw, redirect, reply};
use crate::support::{OneSecret, World, client, pair, said};
use mainpath_net::{HttpRequest, HttpRequestConfig};
use mainpath_policy::UrlFact;
use mainpath_tools::{Rate, Tools, Workspace};
use mainpath_types::{EffectClass, Origin, text_of};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A world in which these servers may be asked, by these rules.
fn world(servers: &[&Server], allow: &[String]) -> World {
    let config = json!({"allow": allow, "rate": "10/1m", "timeout_s": 60});
    let config: HttpRequestConfig = serde_json::from_value(config).unwrap();
    World::new(Tools::new().with(HttpRequest::new(&client(servers), &config)))
}

#[tokio::test]
async fn what_is_asked_arrives_and_what_is_answered_is_shown() {
    let server =
        Server::new(|_| reply(201, &[("content-type", "application/json"), ("set-cookie", "a=b")], r#"{"ok":true}"#))
            .await;
    let world = world(&[&server], &[format!("POST {}", server.url("/v1/**"))]);
    let args = json!({
        "method": "POST", "url": server.url("/v1/things?a=1"), "query": {"q": "x y&z"}, "headers": {"X-Trace": "t"}, "json": {"n": 1}
    });
    let text = format!(
        "HTTP 201 from {}\ncontent-type: application/json\n\n{{\"ok\":true}}",
        server.url("/v1/things?a=1&q=x+y%26z")
    );
    assert_eq!(world.say("http_request", args).await, pair("ok", text));
    let [request] = server.seen().try_into().unwrap();
    assert_eq!(
        (request.method.as_str(), request.path.as_str(), request.body.as_str()),
        ("POST", "/v1/things?a=1&q=x+y%26z", r#"{"n":1}"#)
    );
    assert_eq!((request.header("x-trace"), request.header("content-type")), (Some("t"), Some("application/json")));
}

#[tokio::test]
async fn an_address_alone_is_a_get() {
    let server = Server::new(|request| reply(200, &[], &request.method)).await;
    let world = world(&[&server], &[format!("GET {}", server.url("/**"))]);
    let text = format!("HTTP 200 from {}\n\nGET", server.url("/a"));
    assert_eq!(world.say("http_request", json!({"url": server.url("/a")})).await, pair("ok", text));
}

#[tokio::test]
async fn what_the_list_does_not_cover_is_not_asked_also_after_redirects() {
    let server = Server::new(|request| match request.path.as_str() {
        "/open/in" => redirect(302, "/open/there"),
        "/open/out" => redirect(302, "/closed"),
        "/open/post" => redirect(307, "/open/read-only"),
        _ => reply(200, &[], "there"),
    })
    .await;
    let rules = [format!("GET,POST {}", server.url("/open/*")), format!("HEAD {}", server.url("/closed"))];
    let world = world(&[&server], &rules);
    let ask = async |method: &str, path: &str| {
        world.say("http_request", json!({"method": method, "url": server.url(path)})).await
    };
    let told = format!("GET {} is not allowed here; allowed is: {}; {}.", server.url("/closed"), rules[0], rules[1]);
    assert_eq!(ask("GET", "/closed").await, pair("not_allowed", told));
    assert_eq!(ask("DELETE", "/open/a").await.0, "not_allowed");
    assert_eq!(ask("GET", "/open/../closed").await.0, "not_allowed");
    assert_eq!(server.seen().len(), 0);
    assert_eq!(
        ask("GET", "/open/in").await,
        pair("ok", format!("HTTP 200 from {}\n\nthere", server.url("/open/there")))
    );
    let told = format!(
        "{} redirects to {}, which was not followed: GET to there is not allowed.",
        server.url("/open/out"),
        server.url("/closed")
    );
    assert_eq!(ask("GET", "/open/out").await, pair("redirect", told));
    assert_eq!(ask("HEAD", "/closed").await, pair("ok", format!("HTTP 200 from {}\n", server.url("/closed"))));
    assert!(server.seen().iter().all(|request| request.path != "/closed" || request.method == "HEAD"));
}

#[tokio::test]
async fn headers_cannot_smuggle_anything() {
    let server = Server::new(|_| reply(200, &[], "")).await;
    let world = world(&[&server], &[format!("GET {}", server.url("/**"))]);
    let bad = [
        ("X", "a\r\nEvil: yes"),
        ("X\r\nEvil", "yes"),
        ("X", "a\nb"),
        ("X", "a\0b"),
        ("", "a"),
        ("X Y", "a"),
        ("Host", "inner.test"),
        ("Content-Length", "5"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "upgrade"),
        ("Proxy-Authorization", "x"),
    ];
    for (name, value) in bad {
        let args = json!({"method": "GET", "url": server.url("/"), "headers": {name: value}});
        assert_eq!(world.say("http_request", args).await.0, "invalid_arguments", "{name:?}: {value:?}");
    }
    for url in ["http://127.0.0.1\r\nX: y/", "http://127.0.0.1:1/ HTTP/1.1\r\nX: y"] {
        assert_ne!(world.say("http_request", json!({"method": "GET", "url": url})).await.0, "ok");
    }
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn a_secret_is_sent_and_never_shown() {
    let server = Server::new(|request| {
        let echo = format!("{:?}", request.headers);
        reply(200, &[("link", "k/e+y 1")], echo)
    })
    .await;
    let world = world(&[&server], &[format!("GET {}", server.url("/**"))]);
    let mut ctx = world.context("http_request");
    ctx.secrets = Arc::new(OneSecret("k/e+y 1"));
    let args = json!({
        "method": "GET", "url": server.url("/"), "query": {"key": "{{secret:KEY}}"}, "headers": {"Authorization": "Bearer {{secret:KEY}}"}
    });
    let output = world.tools.run("http_request", &args.to_string(), &ctx).await;
    let [request] = server.seen().try_into().unwrap();
    assert_eq!((request.path.as_str(), request.header("authorization")), ("/?key=k%2Fe%2By+1", Some("Bearer k/e+y 1")));
    let text = text_of(&output.content);
    assert_eq!((output.error, text.contains("k/e+y 1")), (None, false), "{text}");
    let begin = format!("HTTP 200 from {}\n", server.url("/?key={{secret:KEY}}"));
    assert!(text.starts_with(&begin), "{text}");
}

#[tokio::test]
async fn failures_of_the_server_are_data_and_some_may_pass() {
    let server =
        Server::new(|request| reply(request.path[1..].parse().unwrap(), &[("retry-after", "3")], "busy")).await;
    let world = world(&[&server], &[format!("GET {}", server.url("/**"))]);
    for (status, code, transient) in
        [(404, "http_status", false), (500, "http_status", false), (503, "unavailable", true)]
    {
        let url = server.url(&format!("/{status}"));
        let output = world.run("http_request", json!({"method": "GET", "url": url})).await;
        assert_eq!(said(&output), pair(code, format!("HTTP {status} from {url}\nretry-after: 3\n\nbusy")));
        assert_eq!(output.transient, transient);
    }
}

#[tokio::test]
async fn what_is_too_long_or_no_text_is_kept_whole_beside() {
    let server = Server::new(|request| match request.path.as_str() {
        "/long" => reply(200, &[("content-type", "text/plain")], "é".repeat(30_001)),
        _ => reply(200, &[("content-type", "image/png")], b"\x89PNG\0"),
    })
    .await;
    let world = world(&[&server], &[format!("GET {}", server.url("/**"))]);
    let output = world.run("http_request", json!({"method": "GET", "url": server.url("/long")})).await;
    assert!(
        said(&output).1.ends_with("é\n[only the first 30000 of 30001 characters are shown; all that was read is kept]")
    );
    let [artifact] = output.artifacts.try_into().unwrap();
    assert_eq!((artifact.bytes, world.blobs.get(&artifact.hash).unwrap().len()), (60_002, 60_002));
    let output = world.run("http_request", json!({"method": "GET", "url": server.url("/png")})).await;
    let text = format!(
        "HTTP 200 from {}\ncontent-type: image/png\n\n[5 bytes of image/png, which is not text]",
        server.url("/png")
    );
    assert_eq!(said(&output), pair("ok", text));
    assert_eq!(world.blobs.get(&output.artifacts[0].hash).unwrap(), b"\x89PNG\0");
}

#[tokio::test]
async fn wrong_arguments_are_told_before_anything_is_sent() {
    let server = Server::new(|_| reply(200, &[], "")).await;
    let world = world(&[&server], &[format!("GET {}", server.url("/**"))]);
    for args in [
        json!({"method": "CONNECT", "url": server.url("/")}),
        json!({"method": "get", "url": server.url("/")}),
        json!({"method": "GET"}),
        json!({"method": "GET", "url": server.url("/"), "body": "a", "json": 1}),
        json!({"method": "GET", "url": server.url("/"), "proxy": "http://a.test"}),
        json!({"method": "GET", "url": server.url("/"), "timeout_s": 0}),
    ] {
        assert_eq!(world.say("http_request", args.clone()).await.0, "invalid_arguments", "{args}");
    }
    let url = "http://u:p@127.0.0.1/";
    let told = "\"http://u:p@127.0.0.1/\" cannot be asked: it holds a user or a password; send those in a header.";
    assert_eq!(world.say("http_request", json!({"method": "GET", "url": url})).await, pair("bad_url", told));
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn a_call_that_is_cancelled_in_the_middle_of_a_body_leaves_nothing() {
    let server = Server::new(|_| raw("HTTP/1.1 200 .\r\ncontent-length: 10\r\n\r\nhalf", Then::Hold)).await;
    let world = world(&[&server], &[format!("GET {}", server.url("/**"))]);
    let ctx = world.context("http_request");
    let (cancel, tools) = (ctx.cancel.clone(), world.tools.clone());
    let args = json!({"method": "GET", "url": server.url("/")}).to_string();
    let call = tokio::spawn(async move { tools.run("http_request", &args, &ctx).await });
    while server.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    assert_eq!(said(&call.await.unwrap()), pair("interrupted", "The call was interrupted."));
    while server.left() == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn policy_is_told_the_method_and_the_whole_address() {
    let world = world(&[], &["GET https://a.test/**".into(), "PUT,DELETE https://b.test/**".into()]);
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::new(folder.path(), vec![]).unwrap();
    let args = json!({"method": "PUT", "url": "HTTPS://A.test:443/x/../y#f", "query": {"q": "{{secret:KEY}}"}});
    let planned = world.tools.plan("http_request", &args.to_string(), &workspace).unwrap();
    let url = "https://a.test/y?q=%7B%7Bsecret%3AKEY%7D%7D".into();
    assert_eq!(planned.facts.urls, [UrlFact { method: "PUT".into(), url }]);
    let doc = world.tools.doc("http_request").unwrap();
    let text = "Sends an HTTP request and shows status, headers and body. Allowed is: GET https://a.test/**; PUT,DELETE https://b.test/**.";
    assert_eq!(doc.description, text);
    let rate = Some(Rate { calls: 10, per: Duration::from_secs(60) });
    assert_eq!((doc.effect, doc.origin, doc.rate), (EffectClass::SideEffecting, Origin::Web, rate));
}
