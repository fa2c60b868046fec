//! How far tools reach, and that the connection goes to the very address that was checked.

use crate::address::not_public;
use crate::error::SettingError;
use crate::settings::{WebAddress, web};
use mainpath_tools::{Fut, Problem};
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// `[net]` in the configuration: how far tools reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reach {
    /// Servers that tools may ask although their addresses are not public, each as `host:port`.
    #[schemars(with = "BTreeSet<String>")]
    pub allow_private: BTreeSet<HostPort>,
    /// A proxy for all other servers. It finds their addresses itself, so it must refuse private ones itself; the proxies
    /// that the environment names are never used.
    pub proxy: Option<WebAddress>,
}

/// A host with its port, as in addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct HostPort(String, u16);

impl TryFrom<String> for HostPort {
    type Error = SettingError;

    fn try_from(text: String) -> Result<HostPort, SettingError> {
        // As the host of an address, so that both are normalised alike.
        let url = Url::parse(&format!("http://{text}/")).ok();
        let bare = url
            .filter(|url| web(url).is_ok() && url.path() == "/" && url.query().is_none() && url.fragment().is_none());
        let port = text.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        match (bare.as_ref().and_then(Url::host_str), port) {
            (Some(host), Some(port)) => Ok(HostPort(host.into(), port)),
            _ => Err(SettingError::HostPort(text)),
        }
    }
}

impl HostPort {
    /// Those of an address.
    pub(crate) fn of(url: &Url) -> Option<HostPort> {
        Some(HostPort(url.host_str()?.into(), url.port_or_known_default()?))
    }
}

/// Finds the addresses of a host.
pub trait Lookup: Send + Sync + 'static {
    /// All of its addresses.
    fn lookup<'a>(&'a self, host: &'a str) -> Fut<'a, io::Result<Vec<IpAddr>>>;
}

/// Asks the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup<'a>(&'a self, host: &'a str) -> Fut<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|found| found.ip()).collect()) })
    }
}

/// Why a host is not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host} is {what}{at}; the owner can allow it with allow_private under [net] in the configuration")]
pub(crate) struct Blocked {
    host: String,
    what: &'static str,
    at: String,
}

/// Refuses an address that is written out, unless it is public.
pub(crate) fn check_literal(url: &Url) -> Result<(), Blocked> {
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse().ok();
    match literal.and_then(not_public) {
        Some(what) => Err(Blocked { host: host.into(), what, at: String::new() }),
        None => Ok(()),
    }
}

/// The addresses of a host, every one of them public.
async fn public_addresses(
    lookup: &dyn Lookup,
    host: &str,
) -> Result<Vec<IpAddr>, Box<dyn std::error::Error + Send + Sync>> {
    let found = lookup.lookup(host).await?;
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into());
    }
    for address in &found {
        if let Some(what) = not_public(*address) {
            return Err(Blocked { host: host.into(), what, at: format!(" ({address})") }.into());
        }
    }
    Ok(found)
}

/// What a connection asks when it needs addresses: what this gives is what it connects to.
struct Checked {
    lookup: Arc<dyn Lookup>,
    any: bool,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, any) = (self.lookup.clone(), self.any);
        Box::pin(async move {
            let found = match any {
                true => lookup.lookup(name.as_str()).await?,
                false => public_addresses(&*lookup, name.as_str()).await?,
            };
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// The connections of a client: those to public addresses only, those to what the owner allowed, those through the proxy.
pub(crate) struct Ways {
    lookup: Arc<dyn Lookup>,
    proxy: Option<Url>,
    public: OnceLock<reqwest::Client>,
    any: OnceLock<reqwest::Client>,
    proxied: OnceLock<reqwest::Client>,
}

impl Ways {
    pub fn new(lookup: Arc<dyn Lookup>, proxy: Option<&WebAddress>) -> Ways {
        let proxy = proxy.map(|WebAddress(url)| url.clone());
        Ways { lookup, proxy, public: OnceLock::new(), any: OnceLock::new(), proxied: OnceLock::new() }
    }

    /// The connections for an address. `allowed`: its owner allowed the very host and port. Errors: it is not public.
    pub async fn to(&self, url: &Url, allowed: bool) -> Result<&reqwest::Client, Problem> {
        if allowed {
            return self.client(&self.any, true, None);
        }
        let blocked = |blocked: Blocked| Problem::new("blocked_address", blocked.to_string());
        check_literal(url).map_err(blocked)?;
        let Some(proxy) = &self.proxy else { return self.client(&self.public, false, None) };
        // The proxy will look again, and may be the only one that can.
        if let Some(host) = url.domain()
            && let Err(error) = public_addresses(&*self.lookup, host).await
            && let Ok(found) = error.downcast::<Blocked>()
        {
            return Err(blocked(*found));
        }
        self.client(&self.proxied, true, Some(proxy))
    }

    fn client<'a>(
        &self,
        kept: &'a OnceLock<reqwest::Client>,
        any: bool,
        proxy: Option<&Url>,
    ) -> Result<&'a reqwest::Client, Problem> {
        if let Some(client) = kept.get() {
            return Ok(client);
        }
        // If another part of the process has installed one, that is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("mainpath/", env!("CARGO_PKG_VERSION")))
            .http1_only()
            .connect_timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .pool_idle_timeout(Duration::from_secs(30))
            .dns_resolver(Checked { lookup: self.lookup.clone(), any })
            .no_proxy();
        if let Some(proxy) = proxy {
            let proxy = reqwest::Proxy::all(proxy.clone()).map_err(|error| {
                Problem::new("connection", format!("The proxy of the configuration cannot be used: {error}."))
            })?;
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(|error| {
            let why = crate::cause::innermost(&error);
            Problem::new("connection", format!("HTTPS cannot be set up here ({why}); are root certificates installed?"))
        })?;
        // Two first calls at once may both build; one of the results is kept.
        Ok(kept.get_or_init(|| client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_ports_are_normalised_like_addresses() {
        let host = |text: &str| HostPort::try_from(text.to_string());
        assert_eq!(host("LOCALHOST:8080"), Ok(HostPort("localhost".into(), 8080)));
        assert_eq!(host("2130706433:80"), Ok(HostPort("127.0.0.1".into(), 80)));
        assert_eq!(host("[::0001]:80"), Ok(HostPort("[::1]".into(), 80)));
        let url = Url::parse("http://0x7f.1/").unwrap();
        assert_eq!(HostPort::of(&url), host("127.0.0.1:80").ok());
        for text in ["localhost", "a:b", "user@a:1", "a/b:1", "a:1/", ":80", "a:99999", "::1"] {
            assert!(
                host(text).unwrap_err().to_string().starts_with(&format!("{text:?} is not a host with a port")),
                "{text}"
            );
        }
    }

    #[test]
    fn every_way_to_write_this_machine_is_known() {
        let hosts = [
            "127.0.0.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.1",
            "0",
            "0x7f.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[0:0:0:0:0:ffff:127.0.0.1]",
            "127.0.0.1.",
            "１２７.0.0.1",
            "127。0。0。1",
            "0x7f.0x0.0x0.0x1",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "169.254.169.254",
            "2852039166",
            "[fd00:ec2::254]",
        ];
        for host in hosts {
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            assert!(check_literal(&url).is_err(), "{host} is {url}");
        }
    }
}
