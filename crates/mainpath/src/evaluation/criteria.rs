//! What a suite asks of each run, with the hash of each thing: by that a result is known again.

use super::scores::ScoreKind;
use super::suite::{Suite, SuiteCheck, SuiteGrader};
use mainpath_store::open_regular;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Raised when a check comes to something else though it says the same.
const CHECKS: u32 = 2;

/// A check or a grader of a suite.
pub(super) struct Criterion<'a> {
    pub kind: ScoreKind,
    pub name: &'a str,
    pub hash: String,
    /// The share of runs that must pass it.
    pub wanted: f64,
    pub what: Asked<'a>,
}

/// What is asked.
#[derive(Clone, Copy)]
pub(super) enum Asked<'a> {
    Check(&'a SuiteCheck),
    Grader(&'a SuiteGrader),
}

/// All that a suite asks. `folder`: where its commands run; `version`: that of a grader of the host's own.
pub(super) fn criteria<'a>(suite: &'a Suite, folder: &Path, version: &dyn Fn(&str) -> String) -> Vec<Criterion<'a>> {
    let all = suite.pass.unwrap_or(1.0);
    let checks = suite.checks.iter().map(|check| Criterion {
        kind: ScoreKind::Check,
        name: &check.name,
        hash: check_hash(check),
        wanted: check.pass.unwrap_or(all),
        what: Asked::Check(check),
    });
    let graders = suite.graders.iter().map(|grader| Criterion {
        kind: ScoreKind::Grader,
        name: &grader.name,
        hash: grader_hash(grader, folder, version),
        wanted: grader.pass.unwrap_or(all),
        what: Asked::Grader(grader),
    });
    checks.chain(graders).collect()
}

/// The hash of a suite with all that its commands name.
pub(super) fn suite_hash(suite: &Suite, folder: &Path) -> String {
    let runs = format!("{:?}", suite.runs);
    let hashes = criteria(suite, folder, &|_| String::new());
    let all: Vec<Value> = hashes.iter().map(|one| json!([one.name, one.hash, one.wanted])).collect();
    let enough: Vec<Value> = suite
        .graders
        .iter()
        .map(|grader| json!([grader.least, grader.mean, grader.timeout, grader.max_cost]))
        .collect();
    hash(&json!({"runs": runs, "criteria": all, "enough": enough}))
}

fn check_hash(check: &SuiteCheck) -> String {
    hash(&json!({"checks": CHECKS, "check": check}))
}

/// What a grader grades by: not how long it may take, nor what is enough.
fn grader_hash(grader: &SuiteGrader, folder: &Path, version: &dyn Fn(&str) -> String) -> String {
    let files: Vec<Value> = grader.command.iter().filter_map(|word| file_hash(&folder.join(word))).collect();
    hash(&json!({
        "name": grader.name,
        "command": grader.command,
        "files": files,
        "env": format!("{:?}", grader.env),
        "url": grader.url.as_ref().map(|url| url.url().as_str()),
        "headers": format!("{:?}", grader.headers),
        "model": grader.model,
        "rubric": grader.rubric,
        "told": grader.model.as_ref().map(|_| super::model::TOLD),
        "host": grader.host.as_deref().map(|name| json!([name, version(name)])),
    }))
}

/// What a file says that a command names; `None`: there is none.
fn file_hash(file: &Path) -> Option<Value> {
    let (mut open, mut hasher) = (open_regular(file).ok()?, Sha256::new());
    std::io::copy(&mut open, &mut hasher).ok()?;
    Some(hex(&hasher.finalize()).into())
}

fn hash(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
