//! The folders in which the commands of a line may run.

use super::Word;

/// The maximum number of distinct folders.
const MOST: usize = 8;

/// The folders in which a command may run, seen from where the line starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkFolders {
    /// Paths as the line has them. The first is empty: where the line starts. A `cd` may fail, so none is ever removed.
    paths: Vec<String>,
    /// True if it may also be another folder, which only the running shell knows.
    pub unknown: bool,
    /// True if a program's bare name may mean a file of any folder.
    pub finds_anywhere: bool,
}

impl Default for WorkFolders {
    fn default() -> WorkFolders {
        WorkFolders { paths: vec![String::new()], unknown: false, finds_anywhere: false }
    }
}

impl WorkFolders {
    /// Adds the folder that `cd` with these words leads to.
    pub fn enter(&mut self, words: &[Word]) {
        let options = words.iter().take_while(|word| matches!(word.text.as_str(), "-P" | "-L" | "-e" | "-n" | "--"));
        match words.get(options.count()..).unwrap_or_default() {
            [] => self.add("~/"),
            [to] if to.fixed && !to.text.starts_with(['-', '+']) => self.add(&to.text),
            _ => self.unknown = true,
        }
    }

    fn add(&mut self, to: &str) {
        let found: Vec<String> = self.paths.iter().map(|from| joined(from, to)).collect();
        for path in found {
            match self.paths.len() < MOST {
                _ if self.paths.contains(&path) => {}
                true => self.paths.push(path),
                false => self.unknown = true,
            }
        }
    }

    /// The places that a path may mean, seen from where the line starts.
    pub fn places<'a>(&'a self, path: &'a str) -> impl Iterator<Item = String> + 'a {
        self.paths.iter().map(move |folder| joined(folder, path))
    }
}

/// A path seen from a folder.
fn joined(folder: &str, path: &str) -> String {
    match path.starts_with(['/', '~']) || folder.is_empty() {
        true => path.into(),
        false => format!("{}/{path}", folder.trim_end_matches('/')),
    }
}
