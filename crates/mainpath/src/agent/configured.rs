//! An agent as a caller's options, a preset and the configuration make it.

use super::builder::Agent;
use super::model::choose_model;
use super::options::AgentOptions;
use super::spec::workspace;
use crate::presets::{Given, PresetNote};
use crate::{Error, Host};
use mainpath_types::RunRules;

/// An agent whose model is chosen.
pub struct ConfiguredAgent {
    /// The agent.
    pub agent: Agent,
    /// The name of its model.
    pub model: String,
    /// Why this model was chosen, if nobody named it.
    pub note: Option<String>,
}

impl Host {
    /// Puts a preset below the options and rules of a caller. Errors: there is no such preset, or it cannot be used.
    pub fn given(&self, options: AgentOptions, preset: Option<&str>, rules: RunRules) -> Result<Given, Error> {
        let Some(name) = preset else { return Ok(Given::new(options, rules, None)) };
        let presets = self.presets(workspace(options.workspace.as_deref())?)?;
        let preset = presets.choose(name)?.clone();
        let listed = presets.get(name)?;
        let mut notes: Vec<PresetNote> =
            listed.notes.iter().map(|note| PresetNote::NoEffect(listed.told(note))).collect();
        let tools: Vec<String> = preset.absent(&self.tools().names()).into_iter().map(String::from).collect();
        if !tools.is_empty() {
            notes.push(PresetNote::NoTools { preset: name.into(), tools });
        }
        Ok(Given { notes, ..Given::new(options, rules, Some(preset)) })
    }

    /// Makes an agent on the model that the caller or the preset names, or that the configuration chooses. Errors: there is no model, or it cannot
    /// be used.
    pub async fn configured_agent(&self, given: Given) -> Result<ConfiguredAgent, Error> {
        let chosen = choose_model(given.model(), self.home(), self.models().registry()).await?;
        self.prepare_model(&chosen.model).await?;
        Ok(ConfiguredAgent { agent: self.agent(&chosen.model).given(given), model: chosen.model, note: chosen.note })
    }
}
