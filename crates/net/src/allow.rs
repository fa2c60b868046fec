//! What a configuration lets tools ask: `GET,POST https://api.example.com/v1/**`.

use reqwest::{Method, Url};
use serde::Deserialize;

/// One line of an allow-list: methods and a pattern for addresses.
///
/// Methods are in capitals with commas between them, or `*`; where there are none, GET and HEAD are meant. The host is
/// exact, or begins with `*.` for everything below a domain. Without a port the scheme's own is meant. In the path `*` is
/// anything but a slash and `**` anything; in the query, which is only looked at if the pattern has one, both are anything.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Allow {
    text: String,
    /// Empty: all.
    methods: Vec<Method>,
    pattern: Url,
}

/// The methods that a tool can use.
pub(crate) const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

impl TryFrom<String> for Allow {
    type Error = String;

    fn try_from(text: String) -> Result<Allow, String> {
        let (methods, address) = match text.trim().split_once(char::is_whitespace) {
            Some(("*", address)) => (Vec::new(), address.trim()),
            Some((methods, address)) => {
                let methods = methods.split(',').map(|name| {
                    let known = METHODS.iter().find(|method| method.as_str() == name);
                    known.cloned().ok_or_else(|| {
                        format!("{name:?} in {text:?} is no method; there are GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS and *")
                    })
                });
                (methods.collect::<Result<_, _>>()?, address.trim())
            }
            None => (vec![Method::GET, Method::HEAD], text.trim()),
        };
        let example = "write it like GET https://api.example.com/v1/**";
        let pattern = Url::parse(address).map_err(|error| format!("{text:?} names no address ({error}); {example}"))?;
        if !matches!(pattern.scheme(), "http" | "https") {
            return Err(format!("{text:?} is neither http nor https; {example}"));
        }
        let host = pattern.host_str().unwrap_or_default();
        if host.strip_prefix("*.").unwrap_or(host).contains('*') {
            return Err(format!(
                "{text:?} has a * inside its host; it can only begin it, as in https://*.example.com/**"
            ));
        }
        if !pattern.username().is_empty() || pattern.password().is_some() || pattern.fragment().is_some() {
            return Err(format!("{text:?} holds a user, a password or a fragment, which no address of a tool does"));
        }
        Ok(Allow { text, methods, pattern })
    }
}

impl Allow {
    /// Whether this line is about such a request.
    pub fn covers(&self, method: &Method, url: &Url) -> bool {
        let (wanted, pattern) = (url.host_str().unwrap_or_default(), self.pattern.host_str().unwrap_or_default());
        let host = match pattern.strip_prefix('*') {
            Some(below) => wanted.len() > below.len() && wanted.ends_with(below),
            None => wanted == pattern,
        };
        (self.methods.is_empty() || self.methods.contains(method))
            && url.scheme() == self.pattern.scheme()
            && url.port_or_known_default() == self.pattern.port_or_known_default()
            && host
            && self.path_fits(url.path())
            && self.pattern.query().is_none_or(|query| fits(query, url.query().unwrap_or_default(), None))
    }

    fn path_fits(&self, path: &str) -> bool {
        // Servers differ in what they make of these, so only a pattern for all paths can mean them.
        let lower = path.to_ascii_lowercase();
        let odd = ["%2f", "%5c", "%00", "\\"].iter().any(|part| lower.contains(part))
            || lower.split('/').any(|name| name.starts_with("..") || name.starts_with("%2e"));
        if odd { self.pattern.path() == "/**" } else { fits(self.pattern.path(), path, Some(b'/')) }
    }
}

impl std::fmt::Display for Allow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether a text fits a pattern, in time proportional to the product of their lengths. `*` stops before `border`.
fn fits(pattern: &str, text: &str, border: Option<u8>) -> bool {
    #[derive(PartialEq)]
    enum Piece {
        One(u8),
        Some,
        Any,
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for byte in pattern.bytes() {
        match (byte, pieces.last()) {
            (b'*', Some(Piece::Any)) => {}
            (b'*', Some(Piece::Some)) => {
                pieces.pop();
                pieces.push(Piece::Any);
            }
            (b'*', _) if border.is_none() => pieces.push(Piece::Any),
            (b'*', _) => pieces.push(Piece::Some),
            _ => pieces.push(Piece::One(byte)),
        }
    }
    // at[i]: the text so far may end before the piece i.
    let mut at = vec![false; pieces.len() + 1];
    at[0] = true;
    let skip_wild = |at: &mut Vec<bool>| {
        for (i, piece) in pieces.iter().enumerate() {
            at[i + 1] |= at[i] && !matches!(piece, Piece::One(_));
        }
    };
    skip_wild(&mut at);
    for byte in text.bytes() {
        let mut next = vec![false; pieces.len() + 1];
        for (i, piece) in pieces.iter().enumerate().filter(|(i, _)| at[*i]) {
            match piece {
                Piece::One(wanted) => next[i + 1] |= *wanted == byte,
                Piece::Some => next[i] |= Some(byte) != border,
                Piece::Any => next[i] = true,
            }
        }
        at = next;
        skip_wild(&mut at);
    }
    at[pieces.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow(text: &str) -> Allow {
        Allow::try_from(text.to_string()).unwrap()
    }

    fn covered(rule: &str, method: Method, urls: &[&str]) -> Vec<bool> {
        urls.iter().map(|url| allow(rule).covers(&method, &Url::parse(url).unwrap())).collect()
    }

    #[test]
    fn a_rule_covers_its_methods_host_port_and_paths_and_nothing_else() {
        let rule = "GET,POST https://api.example.com/v1/**";
        let inside = [
            "https://api.example.com/v1/",
            "https://API.example.com:443/v1/a/b?x=1",
            "https://api.example.com/x/../v1/a",
        ];
        let outside = [
            "http://api.example.com/v1/a",
            "https://api.example.com:8443/v1/a",
            "https://api.example.com/v2/a",
            "https://api.example.com/v1/../v2",
            "https://api.example.com/v1/%2e%2e/v2",
            "https://api.example.com/v1/..%2fv2",
            "https://api.example.com/v1/..;/v2",
            "https://api.example.com.evil.test/v1/a",
            "https://api.example.com@evil.test/v1/a",
            "https://evil.test/https://api.example.com/v1/a",
            "https://xapi.example.com/v1/a",
        ];
        assert_eq!(covered(rule, Method::POST, &inside), [true; 3]);
        assert_eq!(covered(rule, Method::PUT, &inside), [false; 3]);
        assert_eq!(covered(rule, Method::GET, &outside), [false; 11]);
    }

    #[test]
    fn stars_stop_where_they_should() {
        let urls = ["https://a.test/x/1", "https://a.test/x/1/2", "https://a.test/x/", "https://a.test/x"];
        assert_eq!(covered("https://a.test/x/*", Method::GET, &urls), [true, false, true, false]);
        assert_eq!(covered("https://a.test/**", Method::HEAD, &urls), [true; 4]);
        assert_eq!(covered("https://a.test/**/2", Method::GET, &urls), [false, true, false, false]);
        let hosts =
            ["https://a.example.com/", "https://a.b.example.com/", "https://example.com/", "https://badexample.com/"];
        assert_eq!(covered("* https://*.example.com/**", Method::DELETE, &hosts), [true, true, false, false]);
        let queries = ["https://a.test/?q=1&r=2", "https://a.test/?r=2", "https://a.test/"];
        assert_eq!(covered("https://a.test/?q=*", Method::GET, &queries), [true, false, false]);
        assert_eq!(covered("https://a.test/", Method::GET, &queries), [true; 3]);
    }

    #[test]
    fn hostile_patterns_and_paths_take_no_time() {
        let pattern = format!("/{}", "*a".repeat(200));
        assert!(!fits(&pattern, &format!("/{}", "a".repeat(8_000) + "b"), Some(b'/')));
    }

    #[test]
    fn what_is_no_rule_is_explained() {
        let told = |text: &str| Allow::try_from(text.to_string()).unwrap_err();
        assert_eq!(
            told("ftp://a.test/"),
            "\"ftp://a.test/\" is neither http nor https; write it like GET https://api.example.com/v1/**"
        );
        assert!(
            told("get https://a.test/").starts_with("\"get\" in \"get https://a.test/\" is no method; there are GET")
        );
        assert!(told("GET a.test/**").starts_with("\"GET a.test/**\" names no address (relative URL without a base)"));
        assert!(told("GET https://a*.test/").starts_with("\"GET https://a*.test/\" has a * inside its host"));
        assert!(told("GET https://u:p@a.test/").starts_with("\"GET https://u:p@a.test/\" holds a user"));
    }
}
