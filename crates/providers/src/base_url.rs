//! The address of a server. Built without HTTP there is none.

#[cfg(feature = "http")]
use std::cell::Cell;

/// An `http` or `https` address with a host.
#[derive(Clone, Debug)]
pub(crate) struct BaseUrl(Inner);

#[cfg(feature = "http")]
type Inner = url::Url;
#[cfg(not(feature = "http"))]
type Inner = std::convert::Infallible;

/// How the names of parameters end that hold a key, without what is no letter or digit.
#[cfg(feature = "http")]
const KEY_NAMES: [&str; 7] = ["key", "token", "secret", "password", "passwd", "signature", "sig"];

#[cfg(feature = "http")]
impl BaseUrl {
    /// Returns `None` for an address that the parser would have to repair (`http:HOST`, `http:\\HOST`): what is checked must be what
    /// is used.
    pub fn parse(text: &str) -> Option<BaseUrl> {
        let repaired = Cell::new(false);
        let note = |violation| {
            use url::SyntaxViolation::{Backslash, ExpectedDoubleSlash, TabOrNewlineIgnored};
            repaired.set(repaired.get() || matches!(violation, Backslash | ExpectedDoubleSlash | TabOrNewlineIgnored));
        };
        let parsed = url::Url::options().syntax_violation_callback(Some(&note)).parse(text.trim());
        let mut url = parsed.ok().filter(|_| !repaired.get())?;
        url.set_fragment(None);
        (matches!(url.scheme(), "http" | "https") && url.host_str().is_some()).then_some(BaseUrl(url))
    }

    pub fn has_password(&self) -> bool {
        !self.0.username().is_empty() || self.0.password().is_some()
    }

    /// The name of a query parameter that holds a key, if one does.
    pub fn key_in_query(&self) -> Option<String> {
        let holds_key = |name: &str| {
            let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
            KEY_NAMES.iter().any(|ending| plain.to_ascii_lowercase().ends_with(ending))
        };
        self.0.query_pairs().map(|(name, _)| name.into_owned()).find(|name| holds_key(name))
    }

    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The port, where the address names one.
    pub fn port(&self) -> Option<u16> {
        self.0.port()
    }

    pub fn path(&self) -> &str {
        self.0.path()
    }

    pub fn set_path(&mut self, path: &str) {
        self.0.set_path(path);
    }

    /// The same with a port; itself where it can have none.
    pub fn with_port(mut self, port: Option<u16>) -> BaseUrl {
        let _ = self.0.set_port(port);
        self
    }

    pub fn into_text(self) -> String {
        self.0.into()
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// The port to connect to.
    pub fn port_or_usual(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(80)
    }

    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }
}

#[cfg(not(feature = "http"))]
impl BaseUrl {
    pub fn parse(_: &str) -> Option<BaseUrl> {
        None
    }

    pub fn has_password(&self) -> bool {
        match self.0 {}
    }

    pub fn key_in_query(&self) -> Option<String> {
        match self.0 {}
    }

    pub fn host(&self) -> &str {
        match self.0 {}
    }

    pub fn origin(&self) -> String {
        match self.0 {}
    }

    pub fn port(&self) -> Option<u16> {
        match self.0 {}
    }

    pub fn path(&self) -> &str {
        match self.0 {}
    }

    pub fn set_path(&mut self, _: &str) {
        match self.0 {}
    }

    pub fn with_port(self, _: Option<u16>) -> BaseUrl {
        match self.0 {}
    }

    pub fn into_text(self) -> String {
        match self.0 {}
    }
}
