//! JSON in which no object has a name twice: readers differ in which of the two counts, so what is shown could be other than what runs.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// The value of a JSON text. Errors: it is not JSON, or an object has a name twice.
pub fn unique_json(text: impl AsRef<[u8]>) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text.as_ref());
    let value = Unique.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element_seed(Unique)? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = from.next_key::<String>()? {
            let value = from.next_value_seed(Unique)?;
            if object.contains_key(&name) {
                let shown: String = name.chars().take(80).collect();
                return Err(A::Error::custom(format!("the name {shown:?} is there twice")));
            }
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_any_reader_does_unless_a_name_is_there_twice() {
        for text in
            ["null", "[1, -2, 3.5, true, \"x\\n\"]", "{\"a\": {\"b\": [{}], \"c\": 18446744073709551615}}", "1e400"]
        {
            assert_eq!(unique_json(text).ok(), serde_json::from_str::<Value>(text).ok(), "{text}");
        }
        for text in ["{\"a\": 1, \"a\": 1}", "[{\"b\": {\"a\": 1, \"c\": 2, \"a\": 3}}]", "{\"a\": 1, \"\\u0061\": 2}"]
        {
            let error = unique_json(text).unwrap_err().to_string();
            assert!(error.starts_with("the name \"a\" is there twice"), "{text}: {error}");
        }
        assert!(unique_json("{} {}").is_err() && unique_json("").is_err());
        let deep = "[".repeat(100_000);
        assert!(unique_json(&deep).is_err(), "no stack is lost");
    }
}
