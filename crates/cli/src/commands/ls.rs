//! `ls` and `index`: which traces there are, and where something was said.

use crate::exit::{Exit, Failure, logs};
use crate::traces::which::label;
use crate::ui::out::out;
use crate::ui::term::ink::{Face, Style};
use crate::ui::term::screen::{in_a_row, output_columns};
use crate::ui::term::width::{cut, width};
use crate::ui::text::{count, number, one_line, short, span};
use clap::{Args, Subcommand};
use mainpath::Logs;
use mainpath::index::{Hit, Index, Row};
use mainpath::listing::{ListedTrace, refreshed, rows_of_logs, stand};
use mainpath::standing::{DAMAGED, INTERRUPTED, SET_ASIDE};
use mainpath::store::StoreError;
use mainpath::types::{FinishReason, TraceId};
use mainpath::values::now;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Instant;

/// `mainpath ls`
#[derive(Args, Debug)]
pub struct LsArgs {
    /// List all traces, not only the newest 20; also those of agents that other agents started
    #[arg(short, long)]
    pub all: bool,
    /// Find messages that contain all these words, in any script
    #[arg(short, long, value_name = "WORDS")]
    pub search: Option<String>,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath index`
#[derive(Subcommand, Debug)]
pub enum IndexCommand {
    /// Rebuild the index from the logs
    Rebuild,
}

/// How many traces are shown where nothing is said.
const SHOWN: usize = 20;
/// How many places of one trace are shown.
const PLACES: usize = 3;
/// `mainpath ls`
pub async fn ls(args: LsArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    if let Some(query) = &args.search {
        return search(&logs, query, &args).await;
    }
    let most = if args.all { usize::MAX } else { SHOWN };
    let listed = refreshed(&logs).and_then(|mut index| {
        let list = |index: &Index| if args.all { index.newest(most) } else { index.newest_own(most) };
        let mut listed = list(&index)?;
        if index.reread_changed(&listed.0) {
            listed = list(&index)?;
        }
        Ok((listed, index.unlisted()?))
    });
    let ((rows, all), unlisted) = match listed {
        Ok(found) => found,
        // The index is only a cache: without it, it takes longer.
        Err(_) => (rows_of_logs(&logs, most).await?, logs.store.names(&logs.scope)?),
    };
    let shown = rows.len();
    let (rows, gone): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| logs.lost(&row.trace).is_none());
    let gone: BTreeSet<TraceId> = gone.into_iter().map(|row| row.trace).chain(unlisted).collect();
    let lost: Vec<(&TraceId, String)> = gone.iter().filter_map(|trace| Some((trace, logs.lost(trace)?))).collect();
    if all == 0 && lost.is_empty() && !args.json {
        eprintln!("no traces yet; start one with `mainpath run \"TASK\"`");
    }
    for mut row in rows {
        stand(&logs, &mut row).await;
        out(&if args.json { json_of(&row).to_string() } else { line(&row) })?;
    }
    for (trace, problem) in lost {
        let is_missing = matches!(logs.store.lost(&logs.scope, trace), Some(StoreError::LogMissing { .. }));
        let (status, words) = if is_missing { ("log_missing", "log missing") } else { ("damaged", "damaged") };
        out(&match args.json {
            true => json!({"trace_id": trace, "status": status, "problem": problem}).to_string(),
            false => format!("{trace}  {words:<16} {}", one_line(&problem)),
        })?;
    }
    if all > shown && !args.json {
        eprintln!("{} more: mainpath ls --all", number((all - shown) as u64));
    }
    Ok(Exit::Ok)
}

/// `mainpath index`
pub async fn index(command: IndexCommand) -> Result<Exit, Failure> {
    let logs = logs()?;
    let IndexCommand::Rebuild = command;
    let began = Instant::now();
    let done = Index::open(&logs.store, &logs.scope)?.rebuild()?;
    let took = span(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
    let are = if done.read == 1 { "is" } else { "are" };
    out(&format!("{} {are} in the index ({took})", count(done.read as u64, "trace")))?;
    Ok(Exit::Ok)
}

fn json_of(row: &Row) -> Value {
    json!(ListedTrace::from(row))
}

fn line(row: &Row) -> String {
    let age = span(now().saturating_sub(row.modified));
    let is_over = !matches!(row.status.as_str(), "running" | INTERRUPTED | SET_ASIDE | "waiting" | DAMAGED);
    let reason = row.reason.filter(|reason| is_over && *reason != FinishReason::Final);
    let status = match row.status.as_str() {
        SET_ASIDE => "set aside",
        status => reason.map_or(status, |reason| reason.words()),
    };
    let turns = if row.turns == 1 { "turn " } else { "turns" };
    let task = short(&label(row), 60);
    match output_columns() {
        // The task is what people know it by: it gets the room that there is.
        Some(_) => in_a_row(&format!("{}  {status:<11} {:>3} {turns} {age:>7}  {task}", row.trace, row.turns)),
        None => format!("{}  {status:<16} {:>3} {turns}  {age:>8} ago  {task}", row.trace, row.turns),
    }
}

async fn search(logs: &Logs, query: &str, args: &LsArgs) -> Result<Exit, Failure> {
    // Where no index can be kept, every log is read for the search.
    let mut index = Index::up_to_date(&logs.store, &logs.scope)?;
    let most = if args.all { usize::MAX } else { SHOWN * 100 };
    let mut hits = index.search(query, most, None)?;
    let rows: Vec<Row> = hits.iter().map(|hit| hit.row.clone()).collect();
    if index.reread_changed(&rows) {
        hits = index.search(query, most, None)?;
    }
    for hit in &mut hits {
        stand(logs, &mut hit.row).await;
    }
    if args.json {
        for hit in &hits {
            let Hit { row, seq, role, shown } = hit;
            let text = format!("{}{}{}", shown.before, shown.found, shown.after);
            let place = json!({"seq": seq, "role": role, "text": text, "found": shown.found});
            let mut line = json_of(row);
            line.as_object_mut().map(|line| line.insert("hit".into(), place));
            out(&line.to_string())?;
        }
        return Ok(if hits.is_empty() { Exit::Error } else { Exit::Ok });
    }
    if hits.is_empty() {
        return Err(Failure::error(format!("no message contains {query:?}")));
    }
    let face = Face::of_output();
    let mut shown = 0;
    let mut of: Option<&TraceId> = None;
    let mut places = 0;
    for (at, hit) in hits.iter().enumerate() {
        if of != Some(&hit.row.trace) {
            if shown == SHOWN && !args.all {
                eprintln!("more of them: mainpath ls --search --all");
                break;
            }
            (of, places, shown) = (Some(&hit.row.trace), 0, shown + 1);
            out(&line(&hit.row))?;
        }
        places += 1;
        if places <= PLACES {
            let (before, found, after) =
                (one_line(&hit.shown.before), one_line(&hit.shown.found), one_line(&hit.shown.after));
            let head = format!("    #{} {}: {before}", hit.seq, hit.role);
            let room = output_columns().unwrap_or(usize::MAX).saturating_sub(width(&head) + width(&found));
            out(&match room {
                0 => in_a_row(&format!("{head}{found}{after}")),
                _ => format!("{head}{}{}", face.paint(Style::BOLD, &found), cut(&after, room)),
            })?;
        }
        let is_last = hits.get(at + 1).is_none_or(|next| next.row.trace != hit.row.trace);
        if is_last && places > PLACES {
            out(&format!("    and {} more", places - PLACES))?;
        }
    }
    Ok(Exit::Ok)
}
