//! `demo`: the script that ships with the program, with real tools in a folder of its own.

use crate::app::App;
use crate::args::agent::AgentArgs;
use crate::args::output::OutputArgs;
use crate::args::run::RunArgs;
use crate::exit::{Exit, Failure};
use crate::runs::demo::DEMO;
use crate::runs::start::begin;
use clap::Args;
use mainpath::HomeOptions;
use mainpath::agent::Task;

/// `mainpath demo`
#[derive(Args, Debug)]
pub struct DemoArgs {
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What it is asked.
const TASK: &str = "Look around in this folder and say what is in it.";

/// `mainpath demo`
pub async fn demo(args: DemoArgs) -> Result<Exit, Failure> {
    let agent = AgentArgs { model: Some(DEMO.into()), ..AgentArgs::default() };
    let app = App::with(HomeOptions { no_sandbox: true, ..HomeOptions::default() })?;
    let run = RunArgs { agent, output: args.output, is_demo: true, ..RunArgs::default() };
    if !run.output.json {
        eprintln!("mainpath: a SCRIPTED model plays a fixed demonstration with real tools in a temporary folder");
    }
    begin(&app, &run, Task::new(TASK), None).await
}
