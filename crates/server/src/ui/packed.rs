//! Files of the pages as they travel: compressed where the browser takes it, each once.

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

/// Smaller files travel as they are.
const SMALL: usize = 1024;

/// What was compressed in this process.
static PACKED: Mutex<Option<HashMap<String, Bytes>>> = Mutex::new(None);

/// Whether who asks takes gzip: it is named, and not with a weight of nothing.
pub fn wanted(headers: &HeaderMap) -> bool {
    let mut lists = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.any(|list| list.split(',').any(takes))
}

fn takes(one: &str) -> bool {
    let mut parts = one.split(';').map(str::trim);
    let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
    let weight = parts.find_map(|part| part.strip_prefix("q=")).and_then(|weight| weight.trim().parse::<f32>().ok());
    is_gzip && weight.is_none_or(|weight| weight > 0.0)
}

/// A file compressed with gzip; `None` where that saves nothing worth it.
pub fn packed(path: &str, data: &[u8]) -> Option<Bytes> {
    if data.len() < SMALL || !path.ends_with(".js") && !path.ends_with(".css") && !path.ends_with(".svg") {
        return None;
    }
    let mut known = PACKED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(bytes) = known.get(path) {
        return Some(bytes.clone());
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(data.len() / 3), Compression::default());
    encoder.write_all(data).ok()?;
    let bytes = Bytes::from(encoder.finish().ok()?);
    known.insert(path.to_string(), bytes.clone());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::wanted;
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
}
