//! A set of names, kept as two numbers.

use mainpath_store::{FilesStore, Scope, StoreError};
use mainpath_types::TraceId;
use std::hash::{DefaultHasher, Hasher};

/// A set of names in two numbers, whatever their order: kept with the list, so that the names need not be read from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub count: usize,
    sum: u64,
}

impl Sum {
    /// Of these.
    pub fn of(names: &[TraceId]) -> Sum {
        let mut sum = Sum::default();
        names.iter().for_each(|name| sum.toggle(name.as_str(), true));
        sum
    }

    /// Of what is in the folder.
    pub fn there(store: &FilesStore, scope: &Scope) -> Result<Sum, StoreError> {
        let mut sum = Sum::default();
        store.each_name(scope, |name| sum.toggle(name, true))?;
        Ok(sum)
    }

    /// As [`Sum::text`] wrote it.
    pub fn parse(text: &str) -> Option<Sum> {
        let (count, sum) = text.split_once(' ')?;
        Some(Sum { count: count.parse().ok()?, sum: sum.parse().ok()? })
    }

    /// As text, to keep it.
    pub fn text(self) -> String {
        format!("{} {}", self.count, self.sum)
    }

    /// A name comes, or goes.
    pub fn toggle(&mut self, name: &str, comes: bool) {
        let mut hasher = DefaultHasher::new();
        hasher.write(name.as_bytes());
        self.sum ^= hasher.finish();
        self.count = if comes { self.count + 1 } else { self.count.saturating_sub(1) };
    }
}
