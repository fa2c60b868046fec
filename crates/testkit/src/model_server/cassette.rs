//! Exchanges with a model server, kept in a file and played again.

use super::behaviour::{Behaviour, RecordedRequest, Reply};
use super::http::{response_of, unpacked};
use super::server::{ModelServer, locked};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a client and a server said to each other, in order. It has no headers but the response's content type, hence no key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cassette {
    /// The exchanges, in the order in which the requests came.
    pub exchanges: Vec<Exchange>,
}

/// One request and its response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The request's path with its query.
    pub path: String,
    /// The request's body.
    pub request: Value,
    /// The response's status.
    pub status: u16,
    /// The response's content type.
    pub content_type: String,
    /// The response's body as text.
    pub response: String,
}

impl Cassette {
    /// Reads a cassette. Panics, with the file's name, if it is none.
    pub fn read(path: &Path) -> Cassette {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes the cassette where `read` finds it.
    pub fn write(&self, path: &Path) {
        let text = serde_json::to_string_pretty(self).expect("text and JSON values can be written");
        std::fs::write(path, text + "\n").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

impl Behaviour {
    /// Plays a cassette: the n-th request must be its n-th, with exactly that path and, as JSON, that body. From the first one that
    /// differs, every request is refused: the first with the place of the difference.
    pub fn cassette(cassette: &Cassette) -> Behaviour {
        let exchanges = cassette.exchanges.clone();
        let has_ended = AtomicBool::new(false);
        // What was recorded is stricter than any rule of a format.
        Behaviour::new(move |request| {
            if has_ended.load(Ordering::SeqCst) {
                return Reply::Refuse("an earlier request was not the recorded one".into());
            }
            match play(&exchanges, request) {
                Ok(reply) => reply,
                Err(difference) => {
                    has_ended.store(true, Ordering::SeqCst);
                    Reply::Refuse(difference)
                }
            }
        })
        .unchecked()
    }
}

fn play(exchanges: &[Exchange], request: &RecordedRequest) -> Result<Reply, String> {
    let Some(exchange) = exchanges.get(request.n - 1) else {
        return Err(format!("the cassette has only {} exchanges", exchanges.len()));
    };
    if request.path != exchange.path {
        return Err(format!("the path is {}, recorded was {}", request.path, exchange.path));
    }
    let body = serde_json::from_slice(&request.bytes).map_err(|error| format!("the body is no JSON: {error}"))?;
    match difference(&exchange.request, &body, "") {
        Some(difference) => Err(difference),
        None => {
            let Exchange { status, content_type, response, .. } = exchange;
            Ok(Reply::Rendered(Arc::new(response_of(*status, content_type, &[], response.as_bytes())), 0))
        }
    }
}

/// Where two JSON values differ first, with the place as a JSON Pointer (RFC 6901).
fn difference(recorded: &Value, came: &Value, at: &str) -> Option<String> {
    let name = if at.is_empty() { "the body" } else { at };
    let below = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
    match (recorded, came) {
        (Value::Object(old), Value::Object(new)) => {
            let changed = old.iter().find_map(|(key, old)| match new.get(key) {
                Some(new) => difference(old, new, &below(key)),
                None => Some(format!("{} is missing, recorded was {}", below(key), short(old))),
            });
            let more = || new.iter().find(|(key, _)| !old.contains_key(*key));
            changed.or_else(|| more().map(|(key, new)| format!("{} is new: {}", below(key), short(new))))
        }
        (Value::Array(old), Value::Array(new)) => {
            let pairs = old.iter().zip(new).enumerate();
            let changed = pairs.map(|(n, (old, new))| difference(old, new, &below(&n.to_string()))).find_map(|it| it);
            let lengths = || format!("{name} has {} items, recorded were {}", new.len(), old.len());
            changed.or_else(|| (old.len() != new.len()).then(lengths))
        }
        (old, new) if old == new => None,
        (old, new) => Some(format!("{name} is {}, recorded was {}", short(new), short(old))),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl ModelServer {
    /// What was said so far, as a cassette. Panics if a request was not answered with one whole response of text.
    pub fn recorded(&self) -> Cassette {
        let responses = locked(&self.shared.responses).clone();
        let exchange = |request: RecordedRequest| {
            let whole = responses.iter().find(|(n, _)| *n == request.n).and_then(|(_, bytes)| unpacked(bytes));
            let (status, content_type, response) =
                whole.unwrap_or_else(|| panic!("request {} has no whole answer", request.n));
            let body = request.body().clone();
            Exchange { path: request.path, request: body, status, content_type, response }
        };
        let mut requests = self.requests();
        requests.sort_by_key(|request| request.n);
        Cassette { exchanges: requests.into_iter().map(exchange).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_told_with_its_place() {
        let recorded = json!({"a": [1, {"b/c": "x"}], "d": null});
        let told = |came: Value| difference(&recorded, &came, "");
        assert_eq!(told(recorded.clone()), None);
        let is = |came: Value, expected: &str| assert_eq!(told(came).as_deref(), Some(expected));
        is(json!({"a": [1, {"b/c": "y"}], "d": 2}), "/a/1/b~1c is \"y\", recorded was \"x\"");
        is(json!({"a": [1, {}], "d": null}), "/a/1/b~1c is missing, recorded was \"x\"");
        is(json!({"a": [1], "d": null}), "/a has 1 items, recorded were 2");
        is(json!({"a": [1, {"b/c": "x"}, 3], "d": null}), "/a has 3 items, recorded were 2");
        is(json!({"a": [1, {"b/c": "x"}], "d": null, "e": 5}), "/e is new: 5");
        is(json!({"a": [1, {"b/c": "x"}]}), "/d is missing, recorded was null");
        is(json!([]), "the body is [], recorded was {\"a\":[1,{\"b/c\":\"x\"}],\"d\":null}");
    }
}
