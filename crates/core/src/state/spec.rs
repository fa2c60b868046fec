//! What decisions need of a spec: its texts stay in the log.

use crate::Scale;
use mainpath_types::{Confinement, EffectClass, EventId, Limits, Millis, Price, RateLimit, Seq, Spec, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The part of a spec that decisions need. The texts stay in the event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpecHead {
    /// The event that holds the whole spec.
    pub event: EventId,
    /// The limits.
    pub limits: Limits,
    /// The bounds of what its calls start.
    pub confinement: Confinement,
    /// The tools.
    pub tools: Arc<[ToolHead]>,
    /// Whether hooks have a word in reminders.
    pub has_context_hooks: bool,
    /// The estimated size of system text and tools.
    pub fixed_tokens: u32,
    /// The model, then those to fall back to.
    pub models: Arc<[ModelHead]>,
    /// Their names.
    pub names: Arc<[Arc<str>]>,
    /// Which of them is used.
    pub using: usize,
    /// The first message that was or will be made under it and this model.
    pub since: Seq,
}

impl SpecHead {
    /// The model that is used.
    pub fn model(&self) -> ModelHead {
        self.models.get(self.using).copied().unwrap_or_default()
    }

    /// The same with what is known of how its models count.
    pub(crate) fn scaled(mut self, learned: &BTreeMap<Arc<str>, u32>) -> SpecHead {
        let names = Arc::clone(&self.names);
        for (model, name) in Arc::make_mut(&mut self.models).iter_mut().zip(names.iter()) {
            model.scale.learned = learned.get(name).copied().or(model.scale.learned);
        }
        self
    }
}

impl SpecHead {
    /// The head of a spec that lies in an event.
    pub fn new(event: EventId, spec: &Spec) -> SpecHead {
        let head = |tool: &ToolSpec| ToolHead {
            name: tool.name.as_str().into(),
            effect: tool.effect,
            can_probe: tool.can_probe,
            timeout_ms: tool.timeout_ms,
            max_calls: tool.max_calls,
            rate: tool.rate,
        };
        let scale = Scale { margin: spec.size_margin, learned: None };
        let model =
            |context_window, reserved_output, price| ModelHead { context_window, reserved_output, price, scale };
        let named = std::iter::once(&spec.model).chain(spec.fallback.iter().map(|other| &other.model));
        let first = model(spec.context_window, spec.reserved_output, spec.price);
        let others = spec.fallback.iter().map(|other| model(other.context_window, other.reserved_output, other.price));
        SpecHead {
            event,
            limits: spec.limits.clone().without_zeros(),
            confinement: spec.access.confinement(spec.network),
            tools: spec.tools.iter().map(head).collect(),
            has_context_hooks: !spec.context_hooks.is_empty(),
            fixed_tokens: SpecHead::fixed(spec),
            models: std::iter::once(first).chain(others).collect(),
            names: named.map(|name| name.as_str().into()).collect(),
            using: 0,
            since: Seq(1),
        }
    }
}

/// The part of a model's description that decisions need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelHead {
    /// Its window.
    pub context_window: u32,
    /// The part of it kept free for the answer.
    pub reserved_output: u32,
    /// What it costs.
    pub price: Price,
    /// How its own tokens relate to estimated ones.
    pub scale: Scale,
}

/// The part of a tool's spec that decisions need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolHead {
    /// Its name.
    pub name: Arc<str>,
    /// What it can do.
    pub effect: EffectClass,
    /// Whether it can tell after a crash if a call was done.
    pub can_probe: bool,
    /// How long a call may take.
    pub timeout_ms: Option<Millis>,
    /// How often it may be called in a run.
    pub max_calls: Option<u32>,
    /// How often it may be called in a time.
    pub rate: Option<RateLimit>,
}
