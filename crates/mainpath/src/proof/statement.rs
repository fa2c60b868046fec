//! What is signed: a line that says which head a log had, when, and whose key says so.

use super::keys::{OwnerKey, PublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainpath_types::{EventId, Millis, TenantId, TraceId, format_time, parse_time};
use serde::Deserialize;

/// What the signature covers begins with this, so that the key's signatures of anything else are none of a head.
const WHAT: &[u8] = b"mainpath/head/1\0";

/// A statement about the head of a log, with its signature. Nothing in it is checked but its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The line, without its line feed.
    pub line: String,
    /// Whose data.
    pub tenant: String,
    /// The trace.
    pub trace: String,
    /// How many events the log had.
    pub event: EventId,
    /// The hash of the head of the last one, in base64url.
    pub head: String,
    /// When it was signed, by the clock of who signed: RFC 3339, UTC.
    pub at: String,
    /// Whose key.
    pub key: PublicKey,
    signature: [u8; 64],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    v: u32,
    tenant: String,
    trace: String,
    event: EventId,
    head: String,
    at: String,
    key: String,
    signature: String,
}

impl Fields {
    /// The line up to the signature, in the one form that it has.
    fn signed_part(&self) -> String {
        let Fields { v, tenant, trace, event, head, at, key, .. } = self;
        format!(
            "{{\"v\":{v},\"tenant\":\"{tenant}\",\"trace\":\"{trace}\",\"event\":{event},\"head\":\"{head}\",\"at\":\"{at}\",\"key\":\"{key}\""
        )
    }

    fn line(&self) -> String {
        format!("{},\"signature\":\"{}\"}}", self.signed_part(), self.signature)
    }
}

/// What a statement is made of.
pub(super) struct Said<'a> {
    pub tenant: &'a TenantId,
    pub trace: &'a TraceId,
    pub event: EventId,
    pub head: String,
    pub at: Millis,
}

impl Statement {
    pub(super) fn sign(said: Said<'_>, key: &OwnerKey) -> Statement {
        let public = key.public();
        let mut fields = Fields {
            v: 1,
            tenant: said.tenant.as_str().into(),
            trace: said.trace.as_str().into(),
            event: said.event,
            head: said.head,
            at: format_time(said.at).to_string(),
            key: public.to_string(),
            signature: String::new(),
        };
        let signature = key.sign(&[WHAT, fields.signed_part().as_bytes()].concat());
        fields.signature = URL_SAFE_NO_PAD.encode(signature);
        let line = fields.line();
        let Fields { tenant, trace, event, head, at, .. } = fields;
        Statement { line, tenant, trace, event, head, at, key: public, signature }
    }

    /// A line that was read. `None` if it has not exactly the form of one.
    pub fn read(line: &str) -> Option<Statement> {
        let fields: Fields = serde_json::from_str(line).ok()?;
        let key = PublicKey::parse(&fields.key).filter(|key| key.to_string() == fields.key)?;
        let signature = URL_SAFE_NO_PAD.decode(&fields.signature).ok()?;
        let signature = <[u8; 64]>::try_from(signature).ok()?;
        let is_time = parse_time(&fields.at).is_some_and(|at| format_time(at) == fields.at);
        if fields.v != 1 || !is_time || fields.line() != line {
            return None;
        }
        let Fields { tenant, trace, event, head, at, .. } = fields;
        Some(Statement { line: line.into(), tenant, trace, event, head, at, key, signature })
    }

    /// Whether the owner of the key has signed it.
    pub fn is_genuine(&self) -> bool {
        let part = self.line.rsplit_once(",\"signature\":").map_or("", |(part, _)| part);
        self.key.has_signed(&[WHAT, part.as_bytes()].concat(), &self.signature)
    }
}
