//! The HTTP client for servers.

use crate::error::ServerError;
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// As many redirections are followed.
const REDIRECTS: usize = 5;

/// The client for a server. Only redirections that keep method, body and origin are followed: everything else would send
/// the headers, and what is in them, somewhere else. Errors: HTTPS cannot be set up.
pub(crate) fn client(url: &reqwest::Url) -> Result<reqwest::Client, ServerError> {
    // If another part of the process has installed one, that is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let is_loopback = match url.host_str() {
        Some(host) => host == "localhost" || host.trim_matches(['[', ']']).parse().is_ok_and(is_loopback),
        None => false,
    };
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("mainpath/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .referer(false)
        .redirect(reqwest::redirect::Policy::custom(|attempt| {
            let keeps = matches!(attempt.status().as_u16(), 307 | 308);
            let stays = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
            match keeps && stays && attempt.previous().len() <= REDIRECTS {
                true => attempt.follow(),
                false => attempt.stop(),
            }
        }))
        // What a server has not read to its end must not stand before the next request.
        .pool_max_idle_per_host(0);
    if is_loopback {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| ServerError::Https(Arc::new(error)))
}

fn is_loopback(address: std::net::IpAddr) -> bool {
    address.is_loopback()
}
