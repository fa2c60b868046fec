//! Whole numbers in schemas have the bounds of their types, so that what is too large is told as every other wrong value is.

use schemars::Schema;
use schemars::transform::transform_subschemas;
use serde_json::Value;

/// Adds the largest value to every whole number whose type has one below 2^53, by the `format` that schemars writes.
pub fn bounded(schema: &mut Schema) {
    let largest = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => Some(u64::from(u8::MAX)),
        Some("uint16") => Some(u64::from(u16::MAX)),
        Some("uint32") => Some(u64::from(u32::MAX)),
        _ => None,
    };
    if let (Some(largest), None) = (largest, schema.get("maximum")) {
        schema.insert("maximum".into(), largest.into());
    }
    transform_subschemas(&mut bounded, schema);
}
