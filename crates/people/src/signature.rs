//! Signed messages as Standard Webhooks has them (<https://www.standardwebhooks.com>, specification 1.0): HMAC-SHA256 over the id, the time
//! and the body, with dots between, in the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`.

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
pub(crate) fn key(secret: &str) -> Result<Vec<u8>, &'static str> {
    let key = match secret.strip_prefix(PREFIX) {
        Some(text) => STANDARD.decode(text).map_err(|_| "what follows whsec_ is not base64")?,
        None if secret.trim().is_empty() => Vec::new(),
        None => secret.as_bytes().to_vec(),
    };
    if key.is_empty() { Err("it is empty") } else { Ok(key) }
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
pub(crate) fn check_age(at: u64, now: u64) -> Result<(), &'static str> {
    match now.abs_diff(at) > LONGEST_AGE {
        true if at > now => Err("its time is more than 5 minutes in the future; check the clocks"),
        true => Err("it is older than 5 minutes"),
        false => Ok(()),
    }
}

/// Whether a message is genuine and new enough. Returns its id. Errors: what is wrong, in a few words.
pub fn verify(secret: &str, headers: &HeaderMap, body: &[u8], now: u64) -> Result<String, &'static str> {
    let header =
        |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim).filter(|text| !text.is_empty());
    let (id, timestamp) =
        (header(ID).ok_or("webhook-id is missing")?, header(TIMESTAMP).ok_or("webhook-timestamp is missing")?);
    let signatures = header(SIGNATURE).ok_or("webhook-signature is missing")?;
    let at: u64 = timestamp.parse().map_err(|_| "webhook-timestamp is not a number of seconds")?;
    if key(secret).is_err() {
        return Err("there is no secret to check it with");
    }
    // While a secret is changed, a sender signs with both.
    let fits = |text: &str| {
        let given = text.strip_prefix("v1,").and_then(|text| STANDARD.decode(text).ok());
        let (Some(given), Some(mac)) = (given, mac(secret, id, timestamp, body)) else { return false };
        mac.verify_slice(&given).is_ok()
    };
    if !signatures.split_ascii_whitespace().any(fits) {
        return Err("the signature is wrong");
    }
    check_age(at, now)?;
    Ok(id.into())
}
