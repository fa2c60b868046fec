//! Looking back on a run that has ended, where the configuration wants it.

use crate::app::App;
use crate::args::output::OutputArgs;
use crate::exit::Failure;
use crate::runs::signals::Signals;
use crate::ui::text::plain;
use mainpath::experience::{Experiences, KNOWLEDGE_SAVE, reflected_trace};
use mainpath::runtime::run_stats::runs;
use mainpath::types::TraceId;
use std::collections::BTreeSet;

/// Has the agent of a run that has ended look back on it, if the configuration says so and the run did anything. What goes wrong is told
/// and is no failure of the run.
pub async fn reflect_after(app: &App, trace: &TraceId, output: &OutputArgs) {
    if !app.logs.home.config.experience.reflect || reflected_trace(trace) != *trace {
        return;
    }
    if let Err(Failure { message, .. }) = reflected(app, trace, output).await
        && !output.json
    {
        eprintln!("! no reflection: {}", plain(&message));
    }
}

async fn reflected(app: &App, trace: &TraceId, output: &OutputArgs) -> Result<(), Failure> {
    let (log, state, _) = app.logs.read(trace).await?;
    // A question that was just answered teaches nothing that is worth a request.
    let did_nothing = runs(trace, &log.events).last().is_none_or(|run| run.counts.tools.is_empty());
    if state.run.is_some() || did_nothing {
        return Ok(());
    }
    let before = ids(known(app)?)?;
    let mut signals = Signals::listen()?;
    let new = app.host.reflection(trace, None).await?;
    if !output.json {
        eprintln!("· reflecting on the run: {new}");
    }
    let of = app.host.trace(&new).await?;
    of.drive().await?;
    loop {
        tokio::select! {
            // It asks nobody: whatever it would wait for is denied.
            () = of.wait_until_idle() => break,
            _ = signals.next() => of.stop().await?,
        }
    }
    if let Some(problem) = of.problem() {
        return Err(Failure::error(problem));
    }
    app.logs.write_views(&new).await?;
    if !output.json {
        told(app, &new, &before).await?;
    }
    Ok(())
}

/// Returns the experiences. Errors: this host stores none.
pub fn known(app: &App) -> Result<&Experiences, Failure> {
    let known = app.host.experiences().map(|known| &**known);
    known.ok_or_else(|| Failure::error("this host stores no experiences"))
}

/// The ids of all entries.
pub fn ids(known: &Experiences) -> Result<BTreeSet<String>, Failure> {
    let contents = known.all().map_err(mainpath::Error::from)?;
    Ok(contents.entries.into_iter().map(|placed| placed.entry.id).collect())
}

/// Tells a person what a reflection has kept since.
pub async fn told(app: &App, reflection: &TraceId, before: &BTreeSet<String>) -> Result<(), Failure> {
    let contents = known(app)?.all().map_err(mainpath::Error::from)?;
    let new: Vec<_> = contents.entries.iter().filter(|placed| !before.contains(&placed.entry.id)).collect();
    if new.is_empty() {
        let (log, ..) = app.logs.read(reflection).await?;
        let runs = runs(reflection, &log.events);
        let saved = runs.last().and_then(|run| run.counts.tools.get(KNOWLEDGE_SAVE));
        eprintln!(
            "{}",
            match saved.is_some_and(|saved| saved.ok > 0) {
                true => "· nothing new was kept: all of it was known already",
                false => "· nothing was kept",
            }
        );
    }
    for placed in new {
        let waits = if placed.entry.is_accepted() { "" } else { " (waits for you: mainpath experience review)" };
        eprintln!("· kept {}{waits}", placed.entry.id);
    }
    Ok(())
}
