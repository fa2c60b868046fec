//! What went wrong on the way to a server, in words.

use crate::cause::{cause, innermost};
use crate::reach::Blocked;
use mainpath_tools::Problem;
use reqwest::Url;
use std::time::Duration;

/// A request that got no answer, or only a part of one.
pub(crate) fn failed(error: &reqwest::Error, url: &Url) -> Problem {
    if let Some(blocked) = cause::<Blocked>(error) {
        return Problem::new("blocked_address", blocked.to_string());
    }
    let (host, why) = (url.host_str().unwrap_or_default(), innermost(error));
    if let Some(tls) = cause::<rustls::Error>(error) {
        // A certificate that is not trusted, or no TLS at all: that does not pass by itself.
        return Problem::new("insecure", format!("there is no secure connection to {host}: {tls}."));
    }
    let text = if error.is_connect() {
        format!("{host} could not be reached: {why}.")
    } else if error.is_body() || error.is_decode() {
        format!("The answer of {host} broke off: {why}.")
    } else {
        format!("{host} gave no answer that can be understood: {why}.")
    };
    Problem::new("connection", text)
}

/// An answer that took too long.
pub(crate) fn late(url: &Url, limit: Duration) -> Problem {
    let host = url.host_str().unwrap_or_default();
    Problem::new("timeout", format!("{host} did not answer in full within {limit:?}."))
}
