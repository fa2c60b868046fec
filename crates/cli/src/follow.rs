//! Staying with a run until it ends, parks or fails: printing, asking, stopping.

use crate::allow::{in_a_line, keep, leads, offered, why};
use crate::app::App;
use crate::args::OutputArgs;
use crate::control::{fits, forget_said};
use crate::exit::{Exit, Failure};
use crate::live::Watchers;
use crate::logs::spec_of;
use crate::offer::with_tool;
use crate::print::Printer;
use crate::prompt::{Lines, Said, understand};
use crate::say::to_output;
use crate::signals::Signals;
use crate::term::ink::Face;
use crate::term::markdown::Markdown;
use crate::term::{screen, spinner};
use crate::text::{count, gist, plain, were};
use crate::whole::whole;
use crate::written::written;
use mainpath_core::{Bodies, Help, State, lacking, what_helps};
use mainpath_runtime::{Live, Mail, Phase, Runtime, Waiting, Watcher, views};
use mainpath_store::Store;
use mainpath_types::*;
use std::collections::BTreeSet;
use std::io::{ErrorKind, IsTerminal};
use std::time::Instant;

/// So many rows of a call are shown with the question about it; a longer one on demand.
const ROWS: usize = 60;
/// The width that rows are counted for, in characters.
const WIDTH: usize = 80;

/// What the words that a question takes mean.
const HELP: &str = "\
  y          make this call
  n WHY      do not make it, and tell the agent why
  t          make it, and calls that the rule above allows, in this trace
  w          the same, from now on in every trace
  e NEW      make it with another command, or other arguments as JSON
  a          make it, and all that follow in this run
  d          show all of it
  l          decide later: mainpath approve, mainpath deny
  /steer …   say something to the agent now
";

/// The same in a line.
const WORDS: &str = "  y, n, t, w, e and the new command or arguments, a, d, l or ?: ";

/// How many of these lines fit.
fn fitting(lines: &[String]) -> usize {
    let mut rows = 0;
    let fits = |line: &&String| {
        rows += 1 + line.chars().count() / WIDTH;
        rows <= ROWS
    };
    lines.iter().take_while(fits).count()
}

/// One run that is followed.
pub struct Follow<'a> {
    pub app: &'a App,
    pub runtime: &'a Runtime,
    pub trace: TraceId,
    pub output: &'a OutputArgs,
    /// Whether a person can be asked.
    pub attended: bool,
    printer: Printer,
    lines: Lines,
    /// The rules that were given for this trace here: calls that wait already are not judged anew.
    rules: Vec<String>,
    /// The call that a question was last asked about, to ask once.
    asked: Option<CallId>,
    /// The call that was decided last: the word may still be on its way.
    decided: Option<CallId>,
    /// The calls that were approved here as they were shown.
    seen: BTreeSet<CallId>,
    stops: u32,
    /// Why standard output took no more; the run goes on all the same.
    unheard: Option<std::io::Error>,
    /// How many lines of the call that a question is about have not been shown.
    unseen: usize,
    watchers: Watchers,
    /// The event up to which views were written while it waited.
    viewed: EventId,
}

impl<'a> Follow<'a> {
    /// Follows a trace from an event on.
    pub fn new(
        app: &'a App,
        runtime: &'a Runtime,
        trace: &TraceId,
        output: &'a OutputArgs,
        from: EventId,
    ) -> Follow<'a> {
        Follow {
            app,
            runtime,
            trace: trace.clone(),
            output,
            attended: is_attended(),
            printer: Printer::new(trace, output.json, from),
            lines: Lines::default(),
            rules: Vec::new(),
            asked: None,
            decided: None,
            seen: BTreeSet::new(),
            stops: 0,
            unheard: None,
            unseen: 0,
            watchers: Watchers::new(app.logs.store.trace_dir(&app.logs.scope.tenant, trace)),
            viewed: 0,
        }
    }

    /// Stays until there is nothing more to see, then prints the answer.
    pub async fn stay(mut self) -> Result<Exit, Failure> {
        // So that others know while it waits for the person here. Where a file system cannot lock folders, they do not.
        let _following = self.app.logs.store.follow(&self.app.logs.scope, &self.trace).ok();
        let mut watcher = self.runtime.watch(&self.app.logs.scope, &self.trace, 1);
        let mut phases = watcher.phase();
        // One listener each for the whole time, so that nothing falls between two looks.
        let mut signals = Signals::listen()?;
        let edge = if self.output.json { None } else { screen::begin() };
        let (began, mut turns) = (Instant::now(), tokio::time::interval(spinner::TURN));
        loop {
            let phase = phases.borrow_and_update().clone();
            match phase {
                Phase::Running => {}
                Phase::Idle => break,
                Phase::Failed(problem) => {
                    self.catch_up(&mut watcher).await?;
                    return Err(Failure::error(problem));
                }
                Phase::Parked(waiting) => {
                    self.catch_up(&mut watcher).await?;
                    if self.viewed < self.printer.last && waiting.iter().any(|one| *one != Waiting::Timer) {
                        views::write(&*self.app.logs.store, &self.app.logs.scope, &self.trace).await?;
                        self.viewed = self.printer.last;
                    }
                    if !self.allowed_by_rule(&waiting).await?
                        && let Some(exit) = self.parked(&waiting)
                    {
                        return Ok(exit);
                    }
                }
            }
            let asking = self.asked.is_some();
            let hears = asking || self.attended && !self.lines.ended;
            tokio::select! {
                changed = phases.changed() => changed.map_err(|_| Failure::error("the runtime is gone"))?,
                live = watcher.next() => self.print(&live?).await,
                line = self.lines.next(), if hears => match line {
                    Some(line) if !asking || line.starts_with('/') => {
                        if !self.typed(&line).await? && asking {
                            eprint!("{WORDS}");
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
                again = signals.next() => {
                    if let Some(exit) = self.stop(again).await? {
                        return Ok(exit);
                    }
                }
            }
        }
        self.catch_up(&mut watcher).await?;
        drop(edge);
        self.finish().await
    }

    async fn print(&mut self, live: &Live) {
        match live {
            Live::Event(event) => {
                if matches!(event.kind, EventKind::ModelRequested(_) | EventKind::ActionStarted(_)) {
                    self.watchers.look();
                }
            }
            Live::Delta { of, delta } => self.watchers.tell(of, delta),
            Live::Notice(_) => {}
        }
        if let Live::Event(event) = live
            && let EventKind::CallResolved(CallResolved { call, .. })
            | EventKind::ApprovalGranted(ApprovalGranted { call, .. }) = &event.kind
            && self.asked == Some(*call)
        {
            self.asked = None;
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
                    "standard output cannot be written ({error}); the run goes on, and mainpath watch {trace} shows it"
                );
                self.say(&line);
            }
            self.unheard = Some(error);
        }
        // Who has just read the question knows it.
        if let Live::Event(event) = live
            && let EventKind::CallResolved(call) = &event.kind
            && self.printer.shows_written()
            && !self.seen.contains(&call.call)
        {
            let lines = written(&self.app.logs, call).await;
            self.printer.written(&lines);
        }
    }

    /// Prints what the log has beyond what was seen.
    async fn catch_up(&mut self, watcher: &mut Watcher) -> Result<(), Failure> {
        // First what was told, in its order: the pieces of an answer are in no log.
        while let Some(live) = watcher.told() {
            self.print(&live).await;
        }
        // What can be read, not what the last line claims: behind a damaged line there is nothing to wait for.
        let log = self.app.logs.store.read(&self.app.logs.scope, &self.trace, self.printer.last + 1).await?;
        let head = log.events.last().map_or(0, |event| event.id);
        watcher.read_again();
        while self.printer.last < head {
            let live = watcher.next().await?;
            self.print(&live).await;
        }
        Ok(())
    }

    /// The calls that nobody has decided on, in order.
    fn all_undecided(&self, waiting: &[Waiting]) -> impl Iterator<Item = CallId> {
        let calls = waiting.iter().filter_map(|one| match one {
            Waiting::Approval(call) => Some(*call),
            Waiting::Answer(_) | Waiting::Child(_) | Waiting::Timer => None,
        });
        calls.filter(|call| self.decided != Some(*call))
    }

    /// The first of them.
    fn undecided(&self, waiting: &[Waiting]) -> Option<CallId> {
        self.all_undecided(waiting).next()
    }

    /// Approves a call that a rule given here covers: it was judged before there was one.
    async fn allowed_by_rule(&mut self, waiting: &[Waiting]) -> Result<bool, Failure> {
        let Some(call) = self.undecided(waiting) else { return Ok(false) };
        let made = self.printer.call(call);
        let Some(rule) = made.offer.filter(|rule| self.rules.contains(rule)) else { return Ok(false) };
        self.printer.line("·", &format!("{} is allowed by {}", made.name, in_a_line(&rule)));
        self.decided = Some(call);
        self.runtime.send(&self.app.logs.scope, &self.trace, &Mail::approve(call)).await?;
        Ok(true)
    }

    /// A parked trace: ask, or leave it.
    fn parked(&mut self, waiting: &[Waiting]) -> Option<Exit> {
        let call = self.undecided(waiting)?;
        if !self.attended {
            let trace = self.trace.clone();
            let calls: Vec<CallId> = self.all_undecided(waiting).collect();
            for call in &calls {
                let which = if calls.len() > 1 { format!(" --call {call}") } else { String::new() };
                let made = self.printer.call(*call);
                self.say(&format!(
                    "call {call} ({}: {}) waits for an approval: mainpath approve {trace}{which} && mainpath resume {trace}",
                    plain(&made.name),
                    gist(&made.arguments)
                ));
                for line in whole(&made.arguments, Some(&self.printer.folder)) {
                    self.printer.rail(&line);
                }
                let why = made.verdict.iter().map(why).chain(leads(&made.places));
                for line in why.chain(made.offer.as_deref().map(offered)) {
                    self.printer.line("·", &line);
                }
            }
            return Some(Exit::ApprovalNeeded);
        }
        if self.asked != Some(call) {
            self.asked = Some(call);
            let made = self.printer.call(call);
            self.printer.line("?", &format!("allow {}: {}", made.name, gist(&made.arguments)));
            let lines = whole(&made.arguments, Some(&self.printer.folder));
            let shown = fitting(&lines);
            lines.iter().take(shown).for_each(|line| self.printer.rail(line));
            self.unseen = lines.len() - shown;
            if self.unseen > 0 {
                let more = count(self.unseen as u64, "more line");
                eprintln!("  │ … {more}: [d]etails shows all, and only then it can be allowed");
            }
            for line in made.verdict.iter().map(why).chain(leads(&made.places)) {
                eprintln!("  {line}");
            }
            let foreign: Vec<&str> =
                made.origins.iter().filter(|origin| origin.is_foreign()).map(|origin| said_by(*origin)).collect();
            if !foreign.is_empty() {
                eprintln!("  its words come from {}", foreign.join(" and "));
            }
            made.offer.iter().flat_map(|rule| rule.lines()).for_each(|line| eprintln!("  rule: {}", plain(line)));
            self.ask_for_word(made.offer.is_some());
        }
        None
    }

    /// The words that a question takes.
    fn ask_for_word(&self, has_rule: bool) {
        let seen = if self.unseen > 0 { "[d]etails" } else { "[y]es" };
        let rule = if has_rule && self.unseen == 0 { "the rule for this [t]race, al[w]ays, " } else { "" };
        let all = if self.unseen > 0 { "" } else { "[e]dit …, [a]ll in this run, " };
        eprint!("  {seen}, [n]o (and why), {rule}{all}[l]ater, [?]: ");
    }

    async fn decide(&mut self, line: Option<String>) -> Result<Option<Exit>, Failure> {
        let Some(call) = self.asked else { return Ok(None) };
        let said = line.as_deref().map_or(Said::Later, understand);
        let made = self.printer.call(call);
        let allows = matches!(said, Said::Yes | Said::Trace | Said::Always | Said::All | Said::Edit(_));
        let mail = match said {
            Said::Details => {
                let lines = whole(&made.arguments, Some(&self.printer.folder));
                lines.iter().for_each(|line| self.printer.rail(line));
                self.unseen = 0;
                self.ask_for_word(made.offer.is_some());
                return Ok(None);
            }
            Said::Help => {
                eprint!("{HELP}");
                self.ask_for_word(made.offer.is_some());
                return Ok(None);
            }
            Said::Unclear => {
                eprint!("{WORDS}");
                return Ok(None);
            }
            _ if allows && self.unseen > 0 => {
                eprint!("  {} not shown yet; ", were(self.unseen as u64, "line"));
                self.ask_for_word(made.offer.is_some());
                return Ok(None);
            }
            Said::Trace | Said::Always if self.printer.call(call).offer.is_none() => {
                eprint!("  no rule is narrow enough for this call; y, n, e, a or l: ");
                return Ok(None);
            }
            Said::Trace => self.with_rule(call),
            Said::Always => {
                let rule = self.printer.call(call).offer.unwrap_or_default();
                let file = keep(&self.app.logs.home, &rule, (&self.trace, call))?;
                self.say(&format!("{} is allowed from now on: see {}", in_a_line(&rule), file.display()));
                self.with_rule(call)
            }
            Said::Edit(text) => match edited(&made.arguments, &text) {
                Some(arguments) => match fits(self.app, (&self.trace, call), &arguments).await {
                    Ok(()) => Mail::Approve { call, arguments: Some(arguments), rule: None },
                    Err(problem) => {
                        eprint!("  {}: ", plain(&problem.message));
                        return Ok(None);
                    }
                },
                None => {
                    eprint!("  e needs the arguments as a JSON object: ");
                    return Ok(None);
                }
            },
            Said::Later => {
                self.say(&format!(
                    "left waiting; decide with mainpath approve {trace} --call {call} or mainpath deny {trace} --call {call}",
                    trace = self.trace
                ));
                return Ok(Some(Exit::ApprovalNeeded));
            }
            Said::No(reason) => Mail::Deny { call, reason },
            Said::Yes => Mail::approve(call),
            Said::All => {
                self.allow_all().await?;
                Mail::approve(call)
            }
        };
        self.asked = None;
        self.decided = Some(call);
        if !matches!(mail, Mail::Approve { arguments: Some(_), .. }) {
            self.seen.insert(call);
        }
        self.runtime.send(&self.app.logs.scope, &self.trace, &mail).await?;
        Ok(None)
    }

    /// An approval that makes the offered rule hold for the rest of the trace.
    fn with_rule(&mut self, call: CallId) -> Mail {
        let rule = self.printer.call(call).offer;
        self.rules.extend(rule.clone());
        Mail::Approve { call, arguments: None, rule }
    }

    /// From the next turn on the spec says yes, up to the end of this run.
    async fn allow_all(&mut self) -> Result<(), Failure> {
        let (log, state, _) = self.app.logs.read(&self.trace).await?;
        let spec = log.events.iter().rev().find_map(|event| match &event.kind {
            EventKind::SpecChanged(data) => Some((*data.spec).clone()),
            _ => None,
        });
        if let Some(spec) = spec {
            let spec = Box::new(Spec { mode: ApprovalMode::Yes, mode_for: Some(state.runs), ..spec });
            self.runtime.send(&self.app.logs.scope, &self.trace, &Mail::SetSpec { spec }).await?;
        }
        Ok(())
    }

    /// The first Ctrl-C, SIGTERM or SIGHUP stops at the next checkpoint, the second ends at once. `again` is what to do for that.
    async fn stop(&mut self, again: &str) -> Result<Option<Exit>, Failure> {
        self.stops += 1;
        if self.stops > 1 || self.asked.is_some() {
            self.say(&format!("interrupted; go on with mainpath resume {}", self.trace));
            return Ok(Some(Exit::Interrupted));
        }
        self.say(&format!("stopping at the next checkpoint; {again} ends at once"));
        self.runtime.send(&self.app.logs.scope, &self.trace, &Mail::Stop).await?;
        Ok(None)
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.printer.line("mainpath:", text);
    }

    async fn finish(mut self) -> Result<Exit, Failure> {
        let (log, state, bodies) = self.app.logs.read(&self.trace).await?;
        views::write(&*self.app.logs.store, &self.app.logs.scope, &self.trace).await?;
        if state.cleared > Seq(0) && state.tree.head.is_none() {
            forget_said(&self.app.logs, &self.trace, false).await;
            self.say(&format!(
                "the conversation was cleared, so there is no answer; mainpath run --trace {} \"TASK\" begins anew",
                self.trace
            ));
            return Ok(Exit::Interrupted);
        }
        let Some(end) = views::ending(&*self.app.logs.store, &self.app.logs.scope, &state, &bodies).await? else {
            return Ok(Exit::Ok);
        };
        self.printer.end_line();
        // Standard output has what the model said, and nothing else.
        if !self.output.json && end.is_said {
            self.answer(&end.answer)?;
        } else if !self.output.json {
            eprintln!("{}", plain(end.answer.trim_end()));
        }
        if let Some(file) = self.output.output.as_ref().filter(|_| end.is_said) {
            std::fs::write(file, format!("{}\n", end.answer.trim_end())).map_err(|error| {
                Failure::error(format!("the answer cannot be written to {}: {error}", file.display()))
            })?;
        }
        let failure = self.printer.failure.take().filter(|_| end.reason != FinishReason::Final);
        if end.reason != FinishReason::Final {
            let ended = match end.reason {
                FinishReason::MaxOutput => "the answer was cut off at the model's output limit (max_output)".into(),
                reason => format!("the run ended with {}", reason.as_str()),
            };
            let why = failure.as_ref().map_or(ended, |failure| plain(&failure.message).replace('\n', " "));
            let why = why.trim_end_matches(['.', ' ']);
            eprintln!("mainpath: {why}; {}", next((&state, &bodies), spec_of(&log)));
        }
        if let Some(error) = self.unheard.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe) {
            return Err(self.unwritten(error));
        }
        Ok(Exit::of(end.reason, failure.map(|failure| failure.kind)))
    }

    /// That a run has ended and standard output did not take what it said.
    fn unwritten(&self, error: &std::io::Error) -> Failure {
        let how =
            format!("the run has ended, but standard output cannot be written ({error}); mainpath show {}", self.trace);
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
            true if Face::of_output().colour => {
                let (plain, mut markdown) = (plain(rest), Markdown::default());
                let lines: Vec<String> =
                    plain.trim_end().lines().filter_map(|line| markdown.line(line, screen::room())).collect();
                lines.join("\n")
            }
            true => plain(rest),
            false => answer.to_string(),
        };
        match to_output(&format!("{}\n", text.trim_end())) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(self.unwritten(&error)),
            _ => Ok(()),
        }
    }
}

/// What to do after a run has ended without an answer.
fn next((state, bodies): (&State, &dyn Bodies), spec: Option<&Spec>) -> String {
    let trace = &state.trace;
    let larger = format!("go on with a larger window: mainpath resume {trace} --model MODEL");
    match what_helps(state, bodies) {
        Help::GoOn => format!("go on with mainpath resume {trace}"),
        Help::Approve(call) => {
            format!("approve call {call}: mainpath approve {trace} --call {call} && mainpath resume {trace}")
        }
        Help::Allow(call) => {
            format!("a rule denies call {call} (mainpath policy list); with other rules: mainpath resume {trace}")
        }
        Help::Give(call) => {
            let tool = state.calls.get(call).and_then(|call| lacking(call, bodies)).unwrap_or_default();
            format!("{} is not among the tools of this run; with it: {}", plain(tool), with_tool(trace, spec, tool))
        }
        Help::Shorten => format!(
            "mainpath compact {trace} or mainpath rewind {trace}, then mainpath resume {trace}; or begin anew with /clear in it"
        ),
        Help::Window => format!("instructions and tools alone are larger than the window: give fewer, or {larger}"),
        Help::Smaller { message, after, .. } => {
            let instead = match after {
                None => "mainpath run \"TASK\"".into(),
                Some(after) => format!("mainpath rewind {trace} --to {after} \"TASK\""),
            };
            format!(
                "message {message} alone is too large: say less ({instead}; a file that is only named there is read in parts), \
                 or {larger}"
            )
        }
    }
}

/// Whose words they are, for people.
fn said_by(origin: Origin) -> &'static str {
    match origin {
        Origin::Web => "the web",
        Origin::Mcp => "an MCP server",
        Origin::Message => "somebody's message",
        Origin::User | Origin::Workspace | Origin::Model => "here",
    }
}

/// The arguments as a person has changed them: a JSON object, or another command where the call has one.
fn edited(old: &str, text: &str) -> Option<String> {
    if let Ok(map) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) {
        return serde_json::to_string(&map).ok();
    }
    let mut map: serde_json::Map<String, serde_json::Value> = serde_json::from_str(old).ok()?;
    map.get("command").is_some_and(serde_json::Value::is_string).then(|| map.insert("command".into(), text.into()))?;
    serde_json::to_string(&map).ok()
}

/// Whether there is a person to ask.
pub fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}
