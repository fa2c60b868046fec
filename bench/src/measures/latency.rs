//! From an answer's last byte to the next request.

use super::{alone, ms};
use crate::Fail;
use crate::agent::Agents;
use crate::floor::{self, Syncs};
use crate::process::folder;
use crate::server::{Plan, Seen, Server};
use crate::stats::{median, quantile};
use crate::table::Row;
use std::collections::HashMap;

/// What the server saw, by run.
type Runs = HashMap<String, Seen>;

/// Runs of Mainpath and of the floor by turns, so that whatever else the machine does meets both. Gives what the server saw
/// of each, and how many syncs a turn took.
fn side_by_side(plan: Plan, runs: u32) -> Result<(Runs, Runs, f64), Fail> {
    let server = Server::start()?;
    let folder = folder()?;
    let tokio = alone()?;
    let agents = tokio.block_on(async { Agents::new(folder.path()) })?;
    let mut syncs = 0;
    for n in 0..=runs {
        // The first pair warms up.
        let kind = if n == 0 { "warm" } else { "run" };
        let before = agents.disk.syncs();
        let spec = agents.spec(&server, plan);
        tokio.block_on(agents.run(spec, &format!("ours-{kind}-{n}")))?;
        syncs = agents.disk.syncs() - before;
        let name = format!("floor-{kind}-{n}");
        tokio.block_on(floor::run(server.addr, plan, &name, folder.path(), Syncs::Here))?;
    }
    // Three more than the turns: the spec, the task, the final answer.
    let per_turn = syncs.saturating_sub(3) as f64 / f64::from(plan.turns);
    Ok((server.seen("ours-run")?, server.seen("floor-run")?, per_turn))
}

fn floats<'a>(values: impl IntoIterator<Item = &'a u64>) -> Vec<f64> {
    values.into_iter().map(|value| *value as f64).collect()
}

/// 20 turns, log synced.
pub fn latency(quick: bool) -> Result<Vec<Row>, Fail> {
    let (ours, floor, syncs) = side_by_side(Plan::turns(20), if quick { 15 } else { 60 })?;
    let all = |seen: &Runs| floats(seen.values().flat_map(|seen| &seen.first));
    let (ours, floor) = (all(&ours), all(&floor));
    let (p50, floor50) = (median(&ours), median(&floor));
    let (p90, floor90) = (quantile(&ours, 0.9), quantile(&floor, 0.9));
    Ok(vec![
        Row::goal("last byte of a response to the next request, p50", "<= 0.3 ms", ms(p50), p50 <= 0.3e6),
        Row::goal("the same against the floor", "<= 3 x", format!("floor {}", ms(floor50)), p50 <= 3.0 * floor50)
            .ratio(p50 / floor50),
        Row::note("the same, p90", format!("{}, floor {}", ms(p90), ms(floor90))).ratio(p90 / floor90),
        Row::goal("syncs per turn with one call", "<= 2", format!("{syncs:.2}"), syncs <= 2.0),
    ])
}

/// Turn 1,000 against turn 10, each the median of the 40 turns around it.
pub fn growth(quick: bool) -> Result<Vec<Row>, Fail> {
    let (ours, floor, syncs) = side_by_side(Plan::turns(1_020), if quick { 1 } else { 4 })?;
    let around = |seen: &Runs, pick: fn(&Seen) -> &Vec<u64>, from: usize| {
        median(&floats(seen.values().flat_map(|seen| pick(seen).iter().skip(from).take(40))))
    };
    let pair = |seen: &Runs, pick| (around(seen, pick, 5), around(seen, pick, 980));
    let (first, floor_first) = (pair(&ours, |seen| &seen.first), pair(&floor, |seen| &seen.first));
    let (whole, floor_whole) = (pair(&ours, |seen| &seen.whole), pair(&floor, |seen| &seen.whole));
    let bytes = ours.values().map(|seen| seen.bytes).max().unwrap_or(0);
    // What the floor takes longer is the bytes of the request: it does nothing else that grows.
    let own = (whole.1 - (floor_whole.1 - floor_whole.0).max(0.0)) / whole.0;
    let from_to = |(a, b): (f64, f64)| format!("{} to {}", ms(a), ms(b));
    Ok(vec![
        Row::goal(
            "turn 1,000 against turn 10, to the request's first byte",
            "<= 1.3 x",
            format!("{:.2} x ({})", first.1 / first.0, from_to(first)),
            first.1 <= 1.3 * first.0,
        )
        .ratio(first.1 / floor_first.1),
        Row::goal(
            "the same, to its last byte, without what the floor grows by",
            "<= 1.3 x",
            format!("{own:.2} x ({})", from_to(whole)),
            own <= 1.3,
        )
        .ratio(whole.1 / floor_whole.1),
        Row::note(
            "the floor, to its last byte",
            format!(
                "{:.2} x ({}), {:.0} kB a request",
                floor_whole.1 / floor_whole.0,
                from_to(floor_whole),
                bytes as f64 / 1e3
            ),
        ),
        Row::goal("syncs per turn over 1,020 turns", "<= 2", format!("{syncs:.3}"), syncs <= 2.0),
    ])
}
