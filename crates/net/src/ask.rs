//! What is asked of a server.

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, Url};

/// The methods that a tool can use.
pub(crate) const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// What is asked.
#[derive(Clone, Debug)]
pub struct Ask {
    /// How.
    pub method: Method,
    /// Where.
    pub url: Url,
    /// Headers. Across origins only those that describe what is wanted are sent on.
    pub headers: HeaderMap,
    /// What is sent.
    pub body: Option<Bytes>,
}

impl Ask {
    /// A GET.
    pub fn get(url: Url) -> Ask {
        Ask { method: Method::GET, url, headers: HeaderMap::new(), body: None }
    }

    /// A POST of JSON.
    pub fn post(url: Url, json: &serde_json::Value) -> Ask {
        let mut headers = HeaderMap::new();
        headers.insert(reqwest::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ask { method: Method::POST, url, headers, body: Some(json.to_string().into()) }
    }
}

/// An address without what may be secret in it.
pub(crate) fn bare(url: &Url) -> String {
    let mut url = url.clone();
    let _ = (url.set_password(None), url.set_username(""));
    url.set_query(None);
    url.set_fragment(None);
    let mut text = url.to_string();
    if let Some((at, _)) = text.char_indices().nth(300) {
        text.truncate(at);
        text.push('…');
    }
    text
}
