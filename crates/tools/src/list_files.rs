//! `list_files`.

use crate::unread::shown;
use crate::walk::{Walk, Watch};
use crate::words::count;
use crate::work::blocking;
use crate::workspace::{Entry, Place};
use crate::{FoundCheck, Fut, Problem, Tool, ToolContext, ToolDoc, Touches, Workspace};
use mainpath_types::{EffectClass, ToolOutput};
use rustix::fs::{AtFlags, FileType};
use schemars::JsonSchema;
use serde::Deserialize;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

/// Names shown at most.
const NAMES: usize = 1_000;

/// Lists one folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListFiles;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFilesArgs {
    /// The folder, relative to the workspace; the workspace itself by default.
    path: Option<String>,
}

impl Tool for ListFiles {
    type Args = ListFilesArgs;
    const NAME: &'static str = "list_files";

    fn describe(&self) -> ToolDoc {
        let text = "Lists one folder of the workspace: folders end in /, files have their size in bytes, links their target. \
                    Hidden names and those that .gitignore or .ignore name are counted but not shown.";
        ToolDoc::new(text, EffectClass::ReadOnly)
    }

    fn touches(&self, args: &ListFilesArgs) -> Touches {
        Touches::reading(args.path.as_deref().unwrap_or("."))
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: ListFilesArgs) -> Fut<'a, ToolOutput> {
        let (workspace, watch) = (ctx.workspace.clone(), Watch::new(ctx.cancel.clone()));
        let place = ctx.place(args.path.as_deref().unwrap_or("."));
        let check = ctx.check_found.clone();
        let work = move || list(&workspace, &place?, watch, check);
        Box::pin(async move { blocking(work).await.unwrap_or_else(Err).unwrap_or_else(ToolOutput::from) })
    }
}

fn list(workspace: &Workspace, place: &Place, watch: Watch, check: FoundCheck) -> Result<ToolOutput, Problem> {
    let (entries, left_out, mut notes) = Walk::begin(workspace, place, watch)?.naming(check).first_folder();
    let folder = workspace.folder(place).map_err(|error| workspace.failed(place, error))?;
    let mut text = String::new();
    for entry in entries.iter().take(NAMES) {
        text.push_str(&line(&folder, entry));
        text.push('\n');
    }
    if let Some(more) = entries.len().checked_sub(NAMES).filter(|more| *more > 0) {
        let more = count(more as u64, "name");
        notes.insert(0, format!("… and {more} more; narrow it with glob"));
    }
    if left_out > 0 {
        notes.push(format!("{} hidden or ignored", count(left_out, "name")));
    }
    if entries.is_empty() && notes.is_empty() {
        notes.push("the folder is empty".into());
    }
    notes.iter().for_each(|note| text.push_str(&format!("[{note}]\n")));
    let (path, names) = (&place.path, count(entries.len() as u64, "name"));
    let remember = format!("Listed {path}: {names}; list it again if its names are needed.");
    let title = Some(path.clone());
    Ok(ToolOutput { title, long_term_memory: Some(remember), ..ToolOutput::text(text.trim_end()) })
}

fn line(folder: &OwnedFd, entry: &Entry) -> String {
    let name = shown(&entry.name);
    match entry.kind {
        FileType::Directory => format!("{name}/"),
        FileType::Symlink => match rustix::fs::readlinkat(folder, &entry.name, Vec::new()) {
            Ok(target) => format!("{name} -> {}", shown(OsStr::from_bytes(target.to_bytes()))),
            Err(_) => format!("{name} -> ?"),
        },
        FileType::RegularFile => match rustix::fs::statat(folder, &entry.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => format!("{name} ({})", stat.st_size),
            Err(_) => name,
        },
        _ => format!("{name} (a device, pipe or socket)"),
    }
}
