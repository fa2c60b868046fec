//! `play`: a recorded run as `watch` showed it, at its own speed or another.

use crate::commands::watch::printed;
use crate::exit::{Exit, Failure, logs};
use crate::traces::wanted::CallAt;
use crate::ui::print::Printer;
use crate::ui::printers::Printers;
use crate::ui::stage::{AfterWait, Stage};
use crate::ui::text::{gist, short, span, were};
use clap::Args;
use mainpath::core::CallState;
use mainpath::playback::{Pace, PlayStep, Playback, speed};
use mainpath::store::ReadLog;
use mainpath::types::{ERASED, Event, EventId, EventKind, TraceId};
use mainpath::values::time_limit;
use mainpath::{Logs, Seen, WatchFrom};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::time::Duration;

/// A pause that is left out is told from this length on.
const TOLD: Duration = Duration::from_secs(1);

/// `mainpath play`
#[derive(Args, Debug)]
pub struct PlayArgs {
    /// The traces (their ids or unique parts of them), shown one after the other [default: the latest]
    #[arg(value_name = "TRACE")]
    pub traces: Vec<String>,
    /// So many times as fast as it was, such as 2 or 0.5; `max` does not wait [default: 1 in a terminal, otherwise max]
    #[arg(long, value_name = "N|max", value_parser = play_speed, allow_negative_numbers = true)]
    pub speed: Option<PlaySpeed>,
    /// The first event to show (see `mainpath show --events`)
    #[arg(long, value_name = "EVENT", default_value_t = 1)]
    pub from: EventId,
    /// Wait no longer than this between two events, and say what is left out, from a second on; 0 for no limit
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = time_limit)]
    pub longest_pause: Duration,
    /// Without the agents that the trace has started
    #[arg(long)]
    pub no_children: bool,
    /// The events as JSON lines; `trace_id` says whose each is
    #[arg(long)]
    pub json: bool,
}

/// A speed that was given; `None`: without waiting.
#[derive(Clone, Copy, Debug)]
pub struct PlaySpeed(Option<f64>);

fn play_speed(text: &str) -> Result<PlaySpeed, mainpath::Error> {
    speed(text).map(PlaySpeed)
}

/// `mainpath play`
pub async fn play(args: PlayArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    if args.traces.is_empty() {
        let latest = logs.find_anywhere(None).await?;
        return Ok(play_one(&logs, &latest, &args).await?.unwrap_or(Exit::Ok));
    }
    for name in &args.traces {
        let trace = logs.find_anywhere(Some(name)).await?;
        if args.traces.len() > 1 && !args.json {
            eprintln!("── {trace}");
        }
        if let Some(exit) = play_one(&logs, &trace, &args).await? {
            return Ok(exit);
        }
    }
    Ok(Exit::Ok)
}

/// Plays a trace. How the program ends, where nothing more is to be shown: somebody has stopped it, or reads no longer.
async fn play_one(logs: &Logs, trace: &TraceId, args: &PlayArgs) -> Result<Option<Exit>, Failure> {
    let log = logs.at(trace).read(1).await?;
    check(trace, &log, args.from)?;
    if !log.erased.is_empty() && !args.json {
        eprintln!("! {} erased; {ERASED} stands in the place of their words", were(log.erased.len() as u64, "event"));
    }
    let is_newer = log.newer;
    drop(log);
    let is_watched = std::io::stderr().is_terminal() && !args.json;
    let speed = args.speed.map_or(is_watched.then_some(1.0), |PlaySpeed(speed)| speed);
    let longest = (!args.longest_pause.is_zero()).then_some(args.longest_pause);
    let mut stage = Stage::begin(Pace { speed, longest }, is_watched)?;
    let from = WatchFrom { event: args.from, agents: BTreeMap::new(), with_agents: !args.no_children };
    let mut playback = Playback::new(logs.all_stores(), logs.scope.clone(), trace, from);
    let mut printers = Printers::new(trace, args.json);
    let mut told = BTreeSet::new();
    while let Some(PlayStep { seen, passed }) = playback.next().await.map_err(|error| of(trace, &error))? {
        let news = match &seen {
            Seen::Event { trace, event } => printers.of(trace).filter(|printer| printer.shows(event.id)),
            _ => None,
        };
        let Some(printer) = news else {
            printers.see(logs, seen).await?;
            continue;
        };
        match stage.wait(passed).await? {
            AfterWait::End(exit) => return Ok(Some(exit)),
            AfterWait::Next { is_cut } if is_cut && passed >= TOLD && !args.json => {
                printer.line("·", &format!("{} later", span(passed.as_millis().try_into().unwrap_or(u64::MAX))));
            }
            AfterWait::Next { .. } => {}
        }
        let shown = match &seen {
            Seen::Event { trace, event } => Some((trace.clone(), event.clone())),
            _ => None,
        };
        if !printed(printers.see(logs, seen).await)? {
            return Ok(Some(Exit::Ok));
        }
        if let Some((trace, event)) = shown.filter(|_| !args.json)
            && let Some(printer) = printers.of(&trace)
        {
            approvals(printer, &event, &mut told);
        }
    }
    if is_newer {
        return Err(of(trace, &"a newer Mainpath has written what follows; update this one to see it"));
    }
    if !args.json && logs.is_there(trace) && logs.is_driven(trace)? {
        eprintln!("· {trace} goes on: mainpath watch {trace}");
    }
    Ok(None)
}

fn of(trace: &TraceId, problem: &dyn std::fmt::Display) -> Failure {
    Failure::error(format!("{trace}: {problem}"))
}

/// Whether there is anything to show. Errors: nothing was recorded, it cannot be read, all of it was erased, or it ends before.
fn check(trace: &TraceId, log: &ReadLog, from: EventId) -> Result<(), Failure> {
    if let Some(last) = log.events.last().map(|event| event.id) {
        if from > last {
            return Err(of(trace, &format!("there is no event {from}; its log ends at event {last}")));
        }
    } else if let Some(damage) = &log.damage {
        return Err(of(trace, &format!("the log is damaged: {damage}; nothing of it can be played")));
    } else {
        return Err(of(trace, &"nothing was recorded yet"));
    }
    let gone: BTreeSet<EventId> = log.erased.iter().map(|erased| erased.id).collect();
    let mut said = log.events.iter().filter(|event| says_something(event)).peekable();
    if said.peek().is_some() && said.all(|event| gone.contains(&event.id)) {
        let what = format!("all that was said was erased; mainpath show --events {trace} lists what happened");
        return Err(of(trace, &what));
    }
    Ok(())
}

fn says_something(event: &Event) -> bool {
    use EventKind::{MessageImported, MessageQueued, ModelFinished};
    matches!(event.kind, MessageQueued(_) | ModelFinished(_) | MessageImported(_))
}

/// What people were asked about calls, and approved.
fn approvals(printer: &mut Printer, event: &Event, told: &mut BTreeSet<CallAt>) {
    let trace = printer.state().trace.clone();
    let asked = printer.state().turn_calls().iter().filter(|call| call.state == CallState::Asked);
    let asked: Vec<_> = asked.map(|call| call.id).collect();
    for call in asked {
        if told.insert(CallAt { trace: trace.clone(), call }) {
            let made = printer.call(call);
            printer.line(
                "?",
                &format!("call {call} ({}: {}) needs approval", short(&made.name, 40), gist(&made.arguments)),
            );
        }
    }
    if let EventKind::ApprovalGranted(data) = &event.kind {
        let edited = data.arguments.as_deref().map(|arguments| format!(" with other arguments: {}", gist(arguments)));
        let edited = edited.unwrap_or_default();
        printer.line("·", &format!("{} approved call {}{edited}", data.by.as_str(), data.call));
    }
}
