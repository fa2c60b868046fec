//! Which providers and models are known. Data: two tables that ship with the program, and a folder that may override them.

mod facts;
mod profile;
mod table;

pub use facts::{Abilities, ModelFacts};
pub use profile::{BadAddress, ProviderProfile, WireFormat};
pub use table::{BadEntry, BadTable};

use crate::endpoint::{Endpoint, Timeouts};
use facts::ModelEntry;
use std::path::Path;
use std::sync::LazyLock;

/// The tables of providers and models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registry {
    providers: Vec<ProviderProfile>,
    /// In the order of [`ModelEntry::weight`]: what comes later says it better.
    models: Vec<ModelEntry>,
    /// How long its models are waited for.
    timeouts: Timeouts,
}

impl Registry {
    /// The same with models that are waited for as long as this says.
    pub fn with_timeouts(self, timeouts: Timeouts) -> Registry {
        Registry { timeouts, ..self }
    }

    /// The origin (scheme, host and port) of the server whose address is in a model's name; `None` if the name has none.
    pub fn named_origin(&self, model: &str) -> Option<String> {
        let (form, rest) = model.trim().split_once(':')?;
        let address = rest.split_once('#').map_or(rest, |(address, _)| address);
        self.provider(form).filter(|profile| profile.base_url.is_none())?;
        Some(Endpoint::new(address).ok()?.origin())
    }

    /// How long its models are waited for.
    pub fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// What ships with the program.
    pub fn bundled() -> &'static Registry {
        static BUNDLED: LazyLock<Registry> = LazyLock::new(|| {
            let mut registry = Registry::default();
            let read = registry
                .add_providers("providers.toml", include_str!("providers.toml"))
                .and_then(|()| registry.add_models("models.toml", include_str!("models.toml")));
            // A test reads both; without them there would still be the scripted model.
            read.map_or_else(|_| Registry::default(), |()| registry)
        });
        &BUNDLED
    }

    /// What ships with the program, with what `providers.toml` and `models.toml` in a folder add and override. Neither has
    /// to be there.
    ///
    /// # Errors
    /// [`BadTable`]: a file cannot be read, or something in it is wrong.
    pub fn read(folder: &Path) -> Result<Registry, BadTable> {
        let mut registry = Registry::bundled().clone();
        if let Some((file, text)) = table::text(&folder.join("providers.toml"))? {
            registry.add_providers(&file, &text)?;
        }
        if let Some((file, text)) = table::text(&folder.join("models.toml"))? {
            registry.add_models(&file, &text)?;
        }
        Ok(registry)
    }

    /// Adds the entries of a `providers.toml`; one with the name of a known provider overrides its fields.
    ///
    /// # Errors
    /// [`BadTable`], with `file` as the file's name. The registry is as it was.
    pub fn add_providers(&mut self, file: &str, text: &str) -> Result<(), BadTable> {
        let mut providers = self.providers.clone();
        table::providers(file, text, &mut providers)?;
        self.providers = providers;
        Ok(())
    }

    /// Adds the entries of a `models.toml`. Where several names fit a model, the longest says it best, field by field; of
    /// equal ones the one added last.
    ///
    /// # Errors
    /// [`BadTable`], with `file` as the file's name. The registry is as it was.
    pub fn add_models(&mut self, file: &str, text: &str) -> Result<(), BadTable> {
        let entries = table::models(file, text, &self.providers)?;
        self.models.extend(entries);
        self.models.sort_by_key(ModelEntry::weight);
        Ok(())
    }

    /// Says what is known of a model of one's own, by the name under which it is used.
    pub fn add_own(&mut self, name: &str, facts: ModelFacts) {
        let ModelFacts { context_window, output_limit, abilities, price, .. } = facts;
        self.models.push(ModelEntry {
            name: name.into(),
            context_window: Some(context_window),
            output_limit: Some(output_limit),
            abilities: Some(abilities),
            price,
        });
        self.models.sort_by_key(ModelEntry::weight);
    }

    /// The providers, in the order in which they are looked for.
    pub fn providers(&self) -> &[ProviderProfile] {
        &self.providers
    }

    /// The provider of this name.
    pub fn provider(&self, name: &str) -> Option<&ProviderProfile> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// The names under which a provider's models are known, as [`resolve`](Registry::resolve) takes them; a `*` at the end
    /// stands for anything.
    pub fn models_of<'a>(&'a self, provider: &'a ProviderProfile) -> impl Iterator<Item = &'a str> {
        let own = self.models.iter().filter_map(|entry| entry.name.split_once(':').map(|(of, _)| (of, entry)));
        own.filter(|(of, _)| *of == provider.name).map(|(_, entry)| entry.name.as_str())
    }

    /// What is known of a model, from its name in Mainpath's notation. Every name has facts; where nothing is known they
    /// are safe assumptions.
    pub fn facts(&self, model: &str) -> ModelFacts {
        let model = model.trim();
        let (form, rest) = model.split_once(':').unwrap_or((model, ""));
        let provider = self.provider(form);
        let bare = match provider {
            Some(provider) => ModelFacts::assumed(provider),
            None if form == "scripted" => ModelFacts::scripted(),
            None => ModelFacts::own(),
        };
        let listed = provider.and_then(|provider| provider.models_of.as_deref()).map(|of| format!("{of}:{rest}"));
        let fits = |entry: &&ModelEntry| entry.fits(model) || listed.as_deref().is_some_and(|name| entry.fits(name));
        self.models.iter().filter(fits).fold(bare, ModelFacts::with)
    }
}
