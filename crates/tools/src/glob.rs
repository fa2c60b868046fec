//! `glob`.

use crate::output::SHOWN;
use crate::unread::shown;
use crate::walk::{Choice, Over, Walk, Watch, late};
use crate::words::count;
use crate::work::blocking;
use crate::workspace::Place;
use crate::{FoundCheck, Fut, Problem, Tool, ToolContext, ToolDoc, Touches, Workspace};
use mainpath_types::{EffectClass, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

/// Paths shown at most.
const PATHS: u64 = 1_000;

/// Finds files by the pattern of their paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Glob;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobArgs {
    /// A pattern as in .gitignore, such as `*.rs` (anywhere), `src/**/*.ts` (from `path` on) or `!*.lock` (all others).
    pattern: String,
    /// The folder to look in, relative to the workspace; the whole workspace by default.
    path: Option<String>,
}

impl Tool for Glob {
    type Args = GlobArgs;
    const NAME: &'static str = "glob";

    fn describe(&self) -> ToolDoc {
        let text = "Finds files of the workspace by a pattern of their paths; shows up to 1000 paths, sorted. Hidden files and \
                    what .gitignore or .ignore name are left out: to look into such a folder, give it as `path`. Links are \
                    not followed.";
        ToolDoc::new(text, EffectClass::ReadOnly)
    }

    fn touches(&self, args: &GlobArgs) -> Touches {
        Touches::reading(args.path.as_deref().unwrap_or("."))
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: GlobArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let (workspace, watch) = (ctx.workspace.clone(), Watch::new(ctx.cancel.clone()));
            let place = ctx.place(args.path.as_deref().unwrap_or("."));
            let check = ctx.check_found.clone();
            match blocking(move || find(&workspace, &place?, &args, watch, check)).await.unwrap_or_else(Err) {
                Ok(Some(output)) => output,
                Ok(None) => ctx.stopped(),
                Err(problem) => problem.into(),
            }
        })
    }
}

/// `None`: stopped.
fn find(
    workspace: &Workspace,
    place: &Place,
    args: &GlobArgs,
    watch: Watch,
    check: FoundCheck,
) -> Result<Option<ToolOutput>, Problem> {
    let choice = Choice::new(&args.pattern, place, Glob::NAME, "pattern")?;
    let mut walk = Walk::begin(workspace, place, watch)?.choosing(Some(choice)).naming(check);
    let (mut text, mut found, mut more, mut notes) = (String::new(), 0, 0, Vec::new());
    loop {
        let file = match walk.next_file() {
            Ok(Some(file)) => file,
            Ok(None) => break,
            Err(Over::Stopped) => return Ok(None),
            Err(Over::Late) => {
                notes.push(late());
                break;
            }
        };
        found += 1;
        let line = shown(file.relative());
        if more > 0 || found > PATHS || text.len() + line.len() > SHOWN {
            more += 1;
            continue;
        }
        text.push_str(&line);
        text.push('\n');
    }
    if more > 0 {
        notes.insert(0, format!("… and {} more; narrow it by a longer pattern or by `path`", count(more, "file")));
    }
    notes.extend(walk.notes());
    if found == 0 {
        notes.insert(0, "no file matches".into());
    }
    notes.iter().for_each(|note| text.push_str(&format!("[{note}]\n")));
    let remember = format!("Looked for files {}: {}.", args.pattern, count(found, "file"));
    let title = Some(args.pattern.clone());
    Ok(Some(ToolOutput { title, long_term_memory: Some(remember), ..ToolOutput::text(text.trim_end()) }))
}
