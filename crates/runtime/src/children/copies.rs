//! Children that work in copies of their parent's workspace: whether there can be one, what was changed in it, and its end.

use crate::children::worktree::{Changes, Place, Problem, Repository, collect, make as make_worktree, remove};
use crate::children::{ChildError, ChildFolder};
use crate::effects::context::EffectContext;
use crate::stream::hub::Live;
use mainpath_core::{Child, ChildEnded, InputKind};
use mainpath_tools::Git;
use mainpath_types::{ChildPlace, Copied, HandedBack, Spec, TraceId};

/// What a child in a copy is told before its task.
pub(crate) const TOLD: &str = "You work in a copy of the folder, made for this task, without the files that git ignores. What you change \
                               in it is handed back as a patch; you cannot commit there.";

/// Why no copy of the parent's workspace can be made; `None` if one can.
pub(crate) async fn problem(context: &EffectContext) -> Option<String> {
    if context.shared.config.worktrees.is_none() {
        return Some(NO_PLACE.into());
    }
    let found = Repository::find(&git(context), context.prepared.workspace.root()).await;
    found.err().map(|problem| in_line(context, &problem))
}

const NO_PLACE: &str = "there is no place for copies";

/// Whether there is a copy of a child that was kept, as what was changed in it could not be handed back.
pub(crate) async fn is_kept(context: &EffectContext, child: &TraceId) -> bool {
    let place = context.shared.config.worktrees.as_ref().map(|worktrees| worktrees.of(child));
    let Some(place) = place else { return false };
    // One whose folder is gone is nothing to go on in.
    place.is_there().await && matches!(place.read().await, Ok(Some(record)) if record.kept)
}

/// Makes the copy of a child, or finds it again. Errors: there can be none.
pub(crate) async fn make(context: &EffectContext, child: &Child, parent: &Spec) -> Result<ChildFolder, ChildError> {
    let wrong = |why| ChildError::NoCopy { why };
    let place = place_of(context, child).ok_or_else(|| wrong(NO_PLACE.into()))?;
    let root = context.prepared.workspace.root();
    let made = make_worktree(&git(context), &place, root).await;
    let record = made.map_err(|problem| wrong(in_line(context, &problem)))?;
    // What is seen of a repository there is seen here.
    let known = parent.copy.as_ref().and_then(|copy| copy.repository.as_deref());
    let repository = record.common.to_str().filter(|common| record.common.starts_with(root) || known == Some(common));
    let workspace = place.workspace(&record).display().to_string();
    let copy = Copied { of: parent.source().into(), repository: repository.map(String::from) };
    Ok(ChildFolder { workspace, copy })
}

/// What a child came to, with what it changed in its copy. Where that cannot be told, the copy stays and is named.
pub(crate) async fn with_changes(context: &EffectContext, child: &Child, came_to: InputKind) -> InputKind {
    let (InputKind::ChildEnded(ended), Some(place)) = (&came_to, place_of(context, child)) else { return came_to };
    let handed = match changes(context, &place).await {
        Ok(None) => return came_to,
        Ok(Some(handed)) => HandedBack { patch: handed.patch, files: handed.files, ..ended.handed.clone() },
        Err(problem) => {
            let is_there = place.is_there().await;
            let lost = kept(&in_line(context, &problem), Some(&place).filter(|_| is_there), child.trace.as_ref());
            let problem = ended.handed.problem.iter().cloned().chain([lost]).collect::<Vec<_>>().join("; ");
            HandedBack { problem: Some(problem), ..ended.handed.clone() }
        }
    };
    InputKind::ChildEnded(ChildEnded { handed, ..ended.clone() })
}

/// That changes cannot be handed back, why, and what to do about the copy if it is there: for the parent's model and for people.
fn kept(why: &str, place: Option<&Place>, child: Option<&TraceId>) -> String {
    let lost = format!("its changes cannot be handed back, because {why}");
    let (Some(place), Some(child)) = (place, child) else { return lost };
    let tree = place.tree.display();
    format!(
        "{lost}. They are kept in {tree}. Once that is removed or renamed there, continue it (continue_from), and they are handed back; \
         `mainpath rm {child}` removes the folder"
    )
}

/// The patch and its files, durable; `None` where there is no copy. Errors: they cannot be told, and the copy is kept.
async fn changes(context: &EffectContext, place: &Place) -> Result<Option<HandedBack>, Problem> {
    let Some(mut record) = place.read().await? else { return Ok(None) };
    let stored = async {
        let Changes { patch, files } = collect(&git(context), place, &record).await?;
        let patch = match patch.is_empty() {
            true => None,
            false => Some(context.store().put_blob(patch).await.map_err(std::io::Error::other)?),
        };
        Ok(Some(HandedBack { patch, files, ..HandedBack::default() }))
    };
    let stored = stored.await;
    if stored.is_err() {
        record.kept = true;
        place.write(&record).await?;
    }
    stored
}

/// Removes the copies of children whose changes were handed back. What cannot be removed is told, and nobody waits for it.
pub(crate) async fn clear(context: &EffectContext, children: Vec<Child>) {
    for child in children {
        let Some(place) = place_of(context, &child) else { continue };
        if let Err(problem) = remove(&place).await {
            let (tree, why) = (place.tree.display(), in_line(context, &problem));
            context.handle.tell(Live::Notice(format!("the copy {tree} is left over: {why}")));
        }
    }
}

fn place_of(context: &EffectContext, child: &Child) -> Option<Place> {
    let trace: &TraceId = child.trace.as_ref().filter(|_| child.place == ChildPlace::Own)?;
    context.shared.config.worktrees.as_ref().map(|worktrees| worktrees.of(trace))
}

fn git(context: &EffectContext) -> Git {
    let config = &context.shared.config;
    let secrets = config.vault.hidden_variables();
    Git::new(&config.launcher, "worktree", secrets)
}

fn in_line(context: &EffectContext, problem: &Problem) -> String {
    context.shared.config.vault.redact(&problem.to_string().replace('\n', " "))
}
