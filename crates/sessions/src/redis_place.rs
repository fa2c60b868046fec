//! A Redis server: under `PREFIXsession:NAME` a list of neutral messages, under `PREFIXsession:NAME:of` a hash with `trace`
//! and `head`. Both live as long as the session does.

use crate::place::{Fut, Kept, Listed, PlaceError, SessionPlace};
use mainpath_types::{Message, Millis, TraceId};
use redis::IntoConnectionInfo;
use redis::aio::MultiplexedConnection;
use std::time::Duration;

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Keys: the list, the hash. Arguments: how many traces may be replaced, they (the first is the new one), the last event, the time to
/// live in milliseconds or 0, the messages. Gives the trace that may not be replaced, if it is there.
const REPLACE: &str = "
    local held, known = redis.call('HGET', KEYS[2], 'trace'), tonumber(ARGV[1])
    if held then
        local ours = false
        for at = 2, 1 + known do ours = ours or ARGV[at] == held end
        if not ours then return held end
    end
    redis.call('DEL', KEYS[1], KEYS[2])
    redis.call('HSET', KEYS[2], 'trace', ARGV[2], 'head', ARGV[2 + known])
    for at = 4 + known, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[at]) end
    local ttl = tonumber(ARGV[3 + known])
    if ttl > 0 then
        redis.call('PEXPIRE', KEYS[1], ttl)
        redis.call('PEXPIRE', KEYS[2], ttl)
    end
    return false
";

/// Which server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisServer {
    /// `redis://host:port/database`, without user and password.
    pub url: String,
    /// The user; Redis's default user where nothing is said.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// What every key begins with.
    pub prefix: String,
}

/// A Redis server.
pub struct RedisPlace {
    client: redis::Client,
    url: String,
    prefix: String,
}

impl RedisPlace {
    /// On this server. Nothing is opened yet. Errors: the address is none.
    pub fn new(server: &RedisServer) -> Result<RedisPlace, PlaceError> {
        let wrong = |problem: String| PlaceError { place: server.url.clone(), problem };
        if !server.url.starts_with("redis://") || server.url.contains('@') {
            let problem = "it must be like redis://127.0.0.1:6379/0; user and password are set beside it";
            return Err(PlaceError { place: "the address of the Redis server".into(), problem: problem.into() });
        }
        let mut info = server.url.as_str().into_connection_info().map_err(|error| wrong(error.to_string()))?;
        let mut settings = info.redis_settings().clone();
        if let Some(user) = &server.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &server.password {
            settings = settings.set_password(password);
        }
        info = info.set_redis_settings(settings);
        let client = redis::Client::open(info).map_err(|error| wrong(error.to_string()))?;
        Ok(RedisPlace { client, url: server.url.clone(), prefix: server.prefix.clone() })
    }

    fn keys(&self, session: &str) -> (String, String) {
        let list = format!("{}session:{session}", self.prefix);
        let of = format!("{list}:of");
        (list, of)
    }

    /// The keys of the lists of all sessions, each with the trace that it is of.
    async fn all(&self, connection: &mut MultiplexedConnection) -> Result<Vec<(String, String)>, redis::RedisError> {
        let mut escaped = String::new();
        for c in self.prefix.chars() {
            // These have a meaning in a pattern.
            escaped.extend("*?[]\\".contains(c).then_some('\\'));
            escaped.push(c);
        }
        let mut found = Vec::new();
        let mut cursor = 0_u64;
        loop {
            let (next, keys): (u64, Vec<String>) = redis::cmd("SCAN")
                .arg(cursor)
                .arg("MATCH")
                .arg(format!("{escaped}session:*:of"))
                .arg("COUNT")
                .arg(1_000)
                .query_async(connection)
                .await?;
            for of in keys {
                let trace: Option<String> = redis::cmd("HGET").arg(&of).arg("trace").query_async(connection).await?;
                found.extend(of.strip_suffix(":of").map(String::from).zip(trace));
            }
            cursor = next;
            if cursor == 0 {
                return Ok(found);
            }
        }
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T, redis::RedisError>>) -> Result<T, PlaceError> {
        let wrong = |problem: String| PlaceError { place: self.url.clone(), problem };
        match tokio::time::timeout(PATIENCE, work).await {
            Err(_) => Err(wrong(format!("it did not answer within {PATIENCE:?}"))),
            Ok(done) => done.map_err(|error| wrong(error.to_string())),
        }
    }

    async fn connect(&self) -> Result<MultiplexedConnection, redis::RedisError> {
        self.client.get_multiplexed_async_connection().await
    }
}

impl SessionPlace for RedisPlace {
    fn get<'a>(&'a self, session: &'a str, window: usize) -> Fut<'a, Result<Option<Kept>, PlaceError>> {
        Box::pin(async move {
            let (list, of) = self.keys(session);
            let from = if window == 0 { 0 } else { -i64::try_from(window).unwrap_or(i64::MAX) };
            type Read = ((Option<String>, Option<String>), Vec<String>);
            let ((trace, head), messages): Read = self
                .within(async {
                    let mut connection = self.connect().await?;
                    redis::pipe()
                        .atomic()
                        .cmd("HMGET")
                        .arg(&of)
                        .arg(&["trace", "head"])
                        .cmd("LRANGE")
                        .arg(&list)
                        .arg(from)
                        .arg(-1)
                        .query_async(&mut connection)
                        .await
                })
                .await?;
            // What others have spoilt is as none: it is written again.
            let kept = || {
                let messages: Option<Vec<Message>> =
                    messages.iter().map(|message| serde_json::from_str(message).ok()).collect();
                Some(Kept { trace: trace?.parse().ok()?, head: head?.parse().ok()?, messages: messages? })
            };
            Ok(kept())
        })
    }

    fn put<'a>(&'a self, session: &'a str, kept: &'a Kept, ttl_ms: Option<Millis>) -> Fut<'a, Result<(), PlaceError>> {
        Box::pin(async move {
            let (list, of) = self.keys(session);
            let mut pipe = redis::pipe();
            pipe.atomic().del(&[&list, &of]).ignore();
            pipe.cmd("HSET").arg(&of).arg("trace").arg(kept.trace.as_str()).arg("head").arg(kept.head).ignore();
            for message in &kept.messages {
                let text = serde_json::to_string(message)
                    .map_err(|error| PlaceError { place: self.url.clone(), problem: error.to_string() })?;
                pipe.rpush(&list, text).ignore();
            }
            if let Some(ttl) = ttl_ms.and_then(|ttl| i64::try_from(ttl).ok()) {
                pipe.pexpire(&list, ttl).ignore().pexpire(&of, ttl).ignore();
            }
            self.within(async {
                let mut connection = self.connect().await?;
                pipe.query_async::<()>(&mut connection).await
            })
            .await
        })
    }

    fn replace<'a>(
        &'a self,
        session: &'a str,
        kept: &'a Kept,
        ttl_ms: Option<Millis>,
        over: &'a [TraceId],
    ) -> Fut<'a, Result<Option<TraceId>, PlaceError>> {
        Box::pin(async move {
            let (list, of) = self.keys(session);
            let mut script = redis::cmd("EVAL");
            script.arg(REPLACE).arg(2).arg(&list).arg(&of).arg(over.len() + 1).arg(kept.trace.as_str());
            for trace in over {
                script.arg(trace.as_str());
            }
            script.arg(kept.head).arg(ttl_ms.unwrap_or(0));
            for message in &kept.messages {
                let text = serde_json::to_string(message)
                    .map_err(|error| PlaceError { place: self.url.clone(), problem: error.to_string() })?;
                script.arg(text);
            }
            let held: Option<String> = self
                .within(async {
                    let mut connection = self.connect().await?;
                    script.query_async(&mut connection).await
                })
                .await?;
            Ok(held.and_then(|held| held.parse().ok()))
        })
    }

    fn list(&self) -> Fut<'_, Result<Vec<Listed>, PlaceError>> {
        Box::pin(async move {
            let all = self.within(async { self.all(&mut self.connect().await?).await }).await?;
            let begin = format!("{}session:", self.prefix);
            let listed = |(list, trace): (String, String)| {
                Some(Listed { name: list.strip_prefix(&begin)?.into(), trace: trace.parse().ok()? })
            };
            let mut listed: Vec<Listed> = all.into_iter().filter_map(listed).collect();
            listed.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(listed)
        })
    }

    fn remove<'a>(&'a self, session: &'a str) -> Fut<'a, Result<(), PlaceError>> {
        Box::pin(async move {
            let (list, of) = self.keys(session);
            self.within(async {
                let mut connection = self.connect().await?;
                redis::cmd("DEL").arg(&[list, of]).query_async::<()>(&mut connection).await
            })
            .await
        })
    }

    fn forget<'a>(&'a self, traces: &'a [TraceId]) -> Fut<'a, Result<(), PlaceError>> {
        Box::pin(self.within(async {
            let mut connection = self.connect().await?;
            let is_theirs = |trace: &String| traces.iter().any(|wanted| wanted.as_str() == trace);
            for (list, _) in self.all(&mut connection).await?.into_iter().filter(|(_, trace)| is_theirs(trace)) {
                let of = format!("{list}:of");
                redis::cmd("DEL").arg(&[list, of]).query_async::<()>(&mut connection).await?;
            }
            Ok(())
        }))
    }
}
