//! Which models there are.

use mainpath_providers::{Provider, Registry, UnknownModel};
use mainpath_types::{Principal, Spec};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

/// Finds a model by its name.
pub trait Models: Send + Sync + 'static {
    /// The model of a name that the owner of this machine gives now. Errors: one line that says what is wrong and what to do.
    fn find(&self, model: &str) -> Result<Arc<dyn Provider>, NoModel>;

    /// The model of a spec, which others may have named. Errors: as for `find`.
    fn find_for(&self, spec: &Spec) -> Result<Arc<dyn Provider>, NoModel> {
        self.find(&spec.model)
    }

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
    made: Mutex<HashMap<Made, Arc<dyn Provider>>>,
    bound: RwLock<Option<Bound>>,
}

/// The name of a model that was made, and whether it may have a key.
type Made = (String, bool);

/// The servers that may get a key although the model's name has the address. Without it all may.
#[derive(Clone, Debug)]
struct Bound {
    /// The origins of models that the owner of this machine configured or typed.
    origins: BTreeSet<String>,
    /// The owner, whose other models may get one as well.
    owner: Option<Principal>,
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
        EnvModels { registry, keys: HashMap::new(), made: Mutex::default(), bound: RwLock::default() }
    }

    /// The same with the key of a provider, whose key is then never taken from the environment.
    pub fn with_key(mut self, provider: &str, key: &str) -> EnvModels {
        self.keys.insert(provider.into(), key.into());
        self
    }

    /// The same models and keys by another registry; none of them is made yet.
    pub fn with_registry(&self, registry: Registry) -> EnvModels {
        let bound = RwLock::new(self.bound().clone());
        EnvModels { registry: Arc::new(registry), keys: self.keys.clone(), made: Mutex::default(), bound }
    }

    /// Binds keys to servers that the owner chose: those of known providers, and those whose address is in the name of one of these
    /// models, which the owner configured or typed. A server that a caller names then gets no key. It is for programs that take names of
    /// models from callers, and is done before the first model is used.
    pub fn bind_keys<'a>(&self, models: impl IntoIterator<Item = &'a str>) {
        self.bind(models, None);
    }

    /// The same for a program of the owner, such as the command: a server that a name given to [`Models::find`] has also gets a key, and of
    /// a spec one that the owner named ([`Spec::model_by`]).
    pub fn bind_keys_to<'a>(&self, owner: &Principal, models: impl IntoIterator<Item = &'a str>) {
        self.bind(models, Some(owner.clone()));
    }

    fn bind<'a>(&self, models: impl IntoIterator<Item = &'a str>, owner: Option<Principal>) {
        let origins = models.into_iter().filter_map(|model| self.registry.named_origin(model)).collect();
        *self.bound.write().unwrap_or_else(PoisonError::into_inner) = Some(Bound { origins, owner });
    }

    fn bound(&self) -> RwLockReadGuard<'_, Option<Bound>> {
        self.bound.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The owner, who names this model by its address: what a spec records as [`Spec::model_by`]. `None`: its name has no address, or callers
    /// may have given it.
    pub fn owner_of(&self, model: &str) -> Option<Principal> {
        self.registry.named_origin(model)?;
        self.bound().as_ref()?.owner.clone()
    }

    /// Returns true if the server of this model may get a key. `is_by`: true if the owner named the model.
    fn is_keyed(&self, model: &str, is_by: impl FnOnce(&Principal) -> bool) -> bool {
        let bound = self.bound();
        let Some((bound, origin)) = bound.as_ref().zip(self.registry.named_origin(model)) else { return true };
        bound.origins.contains(&origin) || bound.owner.as_ref().is_some_and(is_by)
    }

    /// A model of the registry, by a name that the owner gives now. Errors: there is none of this name, or it lacks its key.
    pub fn resolve(&self, model: &str) -> Result<Arc<dyn Provider>, UnknownModel> {
        self.resolve_keyed(model, self.is_keyed(model, |_| true))
    }

    fn resolve_keyed(&self, model: &str, keyed: bool) -> Result<Arc<dyn Provider>, UnknownModel> {
        let provider = model.trim().split_once(':').map_or("", |(provider, _)| provider);
        let given = self.keys.get(provider).zip(self.registry.provider(provider));
        let is_key = |name: &str| {
            let profile = self.registry.provider(provider);
            profile.is_some_and(|profile| profile.key_variables.iter().any(|known| known == name))
        };
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

    fn made(&self) -> MutexGuard<'_, HashMap<Made, Arc<dyn Provider>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a model of this name was made or added.
    pub fn has(&self, model: &str) -> bool {
        let made = self.made();
        [true, false].into_iter().any(|keyed| made.contains_key(&(model.into(), keyed)))
    }

    /// Adds a model that was made elsewhere under a name of its own.
    pub fn add(&self, model: &str, provider: Arc<dyn Provider>) {
        let mut made = self.made();
        for keyed in [true, false] {
            made.insert((model.into(), keyed), Arc::clone(&provider));
        }
    }

    fn find_keyed(&self, model: &str, keyed: bool) -> Result<Arc<dyn Provider>, NoModel> {
        let mut made = self.made();
        let name = (model.to_string(), keyed);
        if let Some(provider) = made.get(&name) {
            return Ok(Arc::clone(provider));
        }
        let provider = self.resolve_keyed(model, keyed)?;
        made.insert(name, Arc::clone(&provider));
        Ok(provider)
    }
}

impl Models for EnvModels {
    fn find(&self, model: &str) -> Result<Arc<dyn Provider>, NoModel> {
        self.find_keyed(model, self.is_keyed(model, |_| true))
    }

    fn find_for(&self, spec: &Spec) -> Result<Arc<dyn Provider>, NoModel> {
        let is_by = |owner: &Principal| spec.model_by.as_ref() == Some(owner);
        self.find_keyed(&spec.model, self.is_keyed(&spec.model, is_by))
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
