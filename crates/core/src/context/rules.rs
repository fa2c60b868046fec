//! A summary by rules, without a model: what was asked for, what was forbidden, what was decided, what is open, what tools found
//! and touched, and every exchange in a line. Chinese and English.
//!
//! A sentence counts as what its words say it is. That is crude, and it is the same every time, costs nothing and cannot be
//! refused, so it also stands in where a model's summary fails.

use crate::context::demands::{demanded, is_demand};
use crate::context::excerpt::excerpt;
use crate::context::sentences::{Words, head_of, line, sentences};
use crate::estimate;
use mainpath_types::{CommandEnd, EventId, Keeps, Role, Seq};

/// A message, as far as the rules read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said<'a> {
    /// Who speaks.
    pub role: Role,
    /// The text.
    pub text: &'a str,
    /// Its number in the conversation, where it has one.
    pub number: Option<Seq>,
    /// What came with it that nobody typed, in words.
    pub beside: &'a str,
    /// Whether it calls tools, and so answers nothing yet; for [`Role::Assistant`] alone.
    pub calls: bool,
    /// The call whose result it is; for [`Role::Tool`] alone.
    pub call: Option<Called<'a>>,
    /// Where what the call made is kept: paths or hashes.
    pub artifacts: &'a [String],
}

impl<'a> Said<'a> {
    /// What a person or the model said.
    pub fn new(role: Role, text: &'a str) -> Said<'a> {
        Said { role, text, number: None, beside: "", calls: false, call: None, artifacts: &[] }
    }
}

/// A call, as far as the rules name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The call's id, such as `4.0`.
    pub id: &'a str,
    /// The event that holds its result.
    pub event: EventId,
    /// What it was about, by its arguments: a path, an address, a command, a question.
    pub about: &'a str,
    /// Whether it did not succeed.
    pub failed: bool,
    /// How it ended, where it was a command.
    pub command: Option<CommandEnd>,
}

/// A question and how it was answered, each in a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The question's number, where it has one.
    pub number: Option<Seq>,
    /// How the question begins.
    pub question: String,
    /// How the last answer to it begins.
    pub answer: String,
}

impl Asked {
    /// Leaves so many characters of the answer.
    fn shorten(&mut self, most: usize) {
        if self.answer.chars().count() > most {
            self.answer = if most == 0 { String::new() } else { line(&self.answer, most) };
        }
    }

    fn line(&self) -> String {
        let number = self.number.map_or(String::new(), |seq| format!("#{} ", seq.0));
        match self.answer.as_str() {
            "" => format!("{number}{}", self.question),
            answer => format!("{number}{} → {answer}", self.question),
        }
    }
}

/// What rules found in a conversation. Every item is one line; none is there twice; each list is oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// What a model has summarised before, in its words.
    pub earlier: Option<String>,
    /// The first task.
    pub goal: String,
    /// What people demanded or ruled out.
    pub constraints: Vec<String>,
    /// What else people want to be so from then on.
    pub wishes: Vec<String>,
    /// What was settled on.
    pub decisions: Vec<String>,
    /// What people asked that has not been answered since.
    pub open_items: Vec<String>,
    /// What tools said about files and states, with the tool, the call and what is kept of it.
    pub tool_facts: Vec<String>,
    /// What tools were called about, with the newest such call and the event of its result.
    pub touched: Vec<Touched>,
    /// Every question and its answer.
    pub exchanges: Vec<Asked>,
    /// How many exchanges before these found no room.
    pub unlisted: usize,
}

/// Something that a tool was called about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The tool, and what it was about.
    pub what: String,
    /// What came of it, where that is known: a command's exit code, and the last line that it wrote.
    pub came: Option<String>,
    /// The newest such call.
    pub call: String,
}

/// What people want from then on, said without a word that demands it.
const WISH: Words = Words {
    wide: &["始终", "总是", "一律", "务必", "以后", "记得", "保持", "尽量", "优先", "避免"],
    narrow: &[
        "always",
        "from now on",
        "keep",
        "prefer",
        "avoid",
        "make sure",
        "every",
        "instead of",
        "remember",
        "no longer",
        "stick to",
    ],
};
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
/// The longest question and the longest answer of an exchange, in characters.
const ASKED_CHARS: (usize, usize) = (160, 240);
/// What is left of answers where not all exchanges find room, in characters, step by step.
const SHORTER: [usize; 2] = [100, 40];
/// The most of a command's last line, in characters.
const OUTCOME_CHARS: usize = 160;
/// What is left of a constraint that is too long for its summary, in characters.
const SAMPLE_CHARS: usize = 100;
/// With less room than this, in tokens, an earlier summary by a model is not quoted.
const EARLIER: u32 = 96;
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
                let question = line(text, ASKED_CHARS.0) + said.beside;
                if self.goal.is_empty() {
                    self.goal = line(text, GOAL_CHARS) + said.beside;
                } else if !question.is_empty() {
                    self.ask(Asked { number: said.number, question, answer: String::new() });
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
                    } else if WISH.are_in(sentence) && !is_demand(sentence) {
                        add(&mut self.wishes, line(sentence, ITEM_CHARS));
                    }
                    if DECISION.are_in(sentence) {
                        add(&mut self.decisions, line(sentence, ITEM_CHARS));
                    }
                }
            }
            Role::Assistant => {
                let decisions = sentences(text).filter(|sentence| DECISION.are_in(sentence));
                decisions.for_each(|sentence| add(&mut self.decisions, line(sentence, ITEM_CHARS)));
                let answer = line(text, ASKED_CHARS.1);
                if self.exchanges.is_empty() && !self.goal.is_empty() && !answer.is_empty() {
                    self.ask(Asked { number: None, question: "(the goal above)".into(), answer: String::new() });
                }
                if !said.calls && !answer.is_empty() {
                    self.open_items.clear();
                }
                if let Some(asked) = self.exchanges.last_mut().filter(|_| !answer.is_empty()) {
                    asked.answer = answer;
                }
            }
            Role::Tool => {
                let from = match said.call {
                    Some(Called { tool, id, .. }) => format!("{} ({}): ", line(tool, 100), line(id, 100)),
                    None => String::new(),
                };
                if let Some(called) = said.call.filter(|called| !called.about.trim().is_empty()) {
                    self.touch(&called, text);
                }
                let facts = text.lines().map(str::trim).filter(|fact| FACT.are_in(fact)).take(FACTS_A_RESULT);
                facts.for_each(|fact| add(&mut self.tool_facts, format!("{from}{}", line(fact, ITEM_CHARS))));
                for kept in said.artifacts.iter().take(FACTS_A_RESULT) {
                    add(&mut self.tool_facts, format!("{from}kept as {}", line(kept, ITEM_CHARS)));
                }
            }
        }
    }

    fn ask(&mut self, asked: Asked) {
        if self.exchanges.len() >= ITEMS {
            self.exchanges.remove(0);
            self.unlisted += 1;
        }
        self.exchanges.push(asked);
    }

    fn touch(&mut self, called: &Called<'_>, result: &str) {
        let failed = if called.failed { ", which failed" } else { "" };
        let what = format!("{} {}{failed}", line(called.tool, 100), line(called.about, ITEM_CHARS));
        let call = format!("call {}, event {}", line(called.id, 100), called.event);
        self.touched.retain(|touched| touched.what != what);
        if self.touched.len() >= ITEMS {
            self.touched.remove(0);
        }
        let came = called.command.map(|end| outcome(end, result));
        self.touched.push(Touched { what, came, call });
    }

    /// The summary with as much left out as makes its Markdown at most `tokens` long by estimate: first of what tools found and
    /// touched, of questions and of exchanges, the oldest of whichever takes most; then the oldest decisions, then wishes, and
    /// only then constraints: of those that alone would take half of it the beginning is left, and the newest go. Of an earlier
    /// summary by a model two thirds of the room are kept. The goal stays; of one that takes a third of the room its beginning.
    #[must_use]
    pub fn within(mut self, tokens: u32) -> Summary {
        // No item is worth more than this, so too little goes in one round, never too much.
        let size = |item: &String| estimate(item).saturating_add(2);
        if estimate(&self.markdown()) > tokens {
            self.earlier = self.earlier.map(|text| excerpt(&text, tokens / 3 * 2)).filter(|_| tokens >= EARLIER);
            // The task stands above in its own words.
            if estimate(&self.goal) > tokens / 3 && self.goal.chars().count() > ITEM_CHARS {
                self.goal = format!("{} (too long to stand here)", line(&self.goal, ITEM_CHARS));
            }
        }
        // What people asked is worth more than how each answer began.
        for most in SHORTER {
            if estimate(&self.markdown()) > tokens {
                self.exchanges.iter_mut().for_each(|asked| asked.shorten(most));
            }
        }
        loop {
            let mut over = estimate(&self.markdown()).saturating_sub(tokens);
            let mut gone = over > 0 && self.thin_out(&mut over);
            for list in [&mut self.decisions, &mut self.wishes] {
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
                // Where not even that finds room.
                self.unlisted = if over > 0 { 0 } else { self.unlisted };
                return self;
            }
        }
    }

    /// Drops the oldest items of those lists of which each item can be looked up, from whichever takes most, until nothing is
    /// over. Whether any went.
    fn thin_out(&mut self, over: &mut u32) -> bool {
        let size = |text: &str| u64::from(estimate(text)) + 2;
        let mut gone = false;
        while *over > 0 {
            let facts: u64 = self.tool_facts.iter().map(|item| size(item)).sum();
            let touched: u64 = self.touched.iter().map(|item| size(&item.line())).sum();
            let questions: u64 = self.open_items.iter().map(|item| size(item)).sum();
            let exchanges: u64 = self.exchanges.iter().map(|item| size(&item.line())).sum();
            let most = facts.max(touched).max(questions).max(exchanges);
            let dropped = if most == 0 {
                return gone;
            } else if most == questions {
                size(&self.open_items.remove(0))
            } else if most == facts {
                size(&self.tool_facts.remove(0))
            } else if most == touched {
                size(&self.touched.remove(0).line())
            } else {
                self.unlisted += 1;
                size(&self.exchanges.remove(0).line())
            };
            *over = over.saturating_sub(u32::try_from(dropped).unwrap_or(u32::MAX));
            gone = true;
        }
        gone
    }

    /// The summary without the exchanges that stay in view, so that those which do not have the room.
    #[must_use]
    pub fn without(mut self, keeps: &Keeps) -> Summary {
        let first = keeps.first_kept.unwrap_or(Seq(u32::MAX));
        let is_out = |seq: Seq| seq < first || keeps.omitted.iter().any(|(from, to)| (*from..=*to).contains(&seq));
        self.exchanges.retain(|asked| asked.number.is_none_or(is_out));
        self
    }

    /// What was found, a line each, without headings.
    pub(crate) fn items(&self) -> String {
        let lists = [&self.constraints, &self.wishes, &self.decisions, &self.open_items, &self.tool_facts];
        let mut lines = vec![self.goal.clone()];
        lines.extend(lists.into_iter().flatten().cloned());
        lines.extend(self.touched.iter().map(Touched::line).chain(self.exchanges.iter().map(Asked::line)));
        lines.join("\n")
    }

    /// The summary as Markdown. The five headings from the goal to the tool facts are always there.
    pub fn markdown(&self) -> String {
        let mut text = String::from("# Chat Summary\n");
        if let Some(earlier) = &self.earlier {
            // Its own headings are one level down.
            let lines = earlier
                .trim()
                .lines()
                .map(|line| if line.starts_with('#') { format!("##{line}") } else { line.into() });
            section(&mut text, "Earlier Summary", []);
            lines.for_each(|line: String| {
                text.push_str(&line);
                text.push('\n');
            });
        }
        let goal = Some(self.goal.clone()).filter(|goal| !goal.is_empty());
        section(&mut text, "Goal", goal);
        section(&mut text, "Constraints", self.constraints.iter().chain(&self.wishes).cloned());
        section(&mut text, "Decisions", self.decisions.iter().cloned());
        section(&mut text, "Open Items", self.open_items.iter().cloned());
        section(&mut text, "Tool Facts", self.tool_facts.iter().cloned().chain(self.touched.iter().map(Touched::line)));
        if !self.exchanges.is_empty() || self.unlisted > 0 {
            let earlier = match self.unlisted {
                0 => None,
                1 => Some("(1 earlier exchange has no line here)".to_string()),
                more => Some(format!("({more} earlier exchanges have no line here)")),
            };
            section(&mut text, "Exchanges", earlier.into_iter().chain(self.exchanges.iter().map(Asked::line)));
        }
        text
    }
}

impl Touched {
    fn line(&self) -> String {
        let came = self.came.as_ref().map_or(String::new(), |came| format!(" → {came}"));
        format!("{}{came} ({})", self.what, self.call)
    }
}

/// What came of a command, by its result.
fn outcome(end: CommandEnd, result: &str) -> String {
    let code = end.exit_code.map_or_else(|| "killed".into(), |code| format!("exit code {code}"));
    // Notes on the output stand in brackets below it.
    let last = result.lines().rev().map(str::trim).find(|text| !text.is_empty() && !text.starts_with('['));
    last.map_or(code.clone(), |text| format!("{code}: {}", line(text, OUTCOME_CHARS)))
}

fn section(text: &mut String, name: &str, items: impl IntoIterator<Item = String>) {
    text.push_str("\n## ");
    text.push_str(name);
    text.push('\n');
    for item in items {
        text.push_str("- ");
        text.push_str(&item);
        text.push('\n');
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
