//! The folder of a test. People read and edit it, and it may come from anybody: nothing in it is followed out of it.
//!
//! ```text
//! test.toml          the task, and what is expected
//! agent.json         the agent as it was, but for its instructions
//! instructions.md    what it was told
//! recording.jsonl    a step in each line: what was said, or an answer with its calls and their results
//! rules/NAME.toml    rules of the machine (organisation, organisation-2) and the person that held then
//! texts/N.txt        long texts of the recording
//! ```

use super::file::{Expectations, ExpectedAnswer, FORMAT, TestFile};
use super::placing::{FILE, Placing, map_texts};
use crate::Error;
use crate::recorded::RecordedStep;
use mainpath_store::{create_private, open_regular, put_private};
use mainpath_types::{RuleText, Spec};
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// The largest file of a test, in bytes.
const LARGEST: u64 = 32 << 20;
/// A longer text of the recording has a file of its own, in bytes.
const LONG: usize = 2_000;
/// How what stands for such a text ends.
const FILE_END: &str = "}}";
/// The files of rules that a test may have, in the order in which they hold.
pub(super) const RULES: [&str; 3] = ["rules/organisation.toml", "rules/organisation-2.toml", "rules/person.toml"];

/// Everything of a test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TestParts {
    pub file: TestFile,
    pub spec: Spec,
    pub recording: Vec<RecordedStep>,
    pub rules: Vec<RuleText>,
}

/// Reads a test. Errors: the file, the line, and what is wrong.
pub(super) fn read(folder: &Path, placing: &Placing) -> Result<TestParts, Error> {
    let mut file = read_file(folder)?;
    file.task = placing.put_in(&file.task);
    map_expected(&mut file.expect, &|text| placing.put_in(text));
    let mut spec = read_agent(folder, placing)?;
    spec.instructions = placing.put_in(&text(folder, "instructions.md")?);
    let mut recording = Vec::new();
    for (line, number) in text(folder, "recording.jsonl")?.lines().zip(1..) {
        if line.trim().is_empty() {
            continue;
        }
        let mut step: Value = json(folder, "recording.jsonl", line, number)?;
        let mut problem = None;
        map_texts(&mut step, &mut |part| {
            let of_file = part.strip_prefix(FILE).and_then(|rest| rest.strip_suffix(FILE_END));
            let whole = of_file.map(|name| long_text(folder, name)).transpose().unwrap_or_else(|error| {
                problem.get_or_insert(error);
                None
            });
            placing.put_in(whole.as_deref().unwrap_or(part))
        });
        if let Some(problem) = problem {
            return Err(problem);
        }
        recording.push(typed(folder, "recording.jsonl", step, number)?);
    }
    let mut rules = Vec::new();
    for name in RULES {
        if folder.join(name).symlink_metadata().is_ok() {
            rules.push(RuleText { text: text(folder, name)?, name: name.into() });
        }
    }
    Ok(TestParts { file, spec, recording, rules })
}

/// Changes the texts that are expected of a run.
fn map_expected(expect: &mut Expectations, change: &dyn Fn(&str) -> String) {
    for value in expect.calls.iter_mut().chain(&mut expect.never).flat_map(|call| call.args.values_mut()) {
        map_texts(value, &mut |text| change(text));
    }
    if let Some(answer) = &mut expect.answer {
        let texts = [&mut answer.is, &mut answer.contains];
        texts.into_iter().flatten().for_each(|text| *text = change(text));
    }
}

/// Reads `agent.json` alone: the agent without its instructions.
pub(super) fn read_agent(folder: &Path, placing: &Placing) -> Result<Spec, Error> {
    let agent = text(folder, "agent.json")?;
    let mut spec: Value = json(folder, "agent.json", &agent, 1)?;
    map_texts(&mut spec, &mut |text| placing.put_in(text));
    serde_json::from_value(spec).map_err(|error| {
        // The same is wrong with the text as it was written, and there it has a line.
        let line = serde_json::from_str::<Spec>(&agent).err().map_or(1, |placed| placed.line().max(1));
        Error::failed(format!("{}:{line}: {error}", folder.join("agent.json").display()))
    })
}

/// Reads `test.toml` alone.
pub(super) fn read_file(folder: &Path) -> Result<TestFile, Error> {
    let name = folder.join("test.toml");
    let text = text(folder, "test.toml")?;
    let file: TestFile = toml::from_str(&text).map_err(|error| toml_problem(&name, &text, &error))?;
    for (key, is_there) in [("max_cost", file.expect.max_cost.is_some()), ("max_time", file.expect.max_time.is_some())]
    {
        if is_there {
            let problem = format!("{}: {key} is for suites (mainpath eval): a play costs nothing", name.display());
            return Err(Error::failed(problem));
        }
    }
    if file.format != FORMAT {
        let (has, is) = (file.format, name.display());
        return Err(Error::failed(format!("{is}: it has the format {has}, and this Mainpath reads {FORMAT}")));
    }
    if let Some(Err(error)) = file.expect.answer.as_ref().map(ExpectedAnswer::check) {
        return Err(Error::failed(format!("{}: {}", name.display(), error.message())));
    }
    Ok(file)
}

/// What is wrong with a file of TOML, and in which line.
pub(super) fn toml_problem(file: &Path, text: &str, error: &toml::de::Error) -> Error {
    let start = error.span().map_or(0, |span| span.start).min(text.len());
    let line = 1 + text.as_bytes().iter().take(start).filter(|byte| **byte == b'\n').count();
    let what = error.message().lines().next().unwrap_or_default().to_owned();
    Error::failed(format!("{}:{line}: {what}", file.display()))
}

/// Writes a test into an empty folder.
pub(super) fn write(folder: &Path, parts: &TestParts, placing: &Placing) -> Result<(), Error> {
    let TestParts { file, spec, recording, rules } = parts;
    let put = |name: &str, text: &str| {
        put_private(&folder.join(name), text.as_bytes()).map_err(|error| {
            Error::of_io(&error, format!("{} cannot be written: {error}", folder.join(name).display()))
        })
    };
    let unreadable = |error: &dyn std::fmt::Display| Error::failed(format!("the test cannot be written: {error}"));
    let mut file = file.clone();
    file.task = placing.taken_out(&file.task);
    map_expected(&mut file.expect, &|text| placing.taken_out(text));
    let text = toml::to_string_pretty(&file).map_err(|error| unreadable(&error))?;
    put("test.toml", &format!("{HEAD}{text}"))?;
    put("instructions.md", &placing.taken_out(&spec.instructions))?;
    let mut agent = serde_json::to_value(Spec { instructions: String::new(), ..spec.clone() })
        .map_err(|error| unreadable(&error))?;
    map_texts(&mut agent, &mut |text| placing.taken_out(text));
    put("agent.json", &format!("{agent:#}\n"))?;
    let (mut lines, mut texts) = (String::new(), Vec::new());
    for step in recording {
        let mut step = serde_json::to_value(step).map_err(|error| unreadable(&error))?;
        map_texts(&mut step, &mut |text| {
            let text = placing.taken_out(text);
            if text.len() <= LONG {
                return text;
            }
            let name = format!("texts/{}.txt", texts.len() + 1);
            let stands = format!("{FILE}{name}{FILE_END}");
            texts.push((name, text));
            stands
        });
        lines.push_str(&format!("{step}\n"));
    }
    put("recording.jsonl", &lines)?;
    for (folders, is_wanted) in [("texts", !texts.is_empty()), ("rules", !rules.is_empty())] {
        if is_wanted {
            create_private(&folder.join(folders))?;
        }
    }
    texts.iter().try_for_each(|(name, text)| put(name, text))?;
    rules.iter().try_for_each(|rule| put(&rule.name, &rule.text))
}

/// How a `test.toml` begins.
const HEAD: &str = "\
# A test made of a run: `mainpath test run` plays the recording beside this file, offline, under the rules that hold now.
# Edit what should hold, or leave out what does not matter. In texts of `args` * stands for any letters and \\\\* for a star.

";

fn long_text(folder: &Path, name: &str) -> Result<String, Error> {
    let digits = name.strip_prefix("texts/").and_then(|name| name.strip_suffix(".txt")).unwrap_or_default();
    if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let name: String = name.chars().take(80).collect();
        let file = folder.join("recording.jsonl");
        return Err(Error::failed(format!("{}: {name:?} is not a file of the test's texts", file.display())));
    }
    text(folder, name)
}

/// A file's text. Errors: it is a link, no file, too large or no text.
pub(super) fn text(folder: &Path, name: &str) -> Result<String, Error> {
    let file = folder.join(name);
    let bad = |why: &str| Error::failed(format!("{} cannot be used: {why}", file.display()));
    let places = [file.parent().unwrap_or(folder), file.as_path()];
    if places.iter().any(|place| place.symlink_metadata().is_ok_and(|meta| meta.is_symlink())) {
        return Err(bad("it is a link, which may lead out of the test"));
    }
    let mut bytes = Vec::new();
    open_regular(&file)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| bad(&error.to_string()))?;
    if bytes.len() as u64 > LARGEST {
        return Err(bad("it is larger than 32 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| bad("it is not UTF-8 text"))
}

fn json(folder: &Path, name: &str, text: &str, line: usize) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| {
        let line = line + error.line().saturating_sub(1);
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        Error::failed(format!("{}:{line}: {what}", folder.join(name).display()))
    })
}

fn typed<T: serde::de::DeserializeOwned>(folder: &Path, name: &str, value: Value, line: usize) -> Result<T, Error> {
    serde_json::from_value(value)
        .map_err(|error| Error::failed(format!("{}:{line}: {error}", folder.join(name).display())))
}
