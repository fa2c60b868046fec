//! The file system of a cage, made in its own mount namespace over the machine's: first everything becomes read-only, then
//! fresh folders cover what is hidden, then what may be seen or written is set in again, shallow paths before deep ones.
//!
//! Nothing is unmounted and the root stays what it is: inside nobody can mount or unmount, so what is covered is out of reach.
//! Every target is opened without following links, so a workspace cannot lead a mount elsewhere.

use crate::cage::Bounds;
use crate::error::CageError;
use crate::guard::Guard;
use crate::home::{CACHES, EMPTY, KEPT, OF_ROOT, Places, READABLE};
use crate::limits;
use crate::own_home::SECRETS;
use crate::sys::set_mount;
use mainpath_types::FileAccess;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Says at which step something failed.
pub(crate) trait Step<T> {
    fn step(self, what: impl FnOnce() -> String) -> Result<T, CageError>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, what: impl FnOnce() -> String) -> Result<T, CageError> {
        self.map_err(|error| CageError::Step { step: what(), source: error.into() })
    }
}

const NO_SUID: u64 = MountAttrFlags::MOUNT_ATTR_NOSUID.bits() as u64;
const NO_DEV: u64 = MountAttrFlags::MOUNT_ATTR_NODEV.bits() as u64;
const READ_ONLY: u64 = MountAttrFlags::MOUNT_ATTR_RDONLY.bits() as u64;

/// One thing that is set into the tree.
struct Item {
    at: PathBuf,
    what: What,
}

enum What {
    /// A fresh folder; its name in the scratch file system.
    Fresh(&'static str),
    /// A mount, of a folder or a file; the place is made if it is not there.
    Mount { tree: OwnedFd, is_folder: bool },
    /// What lies below, with a fresh folder over it that takes the changes.
    Cache(OwnedFd),
    /// Nothing, if there is anything.
    Hidden,
    /// What is there, but it cannot be moved or removed.
    Pinned,
    /// What is there, read-only.
    ReadOnly,
}

/// Makes the tree. Gives the paths at which something was set in, or would have been if anything were there. To be called with
/// all privileges over the mount namespace, which must be this process's own.
pub(crate) fn build(bounds: &Bounds, places: &Places) -> Result<Vec<PathBuf>, CageError> {
    let Bounds { confinement, workspace, own: ours, .. } = bounds;
    let own = own(
        ours,
        match confinement.files {
            FileAccess::ReadOnly => None,
            FileAccess::WorkspaceWrite => Some(workspace),
            FileAccess::Full => Some(Path::new("/")),
        },
    );
    let root = openat(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).step(|| "opening /".into())?;
    set_mount(root.as_fd(), 0, true).step(|| "separating the mounts".into())?;
    let mut items = devices().step(|| "opening the devices".into())?;
    let confined = confinement.files != FileAccess::Full;
    if confined && workspace != Path::new("/") {
        items.push(workspace_mount(workspace, confinement.files)?);
    }
    let read_only = if confined { READ_ONLY } else { 0 };
    set_mount(root.as_fd(), read_only | NO_SUID | NO_DEV, false).step(|| "protecting the file system".into())?;
    if !confined {
        protect_kernel().step(|| "protecting the kernel's files".into())?;
    }
    if !confined {
        // Programs share memory there with those outside. It is opened before a fresh /dev covers it.
        items.extend(lent("/dev/shm".into()));
    }
    let scratch = scratch().step(|| "mounting fresh folders".into())?;
    items.extend(system(bounds).step(|| "mounting the system's folders".into())?);
    if confined {
        items.extend(homes(workspace, places));
        items.extend(bounds.shown.iter().cloned().filter_map(lent));
        items.extend(guards(&bounds.guards));
    }
    items.extend(own);
    let aliases = places.aliases.iter().filter(|path| *path != workspace);
    items.extend(aliases.map(|path| Item { at: path.clone(), what: What::Hidden }));
    // The sort is stable: of two things at one place the later one covers the earlier.
    items.sort_by_key(|item| item.at.components().count());
    let mut tree = Tree { scratch, caches: 0 };
    let mut set = Vec::new();
    for Item { at, what } in items {
        tree.set(&at, what).step(|| format!("mounting {}", at.display()))?;
        set.push(at);
    }
    let outside = places.sockets.iter().filter(|path| confined && !path.starts_with(workspace));
    for path in outside {
        let is_socket =
            |fd: &OwnedFd| fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket);
        if open_place(path).as_ref().is_ok_and(is_socket) {
            tree.set(path, What::Hidden).step(|| format!("hiding {}", path.display()))?;
            set.push(path.clone());
        }
    }
    Ok(set)
}

fn devices() -> Result<Vec<Item>, Errno> {
    let mut found = Vec::new();
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        let at = Path::new("/dev").join(name);
        match clone_mount(CWD, &at) {
            Ok(tree) => found.push(Item { at, what: What::Mount { tree, is_folder: false } }),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn workspace_mount(workspace: &Path, files: FileAccess) -> Result<Item, CageError> {
    let folder = open_place(workspace).step(|| format!("opening {}", workspace.display()))?;
    let tree = clone_mount(&folder, "").step(|| format!("opening {}", workspace.display()))?;
    let read_only = if files == FileAccess::ReadOnly { READ_ONLY } else { 0 };
    set_mount(tree.as_fd(), read_only | NO_SUID | NO_DEV, false).step(|| "protecting the workspace".into())?;
    Ok(Item { at: workspace.into(), what: What::Mount { tree, is_folder: true } })
}

/// The fresh file system, in memory. It lies at `/dev` until that is covered by one of its own folders.
fn scratch() -> Result<OwnedFd, Errno> {
    // It is memory, so it is bounded.
    let size = (limits::machine_bytes() / 4).to_string();
    let scratch = fresh("tmpfs", &[("mode", "0755"), ("size", &size)])?;
    move_mount(&scratch, "", CWD, "/dev", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    for (name, mode) in
        [("dev", 0o755), ("dev/pts", 0o755), ("dev/shm", 0o1777), ("tmp", 0o1777), ("var-tmp", 0o1777), ("home", 0o700)]
    {
        mkdirat(&scratch, name, Mode::from(mode))?;
        // The mask of this process has taken bits away.
        rustix::fs::chmodat(&scratch, name, Mode::from(mode), rustix::fs::AtFlags::empty())?;
    }
    for name in ["empty", "caches", "run", "var-run", "homes", "root"] {
        mkdirat(&scratch, name, Mode::from(0o755))?;
    }
    openat(&scratch, "nothing", OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::from(0o444))?;
    let links = [
        ("/proc/self/fd", "dev/fd"),
        ("/proc/self/fd/0", "dev/stdin"),
        ("/proc/self/fd/1", "dev/stdout"),
        ("/proc/self/fd/2", "dev/stderr"),
        ("pts/ptmx", "dev/ptmx"),
    ];
    links.iter().try_for_each(|(to, name)| symlinkat(*to, &scratch, *name))?;
    Ok(scratch)
}

/// What every cage has: its own processes, devices and terminals, and no sockets of services.
fn system(bounds: &Bounds) -> Result<Vec<Item>, Errno> {
    let fresh_at = |at: &str, name| Item { at: at.into(), what: What::Fresh(name) };
    let mount = |at: &str, tree| Item { at: at.into(), what: What::Mount { tree, is_folder: true } };
    let proc = fresh("proc", &[])?;
    set_mount(proc.as_fd(), READ_ONLY, false).map_err(|_| Errno::PERM)?;
    let pts = fresh("devpts", &[("newinstance", ""), ("ptmxmode", "0666"), ("mode", "0600")])?;
    let mut items = vec![fresh_at("/dev", "dev"), mount("/dev/pts", pts), mount("/proc", proc)];
    let confined = bounds.confinement.files != FileAccess::Full;
    if confined {
        items.extend([fresh_at("/tmp", "tmp"), fresh_at("/var/tmp", "var-tmp")]);
    }
    for (at, name) in EMPTY.iter().zip(["run", "var-run", "homes", "root"]) {
        let is_folder = Path::new(at).symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_folder && (confined || at.ends_with("run")) {
            items.push(fresh_at(at, name));
        }
    }
    let resolver = Path::new("/etc/resolv.conf").canonicalize().into_iter().filter(|path| path.starts_with("/run"));
    items.extend(KEPT.iter().map(PathBuf::from).chain(resolver).filter_map(lent));
    if rustix::process::getuid().is_root() {
        items.extend(OF_ROOT.iter().map(|path| Item { at: path.into(), what: What::Hidden }));
    }
    Ok(items)
}

/// What is there now, to be set in again where it is, if it is there.
fn lent(at: PathBuf) -> Option<Item> {
    let tree = clone_mount(CWD, &at).ok()?;
    let is_folder = is_folder(&tree);
    Some(Item { at, what: What::Mount { tree, is_folder } })
}

/// A fresh home with toolchains and caches in it. What lies in the workspace is there anyway.
fn homes(workspace: &Path, places: &Places) -> Vec<Item> {
    let Some(home) = &places.home else { return Vec::new() };
    let mut items = Vec::new();
    if home != workspace {
        items.push(Item { at: home.clone(), what: What::Fresh("home") });
    }
    let beyond = |path: &PathBuf| !path.starts_with(workspace);
    items.extend(READABLE.iter().map(|name| home.join(name)).filter(beyond).filter_map(lent));
    for at in CACHES.iter().map(|name| home.join(name)).chain(places.cargo.clone()).filter(beyond) {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(below) = openat(CWD, &at, flags, Mode::empty()) {
            items.push(Item { at, what: What::Cache(below) });
        }
    }
    items.extend(SECRETS.iter().map(|name| Item { at: home.join(name), what: What::Hidden }));
    items
}

/// The guarded paths of the workspace: read-only, pinned or hidden.
fn guards(guards: &[Guard]) -> impl Iterator<Item = Item> {
    guards.iter().map(|guard| match guard {
        Guard::Pinned(path) => Item { at: path.clone(), what: What::Pinned },
        Guard::ReadOnly(path) => Item { at: path.clone(), what: What::ReadOnly },
        Guard::Hidden(path) => Item { at: path.clone(), what: What::Hidden },
    })
}

/// Mainpath's own files and folders, by every name: nothing is there. Where something else could be put in their place, which
/// is below `writable`, what is missing is made, and the way to them cannot be moved away.
fn own(own: &[PathBuf], writable: Option<&Path>) -> Vec<Item> {
    let mut items = Vec::new();
    for path in own {
        if let Some(top) = writable.filter(|top| path.starts_with(top)) {
            if path.symlink_metadata().is_err() {
                // Where it cannot be made, it cannot be made inside either.
                let _ = std::fs::create_dir_all(path);
            }
            let way = path.ancestors().skip(1).take_while(|above| *above != top);
            items.extend(way.map(|above| Item { at: above.into(), what: What::Pinned }));
        }
        let names = [Some(path.clone()), path.canonicalize().ok()];
        items.extend(names.into_iter().flatten().map(|at| Item { at, what: What::Hidden }));
    }
    items
}

/// Makes what is the kernel's own read-only, wherever it is mounted: for root that would be a way out.
fn protect_kernel() -> Result<(), Errno> {
    let kinds = [
        "proc",
        "sysfs",
        "cgroup",
        "cgroup2",
        "debugfs",
        "tracefs",
        "securityfs",
        "configfs",
        "bpf",
        "pstore",
        "efivarfs",
        "fusectl",
        "selinuxfs",
        "smackfs",
        "resctrl",
        "binfmt_misc",
    ];
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").map_err(|_| Errno::IO)?;
    let is_kernels = |kind: &str| kind.split(' ').next().is_some_and(|kind| kinds.contains(&kind));
    let found = mounts.lines().filter_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        mount.split(' ').nth(4).filter(|_| is_kernels(kind))
    });
    for path in found.chain(["/sys"]) {
        // What is covered by another mount cannot be reached.
        if let Ok(at) = open_place(Path::new(path)) {
            set_mount(at.as_fd(), READ_ONLY, false).map_err(|_| Errno::PERM)?;
        }
    }
    Ok(())
}

struct Tree {
    scratch: OwnedFd,
    caches: usize,
}

impl Tree {
    fn set(&mut self, at: &Path, what: What) -> io::Result<()> {
        match what {
            What::Fresh(name) => {
                let tree = clone_mount(&self.scratch, name)?;
                mount_at(&tree, &place(at, true)?)
            }
            What::Mount { tree, is_folder } => mount_at(&tree, &place(at, is_folder)?),
            What::Cache(below) => {
                let tree = self.cache(&below)?;
                mount_at(&tree, &place(at, true)?)
            }
            What::Hidden => {
                let Some(there) = there(at)? else { return Ok(()) };
                let tree = clone_mount(&self.scratch, if is_folder(&there) { "empty" } else { "nothing" })?;
                set_mount(tree.as_fd(), READ_ONLY, false)?;
                unless_gone(mount_at(&tree, &there))
            }
            What::Pinned | What::ReadOnly => {
                let Some(there) = there(at)? else { return Ok(()) };
                let tree = clone_mount(&there, "")?;
                if matches!(what, What::ReadOnly) {
                    set_mount(tree.as_fd(), READ_ONLY, false)?;
                }
                unless_gone(mount_at(&tree, &there))
            }
        }
    }

    /// The folder `below` with a fresh one over it.
    fn cache(&mut self, below: &OwnedFd) -> io::Result<OwnedFd> {
        self.caches += 1;
        let folder = |kind: &str| -> io::Result<OwnedFd> {
            let name = format!("caches/{kind}-{}", self.caches);
            mkdirat(&self.scratch, &name, Mode::from(0o700))?;
            Ok(openat(&self.scratch, &name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
        };
        let (upper, work) = (folder("upper")?, folder("work")?);
        let path = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
        let (lower, upper_path, work_path) = (path(below), path(&upper), path(&work));
        let options = [("lowerdir", &*lower), ("upperdir", &*upper_path), ("workdir", &*work_path), ("userxattr", "")];
        Ok(fresh("overlay", &options)?)
    }
}

/// A new file system. An option without a value is a flag.
fn fresh(kind: &str, options: &[(&str, &str)]) -> Result<OwnedFd, Errno> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        match value.is_empty() {
            true => fsconfig_set_flag(&context, *name)?,
            false => fsconfig_set_string(&context, *name, *value)?,
        }
    }
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    // Terminals are devices.
    let attributes = if kind == "devpts" { MountAttrFlags::MOUNT_ATTR_NOSUID } else { attributes };
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// A copy of what is mounted at a path and below, not set in anywhere yet.
fn clone_mount(from: impl AsFd, path: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(from, path, flags)
}

fn mount_at(tree: &OwnedFd, place: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", place, "", flags)?)
}

fn open_place(at: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, at, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// What was removed since it was looked at need not be covered.
fn unless_gone(mounted: io::Result<()>) -> io::Result<()> {
    mounted.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// What is there, if anything is, and not through a link.
fn there(at: &Path) -> io::Result<Option<OwnedFd>> {
    match open_place(at) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::ACCESS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A place to mount on, which is made if it is not there.
fn place(at: &Path, is_folder: bool) -> io::Result<OwnedFd> {
    match open_place(at) {
        Err(Errno::NOENT) => {}
        other => return Ok(other?),
    }
    if is_folder {
        std::fs::create_dir_all(at)?;
    } else {
        at.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::File::create(at)?;
    }
    Ok(open_place(at)?)
}

fn is_folder(fd: &OwnedFd) -> bool {
    fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}
