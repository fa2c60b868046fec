//! Reading the two tables.

use super::facts::{Abilities, ModelEntry};
use super::profile::{ProviderProfile, WireFormat};
use crate::endpoint::{BadBaseUrl, Endpoint, OutputLimit, Quirks};
use crate::words::one_line;
use http::header::{HeaderName, HeaderValue};
use mainpath_types::{Micros, Price};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use toml::Spanned;

/// A table is larger than this by mistake.
const MAX_TABLE: u64 = 1 << 20;

/// Names that are no provider's: what they name is played.
const PLAYED: [&str; 2] = ["scripted", "playback"];

/// A table cannot be used. One line: file, line, what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTable {
    /// The file is there and cannot be read.
    #[error("{file} cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why not.
        why: String,
    },
    /// Something in it is wrong.
    #[error("{file}, line {line}: {}", one_line(&what.to_string(), 300))]
    Wrong {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to do.
        what: BadEntry,
    },
}

/// What is wrong with an entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    /// It is not TOML, or lacks a field, or has one too many.
    #[error("{problem}")]
    Syntax {
        /// What the parser reports, without the text of the file.
        problem: String,
    },
    /// Another entry has the same provider.
    #[error("the provider {0:?} is listed twice; remove one")]
    ProviderTwice(String),
    /// The name cannot be a provider's.
    #[error("{0:?} is not a provider's name; use a-z, 0-9, - and _")]
    ProviderName(String),
    /// The name stands for models that are played.
    #[error("the name {0:?} is taken; choose another")]
    Taken(String),
    /// The address is invalid.
    #[error("the base_url of {provider:?} is wrong: {why}")]
    BaseUrl {
        /// The provider.
        provider: String,
        /// What is wrong with the address.
        why: BadBaseUrl,
    },
    /// The name or the value of a header is invalid.
    #[error("the header {header:?} of {provider:?} cannot be sent; correct it")]
    Header {
        /// The provider.
        provider: String,
        /// The header's name.
        header: String,
    },
    /// A new provider has no wire format.
    #[error(
        "the provider {0:?} is new and lacks its wire format; add format = \"openai-chat\", \"openai-responses\", \
         \"anthropic\" or \"gemini\""
    )]
    NoFormat(String),
    /// The model's name does not begin with a provider.
    #[error("{0:?} names no known provider; write PROVIDER:MODEL, as --model takes it")]
    NoProvider(String),
    /// The model's name has a wildcard in the middle.
    #[error("{0:?} has a * that is not at the end; only there it matches anything")]
    Wildcard(String),
    /// Another entry has the same model.
    #[error("the model {0:?} is listed twice; remove one")]
    ModelTwice(String),
    /// A size of the model is 0.
    #[error("the model {0:?} has size 0; give a size above 0, or leave it out")]
    NoSize(String),
}

/// A file's name and text; `None` if it is not there.
pub(super) fn text(path: &Path) -> Result<Option<(String, String)>, BadTable> {
    let file = path.display().to_string();
    let unreadable = |why: String| BadTable::Unreadable { file: file.clone(), why };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
        Ok(there) if !there.is_file() => return Err(unreadable("it is not a file".into())),
        Ok(there) if there.len() > MAX_TABLE => return Err(unreadable(format!("it is larger than {MAX_TABLE} bytes"))),
        Ok(_) => {}
    }
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    Ok(Some((file, text)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProvidersFile {
    #[serde(default)]
    provider: Vec<Spanned<ProviderEntry>>,
}

/// What a table says about a provider. What it does not say stays as it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderEntry {
    name: String,
    format: Option<WireFormat>,
    base_url: Option<String>,
    path: Option<String>,
    base_url_variables: Option<Vec<String>>,
    key_variables: Option<Vec<String>>,
    key_needed: Option<bool>,
    local: Option<bool>,
    headers: Option<BTreeMap<String, String>>,
    #[serde(default)]
    quirks: QuirksEntry,
    default_model: Option<String>,
    models_of: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct QuirksEntry {
    output_limit: Option<OutputLimit>,
    stream: Option<bool>,
    output_schema: Option<bool>,
    cache_marks: Option<bool>,
    return_reasoning: Option<bool>,
    default_output: Option<u64>,
}

impl QuirksEntry {
    fn change(self, quirks: &mut Quirks) {
        set(&mut quirks.output_limit, self.output_limit);
        set(&mut quirks.stream, self.stream);
        set(&mut quirks.output_schema, self.output_schema);
        set(&mut quirks.cache_marks, self.cache_marks);
        set(&mut quirks.return_reasoning, self.return_reasoning);
        set(&mut quirks.default_output, self.default_output);
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// Adds the entries of a table to the providers that are known.
pub(super) fn providers(file: &str, text: &str, known: &mut Vec<ProviderProfile>) -> Result<(), BadTable> {
    let table: ProvidersFile = parse(file, text)?;
    let mut seen = BTreeSet::new();
    for entry in table.provider {
        let at = entry.span().start;
        let entry = entry.into_inner();
        let wrong = |what| wrong(file, text, at, what);
        let name = entry.name.clone();
        if !seen.insert(name.clone()) {
            return Err(wrong(BadEntry::ProviderTwice(name)));
        }
        check(&entry).map_err(wrong)?;
        match known.iter_mut().find(|provider| provider.name == name) {
            Some(provider) => entry.change(provider),
            None => known.push(entry.make().map_err(wrong)?),
        }
    }
    Ok(())
}

/// What is wrong with an entry, whatever it is added to.
fn check(entry: &ProviderEntry) -> Result<(), BadEntry> {
    let name = &entry.name;
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
        return Err(BadEntry::ProviderName(one_line(name, 60)));
    }
    if PLAYED.contains(&name.as_str()) {
        return Err(BadEntry::Taken(name.clone()));
    }
    // Without HTTP there is no address, and whoever wants to use one is told that.
    if let Some(url) = entry.base_url.as_ref().filter(|_| cfg!(feature = "http")) {
        Endpoint::new(url).map_err(|why| BadEntry::BaseUrl { provider: name.clone(), why })?;
    }
    for (header, value) in entry.headers.iter().flatten() {
        // The value may be a secret.
        if HeaderName::from_bytes(header.as_bytes()).is_err() || HeaderValue::from_str(value).is_err() {
            return Err(BadEntry::Header { provider: name.clone(), header: one_line(header, 60) });
        }
    }
    Ok(())
}

impl ProviderEntry {
    fn make(self) -> Result<ProviderProfile, BadEntry> {
        let Some(format) = self.format else {
            return Err(BadEntry::NoFormat(self.name));
        };
        let mut provider = ProviderProfile {
            name: self.name.clone(),
            format,
            base_url: None,
            path: String::new(),
            base_url_variables: Vec::new(),
            key_variables: Vec::new(),
            // There is nothing to need if no variable is named.
            key_needed: self.key_variables.as_ref().is_some_and(|variables| !variables.is_empty()),
            local: false,
            headers: Vec::new(),
            quirks: Quirks::default(),
            default_model: None,
            models_of: None,
        };
        self.change(&mut provider);
        Ok(provider)
    }

    fn change(self, provider: &mut ProviderProfile) {
        set(&mut provider.format, self.format);
        set(&mut provider.path, self.path.map(|path| path.trim_matches('/').into()));
        set(&mut provider.base_url_variables, self.base_url_variables);
        set(&mut provider.key_variables, self.key_variables);
        set(&mut provider.key_needed, self.key_needed);
        set(&mut provider.local, self.local);
        for (name, value) in self.headers.into_iter().flatten() {
            provider.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            provider.headers.push((name, value));
        }
        provider.base_url = self.base_url.or(provider.base_url.take());
        provider.default_model = self.default_model.or(provider.default_model.take());
        provider.models_of = self.models_of.or(provider.models_of.take());
        self.quirks.change(&mut provider.quirks);
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelsFile {
    #[serde(default)]
    model: Vec<Spanned<ModelRow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelRow {
    name: String,
    context_window: Option<u32>,
    output_limit: Option<u32>,
    abilities: Option<Abilities>,
    price: Option<PriceRow>,
}

/// Micro-units of USD per million tokens. What is not said about the cache costs what input costs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    input: Micros,
    output: Micros,
    cache_read: Option<Micros>,
    cache_write: Option<Micros>,
}

/// The entries of a table of models.
pub(super) fn models(file: &str, text: &str, providers: &[ProviderProfile]) -> Result<Vec<ModelEntry>, BadTable> {
    let table: ModelsFile = parse(file, text)?;
    let mut entries: Vec<ModelEntry> = Vec::new();
    for row in table.model {
        let at = row.span().start;
        let row = row.into_inner();
        let (name, shown) = (row.name.trim(), one_line(&row.name, 100));
        let form = name.split_once(':').map(|(form, _)| form);
        let no_room = row.context_window == Some(0) || row.output_limit == Some(0);
        let problem = if !form.is_some_and(|form| providers.iter().any(|provider| provider.name == form)) {
            BadEntry::NoProvider(shown)
        } else if name.trim_end_matches('*').contains('*') || name.ends_with("**") {
            BadEntry::Wildcard(shown)
        } else if entries.iter().any(|entry| entry.name == name) {
            BadEntry::ModelTwice(shown)
        } else if no_room {
            BadEntry::NoSize(shown)
        } else {
            let price = row.price.map(|price| Price {
                input: price.input,
                output: price.output,
                cache_read: price.cache_read.unwrap_or(price.input),
                cache_write: price.cache_write.unwrap_or(price.input),
            });
            let ModelRow { context_window, output_limit, abilities, .. } = row;
            entries.push(ModelEntry { name: name.into(), context_window, output_limit, abilities, price });
            continue;
        };
        return Err(wrong(file, text, at, problem));
    }
    Ok(entries)
}

fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, BadTable> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        wrong(file, text, at, BadEntry::Syntax { problem: error.message().into() })
    })
}

fn wrong(file: &str, text: &str, at: usize, what: BadEntry) -> BadTable {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    BadTable::Wrong { file: file.into(), line, what }
}
