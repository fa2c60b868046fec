//! The check of signed heads against the log.

use super::keys::PublicKey;
use super::statement::Statement;
use super::witness::Witnessed;
use crate::Error;
use mainpath_runtime::verify;
use mainpath_store::{Report, TraceStore};
use mainpath_types::EventId;
use std::collections::BTreeSet;

/// What is wrong with a signed head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadFault {
    /// The signature is not of the key that it names: it, or what it covers, was changed.
    Forged,
    /// It is by a key that is not trusted.
    UnknownKey,
    /// It is about another trace.
    OtherTrace,
    /// The log has another head there: it was written again.
    Rewritten,
    /// The log, as far as it is good, ends before: its end was removed.
    CutOff,
    /// A witness has it, and it is not beside the log any more.
    Removed,
}

/// A signed head, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedHead {
    /// What was signed.
    pub statement: Statement,
    /// Whether a witness was given that has it.
    pub witnessed: bool,
    /// `None`: the log up to its event is as it was signed.
    pub fault: Option<HeadFault>,
}

/// What the signatures of a trace show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The check of the log, and of what it names.
    pub report: Report,
    /// The signed heads, those that lie beside the log first, in their order.
    pub heads: Vec<SignedHead>,
    /// Up to this event the log is as the owner of a trusted key signed it; 0 if no head is.
    pub proven: EventId,
    /// The events of those whose content was erased: that they were there is proven, what they said is gone.
    pub erased: Vec<EventId>,
    /// The newer `erased` events that say what is left of those, which nobody has signed.
    pub left_by: BTreeSet<EventId>,
    /// Those of `erased` in whose place such an event says words: nobody can tell whether it ever said them.
    pub reworded: Vec<EventId>,
    /// What is wrong, a sentence each.
    pub faults: Vec<String>,
}

impl Proof {
    /// Whether some head is signed, and nothing is wrong.
    pub fn holds(&self) -> bool {
        self.report.holds() && self.faults.is_empty() && self.proven > 0
    }

    /// How many events came after the last one that is proven.
    pub fn newer(&self) -> u64 {
        self.report.events.saturating_sub(self.proven)
    }
}

/// Checks the log of a trace and the signed heads of it: those beside the log, and those that a witness has. `trusted` are the keys whose
/// signatures count. Errors: there is no such trace, or it cannot be read.
pub async fn verify_signed(
    trace: TraceStore<'_>,
    trusted: &[PublicKey],
    witness: Option<&Witnessed>,
) -> Result<Proof, Error> {
    let bytes = trace.signatures().await?;
    let report = verify(trace).await?;
    let mut faults = Vec::new();
    let own = beside(&bytes, &mut faults);
    let (tenant, name) = (trace.scope.tenant.as_str(), trace.trace.as_str());
    let witnessed: Vec<&Statement> = witness.map_or_else(Vec::new, |witness| {
        faults.extend(witness.faults.iter().cloned());
        witness.statements.iter().filter(|said| said.tenant == tenant && said.trace == name).collect()
    });
    let mut all: Vec<(Statement, bool)> =
        own.iter().map(|said| (said.clone(), witnessed.iter().any(|known| known.line == said.line))).collect();
    let beside = all.len();
    all.extend(
        witnessed
            .into_iter()
            .filter(|said| own.iter().all(|known| known.line != said.line))
            .cloned()
            .map(|said| (said, true)),
    );
    let found = trace.heads(all.iter().map(|(said, _)| said.event).collect()).await?;
    let mut heads = Vec::new();
    for (at, ((statement, witnessed), found)) in all.into_iter().zip(found).enumerate() {
        // What is behind the first bad line counts for nothing.
        let found = found.filter(|_| statement.event <= report.events).map(|hash| hash.to_string());
        let fault = if statement.tenant != tenant || statement.trace != name {
            Some(HeadFault::OtherTrace)
        } else if !statement.is_genuine() {
            Some(HeadFault::Forged)
        } else if !trusted.contains(&statement.key) {
            Some(HeadFault::UnknownKey)
        } else {
            match found {
                None => Some(HeadFault::CutOff),
                Some(hash) if hash != statement.head => Some(HeadFault::Rewritten),
                Some(_) if at >= beside => Some(HeadFault::Removed),
                Some(_) => None,
            }
        };
        heads.push(SignedHead { statement, witnessed, fault });
    }
    // A head that was signed and is in the log proves it, also where its line is with a witness alone.
    let stands = |head: &&SignedHead| matches!(head.fault, None | Some(HeadFault::Removed));
    let proven = heads.iter().filter(stands).map(|head| head.statement.event).max().unwrap_or(0);
    faults.extend(heads.iter().filter_map(|head| told(head, &report, proven)));
    if heads.is_empty() {
        faults.push("no head of it is signed".into());
    }
    let erased: Vec<EventId> = report.erased.iter().copied().filter(|event| *event <= proven).collect();
    // What an erasure left is covered by the signature of its own event, once there is one.
    let unsigned = |event: &EventId| report.left_by.get(event).copied().filter(|by| *by > proven);
    let left_by = erased.iter().filter_map(unsigned).collect();
    let reworded: Vec<EventId> =
        erased.iter().filter(|event| report.reworded.contains(event) && unsigned(event).is_some()).copied().collect();
    faults.extend(reworded.iter().filter_map(|event| Some(told_reworded(*event, unsigned(event)?))));
    Ok(Proof { report, heads, proven, erased, left_by, reworded, faults })
}

/// The statements beside the log.
fn beside(bytes: &[u8], faults: &mut Vec<String>) -> Vec<Statement> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    // After the last line feed is nothing, or what a crash left of a line: it was never acknowledged.
    lines.pop();
    let mut read = Vec::new();
    for (at, line) in lines.into_iter().enumerate() {
        match std::str::from_utf8(line).ok().and_then(Statement::read) {
            Some(statement) => read.push(statement),
            None => faults.push(format!("signatures.jsonl, line {}: it is no signed head", at + 1)),
        }
    }
    read
}

/// What is wrong with a head, in a sentence.
fn told(head: &SignedHead, report: &Report, proven: EventId) -> Option<String> {
    let Statement { event, at, key, .. } = &head.statement;
    let what = format!("the head of event {event}, signed {at}");
    Some(match head.fault? {
        HeadFault::Forged => format!("{what}: the signature is not of the key {key} that it names: forged, or changed"),
        HeadFault::UnknownKey => format!("{what}: by the key {key}, which is not trusted"),
        HeadFault::OtherTrace => {
            format!("{what}: it is about another trace, {} of {}", head.statement.trace, head.statement.tenant)
        }
        HeadFault::Rewritten => format!("{what}: the log was rewritten: {}", since(proven)),
        HeadFault::CutOff => format!("{what}: the log ends with event {}: its end was removed", report.events),
        HeadFault::Removed => {
            format!("{what}: a witness has it, and signatures.jsonl does not: signatures were removed")
        }
    })
}

/// What is wrong with an event that says something else than when it was signed.
fn told_reworded(event: EventId, by: EventId) -> String {
    format!(
        "event {event}: it was erased since, and event {by}, which is not signed, puts words in its place: they may not be what it said"
    )
}

fn since(proven: EventId) -> String {
    match proven {
        0 => "nothing of it is as it was signed".into(),
        event => format!("it is as it was signed up to event {event}, and not further"),
    }
}
