//! `rm`, `purge` and `erase`: what is taken away for good. A person does that, never an agent's tool.

use crate::app::App;
use crate::args::point::seq;
use crate::exit::{Exit, Failure};
use crate::runs::follow::is_attended;
use crate::runs::held::tell;
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::{count, number, one_line, span};
use clap::{ArgGroup, Args};
use mainpath::Logs;
use mainpath::core::{EffectKey, Machine, pending};
use mainpath::index::Index;
use mainpath::runtime::erase::{Done, Kin, What, copies};
use mainpath::sessions::Held;
use mainpath::spec_of;
use mainpath::store::{Collected, Store, StoreError, Sweep, TraceEntry};
use mainpath::testing::tests_made_of;
use mainpath::trace::{Erase, Erased, everywhere, is_grade_of};
use mainpath::types::{Millis, Seq, TraceId};
use mainpath::values::duration;
use mainpath::values::now;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

/// `mainpath rm`
#[derive(Args, Debug)]
pub struct RmArgs {
    /// The traces (their ids or unique parts of them)
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// `mainpath purge`
#[derive(Args, Debug)]
pub struct PurgeArgs {
    /// Remove traces unchanged for this long, such as 30d [default: retention.older_than of the configuration]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub older_than: Option<Duration>,
    /// Always keep the N newest; without --older-than, remove all others [default: retention.keep]
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Only show what would be removed
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Do not ask. Without a terminal, purging by [retention] alone never asks
    #[arg(short, long)]
    pub yes: bool,
}

/// `mainpath erase`
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("what").required(true).args(["message", "all"])))]
pub struct EraseArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    /// The number of a message, as `mainpath show` prints it. May be repeated
    #[arg(long, value_name = "SEQ", value_parser = seq)]
    pub message: Vec<Seq>,
    /// All messages of the trace, its instructions, name and context. Rules that it was given stay: they hold for what comes
    #[arg(long)]
    pub all: bool,
    /// Also in its forks and in the trace that it was forked from
    #[arg(long)]
    pub forks: bool,
    /// The reason; it stays in the log
    #[arg(long)]
    pub reason: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// A blob that was put so short a time ago may be about to be named by a log.
const GRACE: Duration = Duration::from_secs(10 * 60);

/// `mainpath rm`
pub async fn rm(args: RmArgs) -> Result<Exit, Failure> {
    person_only("remove traces")?;
    let logs = Logs::open()?;
    let held = Held::new(&logs)?;
    let mut traces = Vec::new();
    for wanted in &args.traces {
        let trace = logs.find(Some(wanted)).await?;
        // What cannot be removed is said before anything is.
        if let Some(by) = logs.driver(&trace)? {
            return Err(StoreError::Held { trace, by }.into());
        }
        traces.push(trace);
    }
    for trace in &traces {
        let parent = awaited_by(&logs, trace).await?;
        if let Some(parent) = parent.filter(|parent| !traces.contains(parent) && !is_below(trace, &traces)) {
            return Err(Failure::error(format!(
                "{trace} works for {parent}, which waits for it and would start it again; to end both first: mainpath stop {parent}"
            )));
        }
    }
    // What agents did for it goes with it: nobody would find it again.
    let below = logs.store.names(&logs.scope)?.into_iter().filter(|trace| is_below(trace, &traces)).collect::<Vec<_>>();
    for trace in below {
        if let Some(by) = logs.driver(&trace)? {
            return Err(StoreError::Held { trace, by }.into());
        }
        traces.push(trace);
    }
    traces.sort();
    traces.dedup();
    confirm(args.yes, &format!("remove {}", several(&traces)))?;
    let mut removed = Vec::new();
    let mut problem = None;
    for trace in traces {
        match logs.store.remove(&logs.scope, &trace).await {
            Ok(()) => removed.push(trace),
            Err(error) => {
                problem = Some(error);
                break;
            }
        }
    }
    Index::forget(&logs.store, &logs.scope, &removed)?;
    logs.home.forget_copies(&removed).await?;
    let left = held.forget(&removed, true).await;
    removed.iter().try_for_each(|trace| out(&format!("{trace} is removed")))?;
    let done = unless(left);
    match problem {
        Some(problem) => Err(problem.into()),
        None => collect(&logs, false).await.and(done),
    }
}

/// Whether a trace belongs to one of these.
fn is_below(trace: &TraceId, of: &[TraceId]) -> bool {
    let parent = |trace: &TraceId| trace.parent()?.parse::<TraceId>().ok();
    std::iter::successors(parent(trace), parent).any(|above| of.contains(&above))
}

/// All went well, unless words may be left somewhere.
fn unless(left: Vec<String>) -> Result<Exit, Failure> {
    for place in &left {
        eprintln!("! the messages may still be in a mirror: {}", one_line(place));
    }
    Ok(if left.is_empty() { Exit::Ok } else { Exit::Error })
}

/// `mainpath purge`
pub async fn purge(args: PurgeArgs) -> Result<Exit, Failure> {
    person_only("remove traces")?;
    let logs = Logs::open()?;
    let held = Held::new(&logs)?;
    let rule = logs.home.config.retention;
    let ms = |time: Duration| Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX);
    // What the command line says takes the place of all that the configuration says.
    let (older_than, keep) = match (args.older_than, args.keep) {
        (None, None) => (rule.older_than.map(|time| time.0), rule.keep.map(NonZeroUsize::get)),
        (older_than, keep) => (older_than.map(ms), keep),
    };
    let traces = logs.store.list(&logs.scope).await?;
    let old = outdated(traces, older_than, keep, now());
    let (old, needed) = sorted_out(&logs, &held, old).await?;
    if older_than.is_none() && keep.is_none() {
        eprintln!("nothing to purge: give --older-than or --keep, or [retention] in the configuration");
    }
    // Who wrote the rule down has agreed to it: where nobody can be asked, that is enough.
    let by_rule = args.older_than.is_none() && args.keep.is_none();
    if !args.dry_run && !old.is_empty() && (!by_rule || is_attended()) {
        confirm(args.yes, &format!("remove {}", several(&old)))?;
    }
    for (why, n) in needed {
        out(&match n {
            1 => format!("1 trace is kept: {}", why.of_one()),
            n => format!("{} traces are kept: {}", number(n), why.of_many()),
        })?;
    }
    let old = with_grades(&logs, old)?;
    let mut removed = Vec::new();
    let mut problem = None;
    for trace in &old {
        if logs.is_driven(trace)? {
            out(&format!("{trace} is running and is kept"))?;
            continue;
        }
        if args.dry_run {
            out(&format!("{trace} would be removed"))?;
            continue;
        }
        match logs.store.remove(&logs.scope, trace).await {
            Ok(()) => removed.push(trace.clone()),
            Err(StoreError::Held { .. }) => out(&format!("{trace} is running and is kept"))?,
            // Somebody else has removed it meanwhile.
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => {
                problem = Some(error);
                break;
            }
        }
    }
    if !args.dry_run {
        Index::forget(&logs.store, &logs.scope, &removed)?;
        logs.home.forget_copies(&removed).await?;
        let what = if removed.len() == 1 { "trace was" } else { "traces were" };
        out(&format!("{} {what} removed", number(removed.len() as u64)))?;
    }
    let left = if removed.is_empty() { Vec::new() } else { held.forget(&removed, true).await };
    let done = unless(left);
    match problem {
        Some(problem) => Err(problem.into()),
        None => collect(&logs, args.dry_run).await.and(done),
    }
}

/// With the traces in which models graded these: they quote what goes.
fn with_grades(logs: &Logs, old: Vec<TraceId>) -> Result<Vec<TraceId>, Failure> {
    let gone: BTreeSet<&str> = old.iter().map(TraceId::as_str).collect();
    let is_grade = |trace: &TraceId| {
        let of = trace.parent().filter(|parent| gone.contains(parent) && !gone.contains(trace.as_str()));
        of.and_then(|of| of.parse().ok()).is_some_and(|of| is_grade_of(trace, &of))
    };
    let mut grades = logs.store.names(&logs.scope)?;
    grades.retain(is_grade);
    Ok(old.into_iter().chain(grades).collect())
}

/// Why a trace stays although it is old.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Needed {
    Person,
    Agents,
    Mail,
    Session,
}

impl Needed {
    fn of_one(self) -> &'static str {
        match self {
            Needed::Person => "it is waiting for an approval or an answer",
            Needed::Agents => "it or what started it is waiting for an agent",
            Needed::Mail => "it has unread messages",
            Needed::Session => "a session points to it",
        }
    }

    fn of_many(self) -> &'static str {
        match self {
            Needed::Person => "they are waiting for an approval or an answer",
            Needed::Agents => "they or what started them are waiting for agents",
            Needed::Mail => "they have unread messages",
            Needed::Session => "sessions point to them",
        }
    }
}

/// Of old traces those that nobody needs, and why how many of the others stay. A session whose time is over needs none.
/// Errors: a session or a trace cannot be read, so that nobody can tell.
async fn sorted_out(
    logs: &Logs,
    held: &Held,
    old: Vec<TraceId>,
) -> Result<(Vec<TraceId>, BTreeMap<Needed, u64>), Failure> {
    let mut pointed = BTreeSet::new();
    for session in held.sessions.list()? {
        let session = session?;
        pointed.extend(session.trace.clone().filter(|_| !session.is_expired(now())));
    }
    let (mut free, mut needed) = (Vec::new(), BTreeMap::new());
    for trace in old {
        match need(logs, &trace, &pointed).await {
            Ok(None) | Err(StoreError::NotFound { .. }) => free.push(trace),
            Ok(Some(why)) => *needed.entry(why).or_default() += 1,
            Err(error) => return Err(error.into()),
        }
    }
    // What an agent came to is heard by what started it, or it would be started anew.
    let gone: BTreeSet<TraceId> = free.iter().cloned().collect();
    let mut alone = Vec::new();
    for trace in free {
        match awaited_by(logs, &trace).await?.is_some_and(|parent| !gone.contains(&parent)) {
            true => *needed.entry(Needed::Agents).or_default() += 1,
            false => alone.push(trace),
        }
    }
    Ok((alone, needed))
}

/// The trace that started this one and has not heard yet what came of it.
async fn awaited_by(logs: &Logs, trace: &TraceId) -> Result<Option<TraceId>, StoreError> {
    let Some(parent) = trace.parent().and_then(|parent| parent.parse::<TraceId>().ok()) else { return Ok(None) };
    let log = match logs.at(&parent).read(1).await {
        Ok(log) => log,
        Err(StoreError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let machine = Machine::fold(parent.clone(), &log.events);
    let is_open = machine.state().children.open().any(|child| child.trace.as_ref() == Some(trace));
    Ok((is_open && machine.state().run.is_some()).then_some(parent))
}

async fn need(logs: &Logs, trace: &TraceId, pointed: &BTreeSet<TraceId>) -> Result<Option<Needed>, StoreError> {
    if pointed.contains(trace) {
        return Ok(Some(Needed::Session));
    }
    let log = logs.at(trace).read(1).await?;
    let machine = Machine::fold(trace.clone(), &log.events);
    let state = machine.state();
    if pending(state).keys().any(|key| matches!(key, EffectKey::Approval(_) | EffectKey::Answer(_))) {
        return Ok(Some(Needed::Person));
    }
    for child in state.children.open().filter_map(|child| child.trace.as_ref()) {
        let waits = match child.elsewhere() {
            Some(_) => true,
            None => match Box::pin(need(logs, child, &BTreeSet::new())).await {
                Err(StoreError::NotFound { .. }) => false,
                found => matches!(found?, Some(Needed::Person | Needed::Agents)),
            },
        };
        if waits {
            return Ok(Some(Needed::Agents));
        }
    }
    let mail = logs.at(trace).mail(state.log.mail.upto).await?;
    let is_unread = mail.iter().any(|entry| !state.log.mail.has(entry.id)) || state.inbox.unread().next().is_some();
    Ok(is_unread.then_some(Needed::Mail))
}

/// The traces that no rule wants to keep, of a list that begins with the newest.
fn outdated(traces: Vec<TraceEntry>, older_than: Option<Millis>, keep: Option<usize>, now: Millis) -> Vec<TraceId> {
    if older_than.is_none() && keep.is_none() {
        return Vec::new();
    }
    let is_old = |entry: &TraceEntry| older_than.is_none_or(|most| now.saturating_sub(entry.modified) > most);
    traces.into_iter().skip(keep.unwrap_or(0)).filter(is_old).map(|entry| entry.trace).collect()
}

async fn collect(logs: &Logs, dry_run: bool) -> Result<Exit, Failure> {
    let sweep = Sweep { grace: GRACE, only: None, dry_run };
    let collected = logs.store.collect_blobs(&logs.scope, sweep).await.map_err(|error| match error {
        StoreError::LogMissing { .. } | StoreError::NotAFile { .. } => {
            Failure::error(format!("no blobs were removed, because a log cannot be read: {error}"))
        }
        error => error.into(),
    });
    let Collected { removed, bytes, young } = collected?;
    let what = match (dry_run, removed) {
        (true, _) => "would be removed",
        (false, 1) => "was removed",
        (false, _) => "were removed",
    };
    out(&format!("{} {what}, {} bytes", count(removed, "unreferenced blob"), number(bytes)))?;
    if young > 0 {
        let grace = span(u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX));
        let (is, stay) = if young == 1 { ("is", "stays") } else { ("are", "stay") };
        out(&format!("{} more {is} younger than {grace} and {stay} until a later purge", number(young)))?;
    }
    Ok(Exit::Ok)
}

/// `mainpath erase`
pub async fn erase(args: EraseArgs) -> Result<Exit, Failure> {
    person_only("erase messages")?;
    let app = App::open()?;
    let trace = app.logs.find(Some(&args.trace)).await?;
    let (what, words) = if args.all {
        (What::All, format!("all messages of {trace}"))
    } else {
        let list = args.message.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        (What::Messages(args.message), format!("message {list} of {trace}"))
    };
    let copies = copies(app.logs.at(&trace), &what).await?;
    let others: Vec<TraceId> = copies.iter().map(|copy| copy.trace.clone()).collect();
    let and_there =
        if args.forks && !others.is_empty() { format!(", also in {}", several(&others)) } else { String::new() };
    confirm(args.yes, &format!("erase {words} for good{and_there}"))?;
    let erasure = Erase { what: &what, copies: if args.forks { &copies } else { &[] }, reason: args.reason.as_deref() };
    let Erased { done, mended, left } = everywhere(&app.logs, app.host.vault()).erase(&trace, erasure).await?;
    tell(&mended);
    for (trace, done) in done.iter().flatten() {
        told(trace, done)?;
    }
    for copy in copies.iter().filter(|_| !args.forks) {
        let kin = match copy.kin {
            Kin::Fork => "a fork of it",
            Kin::Parent => "the trace that it was forked from",
            Kin::Sibling => "a fork of the same trace",
        };
        out(&format!("the same messages are in {}, {kin}; --forks erases them there too", copy.trace))?;
    }
    let told = unless(left);
    let traces: Vec<TraceId> = done?.into_iter().map(|(trace, _)| trace).chain([trace.clone()]).collect();
    say_tests(&app.logs, &trace, &traces).await?;
    out("files that you have exported, and tests in other folders, keep the words")?;
    if matches!(what, What::All) {
        say_unread(&app.logs, &trace).await?;
    }
    told
}

/// Names the tests that were made of these traces, in the folder that the trace worked in.
async fn say_tests(logs: &Logs, trace: &TraceId, traces: &[TraceId]) -> Result<(), Failure> {
    let (log, ..) = logs.read(trace).await?;
    let Some(folder) = spec_of(&log).map(|spec| spec.workspace.clone()) else { return Ok(()) };
    for name in tests_made_of(Path::new(&folder), traces) {
        let name = one_line(&name);
        out(&format!(
            "the test {name} in {} keeps the words; mainpath test remove {name} removes it",
            one_line(&folder)
        ))?;
    }
    Ok(())
}

/// Says of what nobody has read that it is still there: it is no part of the conversation yet.
async fn say_unread(logs: &Logs, trace: &TraceId) -> Result<(), Failure> {
    let (_, state, _) = logs.read(trace).await?;
    let mail = logs.at(trace).mail(state.log.mail.upto).await?;
    let (is, they) = match mail.iter().filter(|entry| !state.log.mail.has(entry.id)).count() {
        0 => return Ok(()),
        1 => ("1 message that nobody has read yet is still in the mailbox: the agent reads it".into(), "it"),
        n => (format!("{n} messages that nobody has read yet are still in the mailbox: the agent reads them"), "them"),
    };
    out(&format!("{is} when it continues; mainpath rm {trace} removes {they} with the trace"))?;
    Ok(())
}

/// Says what was erased in a trace.
fn told(trace: &TraceId, done: &Done) -> Result<(), Failure> {
    let events = if done.events == 1 { "1 event".into() } else { format!("{} events", number(done.events as u64)) };
    out(&format!("{events} of {trace} erased; the log still verifies"))?;
    if done.blobs.removed > 0 {
        out(&format!("{} with {} bytes removed", blobs(done.blobs.removed), number(done.blobs.bytes)))?;
    }
    if done.blobs.young > 0 {
        let (verb, them) = if done.blobs.young == 1 { ("is", "it") } else { ("are", "them") };
        out(&format!("{} {verb} seconds old; mainpath purge removes {them} later", blobs(done.blobs.young)))?;
    }
    for seq in &done.summaries {
        out(&format!("#{seq} is a summary of it; check whether to erase that too"))?;
    }
    Ok(())
}

fn blobs(count: u64) -> String {
    if count == 1 { "1 blob".into() } else { format!("{} blobs", number(count)) }
}

fn several(traces: &[TraceId]) -> String {
    match traces {
        [one] => format!("trace {one}"),
        many => format!("{} traces", number(many.len() as u64)),
    }
}

/// Asks where somebody can be asked. Errors: the answer is no, or it is non-interactive.
fn confirm(yes: bool, what: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !is_attended() {
        return Err(Failure::usage(format!("cannot ask whether to {what} (non-interactive): give --yes")));
    }
    eprint!("{what}? [y]es, [n]o: ");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    match line.trim() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::error("nothing was removed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_the_newest_and_what_changed_of_late() {
        let entry = |n: u64| TraceEntry { trace: format!("t{n}").parse().unwrap(), modified: 100 - n };
        let left = |older_than, keep| {
            let old = outdated((1..=4).map(entry).collect(), older_than, keep, 100);
            old.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(left(None, None), "", "no rule removes nothing");
        assert_eq!(left(Some(2), None), "t3 t4");
        assert_eq!(left(None, Some(1)), "t2 t3 t4");
        assert_eq!(left(None, Some(0)), "t1 t2 t3 t4");
        assert_eq!(left(Some(2), Some(3)), "t4");
    }
}
