//! A store as one tenant uses it, and as one trace does: what travels together is one value.

use crate::{Fut, HeadHash, Mail, Owner, ReadLog, Report, Scope, Store, StoreError};
use mainpath_types::{BlobHash, EventId, MailId, TraceId};

/// A store as somebody uses it.
#[derive(Clone, Copy)]
pub struct ScopedStore<'a> {
    /// Where everything is.
    pub store: &'a dyn Store,
    /// Who uses it.
    pub scope: &'a Scope,
}

impl<'a> ScopedStore<'a> {
    /// A store as this scope uses it.
    pub fn new(store: &'a dyn Store, scope: &'a Scope) -> ScopedStore<'a> {
        ScopedStore { store, scope }
    }

    /// One of its traces.
    pub fn of(self, trace: &'a TraceId) -> TraceStore<'a> {
        TraceStore { store: self.store, scope: self.scope, trace }
    }

    /// See [`Store::put_blob`].
    pub fn put_blob(&self, bytes: Vec<u8>) -> Fut<'a, Result<BlobHash, StoreError>> {
        self.store.put_blob(self.scope, bytes)
    }

    /// See [`Store::get_blob`].
    pub fn get_blob(&self, hash: &BlobHash) -> Fut<'a, Result<Vec<u8>, StoreError>> {
        self.store.get_blob(self.scope, hash)
    }
}

/// One trace of a store: what is kept of it.
#[derive(Clone, Copy)]
pub struct TraceStore<'a> {
    /// Where everything is.
    pub store: &'a dyn Store,
    /// Who uses it.
    pub scope: &'a Scope,
    /// Which trace.
    pub trace: &'a TraceId,
}

impl<'a> TraceStore<'a> {
    /// A trace of a store, as this scope uses it.
    pub fn new(store: &'a dyn Store, scope: &'a Scope, trace: &'a TraceId) -> TraceStore<'a> {
        TraceStore { store, scope, trace }
    }

    /// The store, for its blobs and for other traces.
    pub fn scoped(&self) -> ScopedStore<'a> {
        ScopedStore { store: self.store, scope: self.scope }
    }

    /// See [`Store::read`].
    pub fn read(&self, from: EventId) -> Fut<'a, Result<ReadLog, StoreError>> {
        self.store.read(self.scope, self.trace, from)
    }

    /// See [`Store::driver`].
    pub fn driver(&self) -> Fut<'a, Result<Option<Owner>, StoreError>> {
        self.store.driver(self.scope, self.trace)
    }

    /// See [`Store::mail`].
    pub fn mail(&self, after: MailId) -> Fut<'a, Result<Vec<Mail>, StoreError>> {
        self.store.mail(self.scope, self.trace, after)
    }

    /// See [`Store::verify`].
    pub fn verify(&self) -> Fut<'a, Result<Report, StoreError>> {
        self.store.verify(self.scope, self.trace)
    }

    /// See [`Store::heads`].
    pub fn heads(&self, events: Vec<EventId>) -> Fut<'a, Result<Vec<Option<HeadHash>>, StoreError>> {
        self.store.heads(self.scope, self.trace, events)
    }

    /// See [`Store::add_signature`].
    pub fn add_signature(&self, line: String) -> Fut<'a, Result<(), StoreError>> {
        self.store.add_signature(self.scope, self.trace, line)
    }

    /// See [`Store::signatures`].
    pub fn signatures(&self) -> Fut<'a, Result<Vec<u8>, StoreError>> {
        self.store.signatures(self.scope, self.trace)
    }

    /// See [`Store::add_score`].
    pub fn add_score(&self, line: String) -> Fut<'a, Result<(), StoreError>> {
        self.store.add_score(self.scope, self.trace, line)
    }

    /// See [`Store::scores`].
    pub fn scores(&self) -> Fut<'a, Result<Vec<u8>, StoreError>> {
        self.store.scores(self.scope, self.trace)
    }

    /// See [`Store::remove_scores`].
    pub fn remove_scores(&self) -> Fut<'a, Result<(), StoreError>> {
        self.store.remove_scores(self.scope, self.trace)
    }

    /// See [`Store::put_view`].
    pub fn put_view(&self, name: &str, bytes: Vec<u8>) -> Fut<'a, Result<(), StoreError>> {
        self.store.put_view(self.scope, self.trace, name, bytes)
    }

    /// See [`Store::get_view`].
    pub fn get_view(&self, name: &str) -> Fut<'a, Result<Option<Vec<u8>>, StoreError>> {
        self.store.get_view(self.scope, self.trace, name)
    }

    /// See [`Store::views`].
    pub fn views(&self) -> Fut<'a, Result<Vec<String>, StoreError>> {
        self.store.views(self.scope, self.trace)
    }

    /// See [`Store::delete_view`].
    pub fn delete_view(&self, name: &str) -> Fut<'a, Result<(), StoreError>> {
        self.store.delete_view(self.scope, self.trace, name)
    }
}
