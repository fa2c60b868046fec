//! From a model's name to a model.

use crate::client::HttpClient;
use crate::endpoint::{BadBaseUrl, Endpoint, Key, OutputLimit, Quirks};
use crate::http::HttpProvider;
use crate::provider::Provider;
use crate::script::{BadScript, Script};
use crate::scripted::Scripted;
use crate::words::one_line;
use std::path::Path;
use std::sync::{Arc, OnceLock};

const OPENAI: &str = "https://api.openai.com/v1";
const FORMS: &str = "openai-compatible:URL#MODEL, openai:MODEL, scripted, scripted:FILE";

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
    #[error("the model's address is wrong: {0}")]
    Url(#[from] BadBaseUrl),
    /// The vendor wants a key and there is none.
    #[error("no key for {name:?}: set {variable}")]
    NoKey {
        /// What was given.
        name: String,
        /// The variable to set.
        variable: &'static str,
    },
    /// The script cannot be played.
    #[error(transparent)]
    Script(#[from] BadScript),
}

/// The model of this name, with its key from `env`:
/// - `openai-compatible:URL#MODEL` — any server that speaks Chat Completions. URL is what the vendor's SDK would be given,
///   such as `http://127.0.0.1:8080/v1`. The key is `MAINPATH_API_KEY`, if set.
/// - `openai:MODEL` — OpenAI. The key is `OPENAI_API_KEY`; `OPENAI_BASE_URL` replaces the address.
/// - `scripted` — the bundled script; `scripted:FILE` — a [`Script`] in TOML or JSON.
///
/// All share one [`HttpClient`]. Nothing is connected yet.
///
/// # Errors
/// [`UnknownModel`].
pub fn resolve(model: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Arc<dyn Provider>, UnknownModel> {
    static CLIENT: OnceLock<HttpClient> = OnceLock::new();
    let name = model.trim();
    let given = || one_line(name, 100);
    let set = |variable: &str| env(variable).filter(|value| !value.trim().is_empty());
    let key = |variable: &str| set(variable).as_deref().and_then(Key::new);
    let no_name = |form: &str| UnknownModel::NoName { name: given(), form: form.into() };
    let provider = |endpoint: Endpoint| -> Arc<dyn Provider> {
        Arc::new(HttpProvider::openai_chat(CLIENT.get_or_init(HttpClient::new), endpoint))
    };
    match name.split_once(':') {
        None if name == "scripted" => Ok(Arc::new(Scripted::new(Script::bundled()?))),
        Some(("scripted", file)) if !file.is_empty() => Ok(Arc::new(Scripted::new(Script::read(Path::new(file))?))),
        Some(("openai-compatible", rest)) => {
            let (url, own_name) = rest.split_once('#').unwrap_or((rest, ""));
            let mut endpoint = Endpoint::new(url)?;
            if own_name.trim().is_empty() {
                let url = url.trim();
                return Err(no_name(&format!("openai-compatible:{url}#MODEL")));
            }
            endpoint.key = key("MAINPATH_API_KEY");
            Ok(provider(endpoint))
        }
        Some(("openai", own_name)) => {
            if own_name.trim().is_empty() {
                return Err(no_name("openai:MODEL"));
            }
            let other_server = set("OPENAI_BASE_URL");
            let mut endpoint = Endpoint::new(other_server.as_deref().unwrap_or(OPENAI))?;
            endpoint.key = key("OPENAI_API_KEY");
            endpoint.quirks = Quirks { output_limit: OutputLimit::MaxCompletionTokens, ..Quirks::default() };
            if endpoint.key.is_none() && other_server.is_none() {
                return Err(UnknownModel::NoKey { name: given(), variable: "OPENAI_API_KEY" });
            }
            Ok(provider(endpoint))
        }
        _ => Err(UnknownModel::Name { name: given(), hint: hint(name) }),
    }
}

/// The model's own name, as its vendor knows it: what [`RequestHead::model`](mainpath_types::RequestHead) should hold. It
/// is the part after `#`, or after `openai:`; other names stand for themselves.
pub fn wire_model(model: &str) -> &str {
    let model = model.trim();
    if let Some(rest) = model.strip_prefix("openai:") {
        return rest.trim();
    }
    let own = model.strip_prefix("openai-compatible:").and_then(|rest| rest.split_once('#'));
    own.map_or(model, |(_, own)| own.trim())
}

/// What may have been meant, as the rest of a sentence.
fn hint(name: &str) -> String {
    let shown = one_line(name, 100);
    if name.is_empty() {
        return String::new();
    }
    if name.starts_with("http://") || name.starts_with("https://") {
        let own = if name.contains('#') { "" } else { "#MODEL" };
        return format!(" (did you mean \"openai-compatible:{shown}{own}\"?)");
    }
    let (form, rest) = name.split_once(':').unwrap_or((name, ""));
    if rest.is_empty() && ["gpt-", "o1", "o3", "o4", "chatgpt-"].iter().any(|start| name.starts_with(start)) {
        return format!(" (did you mean \"openai:{shown}\"?)");
    }
    let form = form.to_lowercase();
    let near = ["openai-compatible", "openai", "scripted"]
        .into_iter()
        .map(|known| (distance(&form, known), known))
        .filter(|(distance, known)| *distance <= known.len() / 3)
        .min();
    match near {
        Some((0, "scripted")) => " (did you mean \"scripted\"?)".into(),
        Some((_, known)) if rest.is_empty() => match known {
            "scripted" => " (did you mean \"scripted\"?)".into(),
            "openai" => " (did you mean \"openai:MODEL\"?)".into(),
            _ => " (did you mean \"openai-compatible:URL#MODEL\"?)".into(),
        },
        Some((_, known)) => format!(" (did you mean \"{known}:{}\"?)", one_line(rest, 100)),
        None => String::new(),
    }
}

/// How many letters must be changed, added or left out to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(40).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
