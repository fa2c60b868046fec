//! What every run of a person has in common: its servers, its announcement, whoever follows it.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::args::output::OutputArgs;
use crate::exit::{Exit, Failure};
use crate::runs::follow::{Follow, is_attended};
use crate::runs::reflect::reflect_after;
use crate::runs::signals::Signals;
use crate::runs::task::unknown;
use crate::ui::term::screen;
use crate::ui::text::{one_line, plain};
use mainpath::mcp::Configured;
use mainpath::servers;
use mainpath::types::TraceId;
use mainpath::{Error, Host};
use std::future::pending;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Connects to the MCP servers of a workspace, within the time limit of the run.
pub async fn connect(
    app: &App,
    workspace: &Path,
    args: &AgentArgs,
    limit: Option<Duration>,
    output: &OutputArgs,
) -> Result<(), Failure> {
    let tell = |line: &str| eprintln!("! {}", plain(line));
    let approves = is_attended().then_some(approves as servers::Approves);
    let ends = ends(limit, output.is_chat);
    servers::connect(&app.host, workspace, args.mcp_config.as_deref(), approves, ends, tell).await
}

/// Waits for what ends a run that waits for its servers: its time limit, and signals, unless the system ends the process at those.
pub async fn ends(limit: Option<Duration>, hears: bool) -> Failure {
    let signalled = async {
        match hears.then(Signals::listen) {
            Some(Ok(mut signals)) => drop(signals.next().await),
            Some(Err(_)) | None => pending().await,
        }
    };
    let time_is_up = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => pending().await,
        }
    };
    let (exit, what) = tokio::select! {
        () = signalled => (Exit::Interrupted, "interrupted".into()),
        () = time_is_up => (Exit::Limit, format!("the time limit ({:?}) was reached", limit.unwrap_or_default())),
    };
    let message = format!(
        "{what} while MCP servers were starting, so nothing was run; mainpath mcp list shows which of them does not answer"
    );
    Failure { exit, message }
}

/// Asks at the terminal about an MCP server that waits for an approval.
pub fn approves(server: &Configured) -> Result<bool, Error> {
    let _alone = screen::pause();
    eprintln!("? {} lists an MCP server that agents would start: {}", server.file.display(), one_line(&server.name));
    server.described().lines().for_each(|line| eprintln!("  │ {}", one_line(line)));
    eprint!("  approve it? [y]es, [n]o: ");
    let _ = std::io::stderr().flush();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Stays with a run, and tells it when the tools of its servers change.
pub async fn follow(follow: Follow<'_>) -> Result<Exit, Failure> {
    let Follow { app, output, .. } = follow;
    let passing_on = servers::pass_on(&app.host, &follow.trace);
    let trace = follow.trace.clone();
    let done = follow.stay().await;
    drop(passing_on);
    // A chat keeps its servers and background processes for the next message.
    if output.is_chat {
        return done;
    }
    end_processes(&app.host).await;
    if done.is_ok() {
        reflect_after(app, &trace, output).await;
    }
    app.host.close_servers().await;
    done
}

/// Ends what runs in the background, and tells what it has left for other programs to run.
pub async fn end_processes(host: &Host) {
    host.runtime().end_processes().await.iter().for_each(|sentence| eprintln!("! {}", plain(sentence)));
}

pub fn announce(trace: &TraceId, output: &OutputArgs) {
    if !output.json && !output.is_named {
        eprintln!("trace {trace}");
    }
}

/// Says it if nothing is known of a model, once for each.
pub fn warn(app: &App, model: &str, output: &OutputArgs) {
    let Some(line) = unknown(model, app).filter(|_| !output.json) else { return };
    let file = app.logs.home.data.join("unknown-models");
    let said = std::fs::read_to_string(&file).unwrap_or_default();
    if said.lines().any(|said| said == model) {
        return;
    }
    eprintln!("! {}", plain(&line));
    // Where it cannot be noted it is said again.
    let note = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&file);
    let _ = note.and_then(|mut file| writeln!(file, "{}", plain(model)));
}
