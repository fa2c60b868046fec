//! Which models there are.

use mainpath_providers::{Provider, resolve};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Finds a model by the name that a spec gives it.
pub trait Models: Send + Sync + 'static {
    /// The model. Errors: one line that says what is wrong and what to do.
    fn find(&self, model: &str) -> Result<Arc<dyn Provider>, String>;
}

/// The models that the environment knows: addresses and keys come from its variables. A model is made once.
#[derive(Default)]
pub struct EnvModels {
    made: Mutex<HashMap<String, Arc<dyn Provider>>>,
}

impl EnvModels {
    /// Adds a model that was made elsewhere under a name of its own.
    pub fn add(&self, model: &str, provider: Arc<dyn Provider>) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(model.into(), provider);
    }
}

impl Models for EnvModels {
    fn find(&self, model: &str) -> Result<Arc<dyn Provider>, String> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = made.get(model) {
            return Ok(Arc::clone(provider));
        }
        let provider = resolve(model, &|name| std::env::var(name).ok()).map_err(|error| error.to_string())?;
        made.insert(model.into(), Arc::clone(&provider));
        Ok(provider)
    }
}
