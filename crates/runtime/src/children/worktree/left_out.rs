//! What git leaves out of a patch without saying so.

use super::problem::{Problem, aside};
use mainpath_tools::{Git, GitProblem};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// So many bytes of a list of git are read.
const MOST_LISTED: u64 = 256 * 1024 * 1024;
/// So many names are told.
const MOST_NAMED: usize = 3;

/// Errors: there is something in a worktree that no patch can hold, and what. Git takes whatever is called `.git` for the repository of its
/// folder and skips it, and a folder that it cannot open is no failure to it. What is ignored is in no patch in any case.
pub(super) async fn check(git: &Git, top: &Path) -> Result<(), Problem> {
    let from = top.to_path_buf();
    let mut found = aside(move || find(&from)).await?;
    if found.is_empty() {
        return Ok(());
    }
    found.sort();
    // It knows no literal paths; with a dot first none means anything else.
    let git = git.clone().without("GIT_LITERAL_PATHSPECS");
    let from_dot = |path: &PathBuf| [b"./", path.as_os_str().as_bytes()].concat();
    let asked = found.iter().flat_map(|path| [from_dot(path), vec![0]]).collect::<Vec<_>>().concat();
    let ignored = match git.feed(top, &["check-ignore", "-z", "--stdin"], &asked, MOST_LISTED).await {
        Ok(ignored) => ignored,
        // None of them is.
        Err(GitProblem::Failed { code: 1, .. }) => Vec::new(),
        Err(problem) => return Err(problem.into()),
    };
    let ignored: Vec<&[u8]> = ignored.split(|byte| *byte == 0).collect();
    found.retain(|path| !ignored.contains(&from_dot(path).as_slice()));
    let names: Vec<String> = found.iter().take(MOST_NAMED).map(|path| path.display().to_string()).collect();
    let more = match found.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match found.is_empty() {
        true => Ok(()),
        false => Err(Problem::refused(format!(
            "no patch can hold what is in {}{more}: git skips what is called .git and folders that it cannot open",
            names.join(", ")
        ))),
    }
}

/// What git skips below a folder, but for the `.git` at its top: paths from there on. An empty folder holds nothing to lose.
fn find(top: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(top.join(&folder)) else {
            found.push(folder);
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let (path, is_folder) = (folder.join(entry.file_name()), entry.file_type()?.is_dir());
            if entry.file_name() != ".git" {
                folders.extend(Some(path).filter(|_| is_folder));
            } else if folder != Path::new("") && !(is_folder && is_empty(&top.join(&path))) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
