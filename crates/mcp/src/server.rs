//! One server: connected when it is needed, left alone for a while when it fails.

use crate::call::{Failed, Reply, Request};
use crate::config::Configured;
use crate::error::ServerError;
use crate::link::{Around, Link};
use mainpath_tools::{Problem, ToolContext};
use mainpath_types::ToolOutput;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// After a failed connection the next is not tried for this long; twice as long after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What hears of a connection.
type Opened = dyn Fn(&Arc<Link>) + Send + Sync;

/// A server that is used.
pub(crate) struct Server {
    pub configured: Configured,
    pub around: Around,
    state: Mutex<State>,
    /// Called with every connection that came about.
    opened: OnceLock<Box<Opened>>,
}

#[derive(Default)]
struct State {
    link: Option<Arc<Link>>,
    /// How often in a row a connection failed, when the last time, and why.
    failed: Option<(u32, Instant, ServerError)>,
}

impl Server {
    pub fn new(configured: Configured, around: Around) -> Server {
        Server { configured, around, state: Mutex::default(), opened: OnceLock::new() }
    }

    /// Has `tell` called with every connection that comes about from now on.
    pub fn on_open(&self, tell: impl Fn(&Arc<Link>) + Send + Sync + 'static) {
        let _ = self.opened.set(Box::new(tell));
    }

    /// The connection, made now if there is none. Errors: it cannot be made, or is not tried yet again.
    pub async fn link(&self) -> Result<Arc<Link>, ServerError> {
        let mut state = self.state.lock().await;
        if let Some(link) = &state.link {
            if link.is_open() {
                return Ok(Arc::clone(link));
            }
            state.link = None;
        }
        if let Some((times, when, why)) = &state.failed {
            let pause = FIRST_PAUSE.saturating_mul(1 << (times - 1).min(16)).min(LONGEST_PAUSE);
            let left = pause.saturating_sub(when.elapsed());
            if !left.is_zero() {
                return Err(ServerError::Pausing { why: Box::new(why.clone()), seconds: left.as_secs() + 1 });
            }
        }
        match Link::open(&self.configured, &self.around).await {
            Ok(link) => {
                let link = Arc::new(link);
                *state = State { link: Some(Arc::clone(&link)), failed: None };
                if let Some(tell) = self.opened.get() {
                    tell(&link);
                }
                Ok(link)
            }
            Err(why) => {
                let times = state.failed.as_ref().map_or(1, |(times, ..)| times.saturating_add(1));
                state.failed = Some((times, Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    /// Ends the connection. The next call makes a new one.
    pub async fn close(&self) {
        if let Some(link) = self.state.lock().await.link.take() {
            link.close();
        }
    }

    /// Lets go of a connection that is of no use any more, and with it of its process.
    async fn give_up(&self, link: &Arc<Link>) {
        link.close();
        let mut state = self.state.lock().await;
        if state.link.as_ref().is_some_and(|known| Arc::ptr_eq(known, link)) {
            state.link = None;
        }
    }

    /// Asks under a call. Errors: the output of a call that has no answer.
    pub async fn ask(self: &Arc<Self>, ctx: &ToolContext, request: Request) -> Result<Reply, ToolOutput> {
        let name = &self.configured.name;
        let Some(link) = ctx.until_stopped(self.link()).await else { return Err(ctx.stopped()) };
        let link = link.map_err(|why| {
            ToolOutput::failed("server_down", format!("The MCP server {name:?} is not there: {why}. Nothing was done."))
        })?;
        let progress = |piece: &str| (ctx.progress)(&ctx.secrets.redact(piece));
        let failed = match link.ask(request, &ctx.cancel, &progress).await {
            Ok(reply) => return Ok(reply),
            Err(failed) => failed,
        };
        Err(match failed {
            Failed::Stopped => {
                if ctx.stop_code() == "timeout" {
                    let (server, link) = (Arc::clone(self), Arc::clone(&link));
                    tokio::spawn(async move { server.look_after(&link).await });
                }
                ctx.stopped()
            }
            Failed::Gone => {
                self.give_up(&link).await;
                let text = "died, or broke the connection, before it answered. Whether the call was carried out is not known; \
                            the next call starts it again.";
                ToolOutput::failed("server_gone", format!("The MCP server {name:?} {text}"))
            }
            Failed::Refused(words) => {
                ToolOutput::failed("server_error", format!("The MCP server {name:?} refused the call: {words}"))
            }
            Failed::Strange(why) => ToolOutput::failed(
                "server_error",
                format!("The MCP server {name:?} gave no answer that can be used: {why}"),
            ),
        })
    }

    /// After a call that took too long: a server that does not answer at all is given up.
    async fn look_after(&self, link: &Arc<Link>) {
        if !link.answers(self.around.times.life_sign).await {
            self.give_up(link).await;
        }
    }
}

impl From<ServerError> for Problem {
    fn from(why: ServerError) -> Problem {
        Problem::new("server_down", why.to_string())
    }
}
