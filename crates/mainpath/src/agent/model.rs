//! Which model an agent uses when it is not told.

use crate::{Error, ErrorKind, Home};
use mainpath_providers::{Registry, UnknownModel, local_servers};

/// A chosen model.
pub struct Chosen {
    /// Its name in Mainpath's notation.
    pub model: String,
    /// What to say about the choice, if nobody named it.
    pub note: Option<String>,
    /// Whether it is the bundled script because there was nothing else.
    pub is_demo: bool,
}

/// A variable of the environment, if it is text.
pub fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The model: the flag, `MAINPATH_MODEL`, the configuration, the first provider whose key is set, the first local server that
/// answers, else the bundled script.
pub async fn choose_model(flag: Option<&str>, home: &Home, registry: &Registry) -> Chosen {
    let set = env("MAINPATH_MODEL").filter(|value| !value.trim().is_empty());
    if let Some(model) = flag.map(String::from).or(set).or_else(|| home.config.model.clone()) {
        return Chosen { model, note: None, is_demo: false };
    }
    let found = |model: String, why: String| {
        let note = format!("using {model}, {why}; choose another with --model or MAINPATH_MODEL");
        Chosen { model, note: Some(note), is_demo: false }
    };
    for provider in registry.providers() {
        if let (Some(model), Some((variable, _))) = (&provider.default_model, provider.key(&env)) {
            return found(format!("{}:{model}", provider.name), format!("because {variable} is set"));
        }
    }
    let servers = local_servers(registry, &env).await;
    if let Some((model, at)) = servers.iter().find_map(|server| Some((server.model()?, &server.at))) {
        return found(model, format!("found at {at}"));
    }
    let note = "no model is set, so a SCRIPTED model plays a fixed demonstration with real tools in a temporary folder; \
                your task is ignored. For a real model: --model openai-compatible:URL#NAME, or set \
                MAINPATH_MODEL or a provider's key; see `mainpath models`";
    Chosen { model: "scripted".into(), note: Some(note.into()), is_demo: true }
}

/// Whether there can be such a model. Errors: no such name, or no key for it.
pub fn check_model(model: &str, registry: &Registry) -> Result<(), Error> {
    match registry.resolve(model, &env) {
        Ok(_) => Ok(()),
        Err(error @ UnknownModel::NoKey { .. }) => Err(Error::new(ErrorKind::Auth, error.to_string())),
        Err(error) => Err(Error::invalid(error.to_string())),
    }
}
