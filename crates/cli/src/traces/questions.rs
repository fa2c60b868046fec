//! Questions that wait for a person's answer, in words.

use crate::traces::asked::call_in_words;
use crate::ui::decision_commands::and_resume;
use crate::ui::text::{one_line, short};
use crate::ui::told::unsent;
use mainpath::tools::AskHumanArgs;
use mainpath::trace::{QuestionStanding, UnansweredQuestion};
use mainpath::types::{TraceId, format_time};

/// The most of a question that is shown in a line.
const GIST: usize = 200;

/// Returns what a question asks, if its tool takes the arguments of `ask_human`.
pub fn read(question: &UnansweredQuestion) -> Option<AskHumanArgs> {
    question.arguments.as_deref().and_then(AskHumanArgs::read)
}

/// Returns a question in a line. Of a tool of somebody's own: its arguments.
pub fn gist(question: &UnansweredQuestion) -> String {
    match read(question) {
        Some(args) => short(&args.question, GIST),
        None => call_in_words(question.tool.as_deref(), question.arguments.as_deref()),
    }
}

/// Returns all of a question: its words, numbered choices and files. Of a tool of somebody's own: its arguments.
pub fn lines(question: &UnansweredQuestion) -> Vec<String> {
    match read(question) {
        // A label with line breaks in it has several lines, each shown as one of the question.
        Some(args) => args.lines().iter().flat_map(|line| line.lines()).map(one_line).collect(),
        None => vec![one_line(question.arguments.as_deref().unwrap_or_default())],
    }
}

/// Returns the effect of no answer. `when`: until when one counts.
pub fn unanswered(args: Option<&AskHumanArgs>, when: &str) -> String {
    match args.and_then(AskHumanArgs::by_default) {
        Some(default) => format!("without an answer {when} this counts: {}", short(default, GIST)),
        None => format!("without an answer {when} the agent goes on without one"),
    }
}

/// Returns an answer in a few words: with the choice that it picks by its number.
pub fn answered(question: &UnansweredQuestion, text: &str) -> String {
    let args = read(question);
    let chosen = args.as_ref().and_then(|args| args.chosen(text)).map(|choice| choice.label.trim());
    match chosen.filter(|label| !label.eq_ignore_ascii_case(text)) {
        Some(label) => format!("{}: {}", short(text, 20), short(label, 60)),
        None => short(text, 60),
    }
}

/// Returns a line about a question: what is asked, and what to do.
pub fn line(question: &UnansweredQuestion, trace: &TraceId) -> String {
    let (call, gist, root) = (question.call, gist(question), trace.root());
    match (question.standing, question.due) {
        (QuestionStanding::Answered, _) => {
            format!("call {call} ({gist}) has been answered; continue with: mainpath resume {root}")
        }
        (QuestionStanding::Expired, Some(due)) => {
            format!("call {call} ({gist}) expired at {}; continue with: mainpath resume {root}", format_time(due))
        }
        (QuestionStanding::Open | QuestionStanding::Expired, _) => {
            format!("call {call} asks ({gist}): mainpath answer {trace} {call} TEXT{}", and_resume(trace))
        }
    }
}

/// Returns whom a question is for, when it expires, and the effect of no answer; empty if nothing is known of these.
pub fn notes(question: &UnansweredQuestion) -> Vec<String> {
    let due = question.due.filter(|_| question.standing == QuestionStanding::Open);
    let due = due.map(|due| unanswered(read(question).as_ref(), &format!("by {}", format_time(due))));
    let sent = question.to.as_deref().map(|to| match question.is_sent {
        false => format!("to be sent to {to}"),
        true => question.delivery.as_ref().and_then(unsent).unwrap_or_else(|| format!("for {to}")),
    });
    sent.into_iter().chain(due).collect()
}
