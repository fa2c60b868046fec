//! Where text enters: what is said, asked, answered and returned.

use super::error::SecretInSpec;
use super::escapes::Escapes;
use super::vault::Vault;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainpath_core::{InputKind, TEXT_ISSUER};
use mainpath_types::{GoalOp, Part, PlannedCall, Relations, Source, Spec, ToolOutput};
use serde_json::Value;

impl Vault {
    /// Redacts the texts of parts.
    pub fn redact_parts(&self, parts: &mut [Part]) {
        for part in parts {
            match part {
                Part::Text { text } => *text = self.redact(text),
                Part::Thinking { text, signature } => {
                    let redacted = self.redact(text);
                    match signature {
                        // The model's own words, kept for itself.
                        Some(own) if own.issuer == TEXT_ISSUER => own.value = self.redact(&own.value),
                        // What was signed is no longer there.
                        signed if redacted != *text => *signed = None,
                        _ => {}
                    }
                    *text = redacted;
                }
                Part::ToolCall { name, arguments, .. } => {
                    *name = self.redact(name);
                    *arguments = self.redact_arguments(arguments);
                }
                Part::ToolResult { content, .. } => self.redact_parts(content),
                Part::Image { source } | Part::Audio { source } => self.redact_source(source),
                Part::Document { source, name, .. } => {
                    self.redact_source(source);
                    *name = name.take().map(|name| self.redact(&name));
                }
                Part::StoredText { .. } => {}
            }
        }
    }

    /// An address can hold a key, and so can a text document. Other bytes are left as they are: nothing in an image is found by
    /// its letters.
    fn redact_source(&self, source: &mut Source) {
        match source {
            Source::Url { url } => *url = self.redact(url),
            Source::Base64 { data, media_type } if is_text(media_type) => {
                let decoded = STANDARD.decode(data.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                let Some(text) = decoded else { return };
                let redacted = self.redact(&text);
                if redacted != text {
                    *data = STANDARD.encode(redacted);
                }
            }
            Source::Base64 { .. } | Source::Blob { .. } => {}
        }
    }

    /// The arguments of a call: JSON text, valid or not. Values at configured places are left out, and a secret that was written
    /// with escapes is found too.
    pub(crate) fn redact_arguments(&self, arguments: &str) -> String {
        self.redact_json(&self.cut(arguments, false))
    }

    /// Redacts JSON text, valid or not. It stays as it was written unless a secret is written with escapes.
    fn redact_json(&self, text: &str) -> String {
        let redacted = self.redact(text);
        // Seldom: nobody escapes letters.
        if redacted.contains("\\u") || redacted.contains("\\/") {
            let plain = Escapes::resolve(&redacted);
            let hidden = self.redact(&plain);
            if hidden != plain {
                return hidden;
            }
        }
        redacted
    }

    /// Redacts the strings of a value.
    fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.redact(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact_value(value)),
            Value::Object(fields) => {
                if fields.keys().any(|name| self.has_secret(name)) {
                    let named = std::mem::take(fields).into_iter();
                    *fields = named.map(|(name, value)| (self.redact(&name), value)).collect();
                }
                fields.values_mut().for_each(|value| self.redact_value(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Whether there is something to redact in the strings of a value, or in the names of its fields.
    fn has_secrets(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.has_secret(text),
            Value::Array(values) => values.iter().any(|value| self.has_secrets(value)),
            Value::Object(fields) => {
                fields.iter().any(|(name, value)| self.has_secret(name) || self.has_secrets(value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// What a tool says: where it is JSON, without the values at configured places.
    pub(crate) fn redact_said(&self, text: &str) -> String {
        match is_json(text) {
            true => self.redact(&self.cut(text, false)),
            false => self.redact(text),
        }
    }

    fn cut(&self, text: &str, anywhere: bool) -> String {
        match self.cutter(anywhere) {
            None => text.into(),
            Some(mut cutter) => cutter.push(text) + &cutter.finish(),
        }
    }

    /// Redacts what a tool returned.
    pub fn redact_output(&self, output: &mut ToolOutput) {
        for part in &mut output.content {
            if let Part::Text { text } = part {
                *text = self.redact_said(text);
            }
        }
        self.redact_parts(&mut output.content);
        for text in [&mut output.error, &mut output.title, &mut output.long_term_memory].into_iter().flatten() {
            *text = self.redact(text);
        }
        for notice in &mut output.notices {
            *notice = self.redact(notice);
        }
        for change in &mut output.changes {
            change.path = self.redact(&change.path);
        }
        for artifact in &mut output.artifacts {
            artifact.name = self.redact(&artifact.name);
            artifact.media_type = self.redact(&artifact.media_type);
        }
    }

    /// Redacts bytes that a tool puts aside, where they are text.
    pub(crate) fn redact_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => self.redact_said(&text).into_bytes(),
            Ok(text) => text.into_bytes(),
            Err(other) => other.into_bytes(),
        }
    }

    /// Redacts what an agent is. Errors: an address that must stay as it is holds a secret.
    pub(crate) fn redact_spec(&self, spec: &mut Spec) -> Result<(), SecretInSpec> {
        let models = std::iter::once(&spec.model).chain(spec.fallback.iter().map(|fallback| &fallback.model));
        let what = models.map(|model| ("the model", model)).chain([("the workspace", &spec.workspace)]);
        for (what, name) in what {
            let shown = self.redact(name);
            if shown != *name {
                return Err(SecretInSpec::Name { what, shown });
            }
        }
        if let Some(rule) = spec.rules.texts().find(|rule| self.has_secret(rule)) {
            // One may be a whole file.
            let hidden = self.redact(rule);
            let shown = hidden.lines().find(|line| line.contains("{{secret:")).unwrap_or_default();
            return Err(SecretInSpec::Rule { shown: shown.into() });
        }
        self.redact_belonging(&mut spec.name, &mut spec.relations);
        spec.instructions = self.redact(&spec.instructions);
        spec.own_instructions = self.redact(&spec.own_instructions);
        for text in [&mut spec.system_prompt, &mut spec.uid].into_iter().flatten() {
            *text = self.redact(text);
        }
        if let Some(preset) = &mut spec.preset {
            let skills = preset.skills.iter_mut().flatten();
            for text in [&mut preset.name, &mut preset.source, &mut preset.instructions].into_iter().chain(skills) {
                *text = self.redact(text);
            }
        }
        for tool in &mut spec.tools {
            tool.description = self.redact(&tool.description);
            // All runs share it: it is copied only where something is to be hidden.
            if self.has_secrets(&tool.input_schema) {
                self.redact_value(tool.input_schema.make_mut());
            }
        }
        if let Some(schema) = &mut spec.output_schema {
            self.redact_value(schema);
        }
        Ok(())
    }

    /// Redacts what agents of one kind differ in: their names and what they belong to.
    pub(crate) fn redact_belonging(&self, name: &mut Option<String>, relations: &mut Relations) {
        for text in [name, &mut relations.session, &mut relations.agent_type].into_iter().flatten() {
            *text = self.redact(text);
        }
        let context = std::mem::take(&mut relations.context);
        for (name, mut value) in context {
            self.redact_value(&mut value);
            relations.context.insert(self.redact(&name), value);
        }
    }

    /// Redacts a turn that is JSON text, before it is read: its calls may have values at configured places.
    pub(crate) fn redact_turn(&self, parts: &mut [Part]) {
        for part in parts {
            if let Part::Text { text } = part
                && let Some((before, object)) = text.find('{').map(|at| text.split_at(at))
            {
                *text = format!("{before}{}", self.redact_json(&self.cut(object, true)));
            }
        }
    }

    /// Redacts a model's answer once more, when it has been read: a turn in text may have held a secret in escapes, which reading it
    /// has resolved, and what is wrong with a call may be said with its own words.
    pub(crate) fn redact_answer(&self, answer: &mut InputKind) {
        if let InputKind::ModelMalformed { problem, .. } = answer {
            *problem = self.redact(problem);
        }
        if let InputKind::ModelFinished(reply) | InputKind::ModelMalformed { reply, .. } = answer {
            self.redact_parts(&mut reply.parts);
            reply.calls.iter_mut().for_each(|call| self.redact_planned(call));
            let words = reply.goals.iter_mut().flat_map(GoalOp::texts_mut);
            words.for_each(|text| *text = self.redact(text));
        }
    }

    fn redact_planned(&self, call: &mut PlannedCall) {
        let PlannedCall { tool, problem, offer, answer, verdict, places, destinations, .. } = call;
        let reason = verdict.as_mut().map(|verdict| &mut verdict.reason);
        let texts = [tool.as_mut(), problem.as_mut(), offer.as_mut(), answer.as_mut(), reason];
        let values = destinations.iter_mut().map(|destination| &mut destination.value);
        texts.into_iter().flatten().chain(places).chain(values).for_each(|text| *text = self.redact(text));
    }
}

/// Whether a text is JSON, by its first character.
pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/") || ["json", "xml", "yaml", "toml"].iter().any(|name| media_type.contains(name))
}
