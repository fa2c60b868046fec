//! One long run.

use super::{mb, runtime, this_program};
use crate::Fail;
use crate::agent::Agents;
use crate::process::{folder, memory};
use crate::server::{Plan, Server};
use crate::table::Row;

/// 500 turns with results of 100 bytes: the log's length and the peak of memory.
pub fn long(_: bool) -> Result<Vec<Row>, Fail> {
    let (server, folder, tokio) = (Server::start()?, folder()?, runtime()?);
    let plan = Plan::turns(500);
    let log = tokio.block_on(async {
        let agents = Agents::new(folder.path())?;
        let trace = agents.run(agents.spec(&server, plan), "ours-long").await?;
        let dir = agents.store.trace_dir(&agents.scope.tenant, &trace);
        Ok::<_, Fail>(std::fs::metadata(dir.join("events.jsonl"))?.len())
    })?;
    let peak = memory("VmHWM:");
    let floor: u64 = this_program(&["__floor", "long", &server.addr.to_string(), "500"])?.trim().parse()?;
    Ok(vec![
        Row::goal("500 tool turns, results of 100 bytes: log", "< 1.5 MB", mb(log), log < 1_500_000),
        Row::goal("the same: peak of resident memory", "< 30 MB", mb(peak), peak < 30_000_000)
            .ratio(peak as f64 / floor as f64),
    ])
}
