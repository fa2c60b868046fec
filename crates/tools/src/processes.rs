//! Processes that go on between the calls of a trace.

use crate::Problem;
use crate::follow::{Sinks, Stop, follow, leftovers, own_end};
use crate::output::Collector;
use crate::ports::Notice;
use crate::words::count;
use mainpath_sandbox::{Ended, Running};
use mainpath_types::CallId;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Processes that run at once.
const RUNNING: usize = 16;
/// Processes that have ended and are still remembered.
const ENDED: usize = 16;

/// The background processes of one trace, by the call that started each. They die with this program, as all that it
/// starts; and they are ended when this is dropped, or told to.
#[derive(Default)]
pub struct Processes {
    table: Mutex<BTreeMap<CallId, Arc<Background>>>,
}

/// One of them.
pub(crate) struct Background {
    pub command: String,
    end: CancellationToken,
    seen: watch::Sender<Seen>,
}

/// What was seen of it since somebody looked.
#[derive(Default)]
struct Seen {
    unread: Collector,
    /// How it ended, in words.
    ended: Option<String>,
    /// True if [`Processes::end`] ended it: no call reports what it had left.
    is_ended_by_owner: bool,
    /// One sentence for each change that it left for other programs to run, if no call reports it.
    planted: Vec<String>,
}

impl Seen {
    fn state(&self) -> String {
        self.ended.clone().unwrap_or_else(|| "running".into())
    }
}

impl Processes {
    /// Whether there are none, not even ended ones that nobody has looked at.
    pub fn is_empty(&self) -> bool {
        self.table().is_empty()
    }

    /// Ends them all. Returns when none of them runs any more.
    pub async fn end(&self) {
        let all: Vec<Arc<Background>> = self.table().values().cloned().collect();
        all.iter()
            .filter(|one| !one.has_ended())
            .for_each(|one| one.seen.send_modify(|seen| seen.is_ended_by_owner = true));
        all.iter().for_each(|one| one.end.cancel());
        for one in all {
            one.ended().await;
        }
    }

    /// Ends them all, as [`Processes::end`] does. Returns what the processes that this or an earlier call ended had left for other programs
    /// to run, one sentence for each thing that was moved aside. Each is returned once.
    pub async fn end_and_report(&self) -> Vec<String> {
        self.end().await;
        let all: Vec<Arc<Background>> = self.table().values().cloned().collect();
        let mut planted = Vec::new();
        all.iter().for_each(|one| one.seen.send_modify(|seen| planted.append(&mut seen.planted)));
        planted
    }

    /// Starts one by `launch`. Errors: there are too many. The inner one is that of `launch`.
    pub(crate) fn start(
        &self,
        id: CallId,
        command: &str,
        limit: Option<Duration>,
        notice: Notice,
        launch: impl FnOnce() -> io::Result<Running>,
    ) -> Result<io::Result<()>, Problem> {
        let mut table = self.table();
        let ended: Vec<CallId> = table.iter().filter(|(_, one)| one.has_ended()).map(|(id, _)| *id).collect();
        if table.len() - ended.len() >= RUNNING {
            let text = format!("{RUNNING} background processes run already; end one with process_stop first.");
            return Err(Problem::new("too_many_processes", text));
        }
        for id in ended.iter().take(ended.len().saturating_sub(ENDED - 1)) {
            table.remove(id);
        }
        let running = match launch() {
            Ok(running) => running,
            Err(error) => return Ok(Err(error)),
        };
        let background = Arc::new(Background {
            command: command.to_string(),
            end: CancellationToken::new(),
            seen: watch::Sender::default(),
        });
        table.insert(id, Arc::clone(&background));
        tokio::spawn(background.follow(running, limit, notice));
        Ok(Ok(()))
    }

    /// Errors: there is none of this id.
    pub(crate) fn find(&self, id: CallId) -> Result<Arc<Background>, Problem> {
        let table = self.table();
        table.get(&id).cloned().ok_or_else(|| {
            let known: Vec<String> = table.keys().map(CallId::to_string).collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            let text = format!(
                "There is no background process {id}. If it was started before Mainpath was, it ended with Mainpath's last \
                 process; start it again if it is needed. Known now: {known}."
            );
            Problem::new("unknown_process", text)
        })
    }

    /// All that are known, in the order of their start.
    pub(crate) fn all(&self) -> Vec<(CallId, Arc<Background>)> {
        self.table().iter().map(|(id, one)| (*id, Arc::clone(one))).collect()
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<CallId, Arc<Background>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.table().values().for_each(|one| one.end.cancel());
    }
}

impl Background {
    async fn follow(self: Arc<Self>, running: Running, limit: Option<Duration>, notice: Notice) {
        let (mut ignore, mut ignore_errors) = (|_: &[u8]| {}, |_: &[u8]| {});
        // Nothing is handed out in the middle of a line, where a secret may have begun.
        let mut take = |piece: String| self.seen.send_modify(|seen| seen.unread.push(piece.as_bytes()));
        // A process that goes on is read as it would be in a terminal.
        let sinks = Sinks { output: &mut ignore, errors: &mut ignore_errors, piece: &mut take };
        let (words, planted) = match follow(running, &self.end, limit, sinks).await {
            Ok((ended, stop)) => (end_in_words(&ended, stop), ended.planted.sentences(true)),
            Err(error) => (format!("its end could not be confirmed: {error}"), Vec::new()),
        };
        planted.iter().for_each(|sentence| notice(sentence));
        self.seen.send_modify(|seen| {
            seen.ended = Some(words);
            if seen.is_ended_by_owner {
                seen.planted = planted;
            }
        });
    }

    fn has_ended(&self) -> bool {
        self.seen.borrow().ended.is_some()
    }

    /// Asks it to end.
    pub fn end(&self) {
        self.end.cancel();
    }

    /// Waits until nothing of it runs any more.
    pub async fn ended(&self) {
        // The sender is here, so the wait ends with the process only.
        let _ = self.seen.subscribe().wait_for(|seen| seen.ended.is_some()).await;
    }

    /// Waits until it has written something or has ended.
    pub async fn news(&self) {
        let _ = self.seen.subscribe().wait_for(|seen| seen.ended.is_some() || !seen.unread.is_empty()).await;
    }

    /// What it has written since the last time, and how it stands.
    pub fn take(&self) -> (Collector, String) {
        let mut taken = (Collector::default(), String::new());
        self.seen.send_if_modified(|seen| {
            taken = (std::mem::take(&mut seen.unread), seen.state());
            false
        });
        taken
    }

    /// How it stands, in words.
    pub fn state(&self) -> String {
        self.seen.borrow().state()
    }

    /// Bytes that it has written since the last time.
    pub fn unread(&self) -> u64 {
        self.seen.borrow().unread.total()
    }
}

fn end_in_words(ended: &Ended, stop: Option<Stop>) -> String {
    let how = match stop.filter(|_| !ended.by_itself) {
        Some(Stop::Asked) => "stopped".into(),
        Some(Stop::Late(seconds)) => format!("timed out after {} and was ended", count(seconds, "second")),
        None => own_end(&ended.how).map_or_else(|| "exit code 0".into(), |(_, words)| words),
    };
    [vec![how], leftovers(ended)].concat().join("; ")
}
