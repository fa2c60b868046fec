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

/// A question to a person. The fields say little: every request has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskHumanArgs {
    /// With all that is needed to answer it.
    pub question: String,
    /// Answers to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// Files of the workspace to look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u32>,
    /// The answer if nobody gives one in that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// A contact's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// An answer to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    #[expect(missing_docs, reason = "every request would have it")]
    pub label: String,
    #[expect(missing_docs, reason = "every request would have it")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The longest time a question waits, in seconds: a year.
const LONGEST: u32 = 31_536_000;
/// The most choices, and the most files.
const MOST: usize = 20;
/// The longest question, in characters.
const LONGEST_TEXT: usize = 8_000;
/// The longest of its other texts.
const LONGEST_OTHER: usize = 2_000;

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

    /// The answer if nobody gives one in time: a choice by its words.
    pub fn by_default(&self) -> Option<&str> {
        let default = self.default.as_deref()?;
        Some(self.chosen(default).map_or(default, |choice| choice.label.trim()))
    }

    /// Why an answer is none: it is a whole number, but not that of a choice. `None`: it is one, or the question has no choices.
    pub fn no_choice(&self, answer: &str) -> Option<String> {
        let answer = answer.trim();
        let digits = answer.trim_end_matches(['.', ')']);
        let digits = digits.strip_prefix(['-', '+']).unwrap_or(digits);
        let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        if self.choices.is_empty() || !is_number || self.chosen(answer).is_some() {
            return None;
        }
        let range = match self.choices.len() {
            1 => "the only choice is 1".into(),
            last => format!("the choices are 1 to {last}"),
        };
        // However many digits somebody sends.
        let shown: String = answer.chars().take(20).collect();
        Some(format!("{shown} is the number of no choice: {range}; or answer in words"))
    }

    /// The question as people are shown it: its words, numbered choices, files.
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
        let mut text =
            "Asks a person and waits for the answer. Only for what you cannot find out or decide yourself.".to_string();
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
            default: args.by_default().map(Into::into),
            to: args.to.clone().or_else(|| self.usual.clone()),
        };
        Touches { paths, asking: Some(asking), ..Touches::default() }
    }

    fn check(&self, args: &AskHumanArgs) -> Result<(), Problem> {
        let wrong = |text: String| Err(Problem::new("invalid_arguments", text));
        if args.question.trim().is_empty() {
            return wrong("The question is empty.".into());
        }
        if args.choices.len() > MOST || args.files.len() > MOST {
            return wrong(format!("At most {MOST} choices and {MOST} files."));
        }
        let texts = args.choices.iter().flat_map(|choice| [Some(&choice.label), choice.description.as_ref()]);
        let mut texts = texts.chain([args.default.as_ref()]).flatten();
        let is_long = |text: &str, most: usize| text.chars().nth(most).is_some();
        if is_long(&args.question, LONGEST_TEXT) || texts.any(|text| is_long(text, LONGEST_OTHER)) {
            return wrong(format!(
                "The question has more than {LONGEST_TEXT} characters, or a choice or the default more than {LONGEST_OTHER}."
            ));
        }
        if args.choices.iter().any(|choice| choice.label.trim().is_empty()) {
            return wrong("A choice has no label.".into());
        }
        if args.expires_in.is_some_and(|seconds| !(1..=LONGEST).contains(&seconds)) {
            return wrong(format!("expires_in is 1 to {LONGEST} seconds."));
        }
        if args.default.is_some() && args.expires_in.is_none() {
            return wrong("A default needs expires_in: it counts when nobody has answered by then.".into());
        }
        if let Some(why) = args.default.as_deref().and_then(|default| args.no_choice(default)) {
            return wrong(format!("The default is no answer: {why}."));
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
    fn a_number_that_picks_no_choice_is_no_answer() {
        let args = colours();
        let why = |number: &str| {
            Some(format!("{number} is the number of no choice: the choices are 1 to 3; or answer in words"))
        };
        for number in ["0", "4", "-1", "+9", "4.", "7)"] {
            assert_eq!(args.no_choice(&format!(" {number}\n")), why(number));
        }
        assert_eq!(args.no_choice(&"9".repeat(5_000)), why(&"9".repeat(20)));
        for answer in ["1", "+1", "3.", "2", "1.5", "4 of them", "-", ".", "blue", ""] {
            assert_eq!(args.no_choice(answer), None, "{answer:?}");
        }
        let labelled = |label: &str| AskHumanArgs {
            choices: vec![Choice { label: label.into(), description: None }],
            ..AskHumanArgs::default()
        };
        assert_eq!(labelled("40").no_choice("40"), None, "a label may be a number");
        let only = "2 is the number of no choice: the only choice is 1; or answer in words";
        assert_eq!(labelled("40").no_choice("2").as_deref(), Some(only));
        assert_eq!(AskHumanArgs::default().no_choice("7"), None, "without choices any number is an answer");
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
        let beyond = AskHumanArgs { default: Some("9".into()), expires_in: Some(60), ..colours() };
        let said =
            "The default is no answer: 9 is the number of no choice: the choices are 1 to 3; or answer in words.";
        assert_eq!(why(beyond), said);
        assert_eq!(why(AskHumanArgs { question: " \n".into(), ..colours() }), "The question is empty.");
        assert_eq!(why(AskHumanArgs { expires_in: Some(0), ..colours() }), "expires_in is 1 to 31536000 seconds.");
        let long = Some("x".repeat(2_001));
        let said = "The question has more than 8000 characters, or a choice or the default more than 2000.";
        assert_eq!(why(AskHumanArgs { default: long, expires_in: Some(9), ..colours() }), said);
        let asking = |args: AskHumanArgs| tool.touches(&args).asking.unwrap();
        assert_eq!(asking(colours()), Asking { expires_ms: None, default: None, to: Some("mo".into()) });
        let timed =
            AskHumanArgs { to: Some("lan".into()), expires_in: Some(60), default: Some("Red".into()), ..colours() };
        let red = Asking { expires_ms: Some(60_000), default: Some("Red".into()), to: Some("lan".into()) };
        assert_eq!(asking(timed.clone()), red);
        assert_eq!(asking(AskHumanArgs { default: Some("1".into()), ..timed }), red, "a number is a choice");
    }
}
