//! What a configuration lets tools ask: `GET,POST https://api.example.com/v1/**`.

use crate::ask::METHODS;
use crate::error::SettingError;
use mainpath_policy::{AddressRule, UrlFact};
use reqwest::{Method, Url};
use serde::Deserialize;

/// One line of an allow-list: a pattern for addresses as in the rules of policy, http or https only.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Allow {
    text: String,
    rule: AddressRule,
    /// Whether every path of its host is meant.
    any_path: bool,
}

impl TryFrom<String> for Allow {
    type Error = SettingError;

    fn try_from(text: String) -> Result<Allow, SettingError> {
        let (methods, address) = match text.split_whitespace().collect::<Vec<_>>().as_slice() {
            [address] => ("", address.to_string()),
            [methods, address] => (*methods, address.to_string()),
            _ => return Err(SettingError::Allow(text)),
        };
        let known = |name: &str| METHODS.iter().any(|method| method.as_str() == name);
        if let Some(method) = methods.split(',').find(|name| !methods.is_empty() && !known(name)) {
            return Err(SettingError::UnknownMethod { method: method.into(), text });
        }
        let rule = AddressRule::parse(&text)?;
        let Some((_, rest)) = address.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
        else {
            return Err(SettingError::Scheme(text));
        };
        let any_path = rest.split_once('/').is_none_or(|(_, path)| path == "**");
        Ok(Allow { text, rule, any_path })
    }
}

impl Allow {
    /// Whether this line is about such a request.
    pub fn covers(&self, method: &Method, url: &Url) -> bool {
        let fact = UrlFact { method: method.to_string(), url: url.to_string() };
        self.rule.allows(&fact) && (self.any_path || !is_odd(url.path()))
    }

    /// Whether it names a server, or those below a domain, rather than any.
    pub fn names_server(&self) -> bool {
        self.rule.names_server()
    }

    /// Whether it names methods; otherwise all are meant.
    pub fn has_methods(&self) -> bool {
        self.text.trim().contains(char::is_whitespace)
    }
}

/// Whether servers may make something else of a path than it says: a slash that is written otherwise, a dot with something
/// behind it.
fn is_odd(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    ["%2f", "%5c", "%00", "\\"].iter().any(|part| lower.contains(part))
        || lower.split('/').any(|name| name.starts_with("..") || name.starts_with("%2e"))
}

impl std::fmt::Display for Allow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(rule: &str, method: Method, urls: &[&str]) -> Vec<bool> {
        let rule = Allow::try_from(rule.to_string()).unwrap();
        urls.iter().map(|url| rule.covers(&method, &Url::parse(url).unwrap())).collect()
    }

    #[test]
    fn a_rule_covers_its_methods_host_port_and_paths_and_nothing_else() {
        let rule = "GET,POST https://api.example.com/v1/**";
        let inside = [
            "https://api.example.com/v1/",
            "https://API.example.com:443/v1/a/b?x=1",
            "https://api.example.com/x/../v1/a",
            "https://api.example.com/v1/%61",
        ];
        let outside = [
            "http://api.example.com/v1/a",
            "https://api.example.com:8443/v1/a",
            "https://api.example.com/v2/a",
            "https://api.example.com/v1/../v2",
            "https://api.example.com/v1/%2e%2e/v2",
            "https://api.example.com/v1/..%2fv2",
            "https://api.example.com/v1/..;/v2",
            "https://api.example.com/v1/a%5c..%5cv2",
            "https://api.example.com.evil.test/v1/a",
            "https://api.example.com@evil.test/v1/a",
            "https://evil.test/https://api.example.com/v1/a",
            "https://xapi.example.com/v1/a",
        ];
        assert_eq!(covered(rule, Method::POST, &inside), [true; 4]);
        assert_eq!(covered(rule, Method::PUT, &inside), [false; 4]);
        assert_eq!(covered(rule, Method::GET, &outside), [false; 12]);
    }

    #[test]
    fn a_host_whose_every_path_is_meant_takes_odd_ones_too() {
        let urls = ["https://git.test/projects/a%2Fb", "https://git.test/..;/x", "https://git.test/"];
        assert_eq!(covered("GET https://git.test/**", Method::GET, &urls), [true; 3]);
        assert_eq!(covered("GET https://git.test", Method::GET, &urls), [true; 3]);
        assert_eq!(covered("GET https://git.test/*", Method::GET, &urls), [false, false, true]);
        let hosts =
            ["https://a.example.com/", "https://a.b.example.com/", "https://example.com/", "https://badexample.com/"];
        assert_eq!(covered("https://*.example.com/**", Method::DELETE, &hosts), [true, true, false, false]);
    }

    #[test]
    fn what_is_no_rule_is_explained() {
        let told = |text: &str| Allow::try_from(text.to_string()).unwrap_err().to_string();
        let form = "write it like GET https://api.example.com/v1/**";
        assert_eq!(told("ftp://a.test/"), format!("\"ftp://a.test/\" is neither http nor https; {form}"));
        assert_eq!(
            told("get https://a.test/"),
            "\"get\" in \"get https://a.test/\" is not a method; there are GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
        );
        assert_eq!(told("GET *"), format!("\"GET *\" is neither http nor https; {form}"));
        for text in
            ["GET POST https://a.test/", "GET a.test/**", "GET https://u:p@a.test/", "GET https://a.test/#f", ""]
        {
            assert!(told(text).contains("GET https://api.example.com/v1/**"), "{text}: {}", told(text));
        }
    }
}
