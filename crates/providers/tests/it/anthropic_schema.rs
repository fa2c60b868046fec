//! Which JSON Schemas go to the Messages API, and in what form.

use crate::{head, user};
use mainpath_providers::{Anthropic, Quirks, encode};
use mainpath_testkit::model_server::anthropic::check_body;
use mainpath_types::{ModelRequest, RequestHead, ToolSpec};
use serde_json::{Value, json};

fn body(head: RequestHead) -> Value {
    let quirks = Quirks { output_schema: true, ..Quirks::default() };
    let request = ModelRequest { head, messages: vec![user(1, "hi")] };
    let body = serde_json::from_slice(&encode(&Anthropic::new(quirks, "anthropic"), &request)).unwrap();
    assert_eq!(check_body(&body), Ok(()));
    body
}

/// The output schema as it is sent; null if it is not.
fn output(schema: Value) -> Value {
    let mut body = body(RequestHead { output_schema: Some(schema), ..head(true) });
    body["output_config"]["format"]["schema"].take()
}

#[test]
fn objects_are_closed_and_constraints_are_told_in_words() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Answer", "type": "object",
        "description": "What was found.",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "description": "How many."},
            "when": {"type": "string", "format": "date-time"},
            "code": {"type": "string", "pattern": "^a+$"},
            "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 9},
            "pairs": {"type": "array", "items": {"type": "number"}, "minItems": 2},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "fixed": {"const": 7},
            "maybe": {"type": ["string", "null"]},
            "either": {"oneOf": [{"type": "boolean"}, {"$ref": "#/$defs/Place"}]},
            "one": {"allOf": [{"$ref": "#/$defs/Place"}]},
        },
        "required": ["count", "when"], "additionalProperties": true,
        "$defs": {
            "Place": {"type": "object", "properties": {"at": {"$ref": "#/$defs/Point"}}},
            "Point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        },
    });
    let expected = json!({
        "title": "Answer", "type": "object", "description": "What was found.",
        "properties": {
            "count": {"type": "integer", "description": "How many.\n\n{\"minimum\":1}"},
            "when": {"type": "string", "format": "date-time"},
            "code": {"type": "string", "description": "{\"pattern\":\"^a+$\"}"},
            "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "{\"maxItems\":9}"},
            "pairs": {"type": "array", "items": {"type": "number"}, "description": "{\"minItems\":2}"},
            "kind": {"enum": ["a", "b"]},
            "fixed": {"const": 7},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "either": {"anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/Place"}]},
            "one": {"$ref": "#/$defs/Place"},
        },
        "required": ["count", "when"], "additionalProperties": false,
        "$defs": {
            "Place": {"type": "object", "properties": {"at": {"$ref": "#/$defs/Point"}}, "additionalProperties": false},
            "Point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"],
                      "additionalProperties": false},
        },
    });
    assert_eq!(output(schema), expected);
}

#[test]
fn a_schema_that_the_api_cannot_hold_answers_to_is_left_out() {
    let list = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/List"}}});
    let refused = [
        json!(true),
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}),
        json!({"type": "array", "items": {}}),
        json!({"type": "file"}),
        json!({"enum": [{"a": 1}]}),
        json!({"enum": []}),
        json!({"anyOf": []}),
        json!({"allOf": [{"type": "string"}, {"type": "string"}]}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/Missing"}),
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$ref": "#/$defs/List", "$defs": {"List": list}}),
    ];
    for schema in refused {
        assert_eq!(output(schema.clone()), Value::Null, "{schema}");
    }
    let empty = json!({"type": "object", "additionalProperties": false});
    assert_eq!(output(empty), json!({"type": "object", "properties": {}, "additionalProperties": false}));
}

#[test]
fn a_tools_schema_is_an_object_without_alternatives_at_the_top() {
    let sent = |schema: Value| {
        let tool = ToolSpec { input_schema: schema.into(), ..head(true).tools.remove(0) };
        body(RequestHead { tools: vec![tool], ..head(true) })["tools"][0]["input_schema"].take()
    };
    let inner = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
    let good = json!({"type": "object", "properties": {"a": inner}, "additionalProperties": {"type": "string"}});
    assert_eq!(sent(good.clone()), good);
    let odd = json!({"properties": {"a": {}}, "oneOf": [{"required": ["a"]}], "anyOf": [], "allOf": [true]});
    assert_eq!(sent(odd), json!({"type": "object", "properties": {"a": {}}}));
    assert_eq!(sent(json!({"type": ["object", "null"]})), json!({"type": "object"}));
    assert_eq!(sent(json!(true)), json!({"type": "object"}));
}
