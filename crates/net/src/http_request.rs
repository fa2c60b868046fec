//! `http_request`.

use crate::allow::Allow;
use crate::ask::{Ask, METHODS};
use crate::client::{Answer, Caps, Client};
use crate::error::NotFollowed;
use crate::settings::{CallRate, Seconds, web};
use crate::show::{doc, failed, head, is_text, keep, media_type, shown, status_code, text};
use mainpath_policy::UrlFact;
use mainpath_tools::{Fut, Problem, Tool, ToolContext, ToolDoc, Touches};
use mainpath_types::{EffectClass, ToolOutput};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

/// Characters of a body that the model sees; the whole is kept as an artifact.
const SHOWN: usize = 30_000;
/// The largest body that is sent, in bytes.
const SENT: usize = 1 << 20;
/// What a client must not say itself, because it steers the connection.
const OURS: [&str; 11] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];
/// The headers of an answer that the model sees.
const TOLD: [&str; 11] = [
    "content-type",
    "content-disposition",
    "date",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "ratelimit-remaining",
    "x-ratelimit-remaining",
    "www-authenticate",
];

/// `[tools.http_request]`
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRequestConfig {
    /// What may be asked, such as `GET https://api.example.com/**`; nothing else is, redirects included.
    #[serde(deserialize_with = "with_methods")]
    #[schemars(with = "Vec<String>")]
    pub allow: Vec<Allow>,
    /// Addresses of the owner's own servers, such as `https://orders.example.com/**`. Words of their answers do not count as text from outside.
    #[serde(default, deserialize_with = "with_servers")]
    #[schemars(with = "Vec<String>")]
    pub trusted: Vec<Allow>,
    /// How often.
    pub rate: Option<CallRate>,
    /// Seconds that a request may take at most; 60 where nothing is said.
    pub timeout_s: Option<Seconds>,
}

/// Lines that name their methods.
fn with_methods<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Allow>, D::Error> {
    let list = Vec::<Allow>::deserialize(from)?;
    match list.iter().find(|rule| !rule.has_methods()) {
        Some(rule) => Err(serde::de::Error::custom(format!(
            "\"{rule}\" names no methods; write GET {rule}, or those that are meant"
        ))),
        None => Ok(list),
    }
}

/// Lines that each name a server.
fn with_servers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Allow>, D::Error> {
    let list = Vec::<Allow>::deserialize(from)?;
    match list.iter().find(|rule| !rule.names_server()) {
        Some(rule) => {
            Err(serde::de::Error::custom(format!("\"{rule}\" names no server; write the one that is trusted")))
        }
        None => Ok(list),
    }
}

/// Sends one HTTP request to an address that the configuration allows.
pub struct HttpRequest {
    client: Client,
    allow: Vec<Allow>,
    trusted: Vec<Allow>,
    rate: Option<CallRate>,
    limit: Duration,
}

impl HttpRequest {
    /// With this client and configuration.
    pub fn new(client: &Client, config: &HttpRequestConfig) -> HttpRequest {
        let limit = Seconds::or(config.timeout_s, 60);
        HttpRequest {
            client: client.clone(),
            allow: config.allow.clone(),
            trusted: config.trusted.clone(),
            rate: config.rate,
            limit,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Verb {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRequestArgs {
    /// The method; GET where nothing is said.
    #[serde(default)]
    method: Verb,
    /// The whole address, http or https.
    url: String,
    /// Headers to send.
    headers: Option<BTreeMap<String, String>>,
    /// Parameters that are added to the address's query.
    query: Option<BTreeMap<String, String>>,
    /// The body, as text. Not together with json.
    body: Option<String>,
    /// The body, as JSON of any kind; its content type is set.
    json: Option<Value>,
    /// Seconds after which it is given up.
    #[schemars(range(min = 1))]
    timeout_s: Option<u64>,
}

impl HttpRequestArgs {
    fn method(&self) -> Method {
        METHODS[match self.method {
            Verb::Get => 0,
            Verb::Head => 1,
            Verb::Post => 2,
            Verb::Put => 3,
            Verb::Patch => 4,
            Verb::Delete => 5,
            Verb::Options => 6,
        }]
        .clone()
    }

    /// The address with its parameters.
    fn address(&self) -> Result<Url, Problem> {
        let bad = |why: &dyn Display| {
            Problem::new("bad_url", format!("{:?} cannot be asked: {why}.", head(&self.url, 200).0))
        };
        let mut url = Url::parse(&self.url).map_err(|error| bad(&error))?;
        web(&url).map_err(|why| bad(&why))?;
        url.set_fragment(None);
        for (name, value) in self.query.iter().flatten() {
            url.query_pairs_mut().append_pair(name, value);
        }
        Ok(url)
    }

    fn ask(&self) -> Result<Ask, Problem> {
        let (method, url) = (self.method(), self.address()?);
        let wrong = |text: String| Problem::new("invalid_arguments", text);
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers.iter().flatten() {
            let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
            // The value may be secret, and the name may be anything.
            let Some((known, mut value)) = parsed else {
                let name: String = name.chars().take(60).collect();
                return Err(wrong(format!(
                    "The header {name:?} cannot be sent: names are letters, digits and -, values one line."
                )));
            };
            if OURS.contains(&known.as_str()) || known.as_str().starts_with("proxy-") {
                return Err(wrong(format!("The header {known} is set by Mainpath itself; leave it out.")));
            }
            value.set_sensitive(true);
            headers.insert(known, value);
        }
        let body = match (self.body.clone(), &self.json) {
            (Some(_), Some(_)) => return Err(wrong("Give body or json, not both.".into())),
            (Some(text), None) => Some(text),
            (None, Some(json)) => {
                headers.entry("content-type").or_insert(HeaderValue::from_static("application/json"));
                Some(json.to_string())
            }
            (None, None) => None,
        };
        if body.as_ref().is_some_and(|body| body.len() > SENT) {
            return Err(Problem::new("too_large", "The body is larger than 1 MiB; send less."));
        }
        Ok(Ask { method, url, headers, body: body.map(Into::into) })
    }
}

impl Tool for HttpRequest {
    type Args = HttpRequestArgs;
    const NAME: &'static str = "http_request";

    fn describe(&self) -> ToolDoc {
        let text = format!("Sends an HTTP request and shows status, headers and body. Allowed is: {}.", self.allowed());
        doc(text, EffectClass::SideEffecting, self.rate)
    }

    fn touches(&self, args: &HttpRequestArgs) -> Touches {
        let url = args.address().map_or_else(|_| args.url.clone(), |url| url.to_string());
        let named = args.ask().is_ok_and(|Ask { method, url, .. }| {
            self.allow.iter().any(|rule| rule.names_server() && rule.covers(&method, &url))
        });
        Touches::asking(args.method().as_str(), url).named(named)
    }

    fn check(&self, args: &HttpRequestArgs) -> Result<(), Problem> {
        let Ask { method, url, .. } = args.ask()?;
        match self.covers(&method, &url) {
            true => Ok(()),
            false => Err(self.not_allowed(&method, head(url.as_str(), 200).0)),
        }
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: HttpRequestArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let limit = args.timeout_s.map_or(self.limit, |seconds| Duration::from_secs(seconds).min(self.limit));
            let exchange = async {
                let ask = args.ask()?;
                if !self.covers(&ask.method, &ask.url) {
                    return Err(self.not_allowed(&ask.method, &shown(ctx, &ask.url)));
                }
                let follow = |method: &Method, url: &Url| match self.covers(method, url) {
                    true => Ok((ctx.check_redirect)(UrlFact { method: method.to_string(), url: url.to_string() })?),
                    false => Err(NotFollowed::Method(method.clone())),
                };
                let method = ask.method.clone();
                let answer = self.client.send(ask, Caps::within(limit), &follow).await?;
                if self.trusted.iter().any(|rule| rule.covers(&method, &answer.url)) {
                    ctx.trust();
                }
                Ok(answer)
            };
            match ctx.until_stopped(exchange).await {
                None => ctx.stopped(),
                Some(Err(problem)) => failed(problem),
                Some(Ok(answer)) => told(ctx, answer).await,
            }
        })
    }
}

impl HttpRequest {
    fn covers(&self, method: &Method, url: &Url) -> bool {
        self.allow.iter().any(|rule| rule.covers(method, url))
    }

    fn not_allowed(&self, method: &Method, url: &str) -> Problem {
        Problem::new("not_allowed", format!("{method} {url} is not allowed here; allowed is: {}.", self.allowed()))
    }

    /// What may be asked, in words.
    fn allowed(&self) -> String {
        const MOST: usize = 20;
        let mut list: Vec<String> = self.allow.iter().take(MOST).map(ToString::to_string).collect();
        if self.allow.len() > MOST {
            list.push(format!("and {} more", self.allow.len() - MOST));
        }
        list.join("; ")
    }
}

/// The answer as the model sees it.
async fn told(ctx: &ToolContext, answer: Answer) -> ToolOutput {
    let status = answer.status;
    let mut said = format!("HTTP {status} from {}\n", shown(ctx, &answer.url));
    for name in TOLD {
        for value in answer.headers.get_all(name).iter().take(4) {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            said.push_str(&format!("{name}: {}\n", head(&value, 500).0));
        }
    }
    let mut artifacts = Vec::new();
    let mut notes = Vec::new();
    let kind = media_type(&answer);
    if answer.cut {
        notes.push(format!("the body is longer; only its first {} bytes were read", answer.body.len()));
    }
    if is_text(&kind, &answer.body) {
        let text = ctx.secrets.redact(&text(&answer).0);
        let (begin, more) = head(&text, SHOWN);
        if !begin.is_empty() {
            said.push_str(&format!("\n{begin}"));
        }
        if more {
            notes.push(format!(
                "only the first {SHOWN} of {} characters are shown; all that was read is kept",
                text.chars().count()
            ));
            keep(ctx, text.clone().into_bytes(), "text/plain; charset=utf-8".into(), &mut artifacts, &mut notes).await;
        }
    } else {
        notes.push(format!("{} bytes of {kind}, which is not text", answer.body.len()));
        keep(ctx, answer.body, kind, &mut artifacts, &mut notes).await;
    }
    for note in notes {
        said.push_str(&format!("\n[{note}]"));
    }
    let error = (status >= 400).then(|| status_code(status));
    ToolOutput {
        error: error.map(Into::into),
        transient: error == Some("unavailable"),
        artifacts,
        ..ToolOutput::text(said)
    }
}
