//! What events say that is counted and shown to others: how long things took and how they ended. Of words nothing but what a telemetry
//! with content asks for.

use mainpath::types::{CallId, EventId, FinishReason, Millis, Part, Resolution, Spent};

/// Something that ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A run began.
    Began,
    /// A run ended.
    Run(RunEnd),
    /// A step ended: a turn of the model with the calls that it wanted.
    Step(Span),
    /// A request to a model ended.
    Request(RequestEnd),
    /// A call ended.
    Call(CallEnd),
}

/// From when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When it began.
    pub began: Millis,
    /// When it ended.
    pub ended: Millis,
}

impl Span {
    /// How long it took, in seconds.
    pub fn seconds(&self) -> f64 {
        self.ended.saturating_sub(self.began) as f64 / 1e3
    }
}

/// A run that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    /// Its number.
    pub run: u32,
    /// From when to when.
    pub span: Span,
    /// Why it ended.
    pub reason: FinishReason,
    /// What it used.
    pub spent: Spent,
    /// Its model.
    pub model: String,
}

/// A request that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestEnd {
    /// Its run.
    pub run: u32,
    /// Its number.
    pub request: u32,
    /// From when to when.
    pub span: Span,
    /// The model.
    pub model: String,
    /// How it ended.
    pub how: RequestEnded,
    /// What it used.
    pub spent: Spent,
    /// Why the model stopped, if it answered.
    pub stop: Option<&'static str>,
    /// What it said, if that may be told.
    pub said: Option<Vec<Part>>,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestEnded {
    /// With an answer.
    Answered,
    /// With an answer in no valid form.
    Malformed,
    /// With a failure of this kind.
    Failed(String),
    /// It was given up.
    Abandoned,
}

/// A call that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CallEnd {
    /// Its run.
    pub run: u32,
    /// Which.
    pub call: CallId,
    /// The event that ended it.
    pub event: EventId,
    /// The tool; `None` for a name that no tool has.
    pub tool: Option<String>,
    /// From when to when, if it ran.
    pub span: Option<Span>,
    /// When it ended.
    pub at: Millis,
    /// How it ended.
    pub resolution: Resolution,
    /// A code, where it did not go well.
    pub error: Option<String>,
    /// What was to be done and what came of it, if that may be told.
    pub words: Option<CallWords>,
}

/// What was to be done, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallWords {
    /// The arguments: JSON text.
    pub arguments: String,
    /// What the model is shown.
    pub result: String,
}
