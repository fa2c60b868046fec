//! A file for each session: a line that says what it is, then a message a line. The last messages are read from its end.

use crate::place::{Fut, Kept, Known, Listed, PlaceError, SessionPlace};
use mainpath_store::write_private;
use mainpath_types::{EventId, Message, Millis, TraceId};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Files in a folder.
#[derive(Clone, Debug)]
pub struct FilePlace {
    folder: PathBuf,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct First {
    trace: TraceId,
    head: EventId,
}

impl FilePlace {
    /// In this folder, which is made when something is put.
    pub fn new(folder: PathBuf) -> FilePlace {
        FilePlace { folder }
    }

    fn file(&self, session: &str) -> PathBuf {
        self.folder.join(format!("{session}.messages.jsonl"))
    }

    /// Removes the files of these traces, and those of which nobody can tell.
    fn forget_files(&self, traces: &[TraceId]) -> io::Result<()> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if !path.to_str().is_some_and(|path| path.ends_with(".messages.jsonl")) {
                continue;
            }
            let is_other = match File::open(&path).and_then(|file| first(&file)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                found => found?.is_some_and(|first| !traces.contains(&first.trace)),
            };
            if !is_other {
                std::fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    fn wrong(&self, session: &str, problem: impl ToString) -> PlaceError {
        PlaceError::new(self.file(session).display(), problem)
    }

    fn read(&self, session: &str, window: usize) -> io::Result<Option<Kept>> {
        let file = match File::open(self.file(session)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let len = file.metadata()?.len();
        let mut size = 64 << 10;
        let first = between(&file, 0, len.min(size))?;
        // What cannot be read is as none: it is written again.
        let Some(end) = first.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let Ok(First { trace, head }) = serde_json::from_slice(first.get(..end).unwrap_or_default()) else {
            return Ok(None);
        };
        let begin = end as u64 + 1;
        let bytes = loop {
            let start = if window == 0 { begin } else { len.saturating_sub(size).max(begin) };
            let bytes = between(&file, start, len)?;
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
            if start == begin || lines > window {
                break bytes;
            }
            size *= 4;
        };
        if bytes.last().is_some_and(|byte| *byte != b'\n') {
            return Ok(None);
        }
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        let from = if window == 0 { 0 } else { lines.len().saturating_sub(window) };
        let lines = lines.get(from..).unwrap_or_default();
        let messages: Result<Vec<Message>, _> = lines.iter().map(|line| serde_json::from_slice(line)).collect();
        Ok(messages.ok().map(|messages| Kept { trace, head, messages, lost: 0 }))
    }
}

/// What the first line says, if it is one of ours.
fn first(file: &File) -> io::Result<Option<First>> {
    let len = file.metadata()?.len();
    let bytes = between(file, 0, len.min(64 << 10))?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(serde_json::from_slice(line).ok())
}

fn between(file: &File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(to.saturating_sub(from)).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

impl SessionPlace for FilePlace {
    fn get<'a>(&'a self, session: &'a str, window: usize) -> Fut<'a, Result<Option<Kept>, PlaceError>> {
        Box::pin(std::future::ready(self.read(session, window).map_err(|error| self.wrong(session, error))))
    }

    fn put<'a>(&'a self, session: &'a str, kept: &'a Kept, _: Option<Millis>) -> Fut<'a, Result<(), PlaceError>> {
        let write = || -> io::Result<()> {
            let mut out = serde_json::to_vec(&First { trace: kept.trace.clone(), head: kept.head })?;
            out.push(b'\n');
            for message in &kept.messages {
                serde_json::to_writer(&mut out, message)?;
                out.push(b'\n');
            }
            write_private(&self.file(session), &out)
        };
        Box::pin(std::future::ready(write().map_err(|error| self.wrong(session, error))))
    }

    /// Files are this machine's own: whatever was there is replaced.
    fn replace<'a>(
        &'a self,
        session: &'a str,
        kept: &'a Kept,
        ttl_ms: Option<Millis>,
        _: &'a [Known],
    ) -> Fut<'a, Result<Option<TraceId>, PlaceError>> {
        Box::pin(async move { self.put(session, kept, ttl_ms).await.map(|()| None) })
    }

    fn list(&self) -> Fut<'_, Result<Vec<Listed>, PlaceError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn remove<'a>(&'a self, session: &'a str) -> Fut<'a, Result<(), PlaceError>> {
        let removed = match std::fs::remove_file(self.file(session)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        };
        Box::pin(std::future::ready(removed.map_err(|error| self.wrong(session, error))))
    }

    fn forget<'a>(&'a self, traces: &'a [TraceId]) -> Fut<'a, Result<(), PlaceError>> {
        let wrong = |error| PlaceError::new(self.folder.display(), error);
        Box::pin(std::future::ready(self.forget_files(traces).map_err(wrong)))
    }
}
