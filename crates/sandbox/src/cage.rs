//! What a process is shut into, as data, and how that travels to the launcher.

use crate::guard::{Guard, Watch};
use mainpath_types::{Confinement, FileAccess};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What a process is shut into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cage {
    pub(crate) bounds: Option<Bounds>,
}

/// The bounds of a cage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub confinement: Confinement,
    pub workspace: PathBuf,
    /// Mainpath's own files and folders, by the names that it uses.
    pub own: Vec<PathBuf>,
    /// What of the workspace is guarded; found when a command is started.
    pub guards: Vec<Guard>,
}

impl Cage {
    /// A cage around `workspace`, an absolute path without links, in which Mainpath's `own` files and folders do not exist.
    pub fn new(confinement: Confinement, workspace: impl Into<PathBuf>, own: Vec<PathBuf>) -> Cage {
        Cage { bounds: Some(Bounds { confinement, workspace: workspace.into(), own, guards: Vec::new() }) }
    }

    /// No cage: the process may do whatever its user may. Only for what policy has allowed on a machine that cannot confine.
    pub fn open() -> Cage {
        Cage { bounds: None }
    }

    /// The same with what is to be guarded now, and what to compare with after the command.
    pub(crate) fn guarded(&self) -> (Cage, Option<Watch>) {
        let mut cage = self.clone();
        let writable = cage.bounds.as_mut().filter(|bounds| bounds.confinement.files == FileAccess::WorkspaceWrite);
        let watch = writable.map(|bounds| {
            let (watch, guards) = Watch::begin(&bounds.workspace);
            bounds.guards = guards;
            watch
        });
        (cage, watch)
    }

    /// Whether it confines anything.
    pub fn is_closed(&self) -> bool {
        self.bounds.is_some()
    }
}

/// What a launcher is told beside the words of its command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub cage: Cage,
    /// Where the command begins.
    pub folder: PathBuf,
    /// Whether the launcher's cgroup is limited already.
    pub limited: bool,
}

const FILES: [(FileAccess, &str); 3] =
    [(FileAccess::ReadOnly, "read-only"), (FileAccess::WorkspaceWrite, "workspace-write"), (FileAccess::Full, "full")];

impl Plan {
    /// As bytes: texts that end with a NUL, which no path holds.
    pub fn encode(&self) -> Vec<u8> {
        let flag = |on: bool| OsStr::new(if on { "yes" } else { "no" });
        let mut texts = vec![self.folder.as_os_str(), flag(self.limited)];
        let mut marked = Vec::new();
        if let Some(Bounds { confinement, workspace, own, guards }) = &self.cage.bounds {
            let files = FILES.iter().find(|(files, _)| *files == confinement.files).map_or("", |(_, name)| name);
            texts.extend([OsStr::new(files), flag(confinement.network), workspace.as_os_str()]);
            let guards = guards.iter().map(|guard| match guard {
                Guard::Pinned(path) => (b"p", path),
                Guard::ReadOnly(path) => (b"r", path),
            });
            let paths = own.iter().map(|path| (b"o", path)).chain(guards);
            marked.extend(paths.map(|(mark, path)| OsString::from_vec([mark, path.as_os_str().as_bytes()].concat())));
        }
        texts.extend(marked.iter().map(OsString::as_os_str));
        texts.into_iter().flat_map(|text| [text.as_bytes(), &[0]].concat()).collect()
    }

    /// What [`Plan::encode`] made, or nothing.
    pub fn decode(bytes: &[u8]) -> Option<Plan> {
        let mut texts = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let path = |text: &[u8]| PathBuf::from(OsString::from_vec(text.to_vec()));
        let flag = |text: &[u8]| match text {
            b"yes" => Some(true),
            b"no" => Some(false),
            _ => None,
        };
        let folder = path(texts.next()?);
        let limited = flag(texts.next()?)?;
        let Some(files) = texts.next() else { return Some(Plan { cage: Cage::open(), folder, limited }) };
        let (files, _) = FILES.iter().find(|(_, name)| name.as_bytes() == files)?;
        let confinement = Confinement { files: *files, network: flag(texts.next()?)? };
        let workspace = path(texts.next()?);
        let mut bounds = Bounds { confinement, workspace, own: Vec::new(), guards: Vec::new() };
        for text in texts {
            match text.split_first()? {
                (b'o', rest) => bounds.own.push(path(rest)),
                (b'p', rest) => bounds.guards.push(Guard::Pinned(path(rest))),
                (b'r', rest) => bounds.guards.push(Guard::ReadOnly(path(rest))),
                _ => return None,
            }
        }
        Some(Plan { cage: Cage { bounds: Some(bounds) }, folder, limited })
    }
}

impl Bounds {
    /// Why these bounds cannot be kept, if they cannot.
    pub fn problem(&self) -> Option<String> {
        let taken = ["/", "/dev", "/proc", "/sys", "/run", "/etc", "/usr", "/bin", "/sbin", "/lib", "/boot", "/var"];
        let is_system = taken.iter().any(|path| self.workspace == Path::new(path))
            || ["/dev", "/proc", "/sys"].iter().any(|path| self.workspace.starts_with(path));
        if is_system && self.confinement.files == FileAccess::WorkspaceWrite {
            return Some(format!("{} belongs to the system and cannot be a workspace", self.workspace.display()));
        }
        let own = self.own.iter().find(|own| self.workspace.starts_with(own));
        own.map(|own| format!("the workspace {} lies in Mainpath's own {}", self.workspace.display(), own.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(cage: Cage) -> Plan {
        let folder = OsString::from_vec(b"/w/\xff sub\n".to_vec()).into();
        Plan { cage, folder, limited: true }
    }

    #[test]
    fn a_plan_comes_back_as_it_was_sent() {
        for (files, _) in FILES {
            for network in [true, false] {
                let own = vec!["/home/u/.local/share/mainpath".into(), "/w/.mp".into()];
                let mut sent = plan(Cage::new(Confinement { files, network }, "/w", own));
                let guards = vec![Guard::Pinned("/w/.git".into()), Guard::ReadOnly("/w/.git/hooks".into())];
                sent.cage.bounds.as_mut().unwrap().guards = guards;
                assert_eq!(Plan::decode(&sent.encode()), Some(sent));
            }
        }
        let sent = plan(Cage::open());
        assert_eq!(Plan::decode(&sent.encode()), Some(sent));
    }

    #[test]
    fn half_a_plan_is_no_plan() {
        let whole = plan(Cage::new(Confinement::default(), "/w", Vec::new())).encode();
        for end in 0..whole.len() - 1 {
            let half = Plan::decode(&whole[..end]);
            // Cut behind the first two texts it would be the plan of an open cage, which is why its length is sent first.
            assert!(half.is_none_or(|half| !half.cage.is_closed()), "{end}");
        }
    }

    #[test]
    fn the_system_and_mainpath_itself_are_no_workspaces() {
        let problem = |workspace: &str, files| {
            let own = vec!["/home/u/mp".into()];
            let confinement = Confinement { files, network: false };
            Bounds { confinement, workspace: workspace.into(), own, guards: Vec::new() }.problem()
        };
        let write = FileAccess::WorkspaceWrite;
        assert_eq!(problem("/", write).unwrap(), "/ belongs to the system and cannot be a workspace");
        assert!(problem("/proc/1", write).is_some());
        assert_eq!(problem("/", FileAccess::ReadOnly), None);
        assert_eq!(problem("/home/u", write), None);
        let inside = "the workspace /home/u/mp/x lies in Mainpath's own /home/u/mp";
        assert_eq!(problem("/home/u/mp/x", FileAccess::Full).unwrap(), inside);
    }
}
