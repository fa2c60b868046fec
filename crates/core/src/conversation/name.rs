//! What a trace is called: what somebody calls it, what a model made of its task, else the task in short.

use crate::error::Decided;
use crate::{Refusal, State};
use mainpath_types::TraceNamed;

/// The longest name, in characters.
pub const LONGEST_NAME: usize = 80;
/// How wide a name by the task is at most; a letter of Chinese, Japanese or Korean is as wide as two others.
const WIDTH: usize = 40;

/// A model's name takes no other's place.
pub(crate) fn decide(state: &State, named: &TraceNamed) -> Decided {
    let name = named.name.trim();
    if named.made.is_some() && state.name.is_some() {
        return Err(Refusal::Named);
    }
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(Refusal::BadName);
    }
    Ok(TraceNamed { name: name.into(), ..named.clone() }.into())
}

impl State {
    pub(crate) fn named(&mut self, data: &TraceNamed) {
        self.name = Some(data.name.clone());
        if let Some(made) = &data.made {
            let spent = made.spent();
            self.spent += spent;
            self.with_run(|run| run.settle(made.usage, made.cost, spent));
        }
    }
}

/// The name that a task gives: its first words, cut between two of them, without handles of secrets. Empty if it has no words.
pub fn short_name(task: &str) -> String {
    let task = without_handles(task);
    let first = task.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or_default();
    let first: String = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut width, mut cut, mut pause, mut last) = (0, 0, 0, ' ');
    let mut end = first.len();
    for (at, letter) in first.char_indices() {
        // A sentence is enough.
        if matches!(letter, '。' | '！' | '？' | '；') || letter == ' ' && matches!(last, '.' | '!' | '?' | ';') {
            end = at;
            break;
        }
        if letter == ' ' || is_wide(letter) || is_wide(last) {
            cut = at;
        }
        // A clause is, if it says something.
        if width >= WIDTH / 2 && matches!(letter, ',' | '，' | '、' | '：') {
            pause = at;
        }
        width += if is_wide(letter) { 2 } else { 1 };
        if width > WIDTH {
            // One word as long as that is cut in the middle.
            end = [pause, cut, at].into_iter().find(|end| *end > 0).unwrap_or(at);
            break;
        }
        last = letter;
    }
    let name = first.get(..end).unwrap_or_default();
    let is_end = |letter: char| letter.is_whitespace() || ",.;:!?-–—、，。：；！？（(「\"'".contains(letter);
    name.trim_end_matches(is_end).trim_start_matches(|letter: char| "#*->\"' ".contains(letter)).into()
}

fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

/// A text without what stands for secrets.
fn without_handles(text: &str) -> String {
    let mut rest = text;
    let mut left = String::new();
    while let Some((before, after)) = rest.split_once("{{secret:") {
        left.push_str(before);
        rest = after.split_once("}}").map_or("", |(_, after)| after);
    }
    left + rest
}
