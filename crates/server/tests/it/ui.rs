//! The pages for people: where they lie, what they may do, and how a browser of the owner signs in.

use crate::support::{Answer, Place};
use mainpath_server::Keys;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_are_there_for_everybody_and_may_reach_nothing_but_this_server() {
    let place = Place::start().await;
    let page = place.ask("GET", "/ui/", &[], "").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.body.starts_with("<!doctype html>"), "{}", page.body);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    // Every address of the pages is the page, and what is known already is not sent again.
    let run = place.ask("GET", "/ui/runs/some-trace", &[], "").await;
    assert_eq!((run.status, &run.body), (200, &page.body));
    let known = [format!("if-none-match: {}", page.header("etag").unwrap())];
    assert_eq!(place.ask("GET", "/ui/", &known, "").await.status, 304);
    let tag = page.header("etag").unwrap();
    for known in [format!("W/{tag}"), format!("\"other\", {tag}"), "*".into()] {
        assert_eq!(place.ask("GET", "/ui/", &[format!("if-none-match: {known}")], "").await.status, 304, "{known}");
    }
    let odd = place.ask("GET", "/ui/%ff", &[], "").await;
    assert_eq!((odd.status, &odd.body), (200, &page.body));
    for (path, status, to) in [("/", 307, "/ui/"), ("/ui", 308, "/ui/")] {
        let answer = place.ask("GET", path, &[], "").await;
        assert_eq!((answer.status, answer.header("location")), (status, Some(to)));
    }
    // A file travels compressed to who takes it so, and under another tag.
    let asset =
        page.body.split('"').find(|text| text.starts_with("/ui/assets/index-") && text.ends_with(".js")).unwrap();
    let plain = place.ask("GET", asset, &[], "").await;
    let packed = place.ask("HEAD", asset, &["accept-encoding: gzip, br".into()], "").await;
    assert_eq!((plain.header("content-encoding"), packed.header("content-encoding")), (None, Some("gzip")));
    assert_eq!((plain.header("vary"), packed.header("vary")), (Some("accept-encoding"), Some("accept-encoding")));
    let length = |answer: &Answer| answer.header("content-length").unwrap().parse::<usize>().unwrap();
    assert_eq!(length(&plain), plain.body.len());
    assert!(length(&packed) * 2 < length(&plain), "{} of {}", length(&packed), length(&plain));
    let tags = [&plain, &packed].map(|answer| format!("if-none-match: {}", answer.header("etag").unwrap()));
    assert_ne!(tags[0], tags[1]);
    let same = place.ask("GET", asset, &["accept-encoding: gzip".into(), tags[1].clone()], "").await;
    assert_eq!(same.status, 304);
    let gone = place.ask("GET", "/ui/assets/old-1234.js", &[], "").await;
    assert_eq!((gone.status, gone.json()["type"].clone()), (404, json!("/problems/not-found")));
    for path in ["/ui/..%2f..%2fCargo.toml", "/ui/%2e%2e/%2e%2e/Cargo.toml", "/ui//etc/passwd"] {
        let answer = place.ask("GET", path, &[], "").await;
        assert!(!answer.body.contains("[package]") && !answer.body.contains("root:"), "{path}: {}", answer.body);
    }
    let foreign = place.ask("GET", "/ui/", &["host: evil.example".into()], "").await;
    assert_eq!(foreign.status, 403);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_signs_a_browser_of_the_owner_in_once() {
    let place = Place::start().await;
    let keys = Keys::open(&place.dir.path().join("home/server")).unwrap();
    let body = json!({"code": keys.make_code().unwrap()}).to_string();
    // A page of another site cannot, whatever it knows.
    let foreign = place.ask("POST", "/ui/login", &["origin: http://evil.example".into()], &body).await;
    assert_eq!((foreign.status, foreign.json()["type"].clone()), (403, json!("/problems/foreign-origin")));
    let signed = place.ask("POST", "/ui/login", &[], &body).await;
    assert_eq!((signed.status, signed.json()), (200, json!({"key": place.key})));
    for body in [body.as_str(), "{\"code\":\"\"}", "{\"code\":\"x\"}"] {
        let again = place.ask("POST", "/ui/login", &[], body).await;
        assert_eq!((again.status, again.json()["type"].clone()), (401, json!("/problems/unauthenticated")), "{body}");
    }
    for body in ["", "{}", "[]", "{\"code\":1}", &format!("{{\"code\":\"{}\"}}", "x".repeat(5000))] {
        let wrong = place.ask("POST", "/ui/login", &[], body).await;
        assert!(matches!(wrong.status, 400 | 422), "{body}: {}", wrong.body);
    }
    let acts = place.get("/api/audit").await.json();
    let signed = acts["acts"].as_array().unwrap().iter().filter(|act| act["act"] == "signed_in").count();
    assert_eq!(signed, 1, "{acts}");
    place.end().await;
}
