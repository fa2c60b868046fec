//! `mainpath`: the command line. It composes the parts and owns what people see; it decides nothing about agents.

mod agent;
mod app;
mod args;
mod browse;
mod config;
mod control;
mod doctor;
mod exit;
mod follow;
mod print;
mod prompt;
mod run;
mod text;

use args::{Cli, Command};
use clap::Parser;
use exit::{Exit, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    // The launcher that stands between a tool's process and us: see `mainpath_tools::launcher_main`.
    if words.next().is_some_and(|word| word == "__launch") {
        return mainpath_tools::launcher_main(words);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody reads any more: there is nobody to tell.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Ok }.into();
        }
    };
    match dispatch(cli.command) {
        Ok(exit) => exit.into(),
        Err(Failure { exit, message }) => {
            eprintln!("mainpath: {}", text::plain(&message));
            exit.into()
        }
    }
}

fn dispatch(command: Command) -> Result<Exit, Failure> {
    if let Command::Schema(args) = &command {
        return browse::schema(args);
    }
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let done = tokio.block_on(async {
        match command {
            Command::Run(args) => run::run(args).await,
            Command::Resume(args) => run::resume(args).await,
            Command::Rewind(args) => run::rewind(args).await,
            Command::Ls(args) => browse::ls(args).await,
            Command::Show(args) => browse::show(args).await,
            Command::Verify(args) => browse::verify(args).await,
            Command::Replay(args) => browse::replay(args).await,
            Command::Stop(args) => control::stop(args).await,
            Command::Approve(args) => control::approve(args).await,
            Command::Deny(args) => control::deny(args).await,
            Command::Schema(args) => browse::schema(&args),
            Command::Doctor => doctor::doctor().await,
        }
    });
    // A prompt may still be waiting for a line; nobody waits for that.
    tokio.shutdown_background();
    done
}
