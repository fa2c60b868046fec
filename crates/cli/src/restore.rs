//! Files put back to what they were: `restore`, and `--files` of `rewind` and `fork`.

use crate::args::{FilesArgs, PointArgs, RestoreArgs};
use crate::browse::out;
use crate::exit::{Exit, Failure};
use crate::follow::is_attended;
use crate::rewind::point;
use crate::text::{count, number, plain, were};
use mainpath::Installation;
use mainpath::{Logs, spec_of};
use mainpath_runtime::files::{Fate, FilePlan, Then, plan, ran_unseen};
use mainpath_store::{ReadLog, Store, StoreError};
use mainpath_tools::{FileNow, Workspace};
use mainpath_types::*;
use similar::TextDiff;
use std::time::Duration;

/// Lines of one file's diff that are shown at most.
const DIFF_LINES: usize = 200;

/// `mainpath restore`
pub async fn restore(args: RestoreArgs) -> Result<Exit, Failure> {
    let PointArgs { to, turn, goal } = args.point;
    if to.is_none() && turn.is_none() && goal.is_none() && !args.undo {
        return Err(Failure::usage(
            "give a message, a turn or a goal: mainpath restore TRACE --to MESSAGE, --turn N, --goal N or --undo",
        ));
    }
    let app = Installation::open()?;
    let trace = app.logs.find(Some(&args.trace)).await?;
    let (log, state, _) = app.logs.read(&trace).await?;
    let then = if args.undo {
        let restore = log.events.iter().rev().find(|event| matches!(event.kind, EventKind::FilesRestored(_)));
        let none = || Failure::error(format!("{trace} has no restore to undo"));
        Then::Before(restore.ok_or_else(none)?.id)
    } else {
        Then::After(reached(&trace, &log, point(&trace, &log, &state, args.point)?)?)
    };
    let unseen = if args.undo { 0 } else { ran_unseen(&log.events, then) };
    let Some(files) = workspace_of(&app.logs, &log)? else {
        return Err(Failure::error(format!("trace {trace} has no workspace")));
    };
    let plans = plan(&*app.logs.store, &app.logs.scope, &files, (&log.events, then)).await?;
    if args.dry_run {
        return show(&app.logs, &plans, unseen).await.map(|()| Exit::Ok);
    }
    held(&app.logs, &trace)?;
    let done = app.runtime()?.restore(&app.logs.scope, &trace, &files, (&log.events, then), args.force).await?;
    let left = done.iter().any(|plan| !matches!(plan.fate, Fate::Restore | Fate::Same));
    for line in told(&done, unseen) {
        out(&line)?;
    }
    Ok(if left { Exit::Error } else { Exit::Ok })
}

/// The workspace of a trace. `None`: it never had one. Errors: it cannot be used.
fn workspace_of(logs: &Logs, log: &ReadLog) -> Result<Option<Workspace>, Failure> {
    let Some(spec) = spec_of(log) else { return Ok(None) };
    let bad = |error: std::io::Error| Failure::error(format!("the workspace {}: {error}", spec.workspace));
    Workspace::new(&spec.workspace, logs.home.protected()).map(Some).map_err(bad)
}

/// The event by which a message was there.
pub fn reached(trace: &TraceId, log: &ReadLog, at: Seq) -> Result<EventId, Failure> {
    mainpath_core::reached(trace, &log.events, at).map_err(|refusal| Failure::usage(refusal.to_string()))
}

/// What `--files` and its like ask for at a message of `from`, before `trace` goes on. True: nothing more is to be done.
pub async fn before_going_on(
    app: &Installation,
    (trace, from): (&TraceId, &TraceId),
    log: &ReadLog,
    at: Seq,
    args: FilesArgs,
    quiet: bool,
) -> Result<bool, Failure> {
    let then = Then::After(reached(from, log, at)?);
    let unseen = ran_unseen(&log.events, then);
    // One that is gone has no files: whether the trace can go on without it is said there.
    let workspace = match workspace_of(&app.logs, log) {
        Ok(Some(workspace)) => workspace,
        Ok(None) => return Ok(args.dry_run),
        Err(failure) if args.files || args.dry_run => return Err(failure),
        Err(_) => return Ok(false),
    };
    let plans = plan(&*app.logs.store, &app.logs.scope, &workspace, (&log.events, then)).await?;
    if args.dry_run {
        show(&app.logs, &plans, unseen).await?;
        return Ok(true);
    }
    // A run that goes on would find its files changed under it.
    if app.logs.store.owner(&app.logs.scope, from)?.is_some() && !args.files {
        return Ok(false);
    }
    let changed = plans.iter().filter(|plan| plan.fate != Fate::Same).count();
    if args.no_files || changed == 0 && (!args.files || unseen == 0) {
        return Ok(false);
    }
    if !args.files {
        if !is_attended() {
            if !quiet {
                let them = if changed == 1 { "it" } else { "them" };
                let does = if plans.iter().any(|plan| plan.fate == Fate::Restore) {
                    format!("--files restores {them}")
                } else {
                    format!("--files keeps {them}, as no call changed {them}")
                };
                eprintln!("! {} changed since; {does}", were(changed as u64, "file"));
            }
            return Ok(false);
        }
        if !wanted(&app.logs, &plans, changed, unseen).await? {
            return Ok(false);
        }
    }
    held(&app.logs, from)?;
    let done = app.runtime()?.restore(&app.logs.scope, trace, &workspace, (&log.events, then), args.force).await?;
    if !quiet {
        told(&done, unseen).iter().for_each(|line| eprintln!("· {line}"));
    }
    Ok(false)
}

/// Asks the person at the terminal.
async fn wanted(logs: &Logs, plans: &[FilePlan], changed: usize, unseen: usize) -> Result<bool, Failure> {
    for plan in plans.iter().filter(|plan| plan.fate != Fate::Same) {
        eprintln!("  {}", told_of(plan, ("would be put back", "would be removed")));
    }
    loop {
        eprint!(
            "  {} changed since: restore what calls have changed? [y]es, [n]o, [s]how: ",
            were(changed as u64, "file")
        );
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line)?;
        match line.trim() {
            "y" | "yes" => return Ok(true),
            "s" | "show" => show(logs, plans, unseen).await?,
            "n" | "no" => return Ok(false),
            _ if read == 0 => return Ok(false),
            _ => {}
        }
    }
}

/// Nothing is put back while somebody drives the trace.
pub fn held(logs: &Logs, trace: &TraceId) -> Result<(), Failure> {
    match logs.store.owner(&logs.scope, trace)? {
        Some(by) => Err(StoreError::Held { trace: trace.clone(), by }.into()),
        None => Ok(()),
    }
}

/// A line for every file that is not as it was, and of what is not known.
fn told(plans: &[FilePlan], unseen: usize) -> Vec<String> {
    let changed = plans.iter().filter(|plan| plan.fate != Fate::Same);
    let mut lines: Vec<String> = changed.map(|plan| told_of(plan, ("put back", "removed"))).collect();
    lines.extend(told_besides(lines.is_empty(), unseen));
    lines
}

/// What there is to say where nothing has changed, or nobody knows whether it has.
fn told_besides(is_same: bool, unseen: usize) -> Vec<String> {
    let same = match unseen {
        0 => "no file has changed since",
        _ => "no file that calls have written has changed since",
    };
    let commands =
        if unseen == 1 { "1 command has".into() } else { format!("{} commands have", number(unseen as u64)) };
    let unknown = format!("{commands} run since without --snapshots: other changes are not known");
    let same = Some(same.to_string()).filter(|_| is_same);
    same.into_iter().chain(Some(unknown).filter(|_| unseen > 0)).collect()
}

fn told_of(plan: &FilePlan, (back, removed): (&str, &str)) -> String {
    let path = plain(&plan.path);
    let otherwise = if plan.otherwise { "; somebody else had changed it first" } else { "" };
    match (&plan.fate, &plan.then) {
        (Fate::Restore, FileState::Absent) => format!("{path}: {removed}{otherwise}"),
        (Fate::Restore, _) => format!("{path}: {back}{otherwise}"),
        (Fate::Same, _) => format!("{path}: as it was"),
        (Fate::Foreign, _) => {
            format!("{path}: kept, because somebody else has changed it since; --force overwrites it")
        }
        (Fate::Lost(why), _) => format!("{path}: kept: {}", plain(why)),
    }
}

/// What would change, as diffs.
async fn show(logs: &Logs, plans: &[FilePlan], unseen: usize) -> Result<(), Failure> {
    let changed: Vec<&FilePlan> = plans.iter().filter(|plan| plan.fate != Fate::Same).collect();
    for plan in &changed {
        out(&told_of(plan, ("would be put back", "would be removed")))?;
        if matches!(plan.fate, Fate::Lost(_)) {
            continue;
        }
        let then = match plan.then.blob() {
            Some(hash) => logs.store.get_blob(&logs.scope, hash).await?,
            None => Vec::new(),
        };
        let then = if matches!(plan.then, FileState::Link { .. }) { link_to(&then) } else { then };
        let now = match &plan.now {
            FileNow::File { content, .. } => content.clone(),
            FileNow::Link { target } => link_to(target),
            FileNow::Absent | FileNow::Folder | FileNow::Large | FileNow::Other => Vec::new(),
        };
        out(&diff(&plan.path, &now, &then))?;
    }
    told_besides(changed.is_empty(), unseen).iter().try_for_each(|line| out(line))
}

/// A link as a diff shows it.
fn link_to(target: &[u8]) -> Vec<u8> {
    [b"a link to ", target, b"\n"].concat()
}

fn diff(path: &str, now: &[u8], then: &[u8]) -> String {
    let (Ok(now), Ok(then)) = (std::str::from_utf8(now), std::str::from_utf8(then)) else {
        let (now, then) = (count(now.len() as u64, "byte"), number(then.len() as u64));
        return format!("    not text: {now} now, {then} then");
    };
    let diff = TextDiff::configure().timeout(Duration::from_secs(1)).diff_lines(now, then);
    let text = diff.unified_diff().header(&format!("{path} (now)"), &format!("{path} (then)")).to_string();
    let mut lines: Vec<String> = text.lines().map(|line| format!("    {}", plain(line))).collect();
    if lines.len() > DIFF_LINES {
        let more = lines.len() - DIFF_LINES;
        lines.truncate(DIFF_LINES);
        lines.push(format!("    … {}", count(more as u64, "more line")));
    }
    lines.join("\n")
}
