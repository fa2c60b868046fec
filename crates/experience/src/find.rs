//! What is looked for, and how well an entry fits.

use crate::entry::Placed;
use mainpath_skills::words;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// So many different words of a text are looked for.
const MOST_WORDS: usize = 64;

/// What is looked for: by tags, by the words of a text, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// A text, such as a task. A tag all of whose words are in it fits as well.
    pub text: String,
    /// Purposes.
    pub intent: Vec<String>,
    /// Situations.
    pub state: Vec<String>,
    /// Whether entries that wait for a person are looked at too.
    pub with_waiting: bool,
    /// How many are given at most.
    pub most: usize,
}

/// An entry that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The entry with its place.
    pub placed: Placed,
    /// How many of its intent tags fit.
    pub intent: u32,
    /// How many of its state tags fit.
    pub state: u32,
    /// How many of the words that were looked for it has.
    pub words: u32,
    /// How near it is in meaning, as a cosine in thousandths; 0 where that is not known.
    pub cosine: u32,
    /// Whether that is more than a word in common.
    pub is_telling: bool,
}

impl Found {
    /// The same, so near in meaning.
    pub(crate) fn near(self, cosine: u32) -> Found {
        Found { cosine, is_telling: self.is_telling || cosine > 0, ..self }
    }

    /// The order of what is found: intent before state before score. Without a fitting tag, words and nearness come before the score; a word
    /// is worth a tenth of a cosine.
    pub(crate) fn rank(&self) -> Reverse<(u32, u32, i64, i64)> {
        let has_tags = self.intent + self.state > 0;
        let words = 100 * i64::from(self.words) + i64::from(self.cosine);
        let score = self.placed.entry.score();
        let last = if has_tags { (score, words) } else { (words, score) };
        Reverse((self.intent, self.state, last.0, last.1))
    }
}

/// A query in the words that are compared.
pub(crate) struct Terms {
    /// The words of the text and of the tags, without repetition.
    pub all: Vec<String>,
    text: BTreeSet<String>,
    intent: Vec<Vec<String>>,
    state: Vec<Vec<String>>,
}

impl Terms {
    pub fn of(query: &Query) -> Terms {
        let tags = |tags: &[String]| -> Vec<Vec<String>> {
            tags.iter().take(MOST_WORDS).map(|tag| words(tag)).filter(|tag| !tag.is_empty()).collect()
        };
        let mut text = BTreeSet::new();
        // As long as it is of use: a task may come with a whole file.
        for word in words(query.text.get(..query.text.floor_char_boundary(16 * 1024)).unwrap_or_default()) {
            if text.len() < MOST_WORDS {
                text.insert(word);
            }
        }
        let (intent, state) = (tags(&query.intent), tags(&query.state));
        let of_tags = intent.iter().chain(&state).flatten().cloned();
        let all: BTreeSet<String> = text.iter().cloned().chain(of_tags).collect();
        Terms { all: all.into_iter().collect(), text, intent, state }
    }

    /// Whether a tag fits: all its words are named, or it has all words of a tag that is looked for.
    pub fn fits(&self, is_intent: bool, tag: &[String]) -> bool {
        let asked = if is_intent { &self.intent } else { &self.state };
        let named = |word: &String| self.text.contains(word) || asked.iter().flatten().any(|known| known == word);
        !tag.is_empty() && tag.iter().all(named)
            || asked.iter().any(|asked| asked.iter().all(|word| tag.contains(word)))
    }

    /// How an entry fits with these tags that do.
    pub fn found(&self, placed: Placed, intent: u32, state: u32) -> Found {
        let own: BTreeSet<String> = words(&searched(&placed.entry)).into_iter().collect();
        let shared = self.all.iter().filter(|word| own.contains(*word)).count();
        let words = u32::try_from(shared).unwrap_or(u32::MAX);
        let is_telling = intent + state > 0 || words >= 2 || words > 0 && self.all.len() == 1;
        Found { placed, intent, state, words, cosine: 0, is_telling }
    }
}

/// What of an entry is searched.
pub(crate) fn searched(entry: &crate::Entry) -> String {
    let tags = entry.state.iter().chain(&entry.intent).map(String::as_str);
    let all: Vec<&str> = [entry.text.as_str(), &entry.category].into_iter().chain(tags).collect();
    all.join("\n")
}
