//! What a new agent is to be: what the command line says, with the preset that it names below it.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::exit::Failure;
use crate::ui::text::plain;
use mainpath::agent;
use mainpath::presets::Given;
use mainpath::types::RunRules;
use std::path::Path;

/// The options and rules of a new agent. What of its preset has no effect is told, unless `quiet`. Errors: there is no such preset, or it
/// cannot be used.
pub fn given(app: &App, args: &AgentArgs, rules: RunRules, quiet: bool) -> Result<Given, Failure> {
    given_in(app, args, args.workspace.as_deref(), rules, quiet)
}

/// The same in another folder than that of the command line.
pub fn given_in(
    app: &App,
    args: &AgentArgs,
    folder: Option<&Path>,
    rules: RunRules,
    quiet: bool,
) -> Result<Given, Failure> {
    let options = args.options()?;
    let Some(name) = &args.agent else { return Ok(Given::new(options, rules, None)) };
    let presets = app.host.presets(&agent::workspace(folder)?)?;
    let preset = presets.choose(name)?.clone();
    let listed = presets.get(name)?;
    if !quiet {
        listed.notes.iter().for_each(|note| eprintln!("! {}", plain(&listed.told(note))));
        let absent = preset.absent(&app.host.tools().names());
        if !absent.is_empty() {
            eprintln!("! the agent {} has no {}: off here (see mainpath tools)", plain(name), absent.join(", "));
        }
    }
    Ok(Given::new(options, rules, Some(preset)))
}
