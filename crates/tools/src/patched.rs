//! Files as a patch leaves them: worked out in a folder aside, written only if every file fits.

use crate::work::blocking;
use crate::{FileNow, Git, GitProblem, Problem, Workspace};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// What becomes of files by a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patched {
    /// It fits.
    Fits(Vec<PatchedFile>),
    /// The files are as it would make them.
    Already,
    /// It does not fit these files as they are now.
    Conflicts(Vec<String>),
}

/// A file before and after a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchedFile {
    /// From the workspace on.
    pub path: String,
    /// What there is.
    pub before: FileNow,
    /// What there is to be.
    pub after: FileNow,
}

/// Works out what a patch of git makes of the files of a workspace, and changes nothing there. `files`: those that it is about. Errors: one
/// of them cannot be looked at or lies behind a link, the patch is about others, or git cannot be run.
pub async fn try_patch(
    git: &Git,
    workspace: &Arc<Workspace>,
    patch: &[u8],
    files: &[String],
) -> Result<Patched, Problem> {
    let (at, names) = (Arc::clone(workspace), files.to_vec());
    let laid = blocking(move || lay_out(&at, &names)).await??;
    let Laid { folder, top, before } = laid;
    let ceiling = top.parent().unwrap_or(Path::new("/")).as_os_str();
    let git = git.clone().with("GIT_CEILING_DIRECTORIES", ceiling);
    let apply = |more: &[&'static str]| [&["apply", "--whitespace=nowarn"], more, &["-"]].concat();
    match git.feed(&top, &apply(&[]), patch, 1 << 16).await {
        Ok(_) => {}
        Err(GitProblem::Failed { said, .. }) => {
            let back = git.feed(&top, &apply(&["--reverse", "--check"]), patch, 1 << 16).await;
            let named =
                |file: &&String| said.lines().any(|line| line.starts_with("error: ") && line.contains(file.as_str()));
            let named: Vec<String> = files.iter().filter(named).cloned().collect();
            return Ok(match back {
                Ok(_) => Patched::Already,
                Err(_) if named.is_empty() => Patched::Conflicts(files.to_vec()),
                Err(_) => Patched::Conflicts(named),
            });
        }
        Err(problem) => return Err(Problem::new("launch", format!("{problem}."))),
    }
    let read = move || read_back(&top, before).inspect(|_| drop(folder));
    blocking(read).await?.map(Patched::Fits)
}

/// Writes files as a patch leaves them. Errors: one cannot be written; those that were are as before.
pub fn write_patched(workspace: &Workspace, files: &[PatchedFile], tag: &str) -> Result<(), Problem> {
    for (at, file) in files.iter().enumerate() {
        if let Err(problem) = workspace.put_back(&file.path, &file.after, tag) {
            let done = files.iter().take(at).rev();
            let stuck: Vec<&str> = done
                .filter(|file| workspace.put_back(&file.path, &file.before, tag).is_err())
                .map(|file| file.path.as_str())
                .collect();
            let rest = match stuck.is_empty() {
                true => "nothing was changed".to_string(),
                false => format!("{} stay changed, as they cannot be put back", stuck.join(", ")),
            };
            return Err(Problem::new(problem.code, format!("{:?} cannot be written ({problem}): {rest}.", file.path)));
        }
    }
    Ok(())
}

/// Files in a folder aside.
struct Laid {
    folder: TempDir,
    top: PathBuf,
    before: Vec<(String, FileNow)>,
}

fn lay_out(workspace: &Workspace, files: &[String]) -> Result<Laid, Problem> {
    let failed = |error: io::Error| Problem::new("io", format!("No room to work the patch out: {error}."));
    let folder = tempfile::Builder::new().prefix("mainpath-patch-").tempdir().map_err(failed)?;
    let top = folder.path().canonicalize().map_err(failed)?;
    let mut before = Vec::new();
    for path in files {
        let now = workspace.look(path)?;
        let to = top.join(path);
        if !matches!(now, FileNow::Absent | FileNow::Folder) {
            to.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
        }
        match &now {
            FileNow::Absent | FileNow::Folder => {}
            FileNow::File { content, mode } => {
                fs::write(&to, content).map_err(failed)?;
                let mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
                fs::set_permissions(&to, Permissions::from_mode(mode)).map_err(failed)?;
            }
            FileNow::Link { target } => symlink(OsStr::from_bytes(target), &to).map_err(failed)?,
            FileNow::Large | FileNow::Other => {
                return Err(Problem::new(
                    "too_large",
                    format!("{path:?} is too large, or no file, so it cannot be kept."),
                ));
            }
        }
        before.push((path.clone(), now));
    }
    Ok(Laid { folder, top, before })
}

fn read_back(top: &Path, before: Vec<(String, FileNow)>) -> Result<Vec<PatchedFile>, Problem> {
    let failed = |error: io::Error| Problem::new("io", format!("The patched files cannot be read: {error}."));
    let known: Vec<PathBuf> = before.iter().map(|(path, _)| top.join(path)).collect();
    if let Some(other) = all_in(top).map_err(failed)?.iter().find(|path| !known.contains(path)) {
        let other = other.strip_prefix(top).unwrap_or(other).display().to_string();
        return Err(Problem::new("bad_path", format!("The patch is about {other:?}, which its agent did not name.")));
    }
    let mut files = Vec::new();
    for (path, before) in before {
        let from = top.join(&path);
        let after = match from.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => FileNow::Absent,
            Err(error) => return Err(failed(error)),
            Ok(data) if data.is_symlink() => {
                FileNow::Link { target: fs::read_link(&from).map_err(failed)?.into_os_string().into_vec() }
            }
            Ok(data) => {
                let runs = data.permissions().mode() & 0o100 != 0;
                let mode = match &before {
                    FileNow::File { mode, .. } if (mode & 0o100 != 0) == runs => *mode,
                    _ => data.permissions().mode() & 0o777,
                };
                FileNow::File { content: fs::read(&from).map_err(failed)?, mode }
            }
        };
        if after != before {
            files.push(PatchedFile { path, before, after });
        }
    }
    Ok(files)
}

/// All that is in a folder and its folders but for the folders.
fn all_in(top: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut folders, mut found) = (vec![top.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let list = if entry.file_type()?.is_dir() { &mut folders } else { &mut found };
            list.push(entry.path());
        }
    }
    Ok(found)
}
