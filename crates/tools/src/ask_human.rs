//! `ask_human`: a question to a person. Nothing runs for it: the trace waits until somebody answers, also over restarts.

use crate::{Fut, Problem, Tool, ToolContext, ToolDoc, Touched, Touches};
use mainpath_types::{Asking, EffectClass, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Asks a person.
#[derive(Clone, Debug, Default)]
pub struct AskHuman {
    contacts: BTreeSet<String>,
    usual: Option<String>,
}

/// A question to a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskHumanArgs {
    /// The question, with all that is needed to answer it.
    #[schemars(length(min = 1, max = 8000))]
    pub question: String,
    /// Answers to choose from, if there are such; any other answer is possible too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub choices: Vec<Choice>,
    /// Files of the workspace that the person should look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub files: Vec<String>,
    /// After so many seconds the question expires: then the default is the answer, or there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 31_536_000))]
    pub expires_in: Option<u32>,
    /// The answer that counts if nobody answers in time. Only with expires_in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub default: Option<String>,
    /// The contact to ask, by name; without it the person who follows the run, or the usual contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub to: Option<String>,
}

/// An answer to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The answer, in a few words.
    #[schemars(length(min = 1, max = 200))]
    pub label: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    pub description: Option<String>,
}

impl AskHuman {
    /// The tool's name.
    pub const TOOL: &'static str = "ask_human";

    /// With these contacts, of whom the usual one is asked where a question names nobody.
    pub fn new(contacts: impl IntoIterator<Item = String>, usual: Option<String>) -> AskHuman {
        AskHuman { contacts: contacts.into_iter().collect(), usual }
    }
}

impl AskHumanArgs {
    /// The question of a call's arguments. `None` where they are none, as after an erasure.
    pub fn read(arguments: &str) -> Option<AskHumanArgs> {
        serde_json::from_str(arguments).ok()
    }

    /// The choice that an answer picks: by its number from 1, or by its words in any case. `None`: the answer is words of its own.
    pub fn chosen(&self, answer: &str) -> Option<&Choice> {
        let answer = answer.trim();
        let by_words = self.choices.iter().find(|choice| choice.label.trim().to_lowercase() == answer.to_lowercase());
        let number = || answer.trim_end_matches(['.', ')']).parse::<usize>().ok()?.checked_sub(1);
        by_words.or_else(|| self.choices.get(number()?))
    }

    /// The question as people are shown it: its words, numbered choices, files, and what happens if nobody answers.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.question.trim().lines().map(String::from).collect();
        lines.extend((1..).zip(&self.choices).map(|(number, choice)| match &choice.description {
            Some(description) => format!("  {number}. {} ({})", choice.label.trim(), description.trim()),
            None => format!("  {number}. {}", choice.label.trim()),
        }));
        lines.extend(self.files.iter().map(|file| format!("  file: {file}")));
        lines
    }
}

impl Tool for AskHuman {
    type Args = AskHumanArgs;
    const NAME: &'static str = AskHuman::TOOL;

    fn describe(&self) -> ToolDoc {
        let mut text = "Asks a person and waits for the answer, for days if need be. Use it when only a person can decide or knows, not for \
                        what you can find out yourself."
            .to_string();
        if !self.contacts.is_empty() {
            let names: Vec<&str> = self.contacts.iter().map(String::as_str).collect();
            text += &format!(" Contacts: {}.", names.join(", "));
        }
        ToolDoc::new(text, EffectClass::AskPerson)
    }

    fn touches(&self, args: &AskHumanArgs) -> Touches {
        let paths = args.files.iter().map(|path| Touched { path: path.clone(), write: false }).collect();
        let asking = Asking {
            expires_ms: args.expires_in.map(|seconds| u64::from(seconds) * 1_000),
            default: args.default.clone(),
            to: args.to.clone().or_else(|| self.usual.clone()),
        };
        Touches { paths, asking: Some(asking), ..Touches::default() }
    }

    fn check(&self, args: &AskHumanArgs) -> Result<(), Problem> {
        let wrong = |text: String| Err(Problem::new("invalid_arguments", text));
        if args.question.trim().is_empty() {
            return wrong("The question is empty.".into());
        }
        if args.default.is_some() && args.expires_in.is_none() {
            return wrong("A default needs expires_in: it counts when nobody has answered by then.".into());
        }
        match &args.to {
            Some(to) if !self.contacts.contains(to) => {
                let names: Vec<&str> = self.contacts.iter().map(String::as_str).collect();
                let known = if names.is_empty() {
                    "There are none here; leave `to` out.".into()
                } else {
                    format!("The contacts are: {}.", names.join(", "))
                };
                wrong(format!("There is no contact {to:?}. {known}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: AskHumanArgs) -> Fut<'a, ToolOutput> {
        // The trace waits for the answer by itself.
        Box::pin(async { ToolOutput::failed("internal", "A person is asked, not this program.") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colours() -> AskHumanArgs {
        let choice = |label: &str| Choice { label: label.into(), description: None };
        AskHumanArgs {
            question: "Which colour?".into(),
            choices: vec![choice("Red"), choice("2"), choice("light blue")],
            ..AskHumanArgs::default()
        }
    }

    #[test]
    fn a_choice_is_picked_by_its_number_or_its_words() {
        let args = colours();
        let picked = |answer: &str| args.chosen(answer).map(|choice| choice.label.as_str());
        assert_eq!(picked("1"), Some("Red"));
        assert_eq!(picked(" 3. "), Some("light blue"));
        assert_eq!(picked("LIGHT blue\n"), Some("light blue"));
        // Words come before numbers.
        assert_eq!(picked("2"), Some("2"));
        for other in ["0", "4", "-1", "1.5", "blue", "", "99999999999999999999999"] {
            assert_eq!(picked(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_question_names_a_contact_that_there_is_and_a_default_only_with_a_time() {
        let tool = AskHuman::new(["lan".to_string(), "mo".to_string()], Some("mo".into()));
        let why = |args: AskHumanArgs| tool.check(&args).unwrap_err().text;
        assert_eq!(tool.check(&colours()), Ok(()));
        assert_eq!(
            why(AskHumanArgs { to: Some("eve".into()), ..colours() }),
            "There is no contact \"eve\". The contacts are: lan, mo."
        );
        assert_eq!(
            why(AskHumanArgs { default: Some("1".into()), ..colours() }),
            "A default needs expires_in: it counts when nobody has answered by then."
        );
        assert_eq!(why(AskHumanArgs { question: " \n".into(), ..colours() }), "The question is empty.");
        let asking = |args: AskHumanArgs| tool.touches(&args).asking.unwrap();
        assert_eq!(asking(colours()), Asking { expires_ms: None, default: None, to: Some("mo".into()) });
        let timed =
            AskHumanArgs { to: Some("lan".into()), expires_in: Some(60), default: Some("Red".into()), ..colours() };
        assert_eq!(
            asking(timed),
            Asking { expires_ms: Some(60_000), default: Some("Red".into()), to: Some("lan".into()) }
        );
    }
}
