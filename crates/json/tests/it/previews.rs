//! Unfinished texts, closed so that they can be shown.

use mainpath_json::preview;
use proptest::prelude::*;
use serde_json::Value;

use crate::cases::{ACCEPTED, REFUSED};
use crate::support::shown;
use crate::{oracle, pieces};

#[test]
fn an_unfinished_text_is_closed_with_what_is_whole_in_it() {
    for (beginning, shown) in [
        ("{", Some("{}")),
        ("{\"pa", Some("{}")),
        ("{\"path\"", Some("{}")),
        ("{\"path\" :", Some("{}")),
        ("{\"path\": \"", Some("{\"path\": \"\"}")),
        ("{\"path\": \"src", Some("{\"path\": \"src\"}")),
        ("{\"path\": \"src\"", Some("{\"path\": \"src\"}")),
        ("{\"path\": \"src\",", Some("{\"path\": \"src\"}")),
        ("{\"path\": \"src\", \"li", Some("{\"path\": \"src\"}")),
        ("{\"path\": \"src\", \"limit\": 1", Some("{\"path\": \"src\"}")),
        ("{\"path\": \"src\", \"limit\": 10 ", Some("{\"path\": \"src\", \"limit\": 10}")),
        ("{\"limit\": 10}", Some("{\"limit\": 10}")),
        ("[-", Some("[]")),
        ("[1, 2.", Some("[1]")),
        ("[1, 2,", Some("[1, 2]")),
        ("[tru", Some("[]")),
        ("[true", Some("[true]")),
        ("[null, fals", Some("[null]")),
        ("[[1, {\"a\": [", Some("[[1, {\"a\": []}]]")),
        ("[[], {}, \"a", Some("[[], {}, \"a\"]")),
        ("{\"a\": {\"b\": [\"c\", {\"d\": \"e", Some("{\"a\": {\"b\": [\"c\", {\"d\": \"e\"}]}}")),
        ("[\"a\\", Some("[\"a\"]")),
        ("[\"a\\n", Some("[\"a\\n\"]")),
        ("[\"a\\u00e", Some("[\"a\"]")),
        ("[\"a\\u00e9", Some("[\"a\\u00e9\"]")),
        ("[\"a\\ud83e", Some("[\"a\"]")),
        ("[\"a\\ud83e\\udd8", Some("[\"a\"]")),
        ("[\"a\\ud83e\\udd80", Some("[\"a\\ud83e\\udd80\"]")),
        ("\"a", Some("\"a\"")),
        (" {} \n", Some(" {}")),
        ("", None),
        (" ", None),
        ("12", None),
        ("nul", None),
        ("{\"a\": x", None),
        ("{\"a\": 1]", None),
        ("{\"a\": 1} and", None),
    ] {
        assert_eq!(preview(beginning.as_bytes()).as_deref(), shown, "{beginning}");
    }
}

#[test]
fn bytes_of_half_a_character_are_left_out_and_wrong_ones_are_refused() {
    assert_eq!(preview(b"[\"a\xf0\x9f\xa6").as_deref(), Some("[\"a\"]"));
    assert_eq!(preview(b"[\"a\xff"), None);
    assert_eq!(preview(b"\xc3"), None);
}

#[test]
fn a_text_deeper_than_serde_json_reads_is_not_shown() {
    assert_eq!(preview("[".repeat(127).as_bytes()), Some("[".repeat(127) + &"]".repeat(127)));
    assert_eq!(preview("[".repeat(128).as_bytes()), None);
}

#[test]
fn every_beginning_of_every_case_is_shown_as_json_or_not_at_all() {
    let mut seen = 0;
    for text in ACCEPTED.iter().chain(REFUSED) {
        for end in 0..=text.len() {
            if let Some(shown) = preview(&text[..end]) {
                assert!(oracle::tree(shown.as_bytes()).is_some(), "{shown}");
                seen += 1;
            }
        }
    }
    assert!(seen > 1000, "{seen} beginnings were shown");
}

/// Whether the later value is the earlier one with more in it.
fn grew(earlier: &Value, later: &Value) -> bool {
    match (earlier, later) {
        (Value::String(a), Value::String(b)) => b.starts_with(a),
        (Value::Array(a), Value::Array(b)) => a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| grew(a, b)),
        (Value::Object(a), Value::Object(b)) => a.iter().all(|(key, a)| b.get(key).is_some_and(|b| grew(a, b))),
        (a, b) => a == b,
    }
}

/// Keys that come twice would take back what was shown, and `Value` cannot hold every number.
fn is_plain(text: &[u8]) -> bool {
    serde_json::from_slice::<Value>(text)
        .is_ok_and(|value| oracle::tree(text).is_some_and(|tree| tree.members() == count(&value)))
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(elements) => elements.iter().map(count).sum(),
        Value::Object(members) => members.values().map(|value| 1 + count(value)).sum(),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_grows_and_ends_as_the_whole_text(text in pieces::text()) {
        prop_assume!(is_plain(&text));
        let whole: Value = serde_json::from_slice(&text).unwrap();
        let mut earlier: Option<Value> = None;
        for end in 0..=text.len() {
            if let Some(shown) = preview(&text[..end]) {
                let later: Value = serde_json::from_str(&shown).unwrap();
                prop_assert!(earlier.is_none_or(|earlier| grew(&earlier, &later)), "{shown}");
                earlier = Some(later);
            } else {
                prop_assert!(earlier.is_none(), "what was shown is gone: {}", shown(&text[..end]));
            }
        }
        let is_number = whole.is_number() && text.last().is_some_and(u8::is_ascii_digit);
        prop_assert_eq!(earlier, (!is_number).then_some(whole));
    }
}
