//! What a call does to files that it does not name: they are looked at before and after it.

use crate::effects::context::EffectContext;
use crate::gate::facts::starts_processes;
use crate::stream::hub::Live;
use mainpath_tools::{MOST_CHANGES, Snapshot, ToolContext};
use mainpath_types::{EffectClass, FileChange};
use std::sync::PoisonError;
use tokio_util::sync::CancellationToken;

/// Whether a call may change files that it does not name. Those that only write what they name say so themselves.
pub(crate) fn may_change_any_file(name: &str, effect: EffectClass) -> bool {
    let says_so = matches!(name, "write_text_file" | "edit_text_file" | "take_changes");
    !says_so && (starts_processes(effect) || effect == EffectClass::LocalWrite)
}

/// Keeps all files as they are now.
pub(crate) async fn look_before(effect: &EffectContext, context: &ToolContext) -> Snapshot {
    let known = effect.handle.snapshot.lock().unwrap_or_else(PoisonError::into_inner).take();
    let taken = Snapshot::take(
        &context.workspace,
        known.map_or_else(Snapshot::default, |known| *known),
        Some(&*context.blobs),
        &context.cancel,
    )
    .await;
    for note in &taken.notes {
        effect.handle.tell(Live::Notice(format!("before this call: {note}")));
    }
    taken
}

/// What became of the files since. Also of a call that was ended: what it did until then stays done.
pub(crate) async fn look_after(effect: &EffectContext, context: &ToolContext, before: Snapshot) -> Vec<FileChange> {
    let after = Snapshot::take(&context.workspace, before.clone(), None, &CancellationToken::new()).await;
    let changes = before.changes(&after, &context.workspace);
    if changes.len() == MOST_CHANGES {
        let note = format!("more than {MOST_CHANGES} files were changed; only so many can be put back");
        effect.handle.tell(Live::Notice(note));
    }
    *effect.handle.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(after));
    changes
}
