//! The index over real logs, in real files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod damage;
mod lists;
mod queries;
mod searches;

use mainpath_core::{Input, InputKind, Machine, Reply};
use mainpath_index::{Index, Row};
use mainpath_store::{Appended, FilesStore, Lease, Options, Scope, Store};
use mainpath_types::*;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// A data folder with a store on it.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
    pub(crate) store: Arc<FilesStore>,
    pub(crate) scope: Scope,
}

impl Place {
    pub(crate) fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(FilesStore::open(dir.path(), Options::default()).unwrap());
        Place { dir, store, scope: Scope::local() }
    }

    pub(crate) fn index(&self) -> Index {
        Index::open(&self.store, &self.scope).unwrap()
    }

    /// The list, taken in anew.
    pub(crate) fn list(&self) -> Vec<Row> {
        let mut index = self.index();
        index.refresh().unwrap();
        index.newest(100).unwrap().0
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Where these words were said: trace, message and what was found.
    pub(crate) fn found(&self, words: &str) -> Vec<String> {
        let mut index = self.index();
        index.refresh().unwrap();
        let hits = index.search(words, 100, None).unwrap();
        hits.iter().map(|hit| format!("{} {} {} {}", hit.row.trace, hit.seq, hit.role, hit.shown.found)).collect()
    }

    /// Asks and answers in a trace, and lets it go.
    pub(crate) async fn talk(&self, trace: &str, said: &[(&str, &str)]) {
        let lease = self.begin(trace, said).await;
        drop(lease);
    }

    /// Asks what lies in blobs, and is answered with a word.
    pub(crate) async fn talk_of_blobs(&self, trace: &str, asked: &[&str]) {
        let mut said = Vec::new();
        for text in asked {
            let hash = self.store.put_blob(&self.scope, text.as_bytes().to_vec()).await.unwrap();
            said.push((Part::StoredText { hash, bytes: text.len() as u64 }, "Yes."));
        }
        drop(self.begin_with(trace, said).await);
    }

    /// The same, with the trace still held.
    pub(crate) async fn begin(&self, trace: &str, said: &[(&str, &str)]) -> Lease {
        self.begin_with(trace, said.iter().map(|(asked, answered)| (Part::text(*asked), *answered)).collect()).await
    }

    async fn begin_with(&self, trace: &str, said: Vec<(Part, &str)>) -> Lease {
        let id: TraceId = trace.parse().unwrap();
        let opened = self.store.lease(&self.scope, &id, true).await.unwrap();
        let mut machine = Machine::fold(id, &opened.log.events);
        let mut batch = Vec::new();
        let mut offer = |machine: &mut Machine, kind: InputKind| {
            let events = machine.handle(&Input::new(1_795_315_500_000, kind)).unwrap();
            machine.commit(events.last().map_or(0, |event| event.id));
            batch.extend(events);
        };
        if opened.log.head == 0 {
            let spec = Spec { workspace: "/work".into(), ..Spec::new("some:model", Profile::Trace) };
            offer(&mut machine, InputKind::SetSpec { spec: Box::new(spec), by: None });
        }
        for (asked, answered) in said {
            let said = MessageQueued::new(vec![asked], 10, Principal::local_user());
            offer(&mut machine, InputKind::UserMessage(said));
            if let Some(model) = machine.state().model.filter(|_| !answered.is_empty()) {
                let reply = Reply::new(model.request, vec![Part::text(answered)], Vec::new());
                offer(&mut machine, InputKind::ModelFinished(Box::new(reply)));
            }
        }
        let appended = self.store.append(&opened.lease, opened.log.head, batch).await;
        assert!(matches!(appended, Appended::Committed { .. }), "{appended:?}");
        opened.lease
    }
}
