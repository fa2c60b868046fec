//! Limits, met exactly and exceeded by one.

use mainpath_json::{Error, Limits, Paths, Problem};

use crate::support::{Outcome, Told, read_within};

/// The same whole and byte by byte.
fn within(limits: Limits, paths: &[&str], text: &str) -> Outcome {
    let paths = Paths::new(paths).unwrap();
    let outcome = read_within(limits, &paths, &[text.as_bytes()]);
    let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(read_within(limits, &paths, &bytes), outcome, "{text}");
    outcome
}

fn error(offset: usize, problem: Problem) -> Option<Error> {
    Some(Error { offset, problem })
}

#[test]
fn the_depth_is_limited() {
    let limits = Limits { depth: 3, ..Limits::default() };
    assert_eq!(within(limits, &["$"], "[{\"a\":[1]},[[]]]").error, None);
    assert_eq!(within(limits, &["$"], "[{\"a\":[{}]}]").error, error(7, Problem::TooDeep { limit: 3 }));
    let none = Limits { depth: 0, ..Limits::default() };
    assert_eq!(within(none, &["$"], "\"a\"").error, None);
    assert_eq!(within(none, &["$"], "[]").error, error(0, Problem::TooDeep { limit: 0 }));
}

#[test]
fn by_default_the_depth_is_what_serde_json_reads() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    for (levels, accepted) in [(127, true), (128, false)] {
        assert_eq!(within(Limits::default(), &["$"], &nested(levels)).error.is_none(), accepted);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&nested(levels)).is_ok(), accepted);
    }
}

#[test]
fn the_length_of_the_text_is_limited_blanks_included() {
    let limits = Limits { total: 6, ..Limits::default() };
    assert_eq!(within(limits, &["$"], "[1,2] ").error, None);
    let too_long = within(limits, &["$"], "[1,2]  ");
    assert_eq!(too_long.error, error(6, Problem::TooLong { limit: 6 }));
    assert_eq!(too_long.value_end, Some(5));
    assert_eq!(within(limits, &["$"], "[\"ééé\"]").error, error(6, Problem::TooLong { limit: 6 }));
    let inside_a_character = Limits { total: 5, ..Limits::default() };
    let outcome = within(inside_a_character, &["$[0]"], "[\"éé\"]");
    assert_eq!(outcome.error, error(5, Problem::TooLong { limit: 5 }));
    assert_eq!(outcome.told, [Told::Text(0, "$[0]".into(), "é".into())]);
    let none = Limits { total: 0, ..Limits::default() };
    assert_eq!(within(none, &["$"], "").error, error(0, Problem::Unfinished { expected: "a value" }));
    assert_eq!(within(none, &["$"], "1").error, error(0, Problem::TooLong { limit: 0 }));
}

#[test]
fn the_length_of_a_value_that_is_kept_is_limited() {
    let limits = Limits { value: 4, ..Limits::default() };
    assert_eq!(within(limits, &["$.a"], "{\"a\":1234 , \"b\":\"123456\"}").error, None);
    assert_eq!(within(limits, &["$.a"], "{\"a\":12345}").error, error(9, Problem::ValueTooLong { limit: 4 }));
    assert_eq!(within(limits, &["$[*]"], "[ \"12\",[ ], [ ] ,null]").error, None);
    assert_eq!(within(limits, &["$[*]"], "[[  ] ,[   ]]").error, error(11, Problem::ValueTooLong { limit: 4 }));
    assert_eq!(within(limits, &["$", "$[0]"], "[12] ").error, None);
    assert_eq!(within(limits, &["$", "$[0]"], "[123]").error, error(4, Problem::ValueTooLong { limit: 4 }));
}

#[test]
fn what_fits_before_a_limit_is_told() {
    let limits = Limits { value: 4, ..Limits::default() };
    let outcome = within(limits, &["$"], "\"aéa\"");
    assert_eq!(outcome.error, error(4, Problem::ValueTooLong { limit: 4 }));
    assert_eq!(outcome.told, [Told::Text(0, "$".into(), "aé".into())]);
    let outcome = within(limits, &["$"], "\"aaé\"");
    assert_eq!(outcome.error, error(3, Problem::ValueTooLong { limit: 4 }));
    assert_eq!(outcome.told, [Told::Text(0, "$".into(), "aa".into())]);
}

#[test]
fn what_nobody_asked_for_is_not_limited_by_what_is_kept() {
    let limits = Limits { value: 8, ..Limits::default() };
    let text = format!("{{\"{0}\":\"{0}\",\"a\":\"found\",\"b\":[\"{0}\"]}}", "long".repeat(1000));
    let outcome = within(limits, &["$.a", "$.b[0].c"], &text);
    assert_eq!(outcome.error, None);
    assert_eq!(
        outcome.told,
        [
            Told::Text(0, "$.a".into(), "found".into()),
            Told::Value(0, "$.a".into(), "\"found\"".into(), Some("found".into()))
        ]
    );
}
