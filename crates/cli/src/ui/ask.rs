//! The agent's own question to a person: how it is shown while a run is followed, and what is made of the answer.

use crate::exit::{Exit, Failure};
use crate::runs::follow::Follow;
use crate::traces::questions::asked;
use crate::traces::wanted::{CallAt, Wanted};
use crate::ui::print::Made;
use crate::ui::text::plain;
use mainpath::runtime::Mail;
use mainpath::tools::AskHumanArgs;

impl Follow<'_> {
    /// Says what is asked where nobody can answer here.
    pub(super) fn leave_question(&mut self, wanted: &Wanted) {
        let (gist, lines) = question_of(&wanted.made);
        let CallAt { trace, call } = &wanted.at;
        let who = self.child_of(wanted).map(|child| format!(" of agent {child}")).unwrap_or_default();
        let root = self.trace.clone();
        self.say(&format!(
            "call {call}{who} asks ({gist}): mainpath answer {trace} {call} TEXT && mainpath resume {root}"
        ));
        lines.iter().for_each(|line| self.printer.rail(line));
    }

    /// Shows a question and asks for the answer.
    pub(super) fn show_question(&mut self, wanted: &Wanted) {
        let (_, lines) = question_of(&wanted.made);
        match self.child_of(wanted) {
            Some(child) => self.printer.line("?", &format!("agent {child} asks:")),
            None => self.printer.line("?", "the agent asks:"),
        }
        lines.iter().for_each(|line| self.printer.rail(line));
        self.ask_for_answer(&wanted.made);
    }

    /// Asks for the answer.
    pub(super) fn ask_for_answer(&self, made: &Made) {
        let has_choices = AskHumanArgs::read(&made.arguments).is_some_and(|args| !args.choices.is_empty());
        let how = if has_choices { "a number or words" } else { "your answer" };
        self.ask_with(&format!("  {how} (Ctrl-D: later): "), "");
    }

    /// Takes the answer that was typed; without one the question stays open.
    pub(super) async fn answer_question(
        &mut self,
        wanted: &Wanted,
        line: Option<String>,
    ) -> Result<Option<Exit>, Failure> {
        let CallAt { trace, call } = wanted.at.clone();
        let Some(line) = line else {
            let root = self.trace.clone();
            self.say(&format!(
                "left open; answer later with mainpath answer {trace} {call} TEXT && mainpath resume {root}"
            ));
            return Ok(Some(Exit::ApprovalNeeded));
        };
        let text = line.trim();
        if text.is_empty() {
            self.ask_for_answer(&wanted.made);
            return Ok(None);
        }
        self.asked_no_more();
        self.decided.insert(wanted.at.clone());
        let mail = Mail::Answer { call, text: text.into(), via: Some("terminal".into()) };
        self.runtime.send(&self.app.logs.scope, &trace, &mail).await?;
        Ok(None)
    }
}

/// The question of a call in a line, and all of it.
fn question_of(made: &Made) -> (String, Vec<String>) {
    match AskHumanArgs::read(&made.arguments) {
        Some(args) => asked(&args),
        None => (plain(&made.arguments), vec![plain(&made.arguments)]),
    }
}
