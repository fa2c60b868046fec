//! The folder that an agent works in, and the only way from a path that a model wrote to an open file.
//!
//! A path is resolved first, every link in it followed, to the place that it really means; policy judges that place, and the
//! grant names it. When the call runs, be it hours later, the path must still lead there, and the file is opened at that very
//! place, from the root's descriptor on and with links forbidden: whatever was swapped in the meantime fails to open instead
//! of leading elsewhere.

use crate::Problem;
use crate::beneath::beneath;
use mainpath_policy::PathFact;
use mainpath_sandbox::{Cage, home_below};
use mainpath_types::{Confinement, Copied, HEAD, of_bare_repository, of_home};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// A folder that an agent works in.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    /// The root as it was given, which may lie behind a link.
    given: PathBuf,
    dir: OwnedFd,
    protected: Vec<PathBuf>,
    /// What it is a copy of.
    copy: Option<Copied>,
}

/// Where a path leads once every link in it is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The place itself: absolute, free of links and `..`. It need not exist.
    pub absolute: PathBuf,
    /// Whether it is the workspace or lies in it.
    pub in_workspace: bool,
    /// Whether it is one of Mainpath's own folders or lies in one.
    pub protected: bool,
}

/// A path that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is not a usable path: {reason}.")]
pub struct PathProblem {
    /// As it was written.
    pub path: String,
    /// Why not.
    pub reason: String,
}

impl From<PathProblem> for Problem {
    fn from(problem: PathProblem) -> Problem {
        Problem::new("bad_path", problem.to_string())
    }
}

impl Workspace {
    /// The workspace at `root`, which must be a folder. What lies at or under one of `protected` is refused, also inside
    /// the workspace; those need not exist yet.
    pub fn new(root: impl AsRef<Path>, protected: Vec<PathBuf>) -> io::Result<Workspace> {
        let given = root.as_ref().to_path_buf();
        let root = given.canonicalize()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(&root, flags, Mode::empty())?;
        let here = std::env::current_dir()?;
        let protected = protected.iter().map(|path| follow(&here, path)).collect::<io::Result<_>>()?;
        Ok(Workspace { root, given, dir, protected, copy: None })
    }

    /// The same as a copy of another folder.
    pub fn copying(self, copy: Option<Copied>) -> Workspace {
        Workspace { copy, ..self }
    }

    /// The folder that it is a copy of, else the folder itself: what is trusted there is trusted here.
    pub fn source(&self) -> &Path {
        self.copy.as_ref().map_or(&self.root, |copy| Path::new(&copy.of))
    }

    /// A cage around it. In that of a copy the repository is seen, where it can be seen in that of the folder that it is a copy of.
    pub fn cage(&self, confinement: Confinement) -> Cage {
        let cage = Cage::new(confinement, self.root(), self.protected.clone());
        match self.copy.as_ref().and_then(|copy| copy.repository.as_ref()) {
            Some(repository) => cage.showing(repository),
            None => cage,
        }
    }

    /// The folder itself: absolute, free of links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Checks that the path of the workspace still leads to the folder that was opened. Commands start by the path and file tools by the
    /// folder: else they would work in two places.
    pub(crate) fn check_same(&self) -> Result<(), Problem> {
        let same = rustix::fs::fstat(&self.dir)
            .and_then(|opened| Ok((opened, rustix::fs::stat(&self.root)?)))
            .is_ok_and(|(opened, now)| (opened.st_dev, opened.st_ino) == (now.st_dev, now.st_ino));
        if same {
            return Ok(());
        }
        let text = format!(
            "The workspace {} is not the folder any more that this run started in: it was renamed, removed, replaced or unmounted. \
             Nothing was done.",
            self.root.display()
        );
        Err(Problem::new("workspace_changed", text))
    }

    /// What nothing may touch, inside the workspace or not: absolute paths.
    pub fn protected(&self) -> &[PathBuf] {
        &self.protected
    }

    /// Where a path leads. Relative paths start at the root.
    pub fn resolve(&self, path: &str) -> Result<Resolved, PathProblem> {
        let problem = |reason: String| PathProblem { path: path.chars().take(200).collect(), reason };
        if path.is_empty() || path.contains('\0') {
            return Err(problem("it is empty or holds a NUL character".into()));
        }
        let absolute = follow(&self.root, Path::new(path)).map_err(|error| problem(error.to_string()))?;
        let relative = absolute.strip_prefix(&self.root).ok();
        // Rules judge text: two such names would look the same to them.
        if relative.is_some_and(|relative| relative.to_str().is_none()) {
            return Err(problem("it leads to a name that is not UTF-8".into()));
        }
        let in_workspace = relative.is_some();
        let protected = self.protected.iter().any(|folder| absolute.starts_with(folder));
        Ok(Resolved { absolute, in_workspace, protected })
    }

    /// A resolved place in words: absolute, and from the root on if it lies in the workspace.
    pub(crate) fn names(&self, resolved: &Resolved) -> (String, Option<String>) {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        (text(&resolved.absolute), resolved.absolute.strip_prefix(&self.root).ok().map(text))
    }

    /// A resolved place as policy judges it, to be read.
    pub(crate) fn fact(&self, path: &str, resolved: &Resolved) -> PathFact {
        let (absolute, relative) = self.names(resolved);
        PathFact {
            path: path.into(),
            absolute,
            relative,
            write: false,
            protected: resolved.protected,
            in_repository: false,
        }
    }

    /// Where a path leads as long as there is no link in it or on the way to the workspace.
    pub(crate) fn as_written(&self, path: &str) -> String {
        let mut place = PathBuf::new();
        for step in self.given.join(path).components() {
            match step {
                Component::ParentDir => drop(place.pop()),
                Component::CurDir => {}
                Component::Normal(_) | Component::RootDir | Component::Prefix(_) => place.push(step),
            }
        }
        place.to_string_lossy().into_owned()
    }

    /// The place of a resolved path relative to the root, if it lies in the workspace and may be touched.
    pub(crate) fn place(&self, path: &str, resolved: &Resolved) -> Result<Place, Problem> {
        if resolved.protected {
            let text = format!("{path:?} belongs to Mainpath itself, which no tool may touch.");
            return Err(Problem::new("protected", text));
        }
        match resolved.absolute.strip_prefix(&self.root) {
            Ok(relative) => Ok(Place { path: path.into(), relative: relative.into() }),
            Err(_) => {
                let text = format!("{path:?} lies outside the workspace; use a path inside it.");
                Err(Problem::new("outside_workspace", text))
            }
        }
    }

    /// The place of something that was found in a folder of the workspace, no link on the way; none for Mainpath's own.
    pub(crate) fn found(&self, relative: &Path) -> Option<Place> {
        let absolute = self.root.join(relative);
        let protected = self.protected.iter().any(|folder| absolute.starts_with(folder));
        (!protected).then(|| Place { path: relative.to_string_lossy().into_owned(), relative: relative.into() })
    }

    /// Whether there is anything at a path from the root, no link followed.
    pub(crate) fn exists(&self, relative: &Path) -> bool {
        beneath(&self.dir, relative, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC).is_ok()
    }

    /// Returns true if git would obey a file at a path from the root, because of a folder above it that is a repository whatever it is called; or
    /// a shell of the user whose home the workspace is or holds. What is in a `.git` is known by its name.
    pub(crate) fn is_obeyed(&self, path: &str) -> bool {
        let file = Path::new(path);
        let in_repository = file.ancestors().skip(1).any(|above| {
            let rest = file.strip_prefix(above).map(|rest| rest.to_string_lossy().into_owned()).unwrap_or_default();
            of_bare_repository(&rest) && self.exists(&above.join(HEAD))
        });
        in_repository || home_below(&self.root).is_some_and(|home| is_of_home(file, &home))
    }

    /// Opens a folder.
    pub(crate) fn folder(&self, place: &Place) -> Result<OwnedFd, Errno> {
        beneath(&self.dir, &place.relative, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)
    }

    /// Opens a regular file for reading.
    pub(crate) fn open(&self, place: &Place) -> Result<(File, Stat), Problem> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match beneath(&self.dir, &place.relative, flags) {
            Ok(file) => file,
            Err(error) => return Err(self.failed(place, error)),
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| self.failed(place, error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((File::from(file), stat)),
            FileType::Directory => {
                let text = format!("{:?} is a folder, not a file.", place.path);
                Err(Problem::new("is_directory", text))
            }
            _ => {
                let text = format!("{:?} is a device, pipe or socket, not a file.", place.path);
                Err(Problem::new("not_a_file", text))
            }
        }
    }

    /// Puts `content` at the place in one step: readers and crashes see the old file or the new one, never a part.
    /// Folders on the way are made; an existing file's mode and, where allowed, owner are kept (its other hard links
    /// keep the old content). Returns the file's mode bits. `tag` names the call, so that a repeated attempt clears what a
    /// crash left behind.
    pub(crate) fn replace(&self, place: &Place, content: &[u8], tag: &str) -> Result<u32, Problem> {
        self.replace_with_mode(place, content, None, tag)
    }

    /// The same with a mode that does not depend on what was there, which may be a link.
    pub(crate) fn replace_with_mode(
        &self,
        place: &Place,
        content: &[u8],
        mode: Option<u32>,
        tag: &str,
    ) -> Result<u32, Problem> {
        self.try_replace(place, content, mode, tag).map_err(|error| self.failed(place, error))
    }

    fn try_replace(&self, place: &Place, content: &[u8], mode: Option<u32>, tag: &str) -> Result<u32, Errno> {
        let (folder, name) = self.folder_of(place, true)?;
        let old = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Some(stat),
                FileType::Directory => return Err(Errno::ISDIR),
                // A restore replaces it. Else the path was resolved, so the link has been put there since.
                FileType::Symlink if mode.is_some() => None,
                FileType::Symlink => return Err(Errno::LOOP),
                _ => return Err(Errno::NXIO),
            },
            Err(Errno::NOENT) => None,
            Err(error) => return Err(error),
        };
        let part = part_name(tag);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || rustix::fs::openat(&folder, &part, flags, Mode::from_raw_mode(0o666));
        let file = match create() {
            Err(Errno::EXIST) => {
                rustix::fs::unlinkat(&folder, &part, AtFlags::empty())?;
                create()?
            }
            other => other?,
        };
        let written = write_synced(file, content, old.as_ref(), mode)
            .and_then(|mode| rustix::fs::renameat(&folder, &part, &folder, name).map(|()| mode));
        let mode = written.inspect_err(|_| {
            let _ = rustix::fs::unlinkat(&folder, &part, AtFlags::empty());
        })?;
        synced(&folder).map(|()| mode)
    }

    /// Removes what an attempt that crashed may have left beside the place.
    pub(crate) fn clear_part(&self, place: &Place, tag: &str) {
        if let Ok((folder, _)) = self.folder_of(place, false) {
            let _ = rustix::fs::unlinkat(&folder, part_name(tag), AtFlags::empty());
        }
    }

    /// The open folder that holds the place, and the place's name in it.
    pub(crate) fn folder_of<'p>(&self, place: &'p Place, make: bool) -> Result<(OwnedFd, &'p OsStr), Errno> {
        let (Some(parent), Some(name)) = (place.relative.parent(), place.relative.file_name()) else {
            return Err(Errno::ISDIR);
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match beneath(&self.dir, parent, flags) {
            Err(Errno::NOENT) if make => {}
            other => return Ok((other?, name)),
        }
        let mut folder = beneath(&self.dir, Path::new(""), flags)?;
        for step in parent {
            match rustix::fs::mkdirat(&folder, step, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            folder = beneath(&folder, Path::new(step), flags)?;
        }
        Ok((folder, name))
    }

    /// The words for a place that could not be used.
    pub(crate) fn failed(&self, place: &Place, error: Errno) -> Problem {
        let path = &place.path;
        match error {
            Errno::NOENT => Problem::new("not_found", format!("There is no file {path:?}.{}", self.near(place))),
            Errno::ISDIR => Problem::new("is_directory", format!("{path:?} is a folder, not a file.")),
            Errno::NXIO => Problem::new("not_a_file", format!("{path:?} is a device, pipe or socket, not a file.")),
            Errno::NOTDIR => {
                Problem::new("not_found", format!("{path:?} leads through something that is not a folder."))
            }
            Errno::LOOP | Errno::XDEV => moved(path),
            error => Problem::new("io", format!("{path:?} cannot be used: {}.", io::Error::from(error))),
        }
    }

    /// The names in the place's folder that are most like its own, as a sentence.
    fn near(&self, place: &Place) -> String {
        let (Some(parent), Some(name)) = (place.relative.parent(), place.relative.file_name()) else {
            return String::new();
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(entries) = beneath(&self.dir, parent, flags).and_then(rustix::fs::Dir::new) else {
            return " Its folder does not exist either.".into();
        };
        let wanted = name.to_string_lossy().to_lowercase();
        let names = entries.flatten().take(5_000).map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<(f64, String)> = names
            .filter(|name| name != "." && name != "..")
            .map(|name| (strsim::jaro_winkler(&wanted, &name.to_lowercase()), name))
            .filter(|(likeness, _)| *likeness > 0.75)
            .collect();
        names.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let names: Vec<String> =
            names.into_iter().take(3).map(|(_, name)| format!("{:?}", parent.join(name).to_string_lossy())).collect();
        if names.is_empty() { String::new() } else { format!(" Similar names: {}.", names.join(", ")) }
    }
}

/// A place in the workspace that may be touched.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// As the model wrote it.
    pub path: String,
    /// From the root, free of links and `..`.
    relative: PathBuf,
}

impl Place {
    /// From the root, free of links and `..`.
    pub(crate) fn relative(&self) -> &Path {
        &self.relative
    }
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub name: OsString,
    pub kind: FileType,
}

/// The names in an open folder, `most` at most, in the file system's order.
pub(crate) fn entries(folder: &OwnedFd, most: usize) -> Result<Vec<Entry>, Errno> {
    let mut found = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if found.len() == most {
            break;
        }
        let kind = match entry.file_type() {
            // Some file systems do not tell with the name.
            FileType::Unknown => match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                // It has gone meanwhile.
                Err(_) => continue,
            },
            kind => kind,
        };
        found.push(Entry { name: OsStr::from_bytes(name.to_bytes()).to_os_string(), kind });
    }
    Ok(found)
}

/// Makes what was done to a folder's names durable; file systems that cannot sync a folder say EINVAL.
pub(crate) fn synced(folder: &OwnedFd) -> Result<(), Errno> {
    match rustix::fs::fsync(folder) {
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(error),
    }
}

pub(crate) fn part_name(tag: &str) -> String {
    format!(".mainpath-{}.part", tag.replace('/', "-"))
}

/// Writes a new file and gives its mode bits: those that are wanted, else the old file's.
fn write_synced(file: OwnedFd, content: &[u8], old: Option<&Stat>, mode: Option<u32>) -> Result<u32, Errno> {
    let mut file = File::from(file);
    file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    if let Some(old) = old {
        let (owner, group) = (rustix::fs::Uid::from_raw(old.st_uid), rustix::fs::Gid::from_raw(old.st_gid));
        // Only root may give a file away; where that fails the file is the writer's, as with any editor.
        let _ = rustix::fs::fchown(&file, Some(owner), Some(group));
    }
    if let Some(mode) = mode.or(old.map(|old| old.st_mode & 0o7777)) {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    }
    rustix::fs::fsync(&file)?;
    Ok(rustix::fs::fstat(&file)?.st_mode & 0o7777)
}

/// Returns true if a shell or session of a user may obey a file, where `home` is that user's folder, both from the workspace on. Letters count
/// alike in either case, as some file systems have it.
fn is_of_home(file: &Path, home: &Path) -> bool {
    let mut below = file.components();
    let is_below = home
        .components()
        .all(|step| below.next().is_some_and(|found| found.as_os_str().eq_ignore_ascii_case(step.as_os_str())));
    is_below && of_home(&below.as_path().to_string_lossy())
}

/// What is said of a path that does not lead to the place that was judged.
pub(crate) fn moved(path: &str) -> Problem {
    let text = format!(
        "{path:?} leads elsewhere than when the call was judged, so nothing was done; call again if it is still wanted."
    );
    Problem::new("path_changed", text)
}

/// The place that `path`, seen from `base`, really means: links followed as the kernel would, what does not exist taken
/// as it is written. `base` is absolute and free of links.
fn follow(base: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut place = if path.is_absolute() { PathBuf::from("/") } else { base.to_path_buf() };
    let steps = |path: &Path| -> VecDeque<OsString> {
        let steps = path.components().filter_map(|step| match step {
            Component::Normal(name) => Some(name.to_os_string()),
            Component::ParentDir => Some("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        });
        steps.collect()
    };
    let mut left = steps(path);
    let mut links = 0;
    while let Some(step) = left.pop_front() {
        if step == ".." {
            place.pop();
            continue;
        }
        place.push(step);
        let target = match place.symlink_metadata() {
            Ok(meta) if meta.is_symlink() => place.read_link()?,
            Ok(_) => continue,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
            Err(error) => return Err(error),
        };
        links += 1;
        if links > 40 {
            return Err(io::Error::other("too many links"));
        }
        match target.is_absolute() {
            true => place = PathBuf::from("/"),
            false => drop(place.pop()),
        }
        let mut next = steps(&target);
        next.append(&mut left);
        left = next;
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beneath::step_by_step;

    #[test]
    fn what_shells_obey_is_known_wherever_the_home_is_in_the_workspace() {
        let of_home = |file: &str, home: &str| is_of_home(Path::new(file), Path::new(home));
        for home in ["", "u", "homes/u"] {
            for name in [".bashrc", ".gitconfig", ".config/autostart/x.desktop", ".zprofile", ".local/bin/x", "bin/x"] {
                let file = Path::new(home).join(name);
                assert!(of_home(file.to_str().unwrap(), home), "{file:?} in {home:?}");
            }
            for name in ["a.txt", "src/.bashrc", ".git/HEAD"] {
                let file = Path::new(home).join(name);
                assert!(!of_home(file.to_str().unwrap(), home), "{file:?} in {home:?}");
            }
        }
        assert!(of_home("U/.bashrc", "u"));
        for file in [".bashrc", "v/.bashrc", "u", "us/.bashrc", "bin/x"] {
            assert!(!of_home(file, "u"), "{file}");
        }
    }

    #[test]
    fn without_openat2_links_are_refused_as_well() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("real")).unwrap();
        std::fs::write(folder.path().join("real/a"), "x").unwrap();
        std::os::unix::fs::symlink("real", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("real/a", folder.path().join("file")).unwrap();
        let workspace = Workspace::new(folder.path(), vec![]).unwrap();
        let open = |path: &str| step_by_step(&workspace.dir, Path::new(path), OFlags::RDONLY).map(drop);
        assert_eq!(open("real/a"), Ok(()));
        assert_eq!(open("./real"), Ok(()));
        assert_eq!(open("link/a"), Err(Errno::LOOP));
        assert_eq!(open("file"), Err(Errno::LOOP));
        assert_eq!(open("real/../real/a"), Err(Errno::XDEV));
    }

    #[test]
    fn a_link_that_was_swapped_in_after_the_check_is_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("a"), "secret").unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/a"), "x").unwrap();
        let workspace = Workspace::new(folder.path(), vec![]).unwrap();
        let place = workspace.found(Path::new("sub/a")).unwrap();
        std::fs::remove_dir_all(folder.path().join("sub")).unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("sub")).unwrap();
        let code = |problem: Problem| problem.code;
        assert_eq!(workspace.open(&place).map(drop).map_err(code), Err("path_changed"));
        assert_eq!(workspace.replace(&place, b"y", "t").map_err(code), Err("path_changed"));
        assert_eq!(std::fs::read_to_string(outside.path().join("a")).unwrap(), "secret");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
