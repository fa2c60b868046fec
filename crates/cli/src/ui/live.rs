//! Pieces of an answer that is still coming, for those who watch from other processes: each watcher makes a named pipe in the
//! trace's folder, and whoever drives the trace writes a line for each piece into it. Nobody waits for a watcher. What a pipe has
//! no room for is lost, and the log has the answer all the same.

use mainpath::core::EffectKey;
use mainpath::types::{CallId, Delta};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe::{OpenOptions, Receiver};

/// Longer lines could be torn by others.
const LONGEST: usize = 4096;

/// A piece, and what it is a piece of.
#[derive(Serialize, Deserialize)]
pub struct HeardPiece {
    /// What it comes from.
    pub of: Source,
    /// How many came before it.
    pub nth: u32,
    /// The piece.
    pub delta: Delta,
}

/// What comes in pieces.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The answer to a request.
    Model(u32),
    /// The output of an attempt of a call.
    Tool(CallId, u32),
}

impl Source {
    /// The effect that it comes from.
    pub fn effect(self) -> EffectKey {
        match self {
            Source::Model(request) => EffectKey::Model(request),
            Source::Tool(call, attempt) => EffectKey::Tool(call, attempt),
        }
    }
}

/// Who is told, by the process that drives a trace.
pub struct Watchers {
    folder: PathBuf,
    pipes: Vec<File>,
}

impl Watchers {
    /// Nobody yet, of the trace in this folder.
    pub fn new(folder: PathBuf) -> Watchers {
        Watchers { folder, pipes: Vec::new() }
    }

    /// Looks who watches now: before something begins that comes in pieces.
    pub fn look(&mut self) {
        self.pipes.clear();
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        for file in entries.flatten().map(|entry| entry.path()).filter(|file| is_pipe_of_a_watcher(file)) {
            match open(&file, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
                Ok(pipe) => self.pipes.push(pipe.into()),
                // Its watcher was killed.
                Err(Errno::NXIO) => drop(std::fs::remove_file(&file)),
                Err(_) => {}
            }
        }
    }

    /// Tells them of a piece.
    pub fn tell(&mut self, of: &EffectKey, nth: u32, delta: &Delta) {
        let of = match of {
            EffectKey::Model(request) => Source::Model(*request),
            EffectKey::Tool(call, attempt) => Source::Tool(*call, *attempt),
            _ => return,
        };
        if self.pipes.is_empty() {
            return;
        }
        let Ok(mut line) = serde_json::to_string(&HeardPiece { of, nth, delta: delta.clone() }) else { return };
        line.push('\n');
        if line.len() <= LONGEST {
            // One that is full loses the piece, and one that has gone is not told again.
            let gone = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
            self.pipes.retain_mut(|pipe| !pipe.write_all(line.as_bytes()).is_err_and(|error| gone(&error)));
        }
    }
}

fn is_pipe_of_a_watcher(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("watch-") && name.ends_with(".pipe")
}

/// What a watcher hears.
pub struct Ears {
    file: PathBuf,
    lines: BufReader<Receiver>,
    line: Vec<u8>,
}

impl Ears {
    /// Ears for the trace in a folder; `None` where no pipe can be made there.
    pub fn new(folder: &Path) -> Option<Ears> {
        let file = folder.join(format!("watch-{}.pipe", std::process::id()));
        let _ = std::fs::remove_file(&file);
        mknodat(CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).ok()?;
        let mut how = OpenOptions::new();
        // Held open for writing as well, so that it does not end when one run does.
        #[cfg(target_os = "linux")]
        how.read_write(true);
        match how.open_receiver(&file) {
            Ok(from) => Some(Ears { file, lines: BufReader::new(from), line: Vec::new() }),
            Err(_) => {
                let _ = std::fs::remove_file(&file);
                None
            }
        }
    }

    /// The next piece that can be understood. Cancel safe: what was read of a line is kept. Never ends where nobody tells anything.
    pub async fn next(&mut self) -> HeardPiece {
        loop {
            match self.lines.read_until(b'\n', &mut self.line).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => std::future::pending().await,
            }
            let line = std::mem::take(&mut self.line);
            if let Ok(piece) = serde_json::from_slice(&line) {
                return piece;
            }
        }
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}
