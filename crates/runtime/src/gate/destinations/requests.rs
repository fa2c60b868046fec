//! Addresses that a call reads: one that a text names may be asked as it stands there, and with nothing added to it.

use super::forms::{host, percent_decoded, squeezed};
use super::{Destinations, Text, has_word};
use crate::gate::fold::folded;
use mainpath_types::Destination;
use std::collections::HashSet;
use std::sync::Arc;

/// The addresses of a text, in the form in which they are compared.
pub(super) fn linked(addresses: &[String]) -> impl Iterator<Item = String> + '_ {
    addresses.iter().filter_map(|address| comparable(address))
}

impl Destinations {
    /// The part of an address that no person named and that does not stand in a text as it is. `names_server`: whether a person named a server.
    /// `is_redirect`: a server gives the address, so it holds nothing that this server does not know.
    pub fn of_address(&self, url: &str, names_server: &dyn Fn(&str) -> bool, is_redirect: bool) -> Option<Destination> {
        if self.texts.is_empty() && !self.full && !self.unread {
            return None;
        }
        self.unsaid_address(url, names_server, is_redirect).or_else(|| {
            // Many servers send on to an address that they are given.
            let decoded = percent_decoded(url);
            let inner = |text: &str| {
                let (before, rest) = text.split_once("://")?.1.split_once("://")?;
                let scheme = before.rsplit(|letter: char| !letter.is_ascii_alphabetic()).next()?;
                Some(format!("{scheme}://{rest}"))
            };
            let inner = inner(url).or_else(|| inner(&decoded?))?;
            self.unsaid_address(&inner, names_server, true)
        })
    }

    fn unsaid_address(&self, url: &str, names_server: &dyn Fn(&str) -> bool, is_redirect: bool) -> Option<Destination> {
        let form = comparable(url)?;
        if names_server(url) || self.linked.contains(&form) {
            return None;
        }
        let host = folded(host(url)?);
        let names: Vec<&str> = suffixes(&host).collect();
        // An answer repeats the address that was asked.
        let own = squeezed(&host);
        let says = |text: &&Arc<Text>| {
            names.iter().any(|name| has_word(&text.folded, name, false)) && !text.own.contains(&own)
        };
        let by = self.texts.iter().find(says);
        let has_data = !is_redirect && form.contains('?');
        if by.is_none() && !has_data && !self.full {
            return None;
        }
        let (call, tool) = by.map_or((None, None), |text| (text.call, text.tool.clone()));
        Some(Destination { argument: "url".into(), value: url.into(), call, tool })
    }

    /// Takes in the addresses of a text.
    pub(super) fn note_links(&mut self, addresses: &[String]) {
        let links: HashSet<String> = linked(addresses).collect();
        self.linked.extend(links);
    }
}

/// A server and the domains that it belongs to, but for the last word.
fn suffixes(host: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(host);
    std::iter::from_fn(move || {
        let name = next?;
        next = name.split_once('.').map(|(_, rest)| rest).filter(|rest| rest.contains('.') && !is_ip(host));
        Some(name)
    })
}

fn is_ip(host: &str) -> bool {
    host.parse::<std::net::IpAddr>().is_ok()
}

/// An address as it is compared: without its scheme and its fragment, with the server in small letters.
fn comparable(url: &str) -> Option<String> {
    let url = url.split('#').next()?.trim();
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (server, path) = rest.split_at(end);
    let server = server.to_lowercase();
    let server = server.strip_suffix(":80").or_else(|| server.strip_suffix(":443")).unwrap_or(&server);
    let server = server.strip_prefix("www.").unwrap_or(server);
    (!server.is_empty()).then(|| format!("{server}{}", path.trim_end_matches('/')))
}
