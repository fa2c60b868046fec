//! A run as it is checked and graded: what its trace says of it at one head of its log.

use crate::Error;
use crate::agent::is_played;
use crate::recorded::{RecordedStep, WholeRun, whole_run};
use crate::trace::{Read, spec_of};
use mainpath_core::status;
use mainpath_runtime::run_stats::runs;
use mainpath_runtime::views;
use mainpath_store::TraceStore;
use mainpath_types::{
    Event, EventId, EventKind, FinishReason, Micros, Millis, Price, Seq, TraceId, format_time, text_of,
};
use serde::Serialize;

/// A run that is graded: the main path of a trace, with what it came to. Graders get it as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GradedRun {
    /// The trace.
    pub trace_id: TraceId,
    /// The head of its log: a run that went on since is another one.
    pub head: GradedHead,
    /// What it was first asked to do.
    pub task: String,
    /// Its answer; `None` where the model gave none.
    pub answer: Option<String>,
    /// Why it ended; `None` while it has not, and where it was imported.
    pub finish: Option<FinishReason>,
    /// Where it stands, in a word.
    pub status: String,
    /// The model.
    pub model: String,
    /// The preset that its agent was made from.
    pub agent: Option<String>,
    /// The folder that it worked in.
    pub workspace: String,
    /// When it began, as RFC 3339 in UTC.
    pub created: String,
    /// Answers of the model on the main path.
    pub turns: u32,
    /// Calls on the main path.
    pub calls: u32,
    /// Tokens that the trace has used, input and output together.
    pub tokens: u64,
    /// What they cost, in millionths.
    pub cost_micros: Micros,
    /// How long its runs worked, waiting for people not counted; `None` where nobody measured it.
    pub elapsed_ms: Option<Millis>,
    /// Whether it, or a part of it, was imported: nobody recorded what was decided there.
    pub imported: bool,
    /// What was said, answered and called on the main path.
    pub steps: Vec<RecordedStep>,
    /// The first message that was erased.
    #[serde(skip)]
    pub(super) erased: Option<Seq>,
    /// Whether it is known what all that answered costs.
    #[serde(skip)]
    pub(super) is_priced: bool,
}

/// The head of a log: its last event, and the hash of that line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GradedHead {
    /// The event.
    pub event: EventId,
    /// The hash.
    pub hash: String,
}

/// Whether no answer came from a model without a price, which counts as nothing.
fn is_priced(log: &[Event]) -> bool {
    let mut has_price = true;
    log.iter().all(|event| match &event.kind {
        EventKind::SpecChanged(data) => {
            has_price = data.spec.price != Price::default() || is_played(&data.spec.model);
            true
        }
        EventKind::ModelFinished(data) => has_price || data.cost > 0 || data.usage.total() == 0,
        _ => true,
    })
}

impl GradedRun {
    /// What a log says. Errors: the store cannot be read.
    pub(super) async fn of(at: TraceStore<'_>, read: &Read) -> Result<GradedRun, Error> {
        let (log, state) = (&read.log, &read.state);
        let WholeRun { steps, is_imported, erased } = whole_run(at, read).await?;
        let spec = spec_of(log);
        let task = steps.iter().find_map(|step| match step {
            RecordedStep::Said { parts, .. } => Some(text_of(parts)),
            RecordedStep::Answered(_) => None,
        });
        let ending = views::ending(at.scoped(), state, read).await?;
        let answer = match (ending, steps.last()) {
            (Some(ending), _) => ending.is_said.then_some(ending.answer),
            (None, Some(RecordedStep::Answered(last))) if is_imported && last.calls.is_empty() => {
                Some(text_of(&last.parts)).filter(|text| !text.trim().is_empty())
            }
            _ => None,
        };
        let answers = steps.iter().filter_map(|step| match step {
            RecordedStep::Answered(answer) => Some(answer.calls.len()),
            RecordedStep::Said { .. } => None,
        });
        let (turns, calls) = answers.fold((0, 0), |(turns, calls), more| (turns + 1, calls + more));
        let spans = runs(at.trace, &log.events);
        Ok(GradedRun {
            trace_id: at.trace.clone(),
            head: GradedHead { event: log.head, hash: log.hash.to_string() },
            task: task.unwrap_or_default(),
            answer,
            finish: state.ended.reason.filter(|_| state.run.is_none()),
            status: status(state).into(),
            model: spec.map(|spec| spec.model.clone()).unwrap_or_default(),
            agent: spec.and_then(|spec| spec.preset.as_ref()).map(|preset| preset.name.clone()),
            workspace: spec.map(|spec| spec.workspace.clone()).unwrap_or_default(),
            created: format_time(log.events.first().map_or(0, |event| event.ts)),
            turns,
            calls: u32::try_from(calls).unwrap_or(u32::MAX),
            tokens: state.spent.usage.total(),
            cost_micros: state.spent.cost,
            elapsed_ms: (!spans.is_empty())
                .then(|| spans.iter().map(|run| run.counts.ms).fold(0, Millis::saturating_add)),
            imported: is_imported,
            steps,
            erased,
            is_priced: is_priced(&log.events),
        })
    }
}
