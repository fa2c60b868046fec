//! The end of a remote child's work: its server is sent a stop and has a moment to confirm it. The run here ends in any case.

use super::claims::{said_there, taken_in};
use super::seen::{Seen, ended, look, stopped};
use crate::effects::context::EffectContext;
use crate::mail::Mail;
use crate::runtime::post;
use mainpath_core::{Child, InputKind};
use mainpath_store::TraceStore;
use mainpath_types::TraceId;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a server has to take the stop and to confirm it.
const PARTING: Duration = Duration::from_secs(1);
/// How often the log is read until then.
const LOOK: Duration = Duration::from_millis(250);

/// Ends the work of a remote child. `why`: the reason to tell, if the child cannot know it.
pub(super) async fn end(context: &EffectContext, child: &Child, trace: &TraceId, why: Option<&str>) -> InputKind {
    let mut last = Seen::default();
    let confirmed = timeout(PARTING, confirmed(context, child, trace, &mut last)).await;
    let came_to = confirmed.ok().flatten().unwrap_or_else(|| {
        let host = trace.elsewhere().map_or_else(|| trace.to_string(), |remote| remote.host.to_string());
        let unsure = format!("it did not confirm that it stopped; it may continue on {host}");
        let problem = why.into_iter().chain([unsure.as_str()]).collect::<Vec<_>>().join("; ");
        stopped(child, last, Some(problem))
    });
    taken_in(&context.shared.config.vault, &child.share, came_to)
}

/// Sends the stop and waits for the end. `None`: its server cannot be asked. `last`: what the log held when it was read last.
async fn confirmed(context: &EffectContext, child: &Child, trace: &TraceId, last: &mut Seen) -> Option<InputKind> {
    let mut is_sent = false;
    loop {
        match look(context, trace, child.after).await {
            Ok(seen) if seen.ended.is_some() => return Some(ended(child, said_there(seen))),
            Ok(seen) if seen.is_empty || seen.run.is_none() && is_sent => return Some(stopped(child, seen, None)),
            Ok(seen) => *last = said_there(seen),
            Err(_) if is_sent => return None,
            // Only this request may have failed: the stop is sent all the same.
            Err(_) => {}
        }
        if !is_sent {
            let scope = context.as_parent();
            let at = TraceStore::new(&*context.shared.config.store, &scope, trace);
            post(at, &context.shared.config.vault, &Mail::Stop).await.ok()?;
            is_sent = true;
        }
        sleep(LOOK).await;
    }
}
