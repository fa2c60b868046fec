//! The agent's own question to a person: how it is shown while a run is followed, and what is made of the answer.

use crate::exit::{Exit, Failure};
use crate::runs::follow::Follow;
use crate::traces::questions::{gist, lines, read, unanswered};
use crate::traces::wanted::CallAt;
use crate::ui::decision_commands::and_resume;
use crate::ui::say::tell;
use crate::ui::text::span;
use mainpath::runtime::Mail;
use mainpath::trace::UnansweredQuestion;

/// What a question with choices takes besides.
const CHOICE: &str = "  a number   pick that choice; its words pick it too";
/// What every question takes.
const HELP: &str = "  words      an answer of your own
  l          answer later with mainpath answer; Ctrl-D does the same
  /steer …   send the agent a message now
";

/// They stand behind so many columns.
const HANG: usize = 13;

impl Follow<'_> {
    /// Says what is asked where nobody can answer here.
    pub(super) fn leave_question(&mut self, at: &CallAt, question: &UnansweredQuestion) {
        let (gist, note) = (gist(question), time_of(question));
        let CallAt { trace, call } = at;
        let who = self.child_of(at).map(|child| format!(" of agent {child}")).unwrap_or_default();
        let then = and_resume(&self.trace);
        self.say(&format!("call {call}{who} asks ({gist}): mainpath answer {trace} {call} TEXT{then}"));
        lines(question).iter().for_each(|line| self.printer.rail(line));
        note.iter().for_each(|line| self.printer.line("·", line));
    }

    /// Shows a question and asks for the answer.
    pub(super) fn show_question(&mut self, at: &CallAt, question: &UnansweredQuestion) {
        match self.child_of(at) {
            Some(child) => self.printer.line("?", &format!("agent {child} asks:")),
            None => self.printer.line("?", "the agent asks:"),
        }
        lines(question).iter().for_each(|line| self.printer.rail(line));
        time_of(question).iter().for_each(|line| eprintln!("  {line}"));
        self.ask_for_answer("", question);
    }

    /// Asks for the answer. `before`: what is wrong with the one that was typed.
    pub(super) fn ask_for_answer(&self, before: &str, question: &UnansweredQuestion) {
        let has_choices = read(question).is_some_and(|args| !args.choices.is_empty());
        let how = if has_choices { "a number or words" } else { "your answer" };
        self.ask_with(&format!("{before}  {how} ([l]ater, [?]): "), "");
    }

    /// Takes the answer that was typed; without one the question stays open.
    pub(super) async fn answer_question(
        &mut self,
        at: &CallAt,
        question: &UnansweredQuestion,
        line: Option<String>,
    ) -> Result<Option<Exit>, Failure> {
        let CallAt { trace, call } = at.clone();
        let args = read(question);
        let line = line.as_deref().map(str::trim);
        let picks = |text: &str| args.as_ref().is_some_and(|args| args.chosen(text).is_some());
        // Whole words such as "later" may be an answer.
        let is = |letter: &str| line.is_some_and(|text| text.eq_ignore_ascii_case(letter) && !picks(text));
        let Some(text) = line.filter(|_| !is("l")) else {
            let then = and_resume(&self.trace);
            self.say(&format!("left open; answer later with mainpath answer {trace} {call} TEXT{then}"));
            return Ok(Some(Exit::ApprovalNeeded));
        };
        if is("?") {
            let choice = args.as_ref().filter(|args| !args.choices.is_empty()).map(|_| CHOICE);
            choice.into_iter().chain(HELP.lines()).for_each(|line| tell(line, HANG));
            self.ask_for_answer("", question);
            return Ok(None);
        }
        if text.is_empty() {
            self.ask_for_answer("", question);
            return Ok(None);
        }
        if let Some(why) = args.as_ref().and_then(|args| args.no_choice(text)) {
            self.ask_for_answer(&format!("  {why};"), question);
            return Ok(None);
        }
        self.asked_no_more();
        self.decided.insert(at.clone());
        let mail = Mail::Answer { call, text: text.into(), via: Some("terminal".into()) };
        self.app.host.runtime().send(&self.app.logs.scope, &trace, &mail).await?;
        Ok(None)
    }
}

/// How long a question waits, and the effect of no answer, unless it waits for ever.
fn time_of(question: &UnansweredQuestion) -> Option<String> {
    let args = read(question)?;
    let waits = span(u64::from(args.expires_in?) * 1_000);
    Some(unanswered(Some(&args), &format!("within {waits} of being asked")))
}
