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

    /// Has a model ask for leave to make a call, and lets the trace go.
    pub(crate) async fn ask(&self, trace: &str) {
        let lease = self.written(trace, |work| {
            work.offer(InputKind::UserMessage(asked(Part::text("Do it."))));
            let verdict =
                Verdict { decision: Decision::Ask, rule: "builtin.ask".into(), reason: "It is asked.".into() };
            let planned = PlannedCall { tool: Some("bash".into()), verdict: Some(verdict), ..PlannedCall::default() };
            let call = Part::ToolCall { name: "bash".into(), arguments: "{}".into(), signature: None };
            work.answer(vec![call], vec![planned]);
        });
        drop(lease.await);
    }

    /// The same, with something done between the lease and the first write.
    pub(crate) async fn begin_after(&self, trace: &str, said: &[(&str, &str)], first: impl FnOnce()) -> Lease {
        let lease = self.written(trace, |work| {
            first();
            for (asking, answer) in said {
                work.offer(InputKind::UserMessage(asked(Part::text(*asking))));
                work.answer(vec![Part::text(*answer)], Vec::new());
            }
        });
        lease.await
    }

    async fn begin_with(&self, trace: &str, said: Vec<(Part, &str)>) -> Lease {
        let lease = self.written(trace, |work| {
            for (text, answered) in said {
                work.offer(InputKind::UserMessage(asked(text)));
                if !answered.is_empty() {
                    work.answer(vec![Part::text(answered)], Vec::new());
                }
            }
        });
        lease.await
    }

    /// Adds to a trace, which has a spec by then, and holds it.
    async fn written(&self, trace: &str, write: impl FnOnce(&mut Work)) -> Lease {
        let id: TraceId = trace.parse().unwrap();
        let opened = self.store.lease(&self.scope, &id, true).await.unwrap();
        let mut work = Work { machine: Machine::fold(id, &opened.log.events), batch: Vec::new() };
        if opened.log.head == 0 {
            let spec = Spec { workspace: "/work".into(), ..Spec::new("some:model", Profile::Trace) };
            work.offer(InputKind::SetSpec { spec: Arc::new(spec), by: None });
        }
        write(&mut work);
        let appended = self.store.append(&opened.lease, opened.log.head, work.batch).await;
        assert!(matches!(appended, Appended::Committed { .. }), "{appended:?}");
        opened.lease
    }
}

fn asked(text: Part) -> MessageQueued {
    MessageQueued::new(vec![text], 10, Principal::local_user())
}

/// What is decided, and will be appended at once.
struct Work {
    machine: Machine,
    batch: Vec<Event>,
}

impl Work {
    fn offer(&mut self, kind: InputKind) {
        let events = self.machine.handle(&Input::new(1_795_315_500_000, kind)).unwrap();
        self.machine.commit(events.last().map_or(0, |event| event.id));
        self.batch.extend(events);
    }

    /// Answers the request that is under way, if one is.
    fn answer(&mut self, parts: Vec<Part>, planned: Vec<PlannedCall>) {
        if let Some(model) = self.machine.state().model {
            self.offer(InputKind::ModelFinished(Box::new(Reply::new(model.request, parts, planned))));
        }
    }
}
