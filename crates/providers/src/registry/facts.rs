//! What is known of a model.

use super::profile::ProviderProfile;
use mainpath_types::Price;
use serde::{Deserialize, Serialize};

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelFacts {
    /// The most tokens that a request may hold.
    pub context_window: u32,
    /// The most tokens that may come back.
    pub output_limit: u32,
    /// What it can do.
    pub abilities: Abilities,
    /// What it costs; `None` if nobody said.
    pub price: Option<Price>,
    /// Whether the tables know it. If not, this is what is safe to assume.
    pub known: bool,
}

impl ModelFacts {
    /// Of a model that no table knows: the window and output of DECISIONS.md ("Profiles"), chat and tool calls. One of a
    /// named vendor is newer than the table, so it most likely reasons. What runs on one's own machine costs nothing.
    pub(super) fn assumed(provider: &ProviderProfile) -> ModelFacts {
        let is_vendor = provider.base_url.is_some() && !provider.local;
        ModelFacts {
            context_window: 16_384,
            output_limit: 2_048,
            abilities: Abilities { chat: true, tools: true, reasoning: is_vendor, ..Abilities::default() },
            price: provider.local.then(Price::default),
            known: false,
        }
    }

    /// Of a model of one's own: a window of 200,000 tokens, and no price. Change what is known better, for
    /// [`Provider::facts`](crate::Provider::facts).
    pub fn own() -> ModelFacts {
        ModelFacts {
            context_window: 200_000,
            output_limit: 8_192,
            abilities: Abilities {
                chat: true,
                tools: true,
                vision: true,
                audio: true,
                document: true,
                reasoning: false,
                structured_output: false,
            },
            price: None,
            known: true,
        }
    }

    /// Of a model that plays a script: it costs nothing.
    pub(super) fn scripted() -> ModelFacts {
        ModelFacts { price: Some(Price::default()), ..ModelFacts::own() }
    }

    /// These facts with what an entry says instead.
    pub(super) fn with(self, entry: &ModelEntry) -> ModelFacts {
        ModelFacts {
            context_window: entry.context_window.unwrap_or(self.context_window),
            output_limit: entry.output_limit.unwrap_or(self.output_limit),
            abilities: entry.abilities.unwrap_or(self.abilities),
            price: entry.price.or(self.price),
            known: true,
        }
    }
}

/// What a model can do. In tables and in JSON it is a list of names, such as `["chat", "tools"]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "Vec<Ability>", into = "Vec<Ability>")]
pub struct Abilities {
    /// Takes a conversation.
    pub chat: bool,
    /// Calls tools in its vendor's own format.
    pub tools: bool,
    /// Takes images.
    pub vision: bool,
    /// Takes audio.
    pub audio: bool,
    /// Takes documents such as PDF.
    pub document: bool,
    /// Thinks before it answers. Such models take no temperature but their own.
    pub reasoning: bool,
    /// Holds its answer to a JSON Schema by itself.
    pub structured_output: bool,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ability {
    Chat,
    Tools,
    Vision,
    Audio,
    Document,
    Reasoning,
    StructuredOutput,
}

impl From<Vec<Ability>> for Abilities {
    fn from(list: Vec<Ability>) -> Abilities {
        let mut abilities = Abilities::default();
        for ability in list {
            match ability {
                Ability::Chat => abilities.chat = true,
                Ability::Tools => abilities.tools = true,
                Ability::Vision => abilities.vision = true,
                Ability::Audio => abilities.audio = true,
                Ability::Document => abilities.document = true,
                Ability::Reasoning => abilities.reasoning = true,
                Ability::StructuredOutput => abilities.structured_output = true,
            }
        }
        abilities
    }
}

impl From<Abilities> for Vec<Ability> {
    fn from(abilities: Abilities) -> Vec<Ability> {
        let all = [
            (abilities.chat, Ability::Chat),
            (abilities.tools, Ability::Tools),
            (abilities.vision, Ability::Vision),
            (abilities.audio, Ability::Audio),
            (abilities.document, Ability::Document),
            (abilities.reasoning, Ability::Reasoning),
            (abilities.structured_output, Ability::StructuredOutput),
        ];
        all.into_iter().filter(|(has, _)| *has).map(|(_, ability)| ability).collect()
    }
}

/// What a table says about the models of a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelEntry {
    /// A model's name in Mainpath's notation; a `*` at its end stands for anything.
    pub name: String,
    pub context_window: Option<u32>,
    pub output_limit: Option<u32>,
    pub abilities: Option<Abilities>,
    pub price: Option<Price>,
}

impl ModelEntry {
    /// Whether it speaks of this model.
    pub fn fits(&self, model: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(start) => model.starts_with(start),
            None => self.name == model,
        }
    }

    /// How much it says about a model that it fits: the letters that must be the same, and then whether all must be.
    pub fn weight(&self) -> (usize, bool) {
        (self.name.trim_end_matches('*').len(), !self.name.ends_with('*'))
    }
}
