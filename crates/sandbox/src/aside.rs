//! Taking files of a workspace aside: into a folder of Mainpath's own, under the path that they had.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat2, renameat, unlinkat};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// Where the files of one command go. The folder is made with the first one.
pub(crate) struct Aside<'a> {
    pub workspace: &'a Path,
    /// `None`: there is no such place, so nothing is taken.
    pub folder: Option<PathBuf>,
}

impl Aside<'_> {
    /// Moves a file, a link or a whole folder. Nothing is followed on the way. Errors: it is still where it was.
    pub fn take(&self, path: &Path) -> io::Result<()> {
        let folder = self.folder.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let to = folder.join(path.strip_prefix(self.workspace).unwrap_or(Path::new(name)));
        let above = to.parent().unwrap_or(folder);
        DirBuilder::new().recursive(true).mode(0o700).create(above)?;
        let from = open_folder(parent)?;
        match renameat(&from, name, CWD, &to) {
            Err(Errno::XDEV) => {}
            moved => return Ok(moved?),
        }
        // Another file system: nothing is to obey it while it is copied.
        let hidden = format!(".mainpath-aside-{}", std::process::id());
        renameat(&from, name, &from, &hidden)?;
        let there = parent.join(&hidden);
        let copied = copy(&there, &to);
        if copied.is_err() {
            let _ = renameat(&from, &hidden, &from, name);
            return copied;
        }
        match there.symlink_metadata()?.is_dir() {
            true => fs::remove_dir_all(&there),
            false => Ok(unlinkat(&from, &hidden, AtFlags::empty())?),
        }
    }

    /// Takes a file and puts another content in its place.
    pub fn replace(&self, path: &Path, content: &str) -> io::Result<()> {
        self.take(path)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(open_folder(parent)?, name, flags, Mode::from(0o644))?;
        File::from(file).write_all(content.as_bytes())
    }
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Copies what there is; of devices, pipes and sockets nothing.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let kind = from.symlink_metadata()?.file_type();
    if kind.is_symlink() {
        return symlink(from.read_link()?, to);
    }
    if kind.is_dir() {
        DirBuilder::new().mode(0o700).create(to)?;
        return fs::read_dir(from)?
            .try_for_each(|entry| entry.and_then(|entry| copy(&entry.path(), &to.join(entry.file_name()))));
    }
    if kind.is_file() {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(openat2(CWD, from, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?);
        let (mut copied, mut buffer) = (File::create_new(to)?, vec![0; 64 * 1024]);
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                got => copied.write_all(buffer.get(..got).unwrap_or_default())?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_links_are_moved_with_the_path_that_they_had() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let workspace = top.join("work");
        fs::create_dir_all(workspace.join("sub/.vscode/deep")).unwrap();
        fs::write(workspace.join("sub/.vscode/deep/tasks.json"), "x").unwrap();
        symlink("/etc", workspace.join("sub/.vscode/link")).unwrap();
        // Shared memory is another file system than the temporary folder, on most machines.
        let memory = tempfile::tempdir_in("/dev/shm").unwrap();
        for folder in [top.join("own/aside"), memory.path().join("aside")] {
            let aside = Aside { workspace: &workspace, folder: Some(folder.clone()) };
            aside.take(&workspace.join("sub/.vscode")).unwrap();
            assert!(!workspace.join("sub/.vscode").exists());
            assert_eq!(fs::read_dir(workspace.join("sub")).unwrap().count(), 0);
            assert_eq!(fs::read_to_string(folder.join("sub/.vscode/deep/tasks.json")).unwrap(), "x");
            assert_eq!(folder.join("sub/.vscode/link").read_link().unwrap(), Path::new("/etc"));
            copy(&folder.join("sub/.vscode"), &workspace.join("sub/.vscode")).unwrap();
        }
    }

    #[test]
    fn nothing_is_taken_through_a_link_or_without_a_place_for_it() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        fs::create_dir(top.join("real")).unwrap();
        fs::write(top.join("real/.envrc"), "x").unwrap();
        symlink("real", top.join("link")).unwrap();
        let aside = Aside { workspace: &top, folder: Some(top.join("aside")) };
        assert!(aside.take(&top.join("link/.envrc")).is_err());
        assert!(Aside { workspace: &top, folder: None }.take(&top.join("real/.envrc")).is_err());
        assert_eq!(fs::read_to_string(top.join("real/.envrc")).unwrap(), "x");
        aside.replace(&top.join("real/.envrc"), "y").unwrap();
        assert_eq!(fs::read_to_string(top.join("real/.envrc")).unwrap(), "y");
        assert_eq!(fs::read_to_string(top.join("aside/real/.envrc")).unwrap(), "x");
    }
}
