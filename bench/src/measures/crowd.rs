//! Many runs at once.

use super::{mb, ms, runtime, this_program};
use crate::Fail;
use crate::agent::Agents;
use crate::process::{cpu, folder, memory, now, open_files};
use crate::server::{Plan, Server};
use crate::table::Row;
use std::sync::Arc;

/// Turns of a run: ten with a call, and the final answer.
const TURNS: f64 = 11.0;
const DELAY: u64 = 200;

/// 1,000 runs at once, a model that takes 200 ms, log synced.
pub fn crowd(quick: bool) -> Result<Vec<Row>, Fail> {
    open_files();
    let runs: u32 = if quick { 300 } else { 1_000 };
    let (server, folder, tokio) = (Server::start()?, folder()?, runtime()?);
    let plan = Plan { delay: DELAY, ..Plan::turns(10) };
    let (wall, worked, syncs) = tokio.block_on(async {
        let agents = Arc::new(Agents::new(folder.path())?);
        let spec = agents.spec(&server, plan);
        let (began, worked) = (now(), cpu());
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..runs {
            let (agents, spec) = (Arc::clone(&agents), spec.clone());
            tasks.spawn(async move { agents.run(spec, &format!("ours-{n}")).await });
        }
        for done in tasks.join_all().await {
            done?;
        }
        Ok::<_, Fail>((now() - began, cpu() - worked, agents.disk.syncs()))
    })?;
    let peak = memory("VmHWM:");
    let words = ["__floor", "crowd", &server.addr.to_string(), &runs.to_string(), &DELAY.to_string()];
    let (floor_wall, floor_worked, floor_peak): (u64, u64, u64) = serde_json::from_str(&this_program(&words)?)?;
    let turns = f64::from(runs) * TURNS;
    let per_turn = worked as f64 / turns;
    let what = format!("{runs} runs at once, 10 turns and an answer, model 200 ms: wall");
    Ok(vec![
        Row::goal(&what, "<= 3.5 s", format!("{:.2} s", wall as f64 / 1e9), wall as f64 <= 3.5e9)
            .ratio(wall as f64 / floor_wall as f64),
        Row::goal("the same: processor time per turn", "<= 0.15 ms", ms(per_turn), per_turn <= 0.15e6)
            .ratio(worked as f64 / floor_worked as f64),
        Row::goal("the same: peak of resident memory", "<= 120 MB", mb(peak), peak <= 120_000_000)
            .ratio(peak as f64 / floor_peak as f64),
        Row::note("the same: syncs per turn, all runs together", format!("{:.3}", syncs as f64 / turns)),
    ])
}
