//! Traces that wait.

use super::{mb, runtime};
use crate::Fail;
use crate::agent::Agents;
use crate::process::{folder, memory, open_files};
use crate::server::{Plan, Server};
use crate::table::Row;
use mainpath_runtime::Phase;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// 10,000 traces with conversations of 20 KB whose model does not answer.
pub fn waiting(quick: bool) -> Result<Vec<Row>, Fail> {
    // A trace that waits for its model holds a lock and a connection; a sixteenth and some files more are the store's.
    let wanted: u64 = if quick { 1_000 } else { 10_000 };
    let traces = {
        let files = open_files();
        wanted.min((files - files / 16).saturating_sub(400) / 2)
    };
    let (server, folder, tokio) = (Server::start()?, folder()?, runtime()?);
    let plan = Plan { hold: true, result: 10_000, ..Plan::turns(1) };
    let rss = tokio.block_on(async {
        let agents = Arc::new(Agents::new(folder.path())?);
        let before = memory("VmRSS:");
        begin(&agents, &server, plan, 0..traces, 10_000).await?;
        while server.held()? < traces {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok::<_, Fail>((before, memory("VmRSS:")))
    })?;
    let peak = memory("VmHWM:");
    // Nothing is answered any more: there is nothing to wait for.
    tokio.shutdown_background();
    let each = rss.1.saturating_sub(rss.0) / traces;
    let all = rss.0 + each * 10_000;
    let what = format!("{traces} traces with 20 KB conversations waiting on the model, as 10,000");
    Ok(vec![
        Row::goal(&what, "<= 512 MB", mb(all), all <= 512 << 20),
        Row::note(
            "the same, each; and the peak on the way there",
            format!("{:.1} kB; {}", each as f64 / 1e3, mb(peak)),
        ),
    ])
}

/// Traces that wait for a person.
pub fn parked(quick: bool) -> Result<Vec<Row>, Fail> {
    open_files();
    let (warm, traces): (u64, u64) = if quick { (1_000, 2_000) } else { (4_500, 10_000) };
    let (server, folder, tokio) = (Server::start()?, folder()?, runtime()?);
    let plan = Plan { ask: true, ..Plan::turns(1) };
    let rss = tokio.block_on(async {
        let agents = Arc::new(Agents::new(folder.path())?);
        let settle = || tokio::time::sleep(Duration::from_millis(2_500));
        park(&agents, &server, plan, 0..warm).await?;
        settle().await;
        let before = memory("VmRSS:");
        park(&agents, &server, plan, warm..warm + traces).await?;
        settle().await;
        Ok::<_, Fail>((before, memory("VmRSS:")))
    })?;
    let each = rss.1.saturating_sub(rss.0) as f64 / traces as f64;
    let what = format!("{traces} more parked traces, each");
    Ok(vec![Row::goal(&what, "<= 1 KiB", format!("{each:.0} B"), each <= 1024.0)])
}

async fn park(agents: &Arc<Agents>, server: &Server, plan: Plan, range: std::ops::Range<u64>) -> Result<(), Fail> {
    let range_of = range.clone();
    begin(agents, server, plan, range, 100).await?;
    for n in range_of {
        let phase = agents.rest(&format!("ours-{n}").parse()?).await?;
        if !matches!(phase, Phase::Parked(_)) {
            return Err(format!("ours-{n} is not parked but {phase:?}").into());
        }
    }
    Ok(())
}

/// Begins runs, some at a time.
async fn begin(
    agents: &Arc<Agents>,
    server: &Server,
    plan: Plan,
    range: std::ops::Range<u64>,
    bytes: usize,
) -> Result<(), Fail> {
    let some = Arc::new(Semaphore::new(64));
    let spec = agents.spec(server, plan);
    let mut tasks = tokio::task::JoinSet::new();
    for n in range {
        let permit = Arc::clone(&some).acquire_owned().await?;
        let (agents, spec) = (Arc::clone(agents), spec.clone());
        tasks.spawn(async move {
            let trace = agents.start(spec, &format!("ours-{n}"), bytes).await?;
            if !plan.hold {
                agents.rest(&trace).await?;
            }
            drop(permit);
            Ok::<_, Fail>(())
        });
        while let Some(done) = tasks.try_join_next() {
            done??;
        }
    }
    for done in tasks.join_all().await {
        done?;
    }
    Ok(())
}
