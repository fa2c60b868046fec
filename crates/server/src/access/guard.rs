//! Whence requests may come: a page of another site must reach nothing here, whatever name it gives this machine (DNS rebinding).

use crate::problem::{Kind, Problem};
use axum::http::{HeaderMap, header};
use std::net::SocketAddr;

/// The names under which the server is reached, and the pages that may talk to it.
#[derive(Clone, Debug)]
pub struct Guard {
    port: u16,
    /// Names besides those of this machine, with or without a port.
    hosts: Vec<String>,
    /// Pages of other origins, such as `https://panel.example.com`.
    origins: Vec<String>,
    own: Vec<String>,
}

impl Guard {
    /// For a server at an address.
    pub fn new(at: SocketAddr, hosts: Vec<String>, origins: Vec<String>) -> Guard {
        let mut own = vec!["localhost".into(), "127.0.0.1".into(), "[::1]".into()];
        if !at.ip().is_unspecified() {
            own.push(match at {
                SocketAddr::V4(at) => at.ip().to_string(),
                SocketAddr::V6(at) => format!("[{}]", at.ip()),
            });
        }
        Guard { port: at.port(), hosts, origins, own }
    }

    /// The origin that is to be named in the answer, if a page of another origin may ask. Errors: it may not.
    pub fn check(&self, headers: &HeaderMap) -> Result<Option<String>, Problem> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        if headers.get_all(header::HOST).iter().count() > 1 {
            return Err(Problem::new(Kind::FOREIGN, "the request names two hosts"));
        }
        let host = text(header::HOST).unwrap_or_default();
        if !self.is_own(host) {
            return Err(Problem::new(
                Kind::FOREIGN,
                format!("the host {host:?} is not this server's; if it is, name it in server.hosts of its config.toml"),
            ));
        }
        let Some(origin) = text(header::ORIGIN) else { return Ok(None) };
        if self.origins.iter().any(|known| known == origin) {
            return Ok(Some(origin.into()));
        }
        let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        match site {
            Some(site) if site == host => Ok(None),
            _ => Err(Problem::new(Kind::FOREIGN, format!("pages of {origin} may not talk to this server"))),
        }
    }

    fn is_own(&self, host: &str) -> bool {
        if self.hosts.iter().any(|known| known == host) {
            return true;
        }
        let (name, port) = match host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|c| c.is_ascii_digit())) {
            Some((name, port)) => (name, port.parse().ok()),
            None => (host, Some(80)),
        };
        let is_mine = self.own.iter().any(|own| own.eq_ignore_ascii_case(name));
        is_mine && port == Some(self.port) || self.hosts.iter().any(|known| known == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn asked(host: &'static str, origin: Option<&'static str>) -> Result<Option<String>, String> {
        let at = "127.0.0.1:8000".parse().unwrap();
        let guard = Guard::new(at, vec!["agents.example.com".into()], vec!["https://panel.example.com".into()]);
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        }
        guard.check(&headers).map_err(|problem| problem.detail)
    }

    #[test]
    fn only_this_machines_names_and_known_pages_are_let_in() {
        for host in ["localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST:8000", "agents.example.com"] {
            assert_eq!(asked(host, None), Ok(None), "{host}");
        }
        for host in ["evil.example:8000", "localhost:8001", "localhost", "", "127.0.0.1.evil.example:8000"] {
            assert!(asked(host, None).is_err(), "{host}");
        }
        assert_eq!(asked("localhost:8000", Some("http://localhost:8000")), Ok(None));
        let panel = "https://panel.example.com";
        assert_eq!(asked("localhost:8000", Some(panel)), Ok(Some(panel.into())));
        for origin in ["http://evil.example", "null", "http://localhost:3000", "https://panel.example.com.evil"] {
            assert!(asked("localhost:8000", Some(origin)).is_err(), "{origin}");
        }
    }
}
