//! Two traces beside each other: what they have in common, where they part, and what each used.

use crate::exit::{Exit, Failure};
use crate::runs::attach::sizes;
use crate::ui::out::out;
use crate::ui::said::{body, role};
use crate::ui::term::screen::output_columns;
use crate::ui::text::{count, money, number, one_line, short, span, wrapped};
use mainpath::Logs;
use mainpath::core::{Bodies, CallState, NodeKind, State};
use mainpath::runtime::Hydrated;
use mainpath::types::{EventKind, Micros, Resolution, Seq, TraceId, Usage};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Lines of a message that are shown at most.
const MOST_LINES: usize = 16;
/// Messages in a row that both have are named up to so many.
const MOST_COMMON: usize = 6;
/// The width of the names of figures.
const NAMES: usize = 14;

/// A message of a main path.
struct Said {
    seq: Seq,
    who: &'static str,
    text: String,
}

/// One of the two.
struct Side {
    name: char,
    trace: TraceId,
    status: String,
    model: String,
    path: Vec<Said>,
    figures: Vec<(&'static str, String)>,
    /// The trace and message that it is a fork of.
    forked: Option<(TraceId, Seq)>,
}

/// `mainpath show --diff A B`
pub async fn compare(logs: &Logs, a: &str, b: &str) -> Result<Exit, Failure> {
    let (a, b) = (side(logs, 'A', a).await?, side(logs, 'B', b).await?);
    for side in [&a, &b] {
        let fork = side.forked.as_ref().map(|(from, at)| match [&a, &b].iter().find(|other| other.trace == *from) {
            Some(other) => format!("a fork of {} at #{at}", other.name),
            None => format!("a fork of {from} at #{at}"),
        });
        out(&format!("{}  {}  {}", side.name, side.trace, side.status))?;
        std::iter::once(&side.model).chain(&fork).try_for_each(|line| out(&format!("   {line}")))?;
    }
    let width = width();
    let keys = |side: &Side| side.path.iter().map(|said| (said.who, said.text.clone())).collect::<Vec<_>>();
    let ops = capture_diff_slices(Algorithm::Myers, &keys(&a), &keys(&b));
    if ops.iter().all(|op| matches!(op, DiffOp::Equal { .. })) {
        out("\nthe main paths are identical")?;
    }
    for op in ops {
        let (of_a, of_b) = (op.old_range(), op.new_range());
        let (old, new) = (a.path.get(of_a).unwrap_or_default(), b.path.get(of_b).unwrap_or_default());
        if let DiffOp::Equal { .. } = op {
            common(old, width)?;
            continue;
        }
        for (side, said) in [(&a, old), (&b, new)] {
            for one in said {
                message(side.name, one, width)?;
            }
        }
    }
    figures(&a, &b)?;
    Ok(Exit::Ok)
}

async fn side(logs: &Logs, name: char, wanted: &str) -> Result<Side, Failure> {
    let trace = logs.find_anywhere(Some(wanted)).await?;
    let is_driven = logs.is_driven(&trace)?;
    let (log, state, bodies) = logs.read(&trace).await?;
    let mut whole = Hydrated::new(&bodies);
    let mut nodes: Vec<_> = state.tree.up(state.tree.head).filter(|(_, node)| node.kind != NodeKind::Cut).collect();
    nodes.reverse();
    for (_, node) in &nodes {
        // One whose blob is gone is named by it.
        let _ = whole.load(logs.scoped(), node.event).await;
    }
    let sizes = sizes(logs, &log.events).await;
    let said = |seq: Seq, kind, event| Said { seq, who: role(kind), text: body(&state, &whole, &sizes, kind, event) };
    let path = nodes.iter().map(|(seq, node)| said(*seq, node.kind, node.event)).collect();
    let spec = log.events.iter().rev().find_map(|event| match &event.kind {
        EventKind::SpecChanged(data) => Some(data.spec.model.as_str()),
        _ => None,
    });
    let forked = log.events.iter().rev().find_map(|event| match &event.kind {
        EventKind::Forked(data) => Some((data.from.clone(), data.at)),
        _ => None,
    });
    let reason = state.ended.reason.map(|reason| format!(" ({})", reason.words())).unwrap_or_default();
    let status = format!("{}{reason}", logs.standing(&log, &state, is_driven).await);
    let model = one_line(spec.unwrap_or("no model yet"));
    let figures = counted(&state, &bodies);
    Ok(Side { name, trace, status, model, path, figures, forked })
}

/// What the answers and calls of the main path used, and what the trace has spent in all.
fn counted(state: &State, bodies: &dyn Bodies) -> Vec<(&'static str, String)> {
    let (mut turns, mut calls, mut failed) = (0_u64, 0_u64, 0_u64);
    let (mut usage, mut cost, mut took) = (Usage::default(), 0, 0);
    for (_, node) in state.tree.up(state.tree.head) {
        match (node.kind, bodies.get(node.event)) {
            (NodeKind::Assistant { .. }, Some(EventKind::ModelFinished(data))) => {
                turns += 1;
                usage += data.usage;
                cost = data.cost.saturating_add(cost);
                took = data.elapsed_ms.saturating_add(took);
            }
            (NodeKind::Result(call), resolved) => {
                let ran_well = state.calls.get(call).is_some_and(|call| call.state == CallState::Done(Resolution::Ok));
                calls += 1;
                failed += u64::from(!ran_well);
                if let Some(EventKind::CallResolved(data)) = resolved {
                    took = data.elapsed_ms.saturating_add(took);
                }
            }
            _ => {}
        }
    }
    let about = if state.spent.about { "about " } else { "" };
    let spent = format!("{about}{} tokens{}", number(state.spent.usage.total()), priced(state.spent.cost));
    vec![
        ("turns", number(turns)),
        ("calls", if failed == 0 { number(calls) } else { format!("{} ({failed} not ok)", number(calls)) }),
        ("tokens in", number(usage.input)),
        ("tokens out", number(usage.output)),
        ("cost", if cost == 0 { "-".into() } else { money(cost) }),
        ("working time", span(took)),
        ("total", spent),
    ]
}

fn priced(cost: Micros) -> String {
    if cost == 0 { String::new() } else { format!(", {}", money(cost)) }
}

fn common(said: &[Said], width: usize) -> Result<(), Failure> {
    out(&format!("\n  {} in common", count(said.len() as u64, "message")))?;
    let left_out = said.len().saturating_sub(MOST_COMMON);
    for (at, one) in said.iter().enumerate() {
        // Of many the first and the last are shown.
        if left_out > 0 && at == MOST_COMMON / 2 {
            out(&format!("  … {} more", left_out))?;
        }
        if left_out > 0 && (MOST_COMMON / 2..said.len() - MOST_COMMON / 2).contains(&at) {
            continue;
        }
        let head = format!("  #{} {}  ", one.seq, one.who);
        let lines = wrapped(&short(&one.text, width), width.saturating_sub(head.chars().count() + 1));
        let more = if lines.len() > 1 { "…" } else { "" };
        out(&format!("{head}{}{more}", lines.first().map_or("", String::as_str)))?;
    }
    Ok(())
}

fn message(name: char, said: &Said, width: usize) -> Result<(), Failure> {
    out(&format!("\n{name} #{} {}", said.seq, said.who))?;
    let mut lines = wrapped(&said.text, width - 3);
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES + 1;
        lines.truncate(MOST_LINES - 1);
        lines.push(format!("… {}", count(more as u64, "more line")));
    }
    lines.iter().try_for_each(|line| out(format!("{name}  {line}").trim_end()))
}

fn figures(a: &Side, b: &Side) -> Result<(), Failure> {
    let widest = a.figures.iter().map(|(_, figure)| figure.chars().count()).max().unwrap_or(0).max(8);
    out(&format!("\n{:NAMES$}{:>widest$}  {:>widest$}", "main path", "A", "B"))?;
    for ((what, of_a), (_, of_b)) in a.figures.iter().zip(&b.figures) {
        out(&format!("{what:NAMES$}{of_a:>widest$}  {of_b:>widest$}"))?;
    }
    Ok(())
}

/// The columns of the terminal; 80 where there is none.
fn width() -> usize {
    output_columns().filter(|columns| *columns >= 20).map_or(80, |columns| columns.min(160))
}
