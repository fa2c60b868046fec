//! Which messages lie on side branches, as the trace platform names them.

use mainpath_core::{NodeKind, State, Tree, apply};
use mainpath_types::{BranchKind, Event, Seq, TraceId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a side branch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideBranchKind {
    /// The model reflects before it summarises.
    Reflection,
    /// The model summarises.
    Compression,
    /// The model repairs an answer that was in no valid form.
    Repair,
    /// The model looks into what is no longer shown.
    Aside,
}

/// A side branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideBranch {
    /// What it is for.
    pub kind: SideBranchKind,
    /// Its id: all of its messages have the same.
    pub id: String,
}

/// The messages of a log that are no part of the main path because they were made on a side branch.
pub fn branches(trace: &TraceId, events: &[Event]) -> BTreeMap<Seq, SideBranch> {
    let (mut state, mut found, mut number) = (State::new(trace.clone()), BTreeMap::new(), 0u32);
    for event in events {
        let (before, known) = (state.branch, state.tree.len());
        apply(&mut state, event);
        if before.is_none() && state.branch.is_some() {
            number += 1;
        }
        let Some(branch) = before.or(state.branch) else { continue };
        let kind = match branch.kind {
            // Until the summary itself is asked for.
            BranchKind::Compaction if branch.reflects => SideBranchKind::Reflection,
            BranchKind::Compaction => SideBranchKind::Compression,
            BranchKind::Repair => SideBranchKind::Repair,
            BranchKind::Aside => SideBranchKind::Aside,
        };
        let new = state.tree.iter().skip(known).filter(|(_, node)| node.kind != NodeKind::Cut).map(|(seq, _)| seq);
        found.extend(new.map(|seq| (seq, SideBranch { kind, id: format!("{trace}-branch-{number:03}") })));
    }
    // What closed its branch is an answer like any other.
    let path = main_path(&state.tree);
    found.retain(|seq, _| !path.contains(seq));
    found
}

/// The messages that lie on the main path.
pub(crate) fn main_path(tree: &Tree) -> BTreeSet<Seq> {
    tree.up(tree.head).map(|(seq, _)| seq).collect()
}
