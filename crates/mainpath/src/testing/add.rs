//! A test is made of a run.

use super::file::{Expectations, FORMAT, TestFile};
use super::folder::{RULES, TestParts, write};
use super::names::{check_name, tests_folder};
use super::placing::{Placing, map_texts};
use super::propose::{as_it_was, calls, without};
use super::run::Plays;
use crate::recorded::{Played, RecordedStep, first_under_another, recording};
use crate::rules::read_files;
use crate::trace::Read;
use crate::what_if::spec_at;
use crate::{Error, ErrorKind, Host};
use mainpath_core::pending;
use mainpath_runtime::Waiting;
use mainpath_store::scheduler::system_clock;
use mainpath_store::{Damage, create_private};
use mainpath_types::{Decision, EventKind, RuleText, Seq, TraceId, format_time, text_of};
use std::path::{Path, PathBuf};

/// What is to be made a test.
#[derive(Clone, Debug, Default)]
pub struct NewTest {
    /// Its name; without one it is made of the task.
    pub name: Option<String>,
    /// The project whose test it is.
    pub project: PathBuf,
    /// The call that should not have been made, from 1: it is expected to be asked about or denied.
    pub wrong: Option<u32>,
    /// Whether it takes the place of a test of this name.
    pub replace: bool,
}

/// A test that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct AddedTest {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The calls of the run, in their order.
    pub calls: Vec<AddedCall>,
}

/// Why a trace cannot be made a test.
#[derive(Debug, thiserror::Error)]
enum Untestable {
    #[error("it has no agent")]
    NoAgent,
    #[error("its log is damaged: {0}")]
    Damaged(Damage),
    #[error("a run of it goes on; wait for its end, or stop it")]
    Running,
    #[error("its run was interrupted; resume it, or stop it")]
    Interrupted,
    #[error("its run waits for a decision or an answer; give it, or stop it")]
    Waiting,
    #[error("its agent was changed before message {0}; fork it at a message before")]
    AgentChanged(Seq),
    #[error("{}", .0.message())]
    Recording(Error),
    #[error("it does not begin with a task")]
    NoTask,
    #[error("played again it differs at step {step}: {what}")]
    Parted { step: u32, what: String },
    #[error("it has no call {wrong}; its calls are numbered from 1 to {calls}")]
    NoCall { wrong: u32, calls: usize },
    #[error("no rule judges its call {0}: it could not be run as it was written, and was not")]
    Unjudged(u32),
}

impl Untestable {
    fn of(self, trace: &TraceId) -> Error {
        Error::new(ErrorKind::Refused, format!("{trace} cannot be made a test: {self}"))
    }
}

/// A call of a run of which a test was made.
#[derive(Clone, Debug, PartialEq)]
pub struct AddedCall {
    /// The tool, as it was called.
    pub tool: String,
    /// Its arguments: JSON text.
    pub arguments: String,
    /// What the rules say of it in the test; `None` where none can judge it.
    pub verdict: Option<Decision>,
}

impl Host {
    /// Makes a test of a trace: what was recorded, without secrets, and expectations that are proposed from it. It is played once before:
    /// what does not come out as it was recorded is no test. Errors: that, it was imported, erased or goes on, there is a test of this
    /// name, or nothing can be written.
    pub async fn add_test(&self, trace: &TraceId, new: NewTest) -> Result<AddedTest, Error> {
        let refused = |why: Untestable| why.of(trace);
        let at = self.at(trace);
        let read = Read::of(at).await?;
        let begun = read.log.events.iter().find(|event| matches!(event.kind, EventKind::RunStarted(_)));
        let begun = begun.map_or(read.log.head, |event| event.id);
        let spec = spec_at(&read.log.events, begun).map_err(|_| refused(Untestable::NoAgent))?.clone();
        self.check_stands(trace, &read).await?;
        if let Some(message) = first_under_another(&read, begun, &spec) {
            return Err(refused(Untestable::AgentChanged(message)));
        }
        let recording = recording(at, &read, Seq(0)).await.map_err(|error| refused(Untestable::Recording(error)))?;
        let Some(RecordedStep::Said { parts: task, .. }) = recording.first() else {
            return Err(refused(Untestable::NoTask));
        };
        let task = text_of(task);
        let name = new.name.clone().unwrap_or_else(|| name_of(&task));
        check_name(&name)?;
        let tests = tests_folder(&new.project)?;
        if !new.replace && tests.join(&name).symlink_metadata().is_ok() {
            let problem = format!("there is a test {name:?} already; give it another --name, or --replace it");
            return Err(Error::new(ErrorKind::Refused, problem));
        }
        // It was recorded there, and is played here.
        let (there, here) = (Placing::new(Path::new(spec.source())), Placing::new(&new.project));
        let moved = |text: &str| here.put_in(&there.taken_out(&self.vault().redact(text)));
        let recording = texts(recording, &moved)?;
        let spec = texts(spec, &moved)?;
        let file = TestFile {
            format: FORMAT,
            from: trace.to_string(),
            made: format_time(system_clock()),
            task: moved(&task),
            expect: Expectations::default(),
        };
        let mut parts = TestParts { file, spec, recording, rules: self.rules_now()? };
        let played = Plays::new(self, &new.project)?.play(parts.clone()).await?;
        if let Some(parted) = &played.parted {
            return Err(refused(Untestable::Parted { step: parted.step, what: parted.what.clone() }));
        }
        parts.file.expect = expected(&played, new.wrong).map_err(refused)?;
        let folder = put(&tests, &name, &parts, &here)?;
        let calls = calls(&played.steps).into_iter().map(|call| AddedCall {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            verdict: call.verdict,
        });
        Ok(AddedTest { name, folder, calls: calls.collect() })
    }

    /// The rules of the machine and the person.
    fn rules_now(&self) -> Result<Vec<RuleText>, Error> {
        let person = self.home().config_dir().join("policy.toml");
        let further = std::env::var_os("MAINPATH_ORG_POLICY").filter(|file| !file.is_empty()).map(PathBuf::from);
        let organisation = [Some(PathBuf::from("/etc/mainpath/policy.toml")), further];
        let [first, second] = organisation;
        let mut rules = rules_in([first, second, Some(person)])?;
        // They go where others read them.
        rules.iter_mut().for_each(|rule| rule.text = self.vault().redact(&without_comments(&rule.text)));
        Ok(rules)
    }

    /// Errors: a trace can be no test as it stands.
    async fn check_stands(&self, trace: &TraceId, read: &Read) -> Result<(), Error> {
        if let Some(damage) = &read.log.damage {
            return Err(Untestable::Damaged(damage.clone()).of(trace));
        }
        if read.state.run.is_none() {
            return Ok(());
        }
        if self.at(trace).driver().await?.is_some() {
            return Err(Untestable::Running.of(trace));
        }
        let pending = pending(&read.state);
        let is_interrupted = Waiting::among(&pending).is_empty();
        Err(if is_interrupted { Untestable::Interrupted } else { Untestable::Waiting }.of(trace))
    }
}

/// The same rules without lines that are comments, each line where it was. What cannot be told for certain stays.
fn without_comments(text: &str) -> String {
    let bare: Vec<&str> = text.lines().map(|line| if line.trim_start().starts_with('#') { "" } else { line }).collect();
    let bare = bare.join("\n") + "\n";
    let read = |text: &str| toml::from_str::<toml::Table>(text).ok();
    if read(&bare).is_some() && read(&bare) == read(text) { bare } else { text.into() }
}

/// The rules of these files, each as a file of the test. Those that are not there have none.
fn rules_in(files: [Option<PathBuf>; RULES.len()]) -> Result<Vec<RuleText>, Error> {
    let mut rules = Vec::new();
    for (file, name) in files.into_iter().zip(RULES) {
        let Some(file) = file.filter(|file| file.exists()) else { continue };
        rules.extend(read_files(&[file])?.into_iter().map(|read| RuleText { name: name.into(), text: read.text }));
    }
    Ok(rules)
}

fn expected(played: &Played, wrong: Option<u32>) -> Result<Expectations, Untestable> {
    let Some(wrong) = wrong else { return Ok(as_it_was(played)) };
    let (at, calls) = (wrong.saturating_sub(1) as usize, calls(&played.steps));
    let Some(call) = calls.get(at).filter(|_| wrong > 0) else {
        return Err(Untestable::NoCall { wrong, calls: calls.len() });
    };
    if call.verdict.is_none() {
        return Err(Untestable::Unjudged(wrong));
    }
    Ok(without(played, at))
}

/// The same with all its texts changed.
fn texts<T: serde::Serialize + serde::de::DeserializeOwned>(
    of: T,
    change: &dyn Fn(&str) -> String,
) -> Result<T, Error> {
    let bad = |error: serde_json::Error| Error::failed(format!("the recording cannot be written as JSON: {error}"));
    let mut value = serde_json::to_value(of).map_err(bad)?;
    map_texts(&mut value, &mut |text| change(text));
    serde_json::from_value(value).map_err(bad)
}

/// Writes the folder beside its place, and puts it there when it is whole.
fn put(tests: &Path, name: &str, parts: &TestParts, placing: &Placing) -> Result<PathBuf, Error> {
    let bad = |error: std::io::Error| {
        Error::of_io(&error, format!("the test cannot be written to {}: {error}", tests.display()))
    };
    create_private(tests).map_err(bad)?;
    let part = tempfile::Builder::new().prefix(".part-").tempdir_in(tests).map_err(bad)?;
    let (new, folder) = (part.path().join("new"), tests.join(name));
    create_private(&new).map_err(bad)?;
    write(&new, parts, placing)?;
    if folder.symlink_metadata().is_ok() {
        std::fs::rename(&folder, part.path().join("old")).map_err(bad)?;
    }
    std::fs::rename(&new, &folder).map_err(bad)?;
    Ok(folder)
}

/// A name of the first words of a task.
fn name_of(task: &str) -> String {
    let words = task.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words.take(6) {
        let room = 40_usize.saturating_sub(name.len());
        if !name.is_empty() && word.len() >= room {
            break;
        }
        let joint = if name.is_empty() { "" } else { "-" };
        name.push_str(joint);
        name.extend(word.chars().take(40).map(|letter| letter.to_ascii_lowercase()));
    }
    if name.is_empty() { "run".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_rules_is_a_file_of_the_test() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            Some(folder.path().join(name))
        };
        // Below a table nothing of the top level may follow: two files are no one file.
        let rule = "[[rule]]\nid = \"a\"\ndecision = \"deny\"\nmatch = \"bash(*)\"\n";
        let own = "[[rule]]\nid = \"b\"\ndecision = \"ask\"\nmatch = \"bash(*)\"\n";
        let files = [file("1", rule), file("2", own), file("3", "")];
        let text = |at: usize, text: &str| RuleText { name: RULES[at].into(), text: text.into() };
        assert_eq!(rules_in(files).unwrap(), [text(0, rule), text(1, own), text(2, "")]);
        assert_eq!(rules_in([None, None, Some(folder.path().join("none"))]).unwrap(), []);
    }
}
