//! Fields of OpenAI's requests that an agent cannot honour. Those that say what holds anyway are let pass; all others are refused, with
//! the reason.

use crate::problem::{FieldProblem, Kind, Problem};
use serde_json::{Map, Value};

/// A field that an agent cannot honour.
struct Refused {
    name: &'static str,
    /// What it may say: as JSON.
    allowed: &'static [&'static str],
    /// Why nothing else.
    why: &'static str,
}

const fn refused(name: &'static str, allowed: &'static [&'static str], why: &'static str) -> Refused {
    Refused { name, allowed, why }
}

const SERVER_TOOLS: &str = "the agent has the tools of its preset, which run in Mainpath under its rules; tools of the caller are not supported";
const SAMPLING: &str = "is not supported: only temperature can be set";
const LIMIT: &str =
    "is not supported: an agent makes many model calls; its limits are those of its preset and of config.toml";
const CACHE: &str = "is not supported: the cache of the model's vendor is not the caller's to steer";
const MODERATION: &str = "is not supported: nothing is moderated here";

const REFUSED: &[Refused] = &[
    refused("tools", &["[]"], SERVER_TOOLS),
    refused("tool_choice", &["\"auto\"", "\"none\""], SERVER_TOOLS),
    refused("parallel_tool_calls", &["true", "false"], SERVER_TOOLS),
    refused("functions", &["[]"], SERVER_TOOLS),
    refused("function_call", &["\"auto\"", "\"none\""], SERVER_TOOLS),
    refused("web_search_options", &[], SERVER_TOOLS),
    refused("n", &["1"], "only 1 is supported: an agent gives one answer"),
    refused("logprobs", &["false"], "log probabilities are not supported"),
    refused("top_logprobs", &["0"], "log probabilities are not supported"),
    refused("logit_bias", &["{}"], SAMPLING),
    refused("top_p", &["1", "1.0"], SAMPLING),
    refused("frequency_penalty", &["0", "0.0"], SAMPLING),
    refused("presence_penalty", &["0", "0.0"], SAMPLING),
    refused("seed", &[], SAMPLING),
    refused("stop", &["[]"], "stop sequences are not supported"),
    refused("max_tokens", &[], LIMIT),
    refused("max_completion_tokens", &[], LIMIT),
    refused("max_output_tokens", &[], LIMIT),
    refused("modalities", &["[\"text\"]"], "only text is answered"),
    refused("audio", &[], "only text is answered"),
    refused("prediction", &[], "predictions are not supported"),
    refused("verbosity", &["\"medium\""], "is not supported: say in words how long the answer should be"),
    refused("service_tier", &["\"auto\"", "\"default\""], "there are no service tiers"),
    refused("prompt_cache_key", &[], CACHE),
    refused("prompt_cache_retention", &[], CACHE),
    refused("prompt_cache_options", &[], CACHE),
    refused("moderation", &[], MODERATION),
    refused("access_programs", &[], "is not supported"),
    refused("background_options", &[], "is not supported"),
    refused("context_management", &["[]"], "is not supported: an agent tidies its context itself"),
    refused("conversation", &[], "is not supported: continue by previous_response_id or the header Mainpath-Session"),
    refused("image", &[], "is not supported"),
    refused("include", &["[]"], "nothing more can be included"),
    refused("prompt", &[], "stored prompts are not supported: presets are models here, see GET /v1/models"),
    refused("truncation", &["\"auto\""], "only auto is supported: an agent tidies its context itself"),
];

/// Refuses what is not understood and what cannot be honoured. Errors: the first such field.
pub fn check(fields: &Map<String, Value>) -> Result<(), Problem> {
    for (name, said) in fields {
        let Some(field) = REFUSED.iter().find(|field| field.name == name) else {
            return Err(Problem::fields(vec![FieldProblem::unknown("body", &format!("/{name}"), "")]));
        };
        let text = said.to_string();
        if !said.is_null() && !field.allowed.contains(&text.as_str()) {
            return Err(unsupported(format!("/{name}"), field.why));
        }
    }
    Ok(())
}

/// Something that is not supported at a place of the body.
pub fn unsupported(pointer: impl Into<String>, why: impl Into<String>) -> Problem {
    Problem::new(Kind::UNSUPPORTED, why).of_field(pointer)
}
