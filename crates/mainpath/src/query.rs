//! Calls in many traces, found by what is true of them.

use crate::listing::ListedTrace;
use crate::{Error, ErrorKind, Host, Logs};
use mainpath_index::{FoundStep, FoundSteps, Index, IndexError};
use mainpath_policy::{Predicate, PredicateError};
use mainpath_types::{CallId, Micros, Seq, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A call that was found, or an answer without one, as JSON says it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedStep {
    /// The trace.
    pub trace: ListedTrace,
    /// The answer's number in the trace; 0 for a request that failed.
    pub seq: Seq,
    /// The call, if it is one.
    pub call: Option<CallId>,
    /// Its tool; empty for an answer without a call.
    pub tool: String,
    /// Its arguments as JSON text, long texts cut.
    pub arguments: String,
    /// What rules said: `allow`, `ask`, `deny`, or nothing.
    pub verdict: String,
    /// The rule that did.
    pub rule: String,
    /// How it ended: `ok`, `error`, `denied`, `skipped`, `interrupted`, `unknown`; empty while it has not.
    pub outcome: String,
    /// The code of its error.
    pub error: String,
    /// The text of its error.
    pub failure: String,
    /// Where its arguments came from.
    pub origins: Vec<String>,
    /// What the trace had cost by then, in millionths.
    pub cost_micros: Micros,
    /// The model.
    pub model: String,
    /// What the model said with it.
    pub said: String,
}

impl From<&FoundStep> for ListedStep {
    fn from(found: &FoundStep) -> ListedStep {
        let found = found.clone();
        ListedStep {
            trace: ListedTrace::from(&found.row),
            seq: found.seq,
            call: found.call,
            tool: found.tool,
            arguments: found.arguments,
            verdict: found.verdict,
            rule: found.rule,
            outcome: found.outcome,
            error: found.error,
            failure: found.failure,
            origins: found.origins,
            cost_micros: found.cost,
            model: found.model,
            said: found.said,
        }
    }
}

/// What was found in many traces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryAnswer {
    /// The calls.
    pub found: FoundSteps,
    /// The traces whose logs could not be read, or only up to where they are damaged.
    pub unread: Vec<TraceId>,
}

/// The calls that a predicate is true of, the newest traces' first; at most so many. Where no index can be kept, every log is read.
/// It may block. Errors: the index cannot be used.
pub fn query(logs: &Logs, predicate: &Predicate, most: usize) -> Result<QueryAnswer, IndexError> {
    let index = Index::up_to_date(&logs.store, &logs.scope)?;
    let found = index.query(predicate, most)?;
    // A folder without a log is where a trace begins, unless its log was lost.
    let has_bytes = |trace: &TraceId| {
        let log = logs.store.trace_dir(&logs.scope.tenant, trace).join("events.jsonl");
        log.symlink_metadata().is_ok_and(|meta| meta.len() > 0)
    };
    let lost = index.unlisted()?.into_iter().filter(|trace| has_bytes(trace) || logs.lost(trace).is_some());
    let mut unread: Vec<TraceId> = lost.chain(index.damaged()?).collect();
    unread.sort();
    unread.dedup();
    Ok(QueryAnswer { found, unread })
}

impl Host {
    /// The calls in its traces that a predicate is true of, such as `tool=bash and args~deploy and cost>0.10`: the newest traces' first, at
    /// most so many. Errors: the predicate cannot be read, and where; or it keeps its traces in no files.
    pub async fn query(&self, predicate: &str, most: usize) -> Result<Vec<ListedStep>, Error> {
        let bad = |wrong: PredicateError| Error::invalid(format!("predicate, {wrong}"));
        let predicate = Predicate::parse(predicate).map_err(bad)?;
        let none = || Error::new(ErrorKind::Failed, "traces that are kept in no files are not listed");
        let logs = self.logs().ok_or_else(none)?.clone();
        let looking = tokio::task::spawn_blocking(move || query(&logs, &predicate, most));
        let found = looking.await.map_err(|error| Error::failed(error.to_string()))??;
        Ok(found.found.steps.iter().map(ListedStep::from).collect())
    }
}
