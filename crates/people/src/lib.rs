//! Channels to people: what is asked or told goes out by a signed webhook, Feishu or e-mail, and replies come back by webhook and Feishu.
//!
//! **This crate owns** how a message goes and how a reply is known to be genuine. **Its caller owns** what is asked, when it is
//! sent, and what becomes of a reply: it implements [`Desk`] and is handed each one that was found genuine.
//!
//! What never happens here:
//! - no reply is handed on whose signature, time or token is wrong;
//! - no secret is in a message, an error or a reply;
//! - no mail goes unencrypted to another machine.
//!
//! Sending is *at least once*: a message that may have gone is sent again with the same id, by which its receiver knows it.

mod config;
mod email;
mod error;
mod feishu;
mod handle;
mod listen;
mod message;
mod people;
mod signature;
mod webhook;

pub use config::{Contact, EmailConfig, FeishuConfig, ListenConfig, PeopleConfig, Security, WebhookConfig};
pub use error::{ChannelError, ConfigError, ContactError, EmailError, RecipientError, SignatureError};
pub use feishu::api::Listed;
pub use feishu::callback::decrypted;
pub use handle::{Answer, Desk, From, Keys, Request, Response, Taken, Which, handle};
pub use listen::{ListenLimits, listen, listen_within};
pub use message::{AgentWord, Channel, Choice, Kind, Outgoing, Sent, Unsent, WordTaken};
pub use people::People;
pub use signature::{LONGEST_AGE, Signed, sign, verify};
pub use webhook::{Refused, Reply, read_reply, read_word};
