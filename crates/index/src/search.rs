//! Searching: from words to places, and what is shown of a place.

use crate::rows::{COLUMNS, WIDTH, row};
use crate::words::{is_word, spaced};
use crate::{Position, Row};
use mainpath_types::Seq;
use rusqlite::{Connection, Result, params};

/// A place where something was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The trace.
    pub row: Row,
    /// The message.
    pub seq: Seq,
    /// Who said it: `user`, `assistant` or `tool`.
    pub role: String,
    /// What is shown of it.
    pub shown: Shown,
}

impl Hit {
    /// The place of this.
    pub fn place(&self) -> HitPlace {
        HitPlace { at: Position { modified: self.row.modified, trace: self.row.trace.clone() }, seq: self.seq }
    }
}

/// A place among those that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitPlace {
    /// That of the trace in the list.
    pub at: Position,
    /// The message.
    pub seq: Seq,
}

/// A piece of a text around what was looked for, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What comes before it.
    pub before: String,
    /// What was looked for, as it stands there.
    pub found: String,
    /// What comes after it.
    pub after: String,
}

/// What is looked for.
pub(crate) struct Words {
    /// In SQLite's notation: all of the words in one message.
    matching: String,
    /// The words as they were given, in lower case.
    given: Vec<String>,
}

/// Blanks part what is looked for; each part is a phrase, the last word of which may go on. `None` without any letter.
pub(crate) fn query(text: &str) -> Option<Words> {
    let given: Vec<String> =
        text.split_whitespace().filter(|part| part.chars().any(char::is_alphanumeric)).map(Into::into).collect();
    let phrase = |part: &String| {
        let goes_on = part.chars().next_back().is_some_and(|c| c.is_alphanumeric() && !is_word(c));
        format!("\"{}\"{}", spaced(part).replace('"', "\"\""), if goes_on { " *" } else { "" })
    };
    let matching = given.iter().map(phrase).collect::<Vec<_>>().join(" AND ");
    let given = given.iter().map(|part| part.to_lowercase()).collect();
    (!matching.is_empty()).then_some(Words { matching, given })
}

pub(crate) fn search(db: &Connection, words: &Words, most: usize, after: Option<&HitPlace>) -> Result<Vec<Hit>> {
    let mut query = db.prepare(&format!(
        "SELECT {COLUMNS}, message.seq, message.role, message.text FROM words \
         JOIN message ON message.n = words.rowid JOIN trace ON trace.n = message.trace \
         WHERE words MATCH ?1 AND (?3 IS NULL OR trace.modified < ?3 OR trace.modified = ?3 AND (trace.id, message.seq) > (?4, ?5)) \
         ORDER BY trace.modified DESC, trace.id, message.seq LIMIT ?2"
    ))?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let modified = after.map(|after| i64::try_from(after.at.modified).unwrap_or(i64::MAX));
    let (trace, seq) = (after.map(|after| after.at.trace.as_str()), after.map(|after| after.seq.0));
    let hits = query.query_map(params![words.matching, most, modified, trace, seq], |found| {
        let text: String = found.get(WIDTH + 2)?;
        let shown = shown(&text, &words.given);
        Ok(Hit { row: row(found)?, seq: Seq(found.get(WIDTH)?), role: found.get(WIDTH + 1)?, shown })
    })?;
    hits.collect()
}

/// How many characters are shown on either side.
const AROUND: usize = 40;

/// The text around the first of the words that stands in it.
fn shown(text: &str, words: &[String]) -> Shown {
    let line =
        |text: String| text.split(char::is_whitespace).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let (at, len) = words.iter().find_map(|word| position(text, word)).unwrap_or((0, 0));
    let (before, rest) = text.split_at(at);
    let (found, after) = rest.split_at(len);
    let cut = before.chars().count() > AROUND;
    let mut before: String = before.chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
    if cut {
        before.insert(0, '…');
    }
    let cut = after.chars().nth(AROUND).is_some();
    let mut after: String = after.chars().take(AROUND).collect();
    if cut {
        after.push('…');
    }
    // Blanks at the seams are part of the text.
    let edge = |c: Option<char>| if c.is_some_and(char::is_whitespace) { " " } else { "" };
    let (left, right) = (edge(before.chars().next_back()), edge(after.chars().next()));
    Shown { before: line(before) + left, found: line(found.into()), after: format!("{right}{}", line(after)) }
}

/// Where a word stands, in any case: its place and length in bytes.
fn position(text: &str, word: &str) -> Option<(usize, usize)> {
    text.char_indices().find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let (mut wanted, mut len) = (word.chars(), 0);
        let mut next = wanted.next();
        for c in rest.chars() {
            let Some(_) = next else { break };
            for lower in c.to_lowercase() {
                if next != Some(lower) {
                    return None;
                }
                next = wanted.next();
            }
            len += c.len_utf8();
        }
        next.is_none().then_some((at, len))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_phrases_that_must_all_be_there() {
        let matching = |text: &str| query(text).map(|words| words.matching);
        assert_eq!(matching("Foo登录 bar\"x ***"), Some("\"Foo 登  录 \" AND \"bar\"\"x\" *".into()));
        assert_eq!(matching("** ??"), None);
        assert_eq!(matching(""), None);
    }

    #[test]
    fn what_is_shown_is_the_text_around_the_first_word_found() {
        let words = |text: &str| query(text).unwrap().given;
        let text = "Die ÜBERSICHT über alles:\n\n  用户登录失败，请检查日志";
        let seen = shown(text, &words("übersicht"));
        assert_eq!((seen.before.as_str(), seen.found.as_str()), ("Die ", "ÜBERSICHT"));
        assert!(seen.after.starts_with(" über alles: 用户"), "{seen:?}");
        let seen = shown(text, &words("登录"));
        assert_eq!((seen.found.as_str(), seen.after.as_str()), ("登录", "失败，请检查日志"));
        assert_eq!(shown("nothing", &words("else")).before, "");
        let long = shown(&format!("{}needle{}", "a".repeat(90), "b".repeat(90)), &words("needle"));
        assert_eq!((long.before.chars().count(), long.after.chars().count()), (41, 41));
    }
}
