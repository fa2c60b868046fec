//! What an effect needs of its surroundings.

use crate::effects::hooks::{HookFolders, TraceHooks};
use crate::prepared::Prepared;
use crate::shared::Shared;
use crate::stream::hub::Handle;
use crate::stream::notices::Notices;
use mainpath_store::{Scope, ScopedStore};
use mainpath_types::{Principal, TraceId};
use std::sync::Arc;

/// What an effect needs of its surroundings.
#[derive(Clone)]
pub(crate) struct EffectContext {
    pub shared: Arc<Shared>,
    pub handle: Arc<Handle>,
    pub scope: Scope,
    pub trace: TraceId,
    pub prepared: Arc<Prepared>,
}

impl EffectContext {
    /// The store, as the trace uses it.
    pub fn store(&self) -> ScopedStore<'_> {
        ScopedStore::new(&*self.shared.config.store, &self.scope)
    }

    /// Returns the scope in which the trace sends mail to its children: the sender is the parent, not a user.
    pub fn as_parent(&self) -> Scope {
        Scope { tenant: self.scope.tenant.clone(), principal: Principal::agent(self.trace.as_str()) }
    }

    /// Tells watchers of the trace.
    pub fn notices(&self) -> Notices<'_> {
        Notices { handle: &self.handle, vault: &self.shared.config.vault }
    }

    /// The hooks, as the trace calls them.
    pub fn hooks(&self) -> TraceHooks<'_> {
        TraceHooks {
            hooks: &self.shared.config.hooks,
            trace: &self.trace,
            folders: HookFolders::of(&self.prepared.workspace),
            notices: self.notices(),
            cancel: None,
        }
    }
}
