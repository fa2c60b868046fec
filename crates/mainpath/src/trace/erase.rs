//! What was said, erased for good: from the log, its views, the index and the mirrors of sessions.

use super::handle::Trace;
use super::point::Point;
use crate::sessions::{Held, sessions};
use crate::{Error, Logs};
use mainpath_runtime::erase::{Copy, Done, Erasure, What, copies, erase, erase_everywhere};
use mainpath_runtime::{RuntimeError, Vault};
use mainpath_sessions::settle;
use mainpath_store::scheduler::system_clock;
use mainpath_store::{Scope, Store, TraceStore};
use mainpath_types::{EventKind, Millis, TraceId};

/// What is to be erased of a trace, and where besides.
pub struct Erase<'a> {
    /// What.
    pub what: &'a What,
    /// The copies of the words in which it is erased too: see [`copies`].
    pub copies: &'a [Copy],
    /// Why, for the log.
    pub reason: Option<&'a str>,
}

/// What became of an erasure.
pub struct Erased {
    /// What was erased in which trace, until something failed.
    pub done: Result<Vec<(TraceId, Done)>, Error>,
    /// What was mended of messages that had waited for the results of calls, a line each.
    pub mended: Vec<String>,
    /// Where the words may still be, a line each: a mirror that cannot be reached.
    pub left: Vec<String>,
}

/// Where something is erased.
#[derive(Clone, Copy)]
pub struct Everywhere<'a> {
    /// The log.
    pub store: &'a dyn Store,
    /// Whose, and who asks.
    pub scope: &'a Scope,
    /// The secrets, for the reason.
    pub vault: &'a Vault,
    /// Where sessions and the index lie, if they do.
    pub logs: Option<&'a Logs>,
    /// The time.
    pub now: Millis,
}

impl Everywhere<'_> {
    /// Erases it for good. Errors: what is configured of sessions cannot be used, or what waits there cannot join the log; nothing
    /// was erased then.
    pub async fn erase(&self, trace: &TraceId, erasure: Erase<'_>) -> Result<Erased, Error> {
        let Erase { what, copies, reason } = erasure;
        let (at, held) = (TraceStore::new(self.store, self.scope, trace), self.logs.map(Held::new).transpose()?);
        let mut mended = Vec::new();
        if let (What::All, Some(logs)) = (what, self.logs) {
            // What is in no log yet goes as well.
            mended = settle(at, self.vault, &sessions(logs), self.now).await?;
        }
        let why = reason.map(|why| self.vault.redact(why));
        let erasure = Erasure { what: what.clone(), why, now: self.now };
        // Who graded it was shown its words.
        let mut graded = Vec::new();
        for trace in std::iter::once(trace).chain(copies.iter().map(|copy| &copy.trace)) {
            graded.extend(self.erase_grades(trace).await?);
        }
        let done = match copies {
            [] => erase(at, &erasure).await.map(|done| vec![(trace.clone(), done)]),
            copies => erase_everywhere(at, &erasure, copies).await,
        };
        let done = done.map(|done| graded.into_iter().chain(done).collect::<Vec<_>>());
        let done = done.map_err(Error::from).and_then(|done| {
            let traces: Vec<TraceId> = done.iter().map(|(trace, _)| trace.clone()).collect();
            self.logs.map_or(Ok(()), |logs| forget_index(logs, &traces))?;
            Ok(done)
        });
        let mut left = Vec::new();
        if let Some(held) = held {
            // Also where nothing was left in the log: a mirror may not have been reached before.
            let mirrored: Vec<TraceId> =
                std::iter::once(trace).chain(copies.iter().map(|copy| &copy.trace)).cloned().collect();
            left = held.forget(&mirrored, false).await;
            if *what == What::All && done.is_ok() {
                left.extend(held.sessions.forget_waiting(trace).err().map(|error| error.to_string()));
            }
        }
        Ok(Erased { done, mended, left })
    }

    /// Erases all words of the traces in which models graded a trace. Errors: one of them is being driven, or cannot be written.
    pub(crate) async fn erase_grades(&self, trace: &TraceId) -> Result<Vec<(TraceId, Done)>, Error> {
        let mut done = Vec::new();
        for entry in self.store.list(self.scope).await? {
            if !is_grade_of(&entry.trace, trace) {
                continue;
            }
            let at = TraceStore::new(self.store, self.scope, &entry.trace);
            let log = at.read(1).await?;
            // Who erases again need not erase these again.
            if log.events.last().is_some_and(|event| matches!(event.kind, EventKind::Erased(_))) {
                continue;
            }
            let why = Some(format!("words of {trace} were erased"));
            let erased = erase(at, &Erasure { what: What::All, why, now: self.now }).await;
            let told = |error: RuntimeError| {
                let problem = format!("nothing of {trace} was erased, as its grade was not: {error}");
                Error::new(Error::from(error).kind(), problem)
            };
            done.push((entry.trace, erased.map_err(told)?));
        }
        let names: Vec<TraceId> = done.iter().map(|(trace, _)| trace.clone()).collect();
        self.logs.map_or(Ok(()), |logs| forget_index(logs, &names))?;
        Ok(done)
    }
}

/// Whether a trace is one in which a model graded another.
pub fn is_grade_of(trace: &TraceId, of: &TraceId) -> bool {
    let rest = trace.as_str().strip_prefix(of.as_str()).and_then(|rest| rest.strip_prefix("@grade-"));
    rest.is_some() && trace.parent() == Some(of.as_str())
}

impl Trace {
    /// Erases messages, or all words of the trace, for good: the log still verifies, and says that it was done and why. The same words
    /// in forks stay: [`Trace::copies`] says where they are, and [`Trace::erase_with`] erases them there too. Errors: the trace is being
    /// driven, there is no such message, nothing is left to erase, or a mirror cannot be reached.
    pub async fn erase(&self, what: What, reason: Option<&str>) -> Result<Vec<(TraceId, Done)>, Error> {
        self.erase_with(Erase { what: &what, copies: &[], reason }).await
    }

    /// The same, also in these copies.
    pub async fn erase_with(&self, erasure: Erase<'_>) -> Result<Vec<(TraceId, Done)>, Error> {
        self.let_go().await?;
        if let What::Messages(messages) = erasure.what {
            for seq in messages {
                self.point(Point::Message(*seq)).await?;
            }
        }
        let host = self.host();
        let config = host.runtime().config();
        let everywhere = Everywhere {
            store: host.store(),
            scope: host.scope(),
            vault: &config.vault,
            logs: host.logs(),
            now: (config.clock)(),
        };
        let Erased { done, left, .. } = everywhere.erase(self.id(), erasure).await?;
        match left.first() {
            None => done,
            Some(left) => Err(done.err().unwrap_or_else(|| {
                Error::failed(format!("erased, but the messages may still be in a mirror: {left}; erase again"))
            })),
        }
    }

    /// The other traces in which words that are meant still are. Every log is read for it. Errors: a log cannot be read, or there is
    /// no such message.
    pub async fn copies(&self, what: &What) -> Result<Vec<Copy>, Error> {
        Ok(copies(self.host().at(self.id()), what).await?)
    }
}

/// The index no longer finds their words.
#[cfg(feature = "home")]
fn forget_index(logs: &Logs, traces: &[TraceId]) -> Result<(), Error> {
    Ok(mainpath_index::Index::forget(&logs.store, &logs.scope, traces)?)
}

/// The index of an installation with the same data goes as a whole: whoever has it makes it anew.
#[cfg(not(feature = "home"))]
fn forget_index(logs: &Logs, _: &[TraceId]) -> Result<(), Error> {
    let deleted = logs.store.delete_index(&logs.scope.tenant);
    deleted
        .map_err(|error| Error::of_io(&error, format!("the index still has the words and cannot be deleted: {error}")))
}

/// Where the logs of an installation are erased.
pub fn everywhere<'a>(logs: &'a Logs, vault: &'a Vault) -> Everywhere<'a> {
    Everywhere { store: &*logs.store, scope: &logs.scope, vault, logs: Some(logs), now: system_clock() }
}
