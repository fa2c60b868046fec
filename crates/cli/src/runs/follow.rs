//! Staying with a run until it ends, parks or fails: printing, asking, stopping.

use crate::app::App;
use crate::args::output::OutputArgs;
use crate::exit::{Exit, Failure};
use crate::runs::signals::{Heard, Signals};
use crate::runs::signed::sign_at_end;
use crate::traces::forget::forget_said;
use crate::traces::wanted::{CallAt, Wanted};
use crate::ui::advice::ended;
use crate::ui::live::Watchers;
use crate::ui::print::Printer;
use crate::ui::prompt::Lines;
use crate::ui::say::to_output;
use crate::ui::term::ink::Face;
use crate::ui::term::markdown::Markdown;
use crate::ui::term::{screen, spinner};
use crate::ui::text::plain;
use crate::ui::written::written;
use mainpath::runtime::{Live, Phase, Waiting};
use mainpath::store::put_private;
use mainpath::types::{ApprovalGranted, CallId, CallResolved, EventId, EventKind, FinishReason, TraceId};
use mainpath::{RunEnd, Trace, TraceFeed};
use std::collections::BTreeSet;
use std::io::{ErrorKind, IsTerminal};
use std::path::Path;
use std::time::Instant;

/// One run that is followed.
pub struct Follow<'a> {
    pub app: &'a App,
    pub trace: TraceId,
    /// The same, to act on it.
    pub of: Trace,
    pub output: &'a OutputArgs,
    /// Whether a person can be asked.
    pub attended: bool,
    pub printer: Printer,
    lines: Lines,
    /// The rules that were given for this trace here: calls that wait already are not judged anew.
    pub rules: Vec<String>,
    /// The call that a question was last asked about, to ask once.
    pub asked: Option<Wanted>,
    /// The calls that were decided here: the word may still be on its way.
    pub decided: BTreeSet<CallAt>,
    /// The calls of this trace that were approved here as they were shown.
    pub seen: BTreeSet<CallId>,
    stops: u32,
    /// Why standard output took no more; the run goes on all the same.
    unheard: Option<std::io::Error>,
    /// How many lines of the call that a question is about have not been shown.
    pub unseen: usize,
    watchers: Watchers,
    /// The event up to which views were written while it waited.
    viewed: EventId,
}

impl<'a> Follow<'a> {
    /// Follows a trace from an event on.
    pub fn new(app: &'a App, of: Trace, output: &'a OutputArgs, from: EventId) -> Follow<'a> {
        let trace = of.id();
        Follow {
            app,
            trace: trace.clone(),
            output,
            attended: is_attended(),
            printer: Printer::new(trace, output.json, from),
            lines: Lines::default(),
            rules: Vec::new(),
            asked: None,
            decided: BTreeSet::new(),
            seen: BTreeSet::new(),
            stops: 0,
            unheard: None,
            unseen: 0,
            watchers: Watchers::new(app.logs.store.trace_dir(&app.host.whose().tenant, trace)),
            viewed: 0,
            of,
        }
    }

    /// Stays until there is nothing more to see, then prints the answer.
    pub async fn stay(mut self) -> Result<Exit, Failure> {
        let mut feed = self.of.attach();
        // One listener each for the whole time, so that nothing falls between two looks.
        let mut signals = Signals::listen()?;
        let edge = if self.output.json { None } else { screen::begin() };
        if self.attended {
            self.lines.listen().await;
        }
        let (began, mut turns) = (Instant::now(), tokio::time::interval(spinner::TURN));
        loop {
            match feed.phase() {
                Phase::Running => {}
                Phase::Idle if self.heard_late().await? => continue,
                Phase::Idle => break,
                Phase::Full(problem) | Phase::Failed(problem) | Phase::Elsewhere(problem) => {
                    self.catch_up(&mut feed).await?;
                    return Err(Failure::error(problem));
                }
                Phase::Parked(waiting) => {
                    self.catch_up(&mut feed).await?;
                    if self.viewed < self.printer.last && waiting.iter().any(|one| *one != Waiting::Timer) {
                        self.app.logs.write_views(&self.trace).await?;
                        self.viewed = self.printer.last;
                    }
                    if !self.allowed_by_rule(&waiting).await?
                        && let Some(exit) = self.parked(&waiting).await?
                    {
                        return Ok(exit);
                    }
                }
            }
            let asking = self.asked.is_some();
            let hears = asking || self.attended && !self.lines.ended;
            tokio::select! {
                live = feed.next() => {
                    if let Some(live) = live? {
                        self.print(&live).await;
                    }
                }
                line = self.lines.next(), if hears => match line {
                    Some(line) if !asking || line.starts_with('/') => {
                        if !self.typed(&line).await? && asking {
                            self.ask_again();
                        }
                    }
                    None if !asking => {}
                    line => {
                        if let Some(exit) = self.decide(line).await? {
                            return Ok(exit);
                        }
                    }
                },
                _ = turns.tick(), if edge.is_some() => {
                    let waits = (!asking).then(|| spinner::line(began.elapsed(), self.printer.used().as_deref()));
                    screen::status(&waits.unwrap_or_default());
                }
                heard = signals.next() => {
                    // As in a shell: what is half typed goes first.
                    if asking && heard == Heard::Interrupt && screen::clear_typed() {
                        continue;
                    }
                    if let Some(exit) = self.stop(heard.again()).await? {
                        return Ok(exit);
                    }
                }
            }
        }
        self.catch_up(&mut feed).await?;
        drop(edge);
        self.finish().await
    }

    /// Sends what was typed before the run had ended, and could not be heard any more: it is not lost. Whether there was anything.
    async fn heard_late(&mut self) -> Result<bool, Failure> {
        if !self.attended || self.asked.is_some() {
            return Ok(false);
        }
        let Some(line) = self.lines.typed_already().await else { return Ok(false) };
        self.typed(&line).await?;
        self.of.drive().await?;
        Ok(true)
    }

    async fn print(&mut self, live: &Live) {
        match live {
            Live::Event(event) => {
                if matches!(event.kind, EventKind::ModelRequested(_) | EventKind::ActionStarted(_)) {
                    self.watchers.look();
                }
            }
            Live::Delta { of, nth, delta, .. } => self.watchers.tell(of, *nth, delta),
            Live::Notice(_) => {}
        }
        if let Live::Event(event) = live
            && let EventKind::CallResolved(CallResolved { call, .. })
            | EventKind::ApprovalGranted(ApprovalGranted { call, .. }) = &event.kind
            && self.asked.as_ref().is_some_and(|asked| asked.at.trace == self.trace && asked.at.call == *call)
        {
            self.asked_no_more();
        }
        if let Live::Event(event) = live
            && !self.output.json
        {
            self.printer.long = self.app.logs.long_answer(event).await;
        }
        if let Err(error) = self.printer.print(live)
            && self.unheard.is_none()
        {
            if error.kind() != ErrorKind::BrokenPipe {
                let trace = &self.trace;
                let line = format!(
                    "standard output cannot be written ({error}); the run continues; to follow it: mainpath watch {trace}"
                );
                self.say(&line);
            }
            self.unheard = Some(error);
        }
        // Who has just read the question knows it.
        if let Live::Event(event) = live
            && let EventKind::CallResolved(call) = &event.kind
            && self.printer.shows_written(event.id)
            && !self.seen.contains(&call.call)
        {
            let lines = written(&self.app.logs, call).await;
            self.printer.written(&lines);
        }
    }

    /// Prints what the log has beyond what was seen.
    async fn catch_up(&mut self, feed: &mut TraceFeed) -> Result<(), Failure> {
        for live in feed.missed().await? {
            self.print(&live).await;
        }
        Ok(())
    }

    /// The first Ctrl-C, SIGTERM or SIGHUP stops at the next checkpoint, or ends the hooks after the run. The second ends at once. `again` is
    /// what to do for that.
    async fn stop(&mut self, again: &str) -> Result<Option<Exit>, Failure> {
        self.stops += 1;
        let trace = &self.trace;
        let (says, exit) = match (self.stops > 1 || self.asked.is_some(), self.of.is_calling_end_hooks()) {
            (false, false) => (format!("stopping at the next checkpoint; {again} stops at once"), None),
            (false, true) => (format!("the run has ended; ending the hooks at its end; {again} leaves at once"), None),
            (true, false) => (format!("interrupted; continue with mainpath resume {trace}"), Some(Exit::Interrupted)),
            (true, true) => (
                format!(
                    "left before the hooks at the end of the run had ended; to see the answer: mainpath show {trace}"
                ),
                Some(Exit::Interrupted),
            ),
        };
        self.say(&says);
        if exit.is_some() {
            return Ok(exit);
        }
        self.of.stop().await?;
        Ok(None)
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.printer.line("mainpath:", text);
    }

    async fn finish(mut self) -> Result<Exit, Failure> {
        let end = self.of.run_end().await?;
        self.app.logs.write_views(&self.trace).await?;
        sign_at_end(&self.app.logs, &self.trace).await;
        let end = match end {
            RunEnd::Nothing => return Ok(Exit::Ok),
            RunEnd::Cleared => {
                forget_said(&self.app.logs, &self.trace, false).await;
                self.say(&format!(
                    "the conversation was cleared, so there is no answer; to start over: mainpath run --trace {} \"TASK\"",
                    self.trace
                ));
                return Ok(Exit::Interrupted);
            }
            RunEnd::Ended(end) => end,
        };
        self.printer.end_line();
        // Standard output has what the model said, and nothing else.
        if !self.output.json && end.is_said {
            self.answer(&end.answer)?;
        } else if !self.output.json {
            eprintln!("{}", plain(end.answer.trim_end()));
        }
        if let Some(file) = self.output.output.as_ref().filter(|_| end.is_said) {
            write_answer(file, &end.answer)?;
        }
        if let Some(unapplied) = end.unapplied.as_ref().filter(|_| end.is_said) {
            self.say(unapplied);
        }
        let failure = self.printer.failure.take().filter(|_| end.reason != FinishReason::Final);
        if let Some(advice) = &end.advice {
            let message = failure.as_ref().map(|failure| failure.message.as_str());
            eprintln!("mainpath: {}", ended(&self.trace, end.reason, message, advice));
        }
        if let Some(error) = self.unheard.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe) {
            return Err(self.unwritten(error));
        }
        Ok(Exit::of(end.reason, failure.map(|failure| failure.kind)))
    }

    /// That a run has ended and standard output did not take what it said.
    fn unwritten(&self, error: &std::io::Error) -> Failure {
        let how = format!(
            "the run has ended, but standard output cannot be written ({error}); to see the answer: mainpath show {}",
            self.trace
        );
        Failure::error(how)
    }

    /// The answer goes to standard output, unless the very same text has just been streamed to the same terminal.
    fn answer(&self, answer: &str) -> Result<(), Failure> {
        let terminal = std::io::stdout().is_terminal();
        let seen = terminal && std::io::stderr().is_terminal();
        // What follows an answer that was cut off has not been shown.
        let rest = answer.strip_prefix(self.printer.shown.trim_end()).filter(|_| seen).unwrap_or(answer);
        if rest.trim().is_empty() && seen {
            return Ok(());
        }
        let text = match terminal {
            true if Face::of_output().colour => Markdown::all(plain(rest).trim_end(), screen::room()),
            true => plain(rest),
            false => answer.to_string(),
        };
        match to_output(&format!("{}\n", text.trim_end())) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(self.unwritten(&error)),
            _ => Ok(()),
        }
    }
}

/// Writes an answer to a file. Errors: it cannot be written.
fn write_answer(file: &Path, answer: &str) -> Result<(), Failure> {
    // A folder that is not there is a slip.
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or(Ok(()), |folder| folder.metadata().map(drop));
    let put = folder.and_then(|()| put_private(file, format!("{}\n", answer.trim_end()).as_bytes()));
    put.map_err(|error| Failure::error(format!("the answer cannot be written to {}: {error}", file.display())))
}

/// Whether there is a person to ask.
pub fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}
