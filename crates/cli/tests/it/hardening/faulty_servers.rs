//! Model servers that do everything wrong, in all four wire formats, against the real binary: an answer that was paid for is kept, or
//! one line says what is wrong; the exit code is right, the log verifies, nothing panics, memory is bounded.

use super::{long, tried};
use crate::support::*;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const FORMATS: [&str; 4] = ["openai-compatible", "openai-responses", "anthropic-compatible", "gemini-compatible"];

/// How the run is to end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// With the answer.
    Kept,
    /// With the beginning of the answer, and a note.
    Shortened,
    /// With one line that says so.
    Fails,
}

/// What the server sends, piece by piece; then it closes, or says nothing more.
#[derive(Clone)]
struct Sent {
    pieces: Vec<Vec<u8>>,
    pause: Duration,
    /// The last piece again and again.
    for_ever: bool,
    stays: bool,
}

impl Sent {
    fn once(bytes: Vec<u8>) -> Sent {
        Sent { pieces: vec![bytes], pause: Duration::ZERO, for_ever: false, stays: false }
    }
}

/// The data of the events of an answer: its text as a JSON string, the counts as JSON, the model's name as JSON.
fn events(format: usize, text: &str, n: &str, model: &str) -> Vec<String> {
    match format {
        0 => vec![
            format!(r#"{{"id":"x","model":{model},"choices":[{{"index":0,"delta":{{"content":{text}}}}}]}}"#),
            format!(
                r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":{n},"completion_tokens":{n}}}}}"#
            ),
            "[DONE]".into(),
        ],
        1 => vec![
            format!(r#"{{"type":"response.created","response":{{"model":{model}}}}}"#),
            format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":{text}}}"#),
            format!(
                r#"{{"type":"response.completed","response":{{"status":"completed","output":[{{"type":"message","content":[{{"type":"output_text","text":{text}}}]}}],"usage":{{"input_tokens":{n},"output_tokens":{n}}}}}}}"#
            ),
        ],
        2 => vec![
            format!(
                r#"{{"type":"message_start","message":{{"type":"message","model":{model},"content":[],"usage":{{"input_tokens":{n},"output_tokens":1}}}}}}"#
            ),
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.into(),
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}"#),
            format!(
                r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{{"output_tokens":{n}}}}}"#
            ),
            r#"{"type":"message_stop"}"#.into(),
        ],
        _ => vec![format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":{text}}}]}},"finishReason":"STOP"}}],"usageMetadata":{{"promptTokenCount":{n},"candidatesTokenCount":{n}}},"modelVersion":{model}}}"#
        )],
    }
}

fn stream(events: &[String]) -> Vec<u8> {
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into_bytes()
}

fn whole(format: usize, text: &str) -> String {
    match format {
        0 => format!(
            r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":{text}}},"finish_reason":"stop"}}]}}"#
        ),
        1 => format!(
            r#"{{"status":"completed","output":[{{"type":"message","content":[{{"type":"output_text","text":{text}}}]}}]}}"#
        ),
        2 => format!(r#"{{"type":"message","content":[{{"type":"text","text":{text}}}],"stop_reason":"end_turn"}}"#),
        _ => format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":{text}}}]}},"finishReason":"STOP"}}]}}"#),
    }
}

/// A response that ends with its connection.
fn http(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\n\r\n").as_bytes(), body].concat()
}

const EVENTS: &str = "content-type: text/event-stream\r\n";
const JSON: &str = "content-type: application/json\r\n";
const SAID: &str = r#""three herons""#;

/// Every kind of fault, for a format, but for those of [`huge`].
fn faults(format: usize) -> Vec<(String, Sent, End)> {
    use End::*;
    let mut all: Vec<(String, Sent, End)> = Vec::new();
    let answer = |text: &str| stream(&events(format, text, "7", "\"m\""));
    let good = answer(SAID);
    let ok = |headers: &str, body: &[u8]| Sent::once(http("200 OK", headers, body));
    let mut add = |name: &str, sent: Sent, end: End| all.push((name.to_string(), sent, end));

    let said = br#"{"error":{"message":"no good","type":"error"}}"#;
    for status in [400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 500, 502, 503, 504, 529, 301, 307, 599] {
        add(&format!("status {status}"), Sent::once(http(&format!("{status} X"), JSON, said)), Fails);
    }
    add("error in html", Sent::once(http("502 X", "", b"<html><h1>Bad gateway</h1></html>")), Fails);
    add("error without a body", Sent::once(http("500 X", "", b"")), Fails);
    add("error in bytes", Sent::once(http("500 X", "content-encoding: gzip\r\n", &[0x1f, 0x8b, 8, 0, 0, 1, 2])), Fails);
    add("error of 10 MB", Sent::once(http("400 X", "", &vec![b'x'; 10 << 20])), Fails);
    add("error in no UTF-8", Sent::once(http("400 X", "", b"{\"error\":{\"message\":\"\xff\xfe\"}}")), Fails);
    add("wait for an hour", Sent::once(http("429 X", "retry-after: 3600\r\n", said)), Fails);
    add("success without a body", ok(EVENTS, b""), Fails);
    add("no content", Sent::once(http("204 X", "", b"")), Fails);
    add("a page instead of a stream", ok("content-type: text/html\r\n", b"<html>hi</html>"), Fails);
    add("another protocol", Sent::once(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()), Fails);
    add("nothing at all", Sent::once(Vec::new()), Fails);
    add("half a status line", Sent::once(b"HTTP/1.1 2".to_vec()), Fails);
    add("a header of 1 MB", Sent::once(http("200 OK", &format!("x: {}\r\n", "y".repeat(1 << 20)), &good)), Fails);
    add("the wrong content type", ok("content-type: text/plain\r\n", &good), Kept);
    add("no content type", ok("", &good), Kept);
    add("whole though asked to stream", ok(JSON, whole(format, SAID).as_bytes()), Kept);
    add("whole and pretty", ok(JSON, whole(format, SAID).replace(':', " :\n\t").as_bytes()), Kept);

    let text = String::from_utf8(good.clone()).unwrap();
    add("lines end in CR LF", ok(EVENTS, text.replace('\n', "\r\n").as_bytes()), Kept);
    add("lines end in CR", ok(EVENTS, text.replace('\n', "\r").as_bytes()), Kept);
    add("no space after data", ok(EVENTS, text.replace("data: ", "data:").as_bytes()), Kept);
    add("a byte order mark", ok(EVENTS, format!("\u{feff}{text}").as_bytes()), Kept);
    add("comments between events", ok(EVENTS, text.replace("data: ", ": alive\n\ndata: ").as_bytes()), Kept);
    add("empty events", ok(EVENTS, text.replace("data: ", "data: \n\ndata: ").as_bytes()), Kept);
    add("ids and retry times", ok(EVENTS, text.replace("data: ", "id: 1\nretry: 5\ndata: ").as_bytes()), Kept);
    add("garbage in an event", ok(EVENTS, format!("data: {{garbage\n\n{text}").as_bytes()), Fails);
    add(
        "an error in the stream",
        ok(EVENTS, b"data: {\"type\":\"error\",\"error\":{\"message\":\"overloaded\"}}\n\n"),
        Fails,
    );

    for (name, json) in [
        ("half a surrogate pair", r#""three herons \ud800""#),
        ("the other half", r#""\udc00 three herons""#),
        ("an escaped NUL", r#""three herons \u0000""#),
        ("an escape sequence of terminals", r#""three herons \u001b[2J""#),
        ("raw control characters", "\"three herons \u{1}\t\""),
    ] {
        add(name, ok(EVENTS, &answer(json)), Kept);
        add(&format!("{name}, whole"), ok(JSON, whole(format, json).as_bytes()), Kept);
    }
    let broken: Vec<u8> = [&b"\"three herons \xff\xc3\""[..]].concat();
    let at = |bytes: &[u8]| {
        let text = SAID.as_bytes();
        let mut out = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.windows(text.len()).position(|window| window == text) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(&broken);
            rest = &rest[at + text.len()..];
        }
        out.extend_from_slice(rest);
        out
    };
    add("no UTF-8", ok(EVENTS, &at(&good)), Kept);
    add("no UTF-8, whole", ok(JSON, &at(whole(format, SAID).as_bytes())), Kept);

    for n in
        ["-5", "7.5", "\"7\"", "null", "1e300", "1e400", "18446744073709551615", "true", "[1]", "{}", "\"many\"", "0"]
    {
        add(&format!("counts of {n}"), ok(EVENTS, &stream(&events(format, SAID, n, "\"m\""))), Kept);
    }
    for model in ["5", "null", "[]", "{\"a\":1}"] {
        add(&format!("a model called {model}"), ok(EVENTS, &stream(&events(format, SAID, "7", model))), Kept);
    }
    for (name, from, to) in [
        ("a number as the reason", "\"stop\"", "5"),
        ("an unknown reason", "\"end_turn\"", "\"tired\""),
        ("a place in words", "\"index\":0", "\"index\":\"0\""),
        ("fields that nobody knows", "{\"", "{\"news\":[1,{}],\""),
    ] {
        add(name, ok(EVENTS, text.replacen(from, to, 9).as_bytes()), Kept);
    }

    let gzip = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    add("gzip unasked", ok("content-encoding: gzip\r\n", &gzip(&good)), Kept);
    add("gzip unsaid", ok(EVENTS, &gzip(&good)), Kept);
    add("gzip that is none", ok("content-encoding: gzip\r\n", &good), Fails);
    add("gzip cut off", ok("content-encoding: gzip\r\n", &gzip(&good)[..12]), Fails);
    add("a coding that nobody knows", ok("content-encoding: br\r\n", &good), Fails);

    let head = http("200 OK", EVENTS, b"");
    for hundredths in [5, 25, 50] {
        add(&format!("cut at {hundredths} %"), ok(EVENTS, &good[..good.len() * hundredths / 100]), Fails);
    }
    let drip = |pieces, for_ever, stays| Sent { pieces, pause: Duration::from_millis(20), for_ever, stays };
    let mut slowly = vec![head.clone()];
    slowly.extend(good.chunks(good.len() / 12 + 1).map(<[u8]>::to_vec));
    add("slowly", drip(slowly, false, false), Kept);
    add("silent from the start", drip(vec![Vec::new()], false, true), Fails);
    add("silent after the head", drip(vec![head.clone()], false, true), Fails);
    add("silent in the answer", drip(vec![head.clone(), good[..good.len() / 2].to_vec()], false, true), Fails);
    add("comments for ever", drip(vec![head.clone(), b": alive\n\n".to_vec()], true, true), Fails);
    add(
        "pings for ever",
        drip(vec![head.clone(), b"event: ping\ndata: {\"type\": \"ping\"}\n\n".to_vec()], true, true),
        Fails,
    );
    add("half lines for ever", drip(vec![head, b"x".to_vec()], true, true), Fails);
    all
}

const HUGE: [&str; 2] = ["an answer of 50 MB in one event", "an answer of 50 MB, whole"];

/// A kind of fault that is too large to be made where it is not tried.
fn huge(format: usize, which: usize) -> (String, Sent, End) {
    let text = format!("\"three herons {}\"", "x".repeat(50 << 20));
    let answer = match which {
        0 => http("200 OK", EVENTS, &stream(&events(format, &text, "7", "\"m\""))),
        _ => http("200 OK", JSON, whole(format, &text).as_bytes()),
    };
    (HUGE[which].into(), Sent::once(answer), End::Shortened)
}

/// Serves this to everybody who asks.
fn serve(sent: Sent) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten().take(4) {
            // A client that has had enough leaves.
            let _ = answer(stream, &sent);
        }
    });
    port
}

fn answer(mut stream: TcpStream, sent: &Sent) -> std::io::Result<()> {
    let mut asked = Vec::new();
    let mut buffer = [0; 1 << 16];
    loop {
        let n = stream.read(&mut buffer)?;
        asked.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&asked).to_ascii_lowercase();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if n == 0 || asked.len() >= head.len() + 4 + length.unwrap_or(0) {
            break;
        }
    }
    for piece in &sent.pieces {
        stream.write_all(piece)?;
        std::thread::sleep(sent.pause);
    }
    if !sent.for_ever {
        if sent.stays {
            stream.read_exact(&mut buffer)?;
        }
        return Ok(());
    }
    // Until the client leaves.
    loop {
        stream.write_all(sent.pieces.last().unwrap())?;
        std::thread::sleep(sent.pause);
    }
}

#[test]
fn every_faulty_server_ends_as_documented() {
    let made: Vec<_> = (0..FORMATS.len()).map(faults).collect();
    let kinds = made[0].len() + HUGE.len();
    assert!(kinds >= 66, "{kinds}");
    // Mostly they wait, so several are tried at once, the huge ones first: in the short form each kind with one format.
    let next = AtomicUsize::new(0);
    let (count, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let (format, number) = if long() { (at / kinds, at % kinds) } else { (at % 4, at) };
                    if at >= if long() { 4 * kinds } else { kinds } {
                        break;
                    }
                    let (fault, sent, end) = match number.checked_sub(HUGE.len()) {
                        None => huge(format, number),
                        Some(number) => made[format][number].clone(),
                    };
                    count.fetch_add(1, Ordering::Relaxed);
                    if let Err(problem) = try_one(format, sent, end) {
                        wrong.lock().unwrap().push(format!("{}: {fault}: {problem}", FORMATS[format]));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    let count = count.into_inner();
    tried("faulty_servers", count, &format!("{kinds} kinds of faulty answers, four wire formats"));
}

fn try_one(format: usize, sent: Sent, end: End) -> Result<(), String> {
    let (place, is_silent) = (Place::new(), sent.stays);
    let path = if format < 2 { "/v1" } else { "" };
    let model = format!("{}:http://127.0.0.1:{}{path}#m", FORMATS[format], serve(sent));
    // No more than 1 GB of addresses: what is read is bounded.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_mainpath")]);
    command.args(["run", "--model", &model, "--model-retries", "0", "How many?"]);
    // The others have to answer in time.
    if is_silent {
        command.args(["--idle-timeout", "1s", "--first-byte-timeout", "3s"]);
    }
    place.surround(&mut command);
    let done = finish(command, None);
    let short = || format!("exit {} {:.700} | {:.200}", done.code, done.err, done.out);
    let wants = |holds: bool, what: &str| if holds { Ok(()) } else { Err(format!("{what}: {}", short())) };
    wants(!done.err.contains("panicked"), "a panic")?;
    match end {
        End::Kept => wants(done.code == 0 && done.out.contains("three herons"), "it is not kept")?,
        End::Shortened => {
            let begins = done.out.starts_with("three herons xxx") && done.out.len() < 9 << 20;
            let says = done.out.contains("[The answer was larger than what is read");
            wants(done.code == 4 && begins && says, "its beginning is not kept")?;
        }
        End::Fails => {
            wants(matches!(done.code, 1 | 3 | 4), "another exit code")?;
            wants(done.err.lines().any(|line| line.starts_with("mainpath: ")), "no line that says why")?;
            let odd = |c: char| c.is_control() && c != '\n';
            let unread = done.err.matches('\u{fffd}').count();
            wants(!done.err.contains(odd) && unread <= 2, "bytes are printed")?;
        }
    }
    wants(place.run(&["verify"]).code == 0, "the log does not verify")
}
