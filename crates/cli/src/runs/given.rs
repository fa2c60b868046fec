//! What a new agent is to be: what the command line says, with the preset that it names below it.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::exit::Failure;
use crate::ui::text::plain;
use mainpath::presets::{Given, PresetNote};

/// The options and rules of a new agent. What of its preset has no effect is told, unless `quiet`. Errors: there is no such preset, or it
/// cannot be used.
pub fn given(app: &App, args: &AgentArgs, quiet: bool) -> Result<Given, Failure> {
    let given = app.host.given(args.options()?, args.agent.as_deref(), app.host.sources().run.clone())?;
    for note in given.notes.iter().filter(|_| !quiet) {
        match note {
            PresetNote::NoEffect(line) => eprintln!("! {}", plain(line)),
            PresetNote::NoTools { preset, tools } => {
                eprintln!("! the agent {} has no {}: off here (see mainpath tools)", plain(preset), tools.join(", "));
            }
        }
    }
    Ok(given)
}
