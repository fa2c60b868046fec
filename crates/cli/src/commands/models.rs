//! `mainpath models`: which models there are, and what each lacks to be used.

use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use crate::ui::text::one_line;
use clap::{Args, Subcommand};
use mainpath::agent::env;
use mainpath::home::edit::{below, rewrite};
use mainpath::providers::{Abilities, LocalServer, ModelFacts, ProviderProfile, Registry, UnknownModel, local_servers};
use mainpath::store::put_private;
use mainpath::types::Micros;
use mainpath::{Error, Home};
use serde_json::{Value, json};
use std::fmt;

/// `mainpath models`
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsArgs {
    #[command(subcommand)]
    pub command: Option<ModelsCommand>,
    /// A provider, such as anthropic, or a model, such as ollama:qwen3 [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath models …`
#[derive(Subcommand, Debug)]
pub enum ModelsCommand {
    /// Describe a model that Mainpath does not know: its window, abilities and price
    Add(ModelsAddArgs),
}

/// `mainpath models add`
#[derive(Args, Debug)]
pub struct ModelsAddArgs {
    /// The model, as you name it with --model; a * at the end matches anything
    pub model: String,
    /// Its context window in tokens
    #[arg(long, value_name = "N")]
    pub context_window: u32,
    /// Its longest answer in tokens
    #[arg(long, value_name = "N")]
    pub output_limit: Option<u32>,
    /// Dollars per million input tokens, such as 1.25
    #[arg(long, value_name = "DOLLARS", value_parser = mainpath::values::dollars, requires = "price_out")]
    pub price_in: Option<Micros>,
    /// Dollars per million output tokens
    #[arg(long, value_name = "DOLLARS", value_parser = mainpath::values::dollars, requires = "price_in")]
    pub price_out: Option<Micros>,
}

/// A provider and those of its models that are listed.
struct Listed<'a> {
    provider: &'a ProviderProfile,
    state: ProviderState,
    models: Vec<(String, ModelFacts)>,
}

/// Whether the models of a provider can be used.
enum ProviderState {
    /// Yes; with the variables that hold its key and its address.
    Ready { key: Option<String>, address: Option<String> },
    /// The local server at this address answers.
    Answers(String),
    /// No local server answers at this address.
    NotRunning(String),
    /// The local server was not looked for.
    NotChecked,
    /// The variable for its key is not set.
    NoKey(String),
    /// Its entry cannot be used.
    Unusable(UnknownModel),
}

impl ProviderState {
    fn is_usable(&self) -> bool {
        matches!(self, ProviderState::Ready { .. } | ProviderState::Answers(_))
    }
}

impl fmt::Display for ProviderState {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProviderState::Ready { key, address } => {
                let key = key.as_ref().map(|variable| format!(" ({variable})")).unwrap_or_default();
                let address = address.as_ref().map(|variable| format!(", at the address in {variable}"));
                write!(to, "ready{key}{}", address.unwrap_or_default())
            }
            ProviderState::Answers(at) => write!(to, "answers at {at}"),
            ProviderState::NotRunning(at) => write!(to, "not running ({at})"),
            ProviderState::NotChecked => to.write_str("not checked"),
            ProviderState::NoKey(variable) => write!(to, "set {variable}"),
            ProviderState::Unusable(error) => error.fmt(to),
        }
    }
}

/// `mainpath models`
pub async fn models(args: ModelsArgs) -> Result<Exit, Failure> {
    if let Some(ModelsCommand::Add(args)) = &args.command {
        return add(args);
    }
    let home = Home::find()?;
    let registry = home.registry()?;
    let listed = listed(&registry, &args.names).await?;
    if args.json {
        for line in listed.iter().flat_map(json_lines) {
            out(&line.to_string())?;
        }
        return Ok(Exit::Ok);
    }
    let any = listed.iter().any(|one| !one.models.is_empty());
    if any {
        out(&row("", "window", "output", "can", "in", "out"))?;
    }
    for one in &listed {
        show(one)?;
    }
    out("")?;
    if any {
        out("window, output: tokens; in, out: USD per million tokens; ?: assumed")?;
        out("can: t tools, v images, a audio, d documents, r reasons, s JSON Schema")?;
    }
    out("any other server: openai-compatible:URL#MODEL; likewise openai-responses,")?;
    out("anthropic-compatible, gemini-compatible")?;
    out(&format!("your own: providers.toml, models.toml in {}", home.config_dir().display()))?;
    Ok(Exit::Ok)
}

/// `mainpath models add`
fn add(args: &ModelsAddArgs) -> Result<Exit, Failure> {
    let (home, _) = Home::look()?;
    let file = home.config_dir().join("models.toml");
    let mut entry = toml::Table::new();
    entry.insert("name".into(), args.model.clone().into());
    entry.insert("context_window".into(), i64::from(args.context_window).into());
    if let Some(limit) = args.output_limit {
        entry.insert("output_limit".into(), i64::from(limit).into());
    }
    if let (Some(input), Some(output)) = (args.price_in, args.price_out) {
        let price = |cost| i64::try_from(cost).unwrap_or(i64::MAX).into();
        entry.insert(
            "price".into(),
            toml::Table::from_iter([("input".into(), price(input)), ("output".into(), price(output))]).into(),
        );
    }
    // Below what people have written, so that it stays as it is.
    let one = toml::Table::from_iter([("model".into(), toml::Value::Array(vec![entry.clone().into()]))]).to_string();
    let read = |text: &str| {
        let folder = tempfile::tempdir()?;
        put_private(&folder.path().join("models.toml"), text.as_bytes())?;
        Registry::read(folder.path()).map(|_| ()).map_err(|error| Error::failed(error.to_string()))
    };
    rewrite(&file, |old| {
        let new = below(&old, &one);
        match read(&new) {
            Ok(()) => Ok(new),
            Err(problem) => {
                // Its list may be written in one line, which cannot be added to from outside.
                let how = format!("add it to the list in {} yourself: {}", file.display(), toml::Value::Table(entry));
                Err(Error::failed(format!("{}; {how}", one_line(problem.message()).replace('\n', " "))))
            }
        }
    })?;
    out(&format!("{} is described in {}", one_line(&args.model), file.display()))?;
    Ok(Exit::Ok)
}

/// What was asked for: all, or the providers and models of these names.
async fn listed<'a>(registry: &'a Registry, names: &[String]) -> Result<Vec<Listed<'a>>, Failure> {
    let mut wanted: Vec<(&ProviderProfile, Option<&str>)> = Vec::new();
    for name in names {
        let form = name.split_once(':').map(|(form, _)| form);
        let provider = registry.provider(form.unwrap_or(name)).ok_or_else(|| {
            let known: Vec<&str> = registry.providers().iter().map(|provider| provider.name.as_str()).collect();
            Failure::usage(format!("there is no provider {:?}; there are: {}", form.unwrap_or(name), known.join(", ")))
        })?;
        wanted.push((provider, form.map(|_| name.as_str())));
    }
    if names.is_empty() {
        // Those that are named by an address are listed if somebody described a model of theirs.
        let shown = registry.providers().iter().filter(|one| one.base_url.is_some() || has_models(registry, one));
        wanted.extend(shown.map(|provider| (provider, None)));
    }
    let servers = match wanted.iter().any(|(provider, _)| provider.local) {
        true => local_servers(registry, &env).await,
        false => Vec::new(),
    };
    let list = |(provider, model): &(&'a ProviderProfile, Option<&str>)| {
        let server = servers.iter().find(|server| server.provider == provider.name);
        let names = match model {
            Some(model) => vec![(*model).to_string()],
            None => offered(registry, provider, server),
        };
        let models = names.into_iter().map(|name| (name.clone(), registry.facts(&name))).collect();
        Listed { provider, state: state(registry, provider, server), models }
    };
    Ok(wanted.iter().map(list).collect())
}

fn has_models(registry: &Registry, provider: &ProviderProfile) -> bool {
    registry.models_of(provider).next().is_some()
}

/// The names of a provider's models: those that a local server has right now, else those of the table.
fn offered(registry: &Registry, provider: &ProviderProfile, server: Option<&LocalServer>) -> Vec<String> {
    if let Some(models) = server.and_then(|server| server.models.as_ref()) {
        return models.iter().map(|model| format!("{}:{model}", provider.name)).collect();
    }
    let names = registry.models_of(provider).map(|name| name.trim_end_matches('*').to_string());
    let mut names: Vec<String> = names.filter(|name| !name.ends_with(':')).collect();
    names.sort();
    names
}

fn state(registry: &Registry, provider: &ProviderProfile, server: Option<&LocalServer>) -> ProviderState {
    let model = match provider.base_url {
        Some(_) => format!("{}:MODEL", provider.name),
        None => format!("{}:http://localhost#MODEL", provider.name),
    };
    match registry.resolve(&model, &env) {
        Err(UnknownModel::NoKey { variable, .. }) => return ProviderState::NoKey(variable),
        Err(error) => return ProviderState::Unusable(error),
        Ok(_) => {}
    }
    if provider.local {
        return match server {
            Some(LocalServer { at, models: Some(_), .. }) => ProviderState::Answers(at.clone()),
            Some(LocalServer { at, models: None, .. }) => ProviderState::NotRunning(at.clone()),
            None => ProviderState::NotChecked,
        };
    }
    ProviderState::Ready {
        key: provider.key(&env).map(|(variable, _)| variable.to_string()),
        address: provider.address_variable(&env).map(|(variable, _)| variable.to_string()),
    }
}

fn show(listed: &Listed<'_>) -> Result<(), Failure> {
    let mark = if listed.state.is_usable() { "+" } else { "-" };
    let of = listed.provider.models_of.as_ref().filter(|_| listed.models.is_empty());
    let of = of.map(|of| format!("; same models as {of}")).unwrap_or_default();
    out(&format!("{mark} {}: {}{of}", listed.provider.name, one_line(&listed.state.to_string())))?;
    for (model, facts) in &listed.models {
        let window = format!("{}{}", size(facts.context_window), if facts.known { "" } else { "?" });
        let price = facts.price.map(|price| (dollars(price.input), dollars(price.output)));
        let (input, output) = price.unwrap_or_else(|| ("?".into(), "?".into()));
        let (can, limit) = (letters(&facts.abilities), size(facts.output_limit));
        let model = one_line(model);
        // A name that is too long has a line of its own: it is there to be copied.
        let model =
            if model.chars().count() <= 38 { model } else { out(&format!("  {model}")).map(|()| String::new())? };
        out(&row(&model, &window, &limit, &can, &input, &output))?;
    }
    Ok(())
}

/// A line of the table: 78 columns.
fn row(model: &str, window: &str, output: &str, can: &str, input: &str, out: &str) -> String {
    format!("  {model:<38} {window:>7} {output:>6} {can:<6} {input:>7} {out:>7}")
}

/// A letter for each ability, or a dash.
fn letters(abilities: &Abilities) -> String {
    let all = [
        (abilities.tools, 't'),
        (abilities.vision, 'v'),
        (abilities.audio, 'a'),
        (abilities.document, 'd'),
        (abilities.reasoning, 'r'),
        (abilities.structured_output, 's'),
    ];
    all.iter().map(|(has, letter)| if *has { *letter } else { '-' }).collect()
}

/// Tokens, as people write them: `128k`, `1.05M`.
fn size(tokens: u32) -> String {
    match tokens {
        0..10_000 => tokens.to_string(),
        10_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}.{:02}M", tokens / 1_000_000, tokens % 1_000_000 / 10_000),
    }
}

/// Micro-units as dollars and cents; what is less than a cent has its digits.
pub fn dollars(micros: u64) -> String {
    match micros % 10_000 {
        0 => format!("{}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
        _ => format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000).trim_end_matches('0').into(),
    }
}

/// A line for each model, and one for a provider that has none.
fn json_lines(listed: &Listed<'_>) -> Vec<Value> {
    let about = |model: Option<&(String, ModelFacts)>| {
        let mut line = json!({
            "provider": listed.provider.name, "format": listed.provider.format, "usable": listed.state.is_usable(),
            "state": listed.state.to_string(), "model": model.map(|(name, _)| name),
        });
        if let Some((_, facts)) = model {
            line["known"] = facts.known.into();
            line["context_window"] = facts.context_window.into();
            line["output_limit"] = facts.output_limit.into();
            line["abilities"] = json!(facts.abilities);
            line["price"] = json!(facts.price);
        }
        line
    };
    match listed.models.is_empty() {
        true => vec![about(None)],
        false => listed.models.iter().map(|model| about(Some(model))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_prices_are_short_and_exact_enough() {
        assert_eq!([2_048, 16_384, 922_000, 1_048_576].map(size), ["2048", "16k", "922k", "1.04M"]);
        assert_eq!(
            [0, 50_000, 955_260, 15_000_000, 3_500].map(dollars),
            ["0.00", "0.05", "0.95526", "15.00", "0.0035"]
        );
    }
}
