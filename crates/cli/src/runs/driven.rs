//! What every run of a person has in common: its servers, its announcement, whoever follows it.

use crate::args::agent::AgentArgs;
use crate::args::output::OutputArgs;
use crate::exit::{Exit, Failure};
use crate::runs::follow::{Follow, is_attended};
use crate::runs::reflect::reflect_after;
use crate::runs::task::unknown;
use crate::ui::term::screen;
use crate::ui::text::{one_line, plain};
use mainpath::Error;
use mainpath::Installation;
use mainpath::experience::Experienced;
use mainpath::mcp::{Configured, Mcp};
use mainpath::runtime::{Mail, Runtime};
use mainpath::servers;
use mainpath::types::TraceId;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Connects to the MCP servers of a workspace.
pub async fn connect(app: &Installation, workspace: &Path, args: &AgentArgs) -> Result<Option<Mcp>, Failure> {
    let tell = |line: &str| eprintln!("! {}", plain(line));
    let approves = is_attended().then_some(approves as servers::Approves);
    Ok(servers::connect(app, workspace, args.mcp_config.as_deref(), approves, tell).await?)
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

/// A new trace's first message with what earlier work says about it, which is told.
pub async fn experienced(app: &Installation, mail: Mail, output: &OutputArgs) -> Mail {
    let Experienced { mail, shown, problem } = app.with_experience(mail).await;
    if let Some(problem) = problem {
        eprintln!("! experiences: {}", plain(problem.message()));
    }
    if !shown.is_empty() && !output.json {
        eprintln!("· experience: {}", shown.join(", "));
    }
    mail
}

/// Stays with a run, and tells it when the tools of its servers change.
pub async fn follow(follow: Follow<'_>, mcp: Option<Mcp>) -> Result<Exit, Failure> {
    let passing_on = servers::pass_on(follow.app, follow.runtime, &follow.trace, mcp.as_ref());
    let Follow { app, runtime, output, .. } = follow;
    let trace = follow.trace.clone();
    let done = follow.stay().await;
    drop(passing_on);
    end_processes(runtime).await;
    if done.is_ok() && !output.is_chat {
        reflect_after(app, runtime, &trace, output).await;
    }
    if let Some(mcp) = &mcp {
        mcp.close().await;
    }
    done
}

/// Ends what runs in the background, and tells what it has left for other programs to run.
pub async fn end_processes(runtime: &Runtime) {
    runtime.end_processes().await.iter().for_each(|sentence| eprintln!("! {}", plain(sentence)));
}

pub fn announce(trace: &TraceId, output: &OutputArgs) {
    if !output.json && !output.is_named {
        eprintln!("trace {trace}");
    }
}

/// Says it if nothing is known of a model, once for each.
pub fn warn(app: &Installation, model: &str, output: &OutputArgs) {
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
