//! `chat`, and `mainpath` alone in a terminal: a conversation that goes on in its folder, a run for each message.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::args::output::OutputArgs;
use crate::args::run::RunArgs;
use crate::commands::trial;
use crate::exit::{Exit, Failure};
use crate::runs::driven::{end_processes, warn};
use crate::runs::follow::is_attended;
use crate::runs::given::given;
use crate::runs::go_on::{Outgoing, go_on};
use crate::runs::rules::opened;
use crate::runs::signals::{Heard, Signals};
use crate::runs::start::begin;
use crate::traces::asked::{line, standing_in_words};
use crate::traces::questions;
use crate::traces::which::{name, rows};
use crate::ui::prompt::Lines;
use crate::ui::say::tell;
use crate::ui::term::screen;
use crate::ui::text::{one_line, plain};
use crate::ui::typed::{self, Typed};
use clap::Args;
use mainpath::Next;
use mainpath::agent;
use mainpath::agent::Task;
use mainpath::agent::{check_model, find_model};
use mainpath::core::{Continuation, how_to_continue};
use mainpath::presets::check_kept;
use mainpath::skills::no_such_name;
use mainpath::spec_of;
use mainpath::trace::{CallStanding, QuestionStanding, Waits};
use mainpath::types::{FinishReason, TraceId};
use std::path::Path;

/// `mainpath chat`
#[derive(Args, Debug)]
pub struct ChatArgs {
    /// Start a new conversation instead of continuing the last one of this folder
    #[arg(long)]
    pub new: bool,
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// What can be typed between two runs.
const HELP: [&str; 5] = [
    "/new          start a new conversation in this folder",
    "Enter         on an empty line: continue what is left open, such as a question",
    "/help         show this list",
    "Ctrl-C        clear the line; on an empty line, twice: leave",
    "Ctrl-D        leave; to continue later: mainpath in this folder",
];

/// The explanations of the list stand behind so many columns.
const HANG: usize = 14;

/// `mainpath chat`
pub async fn chat(args: ChatArgs) -> Result<Exit, Failure> {
    if !is_attended() {
        return Err(Failure::usage("a chat needs a terminal; without one: mainpath run \"TASK\""));
    }
    let app = opened(&args.agent)?;
    let output = OutputArgs { is_chat: true, ..OutputArgs::default() };
    let run = RunArgs { agent: args.agent, output, ..RunArgs::default() };
    let mut chat = Chat { app: &app, model: run.agent.model.clone(), run, trace: None, lines: Lines::default() };
    if !args.new {
        chat.trace = chat.last().await?;
        chat.check_agent().await?;
    }
    chat.greet().await?;
    let done = chat.stay().await;
    end_processes(&app.host).await;
    app.host.close_servers().await;
    done
}

/// How an open run goes on in the chat, and how one that ended without an answer does.
const ENTER: &str = "press Enter to continue, or type a message, which is read after it";
const AGAIN: &str = "press Enter to continue it, or type what to do instead";

/// What a conversation was left with.
struct Open {
    /// In a few words.
    what: String,
    /// The same with the commands for it.
    line: String,
    /// Whether it waits for a decision.
    is_asked: bool,
    /// Whether its run has ended: a message is read at once.
    is_over: bool,
}

impl Open {
    fn told(&self) -> String {
        format!("{}; {}", self.what, if self.is_over { AGAIN } else { ENTER })
    }
}

/// A conversation.
struct Chat<'a> {
    app: &'a App,
    /// How each of its runs is made.
    run: RunArgs,
    /// The model of a conversation that begins.
    model: Option<String>,
    /// `None` before its first message.
    trace: Option<TraceId>,
    lines: Lines,
}

impl Chat<'_> {
    /// The last trace of the folder.
    async fn last(&self) -> Result<Option<TraceId>, Failure> {
        let here = agent::workspace(self.run.agent.workspace.as_deref())?;
        let rows = rows(&self.app.logs).await?;
        Ok(rows.into_iter().find(|row| Path::new(&row.workspace) == here).map(|row| row.trace))
    }

    /// Leaves the conversation of another agent than the one that is named.
    async fn check_agent(&mut self) -> Result<(), Failure> {
        let (Some(trace), Some(named)) = (&self.trace, &self.run.agent.agent) else { return Ok(()) };
        let (log, ..) = self.app.logs.read(trace).await?;
        if spec_of(&log).is_none_or(|spec| check_kept(spec, named).is_err()) {
            self.trace = None;
        }
        Ok(())
    }

    /// Says which conversation goes on, and with which model; where there is neither, asks for a model.
    async fn greet(&mut self) -> Result<(), Failure> {
        let known = match &self.trace {
            Some(trace) => rows(&self.app.logs).await?.into_iter().find(|row| row.trace == *trace),
            None => None,
        };
        match known {
            Some(row) => {
                let (log, ..) = self.app.logs.read(&row.trace).await?;
                let by = spec_of(&log).and_then(|spec| spec.model_by.as_ref());
                let has_address = self.app.host.registry().named_origin(&row.model).is_some();
                // A new conversation keeps the model, unless its address was named by another caller.
                if !has_address || by == Some(&self.app.logs.scope.principal) {
                    self.model.get_or_insert_with(|| row.model.clone());
                }
                eprintln!(
                    "continuing {} with {}; /new starts a new conversation",
                    one_line(&name(&row)),
                    one_line(self.model.as_ref().unwrap_or(&row.model))
                );
            }
            None => {
                let (home, registry) = (&self.app.logs.home, self.app.host.registry());
                let given = given(self.app, &self.run.agent, true)?;
                let named = self.model.as_deref().or(given.model());
                let model = match find_model(named, home, registry).await {
                    Some(chosen) => chosen.model,
                    None => trial::first_model(self.app).await?,
                };
                check_model(&model, registry)?;
                let place = agent::workspace(self.run.agent.workspace.as_deref())?;
                eprintln!("a new conversation in {} with {}", one_line(&place.display().to_string()), one_line(&model));
                warn(self.app, &model, &self.run.output);
                self.model = Some(model);
            }
        }
        eprintln!("/help lists the commands; Ctrl-D leaves");
        if let Some(open) = self.open().await? {
            eprintln!("{}", open.told());
        }
        Ok(())
    }

    /// Stays until nothing more is typed.
    async fn stay(mut self) -> Result<Exit, Failure> {
        let _edge = screen::begin();
        // One listener for all messages between two runs, so that no signal is lost between them.
        let mut signals = Signals::listen()?;
        loop {
            let Some(line) = self.next(&mut signals).await? else { break };
            let text = match typed::read(&line) {
                Typed::Empty => {
                    if self.open().await?.is_some() {
                        let done = self.again().await;
                        // What came during the run was for the run.
                        signals = Signals::listen()?;
                        if let Some(exit) = self.left(done).await? {
                            return Ok(exit);
                        }
                    }
                    continue;
                }
                Typed::Help => {
                    HELP.iter().chain(&typed::HELP).for_each(|line| tell(line, HANG));
                    continue;
                }
                Typed::Unknown(word) if word == "/new" => {
                    self.trace = None;
                    eprintln!("your next message starts a new conversation");
                    continue;
                }
                Typed::Clear => {
                    self.trace = None;
                    eprintln!(
                        "cleared: your next message starts a new conversation; the old one is kept (mainpath ls)"
                    );
                    continue;
                }
                Typed::Steer(text) | Typed::Next(text) => text,
                // A short yes is an answer to the agent.
                Typed::Late => line,
                Typed::Unknown(_) => match self.no_such_name(&line)? {
                    None => line,
                    Some(why) => {
                        eprintln!("{}; /help lists the commands", one_line(&why));
                        continue;
                    }
                },
                Typed::Bare(word) => {
                    eprintln!("{word} needs a text: {word} TEXT");
                    continue;
                }
                Typed::Esc | Typed::Compact(_) | Typed::Pin(_) => {
                    eprintln!("nothing is running; {} works only during a run", one_line(line.trim()));
                    continue;
                }
            };
            if let Some(open) = self.open().await?.filter(|open| !open.is_over) {
                eprintln!("{}; your message is read after that", open.what);
            }
            let done = self.say(text).await;
            signals = Signals::listen()?;
            if let Some(exit) = self.left(done).await? {
                return Ok(exit);
            }
        }
        let open = self.open().await?;
        if let Some(trace) = &self.trace {
            eprintln!("trace {trace}; to continue: mainpath in this folder");
        }
        let Some(open) = open.filter(|open| !open.is_over) else { return Ok(Exit::Ok) };
        eprintln!("{}", open.line);
        Ok(if open.is_asked { Exit::ApprovalNeeded } else { Exit::Ok })
    }

    /// The next line; `None` when the person leaves.
    async fn next(&mut self, signals: &mut Signals) -> Result<Option<String>, Failure> {
        self.lines.listen().await;
        let mut told = false;
        loop {
            if !screen::ask("", "") {
                eprint!("› ");
            }
            tokio::select! {
                line = self.lines.next() => return Ok(line),
                heard = signals.next() => match heard {
                    Heard::End => return Ok(None),
                    Heard::Interrupt if screen::clear_typed() => told = false,
                    Heard::Interrupt if told => return Ok(None),
                    Heard::Interrupt => {
                        told = true;
                        eprintln!("Ctrl-C again or Ctrl-D leaves");
                    }
                },
            }
        }
    }

    /// What the conversation was left with that is not over, unless another process is at it.
    async fn open(&self) -> Result<Option<Open>, Failure> {
        let Some(trace) = &self.trace else { return Ok(None) };
        let (log, state, bodies) = self.app.logs.read(trace).await?;
        if self.app.logs.is_driven(trace)? {
            return Ok(None);
        }
        if state.run.is_none() {
            let reason = state
                .ended
                .reason
                .filter(|_| matches!(how_to_continue(&state), Continuation::Continue | Continuation::FinishAnswer));
            return Ok(reason.map(|reason| {
                let what = match reason {
                    FinishReason::Stopped => "the last run was stopped".into(),
                    other => format!("the last run ended without an answer ({})", other.words()),
                };
                Open { line: what.clone(), what, is_asked: false, is_over: true }
            }));
        }
        let Waits { calls, questions, .. } = self.app.logs.of(trace, &log, &state, &bodies).waits().await?;
        if let (None, Some(question)) = (calls.first(), questions.first()) {
            let (line, is_asked) = (questions::line(question, trace), question.standing == QuestionStanding::Open);
            return Ok(Some(Open { what: line.clone(), line, is_asked, is_over: false }));
        }
        Ok(Some(match calls.first() {
            Some(call) => Open {
                what: standing_in_words(call),
                line: line(call, trace),
                is_asked: call.standing == CallStanding::Open,
                is_over: false,
            },
            None => Open {
                what: "the last run was interrupted".into(),
                line: format!("the last run was interrupted; to continue it: mainpath resume {trace}"),
                is_asked: false,
                is_over: false,
            },
        }))
    }

    /// What there is instead of the `/NAME` that a line begins with; `None` if it names a skill, or is something to say.
    fn no_such_name(&self, line: &str) -> Result<Option<String>, Failure> {
        let here = agent::workspace(self.run.agent.workspace.as_deref())?;
        Ok(no_such_name(line, &here, self.app.host.skills()))
    }

    /// A run for one message.
    async fn say(&mut self, text: String) -> Result<Exit, Failure> {
        self.run.output.is_named = self.trace.is_some();
        if let Some(trace) = &self.trace {
            let said = Outgoing::new(Next::Message(Task::new(text)), &self.run.agent);
            return go_on(self.app, trace, &self.run.agent, &self.run.output, said).await;
        }
        // From then on the conversation has its own, but for what was asked for.
        let asked = std::mem::replace(&mut self.run.agent.model, self.model.clone());
        let done = begin(self.app, &self.run, Task::new(text), None).await;
        self.run.agent.model = asked;
        self.trace = self.last().await?;
        done
    }

    /// Continues what is left open.
    async fn again(&mut self) -> Result<Exit, Failure> {
        self.run.output.is_named = true;
        let Some(trace) = &self.trace else { return Ok(Exit::Ok) };
        let said = Outgoing::new(Next::Rest, &self.run.agent);
        go_on(self.app, trace, &self.run.agent, &self.run.output, said).await
    }

    /// Says what a run was left with. Gives the exit code where somebody has ended it at once: then the chat is over as well.
    async fn left(&self, done: Result<Exit, Failure>) -> Result<Option<Exit>, Failure> {
        let exit = match done {
            Ok(exit) => exit,
            Err(failure) => {
                eprintln!("mainpath: {}", plain(&failure.message));
                return Ok(None);
            }
        };
        let Some(open) = self.open().await? else { return Ok(None) };
        if exit == Exit::Interrupted && !open.is_over {
            return Ok(Some(exit));
        }
        eprintln!("{}", open.told());
        Ok(None)
    }
}
