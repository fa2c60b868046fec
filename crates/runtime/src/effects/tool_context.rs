//! What a running call is given: its workspace, its cage, the secrets that it may use, and whom it tells of what it does.

use crate::effects::context::EffectContext;
use crate::gate::facts::starts_processes;
use crate::gate::judge::{Gate, JudgeInput};
use crate::prompt::texts::offload;
use crate::secrets::{Granted, Vault};
use crate::stream::hub::{Announced, Handle, Live};
use crate::stream::pieces::Pieces;
use mainpath_core::{InputKind, Refusal};
use mainpath_policy::{BY_YES, Grant, judge_found};
use mainpath_sandbox::Cage;
use mainpath_store::{Scope, ScopedStore, Store};
use mainpath_tools::{
    BlobSink, Changing, FoundCheck, Fut, PatchDesk, RedirectCheck, SkillDesk, SkillDeskError, ToolContext,
};
use mainpath_types::{
    BlobHash, CallId, ChildPatch, Decision, Delta, FileChange, LoadedSkill, ResourceLoaded, SkillSelected, SkillTerms,
};
use std::io;
use std::sync::{Arc, OnceLock};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// A running call's view of its trace and of the machine.
pub(crate) fn tool_context(
    effect: &EffectContext,
    grant: Grant,
    cancel: CancellationToken,
    pieces: Arc<Pieces>,
    skills: Vec<LoadedSkill>,
) -> ToolContext {
    let call = grant.call();
    let EffectContext { shared, handle, scope, prepared, .. } = effect;
    let config = &shared.config;
    let workspace = Arc::clone(&prepared.workspace);
    // A secret that the spec names may be used: its variable is not hidden from processes.
    let secret = config.vault.hidden_variables();
    let hidden = secret.filter(|name| !prepared.secrets.iter().any(|allowed| name == allowed.as_str()));
    let launcher = config.launcher.clone().hide_env(hidden);
    // Policy was told that there is no sandbox, and a person or a rule has allowed the call all the same. `--yes` alone does not.
    let is_accepted = grant.rule() != BY_YES || launcher.may_run_open();
    let open = is_accepted && starts_processes(grant.effect()) && !launcher.support().can_confine();
    let mut context = ToolContext::new(workspace, grant, launcher);
    if open {
        context.cage = Cage::open();
    }
    context.cancel = cancel;
    context.trace = Some(effect.trace.clone());
    context.processes = Arc::clone(handle.processes());
    context.blobs =
        Arc::new(Blobs { store: Arc::clone(&config.store), scope: scope.clone(), vault: config.vault.clone() });
    context.secrets = Arc::new(Granted { vault: config.vault.clone(), allowed: prepared.secrets.clone() });
    let offering = Arc::clone(prepared);
    context.offered = Arc::new(move |tool, effect| offering.offers(tool, effect));
    let (told, vault) = (Arc::downgrade(handle), config.vault.clone());
    context.notice = Arc::new(move |text: &str| {
        if let Some(handle) = told.upgrade() {
            handle.tell(Live::Notice(vault.redact(text)));
        }
    });
    context.changing = announce_changes(effect, &context.grant);
    context.skills = Arc::new(Desk {
        handle: Arc::clone(handle),
        store: Arc::clone(&config.store),
        scope: scope.clone(),
        vault: config.vault.clone(),
        call,
        terms: prepared.skills.clone(),
        loaded: skills,
    });
    context.progress = Arc::new(move |piece: &str| {
        pieces.say(Delta::ToolOutput { call, text: piece.into() });
    });
    context
}

/// What the rules say of an address that an answer sends a call on to.
pub(crate) fn check_redirect(
    effect: &EffectContext,
    name: &str,
    arguments: &str,
    judged_by: Arc<JudgeInput>,
) -> RedirectCheck {
    let (shared, prepared) = (Arc::clone(&effect.shared), Arc::clone(&effect.prepared));
    let (name, arguments) = (name.to_string(), arguments.to_string());
    Arc::new(move |to| {
        Gate::of(&shared.config, &prepared, &judged_by).check_redirect(&name, &arguments, to).map_err(Into::into)
    })
}

/// What the rules say of a file that a call comes upon. The terms are made for the first file.
pub(crate) fn check_found(
    effect: &EffectContext,
    name: &str,
    arguments: &str,
    judged_by: Arc<JudgeInput>,
) -> FoundCheck {
    let (shared, prepared) = (Arc::clone(&effect.shared), Arc::clone(&effect.prepared));
    let (name, arguments) = (name.to_string(), arguments.to_string());
    let terms = OnceLock::new();
    let make = move || Gate::of(&shared.config, &prepared, &judged_by).into_terms(&name, &arguments);
    Arc::new(move |file| match terms.get_or_init(&make) {
        Some((rules, facts)) => judge_found(rules, facts, file),
        None => Decision::Deny,
    })
}

/// Has the driver put on record what a call is about to do to files.
fn announce_changes(effect: &EffectContext, grant: &Grant) -> Changing {
    let (handle, vault) = (Arc::clone(&effect.handle), effect.shared.config.vault.clone());
    let (call, attempt) = (grant.call(), grant.attempt());
    Arc::new(move |mut changes: Vec<FileChange>| {
        changes.iter_mut().for_each(|change| change.path = vault.redact(&change.path));
        let recorded = record(&handle, InputKind::KeepFiles { call, attempt, changes });
        Box::pin(async move { recorded.await.map_err(io::Error::other) })
    })
}

/// Why what a call does is not on record.
#[derive(Debug, thiserror::Error)]
enum Unrecorded {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("the log cannot be written")]
    NoAnswer,
}

impl From<Unrecorded> for SkillDeskError {
    fn from(error: Unrecorded) -> SkillDeskError {
        match error {
            Unrecorded::Refused(Refusal::SkillLoaded(skill)) => SkillDeskError::AlreadyLoaded(skill),
            error => SkillDeskError::Refused(error.into()),
        }
    }
}

/// Has the driver put something on record. Errors: why it cannot be.
fn record(handle: &Handle, what: InputKind) -> Fut<'static, Result<(), Unrecorded>> {
    let (recorded, answer) = oneshot::channel();
    handle.announce(Announced { what, recorded });
    Box::pin(async move { Ok(answer.await.map_err(|_| Unrecorded::NoAnswer)??) })
}

/// What a call knows of the trace's skills, and has put on record of them.
struct Desk {
    handle: Arc<Handle>,
    store: Arc<dyn Store>,
    scope: Scope,
    vault: Vault,
    call: CallId,
    terms: SkillTerms,
    loaded: Vec<LoadedSkill>,
}

impl SkillDesk for Desk {
    fn terms(&self) -> &SkillTerms {
        &self.terms
    }

    fn loaded(&self) -> &[LoadedSkill] {
        &self.loaded
    }

    fn select(&self, mut skill: SkillSelected) -> Fut<'_, Result<(), SkillDeskError>> {
        Box::pin(async move {
            skill.call = Some(self.call);
            self.vault.redact_parts(&mut skill.parts);
            skill.reason = self.vault.redact(&skill.reason);
            let store = ScopedStore::new(&*self.store, &self.scope);
            offload(store, &mut skill.parts).await.map_err(|error| SkillDeskError::Refused(error.into()))?;
            Ok(record(&self.handle, InputKind::SelectSkill(Box::new(skill))).await?)
        })
    }

    fn note_resource(&self, resource: ResourceLoaded) -> Fut<'_, Result<(), SkillDeskError>> {
        let recorded = record(&self.handle, InputKind::LoadResource(ResourceLoaded { call: self.call, ..resource }));
        Box::pin(async move { Ok(recorded.await?) })
    }
}

/// What agents have changed in copies, for a call.
pub(crate) fn patch_desk(effect: &EffectContext, known: Vec<ChildPatch>) -> Arc<dyn PatchDesk> {
    Arc::new(Patches { store: Arc::clone(&effect.shared.config.store), scope: effect.scope.clone(), known })
}

struct Patches {
    store: Arc<dyn Store>,
    scope: Scope,
    known: Vec<ChildPatch>,
}

impl PatchDesk for Patches {
    fn known(&self) -> &[ChildPatch] {
        &self.known
    }

    fn read(&self, patch: &BlobHash) -> Fut<'_, io::Result<Vec<u8>>> {
        let patch = patch.clone();
        Box::pin(async move { self.store.get_blob(&self.scope, &patch).await.map_err(io::Error::other) })
    }
}

struct Blobs {
    store: Arc<dyn Store>,
    scope: Scope,
    vault: Vault,
}

impl BlobSink for Blobs {
    fn put(&self, bytes: Vec<u8>) -> Fut<'_, io::Result<BlobHash>> {
        self.keep(self.vault.redact_bytes(bytes))
    }

    fn keep(&self, bytes: Vec<u8>) -> Fut<'_, io::Result<BlobHash>> {
        Box::pin(async move { self.store.put_blob(&self.scope, bytes).await.map_err(io::Error::other) })
    }
}
