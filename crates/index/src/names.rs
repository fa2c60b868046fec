//! Which names are known: those of the list in two numbers, and those that are no traces yet.

use crate::tables;
use mainpath_store::{FilesStore, Scope, StoreError};
use mainpath_types::TraceId;
use rusqlite::{Connection, Result};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};

/// What the list knows of the folder's names.
#[derive(Debug)]
pub(crate) struct Names {
    /// Those that are in the list.
    pub listed: Sum,
    /// Folders without a log, or with one that cannot be read: somebody may be about to write it, and will not say so again.
    pub awaited: BTreeSet<TraceId>,
}

impl Names {
    pub fn read(db: &Connection) -> Result<Names> {
        let listed = match Sum::kept(db)? {
            Some(kept) => kept,
            None => Sum::of(&tables::all(db)?),
        };
        Ok(Names { listed, awaited: awaited(db)? })
    }

    /// A trace is in the list now.
    pub fn add(&mut self, trace: &TraceId) {
        self.awaited.remove(trace);
        self.listed.toggle(trace.as_str(), true);
    }

    /// The sum of all of them.
    pub fn all(&self) -> Sum {
        let mut all = self.listed;
        self.awaited.iter().for_each(|name| all.toggle(name.as_str(), true));
        all
    }

    pub fn keep(&self, db: &Connection) -> Result<()> {
        tables::set_mark(db, "names", &format!("{} {}", self.listed.count, self.listed.sum))?;
        let awaited: Vec<&str> = self.awaited.iter().map(TraceId::as_str).collect();
        tables::set_mark(db, "awaited", &awaited.join(" "))
    }
}

pub(crate) fn awaited(db: &Connection) -> Result<BTreeSet<TraceId>> {
    let names = tables::mark(db, "awaited")?;
    Ok(names.split_whitespace().filter_map(|name| name.parse().ok()).collect())
}

/// A set of names in two numbers, whatever their order: kept with the list, so that the names need not be read from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub count: usize,
    sum: u64,
}

impl Sum {
    /// Of these.
    pub fn of(names: &[TraceId]) -> Sum {
        let mut sum = Sum::default();
        names.iter().for_each(|name| sum.toggle(name.as_str(), true));
        sum
    }

    /// Of what is in the folder.
    pub fn there(store: &FilesStore, scope: &Scope) -> Result<Sum, StoreError> {
        let mut sum = Sum::default();
        store.each_name(scope, |name| sum.toggle(name, true))?;
        Ok(sum)
    }

    /// As it was kept with the list, if it was.
    pub fn kept(db: &Connection) -> Result<Option<Sum>> {
        let kept = tables::mark(db, "names")?;
        let kept = kept.split_once(' ').and_then(|(count, sum)| Some((count.parse().ok()?, sum.parse().ok()?)));
        Ok(kept.map(|(count, sum)| Sum { count, sum }))
    }

    /// A name comes, or goes.
    pub fn toggle(&mut self, name: &str, comes: bool) {
        let mut hasher = DefaultHasher::new();
        hasher.write(name.as_bytes());
        self.sum ^= hasher.finish();
        self.count = if comes { self.count + 1 } else { self.count.saturating_sub(1) };
    }
}
