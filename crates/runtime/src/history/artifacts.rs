//! `artifacts/`: what calls have kept, as files under their names. A view like the others, but for its size: the files are copied
//! one by one, and those that are there are left. Copies, as somebody may change one, and a blob must stay what its hash says.

use mainpath_core::artifact_files;
use mainpath_store::{StoreError, TraceStore};
use mainpath_types::{Artifact, BlobHash, CallId, CallResolved, Event, EventKind};
use std::collections::{BTreeMap, BTreeSet};

/// An artifact and its view.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactFile<'a> {
    /// The call that kept it.
    pub call: CallId,
    /// What it is.
    pub artifact: &'a Artifact,
    /// The view's name: `artifacts/CALL/NAME`.
    pub file: String,
}

/// The artifacts of a log, in its order.
pub fn list(events: &[Event]) -> Vec<ArtifactFile<'_>> {
    let mut kept = Vec::new();
    for event in events {
        let EventKind::CallResolved(CallResolved { call, output: Some(output), .. }) = &event.kind else { continue };
        let files = artifact_files(*call, &output.artifacts);
        let one = |(artifact, file)| ArtifactFile { call: *call, artifact, file };
        kept.extend(output.artifacts.iter().zip(files).map(one));
    }
    kept
}

/// Puts the files that are missing beside the log. What is no longer kept has no file. Errors: one cannot be written.
pub(crate) async fn copy(trace: TraceStore<'_>, artifacts: &[ArtifactFile<'_>]) -> Result<(), StoreError> {
    if artifacts.is_empty() {
        return Ok(());
    }
    let there: BTreeSet<String> = trace.views().await?.into_iter().collect();
    for ArtifactFile { artifact, file, .. } in artifacts.iter().filter(|kept| !there.contains(&kept.file)) {
        match trace.scoped().get_blob(&artifact.hash).await {
            Ok(bytes) => trace.put_view(file, bytes).await?,
            Err(StoreError::NoBlob { .. } | StoreError::Damaged(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

/// The files that do not hold what their artifacts are, among these views.
pub(crate) async fn changed(trace: TraceStore<'_>, artifacts: &[ArtifactFile<'_>]) -> Result<Vec<String>, StoreError> {
    let known: BTreeMap<&str, &BlobHash> =
        artifacts.iter().map(|kept| (kept.file.as_str(), &kept.artifact.hash)).collect();
    let mut changed = Vec::new();
    for name in trace.views().await? {
        let Some(hash) = known.get(name.as_str()) else { continue };
        let Some(bytes) = trace.get_view(&name).await? else { continue };
        match trace.scoped().get_blob(hash).await {
            Ok(kept) if kept == bytes => {}
            Ok(_) => changed.push(name),
            // It cannot be told any more.
            Err(StoreError::NoBlob { .. } | StoreError::Damaged(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::{Resolution, ResolveCause, Seq, ToolOutput};

    fn log(calls: &[&[&str]]) -> Vec<Event> {
        let artifact = |name: &&str| Artifact {
            name: name.to_string(),
            hash: "0f".repeat(32).try_into().unwrap(),
            bytes: 1,
            media_type: "text/plain".into(),
        };
        let resolved = |(id, names): (u64, &&[&str])| {
            let artifacts = names.iter().map(artifact).collect();
            let call = CallId { seq: Seq(id as u32), index: 0 };
            let output = Some(ToolOutput { artifacts, ..ToolOutput::text("done") });
            let kind = CallResolved {
                call,
                attempt: 1,
                resolution: Resolution::Ok,
                cause: ResolveCause::Result,
                output,
                reason: None,
                by: None,
                tokens: 1,
                memory: None,
                repeated: 0,
                elapsed_ms: 0,
            };
            Event { id, ts: 0, turn: 0, mail: None, kind: kind.into() }
        };
        (1..).zip(calls).map(resolved).collect()
    }

    fn files(calls: &[&[&str]]) -> Vec<String> {
        list(&log(calls)).into_iter().map(|kept| kept.file).collect()
    }

    #[test]
    fn artifacts_have_files_under_their_names_and_none_takes_another_s() {
        let told = files(&[&["stdout", "report.md", "stdout"], &["Stdout", "stdout", "2-stdout"], &["stdout"]]);
        let names = ["stdout", "report.md", "2-stdout"].map(|name| format!("artifacts/1.0/{name}"));
        let others = ["Stdout", "2-stdout", "2-2-stdout"].map(|name| format!("artifacts/2.0/{name}"));
        assert_eq!(told, [&names[..], &others, &["artifacts/3.0/stdout".into()]].concat());
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let long = "x".repeat(500);
        let hostile = ["../x", "..", "/etc/passwd", ".ssh/id", "a\0b", "a/../../b", "", "\\..\\x", "é\u{202e}", &long];
        let names = ["_x", "artifact", "_etc_passwd", "ssh_id", "a_b", "a_.._.._b", "2-artifact", "_.._x", "__"];
        let mut names: Vec<String> = names.iter().map(|name| format!("artifacts/1.0/{name}")).collect();
        names.push(format!("artifacts/1.0/{}", "x".repeat(120)));
        assert_eq!(files(&[&hostile]), names);
    }
}
