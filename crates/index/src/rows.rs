//! The list of traces: its rows, newest first.

use crate::sum::Sum;
use crate::tables::{mark, signed, unsigned};
use crate::{Below, Row, Wanted};
use rusqlite::{Connection, Result, Statement, params};

/// The agents of a trace, theirs and so on: what it asked others to look back on or to grade is no work of its own.
macro_rules! below {
    () => {
        "trace AS below WHERE below.id > trace.id || '@' AND below.id < trace.id || 'A' \
         AND below.id NOT GLOB '*@reflect-*' AND below.id NOT GLOB '*@grade-*'"
    };
}

/// The columns that [`row`] reads, and how many they are.
pub(crate) const WIDTH: usize = 15;
pub(crate) const COLUMNS: &str = concat!(
    "trace.id, trace.created, trace.modified, trace.status, trace.reason, trace.turns, trace.tokens, trace.cost, \
     trace.about, trace.model, trace.workspace, trace.task, trace.name, trace.agent, \
     CASE trace.status WHEN 'waiting' THEN \
     (SELECT coalesce(group_concat(CASE below.status WHEN 'running' THEN below.id END, ' '), '') FROM ",
    below!(),
    " HAVING count(*) > 0) END"
);

/// Where a trace stands by its log and by those of its agents: what waits for agents that run runs itself.
const STANDS: &str = concat!(
    "CASE WHEN trace.status = 'waiting' AND EXISTS(SELECT 1 FROM ",
    below!(),
    " AND below.status = 'running') THEN 'running' ELSE trace.status END"
);

/// Whether a trace waits, or one of its agents does.
const MAY_ASK: &str = concat!(
    "(trace.status = 'waiting' OR trace.status = 'running' AND EXISTS(SELECT 1 FROM ",
    below!(),
    " AND below.status = 'waiting'))"
);

pub(crate) fn row(row: &rusqlite::Row<'_>) -> Result<Row> {
    let number = |at: usize| row.get(at).map(unsigned);
    let name: String = row.get(0)?;
    let trace = name.parse().map_err(|_| rusqlite::Error::InvalidColumnType(0, name, rusqlite::types::Type::Text))?;
    let reason: Option<String> = row.get(4)?;
    let reason = reason.and_then(|reason| serde_json::from_value(reason.into()).ok());
    let below: Option<String> = row.get(14)?;
    let below = below.map(|ids| Below { running: ids.split(' ').filter_map(|id| id.parse().ok()).collect() });
    let runs_below = below.as_ref().is_some_and(|below| !below.running.is_empty());
    Ok(Row {
        trace,
        created: number(1)?,
        modified: number(2)?,
        status: if runs_below { "running".into() } else { row.get(3)? },
        reason,
        turns: row.get(5)?,
        tokens: number(6)?,
        cost: number(7)?,
        about: row.get(8)?,
        model: row.get(9)?,
        workspace: row.get(10)?,
        task: row.get(11)?,
        name: row.get(12)?,
        agent: row.get(13)?,
        below,
    })
}

/// The names of traces that belong to others; see [`TraceId::parent`](mainpath_types::TraceId::parent).
const OWN: &str = "(instr(id, '@') = 0 OR id NOT GLOB '*@delegate-[0-9]*' AND id NOT GLOB '*@explore-[0-9]*' \
                   AND id NOT GLOB '*@evaluate-[0-9]*' AND id NOT GLOB '*@grade-[0-9]*' AND id NOT GLOB '*@reflect-[0-9]*')";

/// The newest of the traces that belong to no other, and how many traces there are in all.
pub(crate) fn newest_own(db: &Connection, most: usize) -> Result<(Vec<Row>, usize)> {
    let own = db.prepare(&format!("SELECT {COLUMNS} FROM trace WHERE {OWN} ORDER BY modified DESC, id LIMIT ?1"))?;
    rows_and_all(db, own, most)
}

pub(crate) fn newest(db: &Connection, most: usize) -> Result<(Vec<Row>, usize)> {
    let all = db.prepare(&format!("SELECT {COLUMNS} FROM trace ORDER BY modified DESC, id LIMIT ?1"))?;
    rows_and_all(db, all, most)
}

/// A part of the list.
pub(crate) fn page(db: &Connection, wanted: &Wanted) -> Result<Vec<Row>> {
    let Wanted { most, after, may_ask, status, agent, tool, since, until, with_children } = wanted;
    let own = if *with_children { "1" } else { OWN };
    let mut query = db.prepare(&format!(
        "SELECT {COLUMNS} FROM trace WHERE {own} AND (?1 IS NULL OR modified < ?1 OR (modified = ?1 AND id > ?2))
         AND (?3 IS NULL OR {STANDS} = ?3) AND (?4 IS NULL OR agent = ?4)
         AND (?6 IS NULL OR modified >= ?6) AND (?7 IS NULL OR modified < ?7)
         AND (?8 IS NULL OR EXISTS(SELECT 1 FROM step WHERE step.trace = trace.n AND step.tool = ?8))
         AND (NOT ?9 OR {MAY_ASK})
         ORDER BY modified DESC, id LIMIT ?5"
    ))?;
    let most = i64::try_from(*most).unwrap_or(i64::MAX);
    let at = after.as_ref().map(|after| signed(after.modified));
    let id = after.as_ref().map(|after| after.trace.as_str());
    query
        .query_map(params![at, id, status, agent, most, since.map(signed), until.map(signed), tool, may_ask], row)?
        .collect()
}

fn rows_and_all(db: &Connection, mut query: Statement<'_>, most: usize) -> Result<(Vec<Row>, usize)> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows: Vec<Row> = query.query_map([most], row)?.collect::<Result<_>>()?;
    // Counting them takes as long as all the rest.
    let all = match Sum::parse(&mark(db, "names")?) {
        Some(kept) => kept.count,
        None => {
            let all: i64 = db.query_row("SELECT COUNT(*) FROM trace", [], |row| row.get(0))?;
            usize::try_from(all).unwrap_or(0)
        }
    };
    Ok((rows, all))
}
