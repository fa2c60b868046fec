//! A suite: which runs are meant, what is checked of them, and who grades them.

use crate::standing::STANDINGS;
use crate::testing::{Expectations, ExpectedAnswer, one_or_many};
use crate::values::duration;
use crate::{Error, ErrorKind};
use mainpath_net::{SecretTexts, WebAddress};
use mainpath_policy::Predicate;
use mainpath_store::open_regular;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest file of a suite, in bytes.
const LARGEST: u64 = 1 << 20;
/// The longest name of a check or grader, in letters.
const LONGEST: usize = 100;

/// A suite: its TOML file, or what a program makes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Suite {
    /// Its name: that of its file.
    #[serde(skip)]
    pub name: String,
    /// Its file, if it is one.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// What it is for.
    pub description: Option<String>,
    /// Which runs it is about.
    pub runs: SuiteRuns,
    /// In how many of the runs each check and each grader must be passed, as a share from 0 to 1; in all, without it.
    pub pass: Option<f64>,
    /// The checks.
    #[serde(rename = "check")]
    pub checks: Vec<SuiteCheck>,
    /// The graders.
    #[serde(rename = "grader")]
    pub graders: Vec<SuiteGrader>,
}

/// Which runs a suite is about: those of which all of this is true.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct SuiteRuns {
    /// These traces: ids or unique parts of them.
    pub traces: Vec<String>,
    /// Those with a call like this, as in `mainpath query`.
    pub query: Option<String>,
    /// Those that stand so: `completed`, `failed`, … Without it all whose run has ended, and imported ones.
    #[serde(deserialize_with = "one_or_many")]
    pub state: Vec<String>,
    /// Those of these presets.
    #[serde(deserialize_with = "one_or_many")]
    pub agent: Vec<String>,
    /// Those that called one of these tools.
    #[serde(deserialize_with = "one_or_many")]
    pub tool: Vec<String>,
    /// Those of this folder; `.` is the folder of the project.
    pub folder: Option<String>,
    /// Those that changed in this time, such as `7d`.
    pub since: Option<String>,
    /// Those that have not changed for this time.
    pub until: Option<String>,
    /// At most so many, the newest.
    pub most: Option<usize>,
    /// Also those of agents that another has started.
    pub children: bool,
}

/// Something that must hold in each run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteCheck {
    /// Its name.
    pub name: String,
    /// In how many of the runs it must hold, as a share; what the suite says, without it.
    #[serde(default, skip_serializing)]
    pub pass: Option<f64>,
    /// What must hold, in the words of a test's `[expect]`.
    #[serde(default)]
    pub expect: Expectations,
}

/// Who grades each run: a command, an address, a model, or a grader of the host's own. One of the four.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SuiteGrader {
    /// Its name.
    pub name: String,
    /// A program and its arguments. It reads one JSON object and writes one.
    pub command: Vec<String>,
    /// Variables for it; `{{secret:NAME}}` stands for a secret.
    pub env: SecretTexts,
    /// An address. A JSON object is posted to it, and it answers with one.
    pub url: Option<WebAddress>,
    /// Headers for it; `{{secret:NAME}}` stands for a secret.
    pub headers: SecretTexts,
    /// A model.
    pub model: Option<String>,
    /// What a model is to judge by.
    pub rubric: Option<String>,
    /// The most that a model may cost for one run, in dollars.
    pub max_cost: Option<f64>,
    /// The name of a grader that the program has which runs the suite.
    pub host: Option<String>,
    /// How long it may take for one run: 60 s, a model five minutes, without it.
    pub timeout: Option<String>,
    /// The least score with which a run passes, where the grader does not say whether it does; 0.5 without it.
    pub least: Option<f64>,
    /// In how many of the runs it must be passed, as a share; what the suite says, without it.
    pub pass: Option<f64>,
    /// What the mean of all scores must reach.
    pub mean: Option<f64>,
}

impl Suite {
    /// Reads a suite. Errors: the file, the line, and what is wrong.
    pub fn read(file: &Path) -> Result<Suite, Error> {
        let shown = file.display();
        let bad = |why: String| Error::invalid(format!("{shown} cannot be used: {why}"));
        let mut bytes = Vec::new();
        match open_regular(file).and_then(|open| open.take(LARGEST + 1).read_to_end(&mut bytes)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::new(ErrorKind::NotFound, format!("there is no suite {shown}")));
            }
            read => read.map_err(|error| bad(error.to_string()))?,
        };
        if bytes.len() as u64 > LARGEST {
            return Err(bad("it is larger than 1 MiB".into()));
        }
        let text = String::from_utf8(bytes).map_err(|_| bad("it is not UTF-8 text".into()))?;
        let mut suite: Suite = toml::from_str(&text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start).min(text.len());
            let line = 1 + text.as_bytes().iter().take(start).filter(|byte| **byte == b'\n').count();
            let what = error.message().lines().next().unwrap_or_default().to_owned();
            Error::invalid(format!("{shown}:{line}: {what}"))
        })?;
        suite.name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        suite.file = Some(file.canonicalize()?);
        suite.check().map_err(|error| Error::new(error.kind(), format!("{shown}: {}", error.message())))?;
        Ok(suite)
    }

    /// Whether it can be used. Errors: what is wrong with it.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::invalid(why));
        if self.checks.is_empty() && self.graders.is_empty() {
            return wrong("it has neither a [[check]] nor a [[grader]]".into());
        }
        let mut names = BTreeSet::new();
        let all = self.checks.iter().map(|check| &check.name).chain(self.graders.iter().map(|grader| &grader.name));
        for name in all {
            if name.trim().is_empty() || name.chars().count() > LONGEST || name.chars().any(char::is_control) {
                return wrong(format!("{name:?} is not a name: 1 to {LONGEST} letters in a line"));
            }
            if !names.insert(name) {
                return wrong(format!("two checks or graders are called {name:?}"));
            }
        }
        share("pass", self.pass)?;
        if let Some(word) = self.runs.state.iter().find(|word| !STANDINGS.contains(&word.as_str())) {
            return wrong(format!("runs.state: {word:?} is none of {}", STANDINGS.join(", ")));
        }
        if self.runs.most == Some(0) {
            return wrong("runs.most: 0 runs are none; leave it out for all".into());
        }
        self.runs.predicate()?;
        self.runs.ago(self.runs.since.as_deref(), "since")?;
        self.runs.ago(self.runs.until.as_deref(), "until")?;
        let of = |name: &str, error: Error| Error::invalid(format!("{name}: {}", error.message()));
        self.checks.iter().try_for_each(|check| check.check().map_err(|error| of(&check.name, error)))?;
        self.graders.iter().try_for_each(|grader| grader.check().map_err(|error| of(&grader.name, error)))
    }

    /// Whether it starts programs, posts runs to addresses or gives them to models.
    pub fn reaches_out(&self) -> bool {
        self.graders.iter().any(|grader| grader.host.is_none())
    }
}

impl SuiteRuns {
    /// What calls are looked for. Errors: it cannot be read, and where.
    pub(super) fn predicate(&self) -> Result<Option<Predicate>, Error> {
        let bad = |wrong| Error::invalid(format!("runs.query, {wrong}"));
        self.query.as_deref().map(Predicate::parse).transpose().map_err(bad)
    }

    /// A time of the file. Errors: it is none.
    pub(super) fn ago(&self, text: Option<&str>, name: &str) -> Result<Option<Duration>, Error> {
        let bad = |error: Error| Error::invalid(format!("runs.{name}: {}", error.message()));
        text.map(duration).transpose().map_err(bad)
    }
}

/// Whether a number is a share. Errors: it is none.
fn share(name: &str, given: Option<f64>) -> Result<(), Error> {
    match given {
        Some(given) if !(0.0..=1.0).contains(&given) => {
            Err(Error::invalid(format!("{name} = {given} is out of range: it is a share from 0 to 1")))
        }
        _ => Ok(()),
    }
}

impl SuiteCheck {
    fn check(&self) -> Result<(), Error> {
        let expect = &self.expect;
        share("pass", self.pass)?;
        if expect.instructions.is_some() {
            return Err(Error::invalid(
                "instructions is for tests (mainpath test): nobody knows what agents would be told now",
            ));
        }
        if *expect == Expectations::default() {
            return Err(Error::invalid("it expects nothing: set something in [check.expect], such as max_turns"));
        }
        if expect.max_cost.is_some_and(|cost| !cost.is_finite() || cost < 0.0) {
            return Err(Error::invalid("max_cost is an amount in dollars, such as 0.50"));
        }
        expect.answer.as_ref().map_or(Ok(()), ExpectedAnswer::check)
    }
}

impl SuiteGrader {
    fn check(&self) -> Result<(), Error> {
        let kinds = [
            ("command", !self.command.is_empty()),
            ("url", self.url.is_some()),
            ("model", self.model.is_some()),
            ("host", self.host.is_some()),
        ];
        let set: Vec<&str> = kinds.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
        match set.as_slice() {
            [_] => {}
            [] => return Err(Error::invalid("it needs one of command, url, model and host")),
            several => {
                let several = several.join(" and ");
                return Err(Error::invalid(format!("it has {several}: give one of command, url, model and host")));
            }
        }
        if self.rubric.as_ref().is_none_or(|rubric| rubric.trim().is_empty()) && self.model.is_some() {
            return Err(Error::invalid("a model needs a rubric: what it is to judge by"));
        }
        for (name, of, is_there) in [
            ("rubric", "model", self.rubric.is_some() && self.model.is_none()),
            ("max_cost", "model", self.max_cost.is_some() && self.model.is_none()),
            ("env", "command", self.env != SecretTexts::default() && self.command.is_empty()),
            ("headers", "url", self.headers != SecretTexts::default() && self.url.is_none()),
        ] {
            if is_there {
                return Err(Error::invalid(format!("{name} goes with {of} only")));
            }
        }
        if self.max_cost.is_some_and(|cost| !cost.is_finite() || cost <= 0.0) {
            return Err(Error::invalid("max_cost is an amount in dollars, such as 0.05"));
        }
        share("least", self.least)?;
        share("pass", self.pass)?;
        share("mean", self.mean)?;
        self.limit().map(drop)
    }

    /// How long it may take for one run. Errors: that is no time.
    pub(super) fn limit(&self) -> Result<Duration, Error> {
        let usual = Duration::from_secs(if self.model.is_some() { 300 } else { 60 });
        let bad = |error: Error| Error::invalid(format!("timeout: {}", error.message()));
        self.timeout.as_deref().map(duration).transpose().map_err(bad).map(|given| given.unwrap_or(usual))
    }

    /// The least score with which a run passes.
    pub(super) fn least(&self) -> f64 {
        self.least.unwrap_or(0.5)
    }
}
