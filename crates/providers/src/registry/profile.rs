//! What is known of a provider.

use crate::base_url::BaseUrl;
use crate::endpoint::{BadBaseUrl, Endpoint, Key, Quirks};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A provider: who it is, where it is, and how it wants to be spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderProfile {
    /// What stands before the colon in a model's name.
    pub name: String,
    /// The wire format.
    pub format: WireFormat,
    /// What the vendor's own SDK would be given; `None` where the model's name has it, as `NAME:URL#MODEL`.
    pub base_url: Option<String>,
    /// What belongs between the base address and the format's own paths, such as `v1`; mostly nothing.
    pub path: String,
    /// Variables that replace the base address. The first that is set counts.
    pub base_url_variables: Vec<String>,
    /// Variables that hold the key. The first that is set counts.
    pub key_variables: Vec<String>,
    /// Whether it is of no use without a key.
    pub key_needed: bool,
    /// Whether it is a server on this machine, which may be looked for.
    pub local: bool,
    /// Headers of every request besides the format's own.
    pub headers: Vec<(String, String)>,
    /// Where it differs from the published format.
    pub quirks: Quirks,
    /// The model that is used when a key is there and no model is named.
    pub default_model: Option<String>,
    /// The provider under whose name the tables have its models, if not its own.
    pub models_of: Option<String>,
}

/// The wire formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireFormat {
    /// OpenAI Chat Completions, and what is compatible with it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
}

impl WireFormat {
    /// Its name, which is its codec's [`format`](crate::Codec::format).
    pub fn name(self) -> &'static str {
        match self {
            WireFormat::OpenaiChat => "openai-chat",
            WireFormat::OpenaiResponses => "openai-responses",
            WireFormat::Anthropic => "anthropic",
            WireFormat::Gemini => "gemini",
        }
    }
}

impl fmt::Display for WireFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The address in a variable is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model's address{} is wrong: {why}", variable.as_ref().map(|name| format!(" in {name}")).unwrap_or_default())]
pub struct BadAddress {
    /// The variable that holds it; `None` for an address in a model's name or in a table.
    pub variable: Option<String>,
    /// What is wrong with it.
    pub why: BadBaseUrl,
}

impl ProviderProfile {
    /// The provider's server, with its key, headers and quirks. `url` is the address in the model's name, for a provider
    /// that takes one.
    ///
    /// # Errors
    /// [`BadAddress`].
    pub fn endpoint(&self, url: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Result<Endpoint, BadAddress> {
        let (variable, given) = match (url, self.address_variable(env)) {
            (Some(url), _) => (None, url.to_owned()),
            (None, Some((variable, value))) => (Some(variable.to_owned()), self.with_scheme(&value)),
            (None, None) => (None, self.base_url.clone().unwrap_or_default()),
        };
        let endpoint = Endpoint::new(&given);
        // An address in a model's name is recorded with it.
        let endpoint = if url.is_some() { endpoint.and_then(Endpoint::recorded) } else { endpoint };
        let mut endpoint = endpoint.map_err(|why| BadAddress { variable, why })?;
        endpoint.enter(&self.path);
        endpoint.key = self.key(env).map(|(_, key)| key);
        endpoint.headers.clone_from(&self.headers);
        endpoint.quirks = self.quirks;
        Ok(endpoint)
    }

    /// The key, and the variable that holds it.
    pub fn key(&self, env: &dyn Fn(&str) -> Option<String>) -> Option<(&str, Key)> {
        self.key_variables.iter().find_map(|variable| Some((variable.as_str(), Key::new(&env(variable)?)?)))
    }

    /// The address that is set in the environment, and the variable that holds it.
    pub fn address_variable(&self, env: &dyn Fn(&str) -> Option<String>) -> Option<(&str, String)> {
        let set = |variable: &String| env(variable).filter(|value| !value.trim().is_empty());
        self.base_url_variables.iter().find_map(|variable| Some((variable.as_str(), set(variable)?)))
    }

    /// The variable to set before it can be used; `None` if it can. Another server than the vendor's may need no key.
    pub fn lacks_key(&self, env: &dyn Fn(&str) -> Option<String>) -> Option<&str> {
        let lacks = self.key_needed && self.key(env).is_none() && self.address_variable(env).is_none();
        self.key_variables.first().filter(|_| lacks).map(String::as_str)
    }

    /// Local servers are known by host and port alone: `OLLAMA_HOST=0.0.0.0:11434`.
    fn with_scheme(&self, given: &str) -> String {
        let given = given.trim();
        if !self.local || given.contains("://") {
            return given.into();
        }
        let with = format!("http://{given}");
        let default = self.base_url.as_deref().and_then(|url| BaseUrl::parse(url)?.port());
        let names_port = given.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
        match BaseUrl::parse(&with).filter(|_| !names_port) {
            Some(url) => url.with_port(default).into_text(),
            None => with,
        }
    }
}
