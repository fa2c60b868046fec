//! `sandbox`.

use crate::bash::to_the_end;
use crate::{Fut, Tool, ToolContext, ToolDoc, Touches};
use mainpath_types::{Confinement, EffectClass, FileAccess, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU32;

/// Runs a command that can change nothing: the workspace is read-only, `/tmp` is its own and gone afterwards, and there is no
/// network. So it needs nobody's permission, whatever it does; where the machine cannot confine it, it is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sandbox;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxArgs {
    /// The command, as for `bash -c`.
    command: String,
    /// Seconds after which it is ended; 120 by default.
    timeout_s: Option<NonZeroU32>,
}

impl Tool for Sandbox {
    type Args = SandboxArgs;
    const NAME: &'static str = "sandbox";

    fn describe(&self) -> ToolDoc {
        let text = "Runs a bash command that can look at the workspace but change nothing: it may write to /tmp alone, which \
                    is gone afterwards, and has no network. It needs no permission, so use it to look, to compute and to try \
                    things out; use bash for what is to last.";
        ToolDoc::new(text, EffectClass::ReadOnly)
    }

    fn touches(&self, args: &SandboxArgs) -> Touches {
        Touches::running(args.command.clone())
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: SandboxArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            if ctx.cancel.is_cancelled() {
                return ctx.stopped();
            }
            let bounds = Confinement { files: FileAccess::ReadOnly, network: false };
            let cage = ctx.workspace.cage(bounds);
            let ctx = ToolContext { cage, ..ctx.clone() };
            to_the_end(&ctx, &args.command, args.timeout_s).await
        })
    }
}
