//! Fields of OpenAI's requests that an agent cannot honour. Those that say what holds anyway are let pass; all others are refused, with
//! the reason.

use crate::problem::{Kind, Problem};
use serde_json::Value;

/// A field as it came, with the values under which it changes nothing.
pub struct Refused<'a> {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub said: &'a Option<Value>,
    /// What it may say.
    pub allowed: &'static [&'static str],
    /// Why nothing else.
    pub why: &'static str,
}

const SERVER_TOOLS: &str = "the agent has the tools of its preset, which run in Mainpath under its rules; tools of the caller are not supported";
const SAMPLING: &str = "is not supported: only temperature can be set";
const LIMIT: &str =
    "is not supported: an agent makes many model calls; its limits are those of its preset and of config.toml";
const CACHE: &str = "is not supported: the cache of the model's vendor is not the caller's to steer";
const MODERATION: &str = "is not supported: nothing is moderated here";

macro_rules! refused {
    ($($name:ident: [$($allowed:literal),*] $why:expr;)*) => {
        /// Fields that an agent cannot honour.
        #[derive(Clone, Debug, Default, serde::Deserialize, schemars::JsonSchema)]
        pub struct RefusedFields {
            $(
                #[doc = concat!("Refused, unless it says what holds anyway", $(", `", $allowed, "`",)* ".")]
                pub $name: Option<Value>,
            )*
        }

        impl RefusedFields {
            /// All of them.
            pub fn all(&self) -> Vec<Refused<'_>> {
                vec![$(Refused { name: stringify!($name), said: &self.$name, allowed: &[$($allowed),*], why: $why }),*]
            }
        }
    };
}

refused! {
    tools: ["[]"] SERVER_TOOLS;
    tool_choice: ["\"auto\"", "\"none\""] SERVER_TOOLS;
    parallel_tool_calls: ["true", "false"] SERVER_TOOLS;
    functions: ["[]"] SERVER_TOOLS;
    function_call: ["\"auto\"", "\"none\""] SERVER_TOOLS;
    web_search_options: [] SERVER_TOOLS;
    n: ["1"] "only 1 is supported: an agent gives one answer";
    logprobs: ["false"] "log probabilities are not supported";
    top_logprobs: ["0"] "log probabilities are not supported";
    logit_bias: ["{}"] SAMPLING;
    top_p: ["1", "1.0"] SAMPLING;
    frequency_penalty: ["0", "0.0"] SAMPLING;
    presence_penalty: ["0", "0.0"] SAMPLING;
    seed: [] SAMPLING;
    stop: ["[]"] "stop sequences are not supported";
    max_tokens: [] LIMIT;
    max_completion_tokens: [] LIMIT;
    max_output_tokens: [] LIMIT;
    modalities: ["[\"text\"]"] "only text is answered";
    audio: [] "only text is answered";
    prediction: [] "predictions are not supported";
    verbosity: ["\"medium\""] "is not supported: say in words how long the answer should be";
    service_tier: ["\"auto\"", "\"default\""] "there are no service tiers";
    prompt_cache_key: [] CACHE;
    prompt_cache_retention: [] CACHE;
    prompt_cache_options: [] CACHE;
    moderation: [] MODERATION;
    access_programs: [] "is not supported";
    background_options: [] "is not supported";
    context_management: ["[]"] "is not supported: an agent tidies its context itself";
    conversation: [] "is not supported: continue by previous_response_id or the header Mainpath-Session";
    image: [] "is not supported";
    include: ["[]"] "nothing more can be included";
    prompt: [] "stored prompts are not supported: presets are models here, see GET /v1/models";
    truncation: ["\"auto\""] "only auto is supported: an agent tidies its context itself";
}

/// Refuses what changes something. Errors: the first such field.
pub fn check(fields: &RefusedFields) -> Result<(), Problem> {
    for field in fields.all() {
        let Some(said) = field.said.as_ref().filter(|said| !said.is_null()) else { continue };
        if !field.allowed.iter().any(|allowed| *allowed == said.to_string()) {
            return Err(unsupported(format!("/{}", field.name), field.why));
        }
    }
    Ok(())
}

/// Something that is not supported at a place of the body.
pub fn unsupported(pointer: impl Into<String>, why: impl Into<String>) -> Problem {
    Problem::new(Kind::UNSUPPORTED, why).of_field(pointer)
}
