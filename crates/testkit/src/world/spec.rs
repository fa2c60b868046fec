//! What the agent of a simulated life is.

use mainpath_types::{CHECK_MESSAGES, EffectClass, Limits, Price, Profile, Spec, ToolSpec};

pub(super) const TOOLS: [(&str, EffectClass, bool); 6] = [
    ("read", EffectClass::ReadOnly, false),
    ("put", EffectClass::Idempotent, false),
    ("write", EffectClass::LocalWrite, true),
    ("bash", EffectClass::ProcessControl, false),
    ("ask", EffectClass::AskPerson, false),
    ("agent", EffectClass::StartChild, false),
];

/// A spec with one tool of each kind.
pub fn spec(limits: Limits, context_window: u32) -> Spec {
    let tool = |&(name, effect, can_probe): &(&str, EffectClass, bool)| ToolSpec {
        name: name.into(),
        description: String::new(),
        input_schema: serde_json::json!({}).into(),
        effect,
        can_probe,
        ..ToolSpec::default()
    };
    Spec {
        instructions: "Work.".into(),
        tools: TOOLS.iter().map(tool).collect(),
        limits,
        temperature: None,
        context_window,
        reserved_output: 64,
        price: Price { input: 3_000_000, output: 15_000_000, cache_read: 0, cache_write: 0 },
        ..Spec::new("simulated", Profile::Trace)
    }
}

/// The same with the tool that reads messages of other agents.
pub fn hearing(mut spec: Spec) -> Spec {
    let (name, effect) = (CHECK_MESSAGES.into(), EffectClass::ReadOnly);
    spec.tools.push(ToolSpec { name, effect, input_schema: serde_json::json!({}).into(), ..ToolSpec::default() });
    spec
}
