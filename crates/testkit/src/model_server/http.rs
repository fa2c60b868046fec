//! As much HTTP/1.1 as the model server needs.

use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request as it came.
pub(super) struct Raw {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The next request of a connection; `None` when the client has left.
pub(super) async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Raw>> {
    let mut searched = 0;
    let head = loop {
        if let Some(at) = buffer[searched..].windows(4).position(|window| window == b"\r\n\r\n") {
            break searched + at;
        }
        searched = buffer.len().saturating_sub(3);
        if buffer.len() > 1 << 16 {
            return Err(bad("the request's head has no end"));
        }
        // An idle connection holds no buffer.
        stream.readable().await?;
        buffer.reserve(4096);
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let text = std::str::from_utf8(&buffer[..head]).map_err(|_| bad("the request's head is no text"))?;
    let mut lines = text.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (first.next().unwrap_or_default().to_owned(), first.next().unwrap_or_default().to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let length = match header("content-length") {
        Some(length) => length.parse().map_err(|_| bad("bad content-length"))?,
        None if header("transfer-encoding").is_some() => {
            stream.write_all(&response(411, &[], b"send a content-length")).await?;
            return Ok(None);
        }
        None => 0,
    };
    let body_start = head + 4;
    if header("expect").is_some() && buffer.len() == body_start {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    buffer.reserve((body_start + length).saturating_sub(buffer.len()));
    while buffer.len() < body_start + length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let rest = buffer.split_off(body_start + length);
    let mut body = std::mem::replace(buffer, rest);
    body.drain(..body_start);
    Ok(Some(Raw { method, path, headers, body }))
}

/// A whole response with a JSON body.
pub(super) fn response(status: u16, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    response_of(status, "application/json", headers, body)
}

/// A whole response with a body of this type.
pub(super) fn response_of(status: u16, content_type: &str, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut out =
        format!("HTTP/1.1 {status} .\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n").into_bytes();
    for (name, value) in headers {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    out
}

/// Status, content type and body of a response that was made here, in chunks or not; `None` if the body is no text.
pub(super) fn unpacked(response: &[u8]) -> Option<(u16, String, String)> {
    let (head, body) = std::str::from_utf8(response).ok()?.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let header = |wanted: &str| {
        head.lines().filter_map(|line| line.split_once(": ")).find(|(name, _)| *name == wanted).map(|(_, value)| value)
    };
    let content_type = header("content-type")?.to_owned();
    if header("transfer-encoding").is_none() {
        return Some((status, content_type, body.to_owned()));
    }
    let (mut whole, mut rest) = (String::new(), body);
    loop {
        let (size, chunk) = rest.split_once("\r\n")?;
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some((status, content_type, whole));
        }
        whole.push_str(chunk.get(..size)?);
        rest = chunk.get(size + 2..)?;
    }
}

/// A whole response that streams these events.
pub(super) fn event_stream(events: &[String]) -> Vec<u8> {
    let mut out = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for event in events {
        out.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// A text in pieces of about 24 bytes.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = (24..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, more) = rest.split_at(end);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}
