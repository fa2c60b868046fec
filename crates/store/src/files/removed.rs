//! Traces that are removed while a journal still has lines of them: played back, those would bring them back.
//!
//! `journal/<name>.removed` has a line for each journal: `<journal> <bytes> <tenant>/<trace>`. What those first bytes say of the trace is
//! not played back unless the trace is there. The files go with their journals.

use super::layout::{Layout, sync_dir, write_whole};
use mainpath_types::{TenantId, TraceId};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Notes that a trace is about to be removed, where journals have lines of it. It is durable when this returns.
pub(crate) fn note(layout: &Layout, tenant: &TenantId, trace: &TraceId) -> io::Result<()> {
    let dir = layout.journals();
    let (mut lines, key) = (String::new(), format!("{tenant}/{trace} "));
    for path in ending_in(&dir, "wal")? {
        let bytes = match std::fs::read(&path) {
            // Its traces are durable.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            bytes => bytes?,
        };
        // In the middle of a line it is somebody's text, and the note says nothing that is wrong.
        if memchr::memmem::find(&bytes, key.as_bytes()).is_some() {
            let _ = writeln!(lines, "{} {} {}", name_of(&path), bytes.len(), key.trim_end());
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let path = dir.join(format!("{:016x}.removed", u64::from_ne_bytes(random)));
    write_whole(&path, lines.as_bytes(), true)?;
    sync_dir(&dir)
}

/// Up to where lines of a trace in a journal are those of one that was removed.
#[derive(Default)]
pub(crate) struct Removed(HashMap<String, HashMap<String, usize>>);

impl Removed {
    /// What was noted. Errors: a file cannot be read.
    pub fn read(dir: &Path) -> io::Result<Removed> {
        let mut removed = Removed::default();
        for path in ending_in(dir, "removed")? {
            // One that somebody has written by hand counts as far as it can be read.
            for line in String::from_utf8_lossy(&std::fs::read(&path)?).lines() {
                let mut words = line.splitn(3, ' ');
                let (Some(journal), Some(bytes), Some(trace)) = (words.next(), words.next(), words.next()) else {
                    continue;
                };
                let Ok(bytes) = bytes.parse::<usize>() else { continue };
                let known = removed.0.entry(journal.into()).or_default().entry(trace.into()).or_insert(0);
                *known = bytes.max(*known);
            }
        }
        Ok(removed)
    }

    /// Whether the line at so many bytes in a journal is of a trace that was removed after it.
    pub fn has(&self, journal: &Path, at: usize, tenant: &TenantId, trace: &TraceId) -> bool {
        let Some(traces) = self.0.get(name_of(journal)) else { return false };
        traces.get(&format!("{tenant}/{trace}")).is_some_and(|bytes| at < *bytes)
    }
}

/// Removes the notes on journals that are no longer there. Errors: the folder cannot be read.
pub(crate) fn clear(dir: &Path) -> io::Result<()> {
    let journals: HashSet<String> = ending_in(dir, "wal")?.iter().map(|path| name_of(path).to_owned()).collect();
    for path in ending_in(dir, "removed")? {
        let text = std::fs::read(&path)?;
        let text = String::from_utf8_lossy(&text);
        if !text.lines().any(|line| line.split(' ').next().is_some_and(|journal| journals.contains(journal))) {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn ending_in(dir: &Path, end: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|own| own == end) {
            found.push(path);
        }
    }
    Ok(found)
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
