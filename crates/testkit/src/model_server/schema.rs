//! Request bodies against JSON Schemas made from the vendors' published types: see `schemas/README.md`.

use jsonschema::Validator;
use jsonschema::error::{ValidationError, ValidationErrorKind};
use serde_json::Value;
use std::sync::OnceLock;

/// A schema that is compiled when first asked.
pub(super) struct Schema {
    text: &'static str,
    compiled: OnceLock<Validator>,
}

impl Schema {
    /// The schema in this text.
    pub(super) const fn new(text: &'static str) -> Schema {
        Schema { text, compiled: OnceLock::new() }
    }

    /// Checks a body.
    ///
    /// # Errors
    /// Where and how it breaks the schema first.
    pub(super) fn check(&self, body: &Value) -> Result<(), String> {
        let compiled = self.compiled.get_or_init(|| {
            let schema: Value = serde_json::from_str(self.text).unwrap();
            jsonschema::validator_for(&schema).unwrap()
        });
        compiled.validate(body).map_err(|error| {
            let error = closest(&error);
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the body".into() } else { place };
            // The words show the value, which may be a whole conversation.
            format!("{place}: {}", error.to_string().chars().take(200).collect::<String>())
        })
    }
}

/// Of alternatives that all fail, what the one that was meant lacks: the one of this JSON type and with this `type` or `role`.
fn closest<'a, 'e>(error: &'a ValidationError<'e>) -> &'a ValidationError<'e> {
    let ValidationErrorKind::AnyOf { context } = error.kind() else { return error };
    let is_other = |lack: &ValidationError<'_>| match lack.kind() {
        ValidationErrorKind::Constant { .. } => true,
        ValidationErrorKind::Type { .. } => lack.instance_path() == error.instance_path(),
        _ => false,
    };
    let meant = context.iter().find(|branch| !branch.iter().any(is_other));
    meant.and_then(|branch| branch.first()).map_or(error, closest)
}
