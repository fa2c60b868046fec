//! Ids and time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String")]
        pub struct $name(Box<str>);

        impl $name {
            /// Whether a text is such a name: 1 to 200 ASCII letters, digits and `-_.@`, no dot first.
            pub fn is_name(text: &str) -> bool {
                is_name(text)
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadName;
            fn from_str(text: &str) -> Result<Self, BadName> {
                $check(text)?;
                Ok(Self(text.into()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;
            fn try_from(text: String) -> Result<Self, BadName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_type! {
    /// A trace: one agent, one append-only log. Children are named `{parent}@delegate-{time}-001` and the like. One on another machine is
    /// named `agent://HOST/ID`: the host and, if it is not the usual one, the port of its server, and the trace's id there.
    TraceId, check_trace
}
name_type! {
    /// Whose data it is; data of different tenants lies apart.
    TenantId, check_name
}
name_type! {
    /// Who did something: a person, a program or the system, as authenticated at the boundary.
    Principal, check_name
}

impl TraceId {
    /// The trace that this one belongs to, by its name: what comes before the last `@delegate-`, `@explore-`, `@evaluate-`, `@grade-` or
    /// `@reflect-` that a number follows. `None` for a trace of its own.
    pub fn parent(&self) -> Option<&str> {
        let (parent, own) = self.0.rsplit_once('@')?;
        let (kind, number) = own.split_once('-')?;
        let is_below = matches!(kind, "delegate" | "explore" | "evaluate" | "grade" | "reflect");
        (is_below && number.starts_with(|c: char| c.is_ascii_digit())).then_some(parent)
    }

    /// The trace at the top of those that this one belongs to, by its name; itself if it is one of its own.
    pub fn root(&self) -> TraceId {
        let mut root = self.clone();
        while let Some(parent) = root.parent().and_then(|parent| parent.parse().ok()) {
            root = parent;
        }
        root
    }
}

/// A trace on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteTrace<'a> {
    /// The host of its server, with a port where it is not the usual one.
    pub host: &'a str,
    /// The trace's id there.
    pub id: &'a str,
}

/// How the id of a trace on another machine begins.
const REMOTE: &str = "agent://";

impl TraceId {
    /// A trace on another machine. Errors: this is no host, or no id.
    pub fn remote(host: &str, id: &str) -> Result<TraceId, BadName> {
        format!("{REMOTE}{host}/{id}").parse()
    }

    /// Where it is, if it is on another machine.
    pub fn elsewhere(&self) -> Option<RemoteTrace<'_>> {
        let (host, id) = self.0.strip_prefix(REMOTE)?.split_once('/')?;
        Some(RemoteTrace { host, id })
    }
}

impl TenantId {
    /// The tenant of a single-user installation.
    pub fn local() -> TenantId {
        TenantId("local".into())
    }
}

impl Principal {
    /// The person at this machine's terminal.
    pub fn local_user() -> Principal {
        Principal("user".into())
    }
    /// Whether it is another agent: its name begins with `agent.`.
    pub fn is_agent(&self) -> bool {
        self.agent_name().is_some()
    }
    /// Another agent: `agent.NAME`. What no name can hold is replaced, and the names that become the same by that are told apart by a number
    /// at the end.
    pub fn agent(name: &str) -> Principal {
        let mut fitted = fitting(name);
        if fitted != name {
            let mark =
                name.bytes().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
            fitted.truncate(180);
            fitted.push_str(&format!("-{mark:08x}"));
        }
        Principal(format!("{AGENT}{fitted}").into())
    }
    /// The agent's own name, if it is another agent.
    pub fn agent_name(&self) -> Option<&str> {
        self.as_str().strip_prefix(AGENT)
    }
    /// A hook of the owner's: `hook.NAME`, what no name can hold being replaced.
    pub fn hook(name: &str) -> Principal {
        Principal(format!("hook.{}", fitting(name)).into())
    }
    /// A rule: `rule.ID`, what no name can hold being replaced.
    pub fn rule(id: &str) -> Principal {
        Principal(format!("rule.{}", fitting(id)).into())
    }
    /// The system itself.
    pub fn system() -> Principal {
        Principal("system".into())
    }
    /// Whether it is a person, or whom a person gave a key: no other agent, no hook, no rule, and not the system itself.
    pub fn is_person(&self) -> bool {
        let name = self.as_str();
        name != "system" && ![AGENT, "hook.", "rule."].iter().any(|of| name.starts_with(of))
    }
}

/// How the name of another agent begins.
const AGENT: &str = "agent.";

/// A name without what no name can hold.
fn fitting(name: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '@');
    name.chars().take(190).map(|letter| if fits(letter) { letter } else { '-' }).collect()
}

/// A name that cannot be a file name, a path segment or an id. Each case holds its beginning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// The name of something on this machine.
    #[error("{0:?} is not a valid id: {NAMES}")]
    Local(String),
    /// The name of a trace on another machine: its host, its port or its id is invalid.
    #[error("{0:?} is not a valid id: {NAMES}")]
    Remote(String),
}

const NAMES: &str = "1 to 200 characters out of letters, digits, '-', '_', '.', '@', not starting with '.'";

fn is_name(text: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.' | b'@');
    (1..=200).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(allowed)
}

fn check_name(text: &str) -> Result<(), BadName> {
    if is_name(text) { Ok(()) } else { Err(BadName::Local(text.chars().take(80).collect())) }
}

fn check_trace(text: &str) -> Result<(), BadName> {
    let Some((host, id)) = text.strip_prefix(REMOTE).and_then(|rest| rest.split_once('/')) else {
        return check_name(text);
    };
    let bad = || BadName::Remote(text.chars().take(80).collect());
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_host_letter = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'.');
    let is_host = (1..=253).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_host_letter);
    let is_port = port.is_none_or(|port| !port.starts_with(['0', '+']) && port.parse::<u16>().is_ok());
    if is_host && is_port && is_name(id) { Ok(()) } else { Err(bad()) }
}

/// The number of an event in its trace, from 1, without gaps.
pub type EventId = u64;

/// The number of a mailbox entry in its trace, from 1.
pub type MailId = u64;

/// Milliseconds since the Unix epoch.
pub type Millis = u64;

/// The number of a message in its trace, from 1 (0 is before the first); never reused, also after a rewind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seq(pub u32);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A tool call: the assistant message that made it and its place among that message's calls, from 0. Written `12.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct CallId {
    /// The assistant message that made the call.
    pub seq: Seq,
    /// Its place among that message's calls.
    pub index: u16,
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.seq.0, self.index)
    }
}

/// Text that is not a call id. Each case holds its beginning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCallId {
    /// It has no dot.
    #[error("{0:?} is not a call id: expected MESSAGE.INDEX, such as 12.0")]
    NoDot(String),
    /// One of its parts is not a number, or is too large.
    #[error("{0:?} is not a call id: expected MESSAGE.INDEX, such as 12.0")]
    Number(String, #[source] ParseIntError),
}

impl FromStr for CallId {
    type Err = BadCallId;
    fn from_str(text: &str) -> Result<Self, BadCallId> {
        let beginning = || text.chars().take(40).collect();
        let bad = |error| BadCallId::Number(beginning(), error);
        let (seq, index) = text.split_once('.').ok_or_else(|| BadCallId::NoDot(beginning()))?;
        Ok(CallId { seq: Seq(seq.parse().map_err(bad)?), index: index.parse().map_err(bad)? })
    }
}

impl Serialize for CallId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = CallId;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a call id such as \"12.0\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<CallId, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// The hash of a blob's bytes: SHA-256, 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct BlobHash(Box<str>);

impl BlobHash {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Text that is not the hash of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a blob hash is 64 lower-case hex digits")]
pub struct BadBlobHash;

impl TryFrom<String> for BlobHash {
    type Error = BadBlobHash;
    fn try_from(text: String) -> Result<Self, BadBlobHash> {
        if text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return Ok(BlobHash(text.into()));
        }
        Err(BadBlobHash)
    }
}

impl From<BlobHash> for String {
    fn from(hash: BlobHash) -> String {
        hash.0.into()
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A time as people and logs write it: RFC 3339 in UTC with milliseconds.
pub fn format_time(at: Millis) -> String {
    // Year 9999 is where the format ends; a later time is shown as that.
    let at = at.min(253_402_300_799_999);
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(at)).to_string()
}

/// The inverse of [`format_time`]; `None` for anything that is no such time.
pub fn parse_time(text: &str) -> Option<Millis> {
    let time: SystemTime = humantime::parse_rfc3339(text).ok()?;
    time.duration_since(UNIX_EPOCH).ok()?.as_millis().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_of_another_machine_is_named_by_a_host_and_an_id_and_by_nothing_else() {
        let id: TraceId = "agent://build.example.com:8000/t.delegate-5-001".parse().unwrap();
        assert_eq!(id.elsewhere(), Some(RemoteTrace { host: "build.example.com:8000", id: "t.delegate-5-001" }));
        assert_eq!(id, TraceId::remote("build.example.com:8000", "t.delegate-5-001").unwrap());
        assert_eq!("t@delegate-5-001".parse::<TraceId>().unwrap().elsewhere(), None);
        for wrong in [
            "agent://",
            "agent://host",
            "agent://host/",
            "agent:///id",
            "agent://host/../x",
            "agent://host/a/b",
            "agent://../x",
            "agent://Host/id",
            "agent://user@host/id",
            "agent://host:/id",
            "agent://host:0/id",
            "agent://host:+80/id",
            "agent://host:99999/id",
            "agent://host:80:80/id",
            "agent://host/agent://host/id",
            "http://host/id",
            "a/b",
        ] {
            assert!(wrong.parse::<TraceId>().is_err(), "{wrong}");
        }
        // No folder is ever made by such a name.
        assert!(!TraceId::is_name(id.as_str()));
    }
}
