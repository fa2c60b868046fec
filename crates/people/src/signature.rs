//! Signed messages as Standard Webhooks has them (<https://www.standardwebhooks.com>, specification 1.0): HMAC-SHA256 over the id, the time
//! and the body, with dots between, in the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`.

use crate::error::SignatureError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use http::HeaderMap;
use sha2::Sha256;

/// How old a message may be, and how far in the future, in seconds.
pub const LONGEST_AGE: u64 = 300;

const ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";
/// How a secret that is written in base64 begins.
const PREFIX: &str = "whsec_";

/// The headers of a signed message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Names and values.
    pub headers: [(&'static str, String); 3],
}

/// The bytes of a secret: base64 after `whsec_`, else as it is written. Errors: there are none, so anybody could sign.
pub(crate) fn key(secret: &str) -> Result<Vec<u8>, SignatureError> {
    let key = match secret.strip_prefix(PREFIX) {
        Some(text) => STANDARD.decode(text).map_err(|_| SignatureError::NotBase64)?,
        None if secret.trim().is_empty() => Vec::new(),
        None => secret.as_bytes().to_vec(),
    };
    if key.is_empty() { Err(SignatureError::EmptySecret) } else { Ok(key) }
}

fn mac(secret: &str, id: &str, timestamp: &str, body: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key(secret).ok()?).ok()?;
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    Some(mac)
}

/// Signs a message of this time, in seconds since 1970. With a secret that has no key the signature is empty, and fits nothing.
pub fn sign(secret: &str, id: &str, now: u64, body: &[u8]) -> Signed {
    let timestamp = now.to_string();
    let signature = mac(secret, id, &timestamp, body).map(|mac| STANDARD.encode(mac.finalize().into_bytes()));
    let signature = format!("v1,{}", signature.unwrap_or_default());
    Signed { headers: [(ID, id.into()), (TIMESTAMP, timestamp), (SIGNATURE, signature)] }
}

/// Whether a message of this time is new enough, in seconds since 1970. Errors: it is too old, or of a clock that is fast.
pub(crate) fn check_age(at: u64, now: u64) -> Result<(), SignatureError> {
    match now.abs_diff(at) > LONGEST_AGE {
        true if at > now => Err(SignatureError::Future),
        true => Err(SignatureError::Old),
        false => Ok(()),
    }
}

/// Whether a message is genuine and new enough. Returns its id. Errors: what is wrong, in a few words.
pub fn verify(secret: &str, headers: &HeaderMap, body: &[u8], now: u64) -> Result<String, SignatureError> {
    let header =
        |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim).filter(|text| !text.is_empty());
    let needed = |name| header(name).ok_or(SignatureError::Missing(name));
    let (id, timestamp, signatures) = (needed(ID)?, needed(TIMESTAMP)?, needed(SIGNATURE)?);
    let at: u64 = timestamp.parse().map_err(|_| SignatureError::Timestamp)?;
    if key(secret).is_err() {
        return Err(SignatureError::NoSecret);
    }
    // While a secret is changed, a sender signs with both.
    let fits = |text: &str| {
        let given = text.strip_prefix("v1,").and_then(|text| STANDARD.decode(text).ok());
        let (Some(given), Some(mac)) = (given, mac(secret, id, timestamp, body)) else { return false };
        mac.verify_slice(&given).is_ok()
    };
    if !signatures.split_ascii_whitespace().any(fits) {
        return Err(SignatureError::Wrong);
    }
    check_age(at, now)?;
    Ok(id.into())
}
