//! Folders of the machine that a run was recorded on, by a word that stands for them.

use serde_json::Value;
use std::path::Path;

/// Folders, and the words that stand for them in a test: the longest first.
pub(super) struct Placing {
    places: Vec<Place>,
}

/// A folder, and what stands for it.
struct Place {
    folder: String,
    word: &'static str,
}

/// What stands for the folder of the project,
const WORKSPACE: &str = "{{workspace}}";
/// for the person's home,
const HOME: &str = "{{home}}";
/// for two braces that somebody wrote before what would be read as one of these words,
const BRACES: &str = "{{braces}}";
/// and how what stands for a text in a file of its own begins.
pub(super) const FILE: &str = "{{file:";

impl Placing {
    /// For a project in this folder, on this machine.
    pub fn new(project: &Path) -> Placing {
        let home = std::env::var("HOME").unwrap_or_default();
        let home = Path::new(&home).canonicalize().map_or(home, |home| home.display().to_string());
        let mut places =
            vec![Place { folder: project.display().to_string(), word: WORKSPACE }, Place { folder: home, word: HOME }];
        places.retain(|place| !place.folder.is_empty());
        places.sort_by_key(|place| std::cmp::Reverse(place.folder.len()));
        Placing { places }
    }

    /// The words in the place of the folders. What is written like such a word is kept.
    pub fn taken_out(&self, text: &str) -> String {
        // The root is the beginning of every path, and stands for nothing.
        let places = self.places.iter().filter(|place| place.folder != "/");
        places.fold(kept(text), |text, place| replace_path(&text, &place.folder, place.word))
    }

    /// The folders in the place of the words.
    pub fn put_in(&self, text: &str) -> String {
        let (mut done, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(at) = rest.find("{{") {
            let (before, from) = rest.split_at(at);
            done.push_str(before);
            let place = self.places.iter().find(|place| from.starts_with(place.word));
            rest = if let Some(after) = from.strip_prefix(BRACES) {
                done.push_str("{{");
                after
            } else if let Some(place) = place {
                let after = from.get(place.word.len()..).unwrap_or_default();
                // What lies below the root needs no second slash.
                let folder = if after.starts_with('/') { place.folder.trim_end_matches('/') } else { &place.folder };
                done.push_str(folder);
                after
            } else {
                done.push('{');
                from.get(1..).unwrap_or_default()
            };
        }
        done.push_str(rest);
        done
    }
}

/// A text in which nothing is read as a word that stands for something else.
fn kept(text: &str) -> String {
    let (mut done, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("{{") {
        let (before, from) = rest.split_at(at);
        done.push_str(before);
        let is_word = [WORKSPACE, HOME, BRACES, FILE].iter().any(|word| from.starts_with(word));
        let (put, taken) = if is_word { (BRACES, 2) } else { ("{", 1) };
        done.push_str(put);
        rest = from.get(taken..).unwrap_or_default();
    }
    done.push_str(rest);
    done
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
    use super::{Place, Placing, replace_path};

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
    #[test]
    fn a_folder_of_one_segment_is_placed_and_the_root_stands_for_nothing() {
        let at = |folder: &str| Placing { places: vec![Place { folder: folder.into(), word: "{{workspace}}" }] };
        let text = "ls /app/src, /app and /apple, https://x.org/app";
        let out = at("/app").taken_out(text);
        assert_eq!(out, "ls {{workspace}}/src, {{workspace}} and /apple, https://x.org/app");
        assert_eq!(at("/app").put_in(&out), text);
        assert_eq!(at("/a/b").put_in(&out), "ls /a/b/src, /a/b and /apple, https://x.org/app");
        assert_eq!(at("/").taken_out("ls /etc"), "ls /etc");
        assert_eq!(at("/").put_in("ls {{workspace}}/etc in {{workspace}}."), "ls /etc in /.");
    }

    #[test]
    fn what_is_written_like_a_word_of_the_test_is_kept() {
        let placing = Placing {
            places: vec![
                Place { folder: "/a/b".into(), word: "{{workspace}}" },
                Place { folder: "/h".into(), word: "{{home}}" },
            ],
        };
        let texts = [
            "{{file:texts/1.txt}}",
            "{{workspace}}/x in /a/b/x, {{home}} and /h",
            "{{{workspace}}} {{{{home}}}} {{braces}} {{{braces}}workspace}}",
            "{{name}} {{ x }} {{{",
            "{{",
            "",
        ];
        for text in texts {
            let out = placing.taken_out(text);
            assert_eq!(placing.put_in(&out), text, "{out}");
            assert!(!out.starts_with("{{file:"), "{out}");
        }
        assert_eq!(placing.taken_out("{{name}} {{workspace}}"), "{{name}} {{braces}}workspace}}");
    }
}
