//! Where a server is and what is peculiar about it.

use std::fmt;
use std::time::Duration;

use crate::base_url::BaseUrl;

/// A server that speaks some wire format.
#[derive(Clone, Debug)]
pub struct Endpoint {
    base_url: BaseUrl,
    /// The key, if the server wants one.
    pub key: Option<Key>,
    /// Headers that every request carries besides the format's own, such as an API version.
    pub headers: Vec<(String, String)>,
    /// Where it differs from the published format.
    pub quirks: Quirks,
    /// How long to wait for it.
    pub timeouts: Timeouts,
    /// How much of an answer is read, in bytes.
    pub max_response: usize,
}

impl Endpoint {
    /// An endpoint without key or quirks. `base_url` is what the vendor's own SDK would be given, such as
    /// `http://127.0.0.1:8080/v1`.
    ///
    /// # Errors
    /// When it is no `http` or `https` address, or carries a password: keys do not belong into addresses, which are
    /// logged.
    pub fn new(base_url: &str) -> Result<Endpoint, BadBaseUrl> {
        let url = BaseUrl::parse(base_url).ok_or_else(|| BadBaseUrl::NoUrl(shown(base_url)))?;
        if url.has_password() {
            return Err(BadBaseUrl::HasPassword(url.host().into()));
        }
        Ok(Endpoint {
            base_url: url,
            key: None,
            headers: Vec::new(),
            quirks: Quirks::default(),
            timeouts: Timeouts::default(),
            max_response: 32 << 20,
        })
    }

    /// The same, if no key stands in its query: for an address that is recorded.
    ///
    /// # Errors
    /// [`BadBaseUrl::HasKey`].
    pub(crate) fn recorded(self) -> Result<Endpoint, BadBaseUrl> {
        match self.base_url.key_in_query() {
            Some(parameter) => Err(BadBaseUrl::HasKey { host: self.base_url.host().into(), parameter }),
            None => Ok(self),
        }
    }

    /// Makes this path part of the base address, unless it ends in it already.
    pub(crate) fn enter(&mut self, path: &str) {
        let base = self.base_url.path().trim_end_matches('/');
        if !path.is_empty() && !base.ends_with(&format!("/{path}")) {
            let joined = format!("{base}/{path}");
            self.base_url.set_path(&joined);
        }
    }

    /// The base address followed by a path such as `chat/completions`; a query of the base address stays.
    pub fn url(&self, path: &str) -> String {
        let mut url = self.base_url.clone();
        let joined = format!("{}/{}", url.path().trim_end_matches('/'), path);
        url.set_path(&joined);
        url.into_text()
    }

    /// Scheme, host and port.
    pub(crate) fn origin(&self) -> String {
        self.base_url.origin()
    }

    /// The host and, if the address names one, the port: `127.0.0.1:8080`.
    pub(crate) fn host(&self) -> String {
        let host = self.base_url.host();
        self.base_url.port().map_or_else(|| host.into(), |port| format!("{host}:{port}"))
    }

    /// The host and port to connect to.
    #[cfg(feature = "http")]
    pub(crate) fn socket(&self) -> (String, u16) {
        (self.base_url.host().trim_matches(['[', ']']).into(), self.base_url.port_or_usual())
    }

    /// Whether connections are encrypted.
    #[cfg(feature = "http")]
    pub(crate) fn is_https(&self) -> bool {
        self.base_url.is_https()
    }

    /// Whether the server is on this machine.
    #[cfg(feature = "http")]
    pub(crate) fn is_loopback(&self) -> bool {
        // A literal IPv6 host stands in brackets.
        let host = self.base_url.host().trim_matches(['[', ']']);
        let local_name = host == "localhost" || host.ends_with(".localhost");
        local_name || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    }
}

fn shown(url: &str) -> String {
    // What stands before an @ may be a password.
    let text = url.trim();
    let text = text.rsplit_once('@').map_or(text, |(_, rest)| rest);
    crate::words::one_line(text, 100)
}

/// An address that is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBaseUrl {
    /// Not an address of the web.
    #[error("{0:?} is not an http:// or https:// address")]
    NoUrl(String),
    /// A user name or password in the address.
    #[error("the address of {0} contains a user name or password; leave it out and set the key's variable instead")]
    HasPassword(String),
    /// A key in the query of an address that stands in a model's name, which is recorded.
    #[error(
        "the address of {host} holds a key in its query ({parameter}=…), and would be recorded with it; set the key's variable, or name the \
         server in the configuration ([providers.NAME] with base_url)"
    )]
    HasKey {
        /// Whose address.
        host: String,
        /// The parameter's name.
        parameter: String,
    },
}

/// A key. Nothing prints it.
#[derive(Clone)]
pub struct Key(Box<str>);

impl Key {
    /// A key without the white space around it; `None` if nothing is left.
    pub fn new(value: &str) -> Option<Key> {
        let value = value.trim();
        (!value.is_empty()).then(|| Key(value.into()))
    }

    /// The key itself, for who sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Where a server differs from the published format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// Which field limits the output.
    pub output_limit: OutputLimit,
    /// Whether it can stream; where it cannot, answers are asked for whole.
    pub stream: bool,
    /// Whether it holds a final answer to a JSON Schema by itself.
    pub output_schema: bool,
    /// Whether it wants to be told which parts of a request to cache.
    pub cache_marks: bool,
    /// Whether it wants the text of earlier reasoning back (Chat Completions; DeepSeek).
    pub return_reasoning: bool,
    /// The output limit where the request names none and the format demands one, in tokens.
    pub default_output: u64,
}

impl Default for Quirks {
    /// What compatible servers understand: `max_tokens`, streaming, and nothing that is not in every server.
    fn default() -> Quirks {
        Quirks {
            output_limit: OutputLimit::MaxTokens,
            stream: true,
            output_schema: false,
            cache_marks: false,
            return_reasoning: false,
            default_output: 8192,
        }
    }
}

/// The name of the field that limits the output in Chat Completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimit {
    /// `max_tokens`: deprecated at OpenAI, and the only one that many compatible servers know.
    MaxTokens,
    /// `max_completion_tokens`: the one that OpenAI's reasoning models accept.
    MaxCompletionTokens,
}

/// How long to wait. There is no limit on the whole: a long answer that keeps coming is fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From sending to the first byte of the answer: a local model may read a long prompt for minutes.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    /// Five minutes to the first byte, 120 seconds between pieces.
    fn default() -> Timeouts {
        Timeouts { first_byte: Duration::from_secs(300), idle: Duration::from_secs(120) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_joined_with_one_slash_and_keeps_the_query() {
        let url = |base: &str| Endpoint::new(base).unwrap().url("chat/completions");
        assert_eq!(url("http://127.0.0.1:8080/v1"), "http://127.0.0.1:8080/v1/chat/completions");
        assert_eq!(url("http://127.0.0.1:8080/v1/"), "http://127.0.0.1:8080/v1/chat/completions");
        assert_eq!(url("http://host"), "http://host/chat/completions");
        assert_eq!(url("https://host/a?api-version=1"), "https://host/a/chat/completions?api-version=1");
    }

    #[test]
    fn what_is_no_web_address_or_carries_a_password_is_refused_without_showing_it() {
        let refused = |base: &str| Endpoint::new(base).unwrap_err().to_string();
        assert_eq!(refused("ftp://x"), "\"ftp://x\" is not an http:// or https:// address");
        assert_eq!(refused("127.0.0.1:80"), "\"127.0.0.1:80\" is not an http:// or https:// address");
        let with_password = refused("http://me:hunter2@host/v1");
        assert_eq!(
            with_password,
            "the address of host contains a user name or password; leave it out and set the key's variable instead"
        );
        assert!(!refused("htp://me:hunter2@host").contains("hunter2"));
    }

    #[test]
    fn an_address_that_is_recorded_holds_no_key_in_its_query() {
        let refused = |query: &str| {
            let endpoint = Endpoint::new(&format!("https://host/v1?{query}")).unwrap().recorded();
            endpoint.err().map(|why| why.to_string())
        };
        for parameter in ["api_key", "api-key", "key", "Access-Token", "subscription-key", "sig"] {
            let why = refused(&format!("a=1&{parameter}=hunter2")).unwrap();
            assert!(why.contains(&format!("({parameter}=…)")) && !why.contains("hunter2"), "{why}");
        }
        assert_eq!(refused("api-version=1&monkey-business=2&tokens=3"), None);
    }

    #[test]
    fn loopback_is_known_by_name_and_by_number() {
        let local = |base: &str| Endpoint::new(base).unwrap().is_loopback();
        for base in ["http://localhost:1", "http://a.localhost", "http://127.8.0.1", "http://[::1]:9/v1"] {
            assert!(local(base), "{base}");
        }
        for base in ["http://10.0.0.1", "http://localhost.example.com", "https://[2001:db8::1]"] {
            assert!(!local(base), "{base}");
        }
    }

    #[test]
    fn a_key_is_trimmed_and_its_debug_shows_nothing() {
        let mut endpoint = Endpoint::new("http://host").unwrap();
        endpoint.key = Key::new(" sk-secret\n");
        assert_eq!(endpoint.key.as_ref().map(Key::reveal), Some("sk-secret"));
        assert!(!format!("{endpoint:?}").contains("secret"));
        assert!(Key::new(" \n").is_none());
    }
}
