//! `show`, `replay` and `schema`: looking, without changing anything.

use crate::args::one::OneTrace;
use crate::commands::compare::compare;
use crate::exit::{Exit, Failure, logs};
use crate::runs::attach::{Sizes, sizes};
use crate::traces::allow::{leads, offered, why};
use crate::traces::asked::{line, whole_of};
use crate::traces::children::children;
use crate::traces::mail::says_first;
use crate::traces::questions;
use crate::traces::waits::unread_line;
use crate::ui::out::out;
use crate::ui::said::{body, role, run_body};
use crate::ui::term::screen::in_a_row;
use crate::ui::text::{count, one_line, plain, short, span, spent, were};
use clap::Args;
use mainpath::Logs;
use mainpath::core::{Bodies, Node, NodeKind, State};
use mainpath::imported::reconstructed_from;
use mainpath::runtime::Hydrated;
use mainpath::runtime::import::Extent;
use mainpath::standing::{DAMAGED, INTERRUPTED, SET_ASIDE};
use mainpath::store::ReadLog;
use mainpath::trace::{Export, Waits, reworded_by, spec_of};
use mainpath::types::{EventId, EventKind, FinishReason, Seq, Spent, TraceId};

/// `mainpath replay`
#[derive(Args, Debug)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub which: OneTrace,
    /// Only compare; write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `mainpath show`
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The whole tree, including branches left by rewinds
    #[arg(long, conflicts_with = "events")]
    pub all: bool,
    /// The events as JSON lines
    #[arg(long)]
    pub events: bool,
    /// Compare two traces: what they share, where they differ, what each used
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["trace", "all", "events"])]
    pub diff: Vec<String>,
}

/// `mainpath show`
pub async fn show(args: ShowArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    if let [a, b] = args.diff.as_slice() {
        return compare(&logs, a, b).await;
    }
    let trace = logs.find_anywhere(args.trace.as_deref()).await?;
    // Asked first: what its owner wrote before it went is then read.
    let is_driven = logs.is_driven(&trace)?;
    let (log, state, read) = logs.read(&trace).await?;
    let mut bodies = Hydrated::new(&read);
    if !args.events {
        // What was said is shown whole. The long output of a tool is named by its blob, as is all whose blob is gone.
        let said = |node: &Node| !matches!(node.kind, NodeKind::Result(_));
        for (_, node) in state.tree.iter().filter(|(_, node)| said(node)) {
            let _ = bodies.load(logs.scoped(), node.event).await;
        }
    }
    if args.events {
        for line in Export::new(logs.of(&trace, &log, &state, &read), Extent::Said).wire() {
            out(&line.to_string())?;
        }
    } else if args.all {
        tree(&state, &bodies, &sizes(&logs, &log.events).await)?;
        for (event, by) in log.reworded() {
            out(&format!("event {event}: {}", reworded_by(by)))?;
        }
    } else {
        let then = match says_first(&logs, &log, &state).await? {
            Some(how) => how,
            None if log.read_only() => format!("its process ended; to continue in a copy: mainpath fork {trace}"),
            None => format!("its process ended; mainpath resume {trace}"),
        };
        path(&logs, &trace, is_driven, &then, &log, &state, &bodies).await?;
    }
    if let Some(damage) = &log.damage {
        return Err(Failure::error(format!("the log is damaged: {damage}; everything before that was read")));
    }
    if let Some(torn) = logs.torn(&trace, &log) {
        eprintln!("! {torn}: not shown");
    }
    Ok(Exit::Ok)
}

/// What an answer used, as the rest of its headline.
fn used(bodies: &Hydrated<'_>, kind: NodeKind, event: EventId) -> String {
    let used = match (kind, bodies.get(event)) {
        (NodeKind::Assistant { .. }, Some(EventKind::ModelFinished(data))) => data.spent(),
        (NodeKind::Malformed, Some(EventKind::ModelMalformed(data))) => data.spent(),
        // What another program recorded of it.
        (NodeKind::Assistant { .. }, Some(EventKind::MessageImported(data))) => {
            match data.recorded.as_ref().and_then(|said| said.spent) {
                Some(spent) => spent,
                None => return String::new(),
            }
        }
        // How long a call took; one that never ran took no time.
        (NodeKind::Result(_), Some(EventKind::CallResolved(data))) => {
            return data.ran_ms().map(|ms| format!("  ({})", span(ms))).unwrap_or_default();
        }
        _ => return String::new(),
    };
    format!("  ({})", spent(used))
}

async fn path(
    logs: &Logs,
    trace: &TraceId,
    is_driven: bool,
    then: &str,
    log: &ReadLog,
    state: &State,
    bodies: &Hydrated<'_>,
) -> Result<(), Failure> {
    let (events, reworded) = (log.events.as_slice(), log.reworded());
    let spec = spec_of(log);
    out(&format!("trace   {trace}"))?;
    let read = logs.of(trace, log, state, bodies);
    let name = read.name().await?;
    if !name.is_empty() {
        out(&one_line(&format!("name    {name}")))?;
    }
    let reason = state.ended.reason.filter(|_| state.run.is_none()).map(|reason| format!(" ({})", reason.words()));
    out(&match logs.standing(log, state, is_driven).await {
        DAMAGED => {
            format!("status  damaged; to continue in a copy of what can be read: mainpath fork {trace}")
        }
        SET_ASIDE => format!(
            "status  set aside, because its server died again and again while it was under way; mainpath resume {trace}"
        ),
        INTERRUPTED => format!("status  {INTERRUPTED}: {then}"),
        status => format!("status  {status}{}", reason.unwrap_or_default()),
    })?;
    if let Some(from) = spec.and_then(reconstructed_from) {
        out(&one_line(&format!("from    reconstructed from {from}")))?;
    }
    if let Some(spec) = spec {
        out(&format!("model   {}\nfolder  {}", one_line(&spec.model), one_line(&spec.workspace)))?;
    }
    if let Some(preset) = spec.and_then(|spec| spec.preset.as_ref()) {
        out(&format!("agent   {}", one_line(&preset.name)))?;
    }
    out(&format!(
        "tokens  {}",
        spent(Spent { usage: state.spent.usage, cost: state.spent.cost, about: state.spent.about })
    ))?;
    match trace.elsewhere() {
        None => out(&format!("files   {}", logs.store.trace_dir(&logs.scope.tenant, trace).display()))?,
        Some(there) => out(&format!("machine {}", there.host))?,
    }
    for (at, line) in children(logs, trace, events).await?.iter().enumerate() {
        out(&format!("{}{line}", if at == 0 { "agents  " } else { "        " }))?;
    }
    for arrival in state.inbox.unread() {
        out(&format!("inbox   a message from {}", one_line(&arrival.from)))?;
    }
    let mut path: Vec<(Seq, NodeKind, EventId)> =
        state.tree.up(state.tree.head).map(|(seq, node)| (seq, node.kind, node.event)).collect();
    path.reverse();
    let sizes = sizes(logs, events).await;
    for (seq, kind, event) in path {
        let (used, text) = (used(bodies, kind, event), run_body(state, bodies, &sizes, kind, event));
        let Some(text) = text else { continue };
        out("")?;
        let mark = reworded.get(&event).map(|by| format!("  ({})", reworded_by(*by))).unwrap_or_default();
        out(&format!("#{seq} {}{used}{mark}", role(kind)))?;
        for line in text.lines() {
            out(&format!("   {line}"))?;
        }
    }
    // What agents that it has started wait for is decided like its own.
    for waits in std::iter::once(read.waits().await?).chain(logs.agent_waits(trace).await?.agents) {
        show_waits(logs, &waits)?;
    }
    for line in read.untold().await?.iter().filter_map(unread_line) {
        out(&format!("\n{line}"))?;
    }
    if let Some(end) = read.ending().await?.filter(|end| end.reason != FinishReason::Final) {
        out(&format!("\n{}", plain(&end.answer)))?;
    }
    Ok(())
}

/// Shows what a trace waits for, and what to do.
fn show_waits(logs: &Logs, waits: &Waits) -> Result<(), Failure> {
    let trace = &waits.trace;
    for call in &waits.calls {
        out(&format!("\n{}", one_line(&line(call, trace))))?;
        whole_of(call).iter().try_for_each(|line| out(&format!("   │ {line}")))?;
        let rule = call.offer.as_deref().map(offered);
        for line in call.verdict.iter().map(why).chain(leads(&call.places)).chain(rule) {
            out(&format!("   {line}"))?;
        }
    }
    for question in &waits.questions {
        out(&format!("\n{}", questions::line(question, trace)))?;
        questions::lines(question).iter().try_for_each(|line| out(&format!("   │ {line}")))?;
        questions::notes(question).iter().try_for_each(|line| out(&format!("   {line}")))?;
    }
    if let Some(agent) = waits.remote.first()
        && !logs.is_driven(trace)?
    {
        out(&format!("\nit waits for {agent}; to continue with what came of it: mainpath resume {}", trace.root()))?;
    }
    Ok(())
}

/// The whole tree, a branch being indented under what it left.
fn tree(state: &State, bodies: &Hydrated<'_>, sizes: &Sizes) -> Result<(), Failure> {
    let on_path: std::collections::HashSet<Seq> = state.tree.up(state.tree.head).map(|(seq, _)| seq).collect();
    let mut children: std::collections::BTreeMap<Option<Seq>, Vec<Seq>> = std::collections::BTreeMap::new();
    for (seq, node) in state.tree.iter() {
        children.entry(node.parent).or_default().push(seq);
    }
    // The main path last, so that it goes on unindented.
    children.values_mut().for_each(|seqs| seqs.sort_by_key(|seq| (on_path.contains(seq), *seq)));
    let roots = children.get(&None).map(Vec::as_slice).unwrap_or_default();
    let mut stack: Vec<(Seq, usize, bool)> = forks(roots, 0);
    while let Some((seq, depth, forks_off)) = stack.pop() {
        let Some(node) = state.tree.node(seq) else { continue };
        let mark = if on_path.contains(&seq) { "●" } else { "○" };
        let line = short(&body(state, bodies, sizes, node.kind, node.event), 90);
        let rails = match (depth, forks_off) {
            (1.., true) => format!("{}├╴", "│ ".repeat(depth - 1)),
            _ => "│ ".repeat(depth),
        };
        out(&in_a_row(&format!("{rails}{mark} #{seq} {}  {line}", role(node.kind))))?;
        stack.extend(forks(children.get(&Some(seq)).map(Vec::as_slice).unwrap_or_default(), depth));
    }
    Ok(())
}

/// What follows a message, ready to be popped: the last one goes on in its line, the others fork off to the right.
fn forks(below: &[Seq], depth: usize) -> Vec<(Seq, usize, bool)> {
    let last = below.len().saturating_sub(1);
    let place = |(at, seq): (usize, &Seq)| (*seq, if at == last { depth } else { depth + 1 }, at != last);
    below.iter().enumerate().map(place).rev().collect()
}

/// `mainpath replay`
pub async fn replay(args: ReplayArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find_anywhere(args.which.trace.as_deref()).await?;
    let found = logs.replay(&trace, args.dry_run).await?;
    let (events, requests) = (count(found.events, "event"), count(found.requests as u64, "request"));
    let views = count(found.views as u64, "view");
    out(&format!("{trace}: {events} applied, {requests} and {views} rebuilt identically"))?;
    if found.erased > 0 {
        let erased = count(found.erased as u64, "request");
        out(&format!("{erased} contained messages that were erased since, and cannot be compared"))?;
    }
    if found.unanswered > 0 {
        let unanswered = were(found.unanswered as u64, "request");
        out(&format!("{unanswered} never answered, so there is nothing to compare with"))?;
    }
    if found.outdated > 0 {
        let views = were(found.outdated as u64, "view");
        let now = if args.dry_run { "replay without --dry-run rewrites them" } else { "rewritten" };
        out(&format!("{views} written by another version of Mainpath, not compared; {now}"))?;
    }
    let (one, many) = if args.dry_run {
        let how = "replay without --dry-run";
        (format!("{how} rewrites it"), format!("{how} writes them"))
    } else {
        ("rewritten".into(), "rewritten".into())
    };
    if !found.missing.is_empty() {
        let missing = were(found.missing.len() as u64, "view");
        out(&format!("{missing} missing ({}); {many}", one_line(&found.missing.join(", "))))?;
    }
    for name in &found.wrong {
        out(&format!("differs: the view {} did not match the log; {one}", one_line(name)))?;
    }
    for line in &found.differences {
        out(&format!("differs: {}", one_line(line)))?;
    }
    match (found.wrong.len(), found.differences.len()) {
        (0, 0) => Ok(Exit::Ok),
        (wrong, others) => {
            let n = count((wrong + others) as u64, "difference");
            let now = if others == 0 && !args.dry_run { "; now they agree" } else { "" };
            Err(Failure::error(format!("{n} between the log and what was computed from it{now}")))
        }
    }
}
