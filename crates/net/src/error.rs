//! Why a setting, a configured tool or a redirect is refused.

use crate::ask::METHODS;
use mainpath_policy::PatternError;
use mainpath_tools::{PortError, Problem, SchemaError};
use reqwest::Method;

/// A setting whose value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// It is not an address.
    #[error("{text:?} is not an address: {problem}")]
    NotAnAddress {
        /// The value.
        text: String,
        /// The cause.
        problem: String,
    },
    /// It is an address that tools cannot ask.
    #[error("{text:?} cannot be used: {problem}")]
    Address {
        /// The value.
        text: String,
        /// The cause.
        problem: AddressProblem,
    },
    /// It is not the name of a secret. It may be the secret, so it is not repeated.
    #[error("this must be the name of a secret (letters, digits and _), not its value")]
    SecretName,
    /// It is not a rate.
    #[error("{0:?} is not a rate; write calls and time, such as 10/1m")]
    Rate(String),
    /// It is not a permitted number of seconds.
    #[error("{0} seconds are out of range; 1 to 3600 are possible")]
    Seconds(u64),
    /// It is not a host with a port.
    #[error("{0:?} is not a host with a port; write it like 127.0.0.1:8080 or [::1]:8080")]
    HostPort(String),
    /// It is not a line of an allow-list.
    #[error("{0:?} is not a method with an address; write it like GET https://api.example.com/v1/**")]
    Allow(String),
    /// A method in a line of an allow-list is unknown.
    #[error("{method:?} in {text:?} is not a method; there are {}", METHODS.each_ref().map(Method::as_str).join(", "))]
    UnknownMethod {
        /// The method.
        method: String,
        /// The line.
        text: String,
    },
    /// A line of an allow-list has another scheme.
    #[error("{0:?} is neither http nor https; write it like GET https://api.example.com/v1/**")]
    Scheme(String),
    /// The address in a line of an allow-list is not a pattern of the rules.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

/// Why no request can be sent to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressProblem {
    /// The scheme is neither http nor https.
    #[error("only http and https are")]
    Scheme,
    /// It has no host.
    #[error("it names no host")]
    NoHost,
    /// It has a user or a password.
    #[error("it holds a user or a password; send those in a header")]
    Credentials,
}

/// Why a configured tool cannot be used: one line that states what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// A secret has no value.
    #[error("{0} is not set; set that variable, or {0} under [secrets]")]
    NoSecret(String),
    /// The value of a secret cannot be used.
    #[error("{name} holds {found}")]
    Secret {
        /// The name of the secret.
        name: String,
        /// What its value is instead.
        found: &'static str,
    },
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A header has characters that cannot be sent.
    #[error("the header {0:?} cannot be sent")]
    Header(String),
    /// The address of Redis cannot be used.
    #[error("url must be like redis://127.0.0.1:6379/0: {problem}")]
    RedisUrl {
        /// The cause.
        problem: String,
    },
    /// The prefix of keys in Redis is empty or has control characters.
    #[error("prefix must be some letters, such as \"mainpath:\"")]
    RedisPrefix,
    /// The search needs the address of a server.
    #[error("SearXNG has no public server; set url to that of yours")]
    NoSearchServer,
    /// The search needs a key.
    #[error("set key to the name of the secret that holds the key")]
    NoSearchKey,
    /// No workflow is configured.
    #[error("there is no workflow; add [tools.invoke_workflow.workflows.NAME]")]
    NoWorkflow,
    /// The address to poll has no place for the id.
    #[error("poll.url is not an address with {{id}} in its path")]
    PollUrl,
    /// A tool has neither a command nor an address, or both.
    #[error("give either a command with its program, or a url")]
    CommandOrUrl,
    /// The schema of the arguments cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The registry refused the tool.
    #[error("{0}")]
    Refused(#[from] Problem),
    /// A tool of this name exists.
    #[error("{0:?} already names a tool; choose another name")]
    NameTaken(String),
    /// One of several tools or workflows cannot be used.
    #[error("the {kind} {name:?}: {problem}")]
    Of {
        /// `tool` or `workflow`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The cause.
        problem: Box<NotReady>,
    },
}

/// Why a redirect is not followed.
#[derive(Debug, thiserror::Error)]
pub enum NotFollowed {
    /// The address is the owner's, and so would be a new one.
    #[error("put the new address into the configuration if that is right")]
    OwnersAddress,
    /// The configuration does not allow the request.
    #[error("{0} to there is not allowed")]
    Method(Method),
    /// The configuration does not allow the address.
    #[error("it is not among what may be fetched here")]
    NotListed,
    /// The address is on another site.
    #[error("it is another site; fetch that address if it is wanted")]
    OtherSite,
    /// The rules of the run, or the caller, refuse it.
    #[error(transparent)]
    Refused(#[from] PortError),
}
