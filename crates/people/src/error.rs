//! Why a channel, a contact or a recipient cannot be used.

use crate::message::Channel;
use mainpath_net::NotReady;

/// Why a channel cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The configuration can never work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A secret is missing, or a setting cannot be used.
    #[error(transparent)]
    NotReady(#[from] NotReady),
    /// The configuration of e-mail cannot be used.
    #[error(transparent)]
    Email(#[from] EmailError),
    /// The secret of the webhook cannot sign.
    #[error("nothing can be signed with {name}: {problem}; set a secret, or whsec_ and its base64")]
    Signing {
        /// The name of the secret.
        name: String,
        /// The cause.
        problem: SignatureError,
    },
}

/// Why a message cannot be signed, or is not genuine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The base64 of the secret cannot be read.
    #[error("what follows whsec_ is not base64")]
    NotBase64,
    /// The secret is empty, so anyone could sign.
    #[error("it is empty")]
    EmptySecret,
    /// No secret is known that could check it.
    #[error("there is no secret to check it with")]
    NoSecret,
    /// It has no such header.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// Its time is not a number.
    #[error("webhook-timestamp is not a number of seconds")]
    Timestamp,
    /// Its signature does not match.
    #[error("the signature is wrong")]
    Wrong,
    /// Its time is too far in the future.
    #[error("its time is more than 5 minutes in the future; check the clocks")]
    Future,
    /// It is too old.
    #[error("it is older than 5 minutes")]
    Old,
}

/// Why `[people]` can never work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// `ask` names a contact that does not exist.
    #[error("ask: there is no contact {0:?}; add [people.contacts.{0}]")]
    Ask(String),
    /// A contact cannot be used.
    #[error("contact {name}: {problem}")]
    Contact {
        /// The contact's name.
        name: String,
        /// The cause.
        problem: ContactError,
    },
    /// `[people.email]` cannot be used.
    #[error("email: {0}")]
    Email(#[from] EmailError),
}

impl ConfigError {
    /// Returns the key of the configuration that is wrong.
    pub fn key(&self) -> Vec<&str> {
        match self {
            ConfigError::Ask(_) => vec!["people", "ask"],
            ConfigError::Contact { name, .. } => vec!["people", "contacts", name],
            ConfigError::Email(_) => vec!["people", "email"],
        }
    }
}

/// Why a contact cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContactError {
    /// Its name has other characters.
    #[error("a name has letters, digits, '-', '_' and '.', and begins with a letter or digit")]
    Name,
    /// Its name has another meaning in logs.
    #[error("this name means somebody else in a log; choose another")]
    Reserved,
    /// The section of a channel that it uses is missing.
    #[error("{0} is missing")]
    NoSection(&'static str),
    /// It has no address for a channel that it names.
    #[error("channels names {0}, for which there is no address")]
    NoAddress(Channel),
}

/// Why mail cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmailError {
    /// A field is not an address.
    #[error("{field} = {text:?} is no address: {problem}")]
    Address {
        /// The field.
        field: &'static str,
        /// Its value.
        text: String,
        /// The cause.
        problem: String,
    },
    /// Mail would go unencrypted to this host, which may be another machine.
    #[error("security = \"none\" is only for a server on this machine, and {0:?} may be another; use starttls or tls")]
    Unencrypted(String),
    /// A user without a password, or a password without a user.
    #[error("user and password go together")]
    UserAndPassword,
    /// TLS cannot be set up.
    #[error("TLS cannot be used: {problem}")]
    Tls {
        /// The cause.
        problem: String,
    },
}

/// Why a message cannot go to somebody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecipientError {
    /// It is not an id of Feishu, or Feishu is not configured.
    #[error("{0:?} cannot be reached: write feishu: and an open_id or chat_id, with [people.feishu] configured")]
    Feishu(String),
    /// The contact has no address.
    #[error("{0} has no address in [people.contacts.{0}]")]
    NoAddress(String),
    /// There is no such contact.
    #[error("there is no contact {name:?}; the contacts are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names of the contacts.
        known: String,
    },
}
