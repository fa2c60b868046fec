//! Conversations under names, as this installation keeps and mirrors them.

use crate::{Error, ErrorKind, Host, Logs, Trace};
use mainpath_runtime::Vault;
use mainpath_sessions::{Around, FilePlace, Session, SessionError, SessionPlace, Sessions, Turn};
#[cfg(feature = "home")]
use mainpath_sessions::{RedisPlace, RedisServer, SqlitePlace, prepare};
use mainpath_store::scheduler::system_clock;
use mainpath_types::{Millis, TraceId};
use std::time::Duration;

/// How many messages are prepared where nothing is said.
const WINDOW: u32 = 20;
/// How often a process that waits for its turn polls.
const LOOK: Duration = Duration::from_millis(50);

/// The sessions of this installation, and where they are mirrored.
pub struct Held {
    /// The pointers.
    pub sessions: Sessions,
    /// The mirror.
    pub place: Box<dyn SessionPlace>,
}

impl Held {
    /// As the configuration says. Errors: what is wrong with it.
    pub fn new(logs: &Logs) -> Result<Held, Error> {
        let folder = logs.store.tenant_dir(&logs.scope.tenant).join("sessions");
        let config = &logs.home.config.sessions;
        let place: Box<dyn SessionPlace> = match config.mirror.as_deref() {
            None => Box::new(FilePlace::new(folder.clone())),
            Some(mirror) => mirror_of(logs, mirror)?,
        };
        Ok(Held { sessions: Sessions::new(folder), place })
    }

    /// What the operations on sessions work on.
    pub fn around<'a>(&'a self, logs: &'a Logs, vault: &'a Vault) -> Around<'a> {
        let (store, scope) = (&*logs.store, &logs.scope);
        Around { store, scope, vault, sessions: &self.sessions, place: &*self.place, now: system_clock() }
    }

    /// Waits until no other process runs with this session. `tell` is called once, before it waits.
    ///
    /// # Errors
    /// It is no name, or its lock file cannot be written.
    pub async fn turn(&self, name: &str, tell: impl FnOnce()) -> Result<Turn, Error> {
        let mut tell = Some(tell);
        loop {
            if let Some(turn) = self.sessions.try_turn(name)? {
                return Ok(turn);
            }
            if let Some(tell) = tell.take() {
                tell();
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A session for a run, made if there is none, and the trace that it goes on with.
    pub fn for_run(&self, logs: &Logs, name: &str) -> Result<(Session, Option<TraceId>), Error> {
        let now = system_clock();
        let session = match self.sessions.get(name) {
            Err(SessionError::Unknown(_)) => fresh(logs, name, None, None),
            session => session?,
        };
        let trace = session.trace.clone().filter(|trace| !session.is_expired(now) && logs.is_there(trace));
        Ok((session, trace))
    }

    /// The session is used now, with this trace.
    pub fn point(&self, session: &mut Session, trace: &TraceId) -> Result<(), Error> {
        session.trace = Some(trace.clone());
        session.used = system_clock();
        Ok(self.sessions.put(session)?)
    }

    /// Forgets what was said in traces that are no longer what they were: what the mirrors hold of them, and with `waiting` also
    /// what waits for the results of calls. Says in a line each what may still be there.
    pub async fn forget(&self, traces: &[TraceId], waiting: bool) -> Vec<String> {
        let mut left = Vec::new();
        for trace in traces.iter().filter(|_| waiting) {
            left.extend(self.sessions.forget_waiting(trace).err().map(|error| error.to_string()));
        }
        // Files lie there too where another mirror was configured since.
        let files = FilePlace::new(self.sessions.folder().to_path_buf());
        for place in [&files as &dyn SessionPlace, &*self.place] {
            left.extend(place.forget(traces).await.err().map(|error| error.to_string()));
        }
        left.dedup();
        left
    }

    /// Writes what was said since into the mirror; gives why that cannot be. Whoever prepares it next writes it too.
    #[cfg(feature = "home")]
    pub async fn mirror(&self, host: &Host, session: &Session) -> Option<String> {
        // As it points by now.
        let session = self.sessions.get(&session.name).unwrap_or_else(|_| session.clone());
        let prepared = prepare(&self.around(host.logs()?, host.vault()), &session).await;
        prepared.ok().and_then(|prepared| prepared.unmirrored)
    }
}

impl Host {
    /// The trace that a session goes on with; `None` where there is no session of this name, or nothing was said in it yet. Errors: it is no
    /// name, its file is damaged, or traces are not kept in files.
    pub async fn session(&self, name: &str) -> Result<Option<Trace>, Error> {
        let logs = self.files()?;
        let session = match sessions(logs).get(name) {
            Err(SessionError::Unknown(_)) => return Ok(None),
            session => session?,
        };
        match session.trace.as_ref().filter(|trace| !session.is_expired(system_clock()) && logs.is_there(trace)) {
            Some(trace) => Ok(Some(self.trace(trace).await?)),
            None => Ok(None),
        }
    }

    /// Takes the turn of a session; see [`Sessions::try_turn`]. Errors: as its, or traces are not kept in files.
    pub fn try_session_turn(&self, name: &str) -> Result<Option<Turn>, Error> {
        Ok(sessions(self.files()?).try_turn(name)?)
    }

    /// Has a session go on with this trace from now on; it is made if there is none of this name. Errors: as [`Host::session`]'s, or
    /// nothing can be written.
    pub fn point_session(&self, name: &str, trace: &TraceId) -> Result<(), Error> {
        let held = Held::new(self.files()?)?;
        let (mut session, _) = held.for_run(self.files()?, name)?;
        held.point(&mut session, trace)
    }

    fn files(&self) -> Result<&Logs, Error> {
        self.logs()
            .ok_or_else(|| Error::new(ErrorKind::Refused, "there are no sessions where traces are not kept in files"))
    }
}

/// The mirror that is configured.
#[cfg(feature = "home")]
fn mirror_of(logs: &Logs, mirror: &str) -> Result<Box<dyn SessionPlace>, Error> {
    let config = &logs.home.config.sessions;
    let wrong = |why: String| Error::failed(format!("{}, [sessions]: {why}", logs.home.config_file.display()));
    if let Some(file) = mirror.strip_prefix("sqlite:") {
        return Ok(Box::new(SqlitePlace::new(logs.home.data.join(file))));
    }
    if !mirror.starts_with("redis:") {
        return Err(wrong("mirror must be sqlite:FILE or redis://HOST:PORT/DATABASE".into()));
    }
    let secret = |name: &String| logs.home.secret(name).ok_or_else(|| wrong(format!("the secret {name} is not set")));
    let server = RedisServer {
        url: mirror.into(),
        user: config.user.clone(),
        password: config.password.as_ref().map(secret).transpose()?,
        prefix: config.prefix.clone().unwrap_or_else(|| "mainpath:".into()),
    };
    Ok(Box::new(RedisPlace::new(&server).map_err(|error| wrong(error.to_string()))?))
}

/// Without an installation nothing configures one.
#[cfg(not(feature = "home"))]
fn mirror_of(_: &Logs, mirror: &str) -> Result<Box<dyn SessionPlace>, Error> {
    Err(Error::failed(format!("built without mirrors of sessions, such as {mirror}; turn on the feature home")))
}

/// The pointers of sessions.
pub fn sessions(logs: &Logs) -> Sessions {
    Sessions::new(logs.store.tenant_dir(&logs.scope.tenant).join("sessions"))
}

/// A session of this name that has no trace yet.
pub fn fresh(logs: &Logs, name: &str, window: Option<u32>, ttl: Option<Millis>) -> Session {
    let config = &logs.home.config.sessions;
    let window = window.or(config.window).unwrap_or(WINDOW);
    Session::new(name, window, ttl.or(config.ttl.map(|time| time.0)), system_clock())
}
