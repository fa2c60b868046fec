//! `verify`: whether a log is as it was written, and as its owner signed it.

use crate::args::one::OneTrace;
use crate::exit::{Exit, Failure, logs};
use crate::ui::out::out;
use crate::ui::text::{count, number, one_line};
use clap::Args;
use mainpath::proof::{Proof, PublicKey, Witnessed, verify_signed};
use mainpath::store::Report;
use mainpath::types::{EventId, TraceId};
use mainpath::{Home, Logs};
use std::path::PathBuf;

/// `mainpath verify`
#[derive(Args, Debug)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub which: OneTrace,
    /// Check the log against its signed heads as well: who signed it, up to where, and what is newer
    #[arg(long)]
    pub signed: bool,
    /// A public key whose signatures count: its 43 characters, PEM, or a file (may be repeated) [default: your own key, and sign.trusted]
    #[arg(long, value_name = "PUBLIC", requires = "signed", allow_hyphen_values = true)]
    pub key: Vec<String>,
    /// Compare with the signed heads in this file as well [default: sign.witness]
    #[arg(long, value_name = "FILE", requires = "signed")]
    pub witness: Option<PathBuf>,
    /// All traces that are here, and all that the witness names
    #[arg(long, requires = "signed", conflicts_with = "trace")]
    pub all: bool,
}

/// `mainpath verify`
pub async fn verify(args: VerifyArgs) -> Result<Exit, Failure> {
    if args.signed && (args.key.is_empty() || args.witness.is_none()) {
        // What cannot be read may name the witness, and without it the log may look like more than it is.
        Home::find()?;
    }
    let logs = logs()?;
    if args.signed {
        return against_signatures(&logs, args).await;
    }
    let trace = logs.find_anywhere(args.which.trace.as_deref()).await?;
    let report = logs.verify(&trace).await?;
    let faults = tell(&trace, &report)?;
    if faults.is_empty() {
        out("the chain verifies")?;
    }
    for fault in &faults {
        out(&format!("damaged: {}", one_line(fault)))?;
    }
    for line in &report.unchecked {
        out(&format!("not checked: {line}"))?;
    }
    match faults.as_slice() {
        [] => Ok(Exit::Ok),
        [one] => Err(Failure::error(format!("damaged: {one}"))),
        [first, rest @ ..] => Err(Failure::error(format!("damaged: {first}; and {} more", rest.len()))),
    }
}

/// Says what was checked, and gives what is wrong.
fn tell(trace: &TraceId, report: &Report) -> Result<Vec<String>, Failure> {
    out(&format!("{trace}: {}, head {}", count(report.events, "event"), report.head))?;
    let (blobs, bytes) = (count(report.blobs, "blob"), count(report.blob_bytes, "byte"));
    let mail = match report.mail {
        1 => "1 mailbox entry".into(),
        n => format!("{} mailbox entries", number(n)),
    };
    out(&format!("checked: the chain, {blobs} ({bytes}), {mail}"))?;
    match report.erased.len() {
        0 => {}
        1 => out("1 event was erased; the chain still verifies")?,
        n => out(&format!("{n} events were erased; the chain still verifies"))?,
    }
    for event in &report.reworded {
        let by = report.left_by.get(event).copied().unwrap_or_default();
        out(&format!(
            "event {event} was erased in part: what it says is what event {by} left of it, and not covered by its own hash"
        ))?;
    }
    let damage = report.damage.as_ref().map(ToString::to_string);
    Ok(damage.into_iter().chain(report.faults.iter().cloned()).collect())
}

/// `mainpath verify --signed`
async fn against_signatures(logs: &Logs, args: VerifyArgs) -> Result<Exit, Failure> {
    let trusted = trusted(logs, &args.key)?;
    let witness = args.witness.map_or_else(|| logs.home.witness(), |named| Ok(Some(named)))?;
    let witness = witness.as_deref().map(Witnessed::read).transpose()?;
    let (mut traces, mut gone) = (Vec::new(), Vec::new());
    if args.all {
        traces = logs.store.names(&logs.scope)?;
        // Also one that has lost its log, and still has the signatures.
        let has_signatures = |trace: &TraceId| {
            logs.store.trace_dir(&logs.scope.tenant, trace).join("signatures.jsonl").symlink_metadata().is_ok()
        };
        traces.retain(|trace| logs.is_there(trace) || has_signatures(trace));
        traces.sort_unstable();
        let named = witness.as_ref().map(|witness| witness.traces(logs.scope.tenant.as_str())).unwrap_or_default();
        gone = named.into_iter().filter(|name| traces.iter().all(|trace| trace.as_str() != name)).collect();
    } else {
        traces.push(logs.find(args.which.trace.as_deref()).await?);
    }
    let mut wrong = Vec::new();
    for trace in &traces {
        match verify_signed(logs.at(trace), &trusted, witness.as_ref()).await {
            Ok(proof) => wrong.extend(proved(trace, &proof)?.into_iter().map(|fault| format!("{trace}: {fault}"))),
            Err(error) => {
                out(&format!("not proven: {}", one_line(error.message())))?;
                wrong.push(format!("{trace}: {}", error.message()));
            }
        }
    }
    for name in gone {
        let fault = format!("{name}: the witness has signed heads of it, and it is not here: removed, or lost");
        out(&format!("not proven: {}", one_line(&fault)))?;
        wrong.push(fault);
    }
    if traces.is_empty() && wrong.is_empty() {
        out("not proven: there is no trace here, and so no head of one is signed")?;
        wrong.push("there is no trace here, and so no head of one is signed".into());
    }
    let Some(first) = wrong.first() else { return Ok(Exit::Ok) };
    let more = match wrong.len() - 1 {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Err(Failure { exit: Exit::Unproven, message: format!("not proven: {first}{more}") })
}

/// The keys that count: those that are given, else the owner's with those of the configuration.
fn trusted(logs: &Logs, given: &[String]) -> Result<Vec<PublicKey>, Failure> {
    if !given.is_empty() {
        return Ok(given.iter().map(|text| PublicKey::given(text)).collect::<Result<_, _>>()?);
    }
    let keys = logs.home.trusted_keys()?;
    match keys.is_empty() {
        false => Ok(keys),
        true => Err(Failure::usage("there is no key of yours to check with; name the one that signed with --key")),
    }
}

/// Says what the signed heads of a trace show, and gives what is wrong.
fn proved(trace: &TraceId, proof: &Proof) -> Result<Vec<String>, Failure> {
    let mut faults = tell(trace, &proof.report)?;
    for head in &proof.heads {
        let said = &head.statement;
        let stands = match (&head.fault, head.witnessed) {
            (None, false) => "holds",
            (None, true) => "holds, witnessed",
            (Some(_), _) => "does not hold",
        };
        let line = format!("signed: event {} at {} by {}: {stands}", said.event, said.at, said.key);
        out(&one_line(&line))?;
    }
    faults.extend(proof.faults.iter().cloned());
    if proof.proven > 0 {
        let newer = match proof.newer() {
            0 => "nothing is newer".into(),
            1 => "1 event is newer, and not signed".into(),
            n => format!("{} events are newer, and not signed", number(n)),
        };
        out(&format!("as signed up to event {}; {newer}", proof.proven))?;
    }
    if !proof.erased.is_empty() {
        let erased = count(proof.erased.len() as u64, "signed event");
        let by: Vec<String> = proof.left_by.iter().map(EventId::to_string).collect();
        let left = match by.as_slice() {
            [] => String::new(),
            [one] => format!("; what stands in their places is from event {one}, which is not signed"),
            many => format!("; what stands in their places is from events {}, which are not signed", many.join(", ")),
        };
        out(&format!("{erased} erased: that they were there is proven, what they said is gone{left}"))?;
    }
    for fault in &faults {
        out(&format!("not proven: {}", one_line(fault)))?;
    }
    Ok(faults)
}
