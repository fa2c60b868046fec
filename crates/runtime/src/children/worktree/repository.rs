//! Whether a folder can be copied, and what git says of it.

use super::problem::{Problem, aside};
use mainpath_tools::{Git, GitProblem};
use std::path::{Path, PathBuf};

/// So many bytes of a list of git are read.
const MOST_LISTED: u64 = 256 * 1024 * 1024;
/// Why a repository with others inside is not copied.
const REPOSITORIES: &str = "its repository has submodules or repositories inside";
/// The mode of a submodule in an index.
const SUBMODULE: &[u8] = b"160000 ";

/// A repository of which a worktree can be made.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    /// The top of the working tree.
    pub top: PathBuf,
    /// The folder of the working tree's own files, such as its index.
    pub own: PathBuf,
    /// The folder of what all working trees share.
    pub common: PathBuf,
    /// The workspace, from the top on.
    pub below: PathBuf,
    /// How git is run for it.
    pub git: Git,
}

impl Repository {
    /// The repository of a workspace, which is absolute and free of links. Errors: a worktree cannot be made of it, and why.
    pub async fn find(git: &Git, workspace: &Path) -> Result<Repository, Problem> {
        let asked = ["rev-parse", "--path-format=absolute", "--is-inside-work-tree", "--git-dir", "--git-common-dir"];
        let lines = match git.run(workspace, &asked, 1 << 16).await {
            Ok(lines) => lines,
            Err(GitProblem::Failed { said, .. }) if said.contains("not a git repository") => {
                return Err(Problem::refused("the folder is in no git repository"));
            }
            Err(problem) => return Err(problem.into()),
        };
        let lines =
            String::from_utf8(lines).map_err(|_| Problem::refused("its repository has a path that is no text"))?;
        let [inside, own, common] = lines.lines().collect::<Vec<_>>()[..] else {
            return Err(Problem::refused("its repository has a path with a line break"));
        };
        if inside != "true" {
            let elsewhere = git.run(workspace, &["config", "--get", "core.worktree"], 1 << 12).await;
            return Err(Problem::refused(match elsewhere {
                Ok(place) => {
                    let place = String::from_utf8_lossy(&place).trim_end().to_string();
                    format!(
                        "its repository's settings say that its files are in another folder (core.worktree = {place})"
                    )
                }
                Err(_) if own.ends_with("/.git") => "the folder is inside a .git folder".into(),
                Err(_) => "its repository is bare".into(),
            }));
        }
        let top = git.run(workspace, &["rev-parse", "--path-format=absolute", "--show-toplevel"], 1 << 16).await?;
        let top = String::from_utf8_lossy(&top).trim_end_matches('\n').to_string();
        let (top, own, common) = (PathBuf::from(top), PathBuf::from(own), PathBuf::from(common));
        let below = workspace.strip_prefix(&top);
        let below = below.map_err(|_| Problem::refused("its repository has its files elsewhere"))?.to_path_buf();
        let git = with_own_excludes(git, workspace).await;
        let found = Repository { top, own, common, below, git };
        found.is_own().await?;
        check_settings(&found.git, &found.top).await?;
        if found.git.run(&found.top, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], 1 << 10).await.is_err() {
            return Err(Problem::refused("its repository has no commit yet"));
        }
        found.check_index(&found.git).await?;
        // Of what is new, a repository is listed as a folder.
        let new = ["ls-files", "--others", "--exclude-standard", "-z"];
        let new = found.git.run(&found.top, &new, MOST_LISTED).await?;
        match new.split(|byte| *byte == 0).any(|path| path.ends_with(b"/")) {
            true => Err(Problem::refused(REPOSITORIES)),
            false => Ok(found),
        }
    }

    /// The folder of a repository is the `.git` of its top, or the entry of a worktree there that says so itself: a file `.git` could
    /// name anybody's repository.
    async fn is_own(&self) -> Result<(), Problem> {
        let (dot, own) = (self.top.join(".git"), self.own.clone());
        let is_own = aside(move || {
            let kind = dot.symlink_metadata()?.file_type();
            if kind.is_dir() {
                return Ok(own.canonicalize()? == dot.canonicalize()?);
            }
            let named = std::fs::read_to_string(own.join("gitdir")).unwrap_or_default();
            Ok(kind.is_file() && Path::new(named.trim_end()).canonicalize().ok() == dot.canonicalize().ok())
        });
        match is_own.await? {
            true => Ok(()),
            false => Err(Problem::refused("its .git names a repository elsewhere")),
        }
    }

    /// Errors: there are conflicts or submodules in an index.
    pub async fn check_index(&self, git: &Git) -> Result<(), Problem> {
        if !git.run(&self.top, &["ls-files", "--unmerged", "-z"], MOST_LISTED).await?.is_empty() {
            return Err(Problem::refused("its repository has unresolved conflicts"));
        }
        match submodules(git, &self.top).await? {
            true => Err(Problem::refused(REPOSITORIES)),
            false => Ok(()),
        }
    }
}

/// The person's own list of what is to be ignored everywhere holds; no other setting of theirs does.
pub(super) async fn with_own_excludes(git: &Git, folder: &Path) -> Git {
    let asked = ["config", "--global", "--type=path", "--get", "core.excludesFile"];
    match git.clone().without("GIT_CONFIG_GLOBAL").run(folder, &asked, 1 << 12).await {
        Ok(file) => git.clone().setting(format!("core.excludesFile={}", String::from_utf8_lossy(&file).trim_end())),
        Err(_) => git.clone(),
    }
}

/// Whether there are submodules in an index, or repositories that git takes for such.
pub(super) async fn submodules(git: &Git, top: &Path) -> Result<bool, Problem> {
    let listed = git.run(top, &["ls-files", "--stage", "-z"], MOST_LISTED).await?;
    Ok(listed.split(|byte| *byte == 0).any(|line| line.starts_with(SUBMODULE)))
}

/// Errors: the repository's settings make git run programs where files are read or written, or read other settings.
pub(super) async fn check_settings(git: &Git, folder: &Path) -> Result<(), Problem> {
    let names = git.run(folder, &["config", "--list", "--name-only", "-z"], MOST_LISTED).await?;
    let names = String::from_utf8_lossy(&names).to_lowercase();
    if names.split('\0').any(|name| name == "extensions.refstorage") {
        return Err(Problem::refused("its repository keeps its references in another form than files"));
    }
    let runs = |name: &&str| ["filter.", "include.", "includeif."].iter().any(|part| name.starts_with(part));
    match names.split('\0').find(runs) {
        Some(name) => {
            let name: String = name.chars().filter(|letter| !letter.is_control()).take(60).collect();
            Err(Problem::refused(format!("its repository's settings have {name}, which can make git run programs")))
        }
        None => Ok(()),
    }
}
