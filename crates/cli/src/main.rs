//! `mainpath`: the command line. It composes the parts and owns what people see; it decides nothing about agents.

// First, so that its macros hold in all that follows.
#[macro_use]
mod ui;

mod app;
mod args;
mod commands;
mod exit;
mod runs;
mod traces;

use clap::Parser;
use commands::{Cli, Command};
use exit::{Exit, Failure};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::process::ExitCode;
use std::time::Duration;
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    // The launcher that stands between a tool's process and us, and what applies the filters of `json_transform`.
    mainpath::launcher_main();
    // What a defect says may quote what it stumbled over.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("mainpath: a bug: {}", mainpath::home::hidden(&panic.to_string()))
    }));
    // In a terminal nothing more need be said.
    let bare = std::env::args_os().len() < 2 && runs::follow::is_attended();
    let cli = match if bare { Cli::try_parse_from(["mainpath", "chat"]) } else { Cli::try_parse() } {
        Ok(cli) => cli,
        Err(error) => return misused(&error).into(),
    };
    // While there is but one thread: what it starts is a copy of this process.
    let done = match cli.command {
        Command::Sandbox(args) => commands::sandbox::sandbox(&args),
        command => dispatch(command).map(ExitCode::from),
    };
    match done {
        Ok(code) => code,
        Err(Failure { exit, message }) => {
            eprintln!("mainpath: {}", ui::text::plain(&mainpath::home::hidden(&message)));
            exit.into()
        }
    }
}

/// Help and version as they are; a mistake as the one line that all failures are.
fn misused(error: &clap::Error) -> Exit {
    use clap::error::ErrorKind;
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help || !error.use_stderr() {
        // Nobody reads any more: there is nobody to tell.
        let _ = error.print();
        return if is_help { Exit::Usage } else { Exit::Ok };
    }
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(number) = negative(error) {
        let before = words.iter().position(|word| word == number).and_then(|at| words.get(at.checked_sub(1)?));
        let flag = before.filter(|word| word.starts_with("--")).map(|flag| format!("{flag}: ")).unwrap_or_default();
        eprintln!("mainpath: {}{number} is negative; give 0 or more", ui::text::plain(&flag));
        return Exit::Usage;
    }
    if let Some(line) = ui::suggest::told(error, &words) {
        eprintln!("mainpath: {}", ui::text::plain(&mainpath::home::hidden(&line)));
        return Exit::Usage;
    }
    let told = error.render().to_string();
    // Paragraphs: what is wrong, perhaps a hint, how it is used, where to read more.
    let paragraphs = told.split("\n\n").filter(|paragraph| !paragraph.trim_start().starts_with("For more information"));
    let words = paragraphs.map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let line = words.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    eprintln!("mainpath: {}", ui::text::plain(&mainpath::home::hidden(line.strip_prefix("error: ").unwrap_or(&line))));
    Exit::Usage
}

/// The number below zero that was taken for an option.
fn negative(error: &clap::Error) -> Option<&str> {
    match error.get(clap::error::ContextKind::InvalidArg)? {
        clap::error::ContextValue::String(word) => {
            let digits = word.strip_prefix('-')?;
            digits.starts_with(|letter: char| letter.is_ascii_digit()).then_some(word)
        }
        _ => None,
    }
}

/// Looks whether as many files can be opened as any command takes: what needs one more in the middle would fail there with
/// less to say for itself. Errors: they cannot.
fn has_room_for_files() -> Result<(), Failure> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    const FILES: usize = 40;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let open = |_| std::fs::File::open("/dev/null");
    let Err(error) = (0..FILES).map(open).collect::<Result<Vec<_>, _>>() else { return Ok(()) };
    let most = getrlimit(Resource::Nofile).current.map_or_else(String::new, |most| format!("; the limit is {most}"));
    Err(Failure::error(format!("cannot open {FILES} more files ({error}{most}); raise the limit with ulimit -n 1024")))
}

/// The stack of a thread: as much as the first one has, because what reads rules and commands recurses.
const STACK: usize = 8 << 20;
/// How long an idle thread for blocking work stays. Work waits for it where no other thread can be started; without any, tokio panics.
const KEEP_ALIVE: Duration = Duration::from_secs(3_600);

/// Starts tokio with a first thread for blocking work. Errors: no thread can be started, for which tokio panics.
fn start(mut tokio: tokio::runtime::Builder) -> Result<Runtime, Failure> {
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let started = catch_unwind(AssertUnwindSafe(|| {
        let tokio = tokio.build()?;
        drop(tokio.spawn_blocking(|| {}));
        Ok::<_, std::io::Error>(tokio)
    }));
    set_hook(hook);
    Ok(started.map_err(|_| Failure::error("no thread can be started: there are too many, or too little memory"))??)
}

fn dispatch(command: Command) -> Result<Exit, Failure> {
    // These read no trace.
    let reads_none =
        matches!(command, Command::Schema(_) | Command::Config(_) | Command::Completions(_) | Command::Man(_));
    if !reads_none {
        has_room_for_files()?;
    }
    // One agent computes next to nothing: on one thread its parts wake each other without the kernel. Many do not.
    let many = matches!(command, Command::Mcp(_) | Command::Serve(_) | Command::Ui(_) | Command::Test(_));
    let mut tokio = match many {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    tokio.enable_all().thread_stack_size(STACK);
    if !many {
        tokio.thread_keep_alive(KEEP_ALIVE);
    }
    let tokio = start(tokio)?;
    let done = tokio.block_on(command.run());
    // A prompt may still be waiting for a line; nobody waits for that.
    tokio.shutdown_background();
    done
}
