//! Which models there are.

use mainpath_providers::{Provider, Registry, UnknownModel};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Finds a model by the name that a spec gives it.
pub trait Models: Send + Sync + 'static {
    /// The model. Errors: one line that says what is wrong and what to do.
    fn find(&self, model: &str) -> Result<Arc<dyn Provider>, NoModel>;

    /// The model to encode requests for, not to call: no key has to be there. Errors: as for `find`.
    fn find_format(&self, model: &str) -> Result<Arc<dyn Provider>, NoModel> {
        self.find(model)
    }
}

/// Why a model cannot be called.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoModel {
    /// The name stands for no model, or its key is missing.
    #[error(transparent)]
    Unknown(#[from] UnknownModel),
    /// The host's own models refuse it.
    #[error(transparent)]
    Host(Arc<dyn std::error::Error + Send + Sync>),
    /// The code of a host's own model panicked.
    #[error("the model {model} panicked: {panic}")]
    Panicked {
        /// The model's name.
        model: String,
        /// The text of the panic.
        panic: String,
    },
}

/// The models of a registry, with addresses and keys from the environment's variables, and keys that were given by hand. A model is
/// made once.
pub struct EnvModels {
    registry: Arc<Registry>,
    /// Keys that were given by hand, by the provider's name.
    keys: HashMap<String, String>,
    made: Mutex<HashMap<String, Arc<dyn Provider>>>,
    /// The origins that may get a key although a model's name has the address; not set: all.
    keyed: OnceLock<BTreeSet<String>>,
}

impl Default for EnvModels {
    /// The models that ship with the program.
    fn default() -> EnvModels {
        EnvModels::new(Arc::new(Registry::bundled().clone()))
    }
}

impl EnvModels {
    /// The models of this registry.
    pub fn new(registry: Arc<Registry>) -> EnvModels {
        EnvModels { registry, keys: HashMap::new(), made: Mutex::default(), keyed: OnceLock::new() }
    }

    /// The same with the key of a provider, whose key is then never taken from the environment.
    pub fn with_key(mut self, provider: &str, key: &str) -> EnvModels {
        self.keys.insert(provider.into(), key.into());
        self
    }

    /// Binds keys to servers that the owner chose: those of known providers, and those whose address is in the name of one of these
    /// models, which the owner configured or typed. A server that a caller names then gets no key. It is for programs that take names of
    /// models from callers, and is done once, before the first model is used.
    pub fn bind_keys<'a>(&self, models: impl IntoIterator<Item = &'a str>) {
        let origins = models.into_iter().filter_map(|model| self.registry.named_origin(model)).collect();
        let _ = self.keyed.set(origins);
    }

    /// Whether the server of this model may get a key.
    fn is_keyed(&self, model: &str) -> bool {
        let named = self.keyed.get().zip(self.registry.named_origin(model));
        named.is_none_or(|(keyed, origin)| keyed.contains(&origin))
    }

    /// A model of the registry. Errors: there is none of this name, or it lacks its key.
    pub fn resolve(&self, model: &str) -> Result<Arc<dyn Provider>, UnknownModel> {
        let provider = model.trim().split_once(':').map_or("", |(provider, _)| provider);
        let given = self.keys.get(provider).zip(self.registry.provider(provider));
        let is_key = |name: &str| {
            let profile = self.registry.provider(provider);
            profile.is_some_and(|profile| profile.key_variables.iter().any(|known| known == name))
        };
        let keyed = self.is_keyed(model);
        let variable = |name: &str| match given {
            _ if !keyed && is_key(name) => None,
            Some((key, profile)) if profile.key_variables.iter().any(|known| known == name) => Some(key.clone()),
            _ => std::env::var(name).ok(),
        };
        self.registry.resolve(model, &variable)
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Whether a model of this name was made or added.
    pub fn has(&self, model: &str) -> bool {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).contains_key(model)
    }

    /// Adds a model that was made elsewhere under a name of its own.
    pub fn add(&self, model: &str, provider: Arc<dyn Provider>) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(model.into(), provider);
    }
}

impl Models for EnvModels {
    fn find(&self, model: &str) -> Result<Arc<dyn Provider>, NoModel> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = made.get(model) {
            return Ok(Arc::clone(provider));
        }
        let provider = self.resolve(model)?;
        made.insert(model.into(), Arc::clone(&provider));
        Ok(provider)
    }

    fn find_format(&self, model: &str) -> Result<Arc<dyn Provider>, NoModel> {
        self.find(model).or_else(|_| {
            // Any key will do, as nothing is sent.
            let keys: Vec<&String> = self.registry.providers().iter().flat_map(|known| &known.key_variables).collect();
            let stand_in = |name: &str| keys.iter().any(|key| *key == name).then(|| "none".to_string());
            Ok(self.registry.resolve(model, &stand_in)?)
        })
    }
}
