//! Making a reflection on a trace.

use crate::agent::with_words;
use crate::experience::{FOCUS, PROMPT, offer, reflected_trace, reflection_name, reflection_of};
use crate::trace::{Read, fork_once};
use crate::{Error, ErrorKind, Host, Run, Trace, spec_of};
use mainpath_runtime::Mail;
use mainpath_runtime::run_stats::runs;
use mainpath_store::Once;
use mainpath_store::scheduler::system_clock;
use mainpath_types::{MessageMode, Part, Protocol, RunRules, Spent, TraceId, format_time};
use sha2::{Digest, Sha256};
use std::sync::Arc;

impl Trace {
    /// Has its agent look back on its work, in a trace of its own, and keep what it learned; follows that. `focus`: what to look at above all.
    /// Asked again under the same key ([`Trace::once`]) it is the same. Errors: as [`Host::reflection`]'s.
    pub async fn reflect(&self, focus: Option<&str>) -> Result<Run, Error> {
        self.here()?;
        let host = self.host();
        let new = host.reflection_once(self.id(), focus, self.key()).await?;
        let new = Trace::new(host.clone(), new);
        if self.key().is_none() {
            return new.resume().await;
        }
        new.drive().await?;
        Ok(Run::first(new))
    }
}

impl Host {
    /// Makes a reflection on a trace: a fork of it, ready to be driven, that asks its agent what was learned. `focus`: what to look at above
    /// all. Nothing runs yet; the trace itself is left as it is. Errors: there is nothing to reflect on, nothing is left of its budget, or
    /// its model cannot be used.
    pub async fn reflection(&self, of: &TraceId, focus: Option<&str>) -> Result<TraceId, Error> {
        self.reflection_once(of, focus, None).await
    }

    /// The same, under a caller's key: made again it is the same, and what is missing of it is made up for.
    async fn reflection_once(&self, of: &TraceId, focus: Option<&str>, once: Option<&Once>) -> Result<TraceId, Error> {
        if reflected_trace(of) != *of {
            return Err(Error::invalid(format!("{of} is a reflection itself; name the trace {}", reflected_trace(of))));
        }
        let lookup = self.lookup().ok_or_else(|| Error::new(ErrorKind::Refused, "this host keeps no experiences"))?;
        let read = self.read(of).await?;
        let Read { log, state, .. } = &*read;
        let (Some(old), Some(head)) = (spec_of(log), state.tree.head) else {
            return Err(Error::new(ErrorKind::Refused, format!("{of} has nothing to reflect on")));
        };
        self.prepare_model(&old.model).await?;
        offer(self.tools(), lookup, system_clock);
        let spent = runs(of, &log.events).last().map_or_else(Spent::default, |run| run.counts.spent());
        let mut spec = reflection_of(old, of, spent, self.tools())?;
        // Under the text protocol the system text names the tools.
        if spec.protocol == Protocol::Json && spec.tools != old.tools || spec.output_schema != old.output_schema {
            with_words(&mut spec, self.spec_inputs(&RunRules::default()))?;
        }
        let number = once.map_or_else(|| format_time(system_clock()), |once| number_of(&once.key));
        let new = reflection_name(of, &number).map_err(|error| Error::failed(error.to_string()))?;
        let (runtime, scope) = (self.runtime(), self.scope());
        match once {
            Some(_) => drop(fork_once(runtime, scope, of, head, &new).await?),
            None => runtime.fork(scope, of, head, &new).await?,
        }
        let part =
            |name: &str| once.map(|once| Once { key: format!("{}/{name}", once.key), asked: once.asked.clone() });
        let focus = focus.map(str::trim).filter(|focus| !focus.is_empty());
        let parts = [PROMPT].into_iter().chain(focus.map(|_| FOCUS)).chain(focus).map(Part::text).collect();
        let typed = focus.map(|_| 2);
        let said = Mail::Message { mode: MessageMode::Message, parts, typed };
        for (mail, name) in [(Mail::SetSpec { spec: Arc::new(spec) }, "spec"), (said, "said")] {
            runtime.send_once(scope, &new, &mail, part(name)).await?;
        }
        Ok(new)
    }
}

/// The digits that stand for a key in the name of a reflection.
fn number_of(key: &str) -> String {
    let hash = Sha256::digest(key.as_bytes());
    let number = hash.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{:017}", number % 100_000_000_000_000_000)
}
