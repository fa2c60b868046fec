//! Addresses that are given JSON and answer with a text or JSON.

use crate::ask::Ask;
use crate::client::{Answer, Caps, Client, stay};
use crate::error::NotReady;
use crate::settings::{Secret, SecretTexts, WebAddress};
use mainpath_tools::Problem;
use reqwest::Url;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::time::Duration;

/// An address of the owner's that JSON is posted to.
#[derive(Clone)]
pub struct Post {
    client: Client,
    url: Url,
    headers: HeaderMap,
}

impl Post {
    /// To this address, which may be private since the owner has written it. Errors: a secret is missing.
    pub fn new(client: &Client, url: &WebAddress, headers: &SecretTexts, secret: Secret<'_>) -> Result<Post, NotReady> {
        Ok(Post { client: client.trusting(&url.0), url: url.0.clone(), headers: headers.headers(secret)? })
    }

    /// The address.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Posts it and gives the answer, whatever its status. Errors: as [`Client::send`]'s.
    pub async fn send(&self, json: &Value, limit: Duration) -> Result<Answer, Problem> {
        let mut ask = Ask::post(self.url.clone(), json);
        ask.headers.extend(self.headers.clone());
        self.client.send(ask, Caps::within(limit), &stay).await
    }
}
