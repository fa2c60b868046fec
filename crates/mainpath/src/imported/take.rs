//! From a recorded session to traces.

use super::session::{Program, RecordedBranch, RecordedMessage, RecordedSession};
use crate::agent::reconstructed::{FOLDER, MARK, file_of};
use crate::{Error, Logs};
use mainpath_providers::Registry;
use mainpath_providers::history::{HistoryFormat, Loose};
use mainpath_runtime::Vault;
use mainpath_runtime::import::{Arrival, Origin, import};
use mainpath_store::StoreError;
use mainpath_types::{EventKind, Millis, Profile, Recorded, Spec, Spent, TraceId, format_time};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// What became of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconstructed {
    /// The traces that were made, one for each branch.
    pub made: Vec<TraceId>,
    /// Those that there are already, of the same session.
    pub known: Vec<TraceId>,
    /// Why nothing was made of it, where another session with its id is there: a line for people.
    pub taken: Option<String>,
    /// How many messages the traces have that were made.
    pub messages: usize,
    /// What was mended or left out, a line for people each.
    pub notes: Vec<String>,
}

/// Makes traces of a session: one of each way through it. What is there already of an earlier call is not made again. Errors: a trace cannot
/// be written; then those before it are there, and a next call makes the others.
pub async fn reconstruct(
    logs: &Logs,
    vault: &Vault,
    session: &RecordedSession,
    file: &Path,
    now: Millis,
) -> Result<Reconstructed, Error> {
    let registry = logs.registry();
    let (mut done, mut notes) = (Reconstructed::default(), BTreeMap::new());
    for (number, branch) in session.branches.iter().enumerate() {
        let trace = id_of(session, number)?;
        if logs.is_there(&trace) {
            // opencode moves its sessions from files into its database.
            let is_moved = session.program == Program::Opencode;
            match another(logs, &trace, file).await.filter(|_| !is_moved) {
                Some(why) => done.taken = done.taken.or(Some(why)),
                None => done.known.push(trace),
            }
            continue;
        }
        let (arrivals, healed) = arrivals(branch, session, &registry)?;
        if arrivals.is_empty() {
            continue;
        }
        // The same fault of branches that share a beginning is told once.
        notes.extend(healed.into_iter().map(|line| (line, ())));
        let spec = spec(session, branch, file, number);
        let source = format!("{}: {}", session.program.name(), file.display());
        let from = Origin { source: &source, now };
        match import(logs.at(&trace), vault, spec, arrivals, from).await {
            Ok(messages) => {
                logs.write_views(&trace).await?;
                done.messages += messages;
                done.made.push(trace);
            }
            Err(mainpath_runtime::RuntimeError::Store(StoreError::Exists { .. })) => done.known.push(trace),
            Err(error) => return Err(error.into()),
        }
    }
    done.notes = session.left_out.iter().map(|(what, times)| format!("left out: {what} ({times})")).collect();
    done.notes.extend(notes.into_keys());
    Ok(done)
}

/// That a trace which is there was made of another file, whose session has the same id: nothing of this file is in it.
async fn another(logs: &Logs, trace: &TraceId, file: &Path) -> Option<String> {
    let (log, _, _) = logs.read(trace).await.ok()?;
    let spec = log.events.iter().find_map(|event| match &event.kind {
        EventKind::SpecChanged(data) => Some(&data.spec),
        _ => None,
    })?;
    // A file that is gone was moved.
    let known = file_of(spec).filter(|known| Path::new(known) != file && Path::new(known).is_file())?;
    Some(format!(
        "a session with the same id was imported from {known}; to have this one instead, mainpath rm {trace} and import {} by its name",
        file.display()
    ))
}

/// The id of a branch's trace: the same whenever the session is read.
fn id_of(session: &RecordedSession, number: usize) -> Result<TraceId, Error> {
    let name = session.program.name();
    let hash = Sha256::digest(format!("{name}\0{}\0{number}", session.id));
    let letters: String = hash.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    let time: String = format_time(session.begun.unwrap_or(0)).chars().filter(char::is_ascii_digit).take(14).collect();
    let (date, clock) = time.split_at(time.len().min(8));
    format!("{date}-{clock}-{name}-{letters}").parse().map_err(|error| Error::failed(format!("{error}")))
}

/// The messages of a branch, mended, and what was mended.
fn arrivals(
    branch: &RecordedBranch,
    session: &RecordedSession,
    registry: &Registry,
) -> Result<(Vec<Arrival>, Vec<String>), Error> {
    let list: Vec<&Value> = branch.messages.iter().map(|said| &said.message).collect();
    let text = serde_json::to_string(&list).map_err(|error| Error::failed(error.to_string()))?;
    let loose = Loose::read(Some(HistoryFormat::Anthropic), &text).map_err(|error| Error::failed(error.to_string()))?;
    let healed = loose.heal_traced(false);
    let recorded = |from: &Option<usize>| {
        from.and_then(|from| branch.messages.get(from)).map(|said| recorded(said, session, registry))
    };
    let from: Vec<Option<Recorded>> = healed.from.iter().map(recorded).collect();
    let messages = healed.history.messages.into_iter().zip(from);
    Ok((messages.map(|(message, recorded)| Arrival { message, recorded }).collect(), healed.history.healed))
}

fn recorded(said: &RecordedMessage, session: &RecordedSession, registry: &Registry) -> Recorded {
    let model = said.model.clone();
    let spent = said.usage.map(|usage| {
        let price = || registry.facts(&model_of(session.program, said)?).price;
        match said.cost {
            Some(cost) => Spent { usage, cost, about: false },
            // By the prices of now: about.
            None => Spent { usage, cost: price().map_or(0, |price| price.cost(&usage)), about: true },
        }
    });
    Recorded { at: said.at, model, spent }
}

/// A model in Mainpath's notation.
fn model_of(program: Program, said: &RecordedMessage) -> Option<String> {
    let model = said.model.as_deref()?;
    let provider = match (said.provider.as_deref(), program) {
        (Some(provider), _) => provider,
        (None, Program::ClaudeCode) => "anthropic",
        (None, Program::Codex) => "openai",
        (None, Program::Opencode | Program::Pi) => return None,
    };
    Some(format!("{provider}:{model}"))
}

/// What the agent was, as far as the file says so.
fn spec(session: &RecordedSession, branch: &RecordedBranch, file: &Path, number: usize) -> Spec {
    let model = branch.messages.iter().rev().find_map(|said| model_of(session.program, said));
    let mut spec = Spec::new(model.unwrap_or_else(|| "unknown".into()), Profile::Trace);
    spec.workspace = session.cwd.clone().unwrap_or_default();
    spec.name = session.title.clone();
    let mut mark = Map::new();
    let mut put = |name: &str, value: Option<Value>| drop(value.map(|value| mark.insert(name.into(), value)));
    put("program", Some(session.program.name().into()));
    put("version", session.version.clone().map(Value::from));
    put("session", Some(session.id.clone().into()));
    put(FOLDER, Some(session.cwd.clone().unwrap_or_default().into()));
    put("file", Some(file.display().to_string().into()));
    put("parent", session.parent.clone().map(Value::from));
    put("begun", session.begun.map(|at| format_time(at).into()));
    put("branch", (number > 0).then(|| json!(number + 1)));
    spec.relations.context.insert(MARK.into(), Value::Object(mark));
    spec
}
