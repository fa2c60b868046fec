//! The commands: each is registered once, below, in the order of `mainpath --help`. Its arguments and its code are in one file.

pub mod agent_core;
mod agent_core_mcp;
pub mod agents;
pub mod answer;
pub mod chat;
pub mod compare;
pub mod config;
pub mod context;
pub mod control;
pub mod conversation;
pub mod demo;
pub mod doctor;
pub mod elsewhere;
pub mod eval;
pub mod experience;
pub mod export;
pub mod goal;
pub mod import;
pub mod ls;
pub mod mcp;
pub mod models;
pub mod people;
pub mod pin;
pub mod play;
pub mod policy;
pub mod policy_backtest;
pub mod policy_replay;
pub mod policy_suggest;
pub mod policy_test;
pub mod query;
pub mod removal;
pub mod rename;
pub mod restore;
pub mod rewind;
pub mod run;
pub mod sandbox;
pub mod schema;
pub mod send;
pub mod serve;
pub mod server;
pub mod session;
pub mod shells;
pub mod show;
pub mod sign;
pub mod skills;
pub mod stats;
pub mod take;
pub mod testing;
mod testing_live;
pub mod tools;
pub mod trial;
pub mod verify;
pub mod watch;
pub mod what_if;

use crate::exit::{Exit, Failure};
use clap::{Parser, Subcommand};

/// Run LLM agents that you can watch, stop, rewind, resume and replay.
#[derive(Parser, Debug)]
#[command(name = "mainpath", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// `/// HELP  NAME(ARGS) |args| => CODE;` makes a command of `Command` and has `Command::run` call its code.
macro_rules! commands {
    ($($(#[$meta:meta])* $name:ident $(($given:ty) |$args:ident|)? => $code:expr;)*) => {
        /// What to do.
        #[derive(Subcommand, Debug)]
        pub enum Command {
            $($(#[$meta])* $name $(($given))?,)*
        }

        impl Command {
            /// Does it.
            pub async fn run(self) -> Result<Exit, Failure> {
                match self {
                    $(Command::$name $(($args))? => $code,)*
                }
            }
        }
    };
}

commands! {
    /// Give an agent a task and watch it work
    #[command(visible_alias = "exec")]
    Run(crate::args::run::RunArgs) |args| => run::run(args).await;
    /// Watch a demonstration without a model: a fixed script with real tools in a temporary folder
    Demo(demo::DemoArgs) |args| => demo::demo(args).await;
    /// Talk with an agent in this folder; in a terminal, `mainpath` alone does the same
    Chat(chat::ChatArgs) |args| => chat::chat(args).await;
    /// Continue a trace after a crash, a stop, a limit or an approval
    Resume(run::ResumeArgs) |args| => run::resume(args).await;
    /// List the traces, newest first
    Ls(ls::LsArgs) |args| => ls::ls(args).await;
    /// Find calls in all traces by tool, arguments, verdict, error, cost, text or origin
    Query(query::QueryArgs) |args| => query::query(args).await;
    /// Manage the index that `ls` and its search use
    #[command(subcommand)]
    Index(ls::IndexCommand) |command| => ls::index(command).await;
    /// Show a trace: its main path, its whole tree, or its events
    Show(show::ShowArgs) |args| => show::show(args).await;
    /// Show what each token of a request is used for, and what was left out and why
    Context(context::ContextArgs) |args| => context::context(args).await;
    /// Replace older messages with a summary, so that requests become smaller
    Compact(context::CompactArgs) |args| => context::compact(args).await;
    /// Stop the run at the next checkpoint
    Stop(crate::args::one::OneTrace) |args| => control::stop(args).await;
    /// Redirect a run: waits for the running tool, skips the calls after it
    Steer(control::SayArgs) |args| => control::steer(args).await;
    /// Queue a message for after the current run
    Next(control::SayArgs) |args| => control::next(args).await;
    /// Stop the running call; the agent continues
    Interrupt(control::InterruptArgs) |args| => control::interrupt(args).await;
    /// Start the conversation over; the agent forgets what was said, the log keeps it
    Clear(crate::args::one::OneTrace) |args| => control::clear(args).await;
    /// Show or change the plan of a trace, also while another process runs it
    Goal(goal::GoalArgs) |args| => goal::goal(args).await;
    /// Call a trace by a name, as `ls` shows and finds it
    Rename(rename::RenameArgs) |args| => rename::rename(args).await;
    /// Pin a sentence: the agent always sees it, word for word
    Pin(pin::PinArgs) |args| => pin::pin(args).await;
    /// Approve a pending call
    Approve(control::ApproveArgs) |args| => control::approve(args).await;
    /// Deny a pending call
    Deny(control::DenyArgs) |args| => control::deny(args).await;
    /// Answer a question of an agent
    Answer(answer::AnswerArgs) |args| => answer::answer(args).await;
    /// Leave a message of another agent for an agent to read
    Send(send::SendArgs) |args| => send::send(args).await;
    /// List contacts, or take replies to questions and messages of other systems' agents
    #[command(subcommand)]
    People(people::PeopleCommand) |command| => people::people(command).await;
    /// Go back to a message and answer it again, or continue from there with another task
    Rewind(rewind::RewindArgs) |args| => rewind::rewind(args).await;
    /// Answer the last message again
    Regenerate(rewind::RegenerateArgs) |args| => rewind::regenerate(args).await;
    /// Copy a trace up to a message and continue in the copy
    Fork(rewind::ForkArgs) |args| => rewind::fork(args).await;
    /// Restore files as they were at a message; the conversation stays
    Restore(restore::RestoreArgs) |args| => restore::restore(args).await;
    /// Show what an agent has changed in a copy of the folder, and put it into the folder
    Take(take::TakeArgs) |args| => take::take(args).await;
    /// Recompute views and requests and compare them with the record
    Replay(show::ReplayArgs) |args| => show::replay(args).await;
    /// Check that a log is complete and unchanged
    Verify(verify::VerifyArgs) |args| => verify::verify(args).await;
    /// Sign the head of a log with your key, so that a log that was rewritten is seen
    Sign(sign::SignArgs) |args| => sign::sign(args).await;
    /// Make tests of runs, and play them offline
    #[command(subcommand)]
    Test(testing::TestCommand) |command| => testing::test(command).await;
    /// Hold recorded runs against a suite of checks and graders
    Eval(eval::EvalArgs) |args| => eval::eval(args).await;
    /// Watch a trace live, from any process
    Watch(watch::WatchArgs) |args| => watch::watch(args).await;
    /// Play a recorded run in the terminal, as it was watched: at its own speed or any other
    Play(play::PlayArgs) |args| => play::play(args).await;
    /// Export a trace for people or for other programs
    Export(export::ExportArgs) |args| => export::export(args).await;
    /// Import a conversation from another system, or what codex, Claude Code, opencode and pi recorded, as new traces
    Import(Box<import::ImportArgs>) |args| => import::import(*args).await;
    /// Named conversations
    #[command(subcommand)]
    Session(Box<session::SessionCommand>) |command| => session::session(*command).await;
    /// Have the agent of a trace look back on its work and keep what it learned
    Reflect(experience::ReflectArgs) |args| => experience::reflect(args).await;
    /// List, edit, score and review what agents learned
    #[command(subcommand)]
    Experience(experience::ExperienceCommand) |command| => experience::experience(command);
    /// Remove traces with all their files
    Rm(removal::RmArgs) |args| => removal::rm(args).await;
    /// Remove old traces by age and number, and unreferenced blobs
    Purge(removal::PurgeArgs) |args| => removal::purge(args).await;
    /// Erase the text of messages for good; the log still verifies and records the erasure
    Erase(removal::EraseArgs) |args| => removal::erase(args).await;
    /// Show how runs ended, and calls, errors, time, tokens and cost by tool, model and day
    Stats(stats::StatsArgs) |args| => stats::stats(args).await;
    /// List providers and models: what you can use now, what is missing, abilities and prices
    Models(models::ModelsArgs) |args| => models::models(args).await;
    /// Run a command in the sandbox
    Sandbox(sandbox::SandboxArgs) |_args| => Err(Failure::usage("the sandbox starts before anything else"));
    /// List the tools: what they do, their limits and schemas, and how to enable the rest
    Tools(tools::ToolsArgs) |args| => tools::tools(args).await;
    /// List, show and trust agents: presets with their tools, limits and instructions
    Agents(agents::AgentsArgs) |args| => agents::agents(&args);
    /// List, show, make, check and trust skills
    #[command(subcommand)]
    Skills(skills::SkillsCommand) |command| => skills::skills(command);
    /// List, trust and test MCP servers, or serve Mainpath over MCP
    #[command(subcommand)]
    Mcp(mcp::McpCommand) |command| => mcp::mcp(command).await;
    /// Serve traces, runs and approvals over HTTP to other programs and people
    Serve(server::ServeArgs) |args| => server::serve(args).await;
    /// Open the pages in the browser: watch runs, decide, go back, compare; starts the server if none runs
    Ui(server::UiArgs) |args| => server::ui(args).await;
    /// Run the agent core as a tool: a request as JSON on standard input, its outputs as JSON on standard output
    AgentCore(agent_core::AgentCoreArgs) |args| => agent_core::agent_core(args).await;
    /// Make, list and revoke keys for the server
    #[command(subcommand)]
    Keys(server::KeysCommand) |command| => server::keys(command);
    /// Print the JSON Schema of a public type, or of all
    Schema(schema::SchemaArgs) |args| => schema::schema(&args);
    /// List the rules, or check how they decide on a call
    Policy(policy::PolicyArgs) |args| => policy::policy(args).await;
    /// Check your setup
    Doctor => doctor::doctor().await;
    /// Show every key of config.toml, its value, and where it comes from
    Config(config::ConfigArgs) |args| => config::config(&args);
    /// Print shell completions, e.g. mainpath completions bash > ~/.local/share/bash-completion/completions/mainpath
    Completions(shells::CompletionsArgs) |args| => shells::completions(&args);
    /// Print the manual page, or write the pages of all commands
    Man(shells::ManArgs) |args| => shells::man(&args);
}
