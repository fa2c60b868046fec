//! Model vendors: a pure codec per wire format, one HTTP driver, and models that need no vendor.
//!
//! **This crate owns** how a neutral conversation becomes a request body, how bytes become a neutral answer or a
//! [`ModelError`](mainpath_types::ModelError), and one attempt at one call: connecting, sending, the timeouts and the
//! size limits. **Its caller owns** the conversation, the encoded prefix and its cache, when to try again and how often,
//! what an answer costs, and when to give up: dropping the future of a call ends it.
//!
//! It knows nothing of agents, traces, tools that run, or logs. A codec reads no clock, no environment, no file and no
//! key; only `HttpProvider` and `local_servers` (feature `http`) open connections, and only [`resolve`] and [`Registry`] read the
//! environment, through the function that they are given.
//!
//! ```text
//! resolve("openai-compatible:http://127.0.0.1:8080/v1#name", env) -> Provider
//! body  = provider.codec(): frame.before, group "," group …, frame.after     (segments, shared with the cache)
//! reply = provider.call(Call { body, head, request }, deltas).await
//! ```

mod anthropic;
mod base_url;
mod codec;
mod endpoint;
mod errors;
mod event_stream;
mod gemini;
mod hint;
pub mod history;
#[cfg(feature = "http")]
mod http;
mod mended;
mod neutral;
mod openai_chat;
mod openai_responses;
mod oversize;
mod playback;
mod player;
mod provider;
mod registry;
mod resolve;
mod script;
mod scripted;
pub mod sse;
mod strict;
mod substitutions;
mod text;
mod wire;
mod words;

#[cfg(feature = "http")]
pub use self::http::{HttpClient, HttpProvider, LocalLimits, LocalServer, local_servers, local_servers_within};
pub use anthropic::Anthropic;
pub use codec::{Codec, Frame, KeyHeader, Route, StreamDecoder, encode, groups, wire_call_id};
pub use endpoint::{BadBaseUrl, Endpoint, Key, OutputLimit, Quirks, Timeouts};
pub use gemini::Gemini;
pub use neutral::Neutral;
pub use openai_chat::OpenAiChat;
pub use openai_responses::OpenAiResponses;
pub use playback::Playback;
pub use provider::{Call, Fut, Provider};
pub use registry::{Abilities, BadAddress, BadEntry, BadTable, ModelFacts, ProviderProfile, Registry, WireFormat};
pub use resolve::{ModelPlace, UnknownModel, resolve, wire_model};
pub use script::{BadScript, Script, ScriptCall, ScriptFailure, ScriptTurn};
pub use scripted::Scripted;
pub use substitutions::Substitutions;
