//! A summary by rules, without a model: what was asked for, what was forbidden, what was decided, what is open, and what tools
//! found. Chinese and English.
//!
//! A sentence counts as what its words say it is. That is crude, and it is the same every time, costs nothing and cannot be
//! refused, so it also stands in where a model's summary fails.

use crate::{estimate, estimate_parts};
use mainpath_types::{Part, Role, text_of};

/// A message, as far as the rules read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said<'a> {
    /// Who speaks.
    pub role: Role,
    /// The text.
    pub text: &'a str,
    /// The tool whose result it is, and the call's id; for [`Role::Tool`] alone.
    pub tool: Option<(&'a str, &'a str)>,
    /// Where what the call made is kept: paths or hashes.
    pub artifacts: &'a [String],
}

impl<'a> Said<'a> {
    /// What a person or the model said.
    pub fn new(role: Role, text: &'a str) -> Said<'a> {
        Said { role, text, tool: None, artifacts: &[] }
    }
}

/// What rules found in a conversation. Every item is one line; none is there twice; each list is oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The first task.
    pub goal: String,
    /// What people demanded or ruled out.
    pub constraints: Vec<String>,
    /// What the model settled on.
    pub decisions: Vec<String>,
    /// What people asked.
    pub open_items: Vec<String>,
    /// What tools said about files and states, with the tool, the call and what is kept of it.
    pub tool_facts: Vec<String>,
}

const CONSTRAINT: Words =
    Words { wide: &["必须", "不要", "仅", "只"], narrow: &["must", "never", "don't", "only"] };
const DECISION: Words =
    Words { wide: &["决定", "采用", "改为"], narrow: &["decided", "will use", "switched to"] };
const QUESTION: Words =
    Words { wide: &["如何", "怎么", "什么", "是否", "？"], narrow: &["how", "what", "whether"] };
const FACT: Words = Words {
    wide: &["路径", "文件", "目录", "状态"],
    narrow: &["path", "paths", "file", "files", "directory", "directories", "status"],
};

/// The longest goal, in characters.
const GOAL_CHARS: usize = 2_000;
/// The longest of all other items, in characters.
const ITEM_CHARS: usize = 400;
/// The most items of a list. Past them constraints keep the oldest, all else the newest.
const ITEMS: usize = 60;
/// The most facts that are taken from one result.
const FACTS_A_RESULT: usize = 3;
/// As many bytes of one text are read.
const READ: usize = 64 * 1024;

/// What rules find in a conversation.
pub fn rule_summary<'a>(messages: impl IntoIterator<Item = Said<'a>>) -> Summary {
    let mut summary = Summary::default();
    messages.into_iter().for_each(|said| summary.read(said));
    summary
}

/// Whether a text of a person's demands something or rules something out. Such a message is never left out of a request.
pub fn is_constraint(text: &str) -> bool {
    CONSTRAINT.are_in(text)
}

/// A message of a person's of at most so many tokens stays whole if it demands something; of a longer one the sentences that do.
const WHOLE: u32 = 256;

/// The sentences of a message that demand something or rule something out, as a text.
pub(crate) fn demands(parts: &[Part]) -> String {
    let summary = rule_summary([Said::new(Role::User, &text_of(parts))]);
    let mut text = String::from("Said earlier, and still to be kept to:");
    for sentence in &summary.constraints {
        text.push_str("\n- ");
        text.push_str(sentence);
    }
    text
}

/// The size of what a message demands or rules out, which no cut leaves out: 0 if nothing, the message's own size if it stays whole.
pub fn demands_of(parts: &[Part]) -> u32 {
    if !is_constraint(head_of(&text_of(parts), READ)) {
        return 0;
    }
    let whole = estimate_parts(parts);
    if whole <= WHOLE { whole } else { whole.min(estimate(&demands(parts)).saturating_add(4)) }
}

impl Summary {
    /// Reads the next message.
    pub fn read(&mut self, said: Said<'_>) {
        let text = head_of(said.text, READ);
        match said.role {
            Role::User => {
                if self.goal.is_empty() {
                    self.goal = line(text, GOAL_CHARS);
                }
                for sentence in sentences(text) {
                    if CONSTRAINT.are_in(sentence) && self.constraints.len() < ITEMS {
                        add(&mut self.constraints, line(sentence, ITEM_CHARS));
                    }
                    if QUESTION.are_in(sentence) || sentence.ends_with('?') {
                        add(&mut self.open_items, line(sentence, ITEM_CHARS));
                    }
                }
            }
            Role::Assistant => {
                let decisions = sentences(text).filter(|sentence| DECISION.are_in(sentence));
                decisions.for_each(|sentence| add(&mut self.decisions, line(sentence, ITEM_CHARS)));
            }
            Role::Tool => {
                let from = match said.tool {
                    Some((tool, call)) => format!("{} ({}): ", line(tool, 100), line(call, 100)),
                    None => String::new(),
                };
                let facts = text.lines().map(str::trim).filter(|fact| FACT.are_in(fact)).take(FACTS_A_RESULT);
                facts.for_each(|fact| add(&mut self.tool_facts, format!("{from}{}", line(fact, ITEM_CHARS))));
                for kept in said.artifacts.iter().take(FACTS_A_RESULT) {
                    add(&mut self.tool_facts, format!("{from}kept as {}", line(kept, ITEM_CHARS)));
                }
            }
        }
    }

    /// The summary with as much left out as makes its Markdown at most `tokens` long by estimate: first the oldest facts, then
    /// the oldest questions, then the oldest decisions, and only then the newest constraints. The goal stays.
    #[must_use]
    pub fn within(mut self, tokens: u32) -> Summary {
        // No item is worth more than this, so too little goes in one round, never too much.
        let size = |item: &String| estimate(item).saturating_add(2);
        loop {
            let mut over = estimate(&self.markdown()).saturating_sub(tokens);
            let mut gone = false;
            for list in [&mut self.tool_facts, &mut self.open_items, &mut self.decisions] {
                while over > 0 && !list.is_empty() {
                    over = over.saturating_sub(size(&list.remove(0)));
                    gone = true;
                }
            }
            while over > 0
                && let Some(item) = self.constraints.pop()
            {
                over = over.saturating_sub(size(&item));
                gone = true;
            }
            if !gone {
                return self;
            }
        }
    }

    /// The summary as Markdown. All five headings are always there.
    pub fn markdown(&self) -> String {
        let goal = std::slice::from_ref(&self.goal);
        let sections: [(&str, &[String]); 5] = [
            ("Goal", if self.goal.is_empty() { &[] } else { goal }),
            ("Constraints", &self.constraints),
            ("Decisions", &self.decisions),
            ("Open Items", &self.open_items),
            ("Tool Facts", &self.tool_facts),
        ];
        let mut text = String::from("# Chat Summary\n");
        for (name, items) in sections {
            text.push_str("\n## ");
            text.push_str(name);
            text.push('\n');
            for item in items {
                text.push_str("- ");
                text.push_str(item);
                text.push('\n');
            }
        }
        text
    }
}

/// Words that make a sentence what it is.
struct Words {
    /// Found anywhere: Chinese has no spaces between words.
    wide: &'static [&'static str],
    /// Found as whole words, in any case.
    narrow: &'static [&'static str],
}

impl Words {
    fn are_in(&self, text: &str) -> bool {
        self.wide.iter().any(|word| text.contains(word)) || self.narrow.iter().any(|word| has_word(text, word))
    }
}

/// Whether a text has these words side by side, in any case, with nothing before or after that would make them others. A
/// typographic apostrophe is an apostrophe.
fn has_word(text: &str, word: &str) -> bool {
    let same =
        |a: char, b: char| a.to_ascii_lowercase() == b || (a == '’' && b == '\'') || (a.is_whitespace() && b == ' ');
    let mut before = None;
    text.char_indices().any(|(at, c)| {
        let starts = !before.is_some_and(char::is_alphanumeric);
        before = Some(c);
        let mut rest = text.get(at..).unwrap_or_default().chars();
        starts
            && word.chars().all(|b| rest.next().is_some_and(|a| same(a, b)))
            && !rest.next().is_some_and(char::is_alphanumeric)
    })
}

/// The sentences of a text, with the marks that end them. A dot ends one before a space only, so that names and numbers stay
/// whole.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = rest.char_indices().find_map(|(at, c)| {
                let after = at + c.len_utf8();
                let spaced = rest.get(after..).is_none_or(|rest| rest.chars().next().is_none_or(char::is_whitespace));
                let ends =
                    matches!(c, '。' | '！' | '？' | '；' | '\n') || (spaced && matches!(c, '.' | '!' | '?' | ';'));
                ends.then_some(after)
            });
            let (sentence, more) = rest.split_at(end.unwrap_or(rest.len()));
            rest = more;
            let sentence = sentence.trim();
            if !sentence.is_empty() {
                return Some(sentence);
            }
        }
        None
    })
}

/// A text on one line, cut to so many characters.
fn line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for c in text.trim().chars().take(most) {
        line.push(if c.is_control() { ' ' } else { c });
    }
    if text.trim().chars().nth(most).is_some() {
        line.push_str(" […]");
    }
    line
}

/// The beginning of a text, so many bytes at most.
fn head_of(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

fn add(list: &mut Vec<String>, item: String) {
    if item.is_empty() || list.contains(&item) {
        return;
    }
    if list.len() >= ITEMS {
        list.remove(0);
    }
    list.push(item);
}
