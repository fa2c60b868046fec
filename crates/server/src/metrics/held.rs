//! What is counted as long as it is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Counts one until it is dropped.
pub struct Held(Arc<AtomicI64>);

impl Held {
    /// Counts one more.
    pub fn new(count: &Arc<AtomicI64>) -> Held {
        count.fetch_add(1, Ordering::Relaxed);
        Held(Arc::clone(count))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
