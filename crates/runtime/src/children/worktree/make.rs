//! Making a worktree.

use super::place::{Place, Record};
use super::problem::{Problem, aside};
use super::remove::remove;
use super::repository::Repository;
use mainpath_store::create_private;
use mainpath_tools::{Git, GitProblem};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::{fs, io};

/// Keeps what a child began with from being cleaned up: a reference that only its worktree has.
const BASE: &str = "refs/worktree/base";
/// So many bytes of an answer of one line are read.
const LINE: u64 = 1 << 12;

/// Makes the worktree of a child, or finds it as it was made. What an earlier process has left half made is made anew. Errors: none can be
/// made, and why.
pub(crate) async fn make(git: &Git, place: &Place, workspace: &Path) -> Result<Record, Problem> {
    if let Some(record) = place.read().await? {
        let tree = place.workspace(&record);
        let record = Record { kept: false, ..record };
        if record.base.is_some() && aside(move || Ok(tree.is_dir())).await? {
            place.write(&record).await?;
            return Ok(record);
        }
        remove(place).await?;
    }
    let repository = Repository::find(git, workspace).await?;
    if place.tree.starts_with(&repository.top) {
        return Err(Problem::refused("copies would lie in its repository"));
    }
    let (common, below) = (repository.common.clone(), repository.below.clone());
    let mut record = Record { common, below, base: None, kept: false };
    place.write(&record).await?;
    let made = fill(&repository, place, &record).await;
    match made {
        Ok(base) => {
            record.base = Some(base);
            place.write(&record).await?;
            Ok(record)
        }
        Err(problem) => {
            remove(place).await?;
            Err(problem)
        }
    }
}

/// Makes it; gives the tree that it begins with.
async fn fill(repository: &Repository, place: &Place, record: &Record) -> Result<String, Problem> {
    let Repository { top, own, git, .. } = repository;
    let (index, from, trees) = (place.index.clone(), own.join("index"), place.tree.parent().map(Path::to_path_buf));
    let has_index = aside(move || {
        if let Some(trees) = trees {
            create_private(&trees)?;
            // An earlier version made it as the umask said; what is below has the modes of the workspace.
            fs::set_permissions(&trees, fs::Permissions::from_mode(0o700))?;
        }
        match std::fs::copy(&from, &index) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    })
    .await?;
    let aside_git = git.clone().with("GIT_INDEX_FILE", &place.index);
    if !has_index {
        aside_git.run(top, &["read-tree", "HEAD"], LINE).await?;
    }
    add_all(&aside_git, top).await?;
    repository.check_index(&aside_git).await?;
    let base = line(&aside_git.run(top, &["write-tree"], LINE).await?);
    let head = line(&git.run(top, &["rev-parse", "--verify", "HEAD^{commit}"], LINE).await?);
    let (at, known) = (place.clone(), record.clone());
    aside(move || enter(&at, &known, &head)).await?;
    let here = inside(git, place, record);
    here.run(&place.tree, &["update-ref", BASE, &base], LINE).await?;
    here.run(&place.tree, &["read-tree", &base], LINE).await?;
    here.run(&place.tree, &["checkout-index", "--all", "--force", "--quiet"], LINE).await?;
    // What is not committed shows as not committed.
    here.run(&place.tree, &["read-tree", "HEAD"], LINE).await?;
    // Fails where something differs, as it may.
    let _ = here.run(&place.tree, &["update-index", "-q", "--refresh"], LINE).await;
    let (workspace, index) = (place.workspace(record), place.index.clone());
    aside(move || {
        std::fs::create_dir_all(workspace)?;
        std::fs::remove_file(index)
    })
    .await?;
    Ok(base)
}

/// Makes the folder of a worktree on a commit, and its entry in the repository, as gitrepository-layout(5) describes them. `git worktree add`
/// writes the files of an entry one after the other, and fails where it finds another one half written: agents begin side by side, and
/// any process may be killed. Here an entry is there with all its files or not at all.
fn enter(place: &Place, record: &Record, head: &str) -> io::Result<()> {
    let (entry, part) = (place.entry(record), place.part(record));
    fs::create_dir(&part)?;
    fs::write(part.join("HEAD"), format!("{head}\n"))?;
    fs::write(part.join("commondir"), "../..\n")?;
    let text = |before: &str, path: &Path| [before.as_bytes(), path.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(part.join("gitdir"), text("", &place.tree.join(".git")))?;
    fs::create_dir(&place.tree)?;
    fs::write(place.tree.join(".git"), text("gitdir: ", &entry))?;
    let mut tries = 0;
    loop {
        fs::create_dir_all(record.common.join("worktrees"))?;
        match fs::rename(&part, &entry) {
            // Whoever removes the last entry removes the folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < 10 => tries += 1,
            other => return other,
        }
    }
}

/// Enters all files into the index. Errors: git takes one of them for none, and which; what it says last names none.
pub(super) async fn add_all(git: &Git, top: &Path) -> Result<(), Problem> {
    match git.run(top, &["add", "--all"], LINE).await {
        Ok(_) => Ok(()),
        Err(GitProblem::Failed { what, code, said }) => {
            let first = said.lines().find_map(|line| line.trim().strip_prefix("error: "));
            Err(match first {
                Some(first) => {
                    Problem::refused(format!("git cannot add a file: {}", first.chars().take(300).collect::<String>()))
                }
                None => GitProblem::Failed { what, code, said }.into(),
            })
        }
        Err(problem) => Err(problem.into()),
    }
}

/// git in the worktree, whatever the file `.git` in it says.
pub(super) fn inside(git: &Git, place: &Place, record: &Record) -> Git {
    git.clone().with("GIT_DIR", OsString::from(place.entry(record))).with("GIT_WORK_TREE", &place.tree)
}

pub(super) fn line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end().to_string()
}
