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

/// A schema that holds one value to the same schema many times over.
fn many_times(schema: &Value) -> Value {
    json!({"$defs": {"a": schema}, "allOf": vec![json!({"$ref": "#/$defs/a"}); 3_000]})
}

#[test]
fn a_long_text_counts_as_work_every_time_it_is_gone_through() {
    let text = "a".repeat(200_000);
    for schema in [
        json!({"pattern": "^a+$"}),
        json!({"minLength": 3}),
        json!({"maxLength": 3}),
        json!({"const": text}),
        json!({"enum": ["b", text]}),
    ] {
        assert_eq!(told(&many_times(&schema), &json!(text)), TOO_MUCH);
        assert!(told(&schema, &json!(text)) != TOO_MUCH);
    }
    let names = json!({"propertyNames": {"minLength": 1}});
    assert_eq!(told(&many_times(&names), &json!({text.as_str(): 1})), TOO_MUCH);
    assert_eq!(told(&many_times(&json!({"uniqueItems": true})), &json!([text])), TOO_MUCH);
    assert_eq!(told(&many_times(&json!({"const": {text.as_str(): 1}})), &json!({text.as_str(): 1})), TOO_MUCH);
}

#[test]
fn many_properties_and_items_count_as_work_every_time_they_are_gone_through() {
    let map: Map<String, Value> = (0..3_000).map(|number| (format!("n{number}"), json!(1))).collect();
    let list = vec![json!(1); 3_000];
    for schema in [
        json!({"additionalProperties": false, "properties": map.keys().map(|name| (name.clone(), json!(true))).collect::<Map<_, _>>()}),
        json!({"patternProperties": {"^n": true}, "unevaluatedProperties": false}),
        json!({"propertyNames": true}),
        json!({"items": true, "unevaluatedItems": false}),
        json!({"contains": true}),
    ] {
        let value = if schema.to_string().contains("tems") || schema.get("contains").is_some() {
            json!(list)
        } else {
            json!(map)
        };
        assert_eq!(told(&schema, &value), [""; 0]);
        assert_eq!(told(&many_times(&schema), &value), TOO_MUCH);
    }
}

#[test]
fn steps_back_of_a_pattern_count_as_work_when_they_are_many() {
    let value = json!(vec!["a".repeat(25) + "b"; 1_000]);
    let many = json!({"items": {"pattern": r"^(a|aa)+\1!$"}});
    assert_eq!(told(&many, &value), TOO_MUCH);
    let few = json!({"items": {"pattern": r"^(?!main$)\w+$"}});
    assert_eq!(told(&few, &value), [""; 0]);
}

#[test]
fn every_step_of_look_around_counts_as_work() {
    let text = "c".repeat(70_000);
    for pattern in [
        r"^(?:(?!.*[bd][xy][a-z]).)*Q",
        // Without a single step back.
        r"^(?:(?=.*c).)*Q",
        r"^(?:(?=(.*)).)*Q\1",
        r"(?=(c+)+$)b",
        r"(?<=.*x.*)Q",
        r"(.*)\1Q",
        r"(?=c)(?:c??)*?Q",
    ] {
        assert_eq!(told(&json!({"pattern": pattern}), &json!(text)), TOO_MUCH, "{pattern}");
    }
    // One look over a long text is no more work than its length.
    let long = json!("c".repeat(1_000_000));
    assert_eq!(told(&json!({"pattern": r"^(?!.*\.\.)[\w/.-]+$"}), &long), [""; 0]);
    assert_eq!(told(&many_times(&json!({"pattern": r"^(?!.*\.\.)[\w/.-]+$"})), &long), TOO_MUCH);
    let short = json!(vec!["feature/branch.name"; 100_000]);
    assert_eq!(told(&json!({"items": {"pattern": r"^(?!main$)[\w/.-]+$"}}), &short), [""; 0]);
}

#[test]
fn a_large_pattern_counts_as_little_work_where_it_matches_at_once_and_else_by_its_size() {
    let texts = json!(vec!["x".repeat(4_096); 200]);
    assert_eq!(told(&json!({"items": {"pattern": "^.{1,4096}$"}}), &texts), [""; 0]);
    let large = json!({"pattern": "(?:a|b)*a(?:a|b){200}[cd]"});
    assert_eq!(told(&large, &json!("abaab".repeat(40))).len(), 1);
    assert_eq!(told(&large, &json!("abaab".repeat(200_000))), TOO_MUCH);
}

#[test]
fn a_pattern_with_look_around_is_read_and_matched_on_an_ordinary_stack() {
    let nested = |levels: usize| json!({"pattern": format!("{}a{}", "(?=(?:".repeat(levels), ")*)".repeat(levels))});
    assert_eq!(refused(&nested(60)), "at /pattern: it is no pattern: its groups are nested more than 100 deep");
    let within = json!({"pattern": format!("{}a{}", "(?=".repeat(100), ")".repeat(100))});
    let deep = (0..95).fold(within, |schema, _| json!({"allOf": [schema]}));
    assert_eq!(told(&deep, &json!("a")), [""; 0]);
    assert_eq!(told(&deep, &json!("b")).len(), 1);
    // More to go back to than may be kept.
    assert_eq!(told(&json!({"pattern": r"^(?=a)(?:a|b)*$"}), &json!("a".repeat(2_000_000))), TOO_MUCH);
}

#[test]
fn sets_of_characters_take_a_bounded_memory() {
    let large = "at /pattern: it is no pattern: its sets of characters take too much memory";
    for one in [r"\p{L}", r"[\p{L}]", r"(?i:\W)"] {
        let many = |times: usize| json!({"pattern": format!("(?=a){}", one.repeat(times))});
        assert_eq!(told(&many(5), &json!("")).len(), 1, "{one}");
        assert_eq!(refused(&many(1_000)), large, "{one}");
    }
}

#[test]
fn what_schemas_in_each_other_have_seen_counts_as_work_every_time_it_is_handed_on() {
    let zeros = json!(vec![0; 300_000]);
    let seeing = json!({"items": true, "unevaluatedItems": false});
    let nested = |how: fn(Value) -> Value, levels: usize| (0..levels).fold(seeing.clone(), |schema, _| how(schema));
    let ways: [fn(Value) -> Value; 4] = [
        |schema| json!({"anyOf": [schema]}),
        |schema| json!({"oneOf": [schema]}),
        |schema| json!({"allOf": [schema]}),
        |schema| json!({"if": schema}),
    ];
    for how in ways {
        assert_eq!(told(&nested(how, 95), &json!([0, 0])), [""; 0], "{}", nested(how, 1));
        assert_eq!(told(&nested(how, 95), &zeros), TOO_MUCH, "{}", nested(how, 1));
    }
    let next = |name: &str| (0..55).fold(json!({"$ref": name}), |schema, _| json!({"anyOf": [schema]}));
    let chained = json!({
        "$defs": {"a": next("#/$defs/b"), "b": next("#/$defs/c"), "c": next("#/$defs/d"), "d": seeing},
        "$ref": "#/$defs/a",
    });
    assert_eq!(told(&chained, &zeros), TOO_MUCH);
}

#[test]
fn long_names_count_as_work_every_time_they_are_compared() {
    let name = |number: usize| format!("{}{number}", "n".repeat(100_000));
    let map: Map<String, Value> = (0..40).map(|number| (name(number), json!(0))).collect();
    let seeing = json!({"additionalProperties": true, "unevaluatedProperties": false});
    let nested = (0..95).fold(seeing.clone(), |schema, _| json!({"anyOf": [schema]}));
    assert_eq!(told(&seeing, &json!(map)), [""; 0]);
    assert_eq!(told(&nested, &json!(map)), TOO_MUCH);
    let named = json!({"properties": {name(0): true, name(7): true}});
    assert_eq!(told(&named, &json!(map)), [""; 0]);
    assert_eq!(told(&many_times(&named), &json!(map)), TOO_MUCH);
}

#[test]
fn patterns_have_a_length_and_a_weight_that_no_schema_exceeds() {
    let patterns = |many: usize| (0..many).map(|number| json!({"pattern": format!("^{number}$")})).collect::<Vec<_>>();
    assert_eq!(told(&json!({"anyOf": patterns(500)}), &json!("7")), [""; 0]);
    let many = "its patterns are more, or longer, than those of a schema may be";
    assert_eq!(refused(&json!({"anyOf": patterns(1_000)})), many);
    let heavy = |many: usize| (0..many).map(|number| json!({"pattern": format!("^.{{1,4096}}{number}$")}));
    assert_eq!(told(&json!({"anyOf": heavy(2).collect::<Vec<_>>()}), &json!("a1")), [""; 0]);
    assert_eq!(refused(&json!({"anyOf": heavy(20).collect::<Vec<_>>()})), many);
    assert_eq!(
        refused(&json!({"pattern": "a".repeat(8_001)})),
        "at /pattern: it is no pattern: it has more than 8000 bytes"
    );
    let nested = format!("(?={}{})", "(".repeat(3_000), ")".repeat(3_000));
    assert!(refused(&json!({"pattern": nested})).starts_with("at /pattern: it is no pattern: "));
}

#[test]
fn names_in_a_schema_may_be_long_but_not_what_refers_to_them() {
    let name = "n".repeat(100_000);
    let deep = (0..100).fold(json!({"type": "integer"}), |schema, _| json!({"properties": {name.as_str(): schema}}));
    assert_eq!(told(&deep, &json!({name.as_str(): {"a": 1}})), [""; 0]);
    let told = told(&deep, &json!({name.as_str(): {name.as_str(): 1}, "$defs": deep}));
    assert!(told.iter().all(|told| told.chars().count() < 340), "{told:?}");
    let by_place = json!({"$defs": {name.as_str(): true}, "$ref": format!("#/$defs/{name}")});
    assert_eq!(refused(&by_place), "a reference in it has more than 1000 bytes");
    let by_anchor = json!({"$defs": {name.as_str(): {"$anchor": "a"}}, "$ref": "#a"});
    assert_eq!(refused(&by_anchor), "what it names with $anchor or $id lies at a place of more than 1000 bytes");
}

#[test]
fn what_is_told_of_alternatives_in_alternatives_is_the_nearest_of_each_and_counts_as_work() {
    let nested = (0..30).fold(json!({"type": "integer"}), |schema, _| json!({"anyOf": [{"type": "null"}, schema]}));
    let of_text = told(&nested, &json!("a"));
    assert!(
        of_text[0].starts_with(
            r#""a" has none of the 2 forms that it may have (anyOf). The nearest says: "a" is not of type null"#
        ),
        "{of_text:?}"
    );
    assert_eq!(of_text.len(), 1);
    // Each level tells of sixteen places of the next: told without end, were it not for what telling costs.
    let wide = |schema: &Value| json!({"anyOf": [{"allOf": vec![schema.clone(); 16]}]});
    let defs: Map<String, Value> = (0..10)
        .map(|level| (format!("d{level}"), wide(&json!({"$ref": format!("#/$defs/d{}", level + 1)}))))
        .chain([("d10".to_owned(), json!(false))])
        .collect();
    assert_eq!(told(&json!({"$defs": defs, "$ref": "#/$defs/d0"}), &json!("a".repeat(1_000))), TOO_MUCH);
}
