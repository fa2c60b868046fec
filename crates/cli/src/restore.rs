//! Files put back to what they were: `restore`, and `--files` of `rewind` and `fork`.

use crate::app::App;
use crate::args::{FilesArgs, PointArgs, RestoreArgs};
use crate::browse::out;
use crate::exit::{Exit, Failure};
use crate::follow::is_attended;
use crate::logs::Logs;
use crate::rewind::point;
use crate::run::spec_of;
use crate::text::{count, number, plain, were};
use mainpath_runtime::files::{Fate, FilePlan, plan};
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
        return Err(Failure::usage("to when? mainpath restore TRACE --to MESSAGE, --turn N, --goal N or --undo"));
    }
    let app = App::open()?;
    let trace = app.logs.find(Some(&args.trace)).await?;
    let (log, state, _) = app.logs.read(&trace).await?;
    let to = if args.undo {
        let restore = log.events.iter().rev().find(|event| matches!(event.kind, EventKind::FilesRestored(_)));
        restore.ok_or_else(|| Failure::error(format!("no files of {trace} were ever put back")))?.id - 1
    } else {
        reached(&trace, &log, point(&trace, &log, &state, args.point)?)?
    };
    let Some(files) = workspace_of(&app.logs, &log)? else {
        return Err(Failure::error(format!("trace {trace} never had a workspace")));
    };
    let plans = plan(&*app.logs.store, &app.logs.scope, &files, &log.events, to).await?;
    if args.dry_run {
        return show(&app.logs, &plans).await.map(|()| Exit::Ok);
    }
    held(&app.logs, &trace)?;
    let done = app.runtime()?.restore(&app.logs.scope, &trace, &files, (&log.events, to), args.force).await?;
    let left = done.iter().any(|plan| !matches!(plan.fate, Fate::Restore | Fate::Same));
    for line in told(&done) {
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
    app: &App,
    (trace, from): (&TraceId, &TraceId),
    log: &ReadLog,
    at: Seq,
    args: FilesArgs,
    quiet: bool,
) -> Result<bool, Failure> {
    let to = reached(from, log, at)?;
    // One that is gone has no files: whether the trace can go on without it is said there.
    let workspace = match workspace_of(&app.logs, log) {
        Ok(Some(workspace)) => workspace,
        Ok(None) => return Ok(args.dry_run),
        Err(failure) if args.files || args.dry_run => return Err(failure),
        Err(_) => return Ok(false),
    };
    let plans = plan(&*app.logs.store, &app.logs.scope, &workspace, &log.events, to).await?;
    if args.dry_run {
        show(&app.logs, &plans).await?;
        return Ok(true);
    }
    // A run that goes on would find its files changed under it.
    if app.logs.store.owner(&app.logs.scope, from)?.is_some() && !args.files {
        return Ok(false);
    }
    let changed = plans.iter().filter(|plan| plan.fate != Fate::Same).count();
    if changed == 0 || args.no_files {
        return Ok(false);
    }
    if !args.files {
        if !is_attended() {
            if !quiet {
                let them = if changed == 1 { "it" } else { "them" };
                eprintln!("! {} changed since; --files puts {them} back", were(changed as u64, "file"));
            }
            return Ok(false);
        }
        if !wanted(&app.logs, &plans, changed).await? {
            return Ok(false);
        }
    }
    held(&app.logs, from)?;
    let done = app.runtime()?.restore(&app.logs.scope, trace, &workspace, (&log.events, to), args.force).await?;
    if !quiet {
        told(&done).iter().for_each(|line| eprintln!("· {line}"));
    }
    Ok(false)
}

/// Asks the person at the terminal.
async fn wanted(logs: &Logs, plans: &[FilePlan], changed: usize) -> Result<bool, Failure> {
    for plan in plans.iter().filter(|plan| plan.fate != Fate::Same) {
        eprintln!("  {}", told_of(plan, ("would be put back", "would be removed")));
    }
    loop {
        eprint!(
            "  {} changed since: put back what calls have changed? [y]es, [n]o, [s]how: ",
            were(changed as u64, "file")
        );
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line)?;
        match line.trim() {
            "y" | "yes" => return Ok(true),
            "s" | "show" => show(logs, plans).await?,
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

/// A line for every file that is not as it was.
fn told(plans: &[FilePlan]) -> Vec<String> {
    let lines: Vec<String> = plans
        .iter()
        .filter(|plan| plan.fate != Fate::Same)
        .map(|plan| told_of(plan, ("put back", "removed")))
        .collect();
    if lines.is_empty() { vec!["every file is as it was then".into()] } else { lines }
}

fn told_of(plan: &FilePlan, (back, removed): (&str, &str)) -> String {
    let path = plain(&plan.path);
    match (&plan.fate, &plan.then) {
        (Fate::Restore, FileState::Absent) => format!("{path}: {removed}"),
        (Fate::Restore, _) => format!("{path}: {back}"),
        (Fate::Same, _) => format!("{path}: as it was"),
        (Fate::Foreign, _) => {
            format!("{path}: left, as somebody else has changed it since; --force overwrites it")
        }
        (Fate::Lost(why), _) => format!("{path}: left: {}", plain(why)),
    }
}

/// What would change, as diffs.
async fn show(logs: &Logs, plans: &[FilePlan]) -> Result<(), Failure> {
    let mut any = false;
    for plan in plans.iter().filter(|plan| plan.fate != Fate::Same) {
        any = true;
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
    if any { Ok(()) } else { out("every file is as it was then") }
}

/// A link as a diff shows it.
fn link_to(target: &[u8]) -> Vec<u8> {
    [b"a link to ", target, b"\n"].concat()
}

fn diff(path: &str, now: &[u8], then: &[u8]) -> String {
    let (Ok(now), Ok(then)) = (std::str::from_utf8(now), std::str::from_utf8(then)) else {
        let (now, then) = (count(now.len() as u64, "byte"), number(then.len() as u64));
        return format!("    no text: {now} now, {then} then");
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
