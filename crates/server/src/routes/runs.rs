//! Agents are started, and go on.

use super::start::{NewAgent, said};
use crate::about;
use crate::access::scope::Scope;
use crate::address;
use crate::call::{Answer, Call};
use crate::life::Slot;
use crate::problem::Problem;
use crate::route::{Route, RouteError, group};
use mainpath::runtime::Phase;
use mainpath::types::{Seq, TraceId};
use mainpath::{Outcome, Run, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let begun = |route: Result<Route, RouteError>| {
        route.map(|route| {
            let route = route.gives(202, "It goes on; watch it at `watch`.");
            route.or_gives(200, "It has ended, or waits, within the time of `Prefer: wait=N`.").once().waiting()
        })
    };
    group(
        "runs",
        vec![
            begun(Route::answer(
                about!(POST "/api/traces" start_trace "Starts an agent as a new trace."),
                Scope::Run,
                start,
            )),
            begun(Route::answer(
                about!(POST "/api/traces/{id}/run" run_trace "Says more to an agent, goes back to a message and says something else, or has it answered again."),
                Scope::Run,
                run,
            )),
            begun(Route::answer(
                about!(POST "/api/traces/{id}/resume" resume_trace "Goes on after a crash, a stop or a limit."),
                Scope::Run,
                resume,
            )),
            begun(Route::answer(
                about!(POST "/api/traces/{id}/rewind" rewind_trace "Goes back to a message and says something else from there."),
                Scope::Run,
                rewind,
            )),
            begun(Route::answer(
                about!(POST "/api/traces/{id}/regenerate" regenerate_trace "Goes back to a message and has it answered again."),
                Scope::Run,
                regenerate,
            )),
            begun(Route::answer(
                about!(POST "/api/traces/{id}/reflect" reflect_on_trace "Has the agent look back on its work, in a trace of its own, and keep what it learned."),
                Scope::Run,
                reflect,
            )),
        ],
    )
}

/// How long it is looked whether what was said is refused.
const AT_ONCE: Duration = Duration::from_millis(500);

/// A run that was begun.
#[derive(Serialize, JsonSchema)]
pub struct Begun {
    /// Its trace.
    pub trace_id: TraceId,
    /// `started`; with `Prefer: wait=N` also `waiting` for a person, or `ended`.
    pub status: &'static str,
    /// Where it can be watched: server-sent events.
    pub watch: String,
    /// How it ended, where that was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// The answer for a run that was begun: at once, or after it has ended within the time that the caller waits. Errors: what was said is
/// refused.
pub async fn begun<Q, B>(call: &Call<Q, B>, slot: Slot, mut run: Run) -> Result<Answer<Begun>, Problem> {
    slot.follow(&call.host, run.trace().id());
    // What is refused is refused at once, before anything else is told.
    if let Ok(Some(Err(error))) = tokio::time::timeout(AT_ONCE, run.next()).await {
        return Err(error.into());
    }
    waited_for(call, run).await
}

/// The same for a run that nothing can be refused of any more.
async fn waited_for<Q, B>(call: &Call<Q, B>, run: Run) -> Result<Answer<Begun>, Problem> {
    let trace = run.trace().clone();
    let watch = address::of_events(trace.id());
    let said = |status, outcome| Begun { trace_id: trace.id().clone(), status, watch: watch.clone(), outcome };
    let Some(wait) = call.wait() else {
        return Ok(Answer::with(202, said("started", None)).header("location", address::of_trace(trace.id())));
    };
    let applied = |answer: Answer<Begun>| answer.header("preference-applied", format!("wait={}", wait.as_secs()));
    let mut closing = call.app.closing.subscribe();
    let outcome = tokio::select! {
        outcome = run.outcome() => outcome,
        () = waits(call, &trace) => return Ok(applied(Answer::with(200, said("waiting", None)))),
        // A server that ends says where the run is found by its next start.
        _ = closing.wait_for(|is_closing| *is_closing) => return Ok(applied(Answer::with(202, said("started", None)))),
        () = tokio::time::sleep(wait) => return Ok(applied(Answer::with(202, said("started", None)))),
    };
    Ok(applied(match outcome {
        Ok(outcome) => Answer::with(200, said("ended", Some(outcome))),
        Err(_) if waits_for_people(&trace).await => Answer::with(200, said("waiting", None)),
        Err(error) => return Err(error.into()),
    }))
}

/// Whether a run waits for people, as lists say it: one that will ask its model again goes on by itself, and so do its agents.
async fn waits_for_people(trace: &Trace) -> bool {
    trace.standing().await.is_ok_and(|stands| stands == "waiting")
}

/// Returns when a run waits for people.
async fn waits<Q, B>(call: &Call<Q, B>, trace: &Trace) {
    let mut phases = call.host.runtime().phase(call.host.whose(), trace.id());
    loop {
        let is_parked = matches!(*phases.borrow_and_update(), Phase::Parked(_));
        if is_parked && waits_for_people(trace).await {
            return;
        }
        // Looked at also where nothing has changed: an agent that it waits for may begin to wait.
        if let Ok(Err(_)) = tokio::time::timeout(AT_ONCE, phases.changed()).await {
            return std::future::pending().await;
        }
    }
}

async fn start(call: Call<crate::call::Nothing, NewAgent>) -> Result<Answer<Begun>, Problem> {
    let slot = call.app.runs.room(&call.host)?;
    let run = call.body.start(&call).await?;
    slot.follow(&call.host, run.trace().id());
    waited_for(&call, run).await
}

/// What is said to an agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunBody {
    /// Users' messages. None: the last message is answered again.
    #[serde(default)]
    messages: Vec<Map<String, Value>>,
    /// The message to go on from; without it, the last one.
    after_sequence: Option<u32>,
}

async fn run(call: Call<crate::call::Nothing, RunBody>) -> Result<Answer<Begun>, Problem> {
    let slot = call.app.runs.room(&call.host)?;
    let trace = call.trace_to_drive().await?;
    let head = trace.state().await?.tree.head;
    let back = call.body.after_sequence.map(Seq).filter(|after| head != Some(*after));
    let no_message = Problem::at("/after_sequence");
    let run = match (back, call.body.messages.is_empty()) {
        (Some(after), true) => trace.regenerate(after).await.map_err(no_message)?,
        (Some(after), false) => trace.rewind(after, words(&call.body.messages)?).await.map_err(no_message)?,
        (None, false) => trace.say(words(&call.body.messages)?).await?,
        (None, true) if call.body.after_sequence.is_some() => trace.regenerate(head.unwrap_or_default()).await?,
        (None, true) => trace.resume().await?,
    };
    begun(&call, slot, run).await
}

/// What users say, as one text. Errors: a message of somebody else, or without words.
fn words(messages: &[Map<String, Value>]) -> Result<String, Problem> {
    let mut texts = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message.get("role").is_some_and(|role| role != "user") {
            return Err(Problem::field(format!("/messages/{at}/role"), "only users' messages are added to a trace"));
        }
        match message.get("content") {
            Some(Value::String(text)) if !text.trim().is_empty() => texts.push(text.clone()),
            Some(Value::Array(parts)) => {
                for (part_at, part) in parts.iter().enumerate() {
                    let text = part.get("text").and_then(Value::as_str);
                    let none = || {
                        let pointer = format!("/messages/{at}/content/{part_at}");
                        Problem::field(pointer, "is no text: only text can be added to a trace here")
                    };
                    texts.push(text.ok_or_else(none)?.to_string());
                }
                if parts.is_empty() {
                    return Err(Problem::field(format!("/messages/{at}/content"), "has no words"));
                }
            }
            _ => return Err(Problem::field(format!("/messages/{at}/content"), "has no words")),
        }
    }
    Ok(texts.join("\n\n"))
}

async fn resume(call: Call) -> Result<Answer<Begun>, Problem> {
    let slot = call.app.runs.room(&call.host)?;
    let trace = call.trace_to_drive().await?;
    begun(&call, slot, trace.resume().await?).await
}

/// Where to, and what to say there.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RewindBody {
    /// The message to go back to; 0 is before the first.
    after_sequence: u32,
    /// What to say from there.
    message: String,
}

async fn rewind(call: Call<crate::call::Nothing, RewindBody>) -> Result<Answer<Begun>, Problem> {
    let slot = call.app.runs.room(&call.host)?;
    let trace = call.trace_to_drive().await?;
    let (after, message) = (Seq(call.body.after_sequence), said(&call.body.message)?);
    let run = trace.rewind(after, message).await.map_err(Problem::at("/after_sequence"))?;
    begun(&call, slot, run).await
}

/// Which message.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RegenerateBody {
    /// The message that is answered again; without it, the last of a user.
    after_sequence: Option<u32>,
}

async fn regenerate(call: Call<crate::call::Nothing, RegenerateBody>) -> Result<Answer<Begun>, Problem> {
    let slot = call.app.runs.room(&call.host)?;
    let trace = call.trace_to_drive().await?;
    let last = || async {
        let tree = trace.tree().await?;
        let said = tree.iter().rev().find(|message| message.is_current && message.role == mainpath::types::Role::User);
        Ok::<_, Problem>(said.map(|message| message.seq))
    };
    let after = match call.body.after_sequence {
        Some(after) => Seq(after),
        None => last().await?.ok_or_else(|| Problem::field("/after_sequence", "nothing was said yet"))?,
    };
    begun(&call, slot, trace.regenerate(after).await.map_err(Problem::at("/after_sequence"))?).await
}

/// What to look at.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReflectBody {
    /// What to look at above all.
    focus: Option<String>,
}

async fn reflect(call: Call<crate::call::Nothing, ReflectBody>) -> Result<Answer<Begun>, Problem> {
    let slot = call.app.runs.room(&call.host)?;
    let trace = call.trace_to_drive().await?;
    let run = trace.reflect(call.body.focus.as_deref()).await?;
    begun(&call, slot, run).await
}
