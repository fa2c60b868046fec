//! `mainpath`: the command line. It composes the parts and owns what people see; it decides nothing about agents.

// First, so that its macros hold in all that follows.
#[macro_use]
mod say;

mod allow;
mod args;
mod asked;
mod attach;
mod browse;
mod chat;
mod compare;
mod context;
mod control;
mod conversation;
mod demo;
mod doctor;
mod echo;
mod elsewhere;
mod exit;
mod export;
mod follow;
mod goal;
mod history;
mod list;
mod live;
mod mcp;
mod models;
mod past;
mod pin;
mod policy;
mod preview;
mod print;
mod prompt;
mod question;
mod removal;
mod restore;
mod rewind;
mod run;
mod sandbox;
mod serve;
mod session;
mod settings;
mod shells;
mod signals;
mod stats;
mod suggest;
mod term;
mod text;
mod tools;
mod trial;
mod typed;
mod waits;
mod watch;
mod which;
mod whole;
mod written;

use args::{Cli, Command};
use clap::Parser;
use exit::{Exit, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    // The launcher that stands between a tool's process and us.
    if let Some(code) = mainpath::launcher_main() {
        return code;
    }
    // What applies the filters of `json_transform`: see `mainpath_tools::filter_main`.
    if std::env::args_os().nth(1).is_some_and(|word| word == "__filter") {
        return mainpath_tools::filter_main();
    }
    // What a defect says may quote what it stumbled over.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("mainpath: a bug: {}", mainpath::home::hidden(&panic.to_string()))
    }));
    // In a terminal nothing more need be said.
    let bare = std::env::args_os().len() < 2 && follow::is_attended();
    let cli = match if bare { Cli::try_parse_from(["mainpath", "chat"]) } else { Cli::try_parse() } {
        Ok(cli) => cli,
        Err(error) => return misused(&error).into(),
    };
    // While there is but one thread: what it starts is a copy of this process.
    let done = match cli.command {
        Command::Sandbox(args) => sandbox::sandbox(&args),
        command => dispatch(command).map(ExitCode::from),
    };
    match done {
        Ok(code) => code,
        Err(Failure { exit, message }) => {
            eprintln!("mainpath: {}", text::plain(&mainpath::home::hidden(&message)));
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
    if let Some(number) = negative(error) {
        eprintln!("mainpath: {number} is negative; give 0 or more");
        return Exit::Usage;
    }
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(line) = suggest::told(error, &words) {
        eprintln!("mainpath: {}", text::plain(&mainpath::home::hidden(&line)));
        return Exit::Usage;
    }
    let told = error.render().to_string();
    // Paragraphs: what is wrong, perhaps a hint, how it is used, where to read more.
    let paragraphs = told.split("\n\n").filter(|paragraph| !paragraph.trim_start().starts_with("For more information"));
    let words = paragraphs.map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let line = words.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    eprintln!("mainpath: {}", text::plain(&mainpath::home::hidden(line.strip_prefix("error: ").unwrap_or(&line))));
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

fn dispatch(command: Command) -> Result<Exit, Failure> {
    match &command {
        Command::Schema(args) => return browse::schema(args),
        Command::Config(args) => return settings::config(args),
        Command::Completions(args) => return shells::completions(args),
        Command::Man(args) => return shells::man(args),
        _ => {}
    }
    has_room_for_files()?;
    // One agent computes next to nothing: on one thread its parts wake each other without the kernel.
    let tokio = match command {
        Command::Mcp(_) => tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?,
        _ => tokio::runtime::Builder::new_current_thread().enable_all().build()?,
    };
    let done = tokio.block_on(async {
        match command {
            Command::Run(args) => run::run(args).await,
            Command::Demo(args) => demo::demo(args).await,
            Command::Chat(args) => chat::chat(args).await,
            Command::Resume(args) => run::resume(args).await,
            Command::Rewind(args) => rewind::rewind(args).await,
            Command::Regenerate(args) => rewind::regenerate(args).await,
            Command::Fork(args) => rewind::fork(args).await,
            Command::Restore(args) => restore::restore(args).await,
            Command::Ls(args) => list::ls(args).await,
            Command::Index(command) => list::index(command).await,
            Command::Show(args) => browse::show(args).await,
            Command::Stats(args) => stats::stats(args).await,
            Command::Context(args) => context::context(args).await,
            Command::Compact(args) => context::compact(args).await,
            Command::Verify(args) => browse::verify(args).await,
            Command::Replay(args) => browse::replay(args).await,
            Command::Stop(args) => control::stop(args).await,
            Command::Steer(args) => control::steer(args).await,
            Command::Next(args) => control::next(args).await,
            Command::Interrupt(args) => control::interrupt(args).await,
            Command::Clear(args) => control::clear(args).await,
            Command::Watch(args) => watch::watch(args).await,
            Command::Export(args) => export::export(args).await,
            Command::Import(args) => session::import(*args).await,
            Command::Session(command) => session::session(*command).await,
            Command::Rm(args) => removal::rm(args).await,
            Command::Purge(args) => removal::purge(args).await,
            Command::Erase(args) => removal::erase(args).await,
            Command::Goal(args) => goal::goal(args).await,
            Command::Pin(args) => pin::pin(args).await,
            Command::Approve(args) => control::approve(args).await,
            Command::Deny(args) => control::deny(args).await,
            Command::Mcp(command) => mcp::mcp(command).await,
            Command::Schema(args) => browse::schema(&args),
            Command::Config(args) => settings::config(&args),
            Command::Completions(args) => shells::completions(&args),
            Command::Man(args) => shells::man(&args),
            Command::Policy(args) => policy::policy(args).await,
            Command::Models(args) => models::models(args).await,
            Command::Sandbox(_) => Err(Failure::usage("the sandbox starts before anything else")),
            Command::Tools(args) => tools::tools(args).await,
            Command::Doctor => doctor::doctor().await,
        }
    });
    // A prompt may still be waiting for a line; nobody waits for that.
    tokio.shutdown_background();
    done
}
