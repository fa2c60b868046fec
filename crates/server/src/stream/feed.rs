//! The frames of a trace, from a place on. Who reads slowly keeps nobody waiting, and catches up from the log.

use super::cursor::Cursor;
use super::frame::Frame;
use super::position::{Position, Question, Shown, is_piece};
use super::together::{Of, QUIET, Together, Watcher};
use mainpath::standing::DAMAGED;
use mainpath::trace::Facts;
use mainpath::types::{EventId, TenantId, TraceId};
use mainpath::{Error, ErrorKind, Run, RunEvent, Status, Trace};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::broadcast::Receiver;
use tokio::sync::watch;
use tokio::time::timeout;

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

/// Where its events come from.
enum Source {
    /// It reads the log by itself.
    Alone(Run),
    /// Another reads it, for several.
    Together(Receiver<Arc<Shown>>),
}

/// What was heard there.
enum Heard {
    Event(RunEvent),
    Shown(Arc<Shown>),
    /// Nothing, for a while.
    Nothing,
    /// The other reads no more, or has told more than was listened to.
    Missed,
    Problem(Error),
    /// The server stops.
    Stopping,
    End,
}

type Last = Pin<Box<dyn Future<Output = Frame> + Send>>;

/// The frames of a trace.
pub struct Feed {
    trace: Trace,
    wanted: Wanted,
    position: Position,
    source: Option<Source>,
    ready: VecDeque<Arc<Frame>>,
    has_ended: bool,
    /// What comes in the place of `end`.
    last: Option<Last>,
    /// What comes last if the server stops before the trace has come to its end.
    stopping: Option<Frame>,
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
    /// Whether a trace is about to be continued after a restart.
    pub continues: Continues,
    /// Whose traces it sees,
    pub tenant: TenantId,
    /// and others who watch.
    pub together: Together,
}

/// Says whether a trace is about to be continued.
pub type Continues = Arc<dyn Fn(&TraceId) -> bool + Send + Sync>;

/// How often that is asked.
const LOOK: Duration = Duration::from_secs(1);

/// How many frames an event has.
async fn frames(trace: &Trace, event: EventId) -> Result<usize, Error> {
    let Facts { facts, .. } = trace.facts(event.saturating_sub(1), 1).await?;
    Ok(facts.iter().filter(|fact| fact["id"].as_u64() == Some(event)).count())
}

impl Feed {
    /// Opens the frames of a trace: first what waits for people now, then, where the place was none, that and from where it goes on.
    pub async fn open(trace: Trace, wanted: Wanted, watch: Watch) -> Result<Feed, Error> {
        let state = trace.state().await?;
        let head = state.log.last;
        let Opened { frame, questions } = open(&trace, head).await?;
        let mut ready = VecDeque::from([Arc::new(frame)]);
        let (cursor, reason) = match &wanted.cursor {
            _ if wanted.is_no_cursor => (Cursor::after(head), Some("unknown")),
            Some(cursor) if cursor.event() > head => (Cursor::after(head), Some("ahead")),
            Some(cursor) if !cursor.is_of(trace.id()) => (Cursor::after(head), Some("of_another_trace")),
            Some(cursor) if cursor.part() > 0 && cursor.part() >= frames(&trace, cursor.event()).await? => {
                (Cursor::after(head), Some("unknown"))
            }
            Some(cursor) => (cursor.clone(), None),
            None => (Cursor::default(), None),
        };
        if let Some(reason) = reason {
            let data = json!({"type": "resync", "trace_id": trace.id(), "reason": reason, "head": head, "cursor": cursor.to_string()});
            ready.push_back(Arc::new(Frame::new("resync", &data).at(cursor.to_string())));
        }
        // A client that returns knows them by the first frame.
        let questions = if wanted.cursor.is_some() { questions } else { BTreeSet::new() };
        let has_rest = state.run.is_some() || (watch.continues)(trace.id());
        let is_over = !wanted.follow && !has_rest && reason.is_none() && cursor == Cursor::after(head);
        Ok(Feed {
            position: Position::new(trace.id(), cursor, questions),
            trace,
            wanted,
            source: None,
            ready,
            has_ended: false,
            last: None,
            stopping: None,
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

    /// The same with a last frame for when the server stops. It then ends at once.
    pub fn stopping_with(mut self, frame: Frame) -> Feed {
        self.stopping = Some(frame);
        self
    }

    /// The same with something that is dropped together with it.
    pub fn holding(mut self, held: impl Send + 'static) -> Feed {
        self.held = Some(Box::new(held));
        self
    }

    /// The next frame; `None` at the end. Cancel safe.
    pub async fn next(&mut self) -> Option<Arc<Frame>> {
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
            match self.hear_or_stop().await {
                Heard::Event(event) if is_piece(&event) && !self.wanted.deltas => {}
                Heard::Event(event) => self.ready.extend(self.position.take(&event).map(|told| told.frame)),
                Heard::Shown(told) => {
                    self.position.follow(&told);
                    if self.wanted.deltas || !told.is_piece {
                        self.ready.push_back(Arc::clone(&told.frame));
                    }
                }
                Heard::Missed => self.source = None,
                Heard::Nothing => {
                    self.join();
                    // What goes on is gone on with by the next start: whoever watches comes back.
                    let is_closing = self.wanted.follow && self.is_closing();
                    self.has_ended = is_closing && !self.trace.is_driven().await.is_ok_and(|is_driven| is_driven);
                }
                Heard::Stopping => self.stop(),
                Heard::End if self.is_closing() && !self.has_result().await => self.stop(),
                // An earlier process left it, and this one continues it in a moment.
                Heard::End if (self.watch.continues)(self.trace.id()) => {
                    self.source = None;
                    tokio::time::sleep(QUIET).await;
                }
                Heard::Problem(error) => self.fail(&error).await,
                Heard::End => match &mut self.last {
                    Some(last) => {
                        let frame = last.await;
                        self.has_ended = true;
                        self.last = None;
                        self.ready.push_back(Arc::new(frame));
                    }
                    None => {
                        let status = self.trace.standing().await.unwrap_or("unknown");
                        self.end_as(status);
                    }
                },
            }
        }
    }

    /// What comes next, or that the server stops, where there is a frame for that. Cancel safe.
    async fn hear_or_stop(&mut self) -> Heard {
        if self.stopping.is_none() {
            return self.hear().await;
        }
        let mut closing = self.watch.closing.clone();
        tokio::select! {
            // What has come before the server stops is told first.
            biased;
            heard = self.hear() => heard,
            _ = closing.wait_for(|is_closing| *is_closing) => Heard::Stopping,
        }
    }

    fn stop(&mut self) {
        self.has_ended = true;
        self.ready.extend(self.stopping.take().map(Arc::new));
    }

    /// Returns true if the last frame tells of a run that has ended.
    async fn has_result(&mut self) -> bool {
        self.last.is_some() && matches!(self.trace.status().await, Ok(Status::Ended(_)))
    }

    /// What comes next. Cancel safe.
    async fn hear(&mut self) -> Heard {
        let source = self.source.get_or_insert_with(|| {
            let from = self.position.cursor().from(self.wanted.children);
            let follow = self.wanted.follow;
            Source::Alone(if follow { self.trace.watch_on(from) } else { self.trace.watch_all(from) })
        });
        match source {
            Source::Alone(run) => match timeout(if self.wanted.follow { QUIET } else { LOOK }, run.next()).await {
                Err(_) => Heard::Nothing,
                Ok(Some(Ok(event))) => Heard::Event(event),
                Ok(Some(Err(error))) => Heard::Problem(error),
                Ok(None) => Heard::End,
            },
            Source::Together(told) => match timeout(LOOK, told.recv()).await {
                Err(_) => Heard::Nothing,
                Ok(Ok(told)) => Heard::Shown(told),
                Ok(Err(_)) => Heard::Missed,
            },
        }
    }

    /// Once it has seen all that there is, it watches together with others who follow the same.
    fn join(&mut self) {
        if !self.wanted.follow || self.is_closing() {
            return;
        }
        self.source = match self.source.take() {
            Some(Source::Alone(run)) => {
                let watcher = Watcher { run, position: self.position.clone() };
                let (tenant, trace) = (self.watch.tenant.clone(), self.trace.id().clone());
                let of = Of { tenant, trace, children: self.wanted.children };
                Some(match self.watch.together.join(of, watcher) {
                    Ok(told) => Source::Together(told),
                    Err(run) => Source::Alone(*run),
                })
            }
            source => source,
        };
    }

    /// Whether the server ends, and not what is watched.
    pub fn is_closing(&self) -> bool {
        *self.watch.closing.borrow()
    }

    /// Ends with the status of the trace.
    fn end_as(&mut self, status: &str) {
        self.has_ended = true;
        let cursor = self.position.cursor().to_string();
        let data = json!({"type": "end", "trace_id": self.trace.id(), "status": status, "cursor": cursor});
        self.ready.push_back(Arc::new(Frame::new("end", &data)));
    }

    /// Ends because the log cannot be read any further. A client that connects again to a damaged log finds the same: it gets an `end`.
    async fn fail(&mut self, error: &Error) {
        let status = match self.trace.standing().await {
            Ok(status) => status,
            Err(error) if error.kind() == ErrorKind::Damaged => DAMAGED,
            Err(_) => "unknown",
        };
        self.end_with(error.message());
        if status == DAMAGED || error.kind() == ErrorKind::Damaged {
            self.end_as(status);
        }
    }

    fn end_with(&mut self, why: &str) {
        self.has_ended = true;
        let data = json!({"type": "problem", "trace_id": self.trace.id(), "detail": why});
        self.ready.push_back(Arc::new(Frame::new("problem", &data)));
    }
}

/// The first frame, and the questions in it.
struct Opened {
    frame: Frame,
    questions: BTreeSet<Question>,
}

/// What waits for people now, with the numbers of the events that asked.
async fn open(trace: &Trace, head: EventId) -> Result<Opened, Error> {
    let waiting = trace.waiting_calls().await?;
    let known = waiting.questions.iter().map(|asked| (asked.trace_id.clone(), asked.call)).collect();
    let approvals: Vec<Value> =
        waiting.approvals.into_iter().map(|asked| json!(RunEvent::ApprovalRequired(asked))).collect();
    let questions: Vec<Value> =
        waiting.questions.into_iter().map(|asked| json!(RunEvent::QuestionAsked(asked))).collect();
    let data = json!({
        "type": "open", "trace_id": trace.id(), "head": head, "approvals": approvals, "questions": questions,
    });
    Ok(Opened { frame: Frame::new("open", &data), questions: known })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath::Host;

    /// Bounds a wait. Nothing here takes this long; what does, hangs.
    const LONG: Duration = Duration::from_secs(60);

    struct Place {
        _folder: tempfile::TempDir,
        trace: Trace,
        together: Together,
    }

    impl Place {
        async fn with_a_run() -> Place {
            let folder = tempfile::tempdir().unwrap();
            let work = folder.path().join("work");
            std::fs::create_dir(&work).unwrap();
            let script = folder.path().join("script.toml");
            std::fs::write(&script, "[[turn]]\nfinal = \"Done.\"\n").unwrap();
            let host = Host::builder().data_dir(folder.path().join("data")).build().await.unwrap();
            let agent = host.agent(format!("scripted:{}", script.display())).workspace(&work);
            let run = agent.start("Begin.").await.unwrap();
            let trace = run.trace().clone();
            run.outcome().await.unwrap();
            Place { _folder: folder, trace, together: Together::default() }
        }

        /// The newest event.
        async fn head(&self) -> u64 {
            self.trace.state().await.unwrap().log.last
        }

        async fn feed(&self) -> Feed {
            let (_, closing) = watch::channel(false);
            let tenant = TenantId::local();
            let continues: Continues = Arc::new(|_: &TraceId| false);
            let together = self.together.clone();
            let watch = Watch { may: Arc::new(|| true), closing, continues, tenant, together };
            let wanted = Wanted { follow: true, ..Wanted::default() };
            Feed::open(self.trace.clone(), wanted, watch).await.unwrap()
        }
    }

    /// The numbers of what comes until it was told of the newest event that there is now, and watches together with others.
    async fn numbers(place: &Place, feed: &mut Feed) -> Vec<u64> {
        until(feed, place.head().await).await
    }

    async fn until(feed: &mut Feed, head: u64) -> Vec<u64> {
        let mut numbers = Vec::new();
        let begun = Instant::now();
        while numbers.last() < Some(&head) || !is_together(feed) {
            assert!(begun.elapsed() < LONG, "{numbers:?} of {head}, together: {}", is_together(feed));
            // It watches together with others once it has heard nothing for [`QUIET`].
            if let Ok(frame) = timeout(QUIET * 2, feed.next()).await {
                let data: Value = serde_json::from_str(&frame.unwrap().text()).unwrap();
                numbers.extend(data["id"].as_u64());
            }
        }
        numbers
    }

    fn is_together(feed: &Feed) -> bool {
        matches!(feed.source, Some(Source::Together(_)))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_is_slower_than_the_others_reads_alone_again_and_misses_nothing() {
        let place = Place::with_a_run().await;
        let (mut first, mut slow) = (place.feed().await, place.feed().await);
        let (seen, also) = tokio::join!(numbers(&place, &mut first), numbers(&place, &mut slow));
        assert_eq!(seen, also);
        assert!(is_together(&first) && is_together(&slow));
        let head = seen.last().copied().unwrap();
        let names = async {
            for n in 0..30 {
                place.trace.rename(format!("name {n}")).await.unwrap();
            }
        };
        let (seen, ()) = tokio::join!(until(&mut first, head + 30), names);
        let more: Vec<u64> = (head + 1..=head + u64::try_from(seen.len()).unwrap()).collect();
        assert!(seen.len() == 30 && seen == more && is_together(&first), "{head} {seen:?}");
        let mut late = place.feed().await;
        let (seen, all) = tokio::join!(numbers(&place, &mut slow), numbers(&place, &mut late));
        assert_eq!(seen, more);
        assert_eq!(all.last(), more.last());
        place.trace.rename("the last").await.unwrap();
        let (a, b) = tokio::join!(numbers(&place, &mut slow), numbers(&place, &mut late));
        assert!(a.len() == b.len() && a.last() > more.last(), "{a:?} {b:?}");
        assert!(is_together(&slow) && is_together(&late));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_first_may_go_and_the_last_ends_the_reading() {
        let place = Place::with_a_run().await;
        let (mut first, mut second) = (place.feed().await, place.feed().await);
        tokio::join!(numbers(&place, &mut first), numbers(&place, &mut second));
        assert_eq!(place.together.count(), 1);
        drop(first);
        place.trace.rename("other").await.unwrap();
        assert!(!numbers(&place, &mut second).await.is_empty());
        drop(second);
        let none = async {
            while place.together.count() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, none).await.unwrap();
    }
}
