//! Patterns in the spelling of other programs: Claude Code's <https://code.claude.com/docs/en/permissions>, and Cursor's, which is like it.

use super::error::PatternError;
use mainpath_types::{MCP_TOOLS, foreign_tool_name};

/// Checks that a pattern does not name its tool as another program does. Errors: it does; the patterns that mean the same here.
pub(super) fn check(text: &str) -> Result<(), PatternError> {
    let (name, inner) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(')').unwrap_or(rest).trim())),
    };
    let instead = match (name, inner.and_then(|inner| inner.split_once(':'))) {
        ("Mcp", Some((server, tool))) => format!("{MCP_TOOLS}{server}__{tool}"),
        _ => match foreign_tool_name(name) {
            None => return Ok(()),
            Some(own) => translated(name, own, inner.filter(|inner| !matches!(*inner, "" | "*" | "**"))),
        },
    };
    Err(PatternError::Foreign { text: text.into(), instead })
}

/// Returns the patterns that mean what `name(inner)` means in the other program. `own`: the tool's own name here.
fn translated(name: &str, own: &str, inner: Option<&str>) -> String {
    match (own, inner) {
        ("bash", Some(inner)) => {
            let any = if name == "Shell" && !inner.contains('*') { " *" } else { "" };
            commands("bash", &format!("{inner}{any}"))
        }
        ("read_text_file", inner) => format!("read({})", inner.map_or("**", path)),
        ("write_text_file" | "edit_text_file", inner) => format!("write({})", inner.map_or("**", path)),
        ("web_fetch", Some(inner)) => match inner.strip_prefix("domain:").unwrap_or(inner) {
            "*" => own.into(),
            address if address.contains("://") => format!("{own}({address})"),
            host => format!("{own}(*://{host})"),
        },
        ("agent", Some(inner)) => format!("{own}(agent_type={inner})"),
        ("glob" | "grep" | "list_files", Some(inner)) => format!("{own}({})", path(inner)),
        _ => own.into(),
    }
}

/// Returns the patterns for a list of commands, `git push:*, rm:*`.
pub(super) fn commands(written: &str, list: &str) -> String {
    let commands = list.split(',').map(str::trim).filter(|command| !command.is_empty());
    let patterns = commands.map(|command| match command.strip_suffix(":*") {
        Some(begin) => format!("{written}({})", format!("{begin} *").trim_start()),
        None => format!("{written}({command})"),
    });
    let patterns: Vec<String> = patterns.collect();
    let each = if patterns.len() > 1 { ", one rule for each" } else { "" };
    format!("{}{each}", patterns.join(" and "))
}

/// Returns a path as rules have it here: there, one slash begins a path in the project, and two begin one from the root.
fn path(there: &str) -> &str {
    there.strip_prefix('/').filter(|rest| !rest.is_empty()).unwrap_or(there)
}
