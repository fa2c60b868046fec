//! A Redis server: under `PREFIXsession:NAME` a list of neutral messages, under `PREFIXsession:NAME:of` a hash with `trace`,
//! `head` and `messages`, which is how many there are. Both live as long as the session does.

use crate::place::{Fut, Kept, Known, Listed, PlaceError, SessionPlace, UNREADABLE};
use mainpath_types::{Message, Millis, TraceId};
use redis::IntoConnectionInfo;
use redis::aio::MultiplexedConnection;
use std::time::Duration;

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Keys: the list, the hash. Arguments: the trace, its last event, the time to live in milliseconds or 0, how many others may be
/// replaced, they (each a trace and the event up to which it was written, or nothing for any), the messages. Gives the trace that may
/// not be replaced, if it is there.
const REPLACE: &str = "
    local held, known = redis.call('HMGET', KEYS[2], 'trace', 'head'), tonumber(ARGV[4])
    if held[1] then
        local free = held[1] == ARGV[1]
        for at = 5, 3 + 2 * known, 2 do
            free = free or (held[1] == ARGV[at] and (ARGV[at + 1] == '' or ARGV[at + 1] == held[2]))
        end
        if not free then return held[1] end
    end
    local messages = 5 + 2 * known
    redis.call('DEL', KEYS[1], KEYS[2])
    redis.call('HSET', KEYS[2], 'trace', ARGV[1], 'head', ARGV[2], 'messages', #ARGV - messages + 1)
    for at = messages, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[at]) end
    local ttl = tonumber(ARGV[3])
    if ttl > 0 then
        redis.call('PEXPIRE', KEYS[1], ttl)
        redis.call('PEXPIRE', KEYS[2], ttl)
    end
    return false
";

/// Keys: the list, the hash. Argument: the trace of which nothing is kept any more.
const FORGET: &str = "
    if redis.call('HGET', KEYS[2], 'trace') == ARGV[1] then
        redis.call('DEL', KEYS[1])
        redis.call('HSET', KEYS[2], 'head', 0, 'messages', 0)
    end
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
        let wrong = |problem: String| PlaceError::new(&server.url, problem);
        if !server.url.starts_with("redis://") || server.url.contains('@') {
            let problem = "it must be like redis://127.0.0.1:6379/0; user and password are set beside it";
            return Err(PlaceError::new("the address of the Redis server", problem));
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
        let wrong = |problem: String| PlaceError::new(&self.url, problem);
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
            type Read = ((Option<String>, Option<String>, Option<String>), u64, Vec<String>);
            let damage = |problem: &str| PlaceError::damage(&self.url, session, problem);
            let ((trace, head, count), there, texts): Read = self
                .within(async {
                    let mut connection = self.connect().await?;
                    redis::pipe()
                        .atomic()
                        .cmd("HMGET")
                        .arg(&of)
                        .arg(&["trace", "head", "messages"])
                        .cmd("LLEN")
                        .arg(&list)
                        .cmd("LRANGE")
                        .arg(&list)
                        .arg(from)
                        .arg(-1)
                        .query_async(&mut connection)
                        .await
                })
                .await
                .map_err(|error| if error.problem.contains("WRONGTYPE") { damage(&error.problem) } else { error })?;
            if trace.is_none() && head.is_none() && texts.is_empty() {
                return Ok(None);
            }
            let trace =
                trace.and_then(|trace| trace.parse().ok()).ok_or_else(|| damage("its trace is not a trace's name"))?;
            let head = head.and_then(|head| head.parse().ok()).ok_or_else(|| damage("its head is not a number"))?;
            let messages: Vec<Message> = texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
            // An earlier version did not write how many there are.
            let count = count.and_then(|count| count.parse::<u64>().ok()).unwrap_or(there);
            let lost = count.saturating_sub(there) + (texts.len() - messages.len()) as u64;
            if messages.is_empty() && lost > 0 {
                return Err(damage(UNREADABLE));
            }
            Ok(Some(Kept { trace, head, messages, lost }))
        })
    }

    fn put<'a>(&'a self, session: &'a str, kept: &'a Kept, ttl_ms: Option<Millis>) -> Fut<'a, Result<(), PlaceError>> {
        Box::pin(async move {
            let (list, of) = self.keys(session);
            let mut pipe = redis::pipe();
            pipe.atomic().del(&[&list, &of]).ignore();
            pipe.cmd("HSET").arg(&of).arg("trace").arg(kept.trace.as_str()).arg("head").arg(kept.head);
            pipe.arg("messages").arg(kept.messages.len()).ignore();
            for message in &kept.messages {
                let text = serde_json::to_string(message).map_err(|error| PlaceError::new(&self.url, error))?;
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
        over: &'a [Known],
    ) -> Fut<'a, Result<Option<TraceId>, PlaceError>> {
        Box::pin(async move {
            let (list, of) = self.keys(session);
            let mut script = redis::cmd("EVAL");
            script.arg(REPLACE).arg(2).arg(&list).arg(&of);
            script.arg(kept.trace.as_str()).arg(kept.head).arg(ttl_ms.unwrap_or(0)).arg(over.len());
            for Known { trace, head } in over {
                script.arg(trace.as_str()).arg(head.map_or(String::new(), |head| head.to_string()));
            }
            for message in &kept.messages {
                let text = serde_json::to_string(message).map_err(|error| PlaceError::new(&self.url, error))?;
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
            for (list, trace) in self.all(&mut connection).await?.into_iter().filter(|(_, trace)| is_theirs(trace)) {
                let of = format!("{list}:of");
                let mut script = redis::cmd("EVAL");
                script.arg(FORGET).arg(2).arg(list).arg(of).arg(trace);
                script.query_async::<()>(&mut connection).await?;
            }
            Ok(())
        }))
    }
}
