//! Servers of the owner's that answer with JSON to whoever has a key.

use crate::ask::Ask;
use crate::client::{Answer, Caps, Client, stay};
use crate::error::NotReady;
use crate::settings::{Secret, SecretName, WebAddress};
use mainpath_tools::Problem;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value;
use std::time::Duration;

/// A server of the owner's, and the key for it.
#[derive(Clone)]
pub struct Api {
    client: Client,
    base: Url,
    key: HeaderValue,
}

/// What is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct ApiAsk<'a> {
    /// The parts of the path, after that of the server's own address.
    pub path: &'a [&'a str],
    /// The query, as it is written in an address; empty for none.
    pub query: &'a str,
    /// What is posted; without it, it is a GET.
    pub body: Option<&'a Value>,
    /// A key under which the same is done once.
    pub once: Option<&'a str>,
    /// How long the server may wait for something to tell.
    pub wait: Option<Duration>,
    /// The most bytes of the answer.
    pub most: usize,
}

/// How long an exchange may take, besides what the server may wait.
const LIMIT: Duration = Duration::from_secs(30);

impl Api {
    /// A server at this address, which may be private since the owner has written it. Errors: the key is missing, or cannot be sent.
    pub fn new(client: &Client, url: &WebAddress, key: &SecretName, secret: Secret<'_>) -> Result<Api, NotReady> {
        let value = key.value(secret)?;
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", value.trim()))
            .map_err(|_| NotReady::Secret { name: key.as_str().into(), found: "what cannot be sent as a key" })?;
        bearer.set_sensitive(true);
        Ok(Api { client: client.trusting(url.url()), base: url.url().clone(), key: bearer })
    }

    /// Its address.
    pub fn url(&self) -> &Url {
        &self.base
    }

    /// Asks it and gives the answer, whatever its status. Errors: as [`Client::send`]'s.
    pub async fn send(&self, ask: ApiAsk<'_>) -> Result<Answer, Problem> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(ask.path);
        }
        url.set_query(Some(ask.query).filter(|query| !query.is_empty()));
        let mut request = match ask.body {
            Some(body) => Ask::post(url, body),
            None => Ask { method: Method::GET, url, headers: HeaderMap::new(), body: None },
        };
        request.headers.insert(AUTHORIZATION, self.key.clone());
        let more = [
            ("idempotency-key", ask.once.map(String::from)),
            ("prefer", ask.wait.map(|wait| format!("wait={}", wait.as_secs()))),
        ];
        for (name, value) in more {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                request.headers.insert(HeaderName::from_static(name), value);
            }
        }
        let time = LIMIT + ask.wait.unwrap_or_default();
        self.client.send(request, Caps { bytes: ask.most, ..Caps::within(time) }, &stay).await
    }
}
