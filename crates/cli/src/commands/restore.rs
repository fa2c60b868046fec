//! Files put back to what they were: `restore`, and `--files` of `rewind` and `fork`.

use crate::app::App;
use crate::args::point::PointArgs;
use crate::exit::{Exit, Failure};
use crate::runs::follow::is_attended;
use crate::ui::out::out;
use crate::ui::text::{count, number, one_line, were};
use clap::Args;
use mainpath::Logs;
use mainpath::runtime::files::{Fate, FilePlan};
use mainpath::store::StoreError;
use mainpath::trace::{FileDiff, LARGEST_COMPARED, ReadTrace, Restore, RestoreTo, Restored, file_diff};
use mainpath::types::Seq;
use mainpath::types::{FileState, TraceId};

/// What becomes of the files.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct FilesArgs {
    /// Restore files that calls have changed since [default: asks in a terminal, otherwise no]
    #[arg(long)]
    pub files: bool,
    /// Leave the files as they are
    #[arg(long, conflicts_with = "files")]
    pub no_files: bool,
    /// Also restore files that somebody else has changed since
    #[arg(long, requires = "files")]
    pub force: bool,
    /// Only show which files would change
    #[arg(long, conflicts_with = "no_files")]
    pub dry_run: bool,
}

/// `mainpath restore`
#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// The trace (its id or a unique part of it)
    pub trace: String,
    #[command(flatten)]
    pub point: PointArgs,
    /// Undo the last restore
    #[arg(long, conflicts_with_all = ["to", "turn", "goal"])]
    pub undo: bool,
    /// Only show what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Also restore files that somebody else has changed since
    #[arg(long, conflicts_with = "dry_run")]
    pub force: bool,
}

/// `mainpath restore`
pub async fn restore(args: RestoreArgs) -> Result<Exit, Failure> {
    let PointArgs { to, turn, goal } = args.point;
    if to.is_none() && turn.is_none() && goal.is_none() && !args.undo {
        return Err(Failure::usage(
            "give a message, a turn or a goal: mainpath restore TRACE --to MESSAGE, --turn N, --goal N or --undo",
        ));
    }
    let app = App::open()?;
    let trace = app.logs.find(Some(&args.trace)).await?;
    let (log, state, bodies) = app.logs.read(&trace).await?;
    let to = if args.undo { RestoreTo::BeforeLastRestore } else { RestoreTo::Point(args.point.point()) };
    let of = app.logs.of(&trace, &log, &state, &bodies);
    let Some(restore) = Restore::new(of, to, app.logs.home.protected())? else {
        return Err(Failure::error(format!("trace {trace} has no workspace")));
    };
    if args.dry_run {
        return show(&app.logs, &restore.plan().await?).await.map(|()| Exit::Ok);
    }
    held(&app.logs, &trace)?;
    let done = restore.run(app.host.runtime(), &trace, args.force).await?;
    for line in told(&done) {
        out(&line)?;
    }
    Ok(if done.is_partial() { Exit::Error } else { Exit::Ok })
}

/// What `--files` and its like ask for at a message of `from`, before `trace` goes on. True: nothing more is to be done.
pub async fn before_going_on(
    app: &App,
    trace: &TraceId,
    from: ReadTrace<'_>,
    at: Seq,
    args: FilesArgs,
    quiet: bool,
) -> Result<bool, Failure> {
    // Whether there is such a message is said whatever became of the files.
    from.reached(at)?;
    // A workspace that is gone has no files: whether the trace can go on without it is said there.
    let restore = match Restore::new(from, at.into(), app.logs.home.protected()) {
        Ok(Some(restore)) => restore,
        Ok(None) => return Ok(args.dry_run),
        Err(error) if args.files || args.dry_run => return Err(error.into()),
        Err(_) => return Ok(false),
    };
    let planned = restore.plan().await?;
    if args.dry_run {
        show(&app.logs, &planned).await?;
        return Ok(true);
    }
    // A run that goes on would find its files changed under it.
    if app.logs.store.owner(app.host.whose(), from.trace)?.is_some() && !args.files {
        return Ok(false);
    }
    let changed = planned.files.iter().filter(|plan| plan.fate != Fate::Same).count();
    if args.no_files || changed == 0 && (!args.files || planned.unseen == 0) {
        return Ok(false);
    }
    if !args.files {
        if !is_attended() {
            if !quiet {
                let them = if changed == 1 { "it" } else { "them" };
                let does = if planned.files.iter().any(|plan| plan.fate == Fate::Restore) {
                    format!("--files restores {them}")
                } else {
                    format!("--files keeps {them}, as no call changed {them}")
                };
                eprintln!("! {} changed since; {does}", were(changed as u64, "file"));
            }
            return Ok(false);
        }
        if !wanted(&app.logs, &planned, changed).await? {
            return Ok(false);
        }
    }
    held(&app.logs, from.trace)?;
    let done = restore.run(app.host.runtime(), trace, args.force).await?;
    if !quiet {
        told(&done).iter().for_each(|line| eprintln!("· {line}"));
    }
    Ok(false)
}

/// Asks the person at the terminal.
async fn wanted(logs: &Logs, planned: &Restored, changed: usize) -> Result<bool, Failure> {
    for plan in planned.files.iter().filter(|plan| plan.fate != Fate::Same) {
        eprintln!("  {}", told_of(plan, "would be "));
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
            "s" | "show" => show(logs, planned).await?,
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
fn told(done: &Restored) -> Vec<String> {
    let changed = done.files.iter().filter(|plan| plan.fate != Fate::Same);
    let mut lines: Vec<String> = changed.map(|plan| told_of(plan, "")).collect();
    lines.extend(told_besides(lines.is_empty(), done.unseen));
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

/// `before`: what stands before what is done.
fn told_of(plan: &FilePlan, before: &str) -> String {
    let path = one_line(&plan.path);
    let otherwise = if plan.otherwise { "; somebody else had changed it first" } else { "" };
    match (&plan.fate, &plan.then) {
        (Fate::Restore, FileState::Absent) => format!("{path}: {before}removed{otherwise}"),
        (Fate::Restore, _) => format!("{path}: {before}put back{otherwise}"),
        (Fate::Same, _) => format!("{path}: as it was"),
        (Fate::Foreign, _) => {
            format!("{path}: kept, because somebody else has changed it since; --force overwrites it")
        }
        (Fate::Lost(why), _) => format!("{path}: kept: {}", one_line(why)),
    }
}

/// What would change, as diffs.
async fn show(logs: &Logs, planned: &Restored) -> Result<(), Failure> {
    let changed: Vec<&FilePlan> = planned.files.iter().filter(|plan| plan.fate != Fate::Same).collect();
    for plan in &changed {
        out(&told_of(plan, "would be "))?;
        if let Some(diff) = file_diff(logs.scoped(), plan).await? {
            out(&in_lines(&plan.path, &diff))?;
        }
    }
    told_besides(changed.is_empty(), planned.unseen).iter().try_for_each(|line| out(line))
}

fn in_lines(path: &str, diff: &FileDiff) -> String {
    let (lines, more) = match diff {
        FileDiff::Bytes { now, then } => {
            let is_large = (*now).max(*then) > LARGEST_COMPARED;
            let why = if is_large { "too large to compare" } else { "not text" };
            return format!("    {why}: {} now, {} then", count(*now, "byte"), number(*then));
        }
        FileDiff::Text { lines, .. } if lines.is_empty() => return String::new(),
        FileDiff::Text { lines, more } => (lines, *more),
    };
    let head = [format!("--- {path} (now)"), format!("+++ {path} (then)")];
    let mut lines: Vec<String> = head.iter().chain(lines).map(|line| format!("    {}", one_line(line))).collect();
    if more > 0 {
        lines.push(format!("    … {}", count(more as u64, "more line")));
    }
    lines.join("\n")
}
