//! `mainpath take`: what an agent has changed in a copy of the folder, shown, and put into the folder.

use crate::app::App;
use crate::commands::restore::held;
use crate::exit::{Exit, Failure};
use crate::runs::follow::is_attended;
use crate::traces::taking::lines;
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::{count, one_line};
use clap::Args;
use mainpath::Logs;
use mainpath::trace::{Taking, Took};
use mainpath::types::TraceId;

/// `mainpath take`
#[derive(Args, Debug)]
pub struct TakeArgs {
    /// The trace that started the agent, or the agent [default: the newest trace]
    pub trace: Option<String>,
    /// The agent (its id or a unique part of it); needed where the changes of several are not taken yet
    #[arg(value_name = "AGENT")]
    pub child: Option<String>,
    /// Only show the changes
    #[arg(long)]
    pub show: bool,
}

/// `mainpath take`
pub async fn take(args: TakeArgs) -> Result<Exit, Failure> {
    if !args.show {
        person_only("take changes by this command")?;
    }
    let app = App::open()?;
    let (trace, changes) = find(&app.logs, &args).await?;
    for line in lines(&changes) {
        out(&line)?;
    }
    if args.show {
        return Ok(Exit::Ok);
    }
    held(&app.logs, &trace)?;
    let links = changes.links_out(app.logs.home.protected()).await?;
    links.iter().for_each(|link| eprintln!("! {}", one_line(link)));
    if !links.is_empty() && !is_attended() {
        let which = count(links.len() as u64, "link");
        return Err(Failure::error(format!(
            "nothing was changed: {which} out of the folder; somebody has to agree to that at a terminal: mainpath take {trace} {}",
            changes.child
        )));
    }
    if is_attended() && !is_wanted(&changes)? {
        out("nothing was changed")?;
        return Ok(Exit::ApprovalNeeded);
    }
    let files = count(changes.files.len() as u64, "file");
    match changes.run(app.logs.home.protected()).await? {
        Took::Taken => out(&format!("took the changes of {} ({files}) into {}", changes.child, changes.folder))?,
        Took::Already => out(&format!("the changes of {} are in {} already", changes.child, changes.folder))?,
    }
    Ok(Exit::Ok)
}

/// The changes that are meant, and the trace that they are for.
async fn find(logs: &Logs, args: &TakeArgs) -> Result<(TraceId, Taking), Failure> {
    let mut trace = logs.find(args.trace.as_deref()).await?;
    let mut child = args.child.clone();
    if let (None, Some(parent)) = (&child, trace.parent().and_then(|parent| parent.parse().ok())) {
        // The agent itself is named.
        child = Some(std::mem::replace(&mut trace, parent).to_string());
    }
    let (log, state, bodies) = logs.read(&trace).await?;
    let changes = Taking::find(logs.of(&trace, &log, &state, &bodies), child.as_deref()).await?;
    Ok((trace, changes))
}

/// Asks the person at the terminal.
fn is_wanted(changes: &Taking) -> Result<bool, Failure> {
    loop {
        eprint!("  Take these changes into {}? [y]es, [n]o: ", changes.folder);
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line)?;
        match line.trim() {
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ if read == 0 => return Ok(false),
            _ => {}
        }
    }
}
