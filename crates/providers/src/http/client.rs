//! The connections of a process.

use super::limiter::Limiter;
use crate::endpoint::Endpoint;
use crate::words::{error, innermost};
use mainpath_types::{ModelError, ModelErrorKind};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How long a connection may take to come about.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The HTTP client that all providers of a process share, with its pool of open connections.
///
/// There is one per kind of server, made when the first call needs it: reading the machine's root certificates costs
/// milliseconds, which plain HTTP need not pay. A process rarely has more than one. The proxies of the environment are
/// used, except for this machine. Connections belong to the runtime that opened them, so two runtimes should not share
/// a client.
#[derive(Clone, Default)]
pub struct HttpClient {
    kinds: Arc<[OnceLock<reqwest::Client>; 4]>,
    limiters: Arc<Mutex<HashMap<Behind, Arc<Limiter>>>>,
}

/// A server and the key that it knows us by.
type Behind = (String, Option<Box<str>>);

impl HttpClient {
    /// A client without connections.
    pub fn new() -> HttpClient {
        HttpClient::default()
    }

    /// The client that fits a server.
    pub(crate) fn for_endpoint(&self, endpoint: &Endpoint) -> Result<reqwest::Client, ModelError> {
        let proxies = !endpoint.is_loopback();
        self.get(endpoint.is_https() || (proxies && proxy_is_https()), proxies)
    }

    /// The limiter that all share who ask this server with this key.
    pub(crate) fn limiter(&self, endpoint: &Endpoint) -> Arc<Limiter> {
        let behind = (endpoint.origin(), endpoint.key.as_ref().map(|key| key.reveal().into()));
        let mut limiters = self.limiters.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(limiters.entry(behind).or_default())
    }

    fn get(&self, roots: bool, proxies: bool) -> Result<reqwest::Client, ModelError> {
        let kind = &self.kinds[usize::from(roots) * 2 + usize::from(proxies)];
        if let Some(client) = kind.get() {
            return Ok(client.clone());
        }
        // Two first calls at once may both build; one of the results is kept.
        let client = build(roots, proxies)?;
        Ok(kind.get_or_init(|| client).clone())
    }
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpClient")
    }
}

/// Whether the way to a plain server may lead through an encrypted proxy.
fn proxy_is_https() -> bool {
    let names = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
    names.iter().any(|name| std::env::var(name).is_ok_and(|proxy| proxy.starts_with("https:")))
}

fn build(roots: bool, proxies: bool) -> Result<reqwest::Client, ModelError> {
    let failed = |what: &dyn std::fmt::Display| {
        let message =
            format!("cannot set up HTTPS on this machine: {what}; are the system's root certificates installed?");
        error(ModelErrorKind::Connection, message)
    };
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("mainpath/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        // Ten thousand traces may talk to one server at once; what they opened is kept for their next turn.
        .pool_max_idle_per_host(usize::MAX)
        .pool_idle_timeout(Duration::from_secs(60));
    let crypto = rustls::crypto::ring::default_provider();
    if roots {
        // If another part of the process has installed one, that is as good.
        let _ = crypto.install_default();
    } else {
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(crypto))
            .with_safe_default_protocol_versions()
            .map_err(|e| failed(&e))?
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(config);
    }
    if !proxies {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|e| failed(&innermost(&e)))
}
