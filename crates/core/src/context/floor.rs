//! What stands below a model's summary: what people want and what was settled that its words do not tell; and where they tell
//! nothing, since the model refused or wrote of something else, all that rules found.
//!
//! A text tells of a thing if it has half of the words that make it up. Words are compared as they are, so a summary in another
//! language tells nothing: then there is one by rules beside it.

use crate::context::rules::Summary;
use crate::estimate;
use mainpath_types::SummaryFloor;
use std::collections::BTreeSet;

/// The size of the sentence around a summary.
pub(crate) const SUMMARY_FRAME: u32 = 24;
/// A model's summary that has fewer than one in so many of the words that rules found tells nothing.
const ONE_IN: usize = 16;
/// With fewer words than this nothing can be said about that.
const FEW: usize = 12;
/// Shorter Latin words are in every text.
const WORD_CHARS: usize = 4;
/// What the floor of a summary that tells something may take, as a part of what there is room for.
const PART: u32 = 3;

/// What a model's summary does not tell of what rules found, in at most so many tokens, and its size.
pub fn summary_floor(found: Summary, words: &str, most: u32) -> (SummaryFloor, u32) {
    let told = terms(words);
    let own = terms(&Summary { earlier: None, ..found.clone() }.items());
    let known = own.intersection(&told).count();
    if own.len() >= FEW && known * ONE_IN < own.len() {
        let text = found.within(most.saturating_sub(SUMMARY_FRAME)).markdown();
        return sized(SummaryFloor { text, all: true });
    }
    let tells = |item: &String| {
        let terms = terms(item);
        !terms.is_empty() && terms.intersection(&told).count() * 2 >= terms.len()
    };
    let untold = |items: Vec<String>| -> Vec<String> { items.into_iter().filter(|item| !tells(item)).collect() };
    let left = Summary { wishes: untold(found.wishes), decisions: untold(found.decisions), ..Summary::default() };
    let left = left.within((most / PART).saturating_sub(SUMMARY_FRAME));
    let mut text = String::new();
    for (name, items) in [("Wished", &left.wishes), ("Decided", &left.decisions)] {
        items.iter().for_each(|item| text.push_str(&format!("\n- {name}: {item}")));
    }
    let text = if text.is_empty() { text } else { format!("Also said, and not told above:{text}") };
    sized(SummaryFloor { text, all: false })
}

fn sized(floor: SummaryFloor) -> (SummaryFloor, u32) {
    let tokens = if floor.text.is_empty() { 0 } else { estimate(&floor.text).saturating_add(SUMMARY_FRAME) };
    (floor, tokens)
}

/// The words of a text that say what it is about, in small letters: longer ones, numbers, and pairs of wide characters.
fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        let chars: Vec<char> = word.chars().collect();
        let is_wide = |c: &char| u32::from(*c) >= 0x2e80;
        if chars.iter().any(is_wide) {
            terms.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else if chars.len() >= WORD_CHARS || chars.iter().any(char::is_ascii_digit) {
            terms.insert(word.into());
        }
    }
    terms
}
