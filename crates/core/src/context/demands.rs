//! What people demand or rule out: found in what they say when they say it, recorded with it, and shown as long as there is room,
//! in their own words.
//!
//! A sentence demands something if a word of it does. A list below its colon belongs to it, and so does what a line break
//! parts from it in the middle of a sentence. No rule but these says what is shown later: the places lie in the log.

use crate::context::estimate::letters;
use crate::context::sentences::{Words, ends, head_of, line, sentences};
use crate::{estimate, estimate_parts};
use mainpath_types::{Part, TextSpan, text_of};

const DEMAND: Words = Words {
    wide: &["必须", "不要", "不能", "禁止", "仅", "只"],
    narrow: &["must", "never", "don't", "do not", "may not", "only"],
};

/// What a message demands or rules out, as it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// How large it is where it alone is shown, in tokens; 0 if it is nothing, and never more than the message.
    pub tokens: u32,
    /// Where it stands in the message's text.
    pub at: Vec<TextSpan>,
}

impl Demands {
    /// All that these parts say.
    pub fn all(parts: &[Part]) -> Demands {
        let text = text_of(parts);
        match u32::try_from(text.len()) {
            Ok(end) if end > 0 => Demands { tokens: estimate_parts(parts), at: vec![(0, end)] },
            _ => Demands::default(),
        }
    }
}

/// Whether a text of a person's demands something or rules something out.
pub fn is_demand(text: &str) -> bool {
    DEMAND.are_in(text)
}

/// What a message with these parts demands or rules out.
pub fn demands_of(parts: &[Part]) -> Demands {
    let (text, whole) = (text_of(parts), estimate_parts(parts));
    let at = find(&text);
    if at.is_empty() {
        return Demands::default();
    }
    let tokens = estimate(&in_words(&text, &at, None)).saturating_add(4);
    Demands { tokens: tokens.min(whole), at }
}

/// What a text demands or rules out, in its own words, the first first.
pub(crate) fn demanded(text: &str) -> impl Iterator<Item = &str> {
    find(text).into_iter().filter_map(|span| at(text, span))
}

/// What stands at these places of a text, as a message of its own, of at most so many tokens; that there is more is said, and no
/// demand is cut. Without places: what the first version found.
pub(crate) fn in_words(text: &str, places: &[TextSpan], most: Option<u32>) -> String {
    const MORE: u32 = 34;
    let mut words = String::from("Said earlier, and still to be kept to:");
    let (mut room, mut left) = (most.map_or(u32::MAX, |most| most.saturating_sub(MORE + letters(&words))), 0);
    let mut add = |demand: &str| {
        // What belongs to it stands under it.
        let line = format!("\n- {}", demand.replace('\n', "\n  "));
        match room.checked_sub(letters(&line)) {
            Some(rest) => {
                room = rest;
                words.push_str(&line);
            }
            None => left += 1,
        }
    };
    if places.is_empty() {
        as_first_found(text).iter().for_each(|demand| add(demand));
    }
    places.iter().filter_map(|span| at(text, *span)).for_each(add);
    if left > 0 {
        words.push_str(&format!("\n({left} more found no room here; load_older_messages shows the whole message.)"));
    }
    words
}

fn at(text: &str, (from, to): TextSpan) -> Option<&str> {
    text.get(from as usize..to as usize)
}

/// The demands of a text, as the first version of the log had them found whenever they were shown. What was sent must come
/// out the same, so this stays as it was.
fn as_first_found(text: &str) -> Vec<String> {
    const WORDS: Words =
        Words { wide: &["必须", "不要", "仅", "只"], narrow: &["must", "never", "don't", "only"] };
    let mut found: Vec<String> = Vec::new();
    for sentence in sentences(head_of(text, 64 * 1024)).filter(|sentence| WORDS.are_in(sentence)) {
        let demand = line(sentence, 400);
        if found.len() < 60 && !found.contains(&demand) {
            found.push(demand);
        }
    }
    found
}

/// Where a text demands something or rules something out.
fn find(text: &str) -> Vec<TextSpan> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
        let mut end = sentence(rest);
        let said = rest.get(..end).unwrap_or_default();
        if is_demand(said) {
            if said.trim_end().ends_with([':', '：']) {
                end += below(rest.get(end..).unwrap_or_default());
            }
            let said = rest.get(..end).unwrap_or_default();
            let place = |bytes: usize| u32::try_from(from + bytes).unwrap_or(u32::MAX);
            found.push((place(said.len() - said.trim_start().len()), place(said.trim_end().len())));
        }
        from += end;
    }
    found
}

/// The length of a text's first sentence. A line break ends it unless the next line goes on in small letters; what a semicolon
/// parts after a colon is one list.
fn sentence(text: &str) -> usize {
    let mut lists = false;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let after = text.get(end..);
        match c {
            '\n' if !goes_on(text.get(..at), after) => return end,
            ';' | '；' if lists => {}
            _ if ends(c, after) => return end,
            _ => lists |= c == '：' || (c == ':' && after.is_none_or(|after| after.starts_with(char::is_whitespace))),
        }
    }
    text.len()
}

/// Whether a line break stands in the middle of a sentence.
fn goes_on(before: Option<&str>, after: Option<&str>) -> bool {
    let is_open = before.is_some_and(|before| !before.trim().is_empty() && !before.trim_end().ends_with([':', '：']));
    let next = after.unwrap_or_default().lines().next().unwrap_or_default();
    is_open && next.trim_start().starts_with(char::is_lowercase) && !is_item(next)
}

/// How much of a text is what a colon before it announces: a list, or else what stands before the next empty line.
fn below(text: &str) -> usize {
    let (mut end, mut at) = (0, 0);
    let mut lists = None;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim().is_empty() {
            if lists == Some(false) {
                break;
            }
            continue;
        }
        let item = is_item(line);
        let belongs = match *lists.get_or_insert(item) {
            false => true,
            // What goes on in an item stands further in, or in small letters.
            true => item || line.starts_with(char::is_whitespace) || line.starts_with(char::is_lowercase),
        };
        if !belongs {
            break;
        }
        end = at;
    }
    end
}

/// Whether a line is an item of a list: `- this`, `2. this`, `b) this`, `（三）这个`.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with(['-', '*', '+', '•', '·', '–', '—', '（']) {
        return true;
    }
    let line = line.strip_prefix('(').unwrap_or(line);
    let name: usize = line.chars().take_while(|c| c.is_alphanumeric()).map(char::len_utf8).sum();
    let short = (1..=3).contains(&line.get(..name).unwrap_or_default().chars().count());
    let numbered = line.starts_with(|c: char| c.is_ascii_digit() || "一二三四五六七八九十".contains(c));
    match line.get(name..).and_then(|rest| rest.chars().next()) {
        Some(')' | '）') => short,
        Some('.' | '、' | '．') => short && numbered,
        _ => false,
    }
}
