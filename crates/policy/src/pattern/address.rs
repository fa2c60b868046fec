//! Patterns for addresses, and addresses in the one form in which they are compared.

use super::error::PatternError;
use super::fit::{Fit, Reading};
use crate::UrlFact;
use crate::glob::Glob;

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];

/// `GET https://*.example.com:8443/v1/**`; without a path, every path.
#[derive(Clone, Debug)]
pub(crate) struct AddressPattern {
    /// Empty for every method.
    methods: Vec<String>,
    /// `None` for every address.
    place: Option<PlacePattern>,
}

#[derive(Clone, Debug)]
struct PlacePattern {
    scheme: Glob,
    host: HostPattern,
    port: Option<Port>,
    path: Option<Glob>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Any,
    /// `*.example.com`: every host below it, not itself.
    Below(String),
    Just(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Any,
    Just(u16),
}

/// A pattern for addresses as rules have it, for allow-lists elsewhere: `GET,POST https://api.example.com/v1/**`.
#[derive(Clone, Debug)]
pub struct AddressRule(AddressPattern);

impl AddressRule {
    /// Reads a pattern. Errors: what is wrong.
    pub fn parse(text: &str) -> Result<AddressRule, PatternError> {
        AddressPattern::parse(text).map(AddressRule)
    }

    /// Whether it allows such a request.
    pub fn allows(&self, fact: &UrlFact) -> bool {
        self.0.fit(&Address::new(fact), Reading::Strict) == Fit::Yes
    }

    /// Whether it names a server, or those below a domain, rather than any.
    pub fn names_server(&self) -> bool {
        self.0.is_of_one_server()
    }
}

/// An address as the one who asks it understands it (url 2.5: the WHATWG rules, as reqwest follows them).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    method: String,
    /// `None` for what is no address.
    place: Option<Target>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    scheme: String,
    host: String,
    port: Option<u16>,
    path: String,
    has_user: bool,
}

#[cfg(feature = "urls")]
impl Target {
    fn read(text: &str) -> Option<Target> {
        let url = url::Url::parse(text.trim()).ok()?;
        Some(Target {
            scheme: url.scheme().into(),
            host: url.host_str()?.trim_end_matches('.').to_ascii_lowercase(),
            port: url.port_or_known_default(),
            path: plain_path(url.path()),
            has_user: !url.username().is_empty() || url.password().is_some(),
        })
    }
}

#[cfg(not(feature = "urls"))]
impl Target {
    fn read(_: &str) -> Option<Target> {
        None
    }
}

impl Address {
    /// Reads an address.
    pub fn new(fact: &UrlFact) -> Address {
        Address { method: fact.method.to_ascii_uppercase(), place: Target::read(&fact.url) }
    }

    /// The method with scheme, host, port and path, as a pattern that fits nothing else.
    pub fn pattern(&self) -> Option<String> {
        let Target { scheme, host, port, path, has_user } = self.place.as_ref()?;
        let usual = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let port = port.filter(|port| *port != usual).map(|port| format!(":{port}")).unwrap_or_default();
        let path = crate::glob::escaped(path);
        (!has_user && METHODS.contains(&self.method.as_str()))
            .then(|| format!("{} {scheme}://{host}{port}{path}", self.method))
    }
}

/// Whether words look like an address with or without methods before it.
pub(crate) fn is_address(text: &str) -> bool {
    text.contains("://") || methods(text).is_some()
}

/// `POST,PUT rest`: the methods and the rest.
fn methods(text: &str) -> Option<(Vec<String>, &str)> {
    let (first, rest) = text.split_once(char::is_whitespace)?;
    let methods: Vec<String> = first.split(',').map(str::to_ascii_uppercase).collect();
    methods.iter().all(|method| METHODS.contains(&method.as_str())).then(|| (methods, rest.trim()))
}

/// What is wrong with words that stand where methods do.
fn no_methods(words: &str) -> Option<PatternError> {
    let wrong = words.split(',').find(|word| !METHODS.contains(&word.to_ascii_uppercase().as_str()))?;
    let likeness = |method: &&str| strsim::damerau_levenshtein(method, &wrong.to_ascii_uppercase());
    let near = METHODS.into_iter().min_by_key(likeness).filter(|method| likeness(method) <= 2);
    Some(PatternError::NotAMethod { word: wrong.into(), meant: near })
}

impl AddressPattern {
    /// Reads a pattern. Errors: what is wrong.
    pub fn parse(text: &str) -> Result<AddressPattern, PatternError> {
        let (methods, rest) = methods(text).unwrap_or((Vec::new(), text.trim()));
        if rest == "*" {
            return Ok(AddressPattern { methods, place: None });
        }
        if cfg!(not(feature = "urls")) {
            return Err(PatternError::NoAddresses(text.into()));
        }
        let bad = || PatternError::NotAnAddress(text.into());
        if let Some((first, _)) = rest.split_once(char::is_whitespace) {
            return Err(no_methods(first).filter(|_| !first.contains("://")).unwrap_or_else(bad));
        }
        let (scheme, rest) = rest.split_once("://").ok_or_else(bad)?;
        let (place, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if place.contains('@') || path.contains('#') || rest.is_empty() {
            return Err(bad());
        }
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (place, None),
        };
        if let Some((before, query)) = path.split_once('?')
            && query.contains('=')
        {
            let instead = format!("{scheme}://{place}{before}");
            return Err(PatternError::Query { text: text.into(), instead });
        }
        let port = match port {
            Some("*") => Some(Port::Any),
            Some(port) => Some(Port::Just(port.parse().map_err(|_| bad())?)),
            None => None,
        };
        let host = match (host, host.strip_prefix("*.")) {
            ("*", _) => HostPattern::Any,
            (_, Some(domain)) => HostPattern::Below(format!(".{}", one_host(domain).ok_or_else(bad)?)),
            (host, None) => HostPattern::Just(one_host(host).ok_or_else(bad)?),
        };
        let path = (!path.is_empty()).then(|| Glob::path(path)).transpose()?;
        let scheme = Glob::word(&scheme.to_ascii_lowercase())?;
        Ok(AddressPattern { methods, place: Some(PlacePattern { scheme, host, port, path }) })
    }

    /// Whether it names a server, or those below a domain.
    pub fn is_of_one_server(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.host != HostPattern::Any)
    }

    /// How well it fits an address.
    pub fn fit(&self, address: &Address, reading: Reading) -> Fit {
        if !self.methods.is_empty() && !self.methods.contains(&address.method) {
            return Fit::No;
        }
        match (&self.place, &address.place) {
            (None, _) => Fit::Yes,
            // Whatever it is, it is not what was allowed, and may be what was forbidden.
            (Some(_), None) if reading == Reading::Wide => Fit::Maybe,
            (Some(_), None) => Fit::No,
            (Some(pattern), Some(target)) => Fit::from(pattern.matches(target, reading)),
        }
    }
}

impl PlacePattern {
    fn matches(&self, target: &Target, reading: Reading) -> bool {
        let host = match &self.host {
            HostPattern::Any => true,
            HostPattern::Below(domain) => target.host.ends_with(domain.as_str()),
            HostPattern::Just(host) => *host == target.host,
        };
        let port = match self.port {
            Some(Port::Any) => true,
            Some(Port::Just(port)) => target.port == Some(port),
            // A wide reading means the host, whatever its port.
            None => {
                let usual = match target.scheme.as_str() {
                    "http" => Some(80),
                    "https" => Some(443),
                    _ => None,
                };
                reading == Reading::Wide || target.port == usual
            }
        };
        let path = self.path.as_ref().is_none_or(|path| path.matches(&target.path));
        host && port && path && self.scheme.matches(&target.scheme) && (reading == Reading::Wide || !target.has_user)
    }
}

/// A host in the form in which it is compared.
#[cfg(feature = "urls")]
fn one_host(host: &str) -> Option<String> {
    let host = url::Host::parse(host).ok()?;
    Some(host.to_string().trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(not(feature = "urls"))]
fn one_host(_: &str) -> Option<String> {
    None
}

/// A path with what needs no percent sign written plainly, and no slash doubled.
#[cfg(feature = "urls")]
fn plain_path(path: &str) -> String {
    let mut bytes = path.bytes();
    let mut plain: Vec<u8> = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digits = (ahead.next(), ahead.next());
        let decoded = match (byte, digits) {
            (b'%', (Some(high), Some(low))) => hex(high).zip(hex(low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        match decoded {
            Some(letter) => {
                bytes = ahead;
                match letter.is_ascii_alphanumeric() || b"-._~".contains(&letter) {
                    true => plain.push(letter),
                    false => plain.extend(format!("%{letter:02X}").bytes()),
                }
            }
            None if byte == b'/' && plain.last() == Some(&b'/') => {}
            None => plain.push(byte),
        }
    }
    String::from_utf8(plain).unwrap_or_else(|_| path.into())
}

#[cfg(feature = "urls")]
fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(feature = "urls")]
#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, method: &str, url: &str) -> (Fit, Fit) {
        let address = Address::new(&UrlFact { method: method.into(), url: url.into() });
        let pattern = AddressPattern::parse(pattern).unwrap();
        (pattern.fit(&address, Reading::Wide), pattern.fit(&address, Reading::Strict))
    }

    #[test]
    fn an_address_is_what_a_client_makes_of_it() {
        use Fit::*;
        let api = "https://api.example.com/v1/**";
        for (pattern, url, wide, strict) in [
            (api, "https://api.example.com/v1/x/y?q=1#f", Yes, Yes),
            (api, "https://api.example.com/v1/", Yes, Yes),
            (api, "https://API.Example.COM:443/v1/x", Yes, Yes),
            (api, "https://api.example.com./v1/x", Yes, Yes),
            (api, "https://api.example.com/v2/../v1/x", Yes, Yes),
            (api, "https://api.example.com/v1/../admin", No, No),
            (api, "https://api.example.com/v1/%2e%2e/admin", No, No),
            (api, "https://api.example.com/%76%31/x", Yes, Yes),
            (api, "https://api.example.com//v1//x", Yes, Yes),
            (api, r"https:\\api.example.com\v1\x", Yes, Yes),
            (api, "https://api.example.com@evil.com/v1/x", No, No),
            (api, "https://evil.com/https://api.example.com/v1/x", No, No),
            (api, "https://evil.com#@api.example.com/v1/x", No, No),
            (api, "https://user:pw@api.example.com/v1/x", Yes, No),
            (api, "https://api.example.com.evil.com/v1/x", No, No),
            (api, "https://api.example.com:8443/v1/x", Yes, No),
            (api, "http://api.example.com/v1/x", No, No),
            (api, "https://api.example.com/v1%2Fx", No, No),
            (api, "not an address", Maybe, No),
            ("https://*.example.com", "https://a.b.example.com/x", Yes, Yes),
            ("https://*.example.com", "https://example.com/x", No, No),
            ("https://*.example.com", "https://badexample.com/x", No, No),
            ("*://*:*/**", "http://h:99/x", Yes, Yes),
            ("http://127.0.0.1:*/**", "http://2130706433:80/x", Yes, Yes),
            ("http://127.0.0.1:*/**", "http://0x7f.1/x", Yes, Yes),
            ("http://[::1]:8080/**", "http://[0:0:0:0:0:0:0:1]:8080/x", Yes, Yes),
            ("https://bücher.example/**", "https://xn--bcher-kva.example/x", Yes, Yes),
            ("https://h/a/*/c", "https://h/a/b/c", Yes, Yes),
            ("https://h/a/*/c", "https://h/a/b/b/c", No, No),
        ] {
            assert_eq!(fits(pattern, "GET", url), (wide, strict), "{pattern} {url}");
        }
    }

    #[test]
    fn methods_count_where_they_are_named() {
        for (pattern, method, expected) in [
            ("GET https://h/**", "GET", Fit::Yes),
            ("get https://h/**", "GET", Fit::Yes),
            ("GET https://h/**", "POST", Fit::No),
            ("POST,PUT *", "PUT", Fit::Yes),
            ("https://h/**", "DELETE", Fit::Yes),
        ] {
            assert_eq!(fits(pattern, method, "https://h/x").1, expected, "{pattern} {method}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in ["https://", "https://a@b/", "GET x", "https://h:99999/", "https://h/#f", "https://a b/"] {
            assert!(AddressPattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_pattern_of_an_address_fits_it() {
        for url in ["https://h/a", "http://h:8080/a/b*c", "https://H/%7ea?x=1", "https://h"] {
            let address = Address::new(&UrlFact { method: "GET".into(), url: url.into() });
            let pattern = AddressPattern::parse(&address.pattern().unwrap()).unwrap();
            assert_eq!(pattern.fit(&address, Reading::Strict), Fit::Yes, "{url}");
        }
    }
}
