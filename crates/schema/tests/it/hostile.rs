//! A schema may come from anybody: whatever it says, it takes a bounded time and a bounded stack.

use serde_json::{Map, Value, json};

use crate::{refused, told};

const TOO_MUCH: [&str; 1] = ["the schema asks for more work than any check may take"];

/// Definitions that each name the next one twice.
fn doubling(levels: usize, at: &str) -> Value {
    let mut defs = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(format!("d{level}"), json!({at: [next, next]}));
    }
    defs.insert(format!("d{levels}"), json!({"type": "string"}));
    json!({"$defs": defs, "properties": {"a": {"$ref": "#/$defs/d0"}}})
}

#[test]
fn work_that_doubles_with_every_step_is_given_up() {
    for at in ["allOf", "anyOf", "oneOf"] {
        assert_eq!(told(&doubling(40, at), &json!({"a": 1})), TOO_MUCH, "{at}");
        // Where there is nothing to hold to it there is no work.
        assert_eq!(told(&doubling(40, at), &json!({"b": 1})), [""; 0], "{at}");
        assert_eq!(told(&doubling(10, at), &json!({"a": 1})).iter().filter(|told| told == &TOO_MUCH[0]).count(), 0);
    }
}

#[test]
fn work_that_doubles_with_the_depth_of_the_value_is_given_up() {
    let twice = json!({"$ref": "#/$defs/a"});
    let schema = json!({"$defs": {"a": {"properties": {"a": {"allOf": [twice, twice]}}}}, "$ref": "#/$defs/a"});
    let mut value = json!({});
    for _ in 0..50 {
        value = json!({"a": value});
    }
    assert_eq!(told(&schema, &value), TOO_MUCH);
}

#[test]
fn a_schema_that_ends_in_itself_is_given_up_on_an_ordinary_stack() {
    for schema in [json!({"$ref": "#"}), json!({"anyOf": [{"$ref": "#"}]}), json!({"not": {"if": {"$ref": "#"}}})] {
        assert_eq!(told(&schema, &json!({"a": 1})), TOO_MUCH, "{schema}");
    }
    // A reference to a reference leads on, and in a circle nowhere.
    let circle = json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
    assert_eq!(told(&circle, &json!(1)), TOO_MUCH);
}

#[test]
fn what_is_nested_too_deep_is_refused() {
    let mut schema = json!({});
    for _ in 0..400 {
        schema = json!({"not": schema});
    }
    assert_eq!(refused(&schema), "its schemas are nested more than 200 deep");
}

#[test]
fn a_pattern_that_steps_back_without_end_is_given_up() {
    let schema = json!({"pattern": r"^(?=(a+)+$)(a|aa)+\1$"});
    let value = json!("a".repeat(60) + "b");
    assert_eq!(told(&schema, &value).len(), 1);
    assert!(refused(&json!({"pattern": "(a{1000}){1000}"})).starts_with("at /pattern: it is no pattern"));
}

#[test]
fn of_many_violations_the_first_are_told_and_none_at_length() {
    let value = json!(vec!["x".repeat(10_000); 1_000]);
    let all = told(&json!({"items": {"type": "integer"}}), &value);
    assert_eq!((all.len(), all.last().map(String::as_str)), (17, Some("and more")));
    assert!(all.iter().all(|told| told.chars().count() < 340), "{all:?}");
}

#[test]
fn long_lists_in_a_schema_count_as_work() {
    let names: Vec<Value> = (0..10_000).map(|number| json!(format!("n{number}"))).collect();
    let value = json!(vec![json!({}); 1_000]);
    assert_eq!(told(&json!({"items": {"enum": names}}), &value), TOO_MUCH);
}
