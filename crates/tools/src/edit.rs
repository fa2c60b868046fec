//! `edit_text_file`.

use crate::kept::{keep, written};
use crate::matching::{Edit, apply, places};
use crate::words::count;
use crate::work::blocking;
use crate::workspace::Place;
use crate::{FileNow, Fut, ProbeAnswer, Problem, Tool, ToolContext, ToolDoc, Touches, Workspace};
use mainpath_types::{EffectClass, FileChange, FileState, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::Read;

/// Larger files are not edited.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Characters of the diff that are shown at most.
const DIFF_CHARS: usize = 8_000;

/// Replaces texts in a file. Every old text is looked for in the file as it was before the call and must occur there
/// exactly once; the places must not overlap; either all edits are made or none.
///
/// In a file whose lines all end in CR LF, line breaks of the edits are taken as CR LF, however they are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct EditTextFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditArgs {
    /// The file, relative to the workspace.
    path: String,
    /// The replacements, all made at once.
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
}

impl Tool for EditTextFile {
    type Args = EditArgs;
    const NAME: &'static str = "edit_text_file";

    fn describe(&self) -> ToolDoc {
        let text = "Replaces texts in a text file of the workspace. Each old_text must occur exactly once in the file as it \
                    is now, white space included; edits must not overlap. Either all edits are made or none.";
        ToolDoc::new(text, EffectClass::LocalWrite).with_probe()
    }

    fn touches(&self, args: &EditArgs) -> Touches {
        Touches::writing(&args.path)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: EditArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move { edit(ctx, args).await.unwrap_or_else(ToolOutput::from) })
    }

    fn probe<'a>(&'a self, ctx: &'a ToolContext, args: EditArgs) -> Fut<'a, ProbeAnswer> {
        let (workspace, tag, place) = (ctx.workspace.clone(), ctx.grant.effect_id(), ctx.place(&args.path));
        let look = move || -> Result<ProbeAnswer, Problem> {
            let place = place?;
            workspace.clear_part(&place, &tag);
            let (text, mode) = load(&workspace, &place)?;
            let edits = in_line_ends_of(&text, &args.edits);
            Ok(match judge(&text, &edits) {
                Some(true) => {
                    let path = place.relative().to_string_lossy().into_owned();
                    let after = written(text.as_bytes(), mode);
                    let changes = vec![FileChange { path, before: FileState::Unknown, after }];
                    let text = format!("Made {} in {}.", count(edits.len() as u64, "edit"), args.path);
                    let title = Some(args.path.clone());
                    ProbeAnswer::Done(ToolOutput { title, changes, ..ToolOutput::text(text) })
                }
                Some(false) => ProbeAnswer::NotDone,
                None => ProbeAnswer::Unknown,
            })
        };
        Box::pin(async move { blocking(look).await.unwrap_or_else(Err).unwrap_or(ProbeAnswer::Unknown) })
    }
}

async fn edit(ctx: &ToolContext, args: EditArgs) -> Result<ToolOutput, Problem> {
    let (workspace, tag, secrets) = (ctx.workspace.clone(), ctx.grant.effect_id(), ctx.secrets.clone());
    let (at, place) = (workspace.clone(), ctx.place(&args.path)?);
    let work = move || -> Result<_, Problem> {
        let (old, mode) = load(&at, &place)?;
        let redact = |text: &str| secrets.redact(text);
        let new = apply(&args.path, &old, &in_line_ends_of(&old, &args.edits), &redact)?;
        let made = count(args.edits.len() as u64, "edit");
        let text = format!("Made {made} in {}.\n{}", args.path, diff(&old, &new));
        let output = ToolOutput { title: Some(args.path), ..ToolOutput::text(text) };
        Ok((place, FileNow::File { content: old.into_bytes(), mode }, new, output))
    };
    let (place, now, new, output) = blocking(work).await??;
    let mut change = keep(ctx, &place, now, new.as_bytes()).await?;
    let write = move || -> Result<FileState, Problem> {
        Ok(written(new.as_bytes(), workspace.replace(&place, new.as_bytes(), &tag)?))
    };
    change.after = blocking(write).await??;
    let changes = if change.after == change.before { vec![] } else { vec![change] };
    Ok(ToolOutput { changes, ..output })
}

/// Whether a file shows that the edits were made, as far as it can be told for certain.
fn judge(text: &str, edits: &[Edit]) -> Option<bool> {
    // What a problem would quote is not shown.
    let plain = |text: &str| text.to_string();
    let none_left = edits.iter().all(|edit| !text.contains(&edit.old_text));
    if none_left {
        let back: Vec<Edit> = edits
            .iter()
            .map(|edit| Edit { old_text: edit.new_text.clone(), new_text: edit.old_text.clone() })
            .collect();
        let before = apply("", text, &back, &plain).ok()?;
        return (apply("", &before, edits, &plain).ok()? == text).then_some(true);
    }
    apply("", text, edits, &plain).ok()?;
    // All edits would fit. They were not made if a text that they would have left is missing …
    if edits.iter().any(|edit| !edit.new_text.is_empty() && !text.contains(&edit.new_text)) {
        return Some(false);
    }
    // … or if an old text lies apart from everything that they could have left: then it has lain there before, as the
    // one place that would have been replaced. A deletion leaves nothing to lie apart from.
    if edits.iter().any(|edit| edit.new_text.is_empty()) {
        return None;
    }
    const MANY: usize = 1_000;
    let mut left = Vec::new();
    for edit in edits {
        let places = places(text, &edit.new_text, MANY);
        if places.len() == MANY {
            return None;
        }
        left.extend(places.into_iter().map(|at| (at, at + edit.new_text.len())));
    }
    let apart = |edit: &Edit| {
        let at = text.find(&edit.old_text)?;
        let end = at + edit.old_text.len();
        left.iter().all(|(from, to)| *to <= at || end <= *from).then_some(())
    };
    edits.iter().any(|edit| apart(edit).is_some()).then_some(false)
}

/// The text of a file, and its mode bits.
fn load(workspace: &Workspace, place: &Place) -> Result<(String, u32), Problem> {
    let (file, stat) = workspace.open(place)?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Problem::new("io", format!("{:?} cannot be read: {error}.", place.path)))?;
    if bytes.len() as u64 > MAX_BYTES {
        let text = format!("{:?} is larger than 16 MiB; change it with a program instead.", place.path);
        return Err(Problem::new("too_large", text));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::new("not_utf8", format!("{:?} is not UTF-8 text (at byte {at}), so it is not edited.", place.path))
    })?;
    Ok((text, stat.st_mode & 0o7777))
}

/// The edits with CR LF for line breaks, if that is what all lines of the file end in.
fn in_line_ends_of(text: &str, edits: &[Edit]) -> Vec<Edit> {
    let breaks = text.matches('\n').count();
    if breaks == 0 || text.matches("\r\n").count() != breaks {
        return edits.to_vec();
    }
    let convert = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    let convert = |edit: &Edit| Edit { old_text: convert(&edit.old_text), new_text: convert(&edit.new_text) };
    edits.iter().map(convert).collect()
}

/// What changed, as a unified diff with little context.
fn diff(old: &str, new: &str) -> String {
    let diff = similar::TextDiff::configure().timeout(std::time::Duration::from_secs(1)).diff_lines(old, new);
    let text = diff.unified_diff().context_radius(2).missing_newline_hint(false).to_string();
    let text = text.trim_end_matches('\n');
    match text.char_indices().nth(DIFF_CHARS) {
        Some((at, _)) => format!("{}\n[… the rest of the diff is left out]", &text[..at]),
        None => text.into(),
    }
}
