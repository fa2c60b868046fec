//! The same action has the same outcome and the same log through the command, a chat in a terminal, the server, the library and MCP.

use crate::mcp_serve::Client;
use crate::pty::Terminal;
use crate::serving::{Served, serve};
use crate::support::*;
use mainpath::trace::ApprovedFor;
use mainpath::types::{CallId, Seq, TraceId};
use mainpath::{Error, ErrorKind, Host, Run, Status, Trace};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// An action on a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Start(&'static str),
    /// Starts with the recording of another trace as the model.
    StartOnRecording,
    Say(&'static str),
    Resume,
    Approve,
    /// Approves the call with these arguments.
    ApproveWith(&'static str),
    /// Approves the call, and those like it in the trace.
    ApproveLike,
    Deny,
    /// Ends the running call.
    Interrupt,
    Rename(&'static str),
    Reopen,
    Answer(&'static str),
    Steer(&'static str),
    Next(&'static str),
    Rewind(u32, &'static str),
    Regenerate(u32),
    Fork(u32),
    Stop,
    Compact,
    Clear,
    /// Approves the call and waits until it runs.
    Begin,
    /// Waits until sent messages are read and the run ends or waits for a person.
    Rest,
}
use Step::*;

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// The run ended with this answer.
    Ended(String),
    /// The run waits for a person.
    Waits,
    /// The request was accepted.
    Done,
    Refused,
}

fn ended(answer: &str) -> Outcome {
    Outcome::Ended(answer.into())
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Command,
    Chat,
    Server,
    Library,
    Mcp,
}

/// A row of the table: the script of the model, and the steps with their expected outcomes.
struct Row {
    about: &'static str,
    script: &'static str,
    steps: Vec<(Step, Outcome)>,
}

const CUT: &str = "[[turn]]\ntext = \"The first half of the ans\"\nstop = \"max_tokens\"\n[[turn]]\nfinal = \"wer.\"\n";
const TWO: &str = "[[turn]]\nfinal = \"One.\"\n[[turn]]\nfinal = \"Two.\"\n";
const ASKS: &str = "[[turn]]\ncalls = [{ tool = \"write_text_file\", args = { path = \"b.txt\", content = \"x\" } }]\n[[turn]]\nfinal = \"The end.\"\n";
const OVER: &str = "The recording is over. To continue, choose a model: mainpath models.";
const AGAIN: &str = "[[turn]]\ncalls = [{ tool = \"write_text_file\", args = { path = \"b.txt\", content = \"x\" } }]\n[[turn]]\nfinal = \"The end.\"\n[[turn]]\nfinal = \"Made.\"\n";
const SLOW: &str = "[[turn]]\ncalls = [{ tool = \"bash\", args = { command = \"echo x > begun; sleep 60\" } }]\n[[turn]]\nfinal = \"The end.\"\n";
const QUESTION: &str = "[[turn]]\ncalls = [{ tool = \"ask_human\", args = { question = \"Which colour?\" } }]\n[[turn]]\nfinal = \"The end.\"\n";

fn rows() -> Vec<Row> {
    let row = |about, script, steps: &[(Step, Outcome)]| Row { about, script, steps: steps.to_vec() };
    let waits = Outcome::Waits;
    let refused = Outcome::Refused;
    vec![
        row("a task is answered", TWO, &[(Start("Do it."), ended("One."))]),
        row("a slip in the name of a skill costs nothing", TWO, &[(Start("/reserch hello"), refused.clone())]),
        row("an empty task", TWO, &[(Start(" "), refused.clone())]),
        row("a recording is a model", TWO, &[(StartOnRecording, ended("Recorded."))]),
        row("more is said", TWO, &[(Start("Do it."), ended("One.")), (Say("And?"), ended("Two."))]),
        row(
            "a slip in a later message",
            TWO,
            &[(Start("Do it."), ended("One.")), (Say("/reserch hello"), refused.clone()), (Say("And?"), ended("Two."))],
        ),
        row(
            "a later message on a recording",
            TWO,
            &[(StartOnRecording, ended("Recorded.")), (Say("And?"), ended(OVER))],
        ),
        row(
            "an answer that the output limit cut is finished",
            CUT,
            &[(Start("Say it."), ended("The first half of the ans")), (Resume, ended("wer."))],
        ),
        row(
            "nothing is left to resume",
            TWO,
            &[(Start("Do it."), ended("One.")), (Resume, refused.clone()), (Say("And?"), ended("Two."))],
        ),
        row("a call is approved", ASKS, &[(Start("Do it."), waits.clone()), (Approve, ended("The end."))]),
        row("a call is denied", ASKS, &[(Start("Do it."), waits.clone()), (Deny, ended("The end."))]),
        row(
            "a call is approved with arguments that fit its tool alone",
            ASKS,
            &[
                (Start("Do it."), waits.clone()),
                (ApproveWith("{\"path\": 1}"), refused.clone()),
                (ApproveWith("{\"path\": \"c.txt\", \"content\": \"y\"}"), ended("The end.")),
            ],
        ),
        row(
            "a call is approved with those like it, once",
            ASKS,
            &[(Start("Do it."), waits.clone()), (ApproveLike, ended("The end.")), (ApproveLike, refused.clone())],
        ),
        row(
            "no rule is made of a denied call",
            ASKS,
            &[(Start("Do it."), waits.clone()), (Deny, ended("The end.")), (ApproveLike, refused.clone())],
        ),
        row(
            "a trace gets a name of one line",
            TWO,
            &[
                (Start("Do it."), ended("One.")),
                (Rename("two\nlines"), refused.clone()),
                (Rename("The work"), Outcome::Done),
            ],
        ),
        row(
            "a denied call is not approved without saying so",
            ASKS,
            &[(Start("Do it."), waits.clone()), (Deny, ended("The end.")), (Approve, refused.clone())],
        ),
        row(
            "a denied call is made after all",
            AGAIN,
            &[(Start("Do it."), waits.clone()), (Deny, ended("The end.")), (Reopen, ended("Made."))],
        ),
        row(
            "a question is answered",
            QUESTION,
            &[(Start("Do it."), waits.clone()), (Answer("red"), ended("The end."))],
        ),
        row(
            "a decision about nothing",
            TWO,
            &[
                (Start("Do it."), ended("One.")),
                (Approve, refused.clone()),
                (Deny, refused.clone()),
                (Answer("x"), refused.clone()),
            ],
        ),
        row(
            "back to a message with another",
            TWO,
            &[(Start("Do it."), ended("One.")), (Rewind(0, "Other."), ended("One."))],
        ),
        row(
            "back with a slip in the name of a skill",
            TWO,
            &[(Start("Do it."), ended("One.")), (Rewind(0, "/reserch hello"), refused.clone())],
        ),
        row("back to no message", TWO, &[(Start("Do it."), ended("One.")), (Rewind(99, "Other."), refused.clone())]),
        row("answered again", TWO, &[(Start("Do it."), ended("One.")), (Regenerate(1), ended("One."))]),
        row("a copy", TWO, &[(Start("Do it."), ended("One.")), (Fork(1), Outcome::Done)]),
        row("a copy up to no message", TWO, &[(Start("Do it."), ended("One.")), (Fork(99), refused.clone())]),
        row(
            "a run that waits is stopped, and resumed",
            ASKS,
            &[(Start("Do it."), waits.clone()), (Stop, Outcome::Done), (Resume, ended("The end."))],
        ),
        row(
            "a redirection skips the call that waits",
            ASKS,
            &[(Start("Do it."), waits.clone()), (Steer("Other."), Outcome::Done), (Rest, ended("The end."))],
        ),
        row(
            "a message is read after the run",
            AGAIN,
            &[
                (Start("Do it."), waits.clone()),
                (Next("Other."), Outcome::Done),
                (Rest, waits.clone()),
                (Approve, ended("Made.")),
            ],
        ),
        row(
            "a steer, a message, a stop and a summary where nothing runs",
            TWO,
            &[(Start("Do it."), ended("One.")), (Stop, refused.clone()), (Compact, refused.clone())],
        ),
        row(
            "the conversation is started over",
            TWO,
            &[
                (Start("Do it."), ended("One.")),
                (Clear, Outcome::Done),
                (Clear, refused.clone()),
                (Resume, refused.clone()),
                (Say("And?"), ended("One.")),
            ],
        ),
        row(
            "a waiting call goes with its conversation",
            ASKS,
            &[(Start("Do it."), waits.clone()), (Clear, Outcome::Done), (Approve, refused.clone())],
        ),
        row(
            "a call that does not run is not interrupted",
            ASKS,
            &[
                (Start("Do it."), waits.clone()),
                (Interrupt, refused.clone()),
                (Approve, ended("The end.")),
                (Interrupt, refused.clone()),
            ],
        ),
        row(
            "a running call is interrupted, and the run continues",
            SLOW,
            &[(Start("Do it."), waits), (Begin, Outcome::Done), (Interrupt, Outcome::Done), (Rest, ended("The end."))],
        ),
    ]
}

/// The installation in which one row runs through one interface.
struct World {
    place: Place,
    model: String,
    recording: String,
    trace: Option<String>,
    by: By,
    /// A command that still runs.
    running: Option<Process>,
    /// How many events the log of a chat had before the last step that was typed.
    known: usize,
}

/// The interface that carries out the steps.
enum By {
    Command,
    Chat(Terminal),
    Server(Served),
    Library(Box<(Runtime, Host)>),
    Mcp(Box<Client>),
}

impl World {
    fn new(way: Way, script: &str) -> World {
        let place = Place::new();
        let file = |name: &str, text: &str| {
            let file = place.root().join(name);
            std::fs::write(&file, text).unwrap();
            format!("scripted:{}", file.display())
        };
        let model = file("script.toml", script);
        let recorded = file("recorded.toml", "[[turn]]\nfinal = \"Recorded.\"\n");
        place.config(&format!("model = {model:?}\n"));
        place.ok(&["run", "--model", &recorded, "x"]);
        let recording = place.trace();
        let by = match way {
            Way::Command => By::Command,
            Way::Chat => By::Chat(Terminal::of_size(
                (80, 160),
                &place,
                (&[env!("CARGO_BIN_EXE_mainpath")], &["chat", "--new"]),
                &[],
            )),
            Way::Server => By::Server(serve(&place)),
            Way::Library => {
                let runtime = Runtime::new().unwrap();
                let entered = runtime.enter();
                let host = Host::from_folder(&place.home).unwrap();
                drop(entered);
                By::Library(Box::new((runtime, host)))
            }
            Way::Mcp => By::Mcp(Box::new(Client::of(place.command(&["mcp", "serve"])))),
        };
        World { place, model, recording, trace: None, by, running: None, known: 0 }
    }

    /// Carries out a step. `None`: this interface does not offer it.
    fn take(&mut self, step: Step) -> Option<Outcome> {
        match &self.by {
            By::Command => Some(self.by_command(step)),
            By::Chat(_) => self.by_chat(step),
            By::Server(_) => Some(self.by_server(step)),
            // The program of the tests starts no commands.
            By::Library(_) if step == Begin => None,
            By::Library(_) => Some(self.by_library(step)),
            By::Mcp(_) => self.by_mcp(step),
        }
    }

    fn id(&self) -> String {
        self.trace.clone().unwrap()
    }

    /// Remembers the trace that a start created.
    fn found(&mut self) {
        let other = |trace: &String| *trace != self.recording;
        self.trace = self.place.traces().into_iter().find(other).or(self.trace.take());
    }

    fn call(&self) -> CallId {
        CallId { seq: Seq(2), index: 0 }
    }

    fn by_command(&mut self, step: Step) -> Outcome {
        let (call, trace) = (self.call().to_string(), self.trace.clone().unwrap_or_default());
        let recording = format!("playback:{}", self.recording);
        let run = |words: &[&str]| {
            let done = self.place.run(words);
            match done.code {
                0 => ended(done.out.trim_end()),
                5 => Outcome::Waits,
                // The output limit cut the answer off.
                4 => answered(&done.out),
                _ => Outcome::Refused,
            }
        };
        let sent = |words: &[&str]| if self.place.run(words).code == 0 { Outcome::Done } else { Outcome::Refused };
        let and_resumed = |words: &[&str]| match sent(words) {
            Outcome::Done => run(&["resume", "--park", &trace]),
            refused => refused,
        };
        let outcome = match step {
            Start(task) => run(&["run", "--park", task]),
            StartOnRecording => run(&["run", "--park", "--model", &recording, "x"]),
            Say(text) => run(&["run", "--park", "--trace", &trace, text]),
            Resume => run(&["resume", "--park", &trace]),
            Approve => and_resumed(&["approve", &trace, "--call", &call]),
            ApproveWith(arguments) => and_resumed(&["approve", &trace, "--call", &call, "--arguments", arguments]),
            ApproveLike => and_resumed(&["approve", &trace, "--call", &call, "--for", "trace"]),
            Deny => and_resumed(&["deny", &trace, "--call", &call]),
            Interrupt => sent(&["interrupt", &trace, &call]),
            Rename(name) => sent(&["rename", &trace, name]),
            Reopen => and_resumed(&["approve", &trace, "--call", &call, "--reopen"]),
            Answer(text) => and_resumed(&["answer", &trace, &call, text]),
            Steer(text) => sent(&["steer", &trace, text]),
            Next(text) => sent(&["next", &trace, text]),
            Rewind(to, text) => run(&["rewind", "--park", &trace, "--to", &to.to_string(), text]),
            Regenerate(to) => run(&["rewind", "--park", &trace, "--to", &to.to_string()]),
            Fork(to) => sent(&["fork", &trace, "--to", &to.to_string(), "--no-run"]),
            Stop => sent(&["stop", &trace]),
            Compact => sent(&["compact", &trace]),
            Clear => sent(&["clear", &trace]),
            Begin => {
                let approved = sent(&["approve", &trace, "--call", &call]);
                self.running = Some(self.place.start(&["resume", "--park", &trace]));
                self.runs();
                approved
            }
            Rest => match self.running.take() {
                Some(mut running) => ended(running.end().out.trim_end()),
                None => run(&["resume", "--park", &trace]),
            },
        };
        if self.trace.is_none() {
            self.found();
        }
        outcome
    }

    /// Waits until the slow call runs.
    fn runs(&self) {
        wait_until("the call runs", || self.place.work.join("begun").exists());
    }

    /// A conversation that is typed. Decisions are the answers to its questions, and Enter on an empty line continues what is left open.
    fn by_chat(&mut self, step: Step) -> Option<Outcome> {
        let By::Chat(terminal) = &mut self.by else { unreachable!() };
        terminal.until("something can be typed", |terminal| terminal.screen().contains('›'));
        let is_asked = asks(terminal);
        let typed = match step {
            Start(text) | Say(text) if !is_asked && !text.trim().is_empty() => format!("{text}\r"),
            Resume if !terminal.screen().contains("press Enter to continue it") => return Some(Outcome::Refused),
            Resume => "\r".into(),
            Approve | Begin if is_asked => "y\r".into(),
            Deny if is_asked => "n\r".into(),
            Answer(text) if is_asked => format!("{text}\r"),
            Steer(text) if is_asked => format!("/steer {text}\r"),
            Next(text) if is_asked => format!("/next {text}\r"),
            Interrupt if !is_asked => "/esc\r".into(),
            Rest => String::new(),
            _ => return None,
        };
        if step != Rest {
            self.known = self.trace.as_ref().map_or(0, |trace| self.place.events(trace).len());
        }
        terminal.types(&typed);
        match step {
            Begin => self.runs(),
            Steer(_) | Next(_) | Interrupt => {}
            _ => return Some(self.chat_outcome()),
        }
        Some(Outcome::Done)
    }

    /// What became of the last step that was typed: what the log has since, once the terminal shows it.
    fn chat_outcome(&mut self) -> Outcome {
        let until = Instant::now() + LONG;
        loop {
            std::thread::sleep(Duration::from_millis(20));
            let By::Chat(terminal) = &self.by else { unreachable!() };
            assert!(Instant::now() < until, "nothing becomes of it: {}", terminal.screen());
            if before_prompt(terminal).is_some_and(|line| line.contains("there is no ")) {
                return Outcome::Refused;
            }
            if self.trace.is_none() {
                self.found();
            }
            let events = self.trace.as_ref().map(|trace| self.place.events(trace)).unwrap_or_default();
            let By::Chat(terminal) = &self.by else { unreachable!() };
            let Some(last) = events[self.known.min(events.len())..].last() else { continue };
            match last["type"].as_str() {
                Some("run_finished") if before_prompt(terminal).is_some_and(|line| is_end(&line, last)) => {
                    return self.outcome_of(&self.id(), "ended");
                }
                Some("model_finished" | "message_queued" | "action_started") if asks(terminal) => {
                    return Outcome::Waits;
                }
                _ => {}
            }
        }
    }

    fn by_server(&mut self, step: Step) -> Outcome {
        let By::Server(server) = &self.by else { unreachable!() };
        let trace = self.trace.clone().unwrap_or_default();
        let post = |path: &str, body: Value| {
            let (status, answer) = server.ask("POST", path, "prefer: wait=30\r\n", &body.to_string());
            (status < 300, answer)
        };
        let to = |verb: &str| format!("/api/traces/{trace}/{verb}");
        let sent = |(is_ok, _): (bool, Value)| if is_ok { Outcome::Done } else { Outcome::Refused };
        let run = |(is_ok, answer): (bool, Value)| match is_ok {
            true => {
                let id = answer["trace_id"].as_str().unwrap_or(&trace).to_string();
                let at = format!("/api/traces/{id}");
                let status = || server.ask("GET", &at, "", "").1["status"].as_str().unwrap_or_default().to_string();
                std::thread::sleep(Duration::from_millis(100));
                wait_until("it has ended or waits", || status() != "running");
                self.outcome_of(&id, &status())
            }
            false => Outcome::Refused,
        };
        let model = |model: &str, task: &str| json!({"task": task, "model": model, "workspace": self.place.work});
        let recording = format!("playback:{}", self.recording);
        let outcome = match step {
            Start(task) => run(post("/api/traces", model(&self.model, task))),
            StartOnRecording => run(post("/api/traces", model(&recording, "x"))),
            Say(text) => run(post(&to("run"), json!({"messages": [{"role": "user", "content": text}]}))),
            Resume => run(post(&to("resume"), json!({}))),
            Interrupt => sent(post(&to("interrupt"), json!({"call": self.call().to_string()}))),
            Rename(name) => sent(post(&to("rename"), json!({"name": name}))),
            Approve | ApproveWith(_) | ApproveLike | Deny | Reopen => {
                let decision = if matches!(step, Deny) { "deny" } else { "approve" };
                let mut body = json!({"decision": decision});
                if matches!(step, Reopen) {
                    body["reopen"] = true.into();
                }
                if let ApproveWith(arguments) = step {
                    body["arguments"] = serde_json::from_str(arguments).unwrap();
                }
                if matches!(step, ApproveLike) {
                    body["for"] = "trace".into();
                }
                run(post(&to(&format!("approvals/{}", self.call())), body))
            }
            Answer(text) => run(post(&to(&format!("questions/{}", self.call())), json!({"answer": text}))),
            Steer(text) => sent(post(&to("steer"), json!({"message": text}))),
            Next(text) => sent(post(&to("next"), json!({"message": text}))),
            Rewind(after, text) => run(post(&to("rewind"), json!({"after_sequence": after, "message": text}))),
            Regenerate(after) => run(post(&to("regenerate"), json!({"after_sequence": after}))),
            Fork(at) => sent(post(&to("fork"), json!({"at_sequence": at}))),
            Stop => sent(post(&to("stop"), json!({}))),
            Compact => sent(post(&to("compact"), json!({}))),
            Clear => sent(post(&to("clear"), json!({}))),
            Begin => {
                let approved = sent(post(&to(&format!("approvals/{}", self.call())), json!({"decision": "approve"})));
                self.runs();
                approved
            }
            Rest => run((true, json!({}))),
        };
        if self.trace.is_none() {
            self.found();
        }
        outcome
    }

    /// The outcome of a trace with this status, read from its log.
    fn outcome_of(&self, trace: &str, status: &str) -> Outcome {
        match status {
            "waiting" => Outcome::Waits,
            _ => {
                let events = self.place.events(trace);
                let answers = events.iter().rev().filter(|event| event["type"] == "model_finished");
                let text = answers.flat_map(|event| event["data"]["parts"].as_array().cloned().unwrap_or_default());
                let mut texts = text.filter_map(|part| part["text"].as_str().map(String::from));
                ended(&texts.next().unwrap_or_default())
            }
        }
    }

    fn by_library(&mut self, step: Step) -> Outcome {
        let By::Library(library) = &self.by else { unreachable!() };
        let (runtime, host) = &**library;
        let call = self.call();
        let agent = |model: &str| host.agent(model).workspace(&self.place.work);
        let outcome = runtime.block_on(async {
            let trace = match &self.trace {
                Some(id) => Some(host.trace(&id.parse::<TraceId>().unwrap()).await.unwrap()),
                None => None,
            };
            let trace = trace.as_ref();
            match step {
                Start(task) => run_of(agent(&self.model).start(task).await).await,
                StartOnRecording => run_of(agent(&format!("playback:{}", self.recording)).start("x").await).await,
                Say(text) => run_of(trace.unwrap().say(text).await).await,
                Resume => run_of(trace.unwrap().resume().await).await,
                Approve => then_ends(trace.unwrap(), trace.unwrap().approve(call).await).await,
                ApproveWith(arguments) => {
                    then_ends(trace.unwrap(), trace.unwrap().approve_with(call, arguments).await).await
                }
                ApproveLike => {
                    let made = trace.unwrap().approve_for(call, ApprovedFor::Trace).await;
                    then_ends(trace.unwrap(), made.map(drop)).await
                }
                Interrupt => done(trace.unwrap().interrupt(call).await),
                Rename(name) => done(trace.unwrap().rename(name).await.map(drop)),
                Deny => then_ends(trace.unwrap(), trace.unwrap().deny(call, None).await).await,
                Reopen => run_of(trace.unwrap().reopen(call).await).await,
                Answer(text) => then_ends(trace.unwrap(), trace.unwrap().answer(call, text).await).await,
                Steer(text) => done(trace.unwrap().steer(text).await),
                Next(text) => done(trace.unwrap().next(text).await),
                Rewind(after, text) => run_of(trace.unwrap().rewind(Seq(after), text).await).await,
                Regenerate(after) => run_of(trace.unwrap().regenerate(Seq(after)).await).await,
                Fork(at) => done(trace.unwrap().fork(Seq(at)).await.map(drop)),
                Stop => match trace.unwrap().stop_run().await {
                    Ok(_) => {
                        at_rest(trace.unwrap()).await;
                        Outcome::Done
                    }
                    Err(refused) => done(Err(refused)),
                },
                Compact => done(trace.unwrap().compact(None).await.map(drop)),
                Clear => done(trace.unwrap().clear().await.map(drop)),
                Begin => unreachable!("the caller leaves it out"),
                Rest => at_rest(trace.unwrap()).await,
            }
        });
        if self.trace.is_none() {
            self.found();
        }
        outcome
    }

    fn by_mcp(&mut self, step: Step) -> Option<Outcome> {
        let (call, trace) = (self.call().to_string(), self.trace.clone());
        let work = self.place.work.clone();
        let By::Mcp(client) = &mut self.by else { unreachable!() };
        let (failed, said) = match step {
            Start(task) => client.call("run_start", json!({"task": task, "workspace": work})),
            Approve => client.call("run_answer", json!({"trace": trace, "call": call, "decision": "approve"})),
            Deny => client.call("run_answer", json!({"trace": trace, "call": call, "decision": "deny"})),
            Answer(text) => {
                client.call("run_answer", json!({"trace": trace, "call": call, "decision": "answer", "text": text}))
            }
            _ => return None,
        };
        if failed {
            return Some(Outcome::Refused);
        }
        let trace = trace.unwrap_or_else(|| said["trace"].as_str().unwrap().to_string());
        let result = client.ok("run_result", json!({"trace": trace, "wait_s": 30}));
        self.trace = Some(trace);
        Some(match result["status"].as_str() {
            Some("waiting") => Outcome::Waits,
            _ => answered(result["answer"].as_str().unwrap_or_default()),
        })
    }

    /// The types of the events of the trace, in order.
    fn log(&self) -> Vec<String> {
        let events = self.trace.as_ref().map(|trace| self.place.events(trace)).unwrap_or_default();
        events.iter().map(|event| event["type"].as_str().unwrap().to_string()).collect()
    }
}

/// The line before the prompt of a conversation, where that is the last thing shown.
fn before_prompt(terminal: &Terminal) -> Option<String> {
    let screen = terminal.screen();
    let before = screen.trim_end().strip_suffix('›')?;
    Some(before.trim_end().lines().last()?.to_string())
}

/// Whether a line is the last one about a run that ended with this event.
fn is_end(line: &str, finished: &Value) -> bool {
    match finished["data"]["reason"] == "final" {
        true => line.starts_with('■'),
        false => line.contains("press Enter to continue it"),
    }
}

/// Whether a run asks something at the end of a terminal.
fn asks(terminal: &Terminal) -> bool {
    let screen = terminal.screen();
    ["[?]:", "[?]):"].iter().any(|end| screen.trim_end().ends_with(end))
}

fn done(result: Result<(), Error>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Failed, "{error}");
            Outcome::Refused
        }
    }
}

async fn run_of(run: Result<Run, Error>) -> Outcome {
    match run {
        Ok(run) => {
            let trace = run.trace().clone();
            tokio::select! {
                outcome = run.outcome() => answered(&outcome.unwrap().answer),
                () = waits(&trace) => Outcome::Waits,
            }
        }
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Failed, "{error}");
            Outcome::Refused
        }
    }
}

async fn then_ends(trace: &Trace, decided: Result<(), Error>) -> Outcome {
    match done(decided) {
        Outcome::Done => at_rest(trace).await,
        refused => refused,
    }
}

/// Waits until sent messages are read and the run has ended or waits for a person.
async fn at_rest(trace: &Trace) -> Outcome {
    let until = Instant::now() + LONG;
    loop {
        let status = trace.status().await.unwrap();
        assert!(Instant::now() < until, "the trace does not come to rest: {status:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
        match (trace.status().await.unwrap(), trace.outcome().await) {
            (Status::Waiting(_), _) => return Outcome::Waits,
            (Status::Ended(_), Ok(outcome)) => return answered(&outcome.answer),
            _ => {}
        }
    }
}

/// An answer without the note that is appended to one that was cut off.
fn answered(answer: &str) -> Outcome {
    ended(answer.split("\n\n[The answer was cut off").next().unwrap())
}

/// Returns as soon as the trace waits for a person.
async fn waits(trace: &Trace) {
    while !matches!(trace.status().await.unwrap(), Status::Waiting(_)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn whatever_is_done_comes_to_the_same_in_every_way() {
    let mut differences = Vec::new();
    for Row { about, script, steps } in rows() {
        let mut first: Option<Vec<String>> = None;
        for way in [Way::Command, Way::Chat, Way::Server, Way::Library, Way::Mcp] {
            let mut world = World::new(way, script);
            let mut is_offered = true;
            for (step, expected) in &steps {
                let Some(outcome) = world.take(*step) else {
                    is_offered = false;
                    break;
                };
                if outcome != *expected {
                    differences.push(format!("{about}, {way:?}, {step:?}: {outcome:?}, not {expected:?}"));
                }
            }
            let log = world.log();
            match &first {
                _ if !is_offered => {}
                None => first = Some(log),
                Some(known) if *known == log => {}
                Some(known) => differences.push(format!("{about}, {way:?}:\n  {log:?}\n  not {known:?}")),
            }
        }
    }
    assert_eq!(differences, [""; 0], "\n{}", differences.join("\n"));
}

#[test]
fn the_table_sees_a_difference() {
    let mut world = World::new(Way::Command, TWO);
    assert_eq!(world.take(Start("Do it.")), Some(ended("One.")));
    assert_eq!(world.take(Resume), Some(Outcome::Refused));
    assert!(Path::new(&world.place.file(&world.id(), "events.jsonl")).is_file());
}
