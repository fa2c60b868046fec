//! A run as it happens: text and tool lines for people, or event lines for programs.

use crate::ui::decision_commands::approve_command;
use crate::ui::echo::Echo;
use crate::ui::line_out::LineOut;
use crate::ui::preview::Preview;
use crate::ui::say::{foreign, to_output};
use crate::ui::term::ink::Style;
use crate::ui::term::screen;
use crate::ui::term::width::cut;
use crate::ui::text::{count, gist, pins_went, plain, short, span, spent, were};
use crate::ui::told::{self, changed, changes, limits, plans, unsent, why_ended};
use mainpath::core::{EffectKey, State};
use mainpath::policy::HEADLESS;
use mainpath::runtime::wire::Projector;
use mainpath::runtime::{Live, Streamed, rest_of};
use mainpath::types::{
    AGENT_FAILED, ApprovalGranted, BranchKind, CallId, CallResolved, ChildOutcome, Delta, Event, EventId, EventKind,
    MessageMode, ModelError, ModelFinished, Part, RecordedCall, Remedy, Resolution, RunClosing, Spent, SummaryMode,
    TraceId, text_of,
};
use mainpath::values::now;
use std::collections::HashMap;

/// Prints what a watcher sees.
pub struct Printer {
    /// Whether it is for programs: events on standard output.
    json: bool,
    projector: Projector,
    pub(super) out: LineOut,
    /// Whether what people say is shown: who gave the task knows it.
    shows_words: bool,
    /// What of the present answer has been streamed.
    streamed: Streamed,
    /// The last answer that was streamed as a whole.
    pub shown: String,
    /// The text of the answer that comes next, where it is too long for its event.
    pub long: Option<String>,
    calls: HashMap<CallId, Made>,
    /// The call that the model is writing.
    preview: Preview,
    /// How the last failed model call failed.
    pub failure: Option<ModelError>,
    /// Model calls that failed in a row, and how often one is tried again.
    tries: (u32, u32),
    /// The side branch under way.
    branch: Option<BranchKind>,
    /// What the run has used so far.
    used: Spent,
    /// The calls whose output was shown as it came.
    heard: HashMap<CallId, Echo>,
    /// The first event to print; earlier ones are only read.
    from: EventId,
    /// The last event seen.
    pub last: EventId,
}

/// A call as the model made it.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// The tool's name.
    pub name: String,
    /// The arguments: JSON text.
    pub arguments: String,
}

/// Prints event lines.
fn write_lines(lines: &[serde_json::Value]) -> std::io::Result<()> {
    lines.iter().try_for_each(|line| to_output(&foreign(&format!("{line}\n"))))
}

impl Printer {
    /// A printer that prints from an event on. It must be fed the log from the beginning.
    pub fn new(trace: &TraceId, json: bool, from: EventId) -> Printer {
        Printer {
            json,
            projector: Projector::new(trace.clone()),
            shows_words: false,
            out: LineOut::new(),
            streamed: Streamed::default(),
            shown: String::new(),
            long: None,
            calls: HashMap::new(),
            preview: Preview::default(),
            failure: None,
            tries: (0, 0),
            branch: None,
            used: Spent::default(),
            heard: HashMap::new(),
            from,
            last: 0,
        }
    }

    /// The same for who has said nothing, and wants to know what was said.
    pub fn with_words(self) -> Printer {
        Printer { shows_words: true, ..self }
    }

    /// The same for an agent: its lines begin with what it is called.
    pub fn of_agent(mut self, label: &str) -> Printer {
        self.out.label(label);
        self
    }

    /// Whether its lines stand between those of agents, so that they are printed when they are complete.
    pub fn stand_between(&mut self, others: bool) {
        self.out.stand_between(others);
    }

    /// The state after what was printed or read.
    pub fn state(&self) -> &State {
        self.projector.state()
    }

    /// Prints one thing. Errors: standard output cannot be written; what was seen is noted all the same.
    pub fn print(&mut self, live: &Live) -> std::io::Result<()> {
        match live {
            Live::Event(event) => {
                self.last = event.id;
                let before = plans(&event.kind).then(|| self.projector.state().goals.clone());
                let cleared = matches!(event.kind, EventKind::SessionCleared(_));
                let pins = if cleared { self.projector.state().goals.terms.pinned.len() } else { 0 };
                let lines = self.projector.project(event);
                let (json, is_shown) = (self.json, event.id >= self.from);
                let written = if json && is_shown { write_lines(&lines) } else { Ok(()) };
                self.event(event);
                if let Some(pins) = pins_went(&self.projector.state().trace, pins).filter(|_| !json && is_shown) {
                    self.line("·", &pins);
                }
                for line in lines.iter().filter(|line| line["type"] == "budget_changed" && !json && is_shown) {
                    self.line("·", &limits(&line["data"]));
                }
                let changes = before.map(|before| self.projector.state().goals.changes_since(&before));
                for line in changes.into_iter().flatten().filter(|_| !json && is_shown) {
                    self.line("·", &format!("plan: {line}"));
                }
                written?;
            }
            Live::Delta { of, nth, pieces, delta } if !self.streamed.take(of, *nth, *pieces, delta) => {}
            Live::Delta { of, delta, .. } if self.json => self.program_delta(of, delta)?,
            Live::Notice(text) if self.json => write_lines(&[self.projector.notice(text, now())])?,
            Live::Delta { of, delta, .. } => match (of, delta) {
                (EffectKey::Tool(call, _), Delta::ToolOutput { text, .. }) => {
                    let text = plain(text);
                    let now = self.heard.entry(*call).or_default().push(&text);
                    self.out.aside(now);
                }
                _ => self.delta(delta),
            },
            Live::Notice(notice) => self.line("!", notice),
        }
        Ok(())
    }

    fn program_delta(&self, of: &EffectKey, delta: &Delta) -> std::io::Result<()> {
        write_lines(&self.projector.delta(of, delta, now()))
    }

    fn delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Text { text } => {
                self.out.text(&plain(text));
            }
            Delta::ToolOutput { text, .. } => self.out.aside(&plain(text)),
            Delta::Thinking { text } => self.out.aside(&plain(text)),
            Delta::Arguments { .. } if self.out.face.moves && !self.out.stands_between() => {
                if let Some(text) = self.preview.push(delta) {
                    self.end_line();
                    let line = cut(&format!("⋯ {}", plain(&text)), screen::room());
                    screen::tail(vec![self.out.face.paint(Style::DIM, &line)]);
                }
            }
            Delta::Arguments { .. } | Delta::Partial { .. } => {}
        }
    }

    fn event(&mut self, event: &Event) {
        let quiet = self.json || event.id < self.from;
        match &event.kind {
            EventKind::SpecChanged(data) => {
                self.tries.1 = data.spec.limits.model_retries;
            }
            EventKind::RunStarted(_) => {
                self.used = Spent::default();
                self.tries.0 = 0;
            }
            EventKind::ModelFinished(data) => {
                self.used += data.spent();
                self.tries.0 = 0;
                self.branch.take_if(|kind| *kind != BranchKind::Compaction);
                let answer = self.long.take().unwrap_or_else(|| text_of(&data.parts));
                self.answer(data, &answer, quiet);
            }
            EventKind::ModelMalformed(data) => {
                self.used += data.spent();
                // Only on the main path is a repair asked for, and once.
                let next = if self.branch.is_none() { " Retrying." } else { "" };
                self.branch.get_or_insert(BranchKind::Repair);
                self.tries.0 = 0;
                self.streamed = Streamed::default();
                if !quiet {
                    self.line("!", &format!("invalid answer from the model: {}{next}", data.problem));
                }
            }
            EventKind::ModelFailed(data) => {
                self.failure = Some(data.error.clone());
                self.tries.0 += 1;
                let (failed, most) = self.tries;
                let wait = data.retry_at.map(|at| span(at.saturating_sub(event.ts)));
                let stop = if self.shows_words { "to stop: mainpath stop" } else { "Ctrl-C stops" };
                let next = match (wait, data.remedy) {
                    (Some(wait), _) => {
                        Some(format!("retrying in {wait} (attempt {} of {}; {stop})", failed + 1, most + 1))
                    }
                    (None, Some(Remedy::Minimal)) => Some("retrying with the last message only".into()),
                    (None, Some(Remedy::Cut)) => Some("retrying without older messages".into()),
                    (None, Some(Remedy::Fallback)) => Some("switching to the next model".into()),
                    (None, None) => None,
                };
                if let Some(next) = next.filter(|_| !quiet) {
                    self.line("!", &format!("{}; {next}", data.error.message));
                }
                self.streamed = Streamed::default();
            }
            EventKind::RunClosing(RunClosing { by: Some(by), why: Some(why), .. }) if !quiet => {
                self.line("✗", &format!("{} stopped the run: {}", by.as_str(), short(why, 200)));
            }
            EventKind::ApprovalGranted(ApprovalGranted { call, arguments: Some(arguments), changed_by, .. }) => {
                if let Some(made) = self.calls.get_mut(call) {
                    made.arguments.clone_from(arguments);
                }
                if let Some(changed) = told::changed_by(arguments, changed_by).filter(|_| !quiet) {
                    self.line("!", &changed);
                }
            }
            EventKind::CallReopened(data) => {
                let (of, made) = (data.of, self.call(data.of));
                if !quiet {
                    let what = format!("{}: {}", short(&made.name, 40), gist(&made.arguments));
                    self.line("→", &format!("{what} (approved after the denial of call {of})"));
                }
                self.calls.insert(data.made(), made);
            }
            EventKind::CallResolved(data) if !quiet => self.resolved(data),
            EventKind::BranchClosed(_) => self.branch = None,
            EventKind::BranchOpened(data) if data.kind == BranchKind::Compaction && !quiet => {
                self.branch = Some(data.kind);
                let why = match (data.asked, data.by) {
                    (Some(_), _) => "summarising",
                    (None, SummaryMode::Rules) => "the context is nearly full: summarising by rules",
                    (None, _) => "the context is nearly full: summarising",
                };
                self.line("·", why);
            }
            EventKind::RunClosing(RunClosing { by: None, why: Some(why), .. }) if !quiet => {
                self.line("✗", &short(why, 300));
            }
            EventKind::SkillSelected(data) if !quiet => {
                self.line("·", &format!("skill {} ({}) is loaded", data.skill, data.source));
            }
            EventKind::SubTraceStarted(data) if !quiet => {
                let line = told::started(&self.projector.state().trace, data);
                self.line("→", &line);
            }
            EventKind::SubTraceCompleted(data) if !quiet => {
                let mark = if data.outcome == ChildOutcome::Result { "✓" } else { "✗" };
                let line = told::ended(&self.projector.state().trace, data);
                self.line(mark, &line);
            }
            EventKind::Injected(_) if !quiet => self.line("·", "reminder sent: plan and budgets"),
            EventKind::GoalsChanged(data) if !quiet => {
                self.line("·", &format!("{} {}", data.by.as_str(), changes(&data.ops)));
            }
            EventKind::MessageJoined(_) if !quiet => self.end_line(),
            EventKind::Rewound(data) if !quiet => {
                let head = data.head.map_or_else(|| "before the first message".into(), |head| format!("after #{head}"));
                self.line("·", &format!("rewound; the conversation continues {head}"));
            }
            EventKind::Forked(data) if !quiet => {
                self.line("·", &format!("a fork of {} at #{}", data.from, data.at));
            }
            EventKind::FilesRestored(data) if !quiet => {
                self.line("·", &format!("{} put back", were(data.changes.len() as u64, "file")));
            }
            EventKind::SessionCleared(_) if !quiet => self.line("·", "cleared; the conversation starts over"),
            EventKind::MessageQueued(data) if !quiet => match data.mode {
                MessageMode::Steer => self.said("steering", &data.parts, 100),
                MessageMode::FollowUp => self.said("queued", &data.parts, 100),
                // Of an agent the line before says for what it was started.
                MessageMode::Message if self.shows_words && !self.out.is_labelled() => {
                    self.said("said", &data.parts, 300)
                }
                MessageMode::Message => {}
            },
            EventKind::RewindRequested(data) if !quiet && self.shows_words => {
                if let Some(parts) = &data.parts {
                    self.said(&format!("said after #{}", data.after), parts, 300);
                }
            }
            EventKind::TailCut(data) if !quiet => {
                let kept = &data.kept;
                self.line(
                    "!",
                    &format!(
                        "an incomplete last line of {} was removed from the log and kept in {kept}",
                        count(data.bytes, "byte")
                    ),
                );
            }
            EventKind::MessageImported(data) if !quiet && self.shows_words => self.imported(data),
            EventKind::MessageReceived(data) if !quiet => {
                self.line("·", &format!("{} sent the agent a message", data.from))
            }
            // Who drives the run hears of it as it happens.
            EventKind::QuestionSent(data) if !quiet && self.shows_words => {
                if let Some(how) = unsent(data) {
                    self.line("!", &format!("the question {} {how}", data.call));
                }
            }
            EventKind::MailRefused(data) if !quiet => self.line("!", &data.problem),
            EventKind::RunFinished(data) if !quiet => {
                (self.branch, self.tries.0) = (None, 0);
                let spent = spent(data.spent());
                let (reason, turns, calls) = (data.reason.words(), data.turns, data.calls);
                self.line("■", &format!("{reason} · turns {turns} · calls {calls} · tokens {spent}"));
            }
            _ => {}
        }
    }

    pub(super) fn said(&mut self, how: &str, parts: &[Part], most: usize) {
        let text = match parts {
            // A very long text lies elsewhere.
            [Part::StoredText { bytes, .. }, ..] => format!("({})", count(*bytes, "byte")),
            parts => short(&text_of(parts), most),
        };
        self.line("·", &format!("{how}: {text}"));
    }

    /// The end of an answer. What was streamed of it may have lost its end, or a piece where it came faster than it was read.
    fn answer(&mut self, data: &ModelFinished, answer: &str, quiet: bool) {
        let streamed = self.streamed.end(data.request).unwrap_or_default();
        let rest = rest_of(&streamed, answer);
        if !quiet && !rest.is_empty() {
            let text = plain(rest);
            self.out.text(&text);
        }
        self.shown = if rest.is_empty() { streamed } else { answer.into() };
        for RecordedCall { id: call, written, arguments, planned } in data.calls() {
            let name = written.name;
            if !quiet {
                self.line("→", &format!("{}: {}", short(name, 40), gist(written.arguments)));
                if let Some(changed) = changed(planned) {
                    self.line("·", &changed);
                }
                match (planned.ended(), &planned.verdict) {
                    (Some((Resolution::Ok, _)), _) => self.line("✓", &short(name, 40)),
                    (Some((Resolution::Denied, reason)), Some(verdict)) => {
                        let trace = &self.projector.state().trace;
                        // The words are for the model as well, which has no terminal.
                        let how = match verdict.rule == HEADLESS {
                            true => format!("{reason} To approve it: {}", approve_command(trace, call, false)),
                            false => reason.to_string(),
                        };
                        self.line("✗", &format!("denied by {}: {how}", verdict.rule));
                    }
                    (Some((_, problem)), _) => self.line("✗", &short(problem, 200)),
                    (None, _) => {}
                }
            }
            self.calls.insert(call, Made { name: name.to_string(), arguments: arguments.to_string() });
        }
        if !quiet {
            self.out.close();
            let broken = answer.chars().filter(|letter| *letter == char::REPLACEMENT_CHARACTER).count();
            if broken > 0 {
                let letters = were(broken as u64, "character");
                self.line("!", &format!("{letters} unreadable in the server's answer; each is shown as \u{fffd}"));
            }
        }
    }

    /// Shows what a command printed to who did not hear it as it came: it was recorded, or another process drives the run.
    fn echoed(&mut self, data: &CallResolved) -> Option<Echo> {
        let output = data.output.as_ref().filter(|output| self.shows_words && output.command.is_some())?;
        let (mut echo, text) = (Echo::default(), plain(&text_of(&output.content)));
        self.out.aside(echo.push(&text));
        Some(echo)
    }

    fn resolved(&mut self, data: &CallResolved) {
        let name = short(&self.call(data.call).name, 40);
        let took = data.ran_ms().map(|ms| format!(" ({})", span(ms))).unwrap_or_default();
        let said = data.output.as_ref().map(|output| text_of(&output.content)).unwrap_or_default();
        let heard = self.heard.remove(&data.call).or_else(|| self.echoed(data));
        let is_heard = heard.is_some();
        if let Some(rest) = heard.and_then(Echo::rest) {
            self.end_line();
            self.out.aside(&rest);
        }
        let title = data.output.as_ref().and_then(|output| output.title.clone());
        match data.resolution {
            Resolution::Ok => self.line("✓", &format!("{name}{took} {}", short(&title.unwrap_or(said), 100))),
            Resolution::Error => {
                // In a terminal what it printed stands above already.
                let end = data.output.as_ref().and_then(|output| output.command.as_ref()?.exit_code);
                let end = end.filter(|_| self.out.face.moves && is_heard);
                // What came of each agent has been told.
                let of_agents =
                    data.output.as_ref().is_some_and(|output| output.error.as_deref() == Some(AGENT_FAILED));
                let said = title.filter(|_| of_agents).unwrap_or(said);
                let said = end.map_or_else(|| short(&said, 200), |code| format!("exit code {code}"));
                let why = why_ended(data.cause).map(|why| format!("{why}: ")).unwrap_or_default();
                self.line("✗", &format!("{name} failed{took}: {why}{said}"));
            }
            Resolution::Denied => {
                let why = data.reason.as_deref().or(why_ended(data.cause));
                let why = why.map(|reason| format!(": {reason}")).unwrap_or_default();
                self.line("✗", &format!("{name} was denied{}", short(&why, 200)));
            }
            Resolution::Skipped | Resolution::Interrupted => {
                let how = if data.resolution == Resolution::Skipped { "skipped" } else { "interrupted" };
                let why = why_ended(data.cause).map(|why| format!(": {why}")).unwrap_or_default();
                self.line("✗", &format!("{name} was {how}{why}"));
            }
            Resolution::Unknown => self.line("✗", &format!("{name}: unknown whether it took effect")),
        }
        for notice in data.output.iter().flat_map(|output| &output.notices) {
            self.line("!", notice);
        }
    }

    /// What the run has used so far, in words.
    pub fn used(&self) -> Option<String> {
        (self.used != Spent::default()).then(|| spent(self.used))
    }

    /// A call as the model made it.
    pub fn call(&self, call: CallId) -> Made {
        self.calls.get(&call).cloned().unwrap_or_else(|| Made { name: format!("call {call}"), ..Made::default() })
    }

    /// A line for people; see [`LineOut::line`].
    pub fn line(&mut self, mark: &str, text: &str) {
        self.out.line(mark, text);
    }

    /// A line of what a call does: as it is, whatever its length.
    pub fn rail(&mut self, line: &str) {
        self.out.rail(line);
    }

    /// A line below another: as it is, whatever its length.
    pub fn detail(&mut self, line: &str) {
        self.out.detail(line);
    }

    /// Whether an event is printed, and not only read.
    pub fn shows(&self, event: EventId) -> bool {
        event >= self.from
    }

    /// What a call has written, a row for each line; only in a terminal.
    pub fn written(&mut self, lines: &[String]) {
        let room = screen::room().saturating_sub(4);
        lines.iter().for_each(|line| self.rail(&cut(&line.replace('\t', "    "), room)));
    }

    /// Whether what was written is shown: not to programs, nor where lines are kept.
    pub fn shows_written(&self, event: EventId) -> bool {
        self.out.face.moves && !self.json && self.shows(event)
    }

    /// Ends a line that was begun.
    pub fn end_line(&mut self) {
        self.out.end_line();
    }
}
