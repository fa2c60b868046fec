//! Which model an agent uses when it is not told.

use crate::{Error, Home, Host};
use mainpath_providers::Registry;

/// A chosen model.
pub struct Chosen {
    /// Its name in Mainpath's notation.
    pub model: String,
    /// What to say about the choice, if nobody named it.
    pub note: Option<String>,
}

/// A variable of the environment, if it is text.
pub fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Host {
    /// The model of an agent that is to work, as the command finds it: the one that is named, that of the environment, of the
    /// configuration, or one that is at hand. Errors: there is none.
    pub async fn choose_model(&self, named: Option<&str>) -> Result<String, Error> {
        Ok(choose_model(named, self.home(), self.models().registry()).await?.model)
    }
}

/// The model of an agent that is to work. Errors: there is none.
pub async fn choose_model(flag: Option<&str>, home: &Home, registry: &Registry) -> Result<Chosen, Error> {
    find_model(flag, home, registry).await.ok_or_else(no_model)
}

/// That there is no model, how to set one, and how to see the demonstration.
fn no_model() -> Error {
    Error::invalid(
        "no model is set: give --model openai-compatible:URL#NAME, or set MAINPATH_MODEL or a provider's key (see mainpath \
         models); to see a demonstration without one: mainpath demo",
    )
}

/// The model: the flag, `MAINPATH_MODEL`, the configuration, the first provider whose key is set, or the first local server that
/// answers.
pub async fn find_model(flag: Option<&str>, home: &Home, registry: &Registry) -> Option<Chosen> {
    let set = env("MAINPATH_MODEL").filter(|value| !value.trim().is_empty());
    if let Some(model) = flag.map(String::from).or(set).or_else(|| home.config.model.clone()) {
        return Some(Chosen { model, note: None });
    }
    let found = |model: String, why: String| {
        let note = format!("using {model}, {why}; choose another with --model or MAINPATH_MODEL");
        Some(Chosen { model, note: Some(note) })
    };
    for provider in registry.providers() {
        if let (Some(model), Some((variable, _))) = (&provider.default_model, provider.key(&env)) {
            return found(format!("{}:{model}", provider.name), format!("because {variable} is set"));
        }
    }
    #[cfg(feature = "http")]
    for server in mainpath_providers::local_servers(registry, &env).await {
        if let Some(model) = server.model() {
            return found(model, format!("found at {}", server.at));
        }
    }
    None
}

/// Whether there can be such a model. Errors: no such name, or no key for it.
pub fn check_model(model: &str, registry: &Registry) -> Result<(), Error> {
    Ok(registry.resolve(model, &env).map(drop)?)
}

/// Whether a model is a script or a recording: no server is asked, and nothing is paid.
pub(crate) fn is_played(model: &str) -> bool {
    model.starts_with("scripted") || model.starts_with("playback:")
}
