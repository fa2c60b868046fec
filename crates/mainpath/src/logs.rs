//! The logs and where they lie: all that looking takes. Models, tools and rules are not loaded for it
//! (`Host`).

use crate::Remedy;
#[cfg(feature = "home")]
use crate::peers::RoutedStore;
use crate::trace::{Read, ReadTrace, long_answer};
use crate::{Error, ErrorKind, Home};
use mainpath_core::{Bodies, Log, State};
use mainpath_providers::Registry;
#[cfg(feature = "home")]
use mainpath_runtime::Peers;
use mainpath_runtime::replay::{Replayed, replay};
use mainpath_runtime::views::last_known;
use mainpath_runtime::{EnvModels, Mail, post, verify, views};
#[cfg(feature = "home")]
use mainpath_store::Options;
use mainpath_store::{FilesStore, Owner, ReadLog, Report, Scope, ScopedStore, Store, StoreError, TraceStore};
use mainpath_types::{CallId, Event, MailId, TraceId};
use std::sync::Arc;

/// What commands look at.
#[derive(Clone)]
pub struct Logs {
    /// Folders and configuration.
    pub home: Arc<Home>,
    /// The logs.
    pub store: Arc<FilesStore>,
    /// What also reaches the logs of other machines, if any are configured.
    #[cfg(feature = "home")]
    elsewhere: Option<Arc<RoutedStore>>,
    /// Whose, and who asks.
    pub scope: Scope,
    /// Who is told what is wrong and no reason to stop.
    tell: fn(&Error),
}

impl Logs {
    /// Opens the data directory. Errors: the configuration is wrong, among others.
    #[cfg(feature = "home")]
    pub fn open() -> Result<Logs, Error> {
        Logs::open_in(Home::find()?)
    }

    #[cfg(feature = "home")]
    pub(crate) fn open_in(home: Home) -> Result<Logs, Error> {
        let store = FilesStore::open(&home.data, Options::default())?;
        let logs = Logs::by_hand(Arc::new(home), Arc::new(store));
        let elsewhere = logs.home.routed(Arc::clone(&logs.store) as Arc<dyn Store>)?;
        Ok(Logs { elsewhere, ..logs })
    }

    /// The same for who only looks or sends a word: what is wrong in the configuration is told to `tell`, and does not stop a person
    /// from seeing or ending what runs. Where nothing can be written, it is looked at as it lies.
    #[cfg(feature = "home")]
    pub fn look(tell: fn(&Error)) -> Result<Logs, Error> {
        let (home, wrong) = Home::look()?;
        wrong.iter().for_each(tell);
        let store = FilesStore::look(&home.data, Options::default())?;
        let logs = Logs { tell, ..Logs::by_hand(Arc::new(home), Arc::new(store)) };
        // Without the key of one, all that is here can be looked at.
        let elsewhere = logs.home.routed(Arc::clone(&logs.store) as Arc<dyn Store>).unwrap_or_else(|wrong| {
            tell(&wrong);
            None
        });
        Ok(Logs { elsewhere, ..logs })
    }

    pub(crate) fn by_hand(home: Arc<Home>, store: Arc<FilesStore>) -> Logs {
        Logs {
            home,
            store,
            #[cfg(feature = "home")]
            elsewhere: None,
            scope: Scope::local(),
            tell: |_| {},
        }
    }

    #[cfg(feature = "home")]
    pub(crate) fn with_home(self, home: Arc<Home>) -> Logs {
        Logs { home, ..self }
    }

    /// Whether another machine is set up.
    pub(crate) fn reaches(&self, host: &str) -> bool {
        #[cfg(feature = "home")]
        return self.elsewhere.as_ref().is_some_and(|routed| routed.reaches(host));
        #[cfg(not(feature = "home"))]
        {
            let _ = host;
            false
        }
    }

    /// What reaches all traces, also those of other machines.
    #[cfg(feature = "home")]
    pub fn all_stores(&self) -> Arc<dyn Store> {
        match &self.elsewhere {
            Some(routed) => Arc::clone(routed) as Arc<dyn Store>,
            None => Arc::clone(&self.store) as Arc<dyn Store>,
        }
    }

    /// What begins agents on other machines.
    #[cfg(feature = "home")]
    pub(crate) fn peers(&self) -> Option<Arc<dyn Peers>> {
        self.elsewhere.clone().map(|routed| routed as Arc<dyn Peers>)
    }

    /// The store for a trace wherever it is.
    fn any(&self) -> &dyn Store {
        #[cfg(feature = "home")]
        if let Some(routed) = &self.elsewhere {
            return &**routed;
        }
        &*self.store
    }

    /// What is known of models; where the tables that people write are wrong, what comes with the program.
    pub fn registry(&self) -> Registry {
        self.home.registry().unwrap_or_else(|wrong| {
            (self.tell)(&wrong);
            Registry::bundled().clone()
        })
    }

    /// The trace that is meant: by its id, by the beginning of it, or the one that changed last. Errors: there is none, or it is on
    /// another machine.
    pub async fn find(&self, wanted: Option<&str>) -> Result<TraceId, Error> {
        let trace = self.find_anywhere(wanted).await?;
        match trace.elsewhere() {
            None => Ok(trace),
            Some(there) => Err(Error::new(
                ErrorKind::Refused,
                format!("{trace} is on another machine: this is done on {} itself", there.host),
            )),
        }
    }

    /// The same for what can be done to a trace wherever it is.
    pub async fn find_anywhere(&self, wanted: Option<&str>) -> Result<TraceId, Error> {
        let Some(wanted) = wanted else {
            // What agents were doing for another is seen from there.
            let newest = self.store.list(&self.scope).await?.into_iter().next().map(|entry| {
                let root = entry.trace.root();
                if self.is_there(&root) { root } else { entry.trace }
            });
            let lost = || self.store.names(&self.scope).ok()?.into_iter().find(|trace| self.lost(trace).is_some());
            let newest = newest.or_else(lost);
            return newest.ok_or_else(|| {
                Error::new(ErrorKind::NotFound, "there are no traces yet").with_remedy(Remedy::StartTrace)
            });
        };
        if let Ok(remote) = wanted.parse::<TraceId>()
            && remote.elsewhere().is_some()
        {
            #[cfg(feature = "home")]
            let is_known = self.elsewhere.is_some();
            #[cfg(not(feature = "home"))]
            let is_known = false;
            // Whether it is there is told by whoever reads it.
            return match is_known {
                true => Ok(remote),
                false => Err(Error::new(
                    ErrorKind::NotFound,
                    format!(
                        "there is no trace {remote}: no other machine is set up; add [peers.NAME] with its url and key"
                    ),
                )),
            };
        }
        // Looked at by its name alone: there may be a great many.
        let names = self.store.names(&self.scope)?.into_iter();
        let mut found: Vec<TraceId> =
            names.filter(|trace| trace.as_str().contains(wanted) && self.is_there(trace)).collect();
        if let Some(exact) = found.iter().position(|trace| trace.as_str() == wanted) {
            return Ok(found.swap_remove(exact));
        }
        // What begins so comes before what has it anywhere.
        if found.iter().filter(|trace| trace.as_str().starts_with(wanted)).count() == 1 {
            found.retain(|trace| trace.as_str().starts_with(wanted));
        }
        // A trace comes before those that belong to it.
        if found.iter().filter(|trace| trace.parent().is_none()).count() == 1 {
            found.retain(|trace| trace.parent().is_none());
        }
        match found.len() {
            1 => Ok(found.swap_remove(0)),
            0 => Err(Error::new(
                ErrorKind::NotFound,
                format!("there is no trace {:?}", wanted.chars().take(200).collect::<String>()),
            )
            .with_remedy(Remedy::ListTraces)),
            n => {
                // Their names begin with the time.
                found.sort_unstable();
                let newest: Vec<&str> = found.iter().rev().take(3).map(TraceId::as_str).collect();
                let newest = newest.join(", ");
                Err(Error::failed(format!("{n} traces have {wanted:?} in their id ({newest}, …); give a longer part")))
            }
        }
    }

    /// Sends mail to a trace, whoever drives it. Returns when it is durable.
    pub async fn send(&self, trace: &TraceId, mail: &Mail) -> Result<MailId, Error> {
        // Of models only the names of their keys matter here.
        let registry = self.registry();
        Ok(post(self.at(trace), &self.home.vault(&registry)?, mail).await?)
    }

    /// Whether a call was answered before this was sent as its answer: of several at the same moment the first counts. Errors: the mail of the
    /// trace cannot be read.
    pub async fn was_answered_before(&self, trace: &TraceId, call: CallId, sent: MailId) -> Result<bool, Error> {
        let mail = self.at(trace).mail(0).await?;
        let mut earlier = mail.iter().filter(|entry| entry.id < sent);
        Ok(earlier
            .any(|entry| matches!(serde_json::from_str(&entry.body), Ok(Mail::Answer { call: of, .. }) if of == call)))
    }

    /// Who drives the trace, or stays with it while it waits: what is sent is read at once.
    pub fn driver(&self, trace: &TraceId) -> Result<Option<Owner>, Error> {
        if trace.elsewhere().is_some() {
            return Ok(Some(Owner::Elsewhere));
        }
        match self.store.owner(&self.scope, trace)? {
            None => Ok(self.store.is_followed(&self.scope, trace).is_ok_and(|is| is).then_some(Owner::Unnamed)),
            owner => Ok(owner),
        }
    }

    /// Whether there is such a process.
    pub fn is_driven(&self, trace: &TraceId) -> Result<bool, Error> {
        Ok(self.driver(trace)?.is_some())
    }

    /// Whether there is such a trace, be it one whose log is missing: whoever reads that is told.
    pub fn is_there(&self, trace: &TraceId) -> bool {
        trace.elsewhere().is_some() || self.has_log(trace) || self.store.lost(&self.scope, trace).is_some()
    }

    /// Whether the log of a trace is there.
    pub fn has_log(&self, trace: &TraceId) -> bool {
        self.store.trace_dir(&self.scope.tenant, trace).join("events.jsonl").is_file()
    }

    /// That the log of a trace cannot be read at all, in a few words: it is missing while its views are there, or no file.
    pub fn lost(&self, trace: &TraceId) -> Option<String> {
        match self.store.lost(&self.scope, trace) {
            Some(StoreError::LogMissing { trace, folder }) => {
                Some(format!("the log of {trace} (events.jsonl) is missing; its views are in {folder}"))
            }
            Some(error @ StoreError::NotAFile { .. }) => Some(error.to_string()),
            _ => None,
        }
    }

    /// Whether the views of a trace know of events that its log does not have any more.
    pub async fn has_lost_its_end(&self, trace: &TraceId) -> bool {
        let Ok(Some(known)) = last_known(self.at(trace)).await else { return false };
        self.at(trace).read(known).await.is_ok_and(|log| log.head < known)
    }

    /// That the last line of a log is incomplete, in a few words; `None` while somebody writes it.
    pub fn torn(&self, trace: &TraceId, log: &ReadLog) -> Option<String> {
        let is_torn = log.torn > 0 && self.store.owner(&self.scope, trace).is_ok_and(|owner| owner.is_none());
        is_torn.then(|| {
            format!("the log has {} byte{} of an incomplete last line", log.torn, if log.torn == 1 { "" } else { "s" })
        })
    }

    /// The text of an answer that is too long for its event; `None` of all other events, and where it is not at hand.
    pub async fn long_answer(&self, event: &Event) -> Option<String> {
        long_answer(self.scoped(), event).await
    }

    /// Computes views and requests again and compares them with the record. `is_dry`: writes nothing; otherwise views that differ are
    /// written again. Errors: the log or a blob cannot be read, or a view cannot be written.
    pub async fn replay(&self, trace: &TraceId, is_dry: bool) -> Result<Replayed, Error> {
        let models = EnvModels::new(Arc::new(self.registry()));
        Ok(replay(self.at(trace), &models, is_dry).await?)
    }

    /// Checks that a log is complete and unchanged. Errors: it cannot be read.
    pub async fn verify(&self, trace: &TraceId) -> Result<Report, Error> {
        Ok(verify(self.at(trace)).await?)
    }

    /// Writes the views of a trace from its current log. Errors: the log cannot be read, or the views cannot be written.
    pub async fn write_views(&self, trace: &TraceId) -> Result<(), Error> {
        Ok(views::write(self.at(trace)).await?)
    }

    /// What is kept of a trace.
    pub fn at<'a>(&'a self, trace: &'a TraceId) -> TraceStore<'a> {
        self.scoped().of(trace)
    }

    /// The store in the scope of this host.
    pub fn scoped(&self) -> ScopedStore<'_> {
        ScopedStore::new(self.any(), &self.scope)
    }

    /// A trace that was read from this store.
    pub fn of<'a>(
        &'a self,
        trace: &'a TraceId,
        log: &'a ReadLog,
        state: &'a State,
        bodies: &'a (dyn Bodies + Send + Sync),
    ) -> ReadTrace<'a> {
        ReadTrace { store: self.any(), scope: &self.scope, trace, log, state, bodies }
    }

    /// The log of a trace and the state that it makes.
    pub async fn read(&self, trace: &TraceId) -> Result<(ReadLog, State, Log), Error> {
        let Read { log, state, .. } = Read::of(self.at(trace)).await?;
        let mut bodies = Log::default();
        bodies.extend(&log.events);
        Ok((log, state, bodies))
    }
}
