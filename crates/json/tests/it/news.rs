//! What is told, and when.

use mainpath_json::{Limits, News, Parser, Paths};

/// The news that each piece brings, as it brings them; the last entry is what the end brings.
fn live(paths: &[&str], pieces: &[&[u8]]) -> Vec<Vec<String>> {
    let mut parser = Parser::new(Paths::new(paths).unwrap(), Limits::default());
    let mut told = Vec::new();
    let write = |news: News<'_>| match news {
        News::Text { subscription, path, text } => format!("{subscription} {path} + {text}"),
        News::Value { subscription, path, json, text: None } => format!("{subscription} {path} = {json}"),
        News::Value { subscription, path, json, text: Some(text) } => {
            format!("{subscription} {path} = {json} says {text}")
        }
    };
    for piece in pieces {
        let mut now = Vec::new();
        parser.push(piece, &mut |news| now.push(write(news))).unwrap();
        told.push(now);
    }
    let mut now = Vec::new();
    parser.finish(&mut |news| now.push(write(news))).unwrap();
    told.push(now);
    told
}

#[test]
fn text_is_told_with_the_piece_that_brings_it() {
    let pieces: [&[u8]; 6] = [b"{\"answer", b"\":\"He", b"llo", b"", b", you\"", b"}"];
    assert_eq!(
        live(&["$.answer"], &pieces),
        [
            &[][..],
            &["0 $.answer + He"],
            &["0 $.answer + llo"],
            &[],
            &["0 $.answer + , you", "0 $.answer = \"Hello, you\" says Hello, you"],
            &[],
            &[],
        ]
    );
}

#[test]
fn half_a_character_waits_for_its_other_half() {
    let pieces: [&[u8]; 10] =
        [b"[\"a\xf0", b"\x9f", b"\xa6\x80b\\", b"u0", b"0e9\\uD8", b"3e\\", b"u", b"dd", b"80", b"\"]"];
    assert_eq!(
        live(&["$[0]"], &pieces),
        [
            &["0 $[0] + a"][..],
            &[],
            &["0 $[0] + 🦀b"],
            &[],
            &["0 $[0] + é"],
            &[],
            &[],
            &[],
            &["0 $[0] + 🦀"],
            &["0 $[0] = \"a🦀b\\u00e9\\uD83e\\udd80\" says a🦀b\u{e9}🦀"],
            &[],
        ]
    );
}

#[test]
fn a_number_is_complete_when_something_follows_it() {
    assert_eq!(
        live(&["$[*]"], &[b"[1", b"2", b",", b"3 ", b"]"]),
        [&[][..], &[], &["0 $[0] = 12"], &["0 $[1] = 3"], &[], &[]]
    );
    assert_eq!(live(&["$"], &[b"1", b"2"]), [&[][..], &[], &["0 $ = 12"]]);
}

#[test]
fn an_empty_string_is_a_value_without_text_news() {
    assert_eq!(live(&["$"], &[b"\"", b"\""]), [&[][..], &["0 $ = \"\" says "], &[]]);
}

#[test]
fn values_in_one_another_are_told_from_the_inside_out() {
    let paths = ["$", "$.a", "$.a[*]", "$.a[1]", "$.b"];
    assert_eq!(
        live(&paths, &[br#"{"a":["x",2]}"#]),
        [
            &[
                "2 $.a[0] + x",
                "2 $.a[0] = \"x\" says x",
                "2 $.a[1] = 2",
                "3 $.a[1] = 2",
                "1 $.a = [\"x\",2]",
                "0 $ = {\"a\":[\"x\",2]}",
            ][..],
            &[],
        ]
    );
}

#[test]
fn subscriptions_to_the_same_string_all_hear_it() {
    assert_eq!(
        live(&["$.a", "$['a']"], &[b"{\"a\":\"x", b"y\"}"]),
        [
            &["0 $.a + x", "1 $.a + x"][..],
            &["0 $.a + y", "1 $.a + y", "0 $.a = \"xy\" says xy", "1 $.a = \"xy\" says xy"],
            &[],
        ]
    );
}

#[test]
fn a_key_that_comes_twice_brings_news_twice() {
    assert_eq!(
        live(&["$.a", "$.a.b"], &[br#"{"a":{"b":1},"a":2}"#])[0],
        ["1 $.a.b = 1", "0 $.a = {\"b\":1}", "0 $.a = 2"]
    );
}

#[test]
fn nobody_listening_is_told_nothing() {
    assert_eq!(live(&[], &[br#"{"a":"text"}"#]), [[""; 0], [""; 0]]);
}
