//! The doorbell: a file to which every poster adds the name of the trace that got mail. Only a hint, never the truth.

use crate::private::open_or_make;
use crate::wake::Wake;
use mainpath_types::{TenantId, TraceId};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// It is emptied when it gets longer than this.
const LONGEST: u64 = 1 << 20;

/// Rings for a trace. What goes wrong is let go: the mail is safe, and is found when the trace is next looked at.
pub(crate) fn ring(path: &Path, tenant: &TenantId, trace: &TraceId) {
    if let Ok(mut file) = open_or_make(path) {
        if file.metadata().is_ok_and(|meta| meta.len() > LONGEST) {
            let _ = file.set_len(0);
        }
        let _ = file.write_all(format!("{tenant}/{trace}\n").as_bytes());
    }
}

/// One listener.
#[derive(Debug)]
pub(crate) struct Doorbell {
    file: File,
    /// Up to where it was heard.
    heard: Mutex<u64>,
}

impl Doorbell {
    /// Listens from now on.
    pub fn open(path: &Path) -> io::Result<Doorbell> {
        let file = open_or_make(path)?;
        let heard = Mutex::new(file.metadata()?.len());
        Ok(Doorbell { file, heard })
    }

    /// Who rang since the last time.
    pub fn answer(&self) -> Vec<Wake> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(meta) = self.file.metadata() else { return Vec::new() };
        if meta.len() == *heard {
            return Vec::new();
        }
        if meta.len() < *heard {
            *heard = 0;
        }
        let mut bytes = vec![0; usize::try_from(meta.len() - *heard).unwrap_or(0)];
        if self.file.read_exact_at(&mut bytes, *heard).is_err() {
            return Vec::new();
        }
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        bytes.truncate(whole);
        *heard += whole as u64;
        let text = String::from_utf8_lossy(&bytes);
        let wakes = text.lines().filter_map(|line| {
            let (tenant, trace) = line.split_once('/')?;
            Some(Wake { tenant: tenant.parse().ok()?, trace: trace.parse().ok()? })
        });
        wakes.collect()
    }
}
