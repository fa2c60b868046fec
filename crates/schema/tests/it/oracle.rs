//! The same schemas and values in a validator that passes the official test suite.

use mainpath_schema::Schema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        (-3_i64..6).prop_map(Value::from),
        prop::sample::select(vec![0.5, 1.0, 1.5, -0.0, 2.25, 1e20, u64::MAX as f64]).prop_map(Value::from),
    ];
    let text = prop::sample::select(vec!["", "a", "ab", "abc", "b1", "日本"]).prop_map(Value::from);
    let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), number, text];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "ab", "c1"]).prop_map(str::to_owned)
}

fn schema() -> impl Strategy<Value = Value> {
    let types = vec!["null", "boolean", "object", "array", "number", "string", "integer"];
    let a_type = prop::sample::select(types).prop_map(Value::from);
    let number = prop::sample::select(vec![json!(-1), json!(0), json!(1), json!(1.5), json!(2), json!(3)]);
    let count = (0_u64..4).prop_map(Value::from);
    let names = prop::collection::btree_set(name(), 0..3).prop_map(|names| json!(names)).boxed();
    let pattern = prop::sample::select(vec!["^a", "b$", "^[a-z]+$", r"\d"]).prop_map(str::to_owned);
    let plain = prop_oneof![
        4 => a_type.clone().prop_map(|of| ("type", of)),
        1 => prop::collection::btree_set("(null|object|array|string|integer)", 1..3).prop_map(|of| ("type", json!(of))),
        1 => prop::collection::vec(value(), 1..4).prop_map(|all| ("enum", json!(all))),
        1 => value().prop_map(|one| ("const", one)),
        3 => (prop::sample::select(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]), number),
        1 => prop::sample::select(vec![json!(2), json!(0.5), json!(0.75)]).prop_map(|of| ("multipleOf", of)),
        4 => (
            prop::sample::select(vec![
                "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
                "maxContains",
            ]),
            count,
        ),
        1 => any::<bool>().prop_map(|on| ("uniqueItems", json!(on))),
        1 => names.clone().prop_map(|names| ("required", names)),
        1 => prop::collection::btree_map(name(), names, 0..2).prop_map(|map| ("dependentRequired", json!(map))),
        1 => pattern.clone().prop_map(|pattern| ("pattern", json!(pattern))),
    ]
    .boxed();
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(json!({"$ref": "#/$defs/a"})),
        8 => prop::collection::vec(plain.clone(), 0..4).prop_map(object),
    ];
    leaf.prop_recursive(3, 32, 4, move |inner| {
        let named = prop::collection::btree_map(name(), inner.clone(), 0..3).prop_map(|map| json!(map));
        let by_pattern = prop::collection::btree_map(pattern.clone(), inner.clone(), 1..3).prop_map(|map| json!(map));
        let list = prop::collection::vec(inner.clone(), 1..4).prop_map(|list| json!(list));
        let applicator = prop_oneof![
            3 => (prop::sample::select(vec!["properties", "dependentSchemas"]), named),
            1 => by_pattern.prop_map(|map| ("patternProperties", map)),
            3 => (prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]), list),
            6 => (
                prop::sample::select(vec![
                    "additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames",
                    "unevaluatedProperties", "unevaluatedItems",
                ]),
                inner,
            ),
        ];
        let keyword = prop_oneof![2 => applicator, 1 => plain.clone()];
        prop::collection::vec(keyword, 1..5).prop_map(object)
    })
}

fn object(keywords: Vec<(&str, Value)>) -> Value {
    Value::Object(keywords.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect::<Map<_, _>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn what_fits_is_what_another_validator_says_fits(
        root in schema(),
        definition in schema(),
        values in prop::collection::vec(value(), 8),
    ) {
        let mut root = match root {
            Value::Object(map) => map,
            other => Map::from_iter([("allOf".to_owned(), json!([other]))]),
        };
        // A definition that leads to itself at the same place would end in one and in the other differently.
        let definition: Value = serde_json::from_str(&definition.to_string().replace("$ref", "$comment")).unwrap();
        root.insert("$defs".into(), json!({"a": definition}));
        let root = Value::Object(root);
        let ours = Schema::new(&root).unwrap();
        let theirs = jsonschema::validator_for(&root).unwrap();
        for value in &values {
            let told = ours.violations(value);
            prop_assert_eq!(told.is_empty(), theirs.is_valid(value), "{} {} {:?}", root, value, told);
        }
    }
}
