//! Going through the calls of many traces.

use super::findings::{Backtest, Found};
use super::judge::PastJudge;
use super::past::PastFacts;
use crate::rules::GivenRules;
use crate::trial::is_trial;
use crate::{Error, Logs};
use mainpath_policy::{Predicate, StepFacts};
use mainpath_store::{FilesStore, ReadLog, Scope, StoreError, read_file};
use mainpath_types::{CallId, Decision, EventId, EventKind, Millis, RunRules, TraceId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// The rules that recorded calls are judged by.
#[derive(Clone, Debug, Default)]
pub struct NewRules {
    /// Rules in the place of a file of an installation.
    pub file: Option<GivenRules>,
    /// Rules beside all others, as a run has them.
    pub run: RunRules,
}

/// Which recorded calls are looked at.
#[derive(Clone, Debug, Default)]
pub struct BacktestScope {
    /// The traces; nothing: all that there are but those of what-ifs and of tests against a model.
    pub traces: Option<Vec<TraceId>>,
    /// Only traces that have changed since then, if that is not 0.
    pub since: Millis,
    /// Only calls that this is true of.
    pub calls: Option<Predicate>,
}

impl BacktestScope {
    /// The traces, oldest first. Errors: the folder cannot be read.
    pub(super) fn names(&self, logs: &Logs) -> Result<Vec<TraceId>, Error> {
        let mut names = match &self.traces {
            Some(traces) => traces.clone(),
            None => logs.store.names(&logs.scope)?,
        };
        names.sort_unstable();
        names.dedup();
        if self.since > 0 {
            let changed = |trace: &TraceId| {
                let log = logs.store.trace_dir(&logs.scope.tenant, trace).join("events.jsonl");
                let at = log.metadata().and_then(|meta| meta.modified()).ok();
                let age = at.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
                age.is_some_and(|age| age.as_millis() >= u128::from(self.since))
            };
            names.retain(changed);
        }
        Ok(names)
    }

    /// Whether a log is one that is looked at only where it is named.
    pub(super) fn leaves_out(&self, log: &ReadLog) -> bool {
        self.traces.is_none() && is_trial(&log.events)
    }

    /// Whether a call is looked at.
    pub(super) fn has(&self, trace: &TraceId, past: &PastFacts<'_>) -> bool {
        let Some(predicate) = &self.calls else { return true };
        let arguments: Value = match &past.known {
            Some(known) => known.facts.arguments.clone(),
            None => serde_json::from_str(past.judged.arguments).unwrap_or_default(),
        };
        let spec = past.known.as_ref().map(|known| known.terms.spec);
        let preset = spec.and_then(|spec| spec.preset.as_ref());
        let facts = past.known.as_ref().map(|known| &known.facts);
        let origins: Vec<_> = facts.map(|facts| facts.origins.iter().copied().collect()).unwrap_or_default();
        predicate.matches(&StepFacts {
            trace: trace.as_str(),
            tool: facts.map_or(past.judged.tool, |facts| &facts.tool),
            arguments: Some(&arguments),
            verdict: Some(past.judged.then.decision),
            rule: &past.judged.then.rule,
            origins: &origins,
            model: spec.map_or("", |spec| &spec.model),
            agent: preset.map_or("", |preset| &preset.name),
            folder: spec.map_or("", |spec| &spec.workspace),
            ..StepFacts::default()
        })
    }
}

/// What is done with each log.
pub(super) type EachLog<'a, T> = &'a (dyn Fn(&TraceId, Result<&ReadLog, &StoreError>) -> T + Sync);

/// Reads logs by as many threads as there are processors, at most four, and gives what was made of each, in their order.
pub(super) fn each_log<T: Send>(store: &FilesStore, scope: &Scope, names: &[TraceId], make: EachLog<'_, T>) -> Vec<T> {
    let (next, made) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(4);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(trace) = names.get(at) else { return };
            let path = store.trace_dir(&scope.tenant, trace).join("events.jsonl");
            let log = read_file(&path, &scope.tenant, trace);
            let one = make(trace, log.as_ref());
            made.lock().unwrap_or_else(PoisonError::into_inner).insert(at, one);
        }
    };
    std::thread::scope(|scoped| {
        // Without further threads, this one does all of it.
        (1..threads).for_each(|_| drop(Builder::new().spawn_scoped(scoped, work)));
        work();
    });
    made.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// The event after which a log is its own. What a fork has of a trace that is looked at as well is counted there, and only there.
pub(super) fn own_after(log: &ReadLog, names: &[TraceId]) -> EventId {
    let forked = log.events.iter().rev().find_map(|event| match &event.kind {
        EventKind::Forked(data) => Some((event.id, &data.from)),
        _ => None,
    });
    forked.filter(|(_, from)| names.binary_search(from).is_ok()).map_or(0, |(id, _)| id)
}

/// Why a log was read up to a place only, if so.
pub(super) fn in_part(log: &ReadLog) -> Option<String> {
    let damage = log.damage.as_ref().map(ToString::to_string);
    damage.or_else(|| log.newer.then(|| "the rest of its log is of a newer Mainpath".into()))
}

impl PastJudge {
    /// Judges the calls of traces by other rules, and tells what these decide otherwise than was decided then. It reads a great many files:
    /// call it where that may block. Errors: the rules cannot be read, or no log can.
    pub fn backtest(&self, logs: &Logs, new: &NewRules, scope: &BacktestScope) -> Result<Backtest, Error> {
        let mut sources = self.sources().clone();
        if let Some(file) = &new.file {
            sources = sources.with_given(file.clone())?;
        }
        sources.run = sources.run.with(&new.run);
        let then = self.with_sources(sources);
        let names = scope.names(logs)?;
        let found = each_log(&logs.store, &logs.scope, &names, &|trace, log| {
            let log = match log {
                Ok(log) => log,
                Err(problem) => return Found::unread(trace.clone(), problem.to_string()),
            };
            let mut found = Found::default();
            if scope.leaves_out(log) {
                return found;
            }
            found.read();
            if let Some(problem) = in_part(log) {
                found.read_in_part(trace, problem);
            }
            let mut today: Option<BTreeMap<CallId, Decision>> = None;
            then.each(log, own_after(log, &names), &mut |past| {
                if scope.has(trace, &past) {
                    let read = || -> BTreeMap<CallId, Decision> {
                        let calls = self.calls(log).into_iter();
                        calls.filter_map(|judged| Some((judged.call, judged.now.ok()?.decision))).collect()
                    };
                    found.take(trace, &past.judged, || today.get_or_insert_with(read).get(&past.judged.call).copied());
                }
            });
            found
        });
        let mut all = Found::default();
        found.into_iter().for_each(|found| all.add(found));
        Ok(all.into())
    }
}
