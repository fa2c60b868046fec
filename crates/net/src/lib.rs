//! Tools that reach out, and the HTTP client that they share.
//!
//! **This crate owns** where a call may go: only http and https, only public addresses unless the owner named a server, checked
//! for every address of a name and again after every redirect, and only to what a tool's allow-list covers. **Its caller owns**
//! which tools there are: each is off until its part of the configuration is there.
//!
//! What never happens here:
//! - no connection is made to an address other than those that were checked, whatever a name server says later;
//! - no header that may be secret and no body goes to another origin than the one it was meant for;
//! - nothing is read without an end: bodies have a size when unpacked, exchanges have a time;
//! - no proxy, credential or cookie is taken from the environment, and none is kept between calls.
//!
//! Further codes of failed outputs, beside those of `mainpath_tools`: `bad_url`, `blocked_address`, `not_allowed`, `redirect`,
//! `connection`, `encoding`, `http_status`, `unavailable`, `bad_answer`, `not_text`, `redis`, `refused`, `workflow_failed`.

mod address;
mod allow;
mod api;
mod ask;
mod body;
mod cause;
mod charset;
mod client;
mod error;
mod external;
mod failure;
mod feishu_bot;
mod http_request;
mod invoke_workflow;
mod page;
mod post;
mod program;
mod reach;
mod redirect;
mod redis_context;
mod settings;
mod show;
mod web_fetch;
mod web_search;

pub use address::not_public;
pub use allow::Allow;
pub use api::{Api, ApiAsk};
pub use ask::Ask;
pub use client::{Answer, Caps, Client, Follow};
pub use error::{AddressProblem, NotFollowed, NotReady, SettingError};
pub use external::{External, ExternalConfig};
pub use feishu_bot::{FeishuBot, FeishuBotConfig};
pub use http_request::{HttpRequest, HttpRequestConfig};
pub use invoke_workflow::{InvokeWorkflow, InvokeWorkflowConfig, Poll, StartMethod, Workflow};
pub use post::Post;
pub use program::{Place, Program, Ran, went_wrong};
pub use reach::{HostPort, Lookup, Reach, SystemLookup};
pub use redis_context::{RedisContext, RedisContextConfig};
pub use settings::{CallRate, InputSchema, Seconds, Secret, SecretName, SecretTexts, WebAddress};
pub use web_fetch::{WebFetch, WebFetchConfig};
pub use web_search::{Backend, WebSearch, WebSearchConfig};
