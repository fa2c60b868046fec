//! What a run is to do: typed, piped or attached.

use crate::args::output::OutputArgs;
use crate::exit::Failure;
use crate::runs::attach::Attached;
use crate::ui::text::number;
use mainpath::Installation;
use mainpath::agent::sizes;
use mainpath::runtime::Mail;
use mainpath::skills::said;
use mainpath::types::{MessageMode, Part, Spec};
use rustix::fs::{FileType, fstat};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;

/// What a run is to do.
pub struct Task {
    /// In a person's words.
    pub typed: String,
    /// What it is about, from standard input.
    pub piped: Option<String>,
}

impl Task {
    /// What is said by a task that begins with `/NAME` of a skill: the mail that loads it, and the task without that. Errors: the skill
    /// cannot be used, or there is none of this name.
    pub fn with_skill(self, spec: &Spec, app: &Installation) -> Result<(Option<Mail>, Task), Failure> {
        let (skill, typed) = said(self.typed, spec, app.shelf.as_ref())?;
        Ok((skill, Task { typed, piped: self.piped }))
    }
}

/// The task: the argument, standard input, or both, where what comes on standard input is context for the argument.
pub fn task(argument: Option<&str>) -> Result<Task, Failure> {
    let piped = match argument {
        Some("-") => Some(read_all()?),
        _ if has_input() => Some(read_all()?),
        _ => None,
    };
    let piped = piped.filter(|text| !text.trim().is_empty());
    match (argument.filter(|text| *text != "-" && !text.trim().is_empty()), piped) {
        (Some(task), piped) => Ok(Task { typed: task.into(), piped }),
        (None, Some(task)) => Ok(Task { typed: task, piped: None }),
        (None, None) => Err(Failure::usage("no task given: mainpath run \"TASK\", or give it on standard input")),
    }
}

/// The task with what was piped in before it and what is attached after it, which is named for people.
pub fn message(Task { typed, piped }: Task, attached: Attached, output: &OutputArgs) -> Mail {
    if !output.json {
        attached.lines.iter().for_each(|line| eprintln!("· {line}"));
    }
    let is_alone = piped.is_none() && attached.parts.is_empty();
    let which = if is_alone { None } else { Some(u16::from(piped.is_some())) };
    // An empty line parts it from the task: between two texts stands a line break.
    let piped = piped.map(|text| Part::text(format!("{text}\n")));
    let parts = piped.into_iter().chain([Part::text(typed)]).chain(attached.parts).collect();
    Mail::Message { mode: MessageMode::Message, parts, typed: which }
}

/// Whether standard input is a pipe or a file. A terminal is for approvals, and a device such as /dev/null has nothing.
pub fn has_input() -> bool {
    let kind = fstat(std::io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}

pub fn read_all() -> Result<String, Failure> {
    let done = Arc::new(AtomicBool::new(false));
    let waiting = Arc::clone(&done);
    // It only helps: without a thread, standard input is read all the same.
    let _ = Builder::new().spawn(move || {
        std::thread::sleep(Duration::from_secs(2));
        if !waiting.load(Ordering::Acquire) {
            eprintln!("mainpath: waiting for standard input to end (add </dev/null if there is none)");
        }
    });
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    done.store(true, Ordering::Release);
    read.map_err(|error| Failure::error(format!("standard input: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8 text"))
}

/// What to say about a model that no table knows; `None` for the others.
pub fn unknown(model: &str, app: &Installation) -> Option<String> {
    let facts = app.models.registry().facts(model);
    if facts.known {
        return None;
    }
    let (window, output) = sizes(&facts, &app.logs.home.config);
    let (window, output) = (number(window.into()), number(output.into()));
    let price = if facts.price.is_none() { ", no price" } else { "" };
    Some(format!(
        "unknown model {model}: assuming a window of {window} tokens, answers up to {output}{price}; to set the right values: \
         mainpath models add {model} --context-window 65536"
    ))
}
