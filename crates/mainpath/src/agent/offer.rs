//! Which tools a run is offered: those that its caller allows, without those of which a rule denies every call.

use crate::Remedy;
use crate::presets::Preset;
use crate::{Error, Home};
use mainpath_policy::{Policy, ToolNameError, ToolNames};
use mainpath_runtime::{is_look_back, look_back_tools};
use mainpath_tools::Tools;
use mainpath_types::{MCP_TOOLS, Origin, RunMode, Spec, ToolSpec};
use std::fmt::Display;

/// What reaches the tools of MCP servers where they are many.
pub const REACHING: [&str; 2] = ["find_tools", "use_tool"];

/// The tools that the caller or the configuration names; an empty list stands for all. A caller who names none has those that
/// look back, by name: a spec without names allows all tools. Errors: one that there is not, or that is named twice.
pub(super) fn allowed(given: Option<&[String]>, home: &Home, tools: &Tools) -> Result<Vec<String>, Error> {
    let is_given = given.is_some();
    let named = match given {
        Some([]) => return Ok(look_back_tools().map(String::from).collect()),
        Some(given) => given.to_vec(),
        None => home.config.allowed_tools.clone().unwrap_or_default(),
    };
    let names = tools.names();
    let known = || names.iter().map(String::as_str);
    let mut seen = Vec::new();
    for text in &named {
        let wrong = |why: &dyn Display| match is_given {
            true => Error::of_field("tools", format_args!(": {why}")),
            false => home.wrong_in(&["allowed_tools"], &Error::failed(format!("allowed_tools: {why}"))),
        };
        let read: ToolNames = text.parse().map_err(|why: ToolNameError| wrong(&why).with_remedy(Remedy::of(&why)))?;
        read.check(known()).map_err(|why| wrong(&why).with_remedy(Remedy::of(&why)))?;
        let own = read.one().map_or_else(|| text.clone(), String::from);
        if seen.contains(&own) {
            return Err(wrong(&format_args!("{own} is named twice")));
        }
        if read.one().is_some() && !own.starts_with(MCP_TOOLS) && !known().any(|tool| tool == own) {
            return Err(wrong(&format_args!("{own} is off here")).with_remedy(Remedy::SwitchOnTool(own)));
        }
        seen.push(own);
    }
    Ok(named)
}

/// The same for an agent of a preset: what the caller names comes before what the preset does, and what the configuration names bounds
/// it. Errors: as [`allowed`], or the preset denies a tool that the caller names.
pub(super) fn allowed_by_preset(
    preset: &Preset,
    given: Option<&[String]>,
    home: &Home,
    tools: &Tools,
) -> Result<Vec<String>, Error> {
    if let Some(named) = given {
        preset.check_named(named)?;
        return allowed(given, home, tools);
    }
    let bounds = allowed(None, home, tools)?;
    let names = tools.names();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    match preset.tools_within(&bounds, &known) {
        None => Ok(Vec::new()),
        Some(named) if named.is_empty() => allowed(Some(&[]), home, tools),
        Some(named) => Ok(named),
    }
}

/// The tools that a spec's caller allows. What only looks back into the conversation is always there: without it, what a
/// request leaves out could not be found again.
pub(super) fn held_to(allowed: &[String], tools: &Tools) -> Vec<ToolSpec> {
    if allowed.is_empty() {
        return tools.specs();
    }
    let read: Vec<ToolNames> = allowed.iter().filter_map(|names| names.parse().ok()).collect();
    let hidden = tools.hidden();
    let is_hidden = |names: &ToolNames| hidden.iter().any(|tool| names.matches(tool));
    let reaches = allowed.iter().any(|names| names.starts_with(MCP_TOOLS)) || read.iter().any(is_hidden);
    tools.specs_of(|name| {
        read.iter().any(|names| names.matches(name)) || is_look_back(name) || reaches && REACHING.contains(&name)
    })
}

/// Takes out of a spec the tools of which a rule denies every call: the model need not know of them.
pub(crate) fn without_denied(spec: &mut Spec, policy: &Policy) {
    spec.tools.retain(|tool| !policy.denies_all_of(&tool.name, tool.effect));
}

/// The tools of an earlier spec, with those of MCP servers as they are now, as far as its caller allows them.
pub(crate) fn tools_now(old: &Spec, registry: &Tools) -> Vec<ToolSpec> {
    if old.run_mode == RunMode::Call {
        return Vec::new();
    }
    let origin = |spec: &ToolSpec| registry.doc(&spec.name).map(|doc| doc.origin);
    let kept = old.tools.iter().filter(|spec| origin(spec).is_some_and(|origin| origin != Origin::Mcp)).cloned();
    let now = held_to(&old.allowed_tools, registry).into_iter().filter(|spec| origin(spec) == Some(Origin::Mcp));
    let mut tools: Vec<ToolSpec> = kept.chain(now).collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools
}
