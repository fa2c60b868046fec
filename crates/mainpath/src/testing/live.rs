//! Tests against a model: what is said is said to it, and its calls work in a copy of the project's folder.

use super::baseline::Baseline;
use super::check::check;
use super::folder::{TestParts, read, read_agent};
use super::live_outcome::{LiveOutcome, LiveReport, LiveTrial, sum};
use super::names::{chosen_tests, test_folder, tests_folder};
use super::placing::Placing;
use super::propose::{calls, used};
use crate::agent::{ModeFor, check_model, with_words};
use crate::event::RunEvent;
use crate::recorded::{CallStep, Consent, Played, RecordedStep, steps};
use crate::trial::mark_live_test;
use crate::what_if::{HeldCopy, OnlyInCopy, Original, REFUSED, StopWork, copy_as_it_was, sweep};
use crate::{AgentOptions, Error, ErrorKind, Host, Outcome, Run, Trace};
use futures_util::StreamExt;
use mainpath_runtime::{Mail, Models, new_trace_id};
use mainpath_store::scheduler::system_clock;
use mainpath_types::{
    Access, ApprovalMode, Copied, EffectClass, EventKind, FinishReason, MessageMode, Part, Principal, Relations,
    RunRules, Seq, Spec, TraceId, format_time, text_of,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// So many runs go on at a time, unless the caller says otherwise.
pub const AT_ONCE: usize = 4;

/// How tests are run against a model.
#[derive(Clone, Debug)]
pub struct LiveTests {
    /// The project whose tests they are.
    pub project: PathBuf,
    /// Which; empty: all.
    pub names: Vec<String>,
    /// The model; `None`: that of each test.
    pub model: Option<String>,
    /// How often each is run.
    pub times: u32,
    /// How many runs go on at a time.
    pub at_once: usize,
    /// Whether calls that would be asked about are approved. Otherwise only those are that were in the recording.
    pub yes: bool,
    /// Whether what they come to is the baseline from now on.
    pub save_baseline: bool,
    /// Who may stop it.
    pub stop: StopWork,
}

/// Why there is no report.
const STOPPED: &str = "stopped; the copies of the runs that had not ended are removed";

/// What all runs have in common.
struct Lanes<'a> {
    host: &'a Host,
    tests: &'a LiveTests,
    /// The same host, whose calls work in copies.
    copied: Host,
    /// Where the copies of the folder are.
    copies: PathBuf,
}

impl Host {
    /// Runs tests against a model, and gives what they came to; `tell` gets each as soon as its last run has ended, in their order. A
    /// run that cannot be made has not passed. Errors: there is no test of a name, the model cannot be used, or the baseline cannot be
    /// read or written; one in which a run could not be judged is not written.
    pub async fn run_tests_live(
        &self,
        tests: &LiveTests,
        mut tell: impl FnMut(&LiveOutcome),
    ) -> Result<LiveReport, Error> {
        let project = &tests.project;
        let names = chosen_tests(project, &tests.names)?;
        let mut baseline = Baseline::read(project)?;
        match &tests.model {
            Some(model) => self.prepare_model(model).await?,
            None => self.check_keys(project, &names)?,
        }
        let copies = self.home().copies();
        let copies =
            copies.ok_or_else(|| Error::failed("there is no home to put a copy of the folder into: set HOME"))?;
        sweep(&copies);
        self.check_usable()?;
        let models = Arc::clone(&self.inner.models);
        let copied = self.with_parts(self.tools().answered_by(Arc::new(OnlyInCopy::default())), models);
        let lanes = Lanes { host: self, tests, copied, copies };
        let times = tests.times.max(1);
        let all = names.iter().flat_map(|name| (0..times).map(move |_| name));
        let mut running = futures_util::stream::iter(all).map(|name| lanes.trial(name)).buffered(tests.at_once.max(1));
        let mut outcomes = Vec::new();
        for name in &names {
            let (mut model, mut trials) = (String::new(), Vec::new());
            for _ in 0..times {
                let Some(Tried { by, trial }) = running.next().await else { break };
                model = by;
                trials.push(trial);
            }
            if tests.stop.is_stopped() {
                break;
            }
            let before = baseline.of(&model, name).filter(|_| !tests.save_baseline);
            let outcome = LiveOutcome::of(name, model, trials, before);
            tell(&outcome);
            outcomes.push(outcome);
        }
        drop(running);
        if tests.stop.is_stopped() {
            return Err(Error::failed(STOPPED));
        }
        let mut report = LiveReport::of(times, outcomes);
        if tests.save_baseline && !report.tests.is_empty() {
            let unjudged = report.tests.iter().find_map(|test| {
                let why = test.trials.iter().find_map(|trial| trial.unjudged.as_ref())?;
                Some(format!("{}: {why}; the baseline stays as it was", test.name))
            });
            if let Some(why) = unjudged {
                return Err(Error::new(ErrorKind::Refused, why));
            }
            let now = format_time(system_clock());
            report.tests.iter().for_each(|test| baseline.note(&test.model, &test.name, test.runs.share, &now));
            report.saved = Some(baseline.write(project)?);
        }
        Ok(report)
    }

    /// That no key is missing for the models of tests. What else is wrong with one of them is told of that one. Errors: a key is.
    fn check_keys(&self, project: &Path, names: &[String]) -> Result<(), Error> {
        for name in names {
            let agent = read_agent(&test_folder(project, name)?, &Placing::new(project));
            if let Some(model) = agent.ok().map(|agent| agent.model).filter(|model| !self.models().has(model))
                && let Err(error) = check_model(&model, self.registry())
                && error.kind() == ErrorKind::Auth
            {
                return Err(Error::new(ErrorKind::Auth, format!("{name}: {}", error.message())));
            }
        }
        Ok(())
    }
}

/// A run of a test.
struct Tried {
    /// By which model.
    by: String,
    trial: LiveTrial,
}

/// A lane of a test: its trace, and the copy of the folder that it works in.
struct Lane {
    id: TraceId,
    folder: PathBuf,
}

impl Lanes<'_> {
    async fn trial(&self, name: &str) -> Tried {
        let since = Instant::now();
        let mut by = self.tests.model.clone().unwrap_or_default();
        let mut trial = match self.tried(name, &mut by).await {
            Ok(trial) => trial,
            Err(error) => LiveTrial { unjudged: Some(error.message().into()), ..LiveTrial::default() },
        };
        trial.elapsed_ms = since.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        Tried { by, trial }
    }

    async fn tried(&self, name: &str, by: &mut String) -> Result<LiveTrial, Error> {
        let test = test_folder(&self.tests.project, name)?;
        if self.tests.model.is_none() {
            // Also where the rest of it cannot be used.
            by.clone_from(&read_agent(&test, &Placing::new(&self.tests.project))?.model);
        }
        let id = new_trace_id(system_clock()).map_err(|error| Error::failed(error.to_string()))?;
        let stop = &self.tests.stop;
        if stop.is_stopped() {
            return Err(Error::failed(STOPPED));
        }
        let held = HeldCopy::begin(&self.copies, &id)?;
        let lane = Lane { folder: held.folder().to_path_buf(), id };
        let done = self.in_copy(&test, &lane).await;
        // What is left of another is told nowhere.
        if done.as_ref().is_ok_and(|trial| !trial.passed) && !stop.is_stopped() {
            held.keep();
        }
        done
    }

    /// Runs a test in a copy of the folder, and judges that.
    async fn in_copy(&self, test: &Path, lane: &Lane) -> Result<LiveTrial, Error> {
        let (host, project) = (self.host, &self.tests.project);
        let Lane { id, folder } = lane;
        let (original, stop) = (Original::new(project, host.home())?, &self.tests.stop);
        copy_as_it_was(original, folder, None, host.scoped(), stop).await?;
        // What is expected of it is none of its business.
        match std::fs::remove_dir_all(tests_folder(folder)?) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let parts = read(test, &Placing::new(folder))?;
        let said = said(&parts);
        let agreed = Consent::of(&parts.recording);
        let TestParts { file, spec, .. } = parts;
        let name = test.file_name().unwrap_or_default().to_string_lossy();
        let mut spec = self.spec(spec, folder)?;
        mark_live_test(&mut spec, &name);
        host.inner.models.find_for(&spec).map_err(|error| Error::invalid(error.to_string()))?;
        let mut said = said.into_iter();
        let Some(first) = said.next() else {
            return Err(Error::invalid("the recording does not begin with what was said to the agent"));
        };
        let trace = Trace::new(self.copied.clone(), id.clone());
        self.copied.runtime().start_with(self.copied.scope(), id, spec, vec![message(first)]).await?;
        let mut outcome = follow(Run::first(trace.clone()), &agreed, stop).await?;
        for parts in said {
            if outcome.reason != FinishReason::Final {
                break;
            }
            outcome = follow(trace.go_on(message(parts)).await?, &agreed, stop).await?;
        }
        let read = trace.look().await?;
        let steps = steps(host.at(id), &read, Seq(0)).await?;
        let Outcome { reason, answer, is_said, error, .. } = outcome;
        let (turns, tokens) = used(&steps);
        let spent = read.log.events.iter().map(|event| match &event.kind {
            EventKind::ModelFinished(data) => data.cost,
            _ => 0,
        });
        let made = calls(&steps);
        let is_refused =
            |call: &&&CallStep| call.output.as_ref().and_then(|output| output.error.as_deref()) == Some(REFUSED);
        let refused = u32::try_from(made.iter().filter(is_refused).count()).unwrap_or(u32::MAX);
        let made = u32::try_from(made.len()).unwrap_or(u32::MAX);
        let played = Played { steps, parted: None, reason, answer, is_said };
        let problems = check(&file.expect, &played);
        let unjudged = error.filter(|_| reason == FinishReason::ModelError);
        let passed = problems.is_empty() && unjudged.is_none();
        Ok(LiveTrial {
            passed,
            unjudged: unjudged.map(|error| format!("the model failed: {}", error.message)),
            problems,
            trace: Some(id.clone()),
            folder: (!passed).then(|| folder.clone()),
            refused,
            turns,
            calls: made,
            tokens,
            cost: sum(spent),
            elapsed_ms: 0,
        })
    }

    /// The agent as it would be today, in the copy.
    fn spec(&self, mut spec: Spec, folder: &Path) -> Result<Spec, Error> {
        let LiveTests { project, model, yes, .. } = self.tests;
        spec.workspace = folder.display().to_string();
        spec.copy = Some(Copied { of: project.display().to_string(), repository: None });
        if let Some(preset) = &mut spec.preset
            && let Ok(presets) = self.host.presets(project)
            && let Ok(current) = presets.choose(&preset.name)
        {
            *preset = current.applied();
        }
        if model.is_some() {
            spec.fallback.clear();
        }
        // A folder of tests comes with a repository: where its words go is not for it to say.
        let elsewhere = |model: &str| model.contains("://");
        spec.fallback.retain(|other| !elsewhere(&other.model));
        if model.is_none() && elsewhere(&spec.model) {
            let why = format!("the test names the model {} by its address; say that you mean it: --model", spec.model);
            return Err(Error::invalid(why));
        }
        // It belongs to nothing that the recorded run belonged to.
        spec.relations = Relations { agent_type: spec.relations.agent_type.take(), ..Relations::default() };
        let recorded = spec.mode;
        spec.mode_for = None;
        spec.mode = match (yes, recorded) {
            (true, _) => ApprovalMode::Yes,
            (false, ApprovalMode::Deny) => ApprovalMode::Deny,
            (false, ApprovalMode::Ask | ApprovalMode::Yes) => ApprovalMode::Ask,
        };
        if spec.access == Access::Full {
            spec.access = Access::WorkspaceWrite;
        }
        (spec.network, spec.snapshots) = (false, false);
        let given = AgentOptions { model: model.clone(), ..AgentOptions::default() };
        let mode = ModeFor { mode: spec.mode, run: None };
        let policy = self.host.inner.sources.load_for(&spec)?;
        let mut spec = self.host.changed(&spec, &given, &policy, mode)?.unwrap_or(spec);
        spec.tools.retain(|tool| !matches!(tool.effect, EffectClass::StartChild | EffectClass::AskPerson));
        with_words(&mut spec, self.host.spec_inputs(&RunRules::default()))?;
        Ok(spec)
    }
}

/// What is said, in its order: the task as the test has it now, then what was said later.
fn said(parts: &TestParts) -> Vec<Vec<Part>> {
    let mut said: Vec<Vec<Part>> = parts
        .recording
        .iter()
        .filter_map(|step| match step {
            RecordedStep::Said { parts, .. } => Some(parts.clone()),
            RecordedStep::Answered(_) => None,
        })
        .collect();
    if let Some(first) = said.first_mut().filter(|first| text_of(first) != parts.file.task) {
        // Other words, with what was attached.
        first.retain(|part| !matches!(part, Part::Text { .. }));
        first.insert(0, Part::text(&parts.file.task));
    }
    said
}

fn message(parts: Vec<Part>) -> Mail {
    Mail::Message { mode: MessageMode::Message, parts, typed: None }
}

/// Follows a run to its end. A call that was approved in the recording is so again; nobody is there to approve another one.
async fn follow(mut run: Run, agreed: &Consent, stop: &StopWork) -> Result<Outcome, Error> {
    let trace = run.trace().clone();
    // What is decided here was decided by no person.
    let system = Trace::new(trace.host().acting_as(Principal::system()), trace.id().clone());
    let mut is_stopped = false;
    loop {
        let event = tokio::select! {
            event = run.next() => event,
            () = stop.stopped(), if !is_stopped => {
                is_stopped = true;
                trace.stop().await?;
                continue;
            }
        };
        let Some(event) = event.transpose()? else { break };
        match event {
            RunEvent::ApprovalRequired(pending) => match agreed.covers(&pending) {
                true => system.approve(pending.call).await?,
                false => system.deny(pending.call, Some("nobody is there to ask in a test".into())).await?,
            },
            RunEvent::QuestionAsked(_) => trace.stop().await?,
            _ => {}
        }
    }
    run.outcome().await
}
