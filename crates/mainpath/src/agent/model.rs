//! Which model an agent uses when it is not told.

use crate::{Error, Home, Host};
use mainpath_providers::{BadScript, Registry, Substitutions};
use mainpath_runtime::EnvModels;
use mainpath_runtime::replay::playback;
use mainpath_store::TraceStore;
use mainpath_types::TraceId;
use std::path::Path;
use std::sync::Arc;

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

/// The name of a recorded model, `playback:TRACE` or `playback:TRACE#FILE`.
pub(crate) struct Recorded<'a> {
    /// The trace, or what finds it.
    pub trace: &'a str,
    /// The file with what is changed in its answers.
    changes: Option<&'a Path>,
}

impl<'a> Recorded<'a> {
    /// The parts of a model's name; `None` if it names no recording. Errors: it has an empty file.
    pub fn of(model: &'a str) -> Result<Option<Recorded<'a>>, Error> {
        let Some(wanted) = model.strip_prefix("playback:") else { return Ok(None) };
        let (trace, file) = wanted.split_once('#').map_or((wanted, None), |(trace, file)| (trace, Some(file)));
        match file {
            Some("") => {
                Err(Error::about("model", format!("the model {model:?} lacks the file: write playback:TRACE#FILE")))
            }
            file => Ok(Some(Recorded { trace, changes: file.map(Path::new) })),
        }
    }

    /// Adds the answers of a trace as the model of this name. Errors: the trace or the file cannot be read or used.
    pub async fn add(self, model: &str, at: TraceStore<'_>, models: &EnvModels) -> Result<(), Error> {
        let bad = |error: BadScript| Error::about("model", error.to_string());
        let changes = self.changes.map(Substitutions::read).transpose().map_err(bad)?;
        let mut recording = playback(at).await?;
        if let Some(changes) = &changes {
            recording = recording.with(changes).map_err(bad)?;
        }
        models.add(model, Arc::new(recording));
        Ok(())
    }
}

impl Host {
    /// Prepares a model of any form, so that agents can use it: `playback:TRACE` gives the answers of a recorded trace again,
    /// `playback:TRACE#FILE` with what the file changes. Errors: no such trace, file or model, or no key for it
    /// ([`ErrorKind::Auth`](crate::ErrorKind::Auth)).
    pub async fn prepare_model(&self, model: &str) -> Result<(), Error> {
        self.prepare_recording(model).await?;
        self.check_model(model)
    }

    /// Adds the model of a name that names a recording. Errors: as [`Host::prepare_model`]'s.
    pub(crate) async fn prepare_recording(&self, model: &str) -> Result<(), Error> {
        let Some(recorded) = Recorded::of(model)? else { return Ok(()) };
        let trace = match self.logs().filter(|logs| logs.scope.tenant == self.scope().tenant) {
            Some(logs) => logs.find(Some(recorded.trace)).await?,
            None => {
                let id = recorded.trace.parse::<TraceId>().map_err(|error| Error::about("model", error.to_string()))?;
                self.trace(&id).await?.id().clone()
            }
        };
        recorded.add(model, self.at(&trace), self.models()).await
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
