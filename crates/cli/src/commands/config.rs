//! `mainpath config`: every key of `config.toml`, what it is now, and where that comes from.

use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use crate::ui::text::one_line;
use clap::Args;
use mainpath::Home;
use serde_json::json;

/// `mainpath config`
#[derive(Args, Debug)]
pub struct ConfigArgs {
    /// Keys, or the part before a dot [default: all]
    #[arg(value_name = "KEY")]
    pub keys: Vec<String>,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// Every key with what holds where nobody sets it. A test holds the list to what the file may have.
const KEYS: [(&str, &str); 106] = [
    ("model", "the first one found"),
    ("fallback", "none"),
    ("profile", "trace"),
    ("context_window", "the model's"),
    ("reserved_output", "the model's, at most 16384 and a quarter of the window"),
    ("first_byte_timeout", "the provider's"),
    ("idle_timeout", "the provider's"),
    ("temperature", "the profile's"),
    ("mode", "ask before changes"),
    ("network", "false"),
    ("no_sandbox", "false"),
    ("snapshots", "false"),
    ("allowed_tools", "all"),
    ("auto_execute_tools", "true"),
    ("system_prompt", "Mainpath's own"),
    ("prompt", "none"),
    ("instructions", "none"),
    ("agents_md", "true"),
    ("skills", "true"),
    ("uid", "none"),
    ("inject_every", "the profile's"),
    ("summary", "the profile's"),
    ("finished_goals", "the profile's"),
    ("max_context_chars", "no limit"),
    ("limits.max_turns", "the profile's"),
    ("limits.max_calls", "the profile's"),
    ("limits.max_calls_per_turn", "the profile's"),
    ("limits.max_script_runs", "the profile's"),
    ("limits.max_agents", "24"),
    ("limits.max_agents_at_once", "6"),
    ("limits.max_agent_depth", "1"),
    ("limits.max_context_chars", "no limit"),
    ("limits.max_tokens", "no limit"),
    ("limits.max_cost", "no limit"),
    ("limits.timeout", "no limit"),
    ("limits.call_timeout", "the tool's"),
    ("limits.approval_timeout", "no limit"),
    ("limits.repeated_failure_limit", "the profile's"),
    ("limits.observation_max_len", "the profile's"),
    ("limits.budget", "the profile's"),
    ("limits.recovery", "the profile's"),
    ("limits.model_retries", "10"),
    ("tool_limits", "none"),
    ("shares.system", "10"),
    ("shares.summary", "20"),
    ("shares.recent", "50"),
    ("shares.current", "20"),
    ("hooks", "none"),
    ("context_hooks", "none"),
    ("tool_secrets", "none"),
    ("secrets", "none"),
    ("redact.paths", "none"),
    ("redact.patterns", "none"),
    ("redact.off", "none"),
    ("net.allow_private", "none"),
    ("net.proxy", "none"),
    ("mcp.search_above", "the usual number of tools"),
    ("mcp.servers", "none"),
    ("tools.external", "off"),
    ("tools.feishu_bot", "off"),
    ("tools.http_request", "off"),
    ("tools.invoke_workflow", "off"),
    ("tools.json_transform", "off"),
    ("tools.redis_context", "off"),
    ("tools.web_fetch", "off"),
    ("tools.web_search", "off"),
    ("experience.enabled", "where there are experiences"),
    ("experience.show", "5"),
    ("experience.reflect", "false"),
    ("experience.embeddings.url", "none"),
    ("experience.embeddings.model", "none"),
    ("experience.embeddings.headers", "none"),
    ("experience.embeddings.least", "40"),
    ("names.model", "none"),
    ("people.agents", "false"),
    ("people.ask", "whoever follows the run"),
    ("people.contacts", "none"),
    ("people.webhook", "off"),
    ("people.feishu", "off"),
    ("people.email", "off"),
    ("people.listen", "127.0.0.1:8010"),
    ("peers", "none"),
    ("server.address", "127.0.0.1:8000"),
    ("server.hosts", "this machine's"),
    ("server.origins", "its own pages"),
    ("server.workspaces", "the folder that it is started in"),
    ("server.max_body", "4194304"),
    ("server.rate", "200"),
    ("server.connections", "16384"),
    ("server.max_runs", "no limit"),
    ("server.resumed_at_once", "8"),
    ("server.rest_s", "30"),
    ("server.behind_tls", "false"),
    ("server.telemetry.otlp", "off"),
    ("server.telemetry.headers", "none"),
    ("server.telemetry.content", "false"),
    ("retention.older_than", "never"),
    ("retention.keep", "all"),
    ("sign.at_end", "false"),
    ("sign.trusted", "none"),
    ("sign.witness", "none"),
    ("sign.witness_command", "none"),
    ("sessions.window", "20"),
    ("sessions.ttl", "no expiry"),
    ("sessions.mirror", "none"),
    ("sessions.user", "none"),
];

/// What else a mirror may need. Never shown.
const HIDDEN: [(&str, &str); 2] = [("sessions.password", "none"), ("sessions.prefix", "none")];

/// Where a value comes from.
const DEFAULT: &str = "default";

/// `mainpath config`
pub fn config(args: &ConfigArgs) -> Result<Exit, Failure> {
    let (home, wrong) = Home::look()?;
    let text = std::fs::read_to_string(&home.config_file).unwrap_or_default();
    let table: toml::Table = toml::from_str(&text).unwrap_or_default();
    let file = home.config_file.display().to_string();
    let rows: Vec<Row> = KEYS.iter().chain(&HIDDEN).map(|(key, usual)| row(&table, key, usual, &file)).collect();
    let known =
        |wanted: &&String| rows.iter().any(|row| row.key == **wanted || row.key.starts_with(&format!("{wanted}.")));
    if let Some(unknown) = args.keys.iter().find(|wanted| !known(wanted)) {
        let near = crate::ui::suggest::nearest(unknown, rows.iter().map(|row| row.key));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        return Err(Failure::usage(format!("config.toml has no key {unknown:?}{hint}")));
    }
    let wanted = |row: &&Row| {
        let is_meant = |wanted: &String| row.key == wanted || row.key.starts_with(&format!("{wanted}."));
        args.keys.is_empty() || args.keys.iter().any(is_meant)
    };
    if !args.json {
        let there = if home.config_file.exists() { "" } else { " (not there yet)" };
        out(&format!("file  {}{there}", one_line(&file)))?;
        out(&format!("data  {}", one_line(&home.data.display().to_string())))?;
    }
    for row in rows.iter().filter(wanted) {
        let Row { key, value, from } = row;
        let line = match args.json {
            true => json!({"key": key, "value": value, "from": from}).to_string(),
            false if from == DEFAULT => format!("  {key:<30} {value}"),
            false => format!("* {key:<30} {}  ({from})", one_line(value)),
        };
        out(&line)?;
    }
    match wrong {
        Some(wrong) => Err(wrong.into()),
        None => Ok(Exit::Ok),
    }
}

struct Row {
    key: &'static str,
    value: String,
    from: String,
}

fn row(table: &toml::Table, key: &'static str, usual: &str, file: &str) -> Row {
    // A flag comes before it, and is no part of the configuration.
    if key == "model"
        && let Some(model) = std::env::var("MAINPATH_MODEL").ok().filter(|model| !model.is_empty())
    {
        return Row { key, value: model, from: "MAINPATH_MODEL".into() };
    }
    let found = key.split('.').try_fold(None, |at: Option<&toml::Value>, part| {
        let next = at.map_or_else(|| table.get(part), |value| value.get(part));
        next.map(Some)
    });
    match found.flatten() {
        Some(value) => Row { key, value: shown(key, value), from: file.into() },
        None => Row { key, value: usual.into(), from: DEFAULT.into() },
    }
}

/// A value in a line. Of what may hold secrets only that it is there.
fn shown(key: &str, value: &toml::Value) -> String {
    let count = match value {
        toml::Value::Table(table) => Some(table.len()),
        toml::Value::Array(list) => Some(list.len()),
        _ => None,
    };
    let is_quiet = matches!(
        key,
        "secrets"
            | "hooks"
            | "context_hooks"
            | "mcp.servers"
            | "sessions.password"
            | "net.proxy"
            | "experience.embeddings.headers"
    ) || key == "sessions.mirror"
        || key.starts_with("tools.");
    match (is_quiet, count) {
        (true, Some(count)) => format!("set ({count})"),
        (true, None) => "set".into(),
        (false, _) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath::home::ConfigFile;
    use std::collections::BTreeSet;

    /// The keys that a part of the file may have, as its reader names them.
    fn expected(part: &str) -> Vec<String> {
        let error = toml::from_str::<ConfigFile>(&format!("{part}\nno_such_key = 1\n")).unwrap_err().to_string();
        let (_, names) = error.split_once("expected ").unwrap();
        names.split('`').skip(1).step_by(2).map(String::from).collect()
    }

    #[test]
    fn every_key_of_the_file_is_told() {
        let parts = [
            "limits",
            "shares",
            "experience",
            "experience.embeddings",
            "names",
            "people",
            "retention",
            "sessions",
            "sign",
            "net",
            "redact",
            "mcp",
            "tools",
            "server",
            "server.telemetry",
        ];
        let mut keys: BTreeSet<String> =
            expected("").into_iter().filter(|key| !parts.contains(&key.as_str())).collect();
        for part in parts {
            let own = expected(&format!("[{part}]")).into_iter().map(|key| format!("{part}.{key}"));
            keys.extend(own.filter(|key| !parts.contains(&key.as_str())));
        }
        let told: BTreeSet<String> = KEYS.iter().chain(&HIDDEN).map(|(key, _)| key.to_string()).collect();
        assert_eq!(told, keys);
    }
}
