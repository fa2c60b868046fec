//! A log line: how an event is written, chained and read back.
//!
//! One event is one line of `events.jsonl`, UTF-8 JSON without spaces, its fields always in this order:
//!
//! ```text
//! {"v":1,"id":17,"ts":"2026-11-22T02:45:00.123Z","turn":3,"type":"model_finished","mail":4,"prev":"…","commit":"…","salt":"…","data":{…}}
//! └──────────────────────────────────────────── head ───────────────────────────────────────────┘
//! ```
//!
//! | field | meaning |
//! |---|---|
//! | `v` | the version of the vocabulary, [`LOG_VERSION`] when written |
//! | `id` | the event's number in the trace, from 1, without gaps; also its line number |
//! | `ts` | when it was decided: RFC 3339, UTC, milliseconds |
//! | `turn` | the turn it belongs to |
//! | `type` | what happened |
//! | `mail` | the mailbox entry that caused it; absent when none did |
//! | `prev` | SHA-256 of the previous line's head; for the first line of `mainpath/1`, a zero byte, the tenant, a zero byte, the trace |
//! | `commit` | SHA-256 of the salt's 16 bytes followed by the bytes of `data` as written |
//! | `salt` | 16 random bytes |
//! | `data` | what the type says |
//!
//! Hashes and salt are base64url without padding (43 and 22 characters). The **head** is everything up to and including
//! the quote that closes `commit`. Since the chain runs over heads, and a head holds only a salted commitment to the
//! content, content can be erased and the chain still holds: an erased line has `,"erased":true}` after its head, in place
//! of salt and data.
//!
//! A line is valid only if it is, byte for byte, what the writer would have written for its fields. So nothing can be
//! slipped in, neither before nor after the commitment.

use crate::strict::is_strict;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainpath_types::{Event, EventId, EventKind, LOG_VERSION, MailId, Millis, TenantId, TraceId, format_time};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::Write;

/// The last millisecond that a line's `ts` can express: the end of the year 9999.
pub const LAST_TIME: Millis = 253_402_300_799_999;

const SALT: usize = 16;
const SALT_TEXT: usize = 22;
const HASH_TEXT: usize = 43;

/// The hash of a line's head: what the next line's `prev` names, and what can be published to pin a whole log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HeadHash([u8; 32]);

impl HeadHash {
    /// No line's hash; a place holder where nothing was read.
    pub(crate) const NONE: HeadHash = HeadHash([0; 32]);

    /// Where a trace's chain begins; it ties the first line to its tenant and trace.
    pub fn genesis(tenant: &TenantId, trace: &TraceId) -> HeadHash {
        let mut hash = Sha256::new();
        hash.update(b"mainpath/1\0");
        hash.update(tenant.as_str());
        hash.update(b"\0");
        hash.update(trace.as_str());
        HeadHash(hash.finalize().into())
    }

    fn of(head: &[u8]) -> HeadHash {
        HeadHash(Sha256::digest(head).into())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for HeadHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for HeadHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeadHash({self})")
    }
}

/// Where the salts of lines come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Salts {
    /// The operating system. Erased content stays secret only with these.
    #[default]
    Random,
    /// Computed from this number and the line's place: the same events give the same bytes. For tests.
    Seeded(u64),
}

impl Salts {
    /// One salt for each of `count` lines after the line whose hash is `prev`.
    pub(crate) fn draw(self, prev: &HeadHash, count: usize) -> Result<Vec<[u8; SALT]>, getrandom::Error> {
        let mut salts = vec![[0; SALT]; count];
        match self {
            Salts::Random => getrandom::fill(salts.as_flattened_mut())?,
            Salts::Seeded(seed) => {
                for (n, salt) in salts.iter_mut().enumerate() {
                    let mut hash = Sha256::new();
                    hash.update(seed.to_be_bytes());
                    hash.update(prev.0);
                    hash.update((n as u64).to_be_bytes());
                    salt.copy_from_slice(&hash.finalize()[..SALT]);
                }
            }
        }
        Ok(salts)
    }
}

/// Why an event cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwritable {
    #[error("its time lies after the year 9999")]
    Time,
    #[error("its data is not JSON: {0}")]
    Data(#[from] serde_json::Error),
}

/// Appends the event's line, newline included, and says what the next line's `prev` is.
pub(crate) fn write(
    out: &mut Vec<u8>,
    event: &Event,
    prev: &HeadHash,
    salt: &[u8; SALT],
) -> Result<HeadHash, Unwritable> {
    if event.ts > LAST_TIME {
        return Err(Unwritable::Time);
    }
    let data = event.kind.encode()?;
    let mut commit = Sha256::new();
    commit.update(salt);
    commit.update(&data);
    let start = out.len();
    out.reserve(data.len() + 320);
    let (id, ts, turn, name) = (event.id, format_time(event.ts), event.turn, event.kind.name());
    // Writing into memory cannot fail.
    let _ = write!(out, r#"{{"v":{LOG_VERSION},"id":{id},"ts":"{ts}","turn":{turn},"type":"{name}""#);
    if let Some(mail) = event.mail {
        let _ = write!(out, ",\"mail\":{mail}");
    }
    out.extend_from_slice(b",\"prev\":\"");
    push_base64::<32, HASH_TEXT>(out, &prev.0);
    out.extend_from_slice(b"\",\"commit\":\"");
    push_base64::<32, HASH_TEXT>(out, &commit.finalize().into());
    out.push(b'"');
    let hash = HeadHash::of(out.get(start..).unwrap_or_default());
    out.extend_from_slice(b",\"salt\":\"");
    push_base64::<SALT, SALT_TEXT>(out, salt);
    out.extend_from_slice(b"\",\"data\":");
    out.extend_from_slice(&data);
    out.extend_from_slice(b"}\n");
    Ok(hash)
}

/// Appends `N` bytes as base64url, which are `TEXT` characters.
fn push_base64<const N: usize, const TEXT: usize>(out: &mut Vec<u8>, bytes: &[u8; N]) {
    let mut text = [0; TEXT];
    // The sizes fit: see the constants.
    let _ = URL_SAFE_NO_PAD.encode_slice(bytes, &mut text);
    out.extend_from_slice(&text);
}

/// What a line says before its content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub id: EventId,
    pub ts: Millis,
    pub turn: u32,
    pub name: &'a str,
    pub mail: Option<MailId>,
    pub prev: HeadHash,
    commit: [u8; 32],
    /// How many bytes of the line it is.
    len: usize,
}

/// Why a line cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// Written by a newer Mainpath.
    Newer(u64),
    /// Not what any Mainpath writes.
    Damaged(String),
}

impl From<&str> for Bad {
    fn from(problem: &str) -> Bad {
        Bad::Damaged(problem.into())
    }
}

impl<'a> Head<'a> {
    /// Reads the head of a line (without its newline), in the one form that [`write`] gives it.
    pub(crate) fn read(line: &'a [u8]) -> Result<Head<'a>, Bad> {
        let mut at = Cursor { line, at: 0 };
        at.literal(b"{\"v\":")?;
        let version = at.number()?;
        at.literal(b",")?;
        if version > u64::from(LOG_VERSION) {
            return Err(Bad::Newer(version));
        }
        if version != u64::from(LOG_VERSION) {
            return Err("no such version of the log".into());
        }
        at.literal(b"\"id\":")?;
        let id = at.number()?;
        at.literal(b",\"ts\":\"")?;
        let ts = read_time(at.take(24)?).ok_or("\"ts\" is not a time")?;
        at.literal(b"\",\"turn\":")?;
        let turn = u32::try_from(at.number()?).map_err(|_| "\"turn\" is too large")?;
        at.literal(b",\"type\":\"")?;
        let name = at.word()?;
        at.literal(b"\"")?;
        let mail = if at.rest().starts_with(b",\"mail\":") {
            at.literal(b",\"mail\":")?;
            Some(at.number()?)
        } else {
            None
        };
        at.literal(b",\"prev\":\"")?;
        let prev = HeadHash(read_base64(at.take(HASH_TEXT)?).ok_or("\"prev\" is not a hash")?);
        at.literal(b"\",\"commit\":\"")?;
        let commit = read_base64(at.take(HASH_TEXT)?).ok_or("\"commit\" is not a hash")?;
        at.literal(b"\"")?;
        Ok(Head { id, ts, turn, name, mail, prev, commit, len: at.at })
    }

    /// What the next line's `prev` must be. `line` is the line that this head was read from.
    pub(crate) fn hash(&self, line: &[u8]) -> HeadHash {
        HeadHash::of(line.get(..self.len).unwrap_or_default())
    }

    /// Checks and reads what follows the head; `None` for erased content. `line` is the line that this head was read
    /// from, without its newline.
    pub(crate) fn body(&self, line: &[u8]) -> Result<Option<EventKind>, Bad> {
        let rest = line.get(self.len..).unwrap_or_default();
        if rest == b",\"erased\":true}" {
            return Ok(None);
        }
        let mut at = Cursor { line: rest, at: 0 };
        at.literal(b",\"salt\":\"")?;
        let salt: [u8; SALT] = read_base64(at.take(SALT_TEXT)?).ok_or("\"salt\" is not a salt")?;
        at.literal(b"\",\"data\":")?;
        let data = at.rest().strip_suffix(b"}").ok_or("the line does not end where it should")?;
        // The JSON reader would ignore blanks around it.
        if !data.starts_with(b"{") || !data.ends_with(b"}") {
            return Err("\"data\" is not an object without blanks around it".into());
        }
        let mut hash = Sha256::new();
        hash.update(salt);
        hash.update(data);
        if <[u8; 32]>::from(hash.finalize()) != self.commit {
            return Err("the content is not what the head commits to".into());
        }
        let data = std::str::from_utf8(data).map_err(|_| "the content is not UTF-8")?;
        match EventKind::decode(self.name, data) {
            Some(Ok(_)) if !is_strict(data.as_bytes()) => {
                Err("\"data\" has half of a character, or more than 127 levels".into())
            }
            Some(Ok(kind)) => Ok(Some(kind)),
            Some(Err(error)) => Err(Bad::Damaged(format!("\"data\" does not fit \"{}\": {error}", self.name))),
            None => Err(Bad::Damaged(format!("unknown type \"{}\"", self.name))),
        }
    }
}

/// The line with its content taken out; it verifies as before. `None` if this is no valid line. The line and the
/// result have no newline.
pub fn erase(line: &[u8]) -> Option<Vec<u8>> {
    let head = Head::read(line).ok()?;
    head.body(line).ok()?;
    let mut erased = line.get(..head.len)?.to_vec();
    erased.extend_from_slice(b",\"erased\":true}");
    Some(erased)
}

struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a [u8] {
        self.line.get(self.at..).unwrap_or_default()
    }

    fn literal(&mut self, text: &'static [u8]) -> Result<(), Bad> {
        if !self.rest().starts_with(text) {
            let expected = String::from_utf8_lossy(text);
            return Err(Bad::Damaged(format!("expected `{expected}` at byte {}", self.at)));
        }
        self.at += text.len();
        Ok(())
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Bad> {
        let taken = self.rest().get(..len).ok_or("the line is too short")?;
        self.at += len;
        Ok(taken)
    }

    /// A number as the writer writes it: no sign, no leading zeros.
    fn number(&mut self) -> Result<u64, Bad> {
        let rest = self.rest();
        let len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if len == 0 || (len > 1 && rest.first() == Some(&b'0')) {
            return Err(Bad::Damaged(format!("expected a number at byte {}", self.at)));
        }
        let mut value = 0u64;
        for digit in rest.iter().take(len) {
            value = value
                .checked_mul(10)
                .and_then(|v| v.checked_add(u64::from(digit - b'0')))
                .ok_or("a number is too large")?;
        }
        self.at += len;
        Ok(value)
    }

    fn word(&mut self) -> Result<&'a str, Bad> {
        let len = self.rest().iter().take_while(|b| b.is_ascii_lowercase() || **b == b'_').count();
        let word = self.take(len)?;
        std::str::from_utf8(word).map_err(|_| "\"type\" is not a word".into())
    }
}

/// The value of each character of base64url; 255 for all others.
const BASE64: [u8; 256] = {
    let mut values = [255; 256];
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut n = 0;
    while n < letters.len() {
        values[letters[n] as usize] = n as u8;
        n += 1;
    }
    values
};

/// `N` bytes in base64url without padding; only the one spelling that the writer uses. Three of these are read on every
/// line of every log, and with the length known this takes a third of the time of a general decoder.
fn read_base64<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.len() != (N * 4).div_ceil(3) {
        return None;
    }
    let mut seen = 0;
    let mut read = |four: [u8; 4]| {
        let [a, b, c, d] = four.map(|character| BASE64[usize::from(character)]);
        seen |= a | b | c | d;
        [a << 2 | (b & 63) >> 4, b << 4 | (c & 63) >> 2, c << 6 | (d & 63)]
    };
    let mut bytes = [0; N];
    let (threes, last) = bytes.as_chunks_mut::<3>();
    let (fours, rest) = text.as_chunks::<4>();
    for (three, four) in threes.iter_mut().zip(fours) {
        *three = read(*four);
    }
    // "A" stands for no bits. What the last character has to spare, the writer leaves empty.
    let mut four = [b'A'; 4];
    four[..rest.len()].copy_from_slice(rest);
    let three = read(four);
    let (used, spare) = three.split_at_checked(last.len())?;
    last.copy_from_slice(used);
    (seen < 64 && spare.iter().all(|bits| *bits == 0)).then_some(bytes)
}

/// `2026-11-22T02:45:00.123Z`; only the one spelling that the writer uses.
fn read_time(text: &[u8]) -> Option<Millis> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if marks.iter().any(|(at, mark)| text[*at] != *mark) {
        return None;
    }
    let digits = |from: usize, to: usize| {
        text[from..to].iter().try_fold(0u64, |value, b| b.is_ascii_digit().then(|| value * 10 + u64::from(b - b'0')))
    };
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let (hour, minute, second, milli) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?, digits(20, 23)?);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let month_days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if year < 1970 || day == 0 || day > month_days || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leaps_before = |y: u64| y / 4 - y / 100 + y / 400;
    let years = (year - 1970) * 365 + leaps_before(year - 1) - leaps_before(1969);
    let months = before.get(month as usize - 1)? + u64::from(leap && month > 2);
    let days = years + months + day - 1;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milli)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::{RunCause, RunStarted};

    fn event(id: EventId, mail: Option<MailId>) -> Event {
        let kind = RunStarted { run: 1, cause: RunCause::New, spec: 3 }.into();
        Event { id, ts: 1_795_315_500_123, turn: 3, mail, kind }
    }

    fn genesis() -> HeadHash {
        HeadHash::genesis(&TenantId::local(), &"t".parse().unwrap())
    }

    #[test]
    fn a_line_is_written_exactly_so() {
        let mut out = Vec::new();
        let hash = write(&mut out, &event(17, Some(4)), &genesis(), &[7; 16]).unwrap();
        let text = String::from_utf8(out.clone()).unwrap();
        assert_eq!(
            text,
            "{\"v\":1,\"id\":17,\"ts\":\"2026-11-22T02:45:00.123Z\",\"turn\":3,\"type\":\"run_started\",\"mail\":4,\
             \"prev\":\"R2D1BFhPucjWYMmEtBHsX2r45wZgqO7aRXk3KxY1KEc\",\"commit\":\"DY1OptiOefSOsDw3Uc6xNQHrGT8NzFmlYJDrh9yJVqM\",\
             \"salt\":\"BwcHBwcHBwcHBwcHBwcHBw\",\"data\":{\"run\":1,\"cause\":\"new\",\"spec\":3}}\n"
        );
        let line = out.strip_suffix(b"\n").unwrap();
        let head = Head::read(line).unwrap();
        assert_eq!((head.id, head.turn, head.mail, head.ts), (17, 3, Some(4), 1_795_315_500_123));
        assert_eq!(head.prev, genesis());
        assert_eq!(head.hash(line), hash);
        assert_eq!(head.body(line), Ok(Some(event(17, None).kind)));
    }

    #[test]
    fn no_byte_of_a_line_can_be_changed_left_out_or_doubled() {
        for mail in [None, Some(12)] {
            let mut out = Vec::new();
            let hash = write(&mut out, &event(17, mail), &genesis(), &[200; 16]).unwrap();
            out.pop();
            let same = |line: &[u8]| match Head::read(line) {
                // A changed head that is well formed has another hash: the next line or the published head shows it.
                Ok(head) => head.hash(line) == hash && head.body(line).is_ok(),
                Err(_) => false,
            };
            assert!(same(&out));
            for at in 0..out.len() {
                let mut shorter = out.clone();
                shorter.remove(at);
                assert!(!same(&shorter), "without byte {at}");
                let mut longer = out.clone();
                longer.insert(at, out[at]);
                assert!(!same(&longer), "byte {at} doubled");
                for bit in 0..8 {
                    let mut changed = out.clone();
                    changed[at] ^= 1 << bit;
                    assert!(!same(&changed), "bit {bit} of byte {at}: {}", String::from_utf8_lossy(&changed));
                }
                assert!(!same(&out[..at]), "cut at {at}");
            }
        }
    }

    #[test]
    fn nothing_can_be_appended_to_a_line() {
        let mut out = Vec::new();
        write(&mut out, &event(1, None), &genesis(), &[1; 16]).unwrap();
        let line = out.strip_suffix(b"}\n").unwrap();
        let erased = erase(out.strip_suffix(b"\n").unwrap()).unwrap();
        for more in [",\"mail\":9999}", ",\"erased\":true}", "}", " }", "} "] {
            let with = [line, more.as_bytes()].concat();
            if with != out[..out.len() - 1] {
                assert!(Head::read(&with).unwrap().body(&with).is_err(), "{more}");
            }
            let with = [erased.as_slice(), more.as_bytes()].concat();
            assert!(Head::read(&with).unwrap().body(&with).is_err(), "erased and {more}");
        }
    }

    #[test]
    fn an_erased_line_keeps_its_head_and_loses_its_content() {
        let mut out = Vec::new();
        let hash = write(&mut out, &event(1, Some(2)), &genesis(), &[1; 16]).unwrap();
        let line = out.strip_suffix(b"\n").unwrap();
        let erased = erase(line).unwrap();
        let head = Head::read(&erased).unwrap();
        assert_eq!(head, Head::read(line).unwrap());
        assert_eq!((head.hash(&erased), head.body(&erased)), (hash, Ok(None)));
        assert!(!String::from_utf8_lossy(&erased).contains("salt"));
        assert_eq!(erase(&erased), Some(erased.clone()), "twice is as once");
        assert_eq!(erase(b"{}"), None);
    }

    #[test]
    fn a_newer_version_and_an_unknown_type_are_told_apart() {
        assert_eq!(Head::read(b"{\"v\":2,\"anything\":1}"), Err(Bad::Newer(2)));
        assert_eq!(Head::read(b"{\"v\":0,\"id\":1"), Err("no such version of the log".into()));
        let mut out = Vec::new();
        write(&mut out, &event(1, None), &genesis(), &[1; 16]).unwrap();
        let text = String::from_utf8(out).unwrap().trim_end().replace("run_started", "run_paused");
        let problem = Bad::Damaged("unknown type \"run_paused\"".into());
        assert_eq!(Head::read(text.as_bytes()).unwrap().body(text.as_bytes()), Err(problem));
    }

    #[test]
    fn base64_is_read_as_a_general_decoder_reads_it() {
        let mut salts = Salts::Seeded(5).draw(&genesis(), 400).unwrap();
        salts.push([255; 16]);
        salts.push([0; 16]);
        for pair in salts.chunks(2) {
            let bytes: [u8; 32] = pair.as_flattened().try_into().unwrap();
            assert_eq!(read_base64(URL_SAFE_NO_PAD.encode(bytes).as_bytes()), Some(bytes));
            assert_eq!(read_base64(URL_SAFE_NO_PAD.encode(pair[0]).as_bytes()), Some(pair[0]));
        }
        let zeros = "A".repeat(22);
        for last in 0..=255u8 {
            let mut text = zeros.clone().into_bytes();
            text[21] = last;
            let general = URL_SAFE_NO_PAD.decode(&text).ok();
            assert_eq!(read_base64::<16>(&text).map(|b| b.to_vec()), general, "ends in {last}");
        }
        assert_eq!((read_base64::<16>(b"AAAA"), read_base64::<16>(&[b'A'; 23])), (None, None));
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        let mut at: Millis = 0;
        while at < LAST_TIME {
            assert_eq!(read_time(format_time(at).as_bytes()), Some(at));
            at += 86_400_000 * 13 + 12_345_679;
        }
        assert_eq!(read_time(format_time(LAST_TIME).as_bytes()), Some(LAST_TIME));
        for bad in [
            "2026-02-29T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "1969-12-31T00:00:00.000Z",
        ] {
            assert_eq!(read_time(bad.as_bytes()), None, "{bad}");
        }
        let mut late = event(1, None);
        late.ts = LAST_TIME + 1;
        assert!(write(&mut Vec::new(), &late, &genesis(), &[1; 16]).is_err());
    }
}
