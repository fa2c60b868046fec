//! A wire event without the fields that all have: its name and its data.

use serde_json::Value;

/// Its name, and what it says.
pub(super) type Fact = (&'static str, Value);

/// Events are plain data: they always have a JSON form.
pub(super) fn value(data: &impl serde::Serialize) -> Value {
    serde_json::to_value(data).unwrap_or_default()
}
