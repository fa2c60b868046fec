//! What a person types while a run goes on.

use crate::exit::Failure;
use crate::runs::follow::Follow;
use crate::ui::prompt::{Said, understand};
use mainpath::runtime::Mail;
use mainpath::skills::{no_such_name, select_named};
use mainpath::spec_of;
use mainpath::trace::RunningCall;
use mainpath::types::{GoalOp, MessageMode};
use std::path::Path;

/// A line that answers no question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// Read this now.
    Steer(String),
    /// Read this after the run.
    Next(String),
    /// End what runs: the call, or else the run.
    Esc,
    /// Begin the conversation anew.
    Clear,
    /// Make room in the context, with a word on what matters.
    Compact(Option<String>),
    /// Keep these words in sight of the agent.
    Pin(String),
    /// Which words there are.
    Help,
    /// A word that lacks what it is to say.
    Bare(String),
    /// No word that is known.
    Unknown(String),
    /// The answer to a question that nobody asks now.
    Late,
    /// Nothing.
    Empty,
}

/// The words, for people.
pub const HELP: [&str; 8] = [
    "/steer TEXT   redirect the run: waits for the running tool, skips the calls after it",
    "/next TEXT    queue it for after this run (same as a line without a command)",
    "/esc          stop the running call, or the run if no call is running",
    "/compact      replace older messages with a summary; /compact TEXT says what it should keep",
    "/pin TEXT     pin a sentence: the agent always sees it, word for word",
    "/clear        stop the run and start the conversation over",
    "/SKILL        load a skill by its name; what follows it is queued",
    "/help         show this list",
];

/// What a line means.
pub fn read(line: &str) -> Typed {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match word {
        "" => Typed::Empty,
        "/steer" | "/next" | "/pin" if rest.is_empty() => Typed::Bare(word.into()),
        "/steer" => Typed::Steer(rest.into()),
        "/next" => Typed::Next(rest.into()),
        "/pin" => Typed::Pin(rest.into()),
        "/esc" => Typed::Esc,
        "/clear" => Typed::Clear,
        "/compact" => Typed::Compact(Some(rest.to_string()).filter(|hint| !hint.is_empty())),
        "/help" | "/?" => Typed::Help,
        // A path is something to say.
        _ if word.starts_with('/') && !word[1..].contains('/') => Typed::Unknown(word.into()),
        _ if understand(line) != Said::Unclear && line.len() < 4 => Typed::Late,
        _ => Typed::Next(line.into()),
    }
}

impl Follow<'_> {
    /// Does what was typed. False: that was nothing but a word to the person who typed it.
    pub async fn typed(&mut self, line: &str) -> Result<bool, Failure> {
        let (mail, told) = match read(line) {
            Typed::Empty => return Ok(false),
            Typed::Steer(text) => {
                let when = match self.asked {
                    Some(_) => "steering: read now; the call in question is skipped",
                    None => "steering: applied when the current tool finishes",
                };
                (said(MessageMode::Steer, text), when.to_string())
            }
            Typed::Next(text) => {
                (said(MessageMode::FollowUp, text), "queued; use /steer TEXT to redirect the run now".into())
            }
            Typed::Pin(text) => (Mail::Goals { ops: vec![GoalOp::Pin { text }] }, "pinned".to_string()),
            Typed::Compact(hint) => (Mail::Compact { hint }, "summarising after this turn".into()),
            Typed::Clear => (Mail::Clear, "stopping the run, then the conversation starts over".into()),
            Typed::Esc => {
                let (log, state, bodies) = self.app.logs.read(&self.trace).await?;
                let running = self.app.logs.of(&self.trace, &log, &state, &bodies).running_calls();
                // Reads may run together.
                for RunningCall { call, .. } in running.iter().skip(1) {
                    self.app
                        .host
                        .runtime()
                        .send(&self.app.logs.scope, &self.trace, &Mail::Interrupt { call: *call })
                        .await?;
                }
                let names: Vec<String> =
                    running.iter().map(|one| format!("call {} ({})", one.call, one.tool)).collect();
                match running.first() {
                    Some(first) => (Mail::Interrupt { call: first.call }, format!("stopping {}", names.join(", "))),
                    None => (Mail::Stop, "no call is running; stopping the run at the next checkpoint".into()),
                }
            }
            Typed::Help => {
                HELP.iter().for_each(|line| self.say(line));
                return Ok(false);
            }
            Typed::Bare(word) => {
                self.say(&format!("{word} needs a text: {word} TEXT"));
                return Ok(false);
            }
            Typed::Unknown(word) => {
                let Some((skill, rest)) = self.skill(line).await? else {
                    return self.unknown(line).await;
                };
                let scope = &self.app.logs.scope;
                self.app.host.runtime().send(scope, &self.trace, &skill).await?;
                if !line.trim().contains(char::is_whitespace) {
                    self.say(&format!("the skill {word} is loaded for the next turn"));
                    return Ok(true);
                }
                (said(MessageMode::FollowUp, rest), format!("the skill {word} is loaded; the rest is queued"))
            }
            Typed::Late => {
                self.say("no question is open; ignored (/help lists the commands)");
                return Ok(false);
            }
        };
        self.app.host.runtime().send(&self.app.logs.scope, &self.trace, &mail).await?;
        self.say(&told);
        Ok(true)
    }
}

impl Follow<'_> {
    /// The skill that a line begins with, and what it says besides.
    async fn skill(&self, line: &str) -> Result<Option<(Mail, String)>, Failure> {
        let (log, ..) = self.app.logs.read(&self.trace).await?;
        let Some(spec) = spec_of(&log) else { return Ok(None) };
        Ok(select_named(line, spec, self.app.host.skills())?)
    }

    /// A line that begins with a slash and no name of a skill: told, or queued if it is something to say.
    async fn unknown(&mut self, line: &str) -> Result<bool, Failure> {
        let (log, ..) = self.app.logs.read(&self.trace).await?;
        let spec = spec_of(&log);
        let folder = spec.map(|spec| spec.source().to_string()).unwrap_or_default();
        let shelf = self.app.host.skills().filter(|_| spec.is_none_or(|spec| !spec.skills.off));
        if let Some(why) = no_such_name(line, Path::new(&folder), shelf) {
            self.say(&format!("{why}; /help lists the commands"));
            return Ok(false);
        }
        let mail = said(MessageMode::FollowUp, line.trim().into());
        self.app.host.runtime().send(&self.app.logs.scope, &self.trace, &mail).await?;
        self.say("queued; use /steer TEXT to redirect the run now");
        Ok(true)
    }
}

fn said(mode: MessageMode, text: String) -> Mail {
    Mail::say(mode, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_word_a_late_answer_says_nothing_and_all_else_is_for_the_agent() {
        let typed = [
            "/steer  look there ",
            "/steer",
            "/next then this",
            "/esc",
            "/clear",
            "/compact",
            "/compact keep the names",
            "/help",
            "/stear x",
            "y",
            "n no",
            "",
            "also run the tests",
            "/etc/hosts is wrong",
        ];
        let expected = [
            Typed::Steer("look there".into()),
            Typed::Bare("/steer".into()),
            Typed::Next("then this".into()),
            Typed::Esc,
            Typed::Clear,
            Typed::Compact(None),
            Typed::Compact(Some("keep the names".into())),
            Typed::Help,
            Typed::Unknown("/stear".into()),
            Typed::Late,
            Typed::Next("n no".into()),
            Typed::Empty,
            Typed::Next("also run the tests".into()),
            Typed::Next("/etc/hosts is wrong".into()),
        ];
        assert_eq!(typed.map(read), expected);
    }
}
