//! The agent's own question to a person: how it is shown while a run is followed, and what is made of the answer.

use crate::exit::{Exit, Failure};
use crate::runs::follow::Follow;
use crate::traces::questions::asked;
use crate::ui::term::screen;
use crate::ui::text::plain;
use mainpath::runtime::{Mail, Waiting};
use mainpath::tools::AskHumanArgs;
use mainpath::types::CallId;

impl Follow<'_> {
    /// A trace that waits for an answer: ask, or leave it.
    pub fn parked_question(&mut self, waiting: &[Waiting]) -> Option<Exit> {
        let asks = |one: &Waiting| match one {
            Waiting::Answer(call) => Some(*call),
            Waiting::Approval(_) | Waiting::Child(_) | Waiting::Timer => None,
        };
        let open: Vec<CallId> = waiting.iter().filter_map(asks).filter(|call| self.decided != Some(*call)).collect();
        let call = *open.first()?;
        if !self.attended {
            for call in open {
                let (gist, lines) = self.question_of(call);
                let trace = self.trace.clone();
                self.say(&format!(
                    "call {call} asks ({gist}): mainpath answer {trace} {call} TEXT && mainpath resume {trace}"
                ));
                lines.iter().for_each(|line| self.printer.rail(line));
            }
            return Some(Exit::ApprovalNeeded);
        }
        if self.asked != Some(call) {
            (self.asked, self.question) = (Some(call), Some(call));
            screen::ring();
            let (_, lines) = self.question_of(call);
            self.printer.line("?", "the agent asks:");
            lines.iter().for_each(|line| self.printer.rail(line));
            self.ask_for_answer("");
        }
        None
    }

    /// The question of a call in a line, and all of it.
    fn question_of(&self, call: CallId) -> (String, Vec<String>) {
        let arguments = self.printer.call(call).arguments;
        match AskHumanArgs::read(&arguments) {
            Some(args) => asked(&args),
            None => (plain(&arguments), vec![plain(&arguments)]),
        }
    }

    /// Asks for the answer.
    pub fn ask_for_answer(&self, before: &str) {
        let has_choices = self.question.is_some_and(|call| {
            AskHumanArgs::read(&self.printer.call(call).arguments).is_some_and(|args| !args.choices.is_empty())
        });
        let how = if has_choices { "a number or words" } else { "your answer" };
        self.ask_with(&format!("{before}  {how} (Ctrl-D: later): "), "");
    }

    /// Takes the answer that was typed; without one the question stays open.
    pub async fn answer_question(&mut self, call: CallId, line: Option<String>) -> Result<Option<Exit>, Failure> {
        let Some(line) = line else {
            let trace = &self.trace;
            self.say(&format!(
                "left open; answer later with mainpath answer {trace} {call} TEXT && mainpath resume {trace}"
            ));
            return Ok(Some(Exit::ApprovalNeeded));
        };
        let text = line.trim();
        if text.is_empty() {
            self.ask_for_answer("");
            return Ok(None);
        }
        self.asked_no_more();
        self.decided = Some(call);
        let mail = Mail::Answer { call, text: text.into(), via: Some("terminal".into()) };
        self.runtime.send(&self.app.logs.scope, &self.trace, &mail).await?;
        Ok(None)
    }
}
