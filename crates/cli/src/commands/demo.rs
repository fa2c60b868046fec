//! `demo`: the script that ships with the program, with real tools in a folder of its own.

use crate::args::agent::AgentArgs;
use crate::args::output::OutputArgs;
use crate::args::run::RunArgs;
use crate::exit::{Exit, Failure};
use crate::runs::demo::DEMO;
use crate::runs::start::begin;
use crate::runs::task::Task;
use clap::Args;
use mainpath::Installation;

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
    let app = Installation::open()?;
    let run = RunArgs { agent, output: args.output, is_demo: true, ..RunArgs::default() };
    if !run.output.json {
        eprintln!("mainpath: a SCRIPTED model plays a fixed demonstration with real tools in a temporary folder");
    }
    begin(&app, &run, Task { typed: TASK.into(), piped: None }, None).await
}
