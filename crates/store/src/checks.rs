//! What every store checks in the same way: that a file is one, names of views, bodies of mail, hashes of blobs; and the order of lists.

use crate::error::{Damage, StoreError};
use crate::store::TraceEntry;
use mainpath_types::BlobHash;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// What the store keeps beside a log without which the log can be read all the same.
const BESIDE: &str = "scores.jsonl";

/// What the store itself keeps in a trace's folder.
pub(crate) const OWN_FILES: [&str; 5] =
    ["events.jsonl", "events.torn", "mailbox.jsonl", "owner.lock", "signatures.jsonl"];

/// What lies in the place of a file, if it is none; whoever wants to open it looks first.
pub(crate) fn other_than_file(path: &Path) -> Option<&'static str> {
    match std::fs::metadata(path).ok()?.file_type() {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("folder"),
        kind if kind.is_fifo() => Some("pipe"),
        _ => Some("device or socket"),
    }
}

/// Refuses names that could leave the trace's folder or hit the store's own files.
pub(crate) fn check_name(name: &str) -> Result<(), StoreError> {
    let part_ok = |part: &str| {
        !part.is_empty()
            && part.len() <= 200
            && !part.starts_with('.')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.@".contains(&b))
    };
    if name.len() > 800
        || !name.split('/').all(part_ok)
        || OWN_FILES.iter().chain([&BESIDE]).any(|own| name.split('/').next() == Some(own))
    {
        return Err(StoreError::BadView { name: name.chars().take(100).collect() });
    }
    Ok(())
}

/// Checks that a body is JSON and puts it on one line.
pub(crate) fn one_line(body: &str) -> Result<String, StoreError> {
    let checked: Result<&serde_json::value::RawValue, _> = serde_json::from_str(body);
    let checked = checked.map_err(|e| StoreError::BadMail { problem: e.to_string() })?;
    // Inside its strings JSON has no raw line breaks, so these are all between tokens.
    Ok(checked.get().replace(['\n', '\r'], " "))
}

/// Refuses what is not one line.
pub(crate) fn one_kept_line(line: &str) -> Result<(), StoreError> {
    match line.contains('\n') {
        true => Err(StoreError::io("add a line beside the log", std::io::Error::other("it has more than one line"))),
        false => Ok(()),
    }
}

/// The name of a blob.
pub(crate) fn blob_hash(bytes: &[u8]) -> Result<BlobHash, StoreError> {
    BlobHash::try_from(hash_text(&Sha256::digest(bytes).into()))
        .map_err(|problem| StoreError::io("name a blob", std::io::Error::other(problem)))
}

/// A hash in hex.
pub(crate) fn hash_text(hash: &[u8; 32]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(64);
    for byte in hash {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes, if they are what the hash says; `place` is what to call them if not.
pub(crate) fn check_blob(place: &str, hash: &BlobHash, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    if blob_hash(&bytes)? == *hash {
        return Ok(bytes);
    }
    let problem = "the content does not match the name".into();
    Err(StoreError::Damaged(Damage { file: place.into(), line: 1, problem }))
}

/// The blobs that logs and mailboxes name. What looks like a hash counts as one: so it holds for damaged and newer logs too.
#[derive(Debug, Default)]
pub(crate) struct Named(HashSet<[u8; 32]>);

impl Named {
    /// Notes every hash in a text: 64 lower-case hex digits in quotes.
    pub fn note(&mut self, text: &[u8]) {
        for end in memchr::memchr_iter(b'"', text) {
            if let Some(start) = end.checked_sub(65)
                && text.get(start) == Some(&b'"')
                && let Some(hash) = text.get(start + 1..end).and_then(binary)
            {
                self.0.insert(hash);
            }
        }
    }

    pub fn has(&self, hash: &BlobHash) -> bool {
        binary(hash.as_str().as_bytes()).is_some_and(|hash| self.0.contains(&hash))
    }
}

fn binary(hex: &[u8]) -> Option<[u8; 32]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    (hex.len() == 64).then_some(bytes)
}

/// The order of a list; by name where the times are equal.
pub(crate) fn newest_first(list: &mut [TraceEntry]) {
    list.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.trace.cmp(&b.trace)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_looks_like_a_hash_names_a_blob() {
        let hash = blob_hash(b"x").unwrap();
        let mut named = Named::default();
        named.note(format!("{{\"hash\":\"{hash}0\",\"a\":\"{}\"}}", "g".repeat(64)).as_bytes());
        assert!(!named.has(&hash));
        named.note(format!("{{\"other\":[\"{hash}\"").as_bytes());
        assert!(named.has(&hash));
    }

    #[test]
    fn only_names_that_stay_in_the_folder_are_taken() {
        for good in ["meta.json", "final.md", "inputs/request.txt", "a/b/c", "x@1-2_3"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "a".repeat(201);
        let own = ["events.jsonl", "events.torn", "mailbox.jsonl", "owner.lock", "events.jsonl/x"];
        let bad = ["", "/", "/etc/passwd", "..", "a/../b", ".hidden", "a//b", "a/", "a b", "ä", "a\\b", "a\0b", &long];
        for bad in own.iter().chain(&bad) {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
