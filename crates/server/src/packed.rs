//! Files that lie in this program, each compressed where that is worth it, and how they are handed out. `build.rs` makes them of the pages
//! in `ui/` and of `openapi.json`.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use flate2::read::GzDecoder;
use std::io::Read as _;

/// A file in this program.
struct File {
    path: &'static str,
    /// The first 16 bytes of its SHA-256, in hexadecimal.
    digest: &'static str,
    /// Whether `data` is compressed with gzip.
    is_packed: bool,
    data: &'static [u8],
}

/// By their paths, in order.
static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// A file for who asks, compressed where they take it, and nothing at all where they have it; `None`: there is none.
pub fn file(path: &str, asked: &HeaderMap) -> Option<Response<Body>> {
    let found = FILES.binary_search_by_key(&path, |file| file.path).ok()?;
    let file = FILES.get(found)?;
    let is_packed = file.is_packed && wanted(asked);
    let tag = format!("\"{}{}\"", file.digest, if is_packed { "-gzip" } else { "" });
    let is_known = has(asked, &tag);
    let mut response = Response::new(match (is_known, file.is_packed && !is_packed) {
        (true, _) => Body::empty(),
        (false, true) => Body::from(unpacked(file.data)?),
        (false, false) => Body::from(Bytes::from_static(file.data)),
    });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let said = response.headers_mut();
    said.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    said.insert(header::CONTENT_TYPE, HeaderValue::from_static(media(path)));
    if is_packed {
        said.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        said.insert(header::ETAG, tag);
    }
    Some(response)
}

/// Whether who asks has what bears this tag: it is named, weak or not, or anything that there is will do (RFC 9110, 13.1.2).
fn has(asked: &HeaderMap, tag: &str) -> bool {
    let mut lists = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    let is_it = |one: &str| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag;
    lists.any(|list| list.split(',').map(str::trim).any(is_it))
}

/// Whether who asks takes gzip: it is named, and not with a weight of nothing.
fn wanted(asked: &HeaderMap) -> bool {
    let mut lists = asked.get_all(header::ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.any(|list| list.split(',').any(takes))
}

fn takes(one: &str) -> bool {
    let mut parts = one.split(';').map(str::trim);
    let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
    let weight = parts.find_map(|part| part.strip_prefix("q=")).and_then(|weight| weight.trim().parse::<f32>().ok());
    is_gzip && weight.is_none_or(|weight| weight > 0.0)
}

fn unpacked(data: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(data.len() * 4);
    GzDecoder::new(data).read_to_end(&mut text).ok()?;
    Some(text)
}

fn media(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json" | "webmanifest") => "application/json",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::{FILES, file, unpacked, wanted};
    use axum::http::{HeaderMap, HeaderValue, header};

    #[test]
    fn a_file_is_compressed_for_who_takes_it() {
        let asked = |list: &'static str| {
            wanted(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(list))]))
        };
        let lists = ["gzip, deflate, br, zstd", "br;q=1.0, GZIP;q=0.2", "gzip;q=0", "identity", "x-gzip", ""];
        assert_eq!(lists.map(asked), [true, true, false, false, false, false]);
        assert!(!wanted(&HeaderMap::new()));
    }

    #[test]
    fn every_file_is_that_of_the_source() {
        for one in FILES {
            let source = std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(one.path)).unwrap();
            let held = if one.is_packed { unpacked(one.data).unwrap() } else { one.data.to_vec() };
            assert!(held == source && file(one.path, &HeaderMap::new()).is_some(), "{}", one.path);
        }
        assert!(FILES.len() > 10 && file("ui/nothing", &HeaderMap::new()).is_none());
    }
}
