//! Which names are known: those of the list in two numbers, and those that are no traces yet.

use crate::sum::Sum;
use crate::tables;
use mainpath_types::TraceId;
use rusqlite::{Connection, Result};
use std::collections::BTreeSet;

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
        let listed = match Sum::parse(&tables::mark(db, "names")?) {
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
        tables::set_mark(db, "names", &self.listed.text())?;
        let awaited: Vec<&str> = self.awaited.iter().map(TraceId::as_str).collect();
        tables::set_mark(db, "awaited", &awaited.join(" "))
    }
}

pub(crate) fn awaited(db: &Connection) -> Result<BTreeSet<TraceId>> {
    let names = tables::mark(db, "awaited")?;
    Ok(names.split_whitespace().filter_map(|name| name.parse().ok()).collect())
}
