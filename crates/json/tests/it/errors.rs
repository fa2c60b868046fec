//! What an error says, and what holds after it.

use mainpath_json::{Limits, News, Parser, Paths};

use crate::support::{Told, read};

fn error(text: &[u8]) -> String {
    let outcome = read(&Paths::new(["$"]).unwrap(), &[text]);
    outcome.error.expect("the text is wrong").to_string()
}

#[test]
fn an_error_says_where_it_is_what_is_missing_and_what_is_there() {
    for (text, message) in [
        (&b""[..], "byte 0: expected a value, but the text ends"),
        (b"  x", "byte 2: expected a value, found 'x'"),
        (b"{'a':1}", "byte 1: expected a key in quotes or '}', found '\\''"),
        (b"{\"a\":1,}", "byte 7: expected a key in quotes, found '}'"),
        (b"{\"a\" 1}", "byte 5: expected ':', found '1'"),
        (b"{\"a\":1 \"b\"", "byte 7: expected ',' or '}', found '\"'"),
        (b"{\"a\":]", "byte 5: expected a value, found ']'"),
        (b"[,", "byte 1: expected a value or ']', found ','"),
        (b"[1}", "byte 2: expected ',' or ']', found '}'"),
        (b"[1,]", "byte 3: expected a value, found ']'"),
        (b"[1", "byte 2: expected ',' or ']', but the text ends"),
        (b"{} {}", "byte 3: expected nothing more, found '{'"),
        (b"[-a]", "byte 2: expected a digit, found 'a'"),
        (b"[1.]", "byte 3: expected a digit, found ']'"),
        (b"[1e]", "byte 3: expected a digit or a sign, found ']'"),
        (b"[1e+]", "byte 4: expected a digit, found ']'"),
        (b"[01]", "byte 2: expected no digit after a leading 0, found '1'"),
        (b"1.", "byte 2: expected a digit, but the text ends"),
        (b"[trUe]", "byte 3: expected true, found 'U'"),
        (b"nul", "byte 3: expected null, but the text ends"),
        (b"\"a\nb\"", "byte 2: expected a character other than a control character, or '\"', found '\\n'"),
        (b"\"a", "byte 2: expected a character other than a control character, or '\"', but the text ends"),
        (b"\"\\x", "byte 2: expected one of \" \\ / b f n r t u, found 'x'"),
        (b"\"\\u12G4\"", "byte 5: expected a hex digit, found 'G'"),
        (b"\"\\udc00\"", "byte 6: a \\u escape is half of a surrogate pair"),
        (b"\"\\ud800\"", "byte 7: a \\u escape is half of a surrogate pair"),
        (b"\"\\ud800\\", "byte 8: expected the other half of a surrogate pair, but the text ends"),
        (b"\xef\xbb\xbf{}", "byte 0: expected a value, found '\\u{feff}'"),
        ("\"é".as_bytes(), "byte 3: expected a character other than a control character, or '\"', but the text ends"),
        ("[é]".as_bytes(), "byte 1: expected a value or ']', found 'é'"),
        (b"\"a\xff\"", "byte 2: the bytes are not UTF-8"),
        (b"\"a\xc3", "byte 2: the bytes are not UTF-8"),
    ] {
        assert_eq!(error(text), message);
    }
}

#[test]
fn an_error_is_for_ever_and_nothing_is_told_after_it() {
    let mut parser = Parser::new(Paths::new(["$[*]"]).unwrap(), Limits::default());
    let error = parser.push(b"[1,x", &mut |_| {}).unwrap_err();
    let mut each = |news: News<'_>| panic!("told {news:?}");
    assert_eq!(parser.push(b"2]", &mut each), Err(error));
    assert_eq!(parser.push(b"", &mut each), Err(error));
    assert!(!parser.is_complete());
    assert_eq!(parser.finish(&mut each), Err(error));
}

#[test]
fn what_precedes_an_error_is_told() {
    let outcome = read(&Paths::new(["$.a", "$.b"]).unwrap(), &[b"{\"a\":1,\"b\":\"text\\x"]);
    assert_eq!(outcome.error.map(|error| error.offset), Some(17));
    assert_eq!(
        outcome.told,
        [Told::Value(0, "$.a".into(), "1".into(), None), Told::Text(1, "$.b".into(), "text".into())]
    );
}

#[test]
fn a_caller_that_tolerates_prose_finds_the_end_of_the_value() {
    let answer = "Here it is:\n```json\n{\"type\": \"final\"}\n```\nAnything else?";
    let start = answer.find('{').unwrap();
    let mut parser = Parser::new(Paths::new(["$.type", "$"]).unwrap(), Limits::default());
    let mut told = Vec::new();
    let mut ended = None;
    for piece in answer.as_bytes()[start..].chunks(5) {
        let outcome = parser.push(piece, &mut |news| {
            if let News::Value { json, .. } = news {
                told.push(json.to_string());
            }
        });
        assert_eq!(parser.is_complete(), parser.value_end().is_some());
        if let Some(end) = parser.value_end() {
            ended = Some((end, outcome.is_err()));
            break;
        }
    }
    let (end, _) = ended.unwrap();
    assert_eq!(&answer[start..][..end], "{\"type\": \"final\"}");
    assert_eq!(told, ["\"final\"", "{\"type\": \"final\"}"]);
    assert!(parser.push(b"```", &mut |_| {}).is_err());
    assert_eq!(parser.value_end(), Some(end));
}

#[test]
fn blanks_after_the_value_are_no_error() {
    let mut parser = Parser::new(Paths::new([""; 0]).unwrap(), Limits::default());
    parser.push(b" [1] ", &mut |_| {}).unwrap();
    assert_eq!(parser.value_end(), Some(4));
    parser.push(b"\n", &mut |_| {}).unwrap();
    assert_eq!(parser.value_end(), Some(4));
    parser.finish(&mut |_| {}).unwrap();
}
