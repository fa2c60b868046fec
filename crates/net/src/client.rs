//! The one HTTP client of all tools.

use crate::ask::{Ask, bare};
use crate::body::read;
use crate::error::NotFollowed;
use crate::failure::{failed, late};
use crate::reach::{HostPort, Lookup, Reach, SystemLookup, Ways};
use crate::redirect::next;
use crate::settings::web;
use mainpath_tools::Problem;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap};
use reqwest::{Method, Url};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The longest address that is asked, in bytes.
const LONGEST_URL: usize = 8_192;

/// A client that asks public servers only, but for those that the owner allowed.
///
/// Every address of a name is checked, and the connection goes to those that were checked; so it does again after each
/// redirect. Nothing is taken from the environment, and nothing is sent that the caller did not say. Clones share their
/// connections, which belong to the runtime that opened them.
#[derive(Clone)]
pub struct Client {
    private: Arc<BTreeSet<HostPort>>,
    ways: Arc<Ways>,
}

/// What an exchange may cost.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// From the first connection to the last byte, redirects included.
    pub time: Duration,
    /// Bytes of the body, unpacked; what is more is not read.
    pub bytes: usize,
    /// Redirects that are followed.
    pub redirects: usize,
}

impl Caps {
    /// At most this long, 4 MiB, 5 redirects.
    pub fn within(time: Duration) -> Caps {
        Caps { time, bytes: 4 << 20, redirects: 5 }
    }
}

/// What came back, whatever its status.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The address that answered at last.
    pub url: Url,
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, unpacked.
    pub body: Vec<u8>,
    /// Whether the body was longer than the caps allow.
    pub cut: bool,
}

/// Says whether a redirect to there may be followed, and why not.
pub type Follow<'a> = &'a (dyn Fn(&Method, &Url) -> Result<(), NotFollowed> + Sync);

/// Redirects are not followed: the address is the owner's, and so would be a new one.
pub(crate) fn stay(_: &Method, _: &Url) -> Result<(), NotFollowed> {
    Err(NotFollowed::OwnersAddress)
}

impl Client {
    /// A client that reaches this far.
    pub fn new(reach: &Reach) -> Client {
        Client::with_lookup(reach, Arc::new(SystemLookup))
    }

    /// A client that finds addresses in this way.
    pub fn with_lookup(reach: &Reach, lookup: Arc<dyn Lookup>) -> Client {
        let ways = Ways::new(lookup, reach.proxy.as_ref());
        Client { private: Arc::new(reach.allow_private.clone()), ways: Arc::new(ways) }
    }

    /// The same, which may also ask the very host and port of an address that the owner has written himself.
    pub fn trusting(&self, url: &Url) -> Client {
        let mut private = (*self.private).clone();
        private.extend(HostPort::of(url));
        Client { private: Arc::new(private), ways: self.ways.clone() }
    }

    /// Asks, follows redirects, reads the answer. To be dropped when it is to stop: then nothing of it goes on.
    ///
    /// Errors: `bad_url`, `blocked_address`, `redirect`, `connection`, `timeout`, `encoding`.
    pub async fn send(&self, mut ask: Ask, caps: Caps, follow: Follow<'_>) -> Result<Answer, Problem> {
        let deadline = Instant::now() + caps.time;
        let mut followed = 0;
        loop {
            let allowed = self.check(&ask.url)?;
            let url = ask.url.clone();
            let late = |_| late(&url, caps.time);
            let way = timeout_at(deadline, self.ways.to(&url, allowed)).await.map_err(late)??;
            let mut request = way.request(ask.method.clone(), url.clone()).headers(ask.headers.clone());
            if !ask.headers.contains_key(ACCEPT_ENCODING) {
                request = request.header(ACCEPT_ENCODING, "gzip");
            }
            if let Some(body) = &ask.body {
                request = request.body(body.clone());
            }
            let response =
                timeout_at(deadline, request.send()).await.map_err(late)?.map_err(|error| failed(&error, &url))?;
            if let Some(then) = next(&ask, response.status(), response.headers())? {
                if followed == caps.redirects {
                    let text = format!("{url} redirects once more after {followed} redirects; that is where it ends.");
                    return Err(Problem::new("redirect", text));
                }
                follow(&then.method, &then.url).map_err(|why| {
                    Problem::new(
                        "redirect",
                        format!("{} redirects to {}, which was not followed: {why}.", bare(&url), then.url),
                    )
                })?;
                followed += 1;
                ask = then;
                continue;
            }
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let (body, cut) = timeout_at(deadline, read(response, &url, caps.bytes)).await.map_err(late)??;
            return Ok(Answer { url, status, headers, body, cut });
        }
    }

    /// Whether the owner allowed this very host and port. Errors: it cannot be asked at all.
    fn check(&self, url: &Url) -> Result<bool, Problem> {
        let bad = |why: &dyn Display| Problem::new("bad_url", format!("{} cannot be asked: {why}.", bare(url)));
        if url.as_str().len() > LONGEST_URL {
            return Err(bad(&"the address is longer than 8,192 bytes"));
        }
        web(url).map_err(|why| bad(&why))?;
        Ok(HostPort::of(url).is_some_and(|asked| self.private.contains(&asked)))
    }
}
