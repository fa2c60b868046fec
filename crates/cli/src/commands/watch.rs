//! `watch`: a trace as it happens, whichever process drives it. What is seen is what is durable, and pieces of an
//! answer that is still coming, where the process that asks for it can tell.

use crate::exit::{Exit, Failure, logs};
use crate::traces::allow::why;
use crate::traces::asked::{Asked, Standing, asked};
use crate::traces::mail::says_first;
use crate::traces::questions::{Question, questions};
use crate::ui::live::{Ears, HeardPiece, Source};
use crate::ui::print::Printer;
use crate::ui::text::plain;
use clap::Args;
use mainpath::Logs;
use mainpath::core::{CallState, State, apply};
use mainpath::runtime::Live;
use mainpath::store::{ReadLog, Store};
use mainpath::types::{EventId, EventKind};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// `mainpath watch`
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The first event to show; give the last one you saw plus 1 to continue [default: the start of the last run]
    #[arg(long, value_name = "EVENT")]
    pub from: Option<EventId>,
    /// Keep watching when the run ends
    #[arg(short, long)]
    pub follow: bool,
    /// The events as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// So often it is looked whether anybody still drives a trace without a word.
const LOOK: Duration = Duration::from_secs(1);

/// `mainpath watch`
pub async fn watch(args: WatchArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find(args.trace.as_deref()).await?;
    let log = logs.store.read(&logs.scope, &trace, 1).await?;
    let from = args.from.unwrap_or_else(|| last_run(&log.events));
    let head = log.events.last().map_or(0, |event| event.id);
    if from > head + 1 {
        eprintln!("there is no event {from} yet: the log of {trace} ends at event {head}");
    }
    let mut heads = logs.store.subscribe(&logs.scope, &trace)?;
    let mut printer = Printer::new(&trace, args.json, from).with_words();
    let mut state = State::new(trace.clone());
    let mut events = log.events;
    let mut damage = log.damage;
    let mut questions = BTreeSet::new();
    let mut ears = Ears::new(&logs.store.trace_dir(&logs.scope.tenant, &trace));
    let mut heard: Option<HeardPiece> = None;
    loop {
        for event in std::mem::take(&mut events) {
            apply(&mut state, &event);
            if !args.json && event.id >= from {
                printer.long = logs.long_answer(&event).await;
            }
            if !printed(printer.print(&Live::Event(Arc::new(event))))? {
                return Ok(Exit::Ok);
            }
        }
        // What it is a piece of has been shown by now, unless it is over.
        if let Some(HeardPiece { of, nth, delta }) = heard.take().filter(|piece| is_open(&state, piece.of))
            && !printed(printer.print(&Live::Delta { of: of.effect(), nth, delta }))?
        {
            return Ok(Exit::Ok);
        }
        if let Some(damage) = damage {
            return Err(Failure::error(format!("the log is damaged: {damage}; everything before that was read")));
        }
        let over = state.run.is_none() && state.counts.runs > 0 && state.queues.is_empty();
        if over && !args.follow {
            let reason =
                state.ended.reason.map_or(Exit::Ok, |reason| Exit::of(reason, printer.failure.map(|error| error.kind)));
            return Ok(reason);
        }
        let listened = async {
            match &mut ears {
                Some(ears) => ears.next().await,
                None => std::future::pending().await,
            }
        };
        let changed = tokio::select! {
            biased;
            changed = heads.changed() => Some(changed),
            piece = listened => {
                heard = Some(piece);
                Some(Ok(()))
            }
            () = tokio::time::sleep(LOOK) => None,
        };
        let driven = match changed {
            Some(changed) => changed.map(|()| true).map_err(|_| Failure::error("the log can no longer be watched"))?,
            None => {
                let is_driven = logs.is_driven(&trace)?;
                // Nothing has happened for a while: perhaps somebody is asked.
                for asked in if is_driven && !args.json { questions_of(&logs, &state).await? } else { Vec::new() } {
                    let question = asked.question(&trace).filter(|_| questions.insert(asked.call));
                    if let Some(question) = question {
                        printer.line("?", &question);
                        asked.whole.iter().for_each(|line| eprintln!("  │ {line}"));
                    }
                }
                for question in if is_driven && !args.json { answers_to(&logs, &state).await? } else { Vec::new() } {
                    if question.is_open() && questions.insert(question.call) {
                        printer.line("?", &format!("at its terminal, or: {}", question.line(&trace)));
                        question.lines.iter().for_each(|line| eprintln!("  │ {line}"));
                    }
                }
                args.follow || is_driven
            }
        };
        // What was written before its owner went is read before that is said.
        let more = logs.store.read(&logs.scope, &trace, state.log.last + 1).await?;
        if !driven && more.events.is_empty() && more.damage.is_none() {
            let log = logs.store.read(&logs.scope, &trace, state.log.last + 1).await?;
            return abandoned(&logs, &log, &state).await;
        }
        (events, damage) = (more.events, more.damage);
    }
}

/// Whether anybody still reads. Errors: standard output cannot be written.
fn printed(done: std::io::Result<()>) -> Result<bool, Failure> {
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::error(format!("standard output cannot be written: {error}"))),
        Ok(()) => Ok(true),
    }
}

/// Whether what a piece belongs to is still coming.
fn is_open(state: &State, of: Source) -> bool {
    match of {
        Source::Model(request) => state.model.is_some_and(|model| model.request == request),
        Source::Tool(call, _) => state.calls.get(call).is_some_and(|call| !matches!(call.state, CallState::Done(_))),
    }
}

/// The calls that somebody may be asked about.
async fn questions_of(logs: &Logs, state: &State) -> Result<Vec<Asked>, Failure> {
    // Read again only where there are any: what a call is about is in the log.
    if state.turn_calls().iter().all(|call| call.state != CallState::Asked && !call.is_approved_only()) {
        return Ok(Vec::new());
    }
    let (_, _, bodies) = logs.read(&state.trace).await?;
    asked(logs, state, &bodies).await
}

/// What the agent itself asks.
async fn answers_to(logs: &Logs, state: &State) -> Result<Vec<Question>, Failure> {
    if !state.waits_for_people() {
        return Ok(Vec::new());
    }
    let (_, _, bodies) = logs.read(&state.trace).await?;
    questions(logs, state, &bodies).await
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

/// Nobody drives it: what it waits for is said.
async fn abandoned(logs: &Logs, log: &ReadLog, state: &State) -> Result<Exit, Failure> {
    let trace = &state.trace;
    let asked = questions_of(logs, state).await?;
    for asked in &asked {
        eprintln!("{}", plain(&asked.line(trace)));
        asked.whole.iter().for_each(|line| eprintln!("  │ {line}"));
        for verdict in asked.verdict.iter() {
            eprintln!("  {}", why(verdict));
        }
    }
    let questions = answers_to(logs, state).await?;
    for question in &questions {
        eprintln!("{}", question.line(trace));
        question.lines.iter().for_each(|line| eprintln!("  │ {line}"));
    }
    if asked.iter().any(|asked| asked.standing == Standing::Open) || questions.iter().any(Question::is_open) {
        return Ok(Exit::ApprovalNeeded);
    }
    match says_first(logs, log, state).await? {
        Some(how) => eprintln!("{how}"),
        None => eprintln!("{trace} is not running; continue with: mainpath resume {trace}"),
    }
    Ok(Exit::Interrupted)
}
