//! What an agent can do: the [`Tool`] trait, the registry, and the kernel tools.
//!
//! **This crate owns** running one call: it checks the arguments, resolves every path inside the workspace, runs the tool
//! under its [`Grant`](mainpath_policy::Grant), stops it when asked, and returns only when nothing of the call runs any
//! more. **Its caller owns** the decision: whether a call may run, what its result means, and where output is kept.
//!
//! What never happens here:
//! - no tool runs without a grant for that very tool;
//! - no path is followed out of the workspace, into Mainpath's own files, or to another place than the one that was judged,
//!   whatever is swapped meanwhile;
//! - no process of a call outlives the call, its cancellation or its owner's death; what `bash` starts in the background
//!   belongs to the trace's [`Processes`] instead, and outlives neither those nor their owner;
//! - no panic of a tool reaches the caller, and no failure is anything but a [`ToolOutput`](mainpath_types::ToolOutput)
//!   with a code in its `error`.
//!
//! The codes of failed outputs are stable: `unknown_tool`, `invalid_arguments`, `bad_path`, `outside_workspace`,
//! `path_changed`, `protected`, `not_found`, `is_directory`, `not_a_file`, `not_a_folder`, `binary`, `not_utf8`, `too_large`,
//! `out_of_range`, `io`, `no_match`, `many_matches`, `overlap`, `no_change`, `internal`, `exit_code`, `signal`, `timeout`,
//! `interrupted`, `launch`, `sandbox`, `no_grant`, `bad_tool`, `panicked`, `too_many_processes`, `unknown_process`,
//! `filter`, `conflict`, `unknown_agent`, `workspace_changed`. Crates that add tools list theirs on their first page.
//!
//! # A tool
//! Of a closure: [`tool_fn`], [`tool_fn_with`]. With all that a tool can say of itself:
//! ```
//! use mainpath_tools::{Fut, Tool, ToolContext, ToolDoc, Tools};
//! use mainpath_types::{EffectClass, ToolOutput};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Words {
//!     /// The text to count in.
//!     text: String,
//! }
//! struct CountWords;
//!
//! impl Tool for CountWords {
//!     type Args = Words;
//!     const NAME: &'static str = "count_words";
//!     fn describe(&self) -> ToolDoc {
//!         ToolDoc::new("Counts the words of a text.", EffectClass::ReadOnly)
//!     }
//!     fn run<'a>(&'a self, _: &'a ToolContext, args: Words) -> Fut<'a, ToolOutput> {
//!         Box::pin(async move { ToolOutput::text(args.text.split_whitespace().count().to_string()) })
//!     }
//! }
//!
//! let tools = Tools::kernel().with(CountWords);
//! assert_eq!(tools.resolve("count_words").as_deref(), Some("count_words"));
//! assert_eq!(tools.specs()[1].input_schema["properties"]["text"]["description"], "The text to count in.");
//! ```

mod agent;
mod answers;
mod arguments;
mod ask_human;
mod bash;
mod beneath;
mod check_messages;
mod closure;
mod context;
mod edit;
mod erased;
#[cfg(feature = "transform")]
mod filter;
mod follow;
mod git;
mod glob;
mod goal;
mod grep;
mod ignored;
#[cfg(feature = "transform")]
mod json_transform;
mod kept;
mod list_files;
mod look_back;
mod matching;
mod output;
mod patched;
mod ports;
mod problem;
mod process_tools;
mod processes;
mod read;
mod registry;
mod sandbox;
mod show;
mod snapshot;
mod take;
mod tool;
mod unique;
mod unread;
mod walk;
mod words;
mod work;
mod workspace;
mod write;

pub use agent::{AgentCall, AgentCallError, AgentServer, AgentTool, EvaluateTool, host_of};
pub use answers::{Answers, AskedCall};
pub use ask_human::{AskHuman, AskHumanArgs, Choice};
pub use bash::{Bash, run_program};
pub use check_messages::{CheckMessages, CheckMessagesArgs};
pub use closure::{FnTool, IntoOutput, IntoTool, Json, tool_fn, tool_fn_with};
pub use context::ToolContext;
pub use edit::EditTextFile;
#[cfg(feature = "transform")]
pub use filter::filter_exit;
pub use git::{Git, GitProblem};
pub use glob::Glob;
pub use goal::{GoalArgs, GoalError, GoalTool};
pub use grep::Grep;
#[cfg(feature = "transform")]
pub use json_transform::JsonTransform;
pub use kept::FileNow;
pub use list_files::ListFiles;
pub use look_back::{
    ExpandArgs, ExpandWindow, ListCalls, ListCallsArgs, LoadOlderMessages, OlderArgs, RecallArgs, RecallResult,
};
pub use mainpath_schema::{Schema, SchemaError};
pub use patched::{Patched, PatchedFile, try_patch, write_patched};
pub use ports::{
    BlobSink, Changing, FoundCheck, MemoryBlobs, NoPatches, NoSecrets, NoSkills, Notice, Offered, PatchDesk, PortError,
    RedirectCheck, Secrets, SkillDesk, SkillDeskError,
};
pub use problem::Problem;
pub use process_tools::{ProcessList, ProcessOutput, ProcessStop};
pub use processes::Processes;
pub use read::ReadTextFile;
pub use registry::{Planned, Tools, is_large, unkept};
pub use sandbox::Sandbox;
pub use snapshot::{MOST_CHANGES, Snapshot};
pub use take::TakeChanges;
pub use tool::{Defined, DynTool, ProbeAnswer, Rate, Scene, Tool, ToolDoc, Touched, Touches};
pub use unique::unique_json;
pub use work::{Fut, panic_text};
pub use workspace::{PathProblem, Resolved, Workspace};
pub use write::WriteTextFile;
