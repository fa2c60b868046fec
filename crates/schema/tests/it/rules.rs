//! What is said of a value that breaks a rule, in words that whoever wrote the value can mend it by.

use serde_json::{Value, json};

use crate::{refused, told};

fn one(schema: Value, value: Value) -> String {
    let told = told(&schema, &value);
    assert_eq!(told.len(), 1, "{told:?}");
    told.into_iter().next().unwrap()
}

#[test]
fn every_broken_rule_is_told_with_its_place() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3},
            "a/b": {"enum": ["on", "off"]},
        },
        "required": ["path", "mode"],
        "additionalProperties": false,
    });
    assert_eq!(
        told(&schema, &json!({"path": "", "lines": [1, 0, "3", 4], "a/b": "of", "pth": 1})),
        [
            r#"there is no property "pth"; there are "a/b", "lines", "path""#,
            r#"at /a~1b: "of" is not one of "on", "off""#,
            "at /lines/1: 0 is not at least 1",
            r#"at /lines/2: "3" is not of type integer"#,
            r#"at /lines: [1,0,"3",4] has 4 items, more than 3"#,
            r#"at /path: "" has 0 characters, fewer than 1"#,
            r#""mode" is missing"#,
        ]
    );
    assert_eq!(
        told(&schema, &json!({"path": "a", "mode": 1})),
        [r#"there is no property "mode"; there are "a/b", "lines", "path""#]
    );
}

#[test]
fn each_rule_says_what_it_wants() {
    for (schema, value, said) in [
        (json!({"type": ["string", "null"]}), json!(1), "1 is not of type string or null"),
        (json!({"const": [1]}), json!([2]), "[2] is not [1]"),
        (json!({"not": {"type": "string"}}), json!("a"), r#""a" is what it may not be (not)"#),
        (json!({"minimum": 1, "exclusiveMinimum": true}), json!(1), "1 is not more than 1"),
        (json!({"exclusiveMaximum": 2}), json!(2.0), "2.0 is not less than 2"),
        (json!({"multipleOf": 0.01}), json!(0.075), "0.075 is not a multiple of 0.01"),
        (json!({"pattern": "^a+$"}), json!("b"), r#""b" does not match the pattern ^a+$"#),
        (json!({"uniqueItems": true}), json!([1, {"a": 1}, {"a": 1.0}]), r#"items 1 and 2 are the same, {"a":1.0}"#),
        (json!({"contains": {"type": "string"}}), json!([1]), "0 of its items are as 1 must be (contains)"),
        (
            json!({"contains": {"type": "string"}, "maxContains": 1}),
            json!(["a", "b"]),
            "2 of its items are as at most 1 may be (contains)",
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"ab": 1}),
            r#"the name "ab": "ab" has 2 characters, more than 1"#,
        ),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), r#""b" is missing"#),
        (json!({"properties": {"a": false}}), json!({"a": 1}), "at /a: nothing may stand here"),
        (
            json!({"oneOf": [{"type": "integer"}, {"minimum": 2}]}),
            json!(3),
            "3 has 2 forms where it may have one (oneOf)",
        ),
        (
            json!({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}),
            json!({"a": 1, "b": 2}),
            r#"there is no property "b""#,
        ),
    ] {
        assert_eq!(one(schema.clone(), value), said, "{schema}");
    }
}

#[test]
fn of_alternatives_the_nearest_is_told() {
    let schema = json!({"anyOf": [
        {"type": "string"},
        {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind", "n"]},
    ]});
    assert_eq!(
        one(schema, json!({"kind": "b"})),
        r#"{"kind":"b"} has none of the 2 forms that it may have (anyOf). The nearest says: {"kind":"b"} is not of type string"#
    );
}

#[test]
fn a_value_that_is_none_of_some_is_told_which_there_are() {
    let words = json!({"oneOf": [{"const": "approve", "description": "Yes."}, {"const": "deny"}]});
    assert_eq!(one(words.clone(), json!("ok")), r#""ok" is not one of "approve", "deny""#);
    let optional = json!({"anyOf": [{"$ref": "#/$defs/words"}, {"type": "null"}], "$defs": {"words": words}});
    assert_eq!(one(optional, json!("ok")), r#""ok" is not one of "approve", "deny""#);
}

#[test]
fn what_is_in_the_schema_can_be_referred_to_by_place_anchor_and_name() {
    for schema in [
        json!({"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}),
        json!({"$defs": {"a b": {"type": "integer"}}, "$ref": "#/$defs/a%20b"}),
        json!({"$defs": {"n": {"$anchor": "n", "type": "integer"}}, "$ref": "#n"}),
        json!({"$defs": {"n": {"$id": "n", "type": "integer"}}, "$ref": "n"}),
        json!({"$id": "http://h/s", "$defs": {"n": {"type": "integer"}}, "$ref": "http://h/s#/$defs/n"}),
        json!({"elsewhere": [{"type": "integer"}], "$ref": "#/elsewhere/0"}),
    ] {
        assert_eq!(told(&schema, &json!("a")), [r#""a" is not of type integer"#], "{schema}");
        assert_eq!(told(&schema, &json!(1)), [""; 0], "{schema}");
    }
    let tree = json!({"properties": {"next": {"$ref": "#"}}, "additionalProperties": false});
    assert_eq!(
        told(&tree, &json!({"next": {"next": {"nxt": 1}}})),
        [r#"at /next/next: there is no property "nxt"; there are "next""#]
    );
}

#[test]
fn in_draft_7_nothing_beside_a_reference_counts() {
    let schema = |draft: &str| json!({"$schema": draft, "definitions": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/definitions/n", "minimum": 3}}});
    let value = json!({"a": 1});
    assert_eq!(told(&schema("http://json-schema.org/draft-07/schema#"), &value), [""; 0]);
    assert_eq!(told(&schema("https://json-schema.org/draft/2020-12/schema"), &value), ["at /a: 1 is not at least 3"]);
}

#[test]
fn a_pattern_is_read_as_ecmascript_does() {
    let matches = |pattern: &str, text: &str| told(&json!({"pattern": pattern}), &json!(text)).is_empty();
    assert!(matches(r"^\d$", "7") && !matches(r"^\d$", "７"));
    assert!(matches(r"^(?!main$)\w+$", "dev") && !matches(r"^(?!main$)\w+$", "main"));
    assert!(matches(r"^[\w.-]+\/[^/]+$", "a.b/c") && matches(r"^[[]$", "["));
    assert!(!matches("^a$", "a\n"));
}

#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    for (schema, said) in [
        (json!(7), "a schema is an object, true or false, not 7"),
        (json!({"type": "text"}), r#"at /type: the name of a type, or a list of them, belongs here, not "text""#),
        (json!({"properties": {"a": 7}}), "at /properties/a: a schema is an object, true or false, not 7"),
        (json!({"properties": []}), "at /properties: an object belongs here, not []"),
        (json!({"items": {"minLength": -1}}), "at /items/minLength: a whole number of 0 or more belongs here, not -1"),
        (json!({"anyOf": []}), "at /anyOf: at least one schema belongs here, not []"),
        (json!({"required": true}), "at /required: a list of names belongs here, not true"),
        (json!({"multipleOf": 0}), "at /multipleOf: a number above 0 belongs here, not 0"),
        (json!({"$ref": "#/$defs/a"}), r##"it refers to "#/$defs/a", which is not in it"##),
        (
            json!({"$ref": "http://h/s.json"}),
            r#"it refers to "http://h/s.json", another document; only what is in it is read"#,
        ),
        (json!({"$dynamicRef": "#a"}), "at /$dynamicRef: it is not supported"),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$id": "x"}}}),
            r##"it refers to "#/$defs/a", and a schema in it has an $id: that is not supported"##,
        ),
    ] {
        assert_eq!(refused(&schema), said, "{schema}");
    }
    assert!(refused(&json!({"pattern": "("})).starts_with("at /pattern: it is no pattern: "));
}
