//! Folders of the machine that a run was recorded on, by a word that stands for them.

use serde_json::Value;
use std::path::Path;

/// Folders, and the words that stand for them in a test: the longest first.
pub(super) struct Placing {
    places: Vec<(String, &'static str)>,
}

impl Placing {
    /// For a project in this folder, on this machine.
    pub fn new(project: &Path) -> Placing {
        let home = std::env::var("HOME").unwrap_or_default();
        let home = Path::new(&home).canonicalize().map_or(home, |home| home.display().to_string());
        let mut places = vec![(project.display().to_string(), "{{workspace}}"), (home, "{{home}}")];
        // `/` and the like stand for too much.
        places.retain(|(folder, _)| folder.matches('/').count() > 1);
        places.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
        Placing { places }
    }

    /// The words in the place of the folders.
    pub fn taken_out(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, (folder, word)| replace_path(&text, folder, word))
    }

    /// The folders in the place of the words.
    pub fn put_in(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, (folder, word)| text.replace(word, folder))
    }
}

/// Replaces a path where it is a whole one, or the beginning of one.
fn replace_path(text: &str, path: &str, with: &str) -> String {
    let (mut done, mut rest) = (String::with_capacity(text.len()), text);
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    while let Some(at) = rest.find(path) {
        let (before, after) = (rest.get(..at).unwrap_or_default(), rest.get(at + path.len()..).unwrap_or_default());
        let dots = after.trim_start_matches('.');
        let goes_on = dots.starts_with(is_name);
        let begins = !before.ends_with(|letter: char| is_name(letter) || letter == '/');
        done.push_str(before);
        done.push_str(if begins && !goes_on { with } else { path });
        rest = after;
    }
    done.push_str(rest);
    done
}

/// Changes all texts of a value.
pub(super) fn map_texts(value: &mut Value, change: &mut dyn FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(values) => values.iter_mut().for_each(|value| map_texts(value, change)),
        Value::Object(fields) => fields.values_mut().for_each(|value| map_texts(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::replace_path;

    #[test]
    fn a_path_is_replaced_where_it_is_one() {
        let cases = [
            ("cd /a/b && ls /a/b/c.", "cd W && ls W/c."),
            ("/a/bc /x/a/b /a/b.txt", "/a/bc /x/a/b /a/b.txt"),
            ("in /a/b.", "in W."),
            ("\"/a/b\"", "\"W\""),
        ];
        for (text, wanted) in cases {
            assert_eq!(replace_path(text, "/a/b", "W"), wanted);
        }
    }
}
