//! Against a real Redis server, started here on a free port and ended again.

use crate::support::{World, pair};
use mainpath_net::{NotReady, RedisContext, RedisContextConfig};
use mainpath_testkit::redis::Redis;
use mainpath_tools::Tools;
use mainpath_types::EffectClass;
use serde_json::{Value, json};

async fn direct(redis: &Redis, words: &[&str]) -> redis::Value {
    let client = redis::Client::open(redis.open_url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut command = redis::cmd(words[0]);
    words[1..].iter().for_each(|word| {
        command.arg(word);
    });
    command.query_async(&mut connection).await.unwrap()
}

fn world_on(redis: &Redis, prefix: &str) -> World {
    let url = redis.url();
    world(json!({"url": url, "password": "PASS", "prefix": prefix, "ttl_s": 100})).unwrap()
}

fn world(config: Value) -> Result<World, NotReady> {
    let config: RedisContextConfig = serde_json::from_value(config).unwrap();
    let tool = RedisContext::new(&config, &|name| (name == "PASS").then(|| "redis-pass".into()))?;
    Ok(World::new(Tools::new().with(tool)))
}

#[tokio::test]
async fn values_are_kept_under_the_prefix_and_for_the_time() {
    let redis = Redis::start();
    let world = world_on(&redis, "mp:");
    let act = async |args: Value| world.say("redis_context", args).await;
    assert_eq!(act(json!({"op": "get", "key": "a"})).await, pair("not_found", "There is no key \"a\"."));
    assert_eq!(
        act(json!({"op": "set", "key": "a", "value": "één"})).await,
        pair("ok", "Kept 5 bytes under \"a\" for 100 seconds.")
    );
    assert_eq!(
        act(json!({"op": "set", "key": "b", "value": "", "ttl_s": 7})).await,
        pair("ok", "Kept 0 bytes under \"b\" for 7 seconds.")
    );
    assert_eq!(
        act(json!({"op": "set", "key": "c", "value": "3", "ttl_s": 9_999})).await,
        pair("ok", "Kept 1 bytes under \"c\" for 100 seconds.")
    );
    assert_eq!(act(json!({"op": "get", "key": "a"})).await, pair("ok", "één"));
    assert_eq!(act(json!({"op": "get", "key": "b"})).await, pair("ok", ""));
    assert_eq!(direct(&redis, &["GET", "mp:a"]).await, redis::Value::BulkString("één".into()));
    let redis::Value::Int(ttl) = direct(&redis, &["TTL", "mp:b"]).await else { panic!("no number") };
    assert!((1..=7).contains(&ttl), "{ttl}");
    assert_eq!(act(json!({"op": "delete", "key": "a"})).await, pair("ok", "Deleted \"a\"."));
    assert_eq!(act(json!({"op": "delete", "key": "a"})).await, pair("ok", "There was no key \"a\"."));
    assert_eq!(act(json!({"op": "list"})).await, pair("ok", "b\nc"));
    assert_eq!(world.tools.doc("redis_context").unwrap().effect, EffectClass::Idempotent);
}

#[tokio::test]
async fn nothing_outside_the_prefix_is_seen_or_changed_whatever_the_pattern() {
    let redis = Redis::start();
    // A prefix in which Redis would see a pattern.
    let world = world_on(&redis, "m*[p]:");
    let act = async |args: Value| world.say("redis_context", args).await;
    for key in ["mine", "other:x", "mp:x", "m1p:x"] {
        direct(&redis, &["SET", key, "theirs"]).await;
    }
    for key in ["k:1", "k:2", "l"] {
        act(json!({"op": "set", "key": key, "value": "1"})).await;
    }
    assert_eq!(act(json!({"op": "list"})).await, pair("ok", "k:1\nk:2\nl"));
    assert_eq!(act(json!({"op": "list", "pattern": "k:?"})).await, pair("ok", "k:1\nk:2"));
    assert_eq!(act(json!({"op": "list", "pattern": "x"})).await, pair("ok", "There are no such keys."));
    for key in ["../other:x", "\u{0}", "a\r\nDEL other:x"] {
        assert_ne!(act(json!({"op": "get", "key": key})).await.0, "ok");
    }
    act(json!({"op": "delete", "key": "*"})).await;
    assert_eq!(direct(&redis, &["DBSIZE"]).await, redis::Value::Int(7));
}

#[tokio::test]
async fn sizes_and_numbers_are_bounded() {
    let redis = Redis::start();
    let world = world_on(&redis, "mp:");
    let act = async |args: Value| world.say("redis_context", args).await;
    let told = "The value has 65537 bytes; 65536 are the most.";
    assert_eq!(act(json!({"op": "set", "key": "a", "value": "x".repeat(65_537)})).await, pair("too_large", told));
    assert_eq!(act(json!({"op": "set", "key": "k".repeat(513), "value": ""})).await.0, "invalid_arguments");
    direct(&redis, &["SETRANGE", "mp:huge", "50000000", "x"]).await;
    let (code, text) = act(json!({"op": "get", "key": "huge"})).await;
    assert_eq!(
        (code.as_str(), text.len(), text.ends_with("\n[only the first 65536 of 50000001 bytes]")),
        ("ok", 65_536 + 41, true)
    );
    direct(&redis, &["EVAL", "for i = 1, 300 do redis.call('SET', 'mp:n' .. i, i) end", "0"]).await;
    let (_, text) = act(json!({"op": "list"})).await;
    assert_eq!((text.lines().count(), text.lines().last()), (201, Some("[there are more; give a narrower pattern]")));
    direct(&redis, &["LPUSH", "mp:list", "1"]).await;
    assert_eq!(
        act(json!({"op": "get", "key": "list"})).await,
        pair("redis", "That key holds something else than a text.")
    );
}

#[tokio::test]
async fn wrong_calls_and_servers_are_told() {
    let redis = Redis::start();
    let world_of = |port: u16, password: bool| {
        let mut config = json!({"url": format!("redis://127.0.0.1:{port}"), "prefix": "mp:"});
        if password {
            config["password"] = "PASS".into();
        }
        world(config).unwrap()
    };
    let good = world_of(redis.port, true);
    for args in [
        json!({"op": "get"}),
        json!({"op": "set", "key": "a"}),
        json!({"op": "flushall"}),
        json!({"op": "get", "key": ""}),
    ] {
        assert_eq!(good.say("redis_context", args).await.0, "invalid_arguments");
    }
    let (code, text) = world_of(redis.port, false).say("redis_context", json!({"op": "list"})).await;
    assert_eq!((code.as_str(), text.starts_with("Redis refused: ")), ("redis", true), "{text}");
    let port = redis.port;
    drop(redis);
    let (code, text) = world_of(port, true).say("redis_context", json!({"op": "list"})).await;
    assert_eq!((code.as_str(), text.starts_with("Redis could not be reached: ")), ("connection", true), "{text}");
}

#[test]
fn what_is_wrong_with_the_configuration_is_said() {
    let told = |url: &str, prefix: &str| {
        world(json!({"url": url, "prefix": prefix, "password": "PASS"})).err().unwrap().to_string()
    };
    let form = "url must be like redis://127.0.0.1:6379/0: ";
    assert_eq!(told("rediss://a.test", "p"), format!("{form}only redis:// is spoken; let a tunnel speak TLS"));
    assert_eq!(
        told("redis://:pass@a.test", "p"),
        format!("{form}user and password do not belong into it; set user and password")
    );
    assert_eq!(told("a.test", "p"), format!("{form}relative URL without a base"));
    assert_eq!(told("redis://a.test", ""), "prefix must be some letters, such as \"mainpath:\"");
}
