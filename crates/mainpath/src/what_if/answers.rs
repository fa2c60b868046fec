//! What calls may do in a run that is decided again: work in the copy of the folder, and reach nobody.

use mainpath_tools::{Answers, AskedCall, Fut, ToolContext};
use mainpath_types::{EffectClass, FileAccess, ToolOutput};
use std::sync::atomic::{AtomicU32, Ordering};

/// The error of a call that was refused.
pub(crate) const REFUSED: &str = "refused";

/// Refuses what reaches out of the copy. Everything else runs there.
#[derive(Default)]
pub(crate) struct OnlyInCopy {
    /// Whether calls may reach others.
    pub live: bool,
    /// How many calls were refused.
    pub refused: AtomicU32,
}

impl Answers for OnlyInCopy {
    fn answer<'a>(&'a self, ctx: &'a ToolContext, call: AskedCall<'a>) -> Fut<'a, Option<ToolOutput>> {
        let why = self.refusal(ctx, call);
        Box::pin(async move {
            let why = why?;
            self.refused.fetch_add(1, Ordering::Relaxed);
            Some(ToolOutput::failed(REFUSED, format!("{} {why}; nothing was run.", call.tool)))
        })
    }
}

impl OnlyInCopy {
    /// Why a call is not made; `None`: it is.
    fn refusal(&self, ctx: &ToolContext, call: AskedCall<'_>) -> Option<&'static str> {
        let confinement = ctx.grant.confinement();
        let reaches = call.origin.is_foreign() && !self.live;
        match call.effect {
            _ if reaches => Some("reaches others, which this fork may not (--live)"),
            EffectClass::ReadOnly => None,
            EffectClass::LocalWrite | EffectClass::Idempotent => {
                let path = call.arguments.get("path").and_then(|path| path.as_str());
                let inside = path.and_then(|path| ctx.workspace.resolve(path).ok()).is_some_and(|at| at.in_workspace);
                (!inside).then_some("changes something outside the copy of the folder")
            }
            EffectClass::ProcessControl if confinement.files == FileAccess::Full => {
                Some("would run unconfined, and so reach out of the copy of the folder")
            }
            EffectClass::ProcessControl if confinement.network && !self.live => {
                Some("would have a network, which this fork may not (--live)")
            }
            EffectClass::ProcessControl => None,
            EffectClass::MessageSend
            | EffectClass::UiControl
            | EffectClass::AskPerson
            | EffectClass::StartChild
            | EffectClass::SideEffecting => (!self.live).then_some("reaches others, which this fork may not (--live)"),
        }
    }
}
