//! A call in a line, as rules' examples and `mainpath policy check` write it.

use crate::pattern::{Folders, plain};
use crate::{CallFacts, PathFact, UrlFact};
use mainpath_types::{EffectClass, own_tool_name};
use serde_json::{Map, Value};

/// Why a line is not a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// The parenthesis is not closed.
    #[error("{0:?} lacks its closing )")]
    Unclosed(String),
    /// It does not begin with a tool's name.
    #[error("{0:?} is not a call; it looks like bash(git status) or write(src/main.rs)")]
    NoName(String),
    /// The arguments begin with a brace and are not a JSON object.
    #[error("the arguments of {call:?} are not a JSON object: {problem}")]
    Json {
        /// The line.
        call: String,
        /// The message of the JSON parser.
        problem: String,
    },
    /// The arguments of a tool of an MCP server have no names.
    #[error("the arguments of {0:?} are written as name=value, name=value or as a JSON object")]
    Unnamed(String),
}

/// The facts of a call such as `bash(git push)`, `write(src/a.rs)`, `http_request(GET https://h/x)`, `tool(name=value)`.
///
/// Paths are taken by their letters: nothing is known of links. The effects are those of Mainpath's own tools; any other
/// tool's is the worst.
///
/// # Errors
/// The line is not a call.
pub fn sample(text: &str, folders: &Folders) -> Result<CallFacts, SampleError> {
    let text = text.trim();
    let (name, inner) = match text.split_once('(') {
        Some((name, rest)) => {
            let inner = rest.strip_suffix(')').ok_or_else(|| SampleError::Unclosed(text.into()))?;
            (name.trim(), inner)
        }
        None => (text, ""),
    };
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(SampleError::NoName(text.into()));
    }
    let tool = own_tool_name(name);
    let effect = match tool {
        "bash" => EffectClass::ProcessControl,
        "write_text_file" | "edit_text_file" => EffectClass::LocalWrite,
        "read_text_file" | "list_files" | "glob" | "grep" | "web_fetch" | "web_search" | "json_transform" => {
            EffectClass::ReadOnly
        }
        "agent" => EffectClass::StartChild,
        "ask_human" => EffectClass::AskPerson,
        "feishu_bot" => EffectClass::MessageSend,
        _ => EffectClass::SideEffecting,
    };
    let mut facts = CallFacts { tool: tool.into(), effect, ..CallFacts::default() };
    let argument = |name: &str| Value::Object(Map::from_iter([(name.to_string(), Value::from(inner))]));
    let named = || inner.split(", ").map(|piece| piece.split_once('=')).collect::<Option<Vec<_>>>();
    let first = inner.split_once(' ').filter(|(method, _)| method.bytes().all(|byte| byte.is_ascii_uppercase()));
    if inner.is_empty() {
        facts.arguments = Value::Object(Map::new());
    } else if tool.starts_with("mcp__") {
        facts.arguments = of_mcp(text, inner, named())?;
    } else if tool == "bash" {
        facts.commands = vec![inner.into()];
        facts.arguments = argument("command");
    } else if inner.contains("://") {
        let (method, url) = first.unwrap_or(("GET", inner));
        facts.urls = vec![UrlFact { method: method.into(), url: url.trim().into() }];
        facts.arguments = argument("url");
    } else if let Some(pairs) = named() {
        facts.arguments = pairs.iter().map(|(name, value)| (name.trim().to_string(), Value::from(*value))).collect();
    } else {
        facts.paths = vec![path(inner, !effect.is_read_only(), folders)];
        facts.arguments = argument("path");
    }
    Ok(facts)
}

/// The arguments of a tool of an MCP server: nothing is known of which are files or addresses.
fn of_mcp(text: &str, inner: &str, pairs: Option<Vec<(&str, &str)>>) -> Result<Value, SampleError> {
    if let "..." | "…" = inner.trim() {
        return Ok(Value::Object(Map::new()));
    }
    if inner.trim_start().starts_with('{') {
        let read: Map<String, Value> = serde_json::from_str(inner)
            .map_err(|error| SampleError::Json { call: text.into(), problem: error.to_string() })?;
        return Ok(Value::Object(read));
    }
    let pairs = pairs.ok_or_else(|| SampleError::Unnamed(text.into()))?;
    Ok(Value::Object(pairs.iter().map(|(name, value)| (name.trim().to_string(), Value::from(*value))).collect()))
}

/// A file by the letters of its path.
fn path(path: &str, write: bool, folders: &Folders) -> PathFact {
    let whole = match (path.strip_prefix("~/"), path.starts_with('/')) {
        (Some(below), _) => format!("{}/{below}", folders.home),
        (None, true) => path.into(),
        (None, false) => format!("{}/{path}", folders.workspace),
    };
    let absolute = plain(&whole).unwrap_or_else(|| "/".into());
    let relative = match absolute.strip_prefix(folders.workspace.trim_end_matches('/')) {
        Some("") => Some(String::new()),
        Some(below) => below.strip_prefix('/').map(String::from),
        None => None,
    };
    PathFact { path: path.into(), absolute, relative, write, protected: false, in_repository: false }
}
