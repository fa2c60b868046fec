//! Those who watch the same trace and have seen all of it watch it together: one reads, and what it reads is written once for all. Who
//! does not keep up with that reads alone again.

use super::position::{Position, Shown};
use mainpath::Run;
use mainpath::types::{TenantId, TraceId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::broadcast::{Receiver, Sender, channel};

/// Whoever has heard nothing for so long has seen all that there is.
pub const QUIET: Duration = Duration::from_millis(200);
/// So many frames are kept for who is slower than the others.
const KEPT: usize = if cfg!(test) { 8 } else { 256 };

/// What is watched together.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Of {
    /// Whose trace.
    pub tenant: TenantId,
    /// The trace.
    pub trace: TraceId,
    /// Also the agents that it has started.
    pub children: bool,
}

/// Where the one who reads is.
struct Reader {
    position: Position,
    /// When it last told something.
    told_at: Instant,
}

struct Reading {
    reader: Mutex<Reader>,
    told: Sender<Arc<Shown>>,
}

/// What is watched together now.
#[derive(Clone, Default)]
pub struct Together(Arc<Mutex<HashMap<Of, Arc<Reading>>>>);

/// Who would watch together with others.
pub struct Watcher {
    /// How it reads by itself. It has heard nothing for [`QUIET`].
    pub run: Run,
    /// What it has seen.
    pub position: Position,
}

impl Together {
    /// Has a watcher listen to what is read for others, or be the first. Errors: it has not seen the same as they, and reads by itself.
    pub fn join(&self, of: Of, watcher: Watcher) -> Result<Receiver<Arc<Shown>>, Box<Run>> {
        let mut known = self.known();
        if let Some(reading) = known.get(&of) {
            let reader = reading.reader();
            let is_same = reader.position.cursor() == watcher.position.cursor() && reader.told_at.elapsed() >= QUIET;
            return if is_same { Ok(reading.told.subscribe()) } else { Err(Box::new(watcher.run)) };
        }
        let (told, heard) = channel(KEPT);
        let reading =
            Reading { reader: Mutex::new(Reader { position: watcher.position, told_at: Instant::now() }), told };
        let reading = Arc::new(reading);
        known.insert(of.clone(), Arc::clone(&reading));
        tokio::spawn(self.clone().read(of, reading, watcher.run));
        Ok(heard)
    }

    /// How many are read now.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.known().len()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Of, Arc<Reading>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until nobody listens, or there is no more: then each reads by itself, and sees why.
    async fn read(self, of: Of, reading: Arc<Reading>, run: Run) {
        let mut run = run;
        loop {
            tokio::select! {
                () = reading.told.closed() => {
                    // Nobody joins meanwhile.
                    let mut known = self.known();
                    if reading.told.receiver_count() == 0 {
                        known.remove(&of);
                        return;
                    }
                }
                event = run.next() => match event {
                    Some(Ok(event)) => reading.tell(&event),
                    Some(Err(_)) | None => {
                        self.known().remove(&of);
                        return;
                    }
                },
            }
        }
    }
}

impl Reading {
    fn reader(&self) -> MutexGuard<'_, Reader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: &mainpath::RunEvent) {
        let mut reader = self.reader();
        if let Some(told) = reader.position.take(event) {
            reader.told_at = Instant::now();
            let _ = self.told.send(Arc::new(told));
        }
    }
}
