//! `take_changes`: puts what an agent has changed in a copy of the folder into the folder.

use crate::patched::{Patched, PatchedFile, try_patch, write_patched};
use crate::words::count;
use crate::work::blocking;
use crate::{FileNow, Fut, Git, ProbeAnswer, Problem, Scene, Tool, ToolContext, ToolDoc, Touched, Touches};
use mainpath_sandbox::secret_variables;
use mainpath_types::{ChildPatch, EffectClass, FileChange, MOST_KEPT, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io;

/// Takes the changes of an agent that worked in a copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct TakeChanges;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeArgs {
    /// The sub_trace_id of the agent.
    sub_trace_id: String,
}

impl Tool for TakeChanges {
    type Args = TakeArgs;
    const NAME: &'static str = "take_changes";

    fn describe(&self) -> ToolDoc {
        let text = "Puts the changes of an agent that worked in a copy of your folder into your folder: all of them, or none where they do \
                    not fit.";
        ToolDoc::new(text, EffectClass::LocalWrite).with_probe()
    }

    fn touches_in(&self, args: &TakeArgs, scene: &Scene<'_>) -> Result<Touches, Problem> {
        let files = &find(scene.patches, args)?.files;
        let paths = files.iter().map(|path| Touched { path: path.clone(), write: true }).collect();
        Ok(Touches { paths, ..Touches::default() })
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: TakeArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move { take(ctx, &args).await.unwrap_or_else(ToolOutput::from) })
    }

    fn probe<'a>(&'a self, ctx: &'a ToolContext, args: TakeArgs) -> Fut<'a, ProbeAnswer> {
        Box::pin(async move {
            match tried(ctx, &args).await {
                Ok((patch, Patched::Already)) => ProbeAnswer::Done(report(patch)),
                Ok((_, Patched::Fits(_))) => ProbeAnswer::NotDone,
                Ok((_, Patched::Conflicts(_))) | Err(_) => ProbeAnswer::Unknown,
            }
        })
    }
}

fn find<'a>(patches: &'a [ChildPatch], args: &TakeArgs) -> Result<&'a ChildPatch, Problem> {
    let id = &args.sub_trace_id;
    patches.iter().find(|patch| patch.child.as_str() == id).ok_or_else(|| {
        let text = match patches.is_empty() {
            true => "no agent has handed back changes that could be taken".to_string(),
            false => {
                let known: Vec<&str> = patches.iter().map(|patch| patch.child.as_str()).collect();
                format!("the agents with changes are: {}", known.join(", "))
            }
        };
        Problem::new("unknown_agent", format!("There are no changes of {id:?} to take; {text}."))
    })
}

async fn tried<'a>(ctx: &'a ToolContext, args: &TakeArgs) -> Result<(&'a ChildPatch, Patched), Problem> {
    let known = find(ctx.patches.known(), args)?;
    known.files.iter().try_for_each(|file| ctx.place(file).map(drop))?;
    let read = ctx.patches.read(&known.patch).await;
    let patch = read.map_err(|error| Problem::new("io", format!("The changes cannot be read: {error}.")))?;
    let git = Git::new(&ctx.launcher, ctx.grant.effect_id(), secret_variables());
    Ok((known, try_patch(&git, &ctx.workspace, &patch, &known.files).await?))
}

async fn take(ctx: &ToolContext, args: &TakeArgs) -> Result<ToolOutput, Problem> {
    let (known, patched) = tried(ctx, args).await?;
    let files = match patched {
        Patched::Fits(files) => files,
        Patched::Already => {
            return Ok(ToolOutput::text("These changes are in your folder already; nothing was changed."));
        }
        Patched::Conflicts(names) => {
            let text = format!(
                "These changes do not fit these files as they are now: {}. Nothing was changed. Change the files yourself, or continue the \
                 agent: it then begins with what the folder holds now.",
                names.join(", ")
            );
            return Ok(ToolOutput::failed("conflict", text));
        }
    };
    let refused = |error: io::Error| {
        Problem::new("io", format!("Nothing was changed, as what the files hold now cannot be kept: {error}."))
    };
    let mut changes = Vec::new();
    for PatchedFile { path, before, after } in &files {
        changes.push(FileChange { path: path.clone(), before: before.state(), after: after.state() });
        if let Some(content) = before.clone().into_content() {
            ctx.blobs.keep(content).await.map_err(refused)?;
        }
        if let FileNow::File { content, .. } = after
            && content.len() as u64 <= MOST_KEPT
        {
            ctx.blobs.keep(content.clone()).await.map_err(refused)?;
        }
    }
    (ctx.changing)(changes.clone()).await.map_err(refused)?;
    let (workspace, tag) = (ctx.workspace.clone(), ctx.grant.effect_id());
    blocking(move || write_patched(&workspace, &files, &tag)).await??;
    Ok(ToolOutput { changes, ..report(known) })
}

fn report(patch: &ChildPatch) -> ToolOutput {
    let text = format!("Took the changes of {}: {}.", patch.child, patch.files.join(", "));
    ToolOutput { title: Some(count(patch.files.len() as u64, "file")), ..ToolOutput::text(text) }
}
