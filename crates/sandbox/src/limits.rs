//! How much of the machine a cage may use.
//!
//! Processes and memory are counted by cgroups where this user may make them: `pids` and `memory` of version 1, or version 2
//! where its parent is delegated. Moving a process into a cgroup makes the kernel wait for all processors, 5 to 15 ms on
//! Linux 6.18, so a process that starts many cages has one group for all of them, which its starting thread joins once.
//! In version 2 a child is born in its group, which costs nothing, so every cage has its own.
//! Without cgroups the number of processes is limited per user namespace (since Linux 5.14 that counts no neighbours, but
//! never root), and memory per process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Processes and threads.
const PROCESSES: u64 = 2048;
/// The largest file, in bytes.
const FILE_BYTES: u64 = 16 << 30;
/// Seconds that a process may compute.
const CPU_SECONDS: u64 = 3600;

const ROOT: &str = "/sys/fs/cgroup";
/// Every group's name begins with this, then comes the number of the process that made it.
const PREFIX: &str = "mainpath-";

/// The memory of the machine.
pub(crate) fn machine_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram * u64::from(info.mem_unit)
}

/// Memory in bytes: half of what there is, for the machine or for the groups that this process is in.
fn memory_bytes(own: &str) -> u64 {
    let (root, controller, file) = match is_unified() {
        true => (PathBuf::from(ROOT), "", "memory.max"),
        false => (Path::new(ROOT).join("memory"), "memory", "memory.limit_in_bytes"),
    };
    let path = root.join(path_in(own, controller).unwrap_or_default().trim_start_matches('/'));
    let limits = path.ancestors().take_while(|folder| folder.starts_with(&root)).filter_map(|folder| {
        // No number means no limit.
        fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
    });
    limits.fold(machine_bytes(), u64::min) / 2
}

/// A cgroup, or one for each controller. It is removed when this is dropped.
pub(crate) struct Group {
    folders: Vec<PathBuf>,
    /// Version 2: what a child is born into.
    unified: Option<OwnedFd>,
}

impl Group {
    /// A fresh limited group. Errors: this user may not make one.
    pub fn make() -> io::Result<Group> {
        let own = fs::read_to_string("/proc/self/cgroup")?;
        if is_unified() { Group::unified(&own) } else { Group::by_controller(&own) }
    }

    fn by_controller(own: &str) -> io::Result<Group> {
        let memory = memory_bytes(own).to_string();
        let limits: [(&str, &[(&str, &str)]); 2] = [
            ("memory", &[("memory.limit_in_bytes", &memory), ("memory.memsw.limit_in_bytes", &memory)]),
            ("pids", &[("pids.max", &PROCESSES.to_string())]),
        ];
        let mut group = Group { folders: Vec::new(), unified: None };
        for (controller, settings) in limits {
            let path = path_in(own, controller).ok_or(io::ErrorKind::NotFound)?;
            let parent = Path::new(ROOT).join(controller).join(path.trim_start_matches('/'));
            group.add(&parent, settings)?;
        }
        Ok(group)
    }

    fn unified(own: &str) -> io::Result<Group> {
        let path = path_in(own, "").ok_or(io::ErrorKind::NotFound)?;
        // Beside the own group: a group with processes in it cannot have limited children.
        let parent = Path::new(path).parent().unwrap_or(Path::new("/"));
        let parent = Path::new(ROOT).join(parent.strip_prefix("/").unwrap_or(parent));
        let mut group = Group { folders: Vec::new(), unified: None };
        let memory = memory_bytes(own).to_string();
        group.add(
            &parent,
            &[("memory.max", &memory), ("memory.oom.group", "0"), ("pids.max", &PROCESSES.to_string())],
        )?;
        let folder = group.folders.first().ok_or(io::ErrorKind::NotFound)?;
        group.unified = Some(fs::File::open(folder)?.into());
        Ok(group)
    }

    fn add(&mut self, parent: &Path, settings: &[(&str, &str)]) -> io::Result<()> {
        sweep(parent);
        let folder = parent.join(format!("{PREFIX}{}", std::process::id()));
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => self.folders.push(folder.clone()),
        }
        let mut settings = settings.iter();
        if let Some((name, value)) = settings.next() {
            fs::write(folder.join(name), value)?;
        }
        // What comes after the first is not there on every kernel.
        settings.for_each(|(name, value)| drop(fs::write(folder.join(name), value)));
        Ok(())
    }

    /// What a child can be born into.
    pub fn birthplace(&self) -> Option<BorrowedFd<'_>> {
        self.unified.as_ref().map(AsFd::as_fd)
    }

    /// Moves a process in that was not born here.
    pub fn take(&self, process: rustix::process::Pid) -> io::Result<()> {
        let number = process.as_raw_nonzero().to_string();
        self.folders.iter().try_for_each(|folder| fs::write(folder.join("cgroup.procs"), &number))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            // The last process may still be on its way out.
            for _ in 0..50 {
                match fs::remove_dir(folder) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// Puts the calling thread, and with it all that it starts, into one limited group, once for this process. Whether nothing is
/// left to do for the launchers that it starts.
pub(crate) fn join_shared() -> bool {
    static SHARED: OnceLock<Option<Group>> = OnceLock::new();
    if is_unified() {
        return false;
    }
    SHARED.get_or_init(|| {
        let group = Group::make().ok()?;
        let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
        let joined = group.folders.iter().try_for_each(|folder| fs::write(folder.join("tasks"), &thread));
        joined.is_ok().then_some(group)
    });
    true
}

/// Version 2 alone.
fn is_unified() -> bool {
    Path::new(ROOT).join("cgroup.controllers").exists()
}

/// The path of the own group under a controller, "" for version 2, in `/proc/self/cgroup`.
fn path_in<'a>(own: &'a str, controller: &str) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })
}

/// Removes the empty groups of processes that are gone.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(maker) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        if maker.bytes().all(|byte| byte.is_ascii_digit()) && !Path::new("/proc").join(maker).exists() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Limits that this process and all its children have one by one. To be called in the cage's user namespace.
pub(crate) fn limit_each() {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let grouped = ["memory", ""].iter().any(|name| path_in(&own, name).is_some_and(|path| path.contains(PREFIX)));
    let lower = |resource, soft: u64, hard: u64| {
        let limit = getrlimit(resource);
        let least = |old: Option<u64>, new: u64| Some(old.map_or(new, |old| old.min(new)));
        // Lowering is always allowed.
        let _ =
            setrlimit(resource, Rlimit { current: least(limit.current, soft), maximum: least(limit.maximum, hard) });
    };
    lower(Resource::Core, 0, 0);
    lower(Resource::Fsize, FILE_BYTES, FILE_BYTES);
    lower(Resource::Cpu, CPU_SECONDS, CPU_SECONDS + 5);
    lower(Resource::Nproc, PROCESSES, PROCESSES);
    if !grouped {
        let memory = memory_bytes(&own);
        lower(Resource::Data, memory, memory);
    }
    // Where memory runs out all the same, these processes go first.
    let _ = fs::write("/proc/self/oom_score_adj", "500");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_under_its_controller() {
        let own = "9:name=systemd:/\n8:cpu,pids:/a:b\n4:memory:/process/x\n0::/user.slice/u.scope\n";
        assert_eq!(path_in(own, "pids"), Some("/a:b"));
        assert_eq!(path_in(own, "memory"), Some("/process/x"));
        assert_eq!(path_in(own, ""), Some("/user.slice/u.scope"));
        assert_eq!(path_in(own, "freezer"), None);
    }
}
