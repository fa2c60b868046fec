use crate::server::{Server, redirect, reply};
use crate::support::{World, client, pair, said};
use mainpath_net::{WebFetch, WebFetchConfig};
use mainpath_tools::Tools;
use mainpath_types::{EffectClass, Origin};
use serde_json::{Value, json};

fn world(servers: &[&Server], config: Value) -> World {
    let config: WebFetchConfig = serde_json::from_value(config).unwrap();
    World::new(Tools::new().with(WebFetch::new(&client(servers), &config)))
}

const HTML: (&str, &str) = ("content-type", "text/html; charset=utf-8");

#[tokio::test]
async fn a_page_becomes_markdown() {
    let html =
        "<html><head><title>The page</title></head><body><h2>Top</h2><p>See <a href=more>more</a>.</p></body></html>";
    let server = Server::new(move |_| reply(200, &[HTML], html)).await;
    let world = world(&[&server], json!({}));
    let output = world.run("web_fetch", json!({"url": server.url("/a/b#part")})).await;
    let text = format!(
        "{} (HTTP 200, text/html)\nTitle: The page\n\n## Top\n\nSee [more]({}).",
        server.url("/a/b"),
        server.url("/a/more")
    );
    assert_eq!(said(&output), pair("ok", text));
    assert_eq!(output.title.as_deref(), Some("The page"));
    let doc = world.tools.doc("webfetch").unwrap();
    assert_eq!((doc.effect, doc.origin), (EffectClass::ReadOnly, Origin::Web));
}

#[tokio::test]
async fn a_long_text_is_read_piece_by_piece() {
    let server =
        Server::new(|_| reply(200, &[("content-type", "text/plain; charset=utf-8")], "0123456789é".repeat(10))).await;
    let world = world(&[&server], json!({"max_chars": 60}));
    let fetch = async |args: Value| {
        let (code, text) = world.say("web_fetch", args).await;
        (code, text.split_once("\n\n").map_or(text.clone(), |(_, body)| body.to_string()))
    };
    let url = server.url("/");
    let whole = "0123456789é".repeat(10);
    let part = |from: usize, to: usize| whole.chars().skip(from).take(to - from).collect::<String>();
    let told = |to: usize, note: &str| pair("ok", format!("{}\n[{note}]", part(to - 60, to)));
    assert_eq!(fetch(json!({"url": url})).await, told(60, "characters 0 to 60 of 110; go on with offset 60"));
    assert_eq!(fetch(json!({"url": url, "offset": 60})).await, pair("ok", part(60, 110)));
    assert_eq!(
        fetch(json!({"url": url, "offset": 45, "max_chars": 1_000})).await,
        told(105, "characters 45 to 105 of 110; go on with offset 105")
    );
    let (code, text) = fetch(json!({"url": url, "max_chars": 5})).await;
    assert_eq!((code.as_str(), text.as_str()), ("ok", "01234\n[characters 0 to 5 of 110; go on with offset 5]"));
    assert_eq!(
        fetch(json!({"url": url, "offset": 110})).await,
        pair("out_of_range", format!("{url} has 110 characters; offset 110 is behind its end."))
    );
}

#[tokio::test]
async fn texts_come_as_they_are_in_whatever_encoding() {
    let server = Server::new(|request| match request.path.as_str() {
        "/json" => reply(200, &[("content-type", "application/ld+json")], r#"{"a": "é"}"#),
        "/latin" => reply(200, &[("content-type", "text/plain; charset=utf-8")], b"caf\xe9 au lait"),
        "/gbk" => reply(200, &[("content-type", "text/html")], b"<meta charset=gbk><p>\xc4\xe3\xba\xc3"),
        "/nothing" => reply(200, &[], "just text"),
        "/page" => reply(200, &[], "<!DOCTYPE html><b>bold</b>"),
        _ => reply(200, &[("content-type", "application/octet-stream")], b"\0\x01\x02"),
    })
    .await;
    let world = world(&[&server], json!({}));
    let fetch = async |path: &str| world.say("web_fetch", json!({"url": server.url(path)})).await;
    for (path, body) in [
        ("/json", r#"{"a": "é"}"#),
        ("/latin", "café au lait"),
        ("/gbk", "你好"),
        ("/nothing", "just text"),
        ("/page", "**bold**"),
    ] {
        let (code, text) = fetch(path).await;
        assert_eq!((code.as_str(), text.split_once("\n\n").unwrap().1), ("ok", body), "{path}");
    }
    let told = format!("{} is application/octet-stream (3 bytes); only texts can be fetched.", server.url("/bytes"));
    assert_eq!(fetch("/bytes").await, pair("not_text", told));
}

/// A PDF of one page that says these words.
fn pdf(words: &str) -> Vec<u8> {
    let content = format!("BT /F1 24 Tf 100 700 Td ({words}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_string(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".into(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".into(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".into(),
    ];
    let mut text = String::from("%PDF-1.4\n");
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(text.len());
        text.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let table = text.len();
    text.push_str("xref\n0 6\n0000000000 65535 f \n");
    places.iter().for_each(|place| text.push_str(&format!("{place:010} 00000 n \n")));
    text.push_str(&format!("trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"));
    text.into_bytes()
}

#[tokio::test]
async fn the_text_of_a_pdf_is_shown() {
    let server = Server::new(|request| match request.path.as_str() {
        "/good" => reply(200, &[("content-type", "application/pdf")], pdf("Words in a document")),
        _ => reply(200, &[("content-type", "application/pdf")], "%PDF-1.4 and nothing"),
    })
    .await;
    let world = world(&[&server], json!({}));
    let (code, text) = world.say("web_fetch", json!({"url": server.url("/good")})).await;
    let head = format!("{} (HTTP 200, application/pdf)\n\n", server.url("/good"));
    assert_eq!((code.as_str(), text.as_str()), ("ok", format!("{head}[page 1]\nWords in a document").as_str()));
    assert_eq!(world.say("web_fetch", json!({"url": server.url("/bad")})).await.0, "not_text");
}

#[tokio::test]
async fn a_page_that_moved_within_its_site_is_followed_and_another_site_is_only_named() {
    let server = Server::new(|request| match request.path.as_str() {
        "/old" => redirect(301, "/new"),
        "/out" => redirect(302, "https://other.test/page?x=1"),
        "/in" => redirect(302, "http://10.0.0.1/"),
        _ => reply(200, &[HTML], "<p>new"),
    })
    .await;
    let world = world(&[&server], json!({}));
    let fetch = async |path: &str| world.say("web_fetch", json!({"url": server.url(path)})).await;
    assert_eq!(fetch("/old").await, pair("ok", format!("{} (HTTP 200, text/html)\n\nnew", server.url("/new"))));
    let told = |path: &str, to: &str| {
        format!(
            "{} redirects to {to}, which was not followed: it is another site; fetch that address if it is wanted.",
            server.url(path)
        )
    };
    assert_eq!(fetch("/out").await, pair("redirect", told("/out", "https://other.test/page?x=1")));
    assert_eq!(fetch("/in").await, pair("redirect", told("/in", "http://10.0.0.1/")));
}

#[tokio::test]
async fn a_list_of_sites_is_kept_to() {
    let server = Server::new(|request| match request.path.as_str() {
        "/docs/out" => redirect(302, "/private"),
        _ => reply(200, &[HTML], "<p>page"),
    })
    .await;
    let world = world(&[&server], json!({"allow": [server.url("/docs/**")]}));
    let fetch = async |path: &str| world.say("web_fetch", json!({"url": server.url(path)})).await.0;
    assert_eq!(fetch("/docs/a").await, "ok");
    assert_eq!(fetch("/private").await, "not_allowed");
    assert_eq!(fetch("/docs/out").await, "redirect");
    assert!(server.seen().iter().all(|request| request.path != "/private"));
}

#[tokio::test]
async fn refusals_and_what_cannot_be_fetched_are_told() {
    let server = Server::new(|_| reply(404, &[HTML], "<h1>Not\n found</h1>")).await;
    let world = world(&[&server], json!({}));
    let url = server.url("/x");
    let told = format!("{url} answered with HTTP 404: <h1>Not found</h1>");
    assert_eq!(world.say("web_fetch", json!({"url": url})).await, pair("http_status", told));
    for (url, code) in [
        ("file:///etc/passwd", "bad_url"),
        ("no address", "bad_url"),
        ("http://127.0.0.1:1/", "blocked_address"),
        ("javascript:alert(1)", "bad_url"),
    ] {
        assert_eq!(world.say("web_fetch", json!({"url": url})).await.0, code, "{url}");
    }
}

#[tokio::test]
async fn an_endless_page_is_read_to_the_cap_and_that_is_said() {
    let server = Server::new(|_| reply(200, &[("content-type", "text/plain")], "x".repeat((4 << 20) + 1))).await;
    let world = world(&[&server], json!({}));
    let (code, text) = world.say("web_fetch", json!({"url": server.url("/")})).await;
    assert_eq!(code, "ok");
    let notes = "x\n[the document is longer; only its first 4194304 bytes were read]\n[characters 0 to 50000 of 4194304; go on with offset 50000]";
    assert!(text.ends_with(notes), "{}", &text[text.len() - 300..]);
}
