//! The syntax of paths.

use mainpath_json::{Limits, News, Parser, Paths};

use crate::support::{Told, read};

fn told(path: &str, text: &str) -> Vec<String> {
    let outcome = read(&Paths::new([path]).unwrap(), &[text.as_bytes()]);
    assert_eq!(outcome.error, None);
    let values = outcome.told.into_iter().filter_map(|told| match told {
        Told::Value(_, path, json, _) => Some(format!("{path} {json}")),
        Told::Text(..) => None,
    });
    values.collect()
}

#[test]
fn a_path_leads_to_the_values_it_names_and_to_no_other() {
    let text =
        r#"{"a":[{"b":1},{"b":2,"c":[3]},[4],{"b":{"b":5}}],"b":6,"0":7,"*":8,"":9,"it's":10,"a.b":11,"x\\y":12}"#;
    for (path, values) in [
        ("$.b", &["$.b 6"][..]),
        ("$.a[0].b", &["$.a[0].b 1"]),
        ("$.a[*].b", &["$.a[0].b 1", "$.a[1].b 2", "$.a[3].b {\"b\":5}"]),
        ("$.a[*][*]", &["$.a[2][0] 4"]),
        ("$.a[3].b.b", &["$.a[3].b.b 5"]),
        ("$.a[1]", &["$.a[1] {\"b\":2,\"c\":[3]}"]),
        ("$['a'][1]['c'][0]", &["$.a[1].c[0] 3"]),
        ("$.0", &["$.0 7"]),
        ("$['*']", &["$['*'] 8"]),
        ("$['']", &["$[''] 9"]),
        (r"$['it\'s']", &[r"$['it\'s'] 10"]),
        ("$['a.b']", &["$['a.b'] 11"]),
        (r"$['x\\y']", &[r"$['x\\y'] 12"]),
        ("$[0]", &[]),
        ("$[*]", &[]),
        ("$.a.b", &[]),
        ("$.a[4]", &[]),
        ("$.b.b", &[]),
    ] {
        assert_eq!(told(path, text), values, "{path}");
    }
}

#[test]
fn names_are_compared_with_what_keys_say_not_with_how_they_are_written() {
    assert_eq!(told("$.答案", "{\"\\u7b54\\u6848\":1}"), ["$.答案 1"]);
    assert_eq!(told("$['🦀\n']", r#"{"\uD83E\udd80\n":1}"#), ["$['🦀\n'] 1"]);
    assert_eq!(told("$.a", r#"{"a\u0000":1,"aa":2,"A":3," a":4}"#), [""; 0]);
}

#[test]
fn the_whole_text_is_told_without_the_blanks_around_it() {
    assert_eq!(told("$", " \n{ \"a\" : [ 1 ] } "), ["$ { \"a\" : [ 1 ] }"]);
    assert_eq!(told("$", " -1.5e3"), ["$ -1.5e3"]);
}

#[test]
fn the_actual_indices_are_told() {
    let mut parser = Parser::new(Paths::new(["$[*].a[1][*]"]).unwrap(), Limits::default());
    let mut indices = Vec::new();
    let mut each = |news: News<'_>| match news {
        News::Value { path, json, .. } => {
            assert_eq!(format!("{path:?}"), path.to_string());
            indices.push((path.indices().collect::<Vec<_>>(), json.to_string()));
        }
        News::Text { .. } => {}
    };
    parser.push(br#"[0,{"a":[[1],[2,3]]},{"a":[[],[4]]}]"#, &mut each).unwrap();
    parser.finish(&mut each).unwrap();
    assert_eq!(indices, [(vec![1, 0], "2".into()), (vec![1, 1], "3".into()), (vec![2, 0], "4".into())]);
}

#[test]
fn what_is_not_a_path_is_refused_with_the_place_and_the_remedy() {
    let wrong = |path: &str| Paths::new([path]).unwrap_err().to_string();
    for (path, error) in [
        ("", "path \"\", byte 0: expected '$'"),
        ("answer", "path \"answer\", byte 0: expected '$'"),
        ("$answer", "path \"$answer\", byte 1: expected '.', '[' or the end"),
        ("$.", "path \"$.\", byte 2: expected a name of letters, digits, '_' and '-'; others are written ['…']"),
        ("$..a", "path \"$..a\", byte 2: expected a name of letters, digits, '_' and '-'; others are written ['…']"),
        ("$.*", "path \"$.*\", byte 2: expected a name of letters, digits, '_' and '-'; others are written ['…']"),
        ("$.a b", "path \"$.a b\", byte 3: expected '.', '[' or the end"),
        ("$ ", "path \"$ \", byte 1: expected '.', '[' or the end"),
        ("$[", "path \"$[\", byte 2: expected an index, '*' or a name in single quotes"),
        ("$[]", "path \"$[]\", byte 2: expected an index, '*' or a name in single quotes"),
        ("$[-1]", "path \"$[-1]\", byte 2: expected an index, '*' or a name in single quotes"),
        (
            "$[99999999999999999999]",
            "path \"$[99999999999999999999]\", byte 2: expected an index, '*' or a name in single quotes",
        ),
        ("$[a]", "path \"$[a]\", byte 2: expected an index, '*' or a name in single quotes"),
        ("$[1", "path \"$[1\", byte 3: expected ']'"),
        ("$[*", "path \"$[*\", byte 3: expected ']'"),
        ("$[1:2]", "path \"$[1:2]\", byte 3: expected ']'"),
        ("$['a]", "path \"$['a]\", byte 2: expected a name that ends with '"),
        ("$['a'", "path \"$['a'\", byte 5: expected ']'"),
        ("$['\\n']", "path \"$['\\\\n']\", byte 2: expected a name in which a backslash stands before ' or \\ only"),
    ] {
        assert_eq!(wrong(path), error);
    }
    assert_eq!(Paths::new(["$", "$.a", "x"]).unwrap_err().path, "x");
}
