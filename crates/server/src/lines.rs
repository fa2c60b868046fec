//! What is to be done one after the other, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Lines by name: whoever stands in one waits until those before have done.
#[derive(Default)]
pub struct Lines {
    known: Mutex<BTreeMap<String, Weak<Turn<()>>>>,
}

impl Lines {
    /// Waits for its turn in a line. It is the next one's when this is dropped.
    pub async fn turn(&self, name: String) -> OwnedMutexGuard<()> {
        let line = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.retain(|_, line| line.strong_count() > 0);
            match known.get(&name).and_then(Weak::upgrade) {
                Some(line) => line,
                None => {
                    let line = Arc::new(Turn::new(()));
                    known.insert(name, Arc::downgrade(&line));
                    line
                }
            }
        };
        line.lock_owned().await
    }
}
