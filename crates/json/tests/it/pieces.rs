//! Random texts in random pieces, beside `serde_json`.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::oracle::{Step, compare};
use crate::support::shown;

/// Few names, so that paths meet keys and keys come twice.
const NAMES: [&str; 7] = ["a", "b", "ab", "", "é🦀", "it's", "a\\b"];

/// A text to be: written out with blanks and escapes that a list of numbers chooses.
#[derive(Clone, Debug)]
enum Plan {
    Literal(&'static str),
    Number(String),
    Text(String),
    Array(Vec<Plan>),
    Object(Vec<(String, Plan)>),
}

pub(crate) fn text() -> impl Strategy<Value = Vec<u8>> {
    (plan(), vec(any::<u8>(), 1..40)).prop_map(|(plan, choices)| {
        let next = Cell::new(0);
        let choose = || {
            next.set(next.get() + 1);
            choices[next.get() % choices.len()]
        };
        let mut out = String::new();
        write(&plan, &choose, &mut out);
        blank(&choose, &mut out);
        out.into_bytes()
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let leaf = prop_oneof![
        select(vec!["true", "false", "null"]).prop_map(Plan::Literal),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,5})?".prop_map(Plan::Number),
        characters().prop_map(Plan::Text),
    ];
    let name = prop_oneof![4 => select(&NAMES[..]).prop_map(String::from), 1 => characters()];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Plan::Array),
            vec((name.clone(), inner), 0..6).prop_map(Plan::Object),
        ]
    })
}

fn characters() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        6 => any::<char>(),
        2 => select(vec!['"', '\\', '/', '\u{8}', '\u{c}', '\n', '\r', '\t', '\0', '\u{7f}']),
        2 => select(vec!['\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}', '\u{10ffff}', 'é', '答', '🦀']),
    ];
    vec(one, 0..12).prop_map(|characters| characters.into_iter().collect())
}

fn write(plan: &Plan, choose: &dyn Fn() -> u8, out: &mut String) {
    blank(choose, out);
    match plan {
        Plan::Literal(word) => out.push_str(word),
        Plan::Number(digits) => out.push_str(digits),
        Plan::Text(text) => quote(text, choose, out),
        Plan::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write(element, choose, out);
                blank(choose, out);
            }
            blank(choose, out);
            out.push(']');
        }
        Plan::Object(members) => {
            out.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                blank(choose, out);
                quote(name, choose, out);
                blank(choose, out);
                out.push(':');
                write(value, choose, out);
                blank(choose, out);
            }
            out.push('}');
        }
    }
}

fn blank(choose: &dyn Fn() -> u8, out: &mut String) {
    out.push_str(["", "", "", "", " ", "\n", "\t ", "\r\n"][usize::from(choose() % 8)]);
}

fn quote(text: &str, choose: &dyn Fn() -> u8, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        let short = match character {
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            '/' => Some("\\/"),
            '\u{8}' => Some("\\b"),
            '\u{c}' => Some("\\f"),
            '\n' => Some("\\n"),
            '\r' => Some("\\r"),
            '\t' => Some("\\t"),
            _ => None,
        };
        let may_stand = character >= ' ' && !matches!(character, '"' | '\\');
        match (choose() % 4, short) {
            (0 | 1, _) if may_stand => out.push(character),
            (0..3, Some(short)) => out.push_str(short),
            (upper, _) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&if upper == 2 { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") });
                }
            }
        }
    }
    out.push('"');
}

fn paths() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let step = prop_oneof![
        3 => select(&NAMES[..]).prop_map(Step::Name),
        2 => Just(Step::Any),
        1 => (0..4usize).prop_map(Step::Index),
    ];
    vec(vec(step, 0..5), 0..6)
}

fn cuts() -> impl Strategy<Value = Vec<Index>> {
    vec(any::<Index>(), 0..12)
}

fn in_order(cuts: &[Index], text: &[u8]) -> Vec<usize> {
    let mut at: Vec<usize> = cuts.iter().map(|index| index.index(text.len() + 1)).collect();
    at.sort_unstable();
    at
}

/// Bits of JSON in any order.
fn rubble() -> impl Strategy<Value = Vec<u8>> {
    let bits: [&[u8]; 48] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\"a\"",
        b"\"b\":",
        b"{\"a\":",
        b"0",
        b"1",
        b"-",
        b".",
        b"e",
        b"+",
        b"12",
        b"true",
        b"false",
        b"null",
        b"tr",
        b"nul",
        b" ",
        b"\n",
        b"\\",
        b"\\u",
        b"\\ud83d",
        b"\\udc00",
        b"\\n",
        b"\\\"",
        b"00e9",
        b"d83d",
        b"\xc3",
        b"\xa9",
        b"\xf0\x9f",
        b"\xa6\x80",
        b"\xff",
        b"\0",
        b"\x1f",
        b"\x7f",
        b"[1,",
        b"[[",
        b"]]",
        b"{}",
        b"[]",
        b"\"\"",
        b"\xef\xbb\xbf",
        b"/",
    ];
    vec(select(bits.to_vec()), 0..14).prop_map(|bits| bits.concat())
}

/// A text with a few bytes taken out, put in or changed.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![3 => select(b"{}[],:\"\\0123456789.eE+-tfnul \xc3\xa9".to_vec()), 1 => any::<u8>()];
    (text(), vec((any::<Index>(), 0..3, byte), 1..4)).prop_map(|(mut text, changes)| {
        for (at, what, byte) in changes {
            let at = at.index(text.len() + 1);
            match what {
                0 => text.insert(at, byte),
                1 if at < text.len() => drop(text.remove(at)),
                _ if at < text.len() => text[at] = byte,
                _ => text.push(byte),
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_texts_bring_the_news_that_follow_from_serde_json(text in text(), paths in paths(), cuts in cuts()) {
        prop_assert!(compare(&text, &paths, &in_order(&cuts, &text)).is_some(), "the text was JSON: {}", shown(&text));
    }

    #[test]
    fn damaged_texts_are_refused_where_serde_json_refuses(text in damaged(), paths in paths(), cuts in cuts()) {
        compare(&text, &paths, &in_order(&cuts, &text));
    }

    #[test]
    fn rubble_is_refused_where_serde_json_refuses(text in rubble(), paths in paths(), cuts in cuts()) {
        compare(&text, &paths, &in_order(&cuts, &text));
    }

    #[test]
    fn bytes_are_refused_where_serde_json_refuses(text in vec(any::<u8>(), 0..20), cuts in cuts()) {
        compare(&text, &[vec![]], &in_order(&cuts, &text));
    }
}
