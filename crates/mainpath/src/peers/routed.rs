//! A store that reaches traces here and on other machines, by their ids. What is on another machine is read, and mail is sent to it; it is
//! driven and kept there alone.

use super::known::{KnownLog, KnownLogs, LogPart, LogPartError};
use super::server::{PeerAsk, PeerServer, Unanswered};
use mainpath_store::{
    Appended, Collected, Damage, Fut, HeadHash, Lease, Letter, Mail, Opened, Owner, ReadLog, Report, Scope, Store,
    StoreError, Sweep, TraceEntry,
};
use mainpath_types::{BlobHash, Event, EventId, MailId, TraceId};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a server may wait for something new in a log.
const WAIT: Duration = Duration::from_secs(25);
/// How often one that cannot be reached is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// The shortest time from one request of a listener to the next, at first
const GAP: Duration = Duration::from_millis(500);
/// and of a server that answers at once without news.
const LONGEST_GAP: Duration = Duration::from_secs(2);

/// Routes by the ids of traces.
pub struct RoutedStore {
    here: Arc<dyn Store>,
    servers: BTreeMap<String, Arc<PeerServer>>,
    known: KnownLogs,
}

/// A trace of another machine, and its server.
pub(super) struct There<'a> {
    pub server: &'a Arc<PeerServer>,
    pub id: &'a str,
}

/// A part of a log, and how many bytes it had as it was told.
struct Part {
    part: LogPart,
    bytes: usize,
}

/// That mail was put into a mailbox.
#[derive(Deserialize)]
struct Posted {
    mail: MailId,
}

impl RoutedStore {
    /// The traces of this store, and those of these servers, by their hosts.
    pub(crate) fn new(here: Arc<dyn Store>, servers: BTreeMap<String, Arc<PeerServer>>) -> RoutedStore {
        RoutedStore { here, servers, known: KnownLogs::default() }
    }

    /// Whether a machine is configured.
    pub(crate) fn reaches(&self, host: &str) -> bool {
        self.servers.contains_key(host)
    }

    /// Where a trace is, if it is not here. Errors: it is on a machine that is not configured.
    pub(super) fn there<'a>(&'a self, trace: &'a TraceId) -> Result<Option<There<'a>>, StoreError> {
        let Some(remote) = trace.elsewhere() else { return Ok(None) };
        match self.servers.get(remote.host) {
            Some(server) => Ok(Some(There { server, id: remote.id })),
            None => Err(StoreError::Io {
                doing: format!("reach {trace}"),
                source: io::Error::other(format!(
                    "{} is no machine of the configuration; add [peers.NAME] with its url and key",
                    remote.host
                )),
            }),
        }
    }

    /// Errors: the trace is on another machine, where this cannot be done from here.
    fn only_here(trace: &TraceId, doing: &str) -> Result<(), StoreError> {
        match trace.elsewhere() {
            None => Ok(()),
            Some(there) => Err(StoreError::Io {
                doing: format!("{doing} {trace}"),
                source: io::Error::other(format!("this is done on {}, where the trace is", there.host)),
            }),
        }
    }

    /// The whole log as it is now.
    async fn fetched(&self, trace: &TraceId, there: &There<'_>) -> Result<Arc<KnownLog>, StoreError> {
        let mut known = KnownLog::clone(&*self.known.get(trace));
        let began = known.head;
        let (mut is_again, mut end) = (false, None);
        loop {
            let Part { part, bytes } = there.part(known.head, true, None).await.map_err(|error| error.of(trace))?;
            // What is written meanwhile is read the next time.
            let (end, before) = (*end.get_or_insert(part.head), known.head);
            let damage = |problem: LogPartError| StoreError::Io {
                doing: format!("use the log of {trace}"),
                source: io::Error::new(io::ErrorKind::InvalidData, problem),
            };
            match known.with(part, bytes).map_err(damage)? {
                Some(more) => {
                    known = more;
                    if known.head >= end || known.head == before {
                        break;
                    }
                }
                None if is_again => return Err(damage(LogPartError::Unstable)),
                // Something was erased there since: what is known here is forgotten too.
                None => (known, is_again) = (KnownLog::default(), true),
            }
        }
        let known = Arc::new(known);
        if known.head != began || is_again {
            self.known.put(trace, Arc::clone(&known));
        }
        Ok(known)
    }

    async fn sent(&self, trace: &TraceId, there: &There<'_>, letter: Letter) -> Result<MailId, StoreError> {
        let mail: Value =
            serde_json::from_str(&letter.body).map_err(|error| StoreError::BadMail { problem: error.to_string() })?;
        let once = letter.once.map(|once| once.key);
        let body = json!({ "mail": mail });
        let path = ["api", "traces", there.id, "mail"];
        let ask = PeerAsk { path: &path, body: Some(&body), once: once.as_deref(), ..PeerAsk::default() };
        match there.server.json::<Posted>(ask).await {
            Ok(Posted { mail }) => Ok(mail),
            Err(Unanswered { status: Some(409), .. }) if once.is_some() => {
                Err(StoreError::Reused { trace: trace.clone(), key: once.unwrap_or_default() })
            }
            Err(unanswered) => Err(unanswered.of(trace)),
        }
    }

    /// A blob that a log of another machine names.
    async fn blob_there(&self, hash: &BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(trace) = self.known.naming(hash) else { return Ok(None) };
        let Some(there) = self.there(&trace)? else { return Ok(None) };
        let path = ["api", "traces", there.id, "blobs", hash.as_str()];
        let bytes = there.server.bytes(PeerAsk { path: &path, ..PeerAsk::default() }).await;
        let bytes = match bytes {
            Err(Unanswered { status: Some(404), .. }) => return Ok(None),
            bytes => bytes.map_err(|error| error.of(&trace))?,
        };
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        match found == hash.as_str() {
            true => Ok(Some(bytes)),
            false => Err(StoreError::Damaged(Damage {
                file: format!("blob {} of {trace}", hash.as_str()),
                line: 1,
                problem: "it does not hold what its name says".into(),
            })),
        }
    }
}

impl There<'_> {
    /// What follows an event of the log, with or without the events. `wait`: so long for something new.
    async fn part(&self, after: EventId, events: bool, wait: Option<Duration>) -> Result<Part, Unanswered> {
        let query = format!("after={after}&events={events}");
        let path = ["api", "traces", self.id, "log"];
        let told = self.server.bytes(PeerAsk { path: &path, query: &query, wait, ..PeerAsk::default() }).await?;
        let mut part: LogPart = self.server.read(&told)?;
        // The agents that it has started are where it is.
        part.events.iter_mut().for_each(|event| event.kind.place_children(&self.server.host));
        Ok(Part { part, bytes: told.len() })
    }
}

/// Tells the head of a log whenever it grows, as long as anybody listens.
async fn listen(server: Arc<PeerServer>, id: String, heads: watch::Sender<EventId>) {
    let there = There { server: &server, id: &id };
    let mut gap = GAP;
    loop {
        let (head, asked) = (*heads.borrow(), Instant::now());
        let part = tokio::select! {
            () = heads.closed() => return,
            part = there.part(head, false, Some(WAIT)) => part,
        };
        match part {
            Ok(Part { part, .. }) => {
                let grown = |head: &mut EventId| std::mem::replace(head, part.head.max(*head)) < part.head;
                gap = if heads.send_if_modified(grown) { GAP } else { (gap * 2).min(LONGEST_GAP) };
                // A server that waits as it is asked to has used up this time already.
                tokio::time::sleep(gap.saturating_sub(asked.elapsed())).await;
            }
            // It is gone; whoever listens looks for himself.
            Err(Unanswered { status: Some(404), .. }) => return,
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

impl Store for RoutedStore {
    fn lease(&self, scope: &Scope, trace: &TraceId, create: bool) -> Fut<'_, Result<Opened, StoreError>> {
        match trace.elsewhere() {
            None => self.here.lease(scope, trace, create),
            Some(_) => {
                let held = StoreError::Held { trace: trace.clone(), by: Owner::Elsewhere };
                Box::pin(std::future::ready(Err(held)))
            }
        }
    }

    fn begin(&self, scope: &Scope, trace: &TraceId, log: Vec<Event>) -> Fut<'_, Result<(), StoreError>> {
        match RoutedStore::only_here(trace, "make") {
            Ok(()) => self.here.begin(scope, trace, log),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn append<'a>(&'a self, lease: &'a Lease, expected: EventId, batch: Vec<Event>) -> Fut<'a, Appended> {
        // Only traces that are here are leased.
        self.here.append(lease, expected, batch)
    }

    fn read(&self, scope: &Scope, trace: &TraceId, from: EventId) -> Fut<'_, Result<ReadLog, StoreError>> {
        if trace.elsewhere().is_none() {
            return self.here.read(scope, trace, from);
        }
        let (scope, trace) = (scope.clone(), trace.clone());
        Box::pin(async move {
            let Some(there) = self.there(&trace)? else { return Err(StoreError::NotFound { trace }) };
            let known = self.fetched(&trace, &there).await?;
            Ok(ReadLog {
                events: known.events.iter().filter(|event| event.id >= from).cloned().collect(),
                erased: Vec::new(),
                head: known.head,
                // The chain is checked where it is kept.
                hash: HeadHash::genesis(&scope.tenant, &trace),
                tail_cut: None,
                torn: 0,
                damage: None,
                newer: false,
            })
        })
    }

    fn problem(&self) -> Option<String> {
        self.here.problem()
    }

    fn subscribe(&self, scope: &Scope, trace: &TraceId) -> Result<watch::Receiver<EventId>, StoreError> {
        let Some(there) = self.there(trace)? else { return self.here.subscribe(scope, trace) };
        let (heads, receiver) = watch::channel(self.known.get(trace).head);
        tokio::spawn(listen(Arc::clone(there.server), there.id.into(), heads));
        Ok(receiver)
    }

    fn driver(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Option<Owner>, StoreError>> {
        if trace.elsewhere().is_none() {
            return self.here.driver(scope, trace);
        }
        let trace = trace.clone();
        Box::pin(async move {
            let Some(there) = self.there(&trace)? else { return Err(StoreError::NotFound { trace }) };
            let told = there.part(self.known.get(&trace).head, false, None).await.map_err(|error| error.of(&trace))?;
            Ok(told.part.is_driven.then_some(Owner::Elsewhere))
        })
    }

    fn send(&self, scope: &Scope, trace: &TraceId, letter: Letter) -> Fut<'_, Result<MailId, StoreError>> {
        if trace.elsewhere().is_none() {
            return self.here.send(scope, trace, letter);
        }
        let trace = trace.clone();
        Box::pin(async move {
            match self.there(&trace)? {
                Some(there) => self.sent(&trace, &there, letter).await,
                None => Err(StoreError::NotFound { trace }),
            }
        })
    }

    fn mail(&self, scope: &Scope, trace: &TraceId, after: MailId) -> Fut<'_, Result<Vec<Mail>, StoreError>> {
        match trace.elsewhere() {
            None => self.here.mail(scope, trace, after),
            // What waits there is told there.
            Some(_) => Box::pin(std::future::ready(Ok(Vec::new()))),
        }
    }

    fn put_blob(&self, scope: &Scope, bytes: Vec<u8>) -> Fut<'_, Result<BlobHash, StoreError>> {
        self.here.put_blob(scope, bytes)
    }

    fn get_blob(&self, scope: &Scope, hash: &BlobHash) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        let (scope, hash) = (scope.clone(), hash.clone());
        Box::pin(async move {
            match self.here.get_blob(&scope, &hash).await {
                Err(error @ StoreError::NoBlob { .. }) => self.blob_there(&hash).await?.ok_or(error),
                found => found,
            }
        })
    }

    fn list(&self, scope: &Scope) -> Fut<'_, Result<Vec<TraceEntry>, StoreError>> {
        self.here.list(scope)
    }

    fn verify(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Report, StoreError>> {
        match RoutedStore::only_here(trace, "check") {
            Ok(()) => self.here.verify(scope, trace),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn heads(
        &self,
        scope: &Scope,
        trace: &TraceId,
        events: Vec<EventId>,
    ) -> Fut<'_, Result<Vec<Option<HeadHash>>, StoreError>> {
        match RoutedStore::only_here(trace, "check") {
            Ok(()) => self.here.heads(scope, trace, events),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn add_signature(&self, scope: &Scope, trace: &TraceId, line: String) -> Fut<'_, Result<(), StoreError>> {
        match RoutedStore::only_here(trace, "sign") {
            Ok(()) => self.here.add_signature(scope, trace, line),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn signatures(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        match RoutedStore::only_here(trace, "check") {
            Ok(()) => self.here.signatures(scope, trace),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn add_score(&self, scope: &Scope, trace: &TraceId, line: String) -> Fut<'_, Result<(), StoreError>> {
        match RoutedStore::only_here(trace, "grade") {
            Ok(()) => self.here.add_score(scope, trace, line),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn scores(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<u8>, StoreError>> {
        match RoutedStore::only_here(trace, "grade") {
            Ok(()) => self.here.scores(scope, trace),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn remove_scores(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<(), StoreError>> {
        match RoutedStore::only_here(trace, "grade") {
            Ok(()) => self.here.remove_scores(scope, trace),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn erase<'a>(&'a self, lease: &'a Lease, marker: Event) -> Fut<'a, Appended> {
        self.here.erase(lease, marker)
    }

    fn remove(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<(), StoreError>> {
        match RoutedStore::only_here(trace, "remove") {
            Ok(()) => self.here.remove(scope, trace),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn discard<'a>(&'a self, scope: &'a Scope, lease: &'a Lease, head: EventId) -> Fut<'a, Result<(), StoreError>> {
        self.here.discard(scope, lease, head)
    }

    fn collect_blobs(&self, scope: &Scope, sweep: Sweep) -> Fut<'_, Result<Collected, StoreError>> {
        self.here.collect_blobs(scope, sweep)
    }

    fn put_view(&self, scope: &Scope, trace: &TraceId, name: &str, bytes: Vec<u8>) -> Fut<'_, Result<(), StoreError>> {
        match RoutedStore::only_here(trace, "write a view of") {
            Ok(()) => self.here.put_view(scope, trace, name, bytes),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn get_view(&self, scope: &Scope, trace: &TraceId, name: &str) -> Fut<'_, Result<Option<Vec<u8>>, StoreError>> {
        match trace.elsewhere() {
            None => self.here.get_view(scope, trace, name),
            Some(_) => Box::pin(std::future::ready(Ok(None))),
        }
    }

    fn views(&self, scope: &Scope, trace: &TraceId) -> Fut<'_, Result<Vec<String>, StoreError>> {
        match trace.elsewhere() {
            None => self.here.views(scope, trace),
            Some(_) => Box::pin(std::future::ready(Ok(Vec::new()))),
        }
    }

    fn delete_view(&self, scope: &Scope, trace: &TraceId, name: &str) -> Fut<'_, Result<(), StoreError>> {
        match trace.elsewhere() {
            None => self.here.delete_view(scope, trace, name),
            Some(_) => Box::pin(std::future::ready(Ok(()))),
        }
    }
}
