//! Where the client goes, and where it does not.

use crate::server::{Server, redirect, reply};
use crate::support::{Answers, client, reach};
use mainpath_net::{Ask, Caps, Client, NotFollowed, Reach};
use mainpath_tools::Problem;
use reqwest::{Method, Url};
use std::time::Duration;

const CAPS: Caps = Caps { time: Duration::from_secs(20), bytes: 1 << 20, redirects: 5 };

fn anywhere(_: &Method, _: &Url) -> Result<(), NotFollowed> {
    Ok(())
}

async fn get(client: &Client, url: &str) -> Result<(String, String), Problem> {
    let answer = client.send(Ask::get(Url::parse(url).unwrap()), CAPS, &anywhere).await?;
    Ok((answer.url.to_string(), String::from_utf8(answer.body).unwrap()))
}

/// Code and text of a failure.
async fn refusal(client: &Client, url: &str) -> (&'static str, String) {
    let problem = get(client, url).await.unwrap_err();
    (problem.code, problem.text)
}

async fn hello() -> Server {
    Server::new(|_| reply(200, &[], "hello")).await
}

#[tokio::test]
async fn a_server_that_the_owner_named_is_asked_and_its_neighbours_are_not() {
    let (named, neighbour) = (hello().await, hello().await);
    let client = client(&[&named]);
    assert_eq!(get(&client, &named.url("/a?b")).await.unwrap(), (named.url("/a?b"), "hello".into()));
    let told =
        "127.0.0.1 is a loopback address; the owner can allow it with allow_private under [net] in the configuration";
    assert_eq!(refusal(&client, &neighbour.url("/")).await, ("blocked_address", told.into()));
    assert_eq!(neighbour.seen(), []);
}

#[tokio::test]
async fn a_server_of_this_machine_is_not_asked_by_any_of_its_names() {
    let server = hello().await;
    let client = Client::new(&Reach::default());
    for host in
        ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0", "[::1]", "[::ffff:127.0.0.1]", "localhost"]
    {
        let (code, text) = refusal(&client, &format!("http://{host}:{}/", server.port)).await;
        assert_eq!(code, "blocked_address", "{host}: {text}");
    }
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn one_private_address_among_those_of_a_name_is_enough_to_refuse_it() {
    let server = hello().await;
    for answer in [&["127.0.0.1"][..], &["1.1.1.1", "10.0.0.7"], &["::ffff:127.0.0.1"], &["fe80::1", "1.1.1.1"]] {
        let names = Answers::new(&[answer]);
        let client = Client::with_lookup(&Reach::default(), names.clone());
        let (code, text) = refusal(&client, &format!("http://evil.test:{}/", server.port)).await;
        assert_eq!((code, text.starts_with("evil.test is ")), ("blocked_address", true), "{text}");
        assert_eq!(*names.asked.lock().unwrap(), ["evil.test"]);
    }
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn the_connection_goes_to_the_address_that_was_checked_whatever_the_name_means_a_moment_later() {
    let server = hello().await;
    // A second question would get an address where nobody listens.
    let names = Answers::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let host = format!("rebind.test:{}", server.port);
    let named = Reach { allow_private: [host.clone().try_into().unwrap()].into(), proxy: None };
    let client = Client::with_lookup(&named, names.clone());
    assert_eq!(get(&client, &format!("http://{host}/")).await.unwrap().1, "hello");
    assert_eq!(*names.asked.lock().unwrap(), ["rebind.test"]);
}

#[tokio::test]
async fn a_name_that_turns_private_is_refused_at_the_next_connection() {
    let inner = hello().await;
    let port = inner.port;
    let outer = Server::new(move |_| redirect(302, &format!("http://rebind.test:{port}/"))).await;
    let names = Answers::new(&[&["127.0.0.1"]]);
    // The same name, allowed on one port, leads inside on another.
    let named =
        Reach { allow_private: [format!("rebind.test:{}", outer.port).try_into().unwrap()].into(), proxy: None };
    let client = Client::with_lookup(&named, names.clone());
    let (code, text) = refusal(&client, &format!("http://rebind.test:{}/", outer.port)).await;
    assert_eq!(
        (code, text.starts_with("rebind.test is a loopback address (127.0.0.1);")),
        ("blocked_address", true),
        "{text}"
    );
    assert_eq!((outer.seen().len(), inner.seen()), (1, vec![]));
}

#[tokio::test]
async fn redirects_are_checked_like_the_first_address() {
    let inner = hello().await;
    let places = [
        inner.url("/"),
        format!("http://[::ffff:127.0.0.1]:{}/", inner.port),
        format!("http://2130706433:{}/", inner.port),
        format!("//localhost:{}/", inner.port),
        "http://169.254.169.254/latest/meta-data/".to_string(),
        "http://[fd00:ec2::254]/".to_string(),
        "http://10.0.0.1/".to_string(),
    ];
    for place in places {
        let to = place.clone();
        let outer = Server::new(move |_| redirect(301, &to)).await;
        assert_eq!(refusal(&client(&[&outer]), &outer.url("/")).await.0, "blocked_address", "{place}");
    }
    for (place, code) in [
        ("file:///etc/passwd", "bad_url"),
        ("ftp://a.test/", "bad_url"),
        ("gopher://a.test/", "bad_url"),
        ("http://user:pass@a.test/", "bad_url"),
        ("http://[", "redirect"),
    ] {
        let outer = Server::new(move |_| redirect(302, place)).await;
        assert_eq!(refusal(&client(&[&outer]), &outer.url("/")).await.0, code, "{place}");
    }
    assert_eq!(inner.seen(), []);
}

#[tokio::test]
async fn redirects_end_after_five() {
    let server = Server::new(|request| {
        let number: usize = request.path[1..].parse().unwrap();
        if number == 0 { reply(200, &[], "there") } else { redirect(303, &format!("/{}", number - 1)) }
    })
    .await;
    let client = client(&[&server]);
    assert_eq!(get(&client, &server.url("/5")).await.unwrap(), (server.url("/0"), "there".into()));
    let told = format!("{} redirects once more after 5 redirects; that is where it ends.", server.url("/1"));
    assert_eq!(refusal(&client, &server.url("/6")).await, ("redirect", told));
}

#[tokio::test]
async fn another_origin_gets_neither_secrets_nor_bodies() {
    let other = hello().await;
    let to = other.url("/");
    let first = Server::new(move |request| redirect(if request.path == "/keep" { 307 } else { 302 }, &to)).await;
    let client = Client::new(&reach(&[&first, &other]));
    let ask = |path: &str| {
        let mut ask = Ask::post(Url::parse(&first.url(path)).unwrap(), &serde_json::json!({"secret": 1}));
        for name in ["authorization", "cookie", "x-api-key"] {
            ask.headers.insert(name, "s3cret".parse().unwrap());
        }
        ask
    };
    client.send(ask("/get"), CAPS, &anywhere).await.unwrap();
    let seen = other.seen();
    let mut names: Vec<&str> = seen[0].headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!((seen[0].method.as_str(), seen[0].body.as_str()), ("GET", ""));
    assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
    let problem = client.send(ask("/keep"), CAPS, &anywhere).await.unwrap_err();
    assert_eq!(problem.code, "redirect");
    assert_eq!((first.seen().len(), other.seen().len()), (2, 1));
}

#[tokio::test]
async fn what_may_be_followed_is_the_callers_to_say() {
    let server =
        Server::new(|request| if request.path == "/" { redirect(302, "/no?key=1") } else { reply(200, &[], "no") })
            .await;
    let follow = |method: &Method, url: &Url| match url.path() {
        "/no" => Err(NotFollowed::Refused(format!("{method} there is not wanted").into())),
        _ => Ok(()),
    };
    let ask = Ask::get(Url::parse(&server.url("/")).unwrap());
    let problem = client(&[&server]).send(ask, CAPS, &follow).await.unwrap_err();
    let told = format!(
        "{} redirects to {}, which was not followed: GET there is not wanted.",
        server.url("/"),
        server.url("/no?key=1")
    );
    assert_eq!((problem.code, problem.text), ("redirect", told));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn addresses_that_cannot_be_asked_are_refused_without_their_secrets() {
    let client = Client::new(&Reach::default());
    for url in ["ftp://a.test/x?key=s3cret", "file:///etc/passwd", "data:text/html,x", "http://user:s3cret@a.test/"] {
        let (code, text) = refusal(&client, url).await;
        assert_eq!((code, text.contains("s3cret")), ("bad_url", false), "{text}");
    }
    let long = format!("http://a.test/{}", "x".repeat(9_000));
    assert_eq!(refusal(&client, &long).await.0, "bad_url");
}

#[tokio::test]
async fn a_proxy_of_the_configuration_is_used_and_private_addresses_are_still_refused() {
    let proxy = Server::new(|_| reply(200, &[], "by proxy")).await;
    let named = Reach { allow_private: [].into(), proxy: Some(proxy.url("/").try_into().unwrap()) };
    let names = Answers::new(&[&["1.1.1.1"], &["127.0.0.1"]]);
    let client = Client::with_lookup(&named, names);
    assert_eq!(get(&client, "http://a.test/x").await.unwrap().1, "by proxy");
    assert_eq!(proxy.seen()[0].path, "http://a.test/x");
    assert_eq!(refusal(&client, "http://a.test/x").await.0, "blocked_address");
    assert_eq!(refusal(&client, "http://192.168.0.1/").await.0, "blocked_address");
    assert_eq!(proxy.seen().len(), 1);
}
