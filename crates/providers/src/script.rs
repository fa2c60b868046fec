//! Decision scripts: what a scripted model says, as data.

use mainpath_types::{ModelErrorKind, Part, StopReason, Usage};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::num::NonZeroUsize;
use std::path::Path;

/// What a scripted model says, turn by turn. In TOML:
///
/// ```toml
/// [[turn]]
/// thinking = "First a look at the file."
/// text = "I read the file."
/// calls = [{ tool = "read_text_file", args = { path = "a.txt" } }]
///
/// [[turn]]
/// when = "No such file"
/// final = "There is no such file."
///
/// [[turn]]
/// error = { kind = "overloaded", message = "try again", times = 2 }
/// final = "The file says: hello."
/// usage = { input = 1200, output = 40 }
/// delay_ms = 200
/// ```
///
/// In JSON the same fields stand in `{"turn": [{…}, …]}`. Which turn is played for a request follows from the request
/// alone, so that resuming, rewinding, regenerating and replaying meet the same turns:
/// 1. If something that was said since the last assistant message (by the user, by a tool, by an injection) contains the
///    text of a turn's `when`, that turn is played; the first such turn in the script wins.
/// 2. Otherwise the turns without `when` are played in order: the one whose place is the number of assistant messages
///    in the request, those not counted that answered to a `when`. A rewind therefore goes back in the script, and a
///    second task goes on where the first ended.
/// 3. When there is none left, the answer says so.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The turns. At least one.
    #[serde(rename = "turn", alias = "turns")]
    pub turns: Vec<ScriptTurn>,
}

/// One answer of a scripted model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptTurn {
    /// Which recorded turn this one replaces, from 1: in [`Substitutions`](crate::Substitutions), and only there.
    pub at: Option<NonZeroUsize>,
    /// Play this turn when this text was said since the last assistant message.
    pub when: Option<String>,
    /// Reasoning.
    pub thinking: Option<String>,
    /// Text before the calls.
    pub text: Option<String>,
    /// Calls, in order.
    pub calls: Vec<ScriptCall>,
    /// The final answer; a turn with one has no calls and no other text.
    #[serde(rename = "final")]
    pub final_answer: Option<String>,
    /// Fail first.
    pub error: Option<ScriptFailure>,
    /// How long the answer takes, in milliseconds.
    pub delay_ms: u64,
    /// What it is said to have used; a turn without it reports nothing.
    pub usage: Option<Usage>,
    /// Why it ended, if not what follows from the calls: to play an answer that was cut.
    pub stop: Option<StopReason>,
}

/// One call of a scripted turn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments; a string is sent as it is, so that a script can play a model that writes bad JSON.
    #[serde(default = "no_arguments")]
    pub args: serde_json::Value,
}

fn no_arguments() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

/// A failure before a turn's answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFailure {
    /// What kind.
    pub kind: ModelErrorKind,
    /// The error's line.
    #[serde(default)]
    pub message: String,
    /// How many attempts fail before one succeeds.
    #[serde(default = "once")]
    pub times: u32,
}

fn once() -> u32 {
    1
}

/// A script that cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadScript {
    /// The file cannot be read.
    #[error("cannot read {file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
    /// The text is no script.
    #[error("{file}:{line}: {what}")]
    Syntax {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// A turn makes no sense.
    #[error("{file}: turn {turn}: {what}")]
    Turn {
        /// The file.
        file: String,
        /// The turn, from 1.
        turn: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A turn that replaces none.
    #[error("{file}: turn {turn}: `at` is {at}, and the last recorded turn is {recorded}")]
    BeyondRecording {
        /// The file.
        file: String,
        /// The turn, from 1.
        turn: usize,
        /// Which recorded turn it wants to replace, from 1.
        at: usize,
        /// How many turns the recording has.
        recorded: usize,
    },
}

impl Script {
    /// The script that comes with the program.
    ///
    /// # Errors
    /// Never: a test reads it.
    pub fn bundled() -> Result<Script, BadScript> {
        Script::parse("demo.toml", include_str!("../scripts/demo.toml"))
    }

    /// Reads a script file.
    ///
    /// # Errors
    /// [`BadScript`], with the file's name.
    pub fn read(path: &Path) -> Result<Script, BadScript> {
        read(path, Script::parse)
    }

    /// Reads a script: JSON if the file's name ends in `.json`, else TOML.
    ///
    /// # Errors
    /// [`BadScript`], with the file, and with the line or the turn.
    pub fn parse(file: &str, text: &str) -> Result<Script, BadScript> {
        let script: Script = parse(file, text)?;
        let wrong = |turn, what| BadScript::Turn { file: file.into(), turn, what };
        if script.turns.is_empty() {
            let what = "the script has no [[turn]]".into();
            return Err(BadScript::Syntax { file: file.into(), line: 1, what });
        }
        for (turn, number) in script.turns.iter().zip(1..) {
            if turn.at.is_some() {
                return Err(wrong(number, "`at` is for what replaces a recorded turn; a script's turns come in order"));
            }
            if let Some(what) = turn.what_is_wrong() {
                return Err(wrong(number, what));
            }
        }
        Ok(script)
    }
}

/// The largest script, in bytes.
const LARGEST: u64 = 64 << 20;

/// Reads a file and what it says.
pub(crate) fn read<T>(path: &Path, parse: impl Fn(&str, &str) -> Result<T, BadScript>) -> Result<T, BadScript> {
    let file = path.display().to_string();
    // A pipe would keep whoever reads waiting, and a device never ends.
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return Err(BadScript::Unreadable { file, why: "it is not a file".into() }),
        Ok(meta) if meta.len() > LARGEST => {
            return Err(BadScript::Unreadable { file, why: format!("it has more than {LARGEST} bytes") });
        }
        _ => {}
    }
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&file, &text),
        Err(why) => Err(BadScript::Unreadable { file, why: why.to_string() }),
    }
}

/// What a text says: JSON if the file's name ends in `.json`, else TOML.
pub(crate) fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, BadScript> {
    let syntax = |line, what: &str| {
        let what = crate::words::one_line(what, 200);
        BadScript::Syntax { file: file.into(), line, what }
    };
    let is_json = Path::new(file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    if is_json {
        return serde_json::from_str(text).map_err(|e| syntax(e.line(), &without_place(&e.to_string())));
    }
    toml::from_str(text).map_err(|e| {
        let start = e.span().map_or(0, |span| span.start).min(text.len());
        let before = &text.as_bytes()[..start];
        syntax(1 + before.iter().filter(|b| **b == b'\n').count(), e.message())
    })
}

/// The message of a JSON error without the place at its end, which is reported apart.
fn without_place(message: &str) -> String {
    message.split(" at line ").next().unwrap_or_default().to_owned()
}

impl ScriptTurn {
    /// The place of the recorded turn that this one replaces, from 0.
    pub(crate) fn place(&self) -> Option<usize> {
        self.at.map(|at| at.get() - 1)
    }

    pub(crate) fn what_is_wrong(&self) -> Option<&'static str> {
        let says = self.text.is_some() || self.final_answer.is_some() || !self.calls.is_empty();
        if self.final_answer.is_some() && !self.calls.is_empty() {
            Some("`final` ends the run, so there can be no `calls` beside it")
        } else if self.final_answer.is_some() && self.text.is_some() {
            Some("`final` is the whole text, so there can be no `text` beside it")
        } else if !says && self.error.is_none() && self.stop.is_none() {
            Some("it says nothing; give `text`, `calls`, `final` or `error`")
        } else if self.calls.iter().any(|call| call.tool.is_empty()) {
            Some("a call names no tool")
        } else if self.when.as_deref() == Some("") {
            Some("`when` is empty, so it would always match; leave it out")
        } else {
            None
        }
    }

    /// The answer's parts.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let thinking = self.thinking.iter().map(|text| Part::Thinking { text: text.clone(), signature: None });
        let text = self.text.iter().chain(&self.final_answer).map(|text| Part::text(text.as_str()));
        let calls = self.calls.iter().map(|call| {
            let arguments = match &call.args {
                serde_json::Value::String(text) => text.clone(),
                args => args.to_string(),
            };
            Part::ToolCall { name: call.tool.clone(), arguments, signature: None }
        });
        thinking.chain(text).chain(calls).collect()
    }

    /// Why the answer ended.
    pub(crate) fn stop(&self) -> StopReason {
        self.stop.unwrap_or(if self.calls.is_empty() { StopReason::End } else { StopReason::ToolCalls })
    }
}
