//! The frames of a trace, from a place on. One reader each: who reads slowly keeps nobody waiting, and catches up from the log.

use super::cursor::{Cursor, Skips};
use mainpath::types::EventId;
use mainpath::{Error, Run, RunEvent, Trace};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// From where to go on after it; `None` where that is the same as before.
    pub cursor: Option<String>,
    /// What kind it is: the name of the event, or `open`, `resync`, `problem`, `end`.
    pub name: String,
    /// What it says.
    pub data: Value,
}

/// What is wanted of a trace.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// From where on.
    pub cursor: Option<Cursor>,
    /// Whether what was given as a place was none.
    pub is_no_cursor: bool,
    /// Also of the agents that it has started.
    pub children: bool,
    /// Also pieces of what is still coming. They cannot be resumed.
    pub deltas: bool,
    /// Whether it goes on when nothing happens any more.
    pub follow: bool,
}

type Last = Pin<Box<dyn Future<Output = Frame> + Send>>;

/// The frames of a trace.
pub struct Feed {
    trace: Trace,
    wanted: Wanted,
    cursor: Cursor,
    skips: Skips,
    run: Option<Run>,
    ready: VecDeque<Frame>,
    has_ended: bool,
    /// What comes in the place of `end`.
    last: Option<Last>,
    /// What is dropped with it.
    held: Option<Box<dyn Send>>,
    /// Whether, when it was opened, all had been seen and nothing went on.
    pub is_over: bool,
    watch: Watch,
    looked: Instant,
}

/// Says whether whoever watches may still do so.
pub type May = Arc<dyn Fn() -> bool + Send + Sync>;

/// What ends a stream besides its trace.
#[derive(Clone)]
pub struct Watch {
    /// Whether whoever watches may still do so.
    pub may: May,
    /// Whether the server ends.
    pub closing: watch::Receiver<bool>,
}

/// How often that is asked.
const LOOK: Duration = Duration::from_secs(1);

impl Feed {
    /// Opens the frames of a trace: first what waits for people now, then, where the place was none, that and from where it goes on.
    pub async fn open(trace: Trace, wanted: Wanted, watch: Watch) -> Result<Feed, Error> {
        let state = trace.state().await?;
        let head = state.log.last;
        let mut ready = VecDeque::from([open(&trace, head).await?]);
        let (cursor, reason) = match &wanted.cursor {
            _ if wanted.is_no_cursor => (Cursor::after(head), Some("unknown")),
            Some(cursor) if cursor.event() > head => (Cursor::after(head), Some("ahead")),
            Some(cursor) if !cursor.is_of(trace.id()) => (Cursor::after(head), Some("of_another_trace")),
            Some(cursor) => (cursor.clone(), None),
            None => (Cursor::default(), None),
        };
        if let Some(reason) = reason {
            let data = json!({"type": "resync", "trace_id": trace.id(), "reason": reason, "head": head, "cursor": cursor.to_string()});
            ready.push_back(Frame { cursor: Some(cursor.to_string()), name: "resync".into(), data });
        }
        let skips = cursor.skips(trace.id());
        let is_over = !wanted.follow && state.run.is_none() && reason.is_none() && cursor == Cursor::after(head);
        Ok(Feed {
            trace,
            wanted,
            cursor,
            skips,
            run: None,
            ready,
            has_ended: false,
            last: None,
            held: None,
            is_over,
            watch,
            looked: Instant::now(),
        })
    }

    /// The same with another last frame than `end`.
    pub fn ending_with(mut self, last: impl Future<Output = Frame> + Send + 'static) -> Feed {
        self.last = Some(Box::pin(last));
        self
    }

    /// The same with something that is dropped together with it.
    pub fn holding(mut self, held: impl Send + 'static) -> Feed {
        self.held = Some(Box::new(held));
        self
    }

    /// The next frame; `None` at the end. Cancel safe.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            if self.looked.elapsed() >= LOOK {
                self.looked = Instant::now();
                if !(self.watch.may)() {
                    self.ready.clear();
                    self.end_with("the key is revoked or has expired");
                }
            }
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.has_ended {
                return None;
            }
            let run = match &mut self.run {
                Some(run) => run,
                None => {
                    let from = self.cursor.from(self.wanted.children);
                    let follow = self.wanted.follow;
                    self.run.insert(if follow { self.trace.watch_on(from) } else { self.trace.watch_all(from) })
                }
            };
            let Ok(next) = tokio::time::timeout(LOOK, run.next()).await else {
                // What goes on is gone on with by the next start: whoever watches comes back.
                let is_closing = self.wanted.follow && self.is_closing();
                self.has_ended = is_closing && !self.trace.is_driven().await.is_ok_and(|is_driven| is_driven);
                continue;
            };
            match next {
                None if self.is_closing() => self.has_ended = true,
                Some(Ok(event)) => self.take(&event),
                Some(Err(error)) => self.end_with(error.message()),
                None if self.last.is_some() => {
                    if let Some(last) = &mut self.last {
                        let frame = last.await;
                        self.has_ended = true;
                        self.last = None;
                        self.ready.push_back(frame);
                    }
                }
                None => {
                    self.has_ended = true;
                    let data = json!({"type": "end", "trace_id": self.trace.id(), "cursor": self.cursor.to_string()});
                    self.ready.push_back(Frame { cursor: None, name: "end".into(), data });
                }
            }
        }
    }

    /// Whether the server ends, and not what is watched.
    pub fn is_closing(&self) -> bool {
        *self.watch.closing.borrow()
    }

    fn end_with(&mut self, why: &str) {
        self.has_ended = true;
        let data = json!({"type": "problem", "trace_id": self.trace.id(), "detail": why});
        self.ready.push_back(Frame { cursor: None, name: "problem".into(), data });
    }

    fn take(&mut self, event: &RunEvent) {
        let is_piece = event.id().is_none() && event.name().ends_with("_delta") || event.name() == "action_partial";
        if is_piece && !self.wanted.deltas {
            return;
        }
        let before = self.cursor.clone();
        if is_old(event, &before, self.trace.id()) {
            // What waits for a person is told again when the trace comes to rest: `open` has said it.
            return;
        }
        if !self.cursor.take(self.trace.id(), event, &mut self.skips) {
            return;
        }
        let cursor = event.id().map(|_| self.cursor.to_string());
        let mut data = json!(event);
        if let Some(cursor) = &cursor {
            data["cursor"] = cursor.as_str().into();
        }
        self.ready.push_back(Frame { cursor, name: event.name().into(), data });
    }
}

/// Whether an event of the trace itself lies before what was seen.
fn is_old(event: &RunEvent, seen: &Cursor, root: &mainpath::types::TraceId) -> bool {
    event.trace_id() == root && event.id().is_some_and(|id| id < seen.event())
}

/// What waits for people now, with the numbers of the events that asked.
async fn open(trace: &Trace, head: EventId) -> Result<Frame, Error> {
    let approvals: Vec<Value> =
        trace.approvals().await?.into_iter().map(|asked| json!(RunEvent::ApprovalRequired(asked))).collect();
    let questions: Vec<Value> =
        trace.questions().await?.into_iter().map(|asked| json!(RunEvent::QuestionAsked(asked))).collect();
    let data = json!({
        "type": "open", "trace_id": trace.id(), "head": head, "approvals": approvals, "questions": questions,
    });
    Ok(Frame { cursor: None, name: "open".into(), data })
}
