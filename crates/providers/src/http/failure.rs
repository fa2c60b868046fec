//! What a failed exchange means: one line with the address and what to do.

use super::client::CONNECT_TIMEOUT;
use crate::errors::Unreached;
use crate::words::{error, innermost, one_line};
use mainpath_types::{ModelError, ModelErrorKind};
use std::error::Error;
use std::io;
use std::time::Duration;

/// The first error in the chain of causes that is a `T`, also where an [`io::Error`] carries it.
fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(at) = next {
        if let Some(found) = at.downcast_ref::<T>() {
            return Some(found);
        }
        let carried = at.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = carried.map(|inner| inner as &(dyn Error + 'static)).or_else(|| at.source());
    }
    None
}

/// No answer came, not even its first line.
pub(crate) fn before_answer(failure: &reqwest::Error, url: &str) -> ModelError {
    use ModelErrorKind::{Connection, Server, Timeout};
    let why = innermost(failure);
    if failure.is_builder() {
        return error(ModelErrorKind::BadRequest, format!("cannot send a request to {url}: {why}"));
    }
    if failure.is_timeout() {
        let seconds = CONNECT_TIMEOUT.as_secs();
        return error(
            Timeout,
            format!("no connection to {url} within {seconds} s; is the server running and reachable?"),
        );
    }
    if let Some(tls) = cause::<rustls::Error>(failure) {
        return error(
            Connection,
            format!("no secure connection to {url}: {}; is the address right?", one_line(&tls.to_string(), 200)),
        );
    }
    if failure.is_connect() {
        let is_refused = cause::<io::Error>(failure).is_some_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
        let message = match Unreached::read(&chain(failure)) {
            _ if is_refused => format!("cannot reach {url}: connection refused; is the server running?"),
            Unreached::UnknownHost => {
                format!("cannot reach {url}: its host name is not known ({why}); is the address right?")
            }
            Unreached::Proxy => {
                format!("cannot reach {url} through the proxy: {why}; check HTTP_PROXY, HTTPS_PROXY and NO_PROXY")
            }
            Unreached::Other => format!("cannot reach {url}: {why}; is the server running and reachable?"),
        };
        return error(Connection, message);
    }
    if cause::<hyper::Error>(failure).is_some_and(hyper::Error::is_parse) {
        return error(
            Server,
            format!("{url} answered with something that is not HTTP: {why}; is this a model server?"),
        );
    }
    error(Connection, format!("{url} closed the connection without an answer: {why}"))
}

fn chain(top: &(dyn Error + 'static)) -> String {
    let mut words = top.to_string();
    let mut here = top.source();
    while let Some(inner) = here {
        words.push(' ');
        words.push_str(&inner.to_string());
        here = inner.source();
    }
    words
}

/// The answer had begun.
pub(crate) fn in_answer(failure: &reqwest::Error, url: &str, received: usize) -> ModelError {
    let why = innermost(failure);
    error(ModelErrorKind::StreamCut, format!("the answer from {url} broke off after {received} bytes: {why}"))
}

/// Nothing came for too long.
pub(crate) fn silent(url: &str, waited: Duration, received: usize) -> ModelError {
    let waited = if waited.as_millis() < 1000 {
        format!("{} ms", waited.as_millis())
    } else {
        format!("{} s", waited.as_secs())
    };
    let message = if received == 0 {
        format!("no answer from {url} within {waited}; is the server overloaded or still loading the model?")
    } else {
        format!("the answer from {url} stopped after {received} bytes and nothing came for {waited}")
    };
    error(ModelErrorKind::Timeout, message)
}

/// All that came for too long were signs of life.
pub(crate) fn only_alive(url: &str, waited: Duration, received: usize) -> ModelError {
    let seconds = waited.as_secs();
    let message = format!(
        "the answer from {url} stopped after {received} bytes: the server sent only keep-alives for {seconds} s"
    );
    error(ModelErrorKind::Timeout, message)
}

/// The answer is larger than what is read, and nothing of it can be kept. To ask again would be to pay for the same again.
pub(crate) fn too_large(limit: usize) -> ModelError {
    error(
        ModelErrorKind::BadRequest,
        format!("the answer is larger than {limit} bytes, which no model's answer is, and nothing of it can be read"),
    )
}
