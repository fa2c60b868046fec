//! Tests are played, side by side.

use super::check::check;
use super::file::ExpectedText;
use super::folder::{TestParts, read};
use super::names::{chosen_tests, test_folder};
use super::outcome::{TestOutcome, TestProblem};
use super::placing::Placing;
use super::propose::{calls, used};
use crate::agent::with_words;
use crate::recorded::{PlaySetup, Played, RecordedStep, play};
use crate::rules::{project_file, read_files};
use crate::{Error, Host, launcher};
use futures_util::StreamExt;
use mainpath_policy::{Folders, Layer, Policy};
use mainpath_providers::Registry;
use mainpath_runtime::BuiltinRules;
use mainpath_sandbox::Launcher;
use mainpath_types::{Decision, RuleText, RunRules, Spec, text_of};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// What all plays of a project have in common.
pub(super) struct Plays<'a> {
    host: &'a Host,
    project: &'a Path,
    launcher: Launcher,
    registry: Arc<Registry>,
    builtin: Arc<BuiltinRules>,
    /// The project's own rules as they are now.
    rules: Option<RuleText>,
}

impl Host {
    /// Plays the tests of a project, all of them if none is named, and gives what each came to, in their order; `tell` gets each as soon
    /// as it and those before it have ended. A test that cannot be played has not passed. Errors: there is no test of a name.
    pub async fn run_tests(
        &self,
        project: &Path,
        named: &[String],
        mut tell: impl FnMut(&TestOutcome),
    ) -> Result<Vec<TestOutcome>, Error> {
        let names = chosen_tests(project, named)?;
        let plays = Plays::new(self, project)?;
        let side_by_side = std::thread::available_parallelism().map_or(2, |cores| cores.get() * 2);
        let mut running = futures_util::stream::iter(&names).map(|name| plays.test(name)).buffered(side_by_side);
        let mut outcomes = Vec::new();
        while let Some(outcome) = running.next().await {
            tell(&outcome);
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }
}

impl<'a> Plays<'a> {
    pub fn new(host: &'a Host, project: &'a Path) -> Result<Plays<'a>, Error> {
        let file = project_file(&project.display().to_string());
        let rules = if file.exists() { read_files(&[file])?.pop() } else { None };
        let registry = Arc::new(host.registry().clone());
        Ok(Plays { host, project, launcher: launcher::own(), registry, builtin: Arc::default(), rules })
    }

    async fn test(&self, name: &str) -> TestOutcome {
        let since = Instant::now();
        let mut outcome = self.tested(name).await.unwrap_or_else(|error| TestOutcome {
            name: name.into(),
            passed: false,
            problems: vec![TestProblem::new("test", error.message())],
            notes: Vec::new(),
            turns: 0,
            calls: 0,
            elapsed_ms: 0,
        });
        outcome.elapsed_ms = since.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        outcome
    }

    async fn tested(&self, name: &str) -> Result<TestOutcome, Error> {
        let parts = read(&test_folder(self.project, name)?, &Placing::new(self.project))?;
        let mut problems = Vec::new();
        let told = parts.recording.first().and_then(|step| match step {
            RecordedStep::Said { parts, .. } => Some(text_of(parts)),
            RecordedStep::Answered(_) => None,
        });
        if told.as_ref() != Some(&parts.file.task) {
            problems.push(TestProblem {
                recorded: told.into_iter().collect(),
                played: vec![parts.file.task.clone()],
                ..TestProblem::new(
                    "task",
                    "the recording was made of another task; replace the test by one of a new run",
                )
            });
        }
        if parts.file.expect.instructions == Some(ExpectedText::Same) {
            problems.extend(self.instructions(&parts.spec)?);
        }
        let expect = parts.file.expect.clone();
        let played = self.play(parts).await?;
        problems.extend(check(&expect, &played));
        let parted = played.parted.as_ref().filter(|_| problems.is_empty());
        let notes = parted.map(|parted| format!("played up to step {}, which differs: {}", parted.step, parted.what));
        let (turns, _) = used(&played.steps);
        let calls = u32::try_from(calls(&played.steps).len()).unwrap_or(u32::MAX);
        let passed = problems.is_empty();
        let notes = notes.into_iter().collect();
        Ok(TestOutcome { name: name.into(), passed, problems, notes, turns, calls, elapsed_ms: 0 })
    }

    /// Plays a recording under the rules of now. Errors: the rules cannot be read, or it cannot be played at all.
    pub async fn play(&self, parts: TestParts) -> Result<Played, Error> {
        let TestParts { mut spec, recording, rules, .. } = parts;
        spec.workspace = self.project.display().to_string();
        // Nothing runs, so there is nothing to keep and nobody to wait for.
        (spec.snapshots, spec.copy) = (false, None);
        spec.tools.iter_mut().for_each(|tool| tool.rate = None);
        let (builtin, project) = (Arc::clone(&self.builtin), self.rules.clone());
        let policy = move |workspace: &Path, run: &RunRules| policy(workspace, run, &builtin, &rules, project.as_ref());
        // What is wrong with the rules is told as what it is.
        policy(self.project, &spec.rules)?;
        let (registry, launcher) = (Arc::clone(&self.registry), self.launcher.clone());
        let policy = Arc::new(policy);
        play(PlaySetup {
            host: self.host,
            registry,
            spec,
            recording,
            launcher,
            policy,
            seed: None,
            is_open: false,
            same_limits: true,
        })
        .await
    }

    /// Where the agent would be told something else now.
    fn instructions(&self, spec: &Spec) -> Result<Option<TestProblem>, Error> {
        let mut now = spec.clone();
        now.workspace = self.project.display().to_string();
        if let Some(preset) = &mut now.preset
            && let Ok(presets) = self.host.presets(self.project)
            && let Ok(current) = presets.choose(&preset.name)
        {
            *preset = current.applied();
        }
        with_words(&mut now, self.host.spec_inputs(&RunRules::default()))?;
        let (then, now) = (spec.instructions.trim_end(), now.instructions.trim_end());
        if then == now {
            return Ok(None);
        }
        let line = then.lines().zip(now.lines()).take_while(|(then, now)| then == now).count();
        // A blank line says nothing: what comes after it does.
        let at = |text: &str| {
            let mut rest = text.lines().skip(line).filter(|line| !line.trim().is_empty());
            rest.next().map(str::to_owned).into_iter().collect()
        };
        let what = format!(
            "the agent is told something else from line {} on; set that right, or replace the test by one of a new run",
            line + 1
        );
        Ok(Some(TestProblem { recorded: at(then), played: at(now), ..TestProblem::new("instructions", what) }))
    }
}

/// The rules of a play: those that come with Mainpath, those of the machine and the person as they were, the project's as they are now,
/// and those that the run was begun with. Nothing runs, so the project's rules need nobody's trust.
fn policy(
    workspace: &Path,
    run: &RunRules,
    builtin: &BuiltinRules,
    then: &[RuleText],
    project: Option<&RuleText>,
) -> Result<Policy, Error> {
    let bad = |error: mainpath_policy::PolicyError| Error::failed(error.to_string());
    let home = std::env::var("HOME").unwrap_or_default();
    let home = Path::new(&home).canonicalize().map_or(home, |home| home.display().to_string());
    let folders =
        Folders { workspace: workspace.display().to_string(), home, copy_of: String::new(), above: String::new() };
    let mut policy = builtin.of(folders).map_err(bad)?;
    for RuleText { name, text } in then {
        let layer = if name.contains("organisation") { Layer::Organisation } else { Layer::User };
        policy.add_file(layer, name, text).map_err(bad)?;
    }
    if let Some(RuleText { name, text }) = project {
        policy.add_file(Layer::Project, name, text).map_err(bad)?;
    }
    for RuleText { name, text } in &run.files {
        policy.add_file(Layer::Run, name, text).map_err(bad)?;
    }
    run.allow.iter().try_for_each(|rule| policy.add_rule(Decision::Allow, rule)).map_err(bad)?;
    Ok(policy)
}
