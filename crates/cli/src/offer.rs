//! Which tools a run is offered: those that its caller allows, without those of which a rule denies every call.

use crate::args::AgentArgs;
use crate::config::ConfigFile;
use crate::exit::Failure;
use crate::text::plain;
use mainpath_policy::{Policy, ToolNames};
use mainpath_runtime::look_back::is_look_back;
use mainpath_tools::Tools;
use mainpath_types::{Spec, ToolSpec, TraceId};

/// How the names of MCP servers' tools begin.
const MCP: &str = "mcp__";
/// What reaches the tools of MCP servers where they are many.
pub(crate) const REACHING: [&str; 2] = ["find_tools", "use_tool"];

/// The tools that flags or the configuration name; none for all. Errors: one that there is not, or that is named twice.
pub fn allowed(args: &AgentArgs, config: &ConfigFile, tools: &Tools) -> Result<Vec<String>, Failure> {
    let (flag, named) = match args.about.tools.as_slice() {
        [] => ("allowed_tools", config.allowed_tools.clone()),
        given => ("--tools", given.iter().flat_map(|list| names(list)).collect()),
    };
    let (specs, hidden) = (tools.specs(), tools.hidden());
    let known = || specs.iter().map(|tool| &tool.name).chain(&hidden).map(String::as_str);
    let mut seen = Vec::new();
    for text in &named {
        let wrong = |why: String| Failure::usage(format!("{flag}: {why}"));
        let read: ToolNames = text.parse().map_err(wrong)?;
        read.check(known()).map_err(wrong)?;
        let own = read.one().map_or_else(|| text.clone(), String::from);
        if seen.contains(&own) {
            return Err(wrong(format!("{own} is named twice")));
        }
        if read.one().is_some() && !own.starts_with(MCP) && !known().any(|tool| tool == own) {
            return Err(wrong(format!("{own} is off here; to enable it see `mainpath tools {own}`")));
        }
        seen.push(own);
    }
    Ok(named)
}

/// The names of a list: parts between commas, but for commas between braces.
fn names(list: &str) -> Vec<String> {
    let (mut names, mut depth) = (vec![String::new()], 0u32);
    for letter in list.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (letter, names.last_mut()) {
            (',', _) if depth == 0 => names.push(String::new()),
            (_, Some(name)) => name.push(letter),
            (_, None) => {}
        }
    }
    names.iter().map(|name| name.trim().to_string()).collect()
}

/// The tools that a spec's caller allows. What only looks back into the conversation is always there: without it, what a
/// request leaves out could not be found again.
pub fn held_to(allowed: &[String], tools: &Tools) -> Vec<ToolSpec> {
    let specs = tools.specs();
    if allowed.is_empty() {
        return specs;
    }
    let read: Vec<ToolNames> = allowed.iter().filter_map(|names| names.parse().ok()).collect();
    let hidden = tools.hidden();
    let is_hidden = |names: &ToolNames| hidden.iter().any(|tool| names.matches(tool));
    let reaches = allowed.iter().any(|names| names.starts_with(MCP)) || read.iter().any(is_hidden);
    let may = |tool: &ToolSpec| {
        let name = tool.name.as_str();
        read.iter().any(|names| names.matches(name)) || is_look_back(name) || reaches && REACHING.contains(&name)
    };
    specs.into_iter().filter(may).collect()
}

/// The command that gives a trace one more tool.
pub fn with_tool(trace: &TraceId, spec: Option<&Spec>, tool: &str) -> String {
    let given = spec.map(|spec| spec.allowed_tools.as_slice()).unwrap_or_default();
    let tools: Vec<&str> = given.iter().map(String::as_str).chain([tool]).collect();
    format!("mainpath resume {trace} --tools {}", plain(&tools.join(",")))
}

/// Takes out of a spec the tools of which a rule denies every call: the model need not know of them.
pub fn without_denied(spec: &mut Spec, policy: &Policy) {
    spec.tools.retain(|tool| !policy.denies_all_of(&tool.name, tool.effect));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_part_names_but_not_within_braces() {
        assert_eq!(names("read, {edit,write}_text_file,mcp__x__*"), ["read", "{edit,write}_text_file", "mcp__x__*"]);
        assert_eq!(names("bash,"), ["bash", ""]);
    }
}
