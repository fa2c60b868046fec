//! A trace is steered, stopped, copied and tidied.

use super::runs::Begun;
use super::start::said;
use crate::about;
use crate::access::scope::Scope;
use crate::address;
use crate::call::{Answer, Call, Nothing, call_named};
use crate::problem::Problem;
use crate::route::{Route, RouteError, group};
use mainpath::runtime::files::Fate;
use mainpath::trace::{FileDiff, Point, Restored};
use mainpath::types::{CallId, FileState, Seq, TraceId};
use mainpath::{Error, ErrorKind, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let told =
        |route: Result<Route, RouteError>| route.map(|route| route.gives(202, "It is sent, and durable.").once());
    group(
        "control",
        vec![
            told(Route::answer(about!(POST "/api/traces/{id}/stop" stop_trace "Ends the run at its next checkpoint."), Scope::Run, stop)),
            told(Route::answer(
                about!(POST "/api/traces/{id}/steer" steer_trace "Redirects a run: it waits for the running call and skips those after it."),
                Scope::Run,
                steer,
            )),
            told(Route::answer(
                about!(POST "/api/traces/{id}/next" queue_next "Queues a message for after the current run."),
                Scope::Run,
                next,
            )),
            told(Route::answer(
                about!(POST "/api/traces/{id}/interrupt" interrupt_call "Ends one running call; the agent goes on."),
                Scope::Run,
                interrupt,
            )),
            told(Route::answer(
                about!(POST "/api/traces/{id}/compact" compact_trace "Replaces older messages with a summary."),
                Scope::Run,
                compact,
            )),
            told(Route::answer(about!(POST "/api/traces/{id}/rename" rename_trace "Calls a trace by a name."), Scope::Run, rename)),
            told(Route::answer(
                about!(POST "/api/traces/{id}/clear" clear_trace "Starts the conversation over; the log keeps what was said."),
                Scope::Run,
                clear,
            )),
            Route::answer(
                about!(POST "/api/traces/{id}/fork" fork_trace "Copies a trace up to a message; the copy goes its own way."),
                Scope::Run,
                fork,
            )
            .map(|route| route.gives(201, "The copy.").once()),
            Route::json(
                about!(POST "/api/traces/{id}/restore" restore_files "Has files as they were at a message; the conversation stays."),
                Scope::Run,
                restore,
            )
            .map(|route| route.long().fails(&[409])),
        ],
    )
}

/// That something was sent.
#[derive(Serialize, JsonSchema)]
pub struct Sent {
    /// To which trace.
    trace_id: TraceId,
    /// `sent`
    status: &'static str,
}

/// Whoever drives the trace reads it; if nobody does, this server goes on with it, unless that needs a key that may decide.
pub async fn sent<Q, B>(call: &Call<Q, B>, trace: &Trace) -> Result<Answer<Sent>, Problem> {
    if call.check_drive(trace).await.is_ok() {
        call.app.runs.drive(&call.host, trace).await?;
    }
    Ok(Answer::with(202, Sent { trace_id: trace.id().clone(), status: "sent" }))
}

async fn stop(call: Call) -> Result<Answer<Sent>, Problem> {
    let trace = call.trace_once().await?;
    trace.stop_run().await?;
    // A run that is stopped begins nothing any more, whoever goes on with it.
    call.app.runs.drive(&call.host, &trace).await?;
    sent(&call, &trace).await
}

/// Something that is said.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SayBody {
    /// What.
    message: String,
}

async fn steer(call: Call<Nothing, SayBody>) -> Result<Answer<Sent>, Problem> {
    let trace = call.trace_to_drive().await?;
    trace.steer(said(&call.body.message)?).await?;
    sent(&call, &trace).await
}

async fn next(call: Call<Nothing, SayBody>) -> Result<Answer<Sent>, Problem> {
    let trace = call.trace_to_drive().await?;
    trace.next(said(&call.body.message)?).await?;
    sent(&call, &trace).await
}

/// Which call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InterruptBody {
    /// The call, such as `4.0`, or as messages name it, such as `call_4_0`.
    call: String,
}

async fn interrupt(call: Call<Nothing, InterruptBody>) -> Result<Answer<Sent>, Problem> {
    let trace = call.trace_to_drive().await?;
    let which: CallId =
        call_named(&call.body.call).ok_or_else(|| Problem::field("/call", "is no call, such as 4.0"))?;
    trace.interrupt(which).await.map_err(Problem::at("/call"))?;
    sent(&call, &trace).await
}

/// What a summary is to keep.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompactBody {
    /// What the summary should keep in mind.
    hint: Option<String>,
}

async fn compact(call: Call<Nothing, CompactBody>) -> Result<Answer<Sent>, Problem> {
    // Summarising asks the model.
    let _slot = call.app.runs.room(&call.host)?;
    let trace = call.trace_to_drive().await?;
    trace.compact(call.body.hint.clone()).await?;
    sent(&call, &trace).await
}

/// A name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RenameBody {
    /// The name: one line of at most 80 letters.
    #[schemars(length(min = 1, max = 80), regex(pattern = r"^[^\x00-\x1f\x7f]+$"))]
    name: String,
}

async fn rename(call: Call<Nothing, RenameBody>) -> Result<Answer<Sent>, Problem> {
    let trace = call.trace_once().await?;
    trace.rename(call.body.name.as_str()).await?;
    sent(&call, &trace).await
}

async fn clear(call: Call) -> Result<Answer<Sent>, Problem> {
    let trace = call.trace_to_drive().await?;
    let cleared = trace.clear().await?;
    if let Some(why) = cleared.unforgotten.first() {
        let problem = format!("trace {} is cleared, but not its mirror: {why}", trace.id());
        return Err(Error::new(ErrorKind::Failed, problem).into());
    }
    sent(&call, &trace).await
}

/// Up to where.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForkBody {
    /// The last message of the copy; without it, the last one of the main path.
    at_sequence: Option<u32>,
}

async fn fork(call: Call<Nothing, ForkBody>) -> Result<Answer<Begun>, Problem> {
    let trace = call.trace_to_drive().await?;
    let at = match call.body.at_sequence {
        Some(at) => Seq(at),
        None => trace.state().await?.tree.head.ok_or_else(|| Problem::field("/at_sequence", "nothing was said yet"))?,
    };
    let copy = trace.fork(at).await.map_err(Problem::at("/at_sequence"))?;
    let (watch, address) = (address::of_events(copy.id()), address::of_trace(copy.id()));
    let begun = Begun { trace_id: copy.id().clone(), status: "copied", watch, outcome: None };
    Ok(Answer::with(201, begun).header("location", address))
}

/// Which files, and how.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RestoreBody {
    /// The message at which the files were as they are to be.
    at_sequence: u32,
    /// Only say what would be done.
    #[serde(default)]
    dry_run: bool,
    /// Also over changes that were made since by others.
    #[serde(default)]
    force: bool,
}

/// What was done to files, or would be.
#[derive(Serialize, JsonSchema)]
struct RestoredFiles {
    /// Files that are as they were.
    restored: Vec<String>,
    /// Files that are not, with why.
    left: Vec<String>,
    /// Where it is only said what would be done: what would become of the files that are put back, or would be by force. Those that only
    /// force would put back come first, and 50 are shown at most.
    changes: Vec<FilePreview>,
}

/// What would become of a file.
#[derive(Serialize, JsonSchema)]
struct FilePreview {
    /// Which: the path from the workspace's root.
    path: String,
    /// Whether it would be removed: there was none.
    removed: bool,
    /// A unified diff from now to then, without known secrets; nothing where it is no text, larger than 2 MiB, only its mode differs, or there are many more.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// How many lines of the diff are left out at its end.
    more_lines: usize,
}

/// So many files are shown with what would become of them, and their diffs as long as these have so many bytes together.
const MOST_CHANGES: usize = 50;
const MOST_BYTES: usize = 1 << 20;

async fn restore(call: Call<Nothing, RestoreBody>) -> Result<RestoredFiles, Problem> {
    let trace = call.trace().await?;
    let RestoreBody { at_sequence, dry_run, force } = call.body;
    // The files change without a question.
    if !dry_run || force {
        call.needs(Scope::Approve, "putting files back")?;
    }
    let to = Point::Message(Seq(at_sequence));
    if !dry_run {
        return Ok(listed(&trace.restore(to, force).await.map_err(Problem::at("/at_sequence"))?));
    }
    let mut planned = trace.plan_restore(to).await.map_err(Problem::at("/at_sequence"))?;
    let listed = listed(&planned);
    planned.files.retain(|plan| matches!(plan.fate, Fate::Restore | Fate::Foreign));
    planned.files.sort_by_key(|plan| plan.fate != Fate::Foreign);
    planned.files.truncate(MOST_CHANGES);
    let diffs = trace.file_diffs(&planned).await?;
    let mut room = MOST_BYTES;
    let changes = planned.files.iter().zip(diffs).map(|(plan, diff)| {
        let (lines, more_lines) = match diff {
            Some(FileDiff::Text { lines, more }) => (lines, more),
            _ => (Vec::new(), 0),
        };
        let diff = Some(lines.join("\n")).filter(|diff| !diff.is_empty() && diff.len() <= room);
        room -= diff.as_ref().map_or(0, String::len);
        FilePreview { path: plan.path.clone(), removed: plan.then == FileState::Absent, diff, more_lines }
    });
    Ok(RestoredFiles { changes: changes.collect(), ..listed })
}

fn listed(done: &Restored) -> RestoredFiles {
    RestoredFiles { restored: done.restored_files(), left: done.left_files(), changes: Vec::new() }
}
