//! `write_text_file`.

use crate::kept::{keep, written};
use crate::words::count;
use crate::work::blocking;
use crate::{FileNow, Fut, ProbeAnswer, Problem, Tool, ToolContext, ToolDoc, Touches};
use mainpath_types::{EffectClass, FileChange, FileState, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::Read;

/// Writes a whole text file, in one step.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteTextFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteArgs {
    /// The file, relative to the workspace. Missing folders are made.
    path: String,
    /// The whole new content.
    content: String,
}

impl Tool for WriteTextFile {
    type Args = WriteArgs;
    const NAME: &'static str = "write_text_file";

    fn describe(&self) -> ToolDoc {
        let text = "Writes a text file of the workspace: creates it, or replaces its whole content. \
                    To change a part of a file use edit_text_file.";
        ToolDoc::new(text, EffectClass::LocalWrite).with_probe()
    }

    fn touches(&self, args: &WriteArgs) -> Touches {
        Touches::writing(&args.path)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: WriteArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move { write(ctx, args).await.unwrap_or_else(ToolOutput::from) })
    }

    fn probe<'a>(&'a self, ctx: &'a ToolContext, args: WriteArgs) -> Fut<'a, ProbeAnswer> {
        let (workspace, tag, place) = (ctx.workspace.clone(), ctx.grant.effect_id(), ctx.place(&args.path));
        let look = move || -> Result<ProbeAnswer, Problem> {
            let place = place?;
            workspace.clear_part(&place, &tag);
            let (file, stat) = match workspace.open(&place) {
                Ok(open) => open,
                Err(problem) if problem.code == "not_found" => return Ok(ProbeAnswer::NotDone),
                Err(_) => return Ok(ProbeAnswer::Unknown),
            };
            let mut content = Vec::new();
            let wanted = args.content.as_bytes();
            let same_size = u64::try_from(stat.st_size) == Ok(wanted.len() as u64);
            if !same_size {
                return Ok(ProbeAnswer::NotDone);
            }
            match file.take(wanted.len() as u64 + 1).read_to_end(&mut content) {
                Ok(_) if content == wanted => {
                    let path = place.relative().to_string_lossy().into_owned();
                    let after = written(wanted, stat.st_mode & 0o7777);
                    let changes = vec![FileChange { path, before: FileState::Unknown, after }];
                    Ok(ProbeAnswer::Done(ToolOutput { changes, ..report(&args, "Wrote") }))
                }
                Ok(_) => Ok(ProbeAnswer::NotDone),
                Err(_) => Ok(ProbeAnswer::Unknown),
            }
        };
        Box::pin(async move { blocking(look).await.unwrap_or_else(Err).unwrap_or(ProbeAnswer::Unknown) })
    }
}

async fn write(ctx: &ToolContext, args: WriteArgs) -> Result<ToolOutput, Problem> {
    let (workspace, tag, place) = (ctx.workspace.clone(), ctx.grant.effect_id(), ctx.place(&args.path)?);
    let (at, looked_at) = (workspace.clone(), place.clone());
    let now = blocking(move || at.look_at(&looked_at)).await??;
    let verb = if now == FileNow::Absent { "Created" } else { "Overwrote" };
    let mut change = keep(ctx, &place, now, args.content.as_bytes()).await?;
    let output = report(&args, verb);
    let write = move || -> Result<FileState, Problem> {
        let content = args.content.as_bytes();
        Ok(written(content, workspace.replace(&place, content, &tag)?))
    };
    change.after = blocking(write).await??;
    let changes = if change.after == change.before { vec![] } else { vec![change] };
    Ok(ToolOutput { changes, ..output })
}

fn report(args: &WriteArgs, verb: &str) -> ToolOutput {
    let lines = count(args.content.lines().count() as u64, "line");
    let bytes = count(args.content.len() as u64, "byte");
    let text = format!("{verb} {} ({lines}, {bytes}).", args.path);
    ToolOutput { title: Some(args.path.clone()), ..ToolOutput::text(text) }
}
