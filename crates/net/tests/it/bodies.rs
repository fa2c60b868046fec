//! What servers may send, and what becomes of it.

use crate::server::{Reply, Server, Then, raw, reply};
use crate::support::client;
use flate2::Compression;
use flate2::write::GzEncoder;
use mainpath_net::{Answer, Ask, Caps, Client, Reach};
use mainpath_tools::Problem;
use reqwest::Url;
use std::io::Write;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

const MOST: usize = 100_000;

async fn fetch(
    answer: impl Fn() -> Reply + Send + Sync + 'static,
    time: Duration,
) -> (Result<Answer, Problem>, Server) {
    let server = Server::new(move |_| answer()).await;
    let ask = Ask::get(Url::parse(&server.url("/")).unwrap());
    let got = client(&[&server]).send(ask, Caps { time, bytes: MOST, redirects: 0 }, &|_, _| Ok(())).await;
    (got, server)
}

async fn read(answer: impl Fn() -> Reply + Send + Sync + 'static) -> Result<(usize, bool), (&'static str, String)> {
    let (got, _) = fetch(answer, Duration::from_secs(60)).await;
    got.map(|answer| (answer.body.len(), answer.cut)).map_err(|problem| (problem.code, problem.text))
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn gzip(body: Vec<u8>) -> Reply {
    reply(200, &[("content-encoding", "gzip")], body)
}

#[tokio::test]
async fn a_body_comes_whole_up_to_the_cap_and_is_cut_beyond_it() {
    assert_eq!(read(|| reply(200, &[], vec![b'x'; MOST])).await, Ok((MOST, false)));
    assert_eq!(read(|| reply(200, &[], vec![b'x'; MOST + 1])).await, Ok((MOST, true)));
    assert_eq!(read(|| reply(204, &[], "")).await, Ok((0, false)));
}

#[tokio::test]
async fn a_packed_body_is_unpacked_and_the_cap_is_on_what_comes_out() {
    assert_eq!(read(|| gzip(packed(&vec![0; MOST]))).await, Ok((MOST, false)));
    assert_eq!(read(|| gzip([packed(b"one"), packed(b"two")].concat())).await, Ok((6, false)));
    // A bomb: a megabyte becomes a gigabyte.
    let piece = packed(&vec![0; 64 << 20]);
    assert!(piece.len() < 70_000);
    let bomb = piece.repeat(16);
    assert_eq!(read(move || gzip(bomb.clone())).await, Ok((MOST, true)));
}

#[tokio::test]
async fn a_packed_stream_of_nothing_ends_too() {
    let head = "HTTP/1.1 200 .\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n";
    assert_eq!(read(move || raw(head, Then::Repeat(packed(b"")))).await, Ok((0, true)));
}

#[tokio::test]
async fn bad_packing_is_said() {
    let told = |result: Result<(usize, bool), (&'static str, String)>| result.unwrap_err().0;
    assert_eq!(told(read(|| gzip(b"no gzip at all".to_vec())).await), "encoding");
    assert_eq!(told(read(|| gzip(packed(b"some text that is cut")[..20].to_vec())).await), "encoding");
    let brotli = read(|| reply(200, &[("content-encoding", "br")], "x")).await.unwrap_err();
    let text = "The answer is packed as \"br\", which was not asked for and cannot be read.";
    assert_eq!(brotli, ("encoding", text.into()));
}

#[tokio::test]
async fn an_endless_body_is_left_at_the_cap() {
    let head = "HTTP/1.1 200 .\r\nconnection: close\r\n\r\n";
    let (got, server) = fetch(move || raw(head, Then::Repeat(vec![b'x'; 10_000])), Duration::from_secs(60)).await;
    let answer = got.unwrap();
    assert_eq!((answer.body.len(), answer.cut), (MOST, true));
    while server.left() == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_that_stops_half_way_is_given_up_in_time() {
    for head in ["", "HTTP/1.1 200 .\r\n", "HTTP/1.1 200 .\r\ncontent-length: 10\r\n\r\nhalf"] {
        let (got, server) = fetch(move || raw(head, Then::Hold), Duration::from_millis(300)).await;
        let problem = got.unwrap_err();
        assert_eq!(
            (problem.code, problem.text.as_str()),
            ("timeout", "127.0.0.1 did not answer in full within 300ms.")
        );
        while server.left() == 0 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_and_words_that_are_no_http_are_failures() {
    let broken = read(|| raw("HTTP/1.1 200 .\r\ncontent-length: 10\r\n\r\nhalf", Then::Close)).await.unwrap_err();
    assert_eq!(
        (broken.0, broken.1.starts_with("The answer of 127.0.0.1 broke off: ")),
        ("connection", true),
        "{}",
        broken.1
    );
    for noise in ["SSH-2.0-OpenSSH\r\n\r\n", "HTTP/9.9 200\r\n\r\n", "HTTP/1.1 99999 .\r\n\r\n", "\0\0\0\0\r\n\r\n", ""]
    {
        let told = read(move || raw(noise, Then::Close)).await.unwrap_err();
        assert_eq!(
            (told.0, told.1.starts_with("127.0.0.1 gave no answer that can be understood: ")),
            ("connection", true),
            "{}",
            told.1
        );
    }
}

#[tokio::test]
async fn what_speaks_no_tls_is_not_believed_to_be_https() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 plain words\r\n\r\n").await.unwrap();
    });
    let reach = Reach { allow_private: [host.clone().try_into().unwrap()].into(), proxy: None };
    let ask = Ask::get(Url::parse(&format!("https://{host}/")).unwrap());
    let told = Client::new(&reach).send(ask, Caps::within(Duration::from_secs(60)), &|_, _| Ok(())).await;
    let Problem { code, text } = told.unwrap_err();
    assert_eq!((code, text.starts_with("there is no secure connection to 127.0.0.1: ")), ("insecure", true), "{text}");
    server.await.unwrap();
}

#[tokio::test]
async fn headers_without_an_end_are_not_kept() {
    let many: String = (0..1_000).map(|n| format!("x-{n}: {n}\r\n")).collect();
    let told = read(move || raw(format!("HTTP/1.1 200 .\r\n{many}\r\n"), Then::Close)).await.unwrap_err();
    assert_eq!(told.0, "connection");
    let told = read(|| raw("HTTP/1.1 200 .\r\nx: ", Then::Repeat(vec![b'x'; 10_000]))).await.unwrap_err();
    assert_eq!(told.0, "connection");
    let endless = || raw("", Then::Repeat(b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100)));
    let (got, _) = fetch(endless, Duration::from_millis(300)).await;
    assert_eq!(got.unwrap_err().code, "timeout");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let server = Server::new(|_| reply(200, &[], "")).await;
    let (client, url) = (client(&[&server]), Url::parse(&server.url("/")).unwrap());
    drop(server);
    // The listener is closed when its task has been dropped.
    tokio::task::yield_now().await;
    let mut told = client.send(Ask::get(url.clone()), Caps::within(Duration::from_secs(20)), &|_, _| Ok(())).await;
    while told.is_ok() {
        told = client.send(Ask::get(url.clone()), Caps::within(Duration::from_secs(20)), &|_, _| Ok(())).await;
    }
    let problem = told.unwrap_err();
    assert_eq!(problem.code, "connection");
}
