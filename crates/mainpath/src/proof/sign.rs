//! Signing the head of a log.

use super::check::{HeadFault, verify_signed};
use super::keys::{OwnerKey, PublicKey};
use super::statement::{Said, Statement};
use super::witness::{Witness, Witnessed};
use crate::{Error, ErrorKind, spec_of};
use mainpath_store::TraceStore;
use mainpath_types::Millis;
use std::path::Path;

/// How heads are signed.
#[derive(Debug)]
pub struct Signing {
    /// With which key.
    pub key: OwnerKey,
    /// By which other keys it may have been signed before: what they signed counts as what this one did.
    pub trusted: Vec<PublicKey>,
    /// Who is told.
    pub witnesses: Vec<Witness>,
    /// Whether it is signed although an erasure that is not signed has left words in the place of signed ones: then the owner of the key
    /// says that they are right.
    pub with_erasures: bool,
}

/// A signed head, and who could not be told of it.
#[derive(Clone, Debug)]
pub struct Signed {
    /// What was signed. It lies beside the log.
    pub statement: Statement,
    /// Which witnesses do not have it, and why, a sentence each.
    pub untold: Vec<String>,
}

/// Signs the head that the log of a trace has now, and tells the witnesses. One that is signed already by this key is not signed again; the
/// witnesses are told all the same, so a call that failed can be made again. Errors: the log does not verify, or is not what was signed
/// before, as the signatures beside it say or a file that is a witness: nothing is signed.
pub async fn sign(trace: TraceStore<'_>, signing: &Signing, now: Millis) -> Result<Signed, Error> {
    let public = signing.key.public();
    let trusted: Vec<PublicKey> = std::iter::once(public).chain(signing.trusted.iter().copied()).collect();
    // Signatures may have been removed beside the log: then a witness still has them.
    let witness = witnessed(&signing.witnesses);
    let proof = verify_signed(trace, &trusted, witness.as_ref()).await?;
    let refused =
        |problem: &str| Err(Error::new(ErrorKind::Refused, format!("trace {} is not signed: {problem}", trace.trace)));
    let damage = proof.report.damage.as_ref().map(ToString::to_string);
    if let Some(fault) = damage.as_ref().or(proof.report.faults.first()) {
        return refused(&format!("it does not verify: {fault}"));
    }
    let is_bad = |fault: &HeadFault| matches!(fault, HeadFault::Rewritten | HeadFault::CutOff);
    if let Some(head) = proof.heads.iter().find(|head| head.fault.as_ref().is_some_and(is_bad)) {
        let by = match head.statement.key == public {
            true => "this key".to_owned(),
            false => format!("the key {}", head.statement.key),
        };
        return refused(&format!("it is not what {by} signed before; see mainpath verify --signed"));
    }
    if let Some(event) = proof.reworded.first().filter(|_| !signing.with_erasures) {
        return refused(&format!(
            "event {event} has other words than when it was signed, by an erasure that is not signed; if you erased there and the \
             words are right: mainpath sign --with-erasures {}",
            trace.trace
        ));
    }
    if proof.report.events == 0 {
        return refused("its log is empty");
    }
    let head = proof.report.head.to_string();
    let known = proof.heads.into_iter().filter(|known| known.fault.is_none() && known.statement.key == public);
    let known = known.map(|known| known.statement);
    let statement = match known.into_iter().find(|known| known.event == proof.report.events && known.head == head) {
        Some(known) => known,
        None => {
            let said =
                Said { tenant: &trace.scope.tenant, trace: trace.trace, event: proof.report.events, head, at: now };
            let statement = Statement::sign(said, &signing.key);
            trace.add_signature(statement.line.clone()).await?;
            statement
        }
    };
    let log = trace.read(1).await?;
    let folders = spec_of(&log).map_or_else(Vec::new, |spec| {
        let copied = spec.copy.as_ref().map(|copy| copy.of.as_str());
        [Some(spec.workspace.as_str()), copied].into_iter().flatten().map(Path::new).collect()
    });
    let mut untold = Vec::new();
    for witness in &signing.witnesses {
        untold.extend(witness.tell(&statement, &folders).await.err().map(|error| error.message().to_string()));
    }
    Ok(Signed { statement, untold })
}

/// What the files among the witnesses have. One that is not there yet, or cannot be read, has nothing; telling it says why.
fn witnessed(witnesses: &[Witness]) -> Option<Witnessed> {
    let files = witnesses.iter().filter_map(|witness| match witness {
        Witness::File(file) => Witnessed::read(file).ok(),
        Witness::Command(_) => None,
    });
    files.reduce(Witnessed::and)
}
