//! A run as its words: pieces as they come, whole texts, and the end. Plain answers and streams are made of it alike.

use super::ending::Standing;
use mainpath::event::{ModelResponse, PieceOf, RunEvent};
use mainpath::types::Protocol;
use mainpath::{Error, Run, RunRecord, Trace, is_turn};
use std::collections::VecDeque;

/// What comes between the words of two turns.
pub const BREAK: &str = "\n\n";

/// A whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// It.
    pub text: String,
    /// What it is; `None`: not known yet.
    pub phase: Option<Phase>,
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Words on the way, before tools run.
    Commentary,
    /// The answer.
    Answer,
}

/// Something that is told of a run.
#[derive(Clone, Debug)]
pub enum Step {
    /// More of a text.
    Piece(String),
    /// A text came to nothing and comes again, otherwise than its pieces so far: this is the whole.
    Again(String),
    /// A text is complete.
    Whole(Text),
    /// The run has ended, or nobody drives it any more.
    Ended(Box<RunRecord>),
}

/// Whether a run's turns are no words for the caller: only its answer is.
pub fn is_held(record: &RunRecord) -> bool {
    record.spec.output_schema.is_some() || record.spec.protocol == Protocol::Json
}

/// The texts of a run, as far as it has come.
pub fn texts(record: &RunRecord) -> Vec<Text> {
    let mut texts: Vec<Text> = Vec::new();
    if !is_held(record) {
        let last = record.said.len().saturating_sub(1);
        for (at, said) in record.said.iter().enumerate() {
            let is_on_the_way = said.has_calls || at < last;
            let phase = is_on_the_way.then_some(Phase::Commentary);
            let end = if is_on_the_way { BREAK } else { "" };
            texts.push(Text { text: format!("{}{end}", said.text), phase });
        }
    }
    let Some(outcome) = &record.outcome else { return texts };
    match texts.last_mut() {
        Some(last) if last.phase.is_none() && last.text.trim() == outcome.answer.trim() => {
            last.phase = Some(Phase::Answer);
        }
        last => {
            if let Some(last) = last.filter(|last| last.phase.is_none()) {
                last.phase = Some(Phase::Commentary);
                last.text.push_str(BREAK);
            }
            if Standing::of(outcome.reason) != Standing::Failed {
                texts.push(Text { text: outcome.answer.clone(), phase: Some(Phase::Answer) });
            }
        }
    }
    texts
}

/// A run that is told of while it goes on.
pub struct ToldRun {
    trace: Trace,
    number: u32,
    run: Run,
    /// Whether only its answer is told.
    is_held: bool,
    turn: Turn,
    ready: VecDeque<Step>,
    has_ended: bool,
}

/// The turn under way.
#[derive(Default)]
struct Turn {
    /// The request that it waits for.
    request: Option<u32>,
    /// What has come of its answer.
    text: String,
    /// What was told of it.
    told: String,
    /// Whether an earlier answer broke off after some of it was told.
    is_again: bool,
    /// Whether the answer is complete, without calls.
    is_whole: bool,
}

impl ToldRun {
    /// Of a run that is followed, whose number is known.
    pub fn new(run: Run, record: &RunRecord) -> ToldRun {
        let (trace, is_held) = (run.trace().clone(), is_held(record));
        let (turn, ready) = (Turn::default(), VecDeque::new());
        ToldRun { trace, number: record.run, run, is_held, turn, ready, has_ended: false }
    }

    /// The next step; `None` after the end. Cancel safe. Errors: the run cannot be driven on, or its log cannot be read.
    pub async fn next(&mut self) -> Option<Result<Step, Error>> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Some(Ok(step));
            }
            if self.has_ended {
                return None;
            }
            match self.run.next().await {
                Some(Ok(event)) => self.take(&event),
                Some(Err(error)) => {
                    self.has_ended = true;
                    return Some(Err(error));
                }
                None => match self.trace.run_record(self.number).await {
                    Ok(record) => self.end(record),
                    Err(error) => {
                        self.has_ended = true;
                        return Some(Err(error));
                    }
                },
            }
        }
    }

    fn take(&mut self, event: &RunEvent) {
        match event {
            RunEvent::ModelRequest(request) if is_turn(request) => {
                if self.turn.is_whole {
                    self.close(Phase::Commentary);
                }
                let told = std::mem::take(&mut self.turn.told);
                let is_again = !told.is_empty();
                self.turn = Turn { request: Some(request.request), told, is_again, ..Turn::default() };
            }
            RunEvent::Text(piece) => match piece.of {
                PieceOf::Request(request) if self.turn.request == Some(request) && !self.turn.is_whole => {
                    self.turn.text.push_str(&piece.text);
                    if !self.turn.is_again {
                        self.tell(piece.text.clone());
                    }
                }
                _ => {}
            },
            RunEvent::ModelResponse(response) => match &**response {
                ModelResponse::Finished(answer) if self.turn.request == Some(answer.request) => {
                    self.settle();
                    match answer.calls.is_empty() {
                        true => self.turn.is_whole = true,
                        false => self.close(Phase::Commentary),
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Tells what an answer that came again has besides what was told.
    fn settle(&mut self) {
        if !std::mem::take(&mut self.turn.is_again) {
            return;
        }
        let (text, told) = (self.turn.text.clone(), std::mem::take(&mut self.turn.told));
        match text.strip_prefix(told.as_str()) {
            Some(rest) => {
                self.turn.told = told.clone();
                self.tell(rest.into());
            }
            None => {
                self.turn.told.clone_from(&text);
                self.ready.push_back(Step::Again(text));
            }
        }
    }

    fn tell(&mut self, text: String) {
        if self.is_held || text.is_empty() {
            return;
        }
        self.turn.told.push_str(&text);
        self.ready.push_back(Step::Piece(text));
    }

    /// The text of the turn is complete.
    fn close(&mut self, phase: Phase) {
        let mut turn = std::mem::take(&mut self.turn);
        if self.is_held || turn.told.is_empty() {
            return;
        }
        if phase == Phase::Commentary {
            self.ready.push_back(Step::Piece(BREAK.into()));
            turn.told.push_str(BREAK);
        }
        self.ready.push_back(Step::Whole(Text { text: turn.told, phase: Some(phase) }));
    }

    fn end(&mut self, record: RunRecord) {
        self.has_ended = true;
        if let Some(outcome) = &record.outcome {
            let is_answer = self.turn.is_whole && !self.is_held && self.turn.told.trim() == outcome.answer.trim();
            self.close(if is_answer { Phase::Answer } else { Phase::Commentary });
            if !is_answer && Standing::of(outcome.reason) != Standing::Failed {
                self.ready.push_back(Step::Piece(outcome.answer.clone()));
                self.ready.push_back(Step::Whole(Text { text: outcome.answer.clone(), phase: Some(Phase::Answer) }));
            }
        }
        self.ready.push_back(Step::Ended(Box::new(record)));
    }
}
