//! What was changed in a worktree, as a patch.

use super::left_out;
use super::make::{add_all, inside};
use super::place::{Place, Record};
use super::problem::{Problem, aside};
use super::repository::{check_settings, submodules, with_own_excludes};
use mainpath_tools::{Git, GitProblem};
use std::ffi::OsString;

/// The largest patch, in bytes.
const MOST_PATCH: u64 = 8 * 1024 * 1024;
/// The most files in a patch.
const MOST_FILES: usize = 1_000;
const LINE: u64 = 1 << 12;

/// What was changed in a worktree.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// A patch of git, from the child's workspace on; empty if nothing was changed.
    pub patch: Vec<u8>,
    /// The files in it.
    pub files: Vec<String>,
}

/// What was changed in a worktree since it was made. Errors: that cannot be told; the worktree is to be kept.
pub(crate) async fn collect(git: &Git, place: &Place, record: &Record) -> Result<Changes, Problem> {
    let Some(base) = &record.base else { return Ok(Changes::default()) };
    let (tree, entry) = (place.tree.clone(), place.entry(record));
    let left = [place.index.clone(), place.index.with_extension("index.lock")];
    let is_there = aside(move || {
        // An earlier process may have been killed while it did this.
        left.iter().for_each(|file| drop(std::fs::remove_file(file)));
        Ok(tree.symlink_metadata().is_ok_and(|data| data.is_dir()) && entry.is_dir())
    })
    .await?;
    if !is_there {
        return Err(Problem::refused("its folder is gone"));
    }
    let git = &with_own_excludes(git, &place.tree).await;
    let here = inside(git, place, record).with("GIT_INDEX_FILE", &place.index);
    let top = &place.tree;
    check_settings(&here, top).await?;
    here.run(top, &["read-tree", base], LINE).await?;
    // Before git takes a repository inside for a submodule.
    left_out::check(&here, top).await?;
    add_all(&here, top).await?;
    if submodules(&here, top).await? {
        return Err(Problem::refused("there are repositories inside, which no patch can hold"));
    }
    let mut relative = OsString::from("--relative=");
    relative.push(&record.below);
    let diff = |more: &[&str]| -> Vec<OsString> {
        let words = ["diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color"];
        let below = Some(relative.clone()).filter(|_| !record.below.as_os_str().is_empty());
        let more = more.iter().map(OsString::from);
        words.iter().map(OsString::from).chain(more).chain(below).chain([OsString::from(base)]).collect()
    };
    let names = here.run(top, &diff(&["--name-only", "-z"]), MOST_PATCH).await?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let files: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    if files.len() > MOST_FILES {
        let text = format!("it changed {} files, and a patch may have {MOST_FILES}", files.len());
        return Err(Problem::refused(text));
    }
    let whole = ["--binary", "--full-index", "--unified=3", "--src-prefix=a/", "--dst-prefix=b/"];
    let patch = here.run(top, &diff(&whole), MOST_PATCH).await.map_err(|problem| match problem {
        GitProblem::TooMuch(..) => Problem::refused(format!("its patch is larger than {} MiB", MOST_PATCH >> 20)),
        other => other.into(),
    })?;
    Ok(Changes { patch, files })
}
