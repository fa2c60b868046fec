//! `mainpath tools`: which tools agents have here, and what switches on the rest.

use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use crate::ui::suggest::nearest;
use crate::ui::text::{count, one_line, plain, short};
use clap::Args;
use mainpath::home::{Home, OPTIONAL, Optional, ToolLimit, Unready};
use mainpath::tools::{Rate, ToolDoc, Tools};
use mainpath::types::{TOOL_ALIASES, ToolSpec};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// `mainpath tools`
#[derive(Args, Debug)]
pub struct ToolsArgs {
    /// Show everything about this tool [default: a line for each tool]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// As JSON lines, with schemas
    #[arg(long)]
    pub json: bool,
}

/// A tool and how it stands with it.
enum Listed {
    On(ToolSpec, ToolDoc),
    /// Configured, and something is missing.
    Unready(String),
    Off(&'static Optional),
}

/// `mainpath tools`
pub async fn tools(args: ToolsArgs) -> Result<Exit, Failure> {
    let home = Home::find()?;
    let (tools, unready) = home.toolbox();
    let mut listed = all(&tools, unready);
    if !args.names.is_empty() {
        let mut wanted = BTreeMap::new();
        for name in &args.names {
            let own = tools.resolve(name).unwrap_or_else(|| name.clone());
            let Some(found) = listed.remove_entry(&own).or_else(|| wanted.remove_entry(&own)) else {
                let known: Vec<&str> = listed.keys().chain(wanted.keys()).map(String::as_str).collect();
                let aliases = TOOL_ALIASES.iter().map(|(alias, _)| *alias);
                let near = nearest(name, known.iter().copied().chain(aliases));
                let hint = near.map_or_else(
                    || format!("there are: {}", known.join(", ")),
                    |near| format!("did you mean {near}? mainpath tools lists all"),
                );
                return Err(Failure::usage(format!("there is no tool {name:?}; {hint}")));
            };
            wanted.extend([found]);
        }
        listed = wanted;
    }
    if args.json {
        listed.iter().try_for_each(|(name, tool)| out(&json_line(name, tool).to_string()))?;
        return Ok(Exit::Ok);
    }
    let config = home.config_file.display().to_string();
    if !args.names.is_empty() {
        let own = |name: &str| home.config.tool_limits.get(name).copied().unwrap_or_default();
        listed.iter().try_for_each(|(name, tool)| describe(name, tool, &config, own(name)))?;
        return Ok(Exit::Ok);
    }
    listed.iter().try_for_each(|(name, tool)| line(name, tool))?;
    out("")?;
    out("+ on   - off   ! something is missing")?;
    out("mainpath tools NAME shows the schema of a tool, or how to enable it")?;
    out(&format!("enabled in {config}"))?;
    Ok(Exit::Ok)
}

/// Every tool by its name.
fn all(tools: &Tools, unready: Vec<Unready>) -> BTreeMap<String, Listed> {
    let mut listed: BTreeMap<String, Listed> = OPTIONAL.iter().map(|one| (one.name.into(), Listed::Off(one))).collect();
    listed.extend(unready.into_iter().map(|Unready { name, why }| (name.into(), Listed::Unready(why))));
    for spec in tools.specs() {
        if let Some(doc) = tools.doc(&spec.name) {
            listed.insert(spec.name.clone(), Listed::On(spec, doc));
        }
    }
    listed
}

/// A line of the list: 78 columns.
fn line(name: &str, tool: &Listed) -> Result<(), Failure> {
    let (mark, effect, what) = match tool {
        Listed::On(spec, doc) => ('+', word(json!(doc.effect)), spec.description.as_str()),
        Listed::Unready(why) => ('!', String::new(), why.as_str()),
        Listed::Off(optional) => ('-', String::new(), optional.what),
    };
    out(&format!("{mark} {name:<19} {effect:<15} {}", short(what, 40)))
}

/// All that is known of a tool.
fn describe(name: &str, tool: &Listed, config: &str, own: ToolLimit) -> Result<(), Failure> {
    match tool {
        Listed::On(spec, doc) => {
            out(&format!("+ {name}"))?;
            out(&plain(&spec.description))?;
            out(&format!("effect: {}; results come from: {}", word(json!(doc.effect)), word(json!(doc.origin))))?;
            out(&format!("limits: {}", limits(doc, own)))?;
            out(&format!("arguments: {}\n", plain(&format!("{:#}", *spec.input_schema))))
        }
        Listed::Unready(why) => out(&format!("! {name}: {}\n", one_line(why))),
        Listed::Off(optional) => out(&format!(
            "- {name}: {}. Off by default; to enable it, add to {config}:\n\n{}",
            optional.what, optional.how
        )),
    }
}

/// The limits of its own, and those that the configuration sets on it.
fn limits(doc: &ToolDoc, own: ToolLimit) -> String {
    let ms = |ms| humantime::format_duration(Duration::from_millis(ms)).to_string();
    let rate = |calls: u32, per: String| format!("{} in {per}", count(calls.into(), "call"));
    let theirs = doc.rate.map(|Rate { calls, per }| rate(calls, humantime::format_duration(per).to_string()));
    let told = [
        own.max_calls.map(|most| format!("{} in a run", count(most.get().into(), "call"))),
        own.rate.map(|one| rate(one.0.calls, ms(one.0.per_ms))).or(theirs),
        own.timeout.map(|time| ms(time.0)).or(doc.timeout.map(|time| humantime::format_duration(time).to_string())),
        doc.output_chars.map(|most| format!("{} of output", count(most as u64, "character"))),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    if told.is_empty() { "none but the run's".into() } else { told.join(", ") }
}

fn json_line(name: &str, tool: &Listed) -> Value {
    match tool {
        Listed::On(spec, doc) => json!({
            "name": name, "state": "on", "description": spec.description, "effect": doc.effect, "origin": doc.origin,
            "rate": doc.rate.map(|Rate { calls, per }| json!({"calls": calls, "per_ms": millis(per)})),
            "timeout_ms": doc.timeout.map(millis), "output_chars": doc.output_chars, "input_schema": spec.input_schema,
        }),
        Listed::Unready(why) => json!({"name": name, "state": "unready", "why": why}),
        Listed::Off(optional) => {
            json!({"name": name, "state": "off", "description": optional.what, "how": optional.how})
        }
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The word that a value is written as.
fn word(value: Value) -> String {
    value.as_str().unwrap_or_default().into()
}
