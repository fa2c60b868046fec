//! A summary by rules, without a model: what was asked for, what was forbidden, what was decided, what is open, and what tools
//! found. Chinese and English.
//!
//! A sentence counts as what its words say it is. That is crude, and it is the same every time, costs nothing and cannot be
//! refused, so it also stands in where a model's summary fails.

use crate::context::demands::demanded;
use crate::context::sentences::{Words, head_of, line, sentences};
use crate::estimate;
use mainpath_types::Role;

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
/// The longest of all other items but constraints, in characters.
const ITEM_CHARS: usize = 400;
/// What is left of a constraint that is too long for its summary, in characters.
const SAMPLE_CHARS: usize = 100;
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

impl Summary {
    /// Reads the next message.
    pub fn read(&mut self, said: Said<'_>) {
        let text = head_of(said.text, READ);
        match said.role {
            Role::User => {
                if self.goal.is_empty() {
                    self.goal = line(text, GOAL_CHARS);
                }
                for demand in demanded(said.text) {
                    if self.constraints.len() < ITEMS {
                        // In its own words, however long.
                        add(&mut self.constraints, line(demand, usize::MAX));
                    }
                }
                for sentence in sentences(text) {
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
    /// the oldest questions, then the oldest decisions, and only then constraints: of those that alone would take half of it the
    /// beginning is left, and the newest go. The goal stays.
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
            // One that is too long must not keep out the others.
            for item in &mut self.constraints {
                if over > 0 && size(item) > tokens / 2 && item.chars().count() > ITEM_CHARS {
                    let whole = size(item);
                    *item = format!("{} (too long to stand here)", line(item, SAMPLE_CHARS));
                    over = over.saturating_sub(whole.saturating_sub(size(item)));
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

fn add(list: &mut Vec<String>, item: String) {
    if item.is_empty() || list.contains(&item) {
        return;
    }
    if list.len() >= ITEMS {
        list.remove(0);
    }
    list.push(item);
}
