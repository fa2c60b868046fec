//! A model that can be called.

use crate::codec::Codec;
use crate::registry::ModelFacts;
use bytes::Bytes;
use mainpath_types::{Delta, ModelError, ModelReply, RequestHead};
use std::future::Future;
use std::pin::Pin;

/// A boxed future. Dropping it cancels what it does.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One attempt to get an answer.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The request body in segments, in order, as the provider's codec encoded it. They are shared with the caller's
    /// cache and sent as they are, never joined.
    pub body: Vec<Bytes>,
    /// The head that the body was encoded from.
    pub head: &'a RequestHead,
    /// The number of this request in its trace, from 1; a retry has a new one.
    pub request: u32,
}

/// A model: it makes one attempt per call and never retries.
pub trait Provider: Send + Sync {
    /// The format in which it wants its requests.
    fn codec(&self) -> &dyn Codec;

    /// What is known of a model of one's own: its window, and its price, which a limit in money needs. `None`: as
    /// [`ModelFacts::own`] says.
    fn facts(&self) -> Option<ModelFacts> {
        None
    }

    /// Sends one request and waits for the whole answer. Pieces of a streamed answer go to `deltas` as they come; what
    /// counts is what is returned.
    ///
    /// # Errors
    /// One line that says what is wrong, where, and what to do. Never the key.
    fn call<'a>(
        &'a self,
        call: Call<'a>,
        deltas: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>>;
}
