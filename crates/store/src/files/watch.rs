//! Who watches which log's head. Appends of this process are told by the committer; one thread looks for others' as long
//! as anybody watches.

use super::layout::Layout;
use super::read::last_line;
use crate::line::Head;
use crate::store::StoreError;
use mainpath_types::{EventId, TenantId, TraceId};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;

const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Watchers {
    layout: Layout,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    watched: HashMap<(TenantId, TraceId), Watched>,
    looking: bool,
}

#[derive(Debug)]
struct Watched {
    head: watch::Sender<EventId>,
    /// The log's length when it was last looked at.
    len: u64,
}

impl Watchers {
    pub fn new(layout: Layout) -> Watchers {
        Watchers { layout, table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process has appended.
    pub fn tell(&self, tenant: &TenantId, trace: &TraceId, head: EventId) {
        let table = self.table();
        if table.watched.is_empty() {
            return;
        }
        if let Some(watched) = table.watched.get(&(tenant.clone(), trace.clone())) {
            raise(&watched.head, head);
        }
    }

    /// See [`Store::subscribe`](crate::Store::subscribe).
    pub fn subscribe(
        self: &Arc<Self>,
        tenant: &TenantId,
        trace: &TraceId,
    ) -> Result<watch::Receiver<EventId>, StoreError> {
        let path = self.layout.existing_log(tenant, trace)?;
        let watching = |e: io::Error| StoreError::io(format!("watch {}", path.display()), e);
        let mut table = self.table();
        let new = || Watched { head: watch::Sender::new(0), len: 0 };
        let watched = table.watched.entry((tenant.clone(), trace.clone())).or_insert_with(new);
        let receiver = watched.head.subscribe();
        let sender = watched.head.clone();
        if !table.looking {
            let weak = Arc::downgrade(self);
            std::thread::Builder::new().name("log-watch".into()).spawn(move || look(&weak)).map_err(watching)?;
            table.looking = true;
        }
        drop(table);
        // Only now, when nothing that is appended meanwhile can be missed.
        raise(&sender, head_of(&path).map_err(watching)?);
        let mut receiver = receiver;
        receiver.mark_unchanged();
        Ok(receiver)
    }

    /// Looks at every watched log; false when nobody watches any more.
    fn look(&self) -> bool {
        let mut table = self.table();
        table.watched.retain(|(tenant, trace), watched| {
            watched.head.receiver_count() > 0 && watched.look(&self.layout.log(tenant, trace))
        });
        table.looking = !table.watched.is_empty();
        table.looking
    }
}

impl Watched {
    /// Reads the head if the log has another length. False if the log was removed: its receivers are to be closed, because nothing is
    /// appended to it any more and they would wait in vain.
    fn look(&mut self, path: &Path) -> bool {
        let len = match std::fs::metadata(path) {
            Ok(meta) if meta.is_file() => meta.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
            // What cannot be read now is looked at again the next time.
            Ok(_) | Err(_) => return true,
        };
        if len != self.len
            && let Ok(head) = head_of(path)
        {
            raise(&self.head, head);
            self.len = len;
        }
        true
    }
}

fn raise(sender: &watch::Sender<EventId>, head: EventId) {
    sender.send_if_modified(|known| {
        let higher = head > *known;
        *known = head.max(*known);
        higher
    });
}

fn head_of(path: &Path) -> io::Result<EventId> {
    let (_, line) = last_line(&File::open(path)?)?;
    Ok(line.and_then(|line| Head::read(&line).ok().map(|head| head.id)).unwrap_or(0))
}

fn look(watchers: &Weak<Watchers>) {
    loop {
        std::thread::sleep(LOOK_EVERY);
        match watchers.upgrade() {
            Some(watchers) if watchers.look() => {}
            Some(_) | None => return,
        }
    }
}
