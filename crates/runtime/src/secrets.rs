//! Secrets and their handles. A secret enters no log, no view, no stream and no model: its handle does.

use mainpath_core::TEXT_ISSUER;
use mainpath_tools::Secrets;
use mainpath_types::{Part, Source, ToolOutput};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The secrets that are known, by name. A handle is `{{secret:NAME}}`, the same in every log.
#[derive(Clone, Default)]
pub struct Vault {
    /// Longest value first, so that one that contains another is replaced whole.
    secrets: Arc<[(String, String)]>,
}

/// Shorter values are no secrets: replacing them would garble ordinary text.
const SHORTEST: usize = 8;

/// Endings of the names of environment variables that hold secrets.
const NAMES: [&str; 8] = ["_KEY", "_TOKEN", "_SECRET", "PASSWORD", "_PASS", "_CREDENTIALS", "API_KEY", "_PAT"];

impl Vault {
    /// A vault of these secrets: name and value.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Vault {
        let known: BTreeMap<String, String> =
            secrets.into_iter().filter(|(_, value)| value.len() >= SHORTEST).collect();
        let mut secrets: Vec<(String, String)> = Vec::new();
        for (name, value) in known {
            // As it would stand inside JSON text, where that differs.
            let escaped = serde_json::to_string(&value).unwrap_or_default();
            let escaped = escaped.trim_matches('"').to_string();
            if escaped != value {
                secrets.push((name.clone(), escaped));
            }
            secrets.push((name, value));
        }
        secrets.sort_by(|(a, x), (b, y)| y.len().cmp(&x.len()).then_with(|| a.cmp(b)));
        Vault { secrets: secrets.into() }
    }

    /// Whether a variable of this name holds a secret.
    pub fn is_secret_name(name: &str) -> bool {
        let name = name.to_ascii_uppercase();
        NAMES.iter().any(|ending| name.ends_with(ending))
    }

    /// The names of the secrets.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(|(name, _)| name.as_str())
    }

    /// Whether a text holds no secret, and none may have begun at its end.
    pub fn is_clean(&self, text: &str) -> bool {
        self.begun(text) == 0 && !self.secrets.iter().any(|(_, value)| text.contains(value.as_str()))
    }

    /// The text with every secret replaced by its handle.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_string();
        for (name, value) in self.secrets.iter() {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), &handle(name));
            }
        }
        text
    }

    /// The text with the handles of these names replaced by their secrets. Other handles stay handles.
    pub fn reveal(&self, text: &str, allowed: &[String]) -> String {
        let mut text = text.to_string();
        for name in allowed {
            // The last entry of a name is the value itself, not its form in JSON.
            if let Some((_, value)) = self.secrets.iter().rfind(|(known, _)| known == name) {
                text = text.replace(&handle(name), value);
            }
        }
        text
    }

    /// Redacts the texts of parts.
    pub fn redact_parts(&self, parts: &mut [Part]) {
        if self.secrets.is_empty() {
            return;
        }
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
                    *arguments = self.redact(arguments);
                }
                Part::ToolResult { content, .. } => self.redact_parts(content),
                Part::Image { source } | Part::Audio { source } => self.redact_address(source),
                Part::Document { source, name, .. } => {
                    self.redact_address(source);
                    *name = name.take().map(|name| self.redact(&name));
                }
                Part::StoredText { .. } => {}
            }
        }
    }

    /// An address can hold a key. Bytes are left as they are: nothing in an image is found by its letters.
    fn redact_address(&self, source: &mut Source) {
        if let Source::Url { url } = source {
            *url = self.redact(url);
        }
    }

    /// Redacts what a tool returned.
    pub fn redact_output(&self, output: &mut ToolOutput) {
        self.redact_parts(&mut output.content);
        for text in [&mut output.title, &mut output.long_term_memory].into_iter().flatten() {
            *text = self.redact(text);
        }
    }

    /// How much of a stream's end must be held back because a secret may have begun there: the length in bytes of the
    /// longest ending that is the beginning of a secret.
    pub fn begun(&self, text: &str) -> usize {
        let ends = |value: &str| {
            let longest = value.len().saturating_sub(1).min(text.len());
            (1..=longest)
                .rev()
                .find(|len| value.is_char_boundary(*len) && text.as_bytes().ends_with(&value.as_bytes()[..*len]))
        };
        self.secrets.iter().filter_map(|(_, value)| ends(value)).max().unwrap_or(0)
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

fn handle(name: &str) -> String {
    format!("{{{{secret:{name}}}}}")
}

/// What a running call may do with secrets: reveal those that its spec names, hide all.
pub(crate) struct Granted {
    pub vault: Vault,
    pub allowed: Vec<String>,
}

impl Secrets for Granted {
    fn reveal(&self, text: &str) -> String {
        self.vault.reveal(text, &self.allowed)
    }
    fn redact(&self, text: &str) -> String {
        self.vault.redact(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault() -> Vault {
        Vault::new([
            ("A_KEY".to_string(), "hunter2hunter2".to_string()),
            ("B_KEY".to_string(), "xx-hunter2hunter2-yy".to_string()),
            ("C_KEY".to_string(), "quote\"d-secret".to_string()),
            ("SHORT_KEY".to_string(), "abc".to_string()),
        ])
    }

    #[test]
    fn a_secret_becomes_its_handle_also_inside_json_and_inside_another() {
        let text = r#"a hunter2hunter2 b xx-hunter2hunter2-yy c {"k":"quote\"d-secret"} abc"#;
        let redacted = "a {{secret:A_KEY}} b {{secret:B_KEY}} c {\"k\":\"{{secret:C_KEY}}\"} abc";
        assert_eq!(vault().redact(text), redacted);
    }

    #[test]
    fn only_secrets_that_are_allowed_are_revealed() {
        let text = "{{secret:A_KEY}} {{secret:C_KEY}} {{secret:NONE}}";
        let revealed = "{{secret:A_KEY}} quote\"d-secret {{secret:NONE}}";
        assert_eq!(vault().reveal(text, &["C_KEY".to_string(), "NONE".to_string()]), revealed);
    }

    #[test]
    fn the_beginning_of_a_secret_at_the_end_of_a_piece_is_held_back() {
        assert_eq!(vault().begun("say hunter2h"), "hunter2h".len());
        assert_eq!(vault().begun("say xx-hunter2"), "xx-hunter2".len());
        assert_eq!(vault().begun("nothing"), 0);
    }

    #[test]
    fn names_that_hold_secrets_are_known() {
        let secret = ["OPENAI_API_KEY", "github_token", "DB_PASSWORD"].map(Vault::is_secret_name);
        let other = ["PATH", "KEYBOARD", "HOME"].map(Vault::is_secret_name);
        assert_eq!((secret, other), ([true; 3], [false; 3]));
    }
}
