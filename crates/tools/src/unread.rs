//! What could not be looked at, in words for the model.

use crate::Problem;
use std::ffi::OsStr;
use std::path::Path;

/// What could not be looked at: how much, and the first of it.
#[derive(Default)]
pub(crate) struct Unread {
    count: u64,
    first: Option<String>,
}

impl Unread {
    pub fn add(&mut self, path: &Path, why: impl std::fmt::Display) {
        self.count += 1;
        self.first.get_or_insert_with(|| format!("{} ({why})", shown(path)));
    }

    pub fn problem(&mut self, path: &Path, problem: &Problem) {
        match problem.code {
            "path_changed" => self.add(path, "a link"),
            "not_a_file" => self.add(path, "a device, pipe or socket"),
            "is_directory" => self.add(path, "a folder"),
            _ => self.add(path, problem.text.trim_end_matches('.')),
        }
    }

    /// The words for it, if there is any.
    pub fn note(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        Some(match self.count {
            1 => format!("could not be read: {first}"),
            count => format!("{count} files or folders could not be read, the first: {first}"),
        })
    }
}

/// A path as the model sees it, on one line whatever is in it.
pub(crate) fn shown(path: impl AsRef<OsStr>) -> String {
    let text = path.as_ref().to_string_lossy();
    match text.contains(char::is_control) {
        true => {
            text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
        }
        false => text.into_owned(),
    }
}
