//! Signing the head of a log.

use super::check::{HeadFault, verify_signed};
use super::keys::OwnerKey;
use super::statement::{Said, Statement};
use super::witness::Witness;
use crate::{Error, ErrorKind};
use mainpath_store::TraceStore;
use mainpath_types::Millis;

/// How heads are signed.
#[derive(Debug)]
pub struct Signing {
    /// With which key.
    pub key: OwnerKey,
    /// Who is told.
    pub witnesses: Vec<Witness>,
}

/// Signs the head that the log of a trace has now, and tells the witnesses. One that is signed already by this key is not signed again; the
/// witnesses are told all the same, so a call that failed can be made again. Errors: the log does not verify, or is not what this key signed
/// before: then nothing is signed; a witness could not be told: then the head is signed.
pub async fn sign(trace: TraceStore<'_>, signing: &Signing, now: Millis) -> Result<Statement, Error> {
    let public = signing.key.public();
    let proof = verify_signed(trace, &[public], None).await?;
    let refused =
        |problem: &str| Err(Error::new(ErrorKind::Refused, format!("trace {} is not signed: {problem}", trace.trace)));
    let damage = proof.report.damage.as_ref().map(ToString::to_string);
    if let Some(fault) = damage.as_ref().or(proof.report.faults.first()) {
        return refused(&format!("it does not verify: {fault}"));
    }
    let is_bad = |fault: &HeadFault| matches!(fault, HeadFault::Rewritten | HeadFault::CutOff);
    if proof.heads.iter().filter_map(|head| head.fault.as_ref()).any(is_bad) {
        return refused("it is not what this key signed before; see mainpath verify --signed");
    }
    if proof.report.events == 0 {
        return refused("its log is empty");
    }
    let head = proof.report.head.to_string();
    let known = proof.heads.into_iter().filter(|known| known.fault.is_none()).map(|known| known.statement);
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
    for witness in &signing.witnesses {
        witness.tell(&statement).await?;
    }
    Ok(statement)
}
