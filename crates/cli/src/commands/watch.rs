//! `watch`: a trace and the agents that it has started as they happen, whichever process drives them. What is seen is what is durable, and pieces
//! of an answer that is still coming, where the process that asks for it can tell.

use crate::exit::{Exit, Failure, logs};
use crate::traces::allow::why;
use crate::traces::asked::{driven_line, line, whole_of};
use crate::traces::mail::says_first;
use crate::traces::questions;
use crate::traces::wanted::CallAt;
use crate::ui::live::{Ears, HeardPiece};
use crate::ui::print::Printer;
use crate::ui::printers::Printers;
use crate::ui::text::one_line;
use crate::ui::told::child_name;
use clap::Args;
use mainpath::core::CallState;
use mainpath::runtime::Live;
use mainpath::trace::{CallStanding, QuestionStanding, Waits};
use mainpath::types::{Event, EventId, EventKind, TraceId};
use mainpath::watching::goes_on;
use mainpath::{Logs, Seen, WatchFrom, Watching};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// `mainpath watch`
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The first event to show; give the last one you saw plus 1 to continue [default: the start of the last run].
    /// AGENT=EVENT says the same of an agent that had not ended by then; an agent that is not named is shown from its
    /// beginning. May be repeated
    #[arg(long, value_name = "EVENT|AGENT=EVENT", value_parser = first)]
    pub from: Vec<First>,
    /// Without the agents that the trace has started
    #[arg(long)]
    pub no_children: bool,
    /// Keep watching when the run ends
    #[arg(short, long)]
    pub follow: bool,
    /// The events as JSON lines; `trace_id` says whose each is
    #[arg(long)]
    pub json: bool,
}

/// The first event to show of a trace.
#[derive(Clone, Debug)]
pub struct First {
    /// Of this agent; `None`: of the trace itself.
    agent: Option<String>,
    event: EventId,
}

fn first(text: &str) -> Result<First, String> {
    let (agent, number) = match text.rsplit_once('=') {
        Some((agent, number)) => (Some(agent.to_string()), number),
        None => (None, text),
    };
    match number.parse() {
        Ok(event) => Ok(First { agent, event }),
        Err(_) => Err(format!("{number:?} is no number of an event")),
    }
}

/// So often it is looked whether anybody still drives a trace without a word.
const LOOK: Duration = Duration::from_secs(1);

/// `mainpath watch`
pub async fn watch(args: WatchArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find_anywhere(args.trace.as_deref()).await?;
    let log = logs.at(&trace).read(1).await?;
    let from = from(&logs, &trace, &args, &log.events)?;
    let head = log.events.last().map_or(0, |event| event.id);
    if from.event > head + 1 {
        eprintln!("there is no event {} yet: the log of {trace} ends at event {head}", from.event);
    }
    drop(log);
    let mut watching = Watching::new(logs.all_stores(), logs.scope.clone(), &trace, from, LOOK);
    let mut show = Show {
        logs: &logs,
        printers: Printers::new(&trace, args.json),
        trace: trace.clone(),
        told: BTreeSet::new(),
        early: Vec::new(),
    };
    let mut ears = Ears::new(&logs.store.trace_dir(&logs.scope.tenant, &trace));
    loop {
        let listened = async {
            match &mut ears {
                Some(ears) => ears.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            seen = watching.next() => match seen? {
                Seen::Quiet { is_driven: false } if !args.follow => return show.abandoned().await,
                Seen::Quiet { is_driven } => if is_driven && !args.json { show.ask().await? },
                seen => if !show.see(seen).await? {
                    return Ok(Exit::Ok);
                }
            },
            piece = listened => if !show.hear(piece)? {
                return Ok(Exit::Ok);
            }
        }
        if let Some(exit) = show.over().filter(|_| !args.follow && !watching.has_more()) {
            return Ok(exit);
        }
    }
}

/// From where the trace and its agents are shown.
fn from(logs: &Logs, trace: &TraceId, args: &WatchArgs, events: &[Event]) -> Result<WatchFrom, Failure> {
    let event = args.from.iter().rev().find(|first| first.agent.is_none()).map(|first| first.event);
    let mut agents = BTreeMap::new();
    for First { agent, event } in &args.from {
        let Some(agent) = agent else { continue };
        let prefix = format!("{trace}@");
        let whole = if agent.starts_with(&prefix) { agent.clone() } else { format!("{prefix}{agent}") };
        let id: Option<TraceId> = whole.parse().ok().filter(|id| logs.is_there(id));
        let id = id.ok_or_else(|| Failure::error(format!("there is no agent {:?} of {trace}", one_line(agent))))?;
        agents.insert(id, *event);
    }
    let event = event.unwrap_or_else(|| last_run(events));
    Ok(WatchFrom { event, agents, with_agents: !args.no_children })
}

/// What is shown.
struct Show<'a> {
    logs: &'a Logs,
    trace: TraceId,
    printers: Printers,
    /// The calls that people are asked about of which that was told.
    told: BTreeSet<CallAt>,
    /// Pieces of what has not begun, as far as the log was read.
    early: Vec<HeardPiece>,
}

impl Show<'_> {
    /// Shows what was seen. Whether anybody still reads.
    async fn see(&mut self, seen: Seen) -> Result<bool, Failure> {
        let is_own = matches!(&seen, Seen::Event { trace, .. } if *trace == self.trace);
        if !printed(self.printers.see(self.logs, seen).await)? {
            return Ok(false);
        }
        if is_own {
            for piece in std::mem::take(&mut self.early) {
                if !self.hear(piece)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Shows a piece of what the trace itself waits for. Whether anybody still reads.
    fn hear(&mut self, piece: HeardPiece) -> Result<bool, Failure> {
        let Some(printer) = self.printers.of(&self.trace) else { return Ok(true) };
        let of = piece.of.effect();
        match goes_on(printer.state(), &of) {
            Some(true) => printed(printer.print(&Live::Delta { of, nth: piece.nth, pieces: 1, delta: piece.delta })),
            Some(false) => Ok(true),
            None => {
                self.early.push(piece);
                Ok(true)
            }
        }
    }

    /// How the trace's last run has ended, where nothing goes on.
    fn over(&mut self) -> Option<Exit> {
        let printer = self.printers.of(&self.trace)?;
        let state = printer.state();
        let over = state.run.is_none() && state.counts.runs > 0 && state.queues.is_empty();
        let reason = state.ended.reason.filter(|_| over);
        match reason {
            Some(reason) => Some(Exit::of(reason, printer.failure.as_ref().map(|error| error.kind))),
            None => over.then_some(Exit::Ok),
        }
    }

    /// Nothing has happened for a while: perhaps somebody is asked.
    async fn ask(&mut self) -> Result<(), Failure> {
        for printer in self.printers.all() {
            let trace = printer.state().trace.clone();
            let mut is_new = |call| self.told.insert(CallAt { trace: trace.clone(), call });
            let state = printer.state();
            // The log is read only if a call may wait.
            if !state.waits_for_people() && !state.turn_calls().iter().any(|call| call.state == CallState::Asked) {
                continue;
            }
            let (log, state, bodies) = self.logs.read(&trace).await?;
            let Waits { calls, questions, .. } = self.logs.of(&trace, &log, &state, &bodies).waits().await?;
            for call in &calls {
                if let Some(question) = driven_line(call, &trace).filter(|_| is_new(call.call)) {
                    printer.line("?", &question);
                    whole_of(call).iter().for_each(|line| printer.detail(line));
                }
            }
            for question in &questions {
                if question.standing == QuestionStanding::Open && is_new(question.call) {
                    printer.line("?", &format!("at its terminal, or: {}", questions::line(question, &trace)));
                    questions::lines(question).iter().for_each(|line| printer.detail(line));
                    questions::notes(question).iter().for_each(|note| printer.line("·", note));
                }
            }
        }
        Ok(())
    }

    /// Nobody drives it: what it waits for is said, and what its agents wait for.
    async fn abandoned(&mut self) -> Result<Exit, Failure> {
        let (log, state, bodies) = self.logs.read(&self.trace).await?;
        let own = self.logs.of(&self.trace, &log, &state, &bodies).waits().await?;
        let mut waits = leave(&own, None);
        for agent in self.logs.agent_waits(&self.trace).await?.agents {
            let mut printer = Printer::new(&agent.trace, false, EventId::MAX);
            printer = printer.of_agent(child_name(&self.trace, &agent.trace));
            waits |= leave(&agent, Some(&mut printer));
        }
        if waits {
            return Ok(Exit::ApprovalNeeded);
        }
        let trace = &self.trace;
        match says_first(self.logs, &log, &state).await? {
            Some(how) => eprintln!("{how}"),
            None => eprintln!("{trace} is not running; continue with: mainpath resume {}", trace.root()),
        }
        Ok(Exit::Interrupted)
    }
}

/// Says what a trace that nobody drives waits for, with its agent's name if it is one. Whether a person can decide or answer now.
fn leave(waits: &Waits, mut agent: Option<&mut Printer>) -> bool {
    let trace = &waits.trace;
    let mut say = |line: &str, more: &[String], notes: &[String]| match &mut agent {
        Some(printer) => {
            printer.line("?", line);
            more.iter().for_each(|line| printer.detail(line));
            notes.iter().for_each(|note| printer.line("·", note));
        }
        None => {
            eprintln!("{}", one_line(line));
            more.iter().for_each(|line| eprintln!("  │ {line}"));
            notes.iter().for_each(|note| eprintln!("  {note}"));
        }
    };
    for call in &waits.calls {
        say(&line(call, trace), &whole_of(call), call.verdict.as_ref().map(why).as_slice());
    }
    for question in &waits.questions {
        say(&questions::line(question, trace), &questions::lines(question), &questions::notes(question));
    }
    let is_open = waits.calls.iter().any(|call| call.standing == CallStanding::Open);
    is_open || waits.questions.iter().any(|question| question.standing == QuestionStanding::Open)
}

/// Whether anybody still reads. Errors: standard output cannot be written.
pub fn printed(done: std::io::Result<()>) -> Result<bool, Failure> {
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::error(format!("standard output cannot be written: {error}"))),
        Ok(()) => Ok(true),
    }
}

/// The event that the last run began with; its first message comes right before it.
fn last_run(events: &[mainpath::types::Event]) -> EventId {
    let began = events.iter().rposition(|event| matches!(event.kind, EventKind::RunStarted(_)));
    let Some(at) = began else { return 1 };
    let before = events.get(..at).and_then(|before| {
        before.iter().rev().take_while(|event| matches!(event.kind, EventKind::MessageQueued(_))).last()
    });
    before.or(events.get(at)).map_or(1, |event| event.id)
}
