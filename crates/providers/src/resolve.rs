//! From a model's name to a model.

use crate::anthropic::Anthropic;
use crate::codec::Codec;
use crate::endpoint::{Endpoint, Quirks};
use crate::gemini::Gemini;
use crate::hint::hint;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::provider::Provider;
use crate::registry::{BadAddress, ProviderProfile, Registry, WireFormat};
use crate::script::{BadScript, Script};
use crate::scripted::Scripted;
use crate::words::one_line;
use std::path::Path;
use std::sync::Arc;

const FORMS: &str = "PROVIDER:MODEL (`mainpath models` lists them), openai-compatible:URL#MODEL, openai-responses:URL#MODEL, \
                     anthropic-compatible:URL#MODEL, gemini-compatible:URL#MODEL, scripted, scripted:FILE, \
                     playback:TRACE, playback:TRACE#FILE";

/// Why a name is no usable model. Each is one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownModel {
    /// Not one of the forms.
    #[error("unknown model {name:?}{hint}; the forms are: {FORMS}")]
    Name {
        /// What was given.
        name: String,
        /// Empty, or what may have been meant.
        hint: String,
    },
    /// The part after `#` or `:` is missing.
    #[error("the model {name:?} lacks the model's own name: write {form}")]
    NoName {
        /// What was given.
        name: String,
        /// How it should look.
        form: String,
    },
    /// The address is of no use.
    #[error(transparent)]
    Url(#[from] BadAddress),
    /// The vendor wants a key and there is none.
    #[error("no key for {name:?}: set {variable}")]
    NoKey {
        /// What was given.
        name: String,
        /// The variable to set.
        variable: String,
    },
    /// This program was built without HTTP.
    #[error(
        "{name:?} is behind a server, and this program was built without HTTP; turn on the feature http of mainpath"
    )]
    NoHttp {
        /// What was given.
        name: String,
    },
    /// The script cannot be played.
    #[error(transparent)]
    Script(#[from] BadScript),
}

/// The model of this name among those that ship with the program: [`Registry::resolve`] of [`Registry::bundled`].
///
/// # Errors
/// [`UnknownModel`].
pub fn resolve(model: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Arc<dyn Provider>, UnknownModel> {
    Registry::bundled().resolve(model, env)
}

/// Where a model's requests go, by who chose the place. A caller that may not choose a place may name only [`Provider`](Self::Provider).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelPlace {
    /// The address of a known provider: the registry or the configuration has it.
    Provider,
    /// An address in the name itself.
    Named,
    /// A file on this machine.
    Script,
    /// A recorded trace.
    Recording,
}

impl Registry {
    /// The place of a model by its name. Returns `None` for a name of no known form.
    pub fn place_of(&self, model: &str) -> Option<ModelPlace> {
        let form = model.trim().split_once(':').map_or(model.trim(), |(form, _)| form);
        match form {
            "scripted" => Some(ModelPlace::Script),
            "playback" => Some(ModelPlace::Recording),
            _ => self.provider(form).map(|profile| match profile.base_url {
                Some(_) => ModelPlace::Provider,
                None => ModelPlace::Named,
            }),
        }
    }

    /// The model of this name, with its key and address from `env`:
    /// - `PROVIDER:MODEL` — a model of a provider that the registry knows, such as `openai:gpt-5.5` or `ollama:qwen3`.
    /// - `PROVIDER:URL#MODEL` — for providers without an address, such as `openai-compatible:http://127.0.0.1:8080/v1#name`.
    ///   URL is what the vendor's own SDK would be given.
    /// - `scripted` — the bundled script; `scripted:FILE` — a [`Script`] in TOML or JSON.
    ///
    /// What plays a recording (`playback:TRACE`) is made by who has the recording: [`Playback`](crate::Playback). All share one client. Nothing is connected yet.
    ///
    /// # Errors
    /// [`UnknownModel`].
    pub fn resolve(
        &self,
        model: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Arc<dyn Provider>, UnknownModel> {
        let name = model.trim();
        let given = || one_line(name, 100);
        let (form, rest) = name.split_once(':').unwrap_or((name, ""));
        if form == "scripted" && name == form {
            return Ok(Arc::new(Scripted::new(Script::bundled()?)));
        }
        if form == "scripted" && !rest.is_empty() {
            return Ok(Arc::new(Scripted::new(Script::read(Path::new(rest))?)));
        }
        let Some(profile) = self.provider(form).filter(|_| name != form) else {
            return Err(UnknownModel::Name { name: given(), hint: hint(self, name) });
        };
        let (url, own_name) = match profile.base_url {
            Some(_) => (None, rest.trim()),
            None => rest.split_once('#').map_or((Some(rest), ""), |(url, own)| (Some(url), own.trim())),
        };
        if own_name.is_empty() {
            return Err(UnknownModel::NoName { name: given(), form: form_of(profile, url) });
        }
        if url.is_none() && is_url(own_name) {
            // The vendor's key is for the vendor's address.
            return Err(UnknownModel::Name { name: given(), hint: hint(self, own_name) });
        }
        if cfg!(not(feature = "http")) {
            return Err(UnknownModel::NoHttp { name: given() });
        }
        let mut endpoint = profile.endpoint(url, env)?;
        endpoint.timeouts = self.timeouts();
        if let Some(variable) = profile.lacks_key(env).filter(|_| url.is_none()) {
            return Err(UnknownModel::NoKey { name: given(), variable: variable.into() });
        }
        let issuer = issuer(profile, &endpoint);
        let codec = codec(profile.format, endpoint.quirks, &issuer);
        behind_http(name, endpoint, codec)
    }
}

/// A model behind a server. All share one client.
#[cfg(feature = "http")]
fn behind_http(_: &str, endpoint: Endpoint, codec: Box<dyn Codec>) -> Result<Arc<dyn Provider>, UnknownModel> {
    use crate::{HttpClient, HttpProvider};
    static CLIENT: std::sync::OnceLock<HttpClient> = std::sync::OnceLock::new();
    Ok(Arc::new(HttpProvider::new(CLIENT.get_or_init(HttpClient::new), endpoint, codec)))
}

#[cfg(not(feature = "http"))]
fn behind_http(name: &str, _: Endpoint, _: Box<dyn Codec>) -> Result<Arc<dyn Provider>, UnknownModel> {
    Err(UnknownModel::NoHttp { name: one_line(name, 100) })
}

/// The codec of a wire format. `issuer` is whose signatures it may send back.
fn codec(format: WireFormat, quirks: Quirks, issuer: &str) -> Box<dyn Codec> {
    match format {
        WireFormat::OpenaiChat => Box::new(OpenAiChat::new(quirks, issuer)),
        WireFormat::OpenaiResponses => Box::new(OpenAiResponses::new(quirks, issuer)),
        WireFormat::Anthropic => Box::new(Anthropic::new(quirks, issuer)),
        WireFormat::Gemini => Box::new(Gemini::new(quirks, issuer)),
    }
}

/// Whose signatures a model's answers bear: the provider's name, or for a server that was named by its address, that.
fn issuer(profile: &ProviderProfile, endpoint: &Endpoint) -> String {
    match profile.base_url {
        Some(_) => profile.name.clone(),
        None => format!("{}@{}", profile.format, endpoint.host()),
    }
}

/// How a name of this provider should look.
fn form_of(profile: &ProviderProfile, url: Option<&str>) -> String {
    let url =
        url.map(|url| one_line(url, 100)).map(|url| if url.is_empty() { "URL#".into() } else { format!("{url}#") });
    format!("{}:{}MODEL", profile.name, url.unwrap_or_default())
}

fn is_url(text: &str) -> bool {
    let text = text.trim_start();
    let begins = |with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    begins("http:") || begins("https:")
}

/// The model's own name, as its vendor knows it: what [`RequestHead::model`](mainpath_types::RequestHead) should hold. It
/// is the part after `PROVIDER:` and after `#` of an address. What is played stands for itself.
pub fn wire_model(model: &str) -> &str {
    let model = model.trim();
    match model.split_once(':') {
        Some((form, _)) if ["scripted", "playback"].contains(&form) => model,
        Some((_, rest)) if is_url(rest) => rest.split_once('#').map_or("", |(_, own)| own.trim()),
        Some((_, rest)) => rest.trim(),
        None => model,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_belong_to_the_vendor_or_to_the_server_that_was_named() {
        let of = |name: &str, url: Option<&str>, env: &dyn Fn(&str) -> Option<String>| {
            let profile = Registry::bundled().provider(name).unwrap();
            issuer(profile, &profile.endpoint(url, env).unwrap())
        };
        assert_eq!(of("anthropic", None, &|_| None), "anthropic");
        let gateway = |name: &str| (name == "ANTHROPIC_BASE_URL").then(|| "http://127.0.0.1:9".into());
        assert_eq!(of("anthropic", None, &gateway), "anthropic");
        assert_eq!(of("anthropic-compatible", Some("http://127.0.0.1:9/x"), &|_| None), "anthropic@127.0.0.1:9");
        assert_eq!(of("openai-responses", Some("https://h/v1"), &|_| None), "openai-responses@h");
    }
}
