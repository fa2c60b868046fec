//! `redis_context`.

use crate::error::NotReady;
use crate::settings::{CallRate, Seconds, Secret, SecretName};
use crate::show::{doc, failed, head};
use mainpath_tools::{Fut, Problem, Tool, ToolContext, ToolDoc};
use mainpath_types::{EffectClass, ToolOutput};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, RedisError, cmd};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::time::Duration;

/// The largest value, in bytes.
const VALUE: usize = 64 * 1024;
/// The longest key, in bytes, without the prefix.
const KEY: usize = 512;
/// Keys that are listed at most, and rounds of looking for them.
const LISTED: (usize, usize) = (200, 1_000);
/// How long values are kept where the configuration does not say: a day.
const TTL_S: u64 = 86_400;

/// `[tools.redis_context]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedisContextConfig {
    /// The server: `redis://host:port/database`, without user and password.
    pub url: String,
    /// The name of the secret that is the password.
    pub password: Option<SecretName>,
    /// The user; Redis's default user where nothing is said.
    pub user: Option<String>,
    /// What every key begins with. Nothing else of the server can be seen or changed.
    pub prefix: String,
    /// Seconds that a value is kept, and the most that a call can ask for; a day where nothing is said.
    pub ttl_s: Option<NonZeroU64>,
    /// How often.
    pub rate: Option<CallRate>,
    /// Seconds that a call may take; 10 where nothing is said.
    pub timeout_s: Option<Seconds>,
}

/// Values that agents share through a Redis server.
pub struct RedisContext {
    client: redis::Client,
    prefix: String,
    ttl_s: u64,
    rate: Option<CallRate>,
    limit: Duration,
}

impl RedisContext {
    /// With this configuration. Nothing is opened yet. Errors: what is wrong or missing.
    pub fn new(config: &RedisContextConfig, secret: Secret<'_>) -> Result<RedisContext, NotReady> {
        let wrong = |problem: &str| NotReady::RedisUrl { problem: problem.into() };
        let url = reqwest::Url::parse(&config.url).map_err(|error| wrong(&error.to_string()))?;
        if url.scheme() != "redis" {
            return Err(wrong("only redis:// is spoken; let a tunnel speak TLS"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("user and password do not belong into it; set user and password"));
        }
        if config.prefix.is_empty() || config.prefix.chars().any(char::is_control) {
            return Err(NotReady::RedisPrefix);
        }
        let mut info =
            redis::IntoConnectionInfo::into_connection_info(url).map_err(|error| wrong(&error.to_string()))?;
        let mut settings = info.redis_settings().clone();
        if let Some(user) = &config.user {
            settings = settings.set_username(user);
        }
        if let Some(name) = &config.password {
            settings = settings.set_password(name.value(secret)?);
        }
        info = info.set_redis_settings(settings);
        let client = redis::Client::open(info).map_err(|error| wrong(&error.to_string()))?;
        let ttl_s = config.ttl_s.map_or(TTL_S, NonZeroU64::get);
        let limit = Seconds::or(config.timeout_s, 10);
        Ok(RedisContext { client, prefix: config.prefix.clone(), ttl_s, rate: config.rate, limit })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Op {
    Get,
    Set,
    List,
    Delete,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedisContextArgs {
    /// What to do.
    op: Op,
    /// The key, for get, set and delete.
    #[schemars(length(min = 1, max = 512))]
    key: Option<String>,
    /// The value, for set.
    value: Option<String>,
    /// Seconds that the value is kept, for set.
    ttl_s: Option<NonZeroU64>,
    /// What the listed keys look like, for list: * is anything, ? one letter. All by default.
    #[schemars(length(max = 512))]
    pattern: Option<String>,
}

impl RedisContextArgs {
    /// The key. Errors: there is none, or it cannot be one.
    fn key(&self) -> Result<&str, Problem> {
        let wrong = |text: &str| Problem::new("invalid_arguments", text);
        match &self.key {
            None => Err(wrong("This needs a key.")),
            Some(key) if key.is_empty() || key.len() > KEY => Err(wrong("A key has 1 to 512 bytes.")),
            Some(key) if key.chars().any(char::is_control) => Err(wrong("A key holds no control characters.")),
            Some(key) => Ok(key),
        }
    }

    /// The value to keep. Errors: there is none, or it is too large.
    fn value(&self) -> Result<&str, Problem> {
        let value = self.value.as_deref();
        let value = value.ok_or_else(|| Problem::new("invalid_arguments", "set needs a value."))?;
        if value.len() > VALUE {
            let text = format!("The value has {} bytes; {VALUE} are the most.", value.len());
            return Err(Problem::new("too_large", text));
        }
        Ok(value)
    }
}

impl Tool for RedisContext {
    type Args = RedisContextArgs;
    const NAME: &'static str = "redis_context";

    fn describe(&self) -> ToolDoc {
        let text = format!(
            "Keeps texts under keys in a store that other agents share: get, set (for at most {} seconds), list, delete.",
            self.ttl_s
        );
        doc(text, EffectClass::Idempotent, self.rate)
    }

    fn check(&self, args: &RedisContextArgs) -> Result<(), Problem> {
        match args.op {
            Op::Get | Op::Delete => args.key().map(drop),
            Op::Set => args.key().and_then(|_| args.value()).map(drop),
            Op::List => Ok(()),
        }
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: RedisContextArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let work = async {
                match tokio::time::timeout(self.limit, self.act(&args)).await {
                    Ok(done) => done,
                    Err(_) => Err(Problem::new("timeout", format!("Redis did not answer within {:?}.", self.limit))),
                }
            };
            match ctx.until_stopped(work).await {
                None => ctx.stopped(),
                Some(done) => done.map_or_else(failed, ToolOutput::text),
            }
        })
    }
}

impl RedisContext {
    async fn act(&self, args: &RedisContextArgs) -> Result<String, Problem> {
        match args.op {
            Op::Get => self.get(args.key()?).await,
            Op::Set => self.set(args).await,
            Op::List => self.list(args.pattern.as_deref().unwrap_or("*")).await,
            Op::Delete => {
                let key = args.key()?;
                let gone: u64 =
                    cmd("DEL").arg(self.full(key)).query_async(&mut self.connect().await?).await.map_err(problem)?;
                Ok(if gone == 0 { format!("There was no key {key:?}.") } else { format!("Deleted {key:?}.") })
            }
        }
    }

    /// Never more than the largest value is fetched, whatever others have put there.
    async fn get(&self, key: &str) -> Result<String, Problem> {
        let mut connection = self.connect().await?;
        let full = self.full(key);
        let most = VALUE as u64;
        let (size, bytes, there): (u64, Vec<u8>, bool) = redis::pipe()
            .atomic()
            .cmd("STRLEN")
            .arg(&full)
            .cmd("GETRANGE")
            .arg(&full)
            .arg(0)
            .arg(most - 1)
            .cmd("EXISTS")
            .arg(&full)
            .query_async(&mut connection)
            .await
            .map_err(problem)?;
        if !there {
            return Err(Problem::new("not_found", format!("There is no key {key:?}.")));
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(if size > most { format!("{text}\n[only the first {most} of {size} bytes]") } else { text })
    }

    async fn set(&self, args: &RedisContextArgs) -> Result<String, Problem> {
        let (key, value) = (args.key()?, args.value()?);
        let ttl = args.ttl_s.map_or(self.ttl_s, |wanted| wanted.get().min(self.ttl_s));
        let () = cmd("SET")
            .arg(self.full(key))
            .arg(value)
            .arg("EX")
            .arg(ttl)
            .query_async(&mut self.connect().await?)
            .await
            .map_err(problem)?;
        Ok(format!("Kept {} bytes under {key:?} for {ttl} seconds.", value.len()))
    }

    async fn list(&self, pattern: &str) -> Result<String, Problem> {
        let mut connection = self.connect().await?;
        let (mut keys, mut cursor) = (std::collections::BTreeSet::new(), 0_u64);
        let wanted = format!("{}{pattern}", literal(&self.prefix));
        let mut whole = false;
        for _ in 0..LISTED.1 {
            let (next, found): (u64, Vec<Vec<u8>>) = cmd("SCAN")
                .arg(cursor)
                .arg("MATCH")
                .arg(&wanted)
                .arg("COUNT")
                .arg(1_000)
                .query_async(&mut connection)
                .await
                .map_err(problem)?;
            let names = found.iter().filter_map(|key| key.strip_prefix(self.prefix.as_bytes()));
            keys.extend(names.map(|key| head(&String::from_utf8_lossy(key), KEY).0.to_string()));
            cursor = next;
            whole = cursor == 0;
            if whole || keys.len() > LISTED.0 {
                break;
            }
        }
        let more = !whole || keys.len() > LISTED.0;
        let mut lines: Vec<String> = keys.into_iter().take(LISTED.0).collect();
        if more {
            lines.push("[there are more; give a narrower pattern]".into());
        }
        Ok(if lines.is_empty() { "There are no such keys.".into() } else { lines.join("\n") })
    }

    fn full(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    async fn connect(&self) -> Result<MultiplexedConnection, Problem> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.limit))
            .set_response_timeout(Some(self.limit));
        self.client.get_multiplexed_async_connection_with_config(&config).await.map_err(problem)
    }
}

/// A text in which nothing is special to Redis's patterns.
fn literal(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | '^' | '-') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

fn problem(error: RedisError) -> Problem {
    let code = if error.is_timeout() { "timeout" } else { "connection" };
    match error.kind() {
        ErrorKind::Io => Problem::new(code, format!("Redis could not be reached: {error}.")),
        // One of several commands says it inside the error of all.
        _ if error.to_string().contains("WRONGTYPE") => {
            Problem::new("redis", "That key holds something else than a text.")
        }
        _ => Problem::new("redis", format!("Redis refused: {}.", head(&error.to_string(), 300).0)),
    }
}
