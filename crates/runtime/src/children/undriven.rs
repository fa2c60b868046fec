//! A remote child that no process drives: its server has set it aside, say, since it died during the run each time. The parent reports
//! it, and asks the server to resume it.

use super::remote_log::RemoteLog;
use super::seen::Seen;
use crate::effects::context::EffectContext;
use mainpath_types::{Millis, TraceId};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long the log may be silent before its server is asked whether the trace is driven.
const SILENCE: Duration = Duration::from_secs(3);
/// How often in a row the answer is no before it is reported.
const NOES: u32 = 2;
/// How long the server has to answer when it is asked whether the trace is driven, and to resume it.
const ANSWER: Duration = Duration::from_secs(5);
/// How long to wait before the server is asked again: at first,
const AGAIN: Duration = Duration::from_secs(60);
/// and at most. A run that its server dies of must not be resumed over and over.
const SELDOM: Duration = Duration::from_secs(15 * 60);
/// A log that does not grow is read again this often all the same.
const LOOK: Duration = Duration::from_secs(30);

/// The state of the check that a process drives a remote child.
pub(super) struct Undriven {
    noes: u32,
    is_reported: bool,
    next: Instant,
    pause: Duration,
}

impl Undriven {
    /// Nothing is known yet.
    pub fn new() -> Undriven {
        Undriven { noes: 0, is_reported: false, next: Instant::now(), pause: AGAIN }
    }

    /// Waits until the log may have grown, or an agent of the child waits for a person. `seen`: what it held when it was read last.
    pub async fn wait(&mut self, context: &EffectContext, log: &mut RemoteLog<'_>, seen: &Seen) {
        let began = Instant::now();
        while began.elapsed() < LOOK {
            if log.grows(SILENCE).await {
                return;
            }
            if log.asks(&*context.shared.config.store, seen).await.is_some() {
                return;
            }
            self.check(context, log, seen).await;
        }
    }

    async fn check(&mut self, context: &EffectContext, log: &RemoteLog<'_>, seen: &Seen) {
        let now = (context.shared.config.clock)();
        let late = Millis::try_from(SILENCE.as_millis()).unwrap_or_default();
        if seen.continues_at.is_some_and(|at| now < at.saturating_add(late)) {
            return;
        }
        match timeout(ANSWER, log.driver(&*context.shared.config.store)).await {
            Ok(Ok(None)) => self.noes = self.noes.saturating_add(1),
            Ok(Ok(Some(_))) => (self.noes, self.is_reported) = (0, false),
            // The next read finds out whether it can be reached.
            Ok(Err(_)) | Err(_) => return,
        }
        if self.noes >= NOES && Instant::now() >= self.next {
            self.next = Instant::now().checked_add(self.pause).unwrap_or(self.next);
            self.pause = (self.pause * 2).min(SELDOM);
            self.resume(context, log.trace()).await;
        }
    }

    async fn resume(&mut self, context: &EffectContext, trace: &TraceId) {
        let (Some(peers), Some(remote)) = (&context.shared.config.peers, trace.elsewhere()) else { return };
        let answer = match timeout(ANSWER, peers.resume(trace)).await {
            Ok(Ok(())) => "its server was asked to resume it".to_string(),
            Ok(Err(problem)) => format!("its server did not resume it ({})", problem.why.trim_end_matches('.')),
            Err(_) => "its server did not answer when asked to resume it".to_string(),
        };
        if !std::mem::replace(&mut self.is_reported, true) {
            let (host, id) = (remote.host, remote.id);
            context.notices().tell(&format!(
                "no process on {host} drives the agent {trace}; {answer}; to do it on that machine: mainpath resume {id}"
            ));
        }
    }
}
