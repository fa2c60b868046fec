//! What a run is to do: typed, piped or attached.

use crate::app::App;
use crate::args::output::OutputArgs;
use crate::exit::Failure;
use crate::runs::attach::Attached;
use crate::ui::text::number;
use mainpath::agent::{Task, sizes};
use rustix::fs::{FileType, fstat};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;

/// The task: the argument, standard input, or both, where what comes on standard input is context for the argument.
pub fn task(argument: Option<&str>) -> Result<Task, Failure> {
    let piped = match argument {
        Some("-") => Some(read_all()?),
        _ if has_input() => Some(read_all()?),
        _ => None,
    };
    let piped = piped.filter(|text| !text.trim().is_empty());
    match (argument.filter(|text| *text != "-" && !text.trim().is_empty()), piped) {
        (Some(task), Some(piped)) => Ok(Task::new(task).about(piped)),
        (Some(task), None) => Ok(Task::new(task)),
        (None, Some(task)) => Ok(Task::new(task)),
        (None, None) => Err(Failure::usage("no task given: mainpath run \"TASK\", or give it on standard input")),
    }
}

/// The task with what is attached to it, which is named for people.
pub fn with_attached(task: Task, attached: Attached, output: &OutputArgs) -> Task {
    if !output.json {
        attached.lines.iter().for_each(|line| eprintln!("· {line}"));
    }
    task.attach(attached.parts)
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
pub fn unknown(model: &str, app: &App) -> Option<String> {
    let facts = app.host.registry().facts(model);
    if facts.known {
        return None;
    }
    let (window, output) = sizes(&facts, &app.host.home().config);
    let (window, output) = (number(window.into()), number(output.into()));
    let price = if facts.price.is_none() { ", no price" } else { "" };
    Some(format!(
        "unknown model {model}: assuming a window of {window} tokens, answers up to {output}{price}; to set the right values: \
         mainpath models add {model} --context-window 65536"
    ))
}
