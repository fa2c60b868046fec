//! Which requests were made under which `Idempotency-Key`, whatever they were about.
//!
//! That a request is done once stands in the logs and mailboxes of traces, across crashes. That a key was used for another request elsewhere is
//! remembered here, as long as the server runs, of the last keys.

use mainpath::store::Once;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// So many are remembered.
const MOST: usize = 10_000;

/// The keys that requests came under.
#[derive(Default)]
pub struct UsedKeys {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    asked: BTreeMap<String, String>,
    order: VecDeque<String>,
}

impl UsedKeys {
    /// Notes a request under its key; whether it is the first under it, or the same again.
    pub fn note(&self, once: &Once) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asked) = known.asked.get(&once.key) {
            return *asked == once.asked;
        }
        if known.order.len() >= MOST
            && let Some(oldest) = known.order.pop_front()
        {
            known.asked.remove(&oldest);
        }
        known.order.push_back(once.key.clone());
        known.asked.insert(once.key.clone(), once.asked.clone());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_for_one_request_as_long_as_it_is_remembered() {
        let used = UsedKeys::default();
        let once = |key: &str, asked: &str| Once { key: key.into(), asked: asked.into() };
        assert_eq!([used.note(&once("a", "1")), used.note(&once("a", "1"))], [true, true]);
        assert!(!used.note(&once("a", "2")));
        for n in 0..MOST {
            assert!(used.note(&once(&format!("k{n}"), "1")));
        }
        assert!(used.note(&once("a", "2")), "the oldest is forgotten");
    }
}
