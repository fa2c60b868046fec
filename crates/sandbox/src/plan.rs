//! What a launcher is to do, as data and as bytes.

use crate::cage::{Bounds, Cage};
use crate::guard::Guard;
use crate::supervise::GracePeriods;
use mainpath_types::{Confinement, FileAccess};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What a launcher is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub cage: Cage,
    /// The command and its arguments; none in a forecast.
    pub words: Vec<OsString>,
    /// Where it begins.
    pub folder: PathBuf,
    /// Its environment, all of it.
    pub env: Vec<(OsString, OsString)>,
    /// Whether the launcher's cgroup is limited already.
    pub limited: bool,
    /// How long its processes may take to end by themselves.
    pub grace: GracePeriods,
}

/// The first byte of a plan that has no command yet.
pub(crate) const FORECAST: u8 = b'f';

const FILES: [(FileAccess, &str); 3] =
    [(FileAccess::ReadOnly, "read-only"), (FileAccess::WorkspaceWrite, "workspace-write"), (FileAccess::Full, "full")];

impl Plan {
    /// The command, not started yet.
    pub fn command(&self) -> Command {
        let mut words = self.words.iter();
        let name = words.next().map_or(OsStr::new(""), OsString::as_os_str);
        let mut command = Command::new(self.program(name));
        command.arg0(name).args(words).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.folder);
        command
    }

    /// Where a program is, looked up as a shell does. (The standard library can do that too, but then copies this process.)
    fn program(&self, name: &OsStr) -> PathBuf {
        if name.as_bytes().contains(&b'/') {
            return name.into();
        }
        let path = self.var("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        let places = std::env::split_paths(path).map(|folder| self.folder.join(folder).join(name));
        let found: Vec<PathBuf> = places.filter(|place| place.is_file()).collect();
        let can_run = |place: &&PathBuf| rustix::fs::access(place.as_path(), rustix::fs::Access::EXEC_OK).is_ok();
        // One that is there but cannot be run is what is told.
        found.iter().find(can_run).or(found.first()).cloned().unwrap_or_else(|| Path::new("/").join(name).join("none"))
    }

    /// A variable of the command's environment.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// As bytes: texts that end with a NUL, each with a letter that says what it is. `None` if one holds a NUL, which no
    /// command could take either.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut put = |mark: u8, parts: &[&OsStr]| {
            bytes.push(mark);
            parts.iter().for_each(|part| bytes.extend_from_slice(part.as_bytes()));
            bytes.push(0);
            parts.iter().all(|part| !part.as_bytes().contains(&0))
        };
        // The first byte tells a launcher whether to carry it out or to get ready for it.
        let mut whole = put(if self.words.is_empty() { FORECAST } else { b'x' }, &[]);
        whole &= put(b'd', &[self.folder.as_os_str()]);
        if self.limited {
            whole &= put(b'l', &[]);
        }
        if self.grace != GracePeriods::default() {
            let GracePeriods { after_end, after_term } = self.grace;
            let millis = format!("{} {}", after_end.as_millis(), after_term.as_millis());
            whole &= put(b'g', &[OsStr::new(&millis)]);
        }
        for word in &self.words {
            whole &= put(b'w', &[word]);
        }
        for (name, value) in &self.env {
            whole &= put(b'e', &[name, OsStr::new("="), value]);
        }
        if let Some(Bounds { confinement, workspace, own, shown, guards }) = &self.cage.bounds {
            let files = FILES.iter().find(|(files, _)| *files == confinement.files).map_or("", |(_, name)| name);
            whole &= put(b'c', &[OsStr::new(files)]) && put(b'a', &[workspace.as_os_str()]);
            if confinement.network {
                whole &= put(b'n', &[]);
            }
            for path in own {
                whole &= put(b'o', &[path.as_os_str()]);
            }
            for path in shown {
                whole &= put(b's', &[path.as_os_str()]);
            }
            for guard in guards {
                whole &= match guard {
                    Guard::Pinned(path) => put(b'p', &[path.as_os_str()]),
                    Guard::ReadOnly(path) => put(b'r', &[path.as_os_str()]),
                    Guard::Hidden(path) => put(b'h', &[path.as_os_str()]),
                };
            }
        }
        whole.then_some(bytes)
    }

    /// What [`Plan::encode`] made, or nothing.
    pub fn decode(bytes: &[u8]) -> Option<Plan> {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let path = |bytes: &[u8]| PathBuf::from(text(bytes));
        let mut plan = Plan {
            cage: Cage::open(),
            words: Vec::new(),
            folder: PathBuf::new(),
            env: Vec::new(),
            limited: false,
            grace: GracePeriods::default(),
        };
        for entry in bytes.strip_suffix(&[0])?.split(|byte| *byte == 0) {
            let (mark, rest) = entry.split_first()?;
            let bounds = plan.cage.bounds.as_mut();
            match mark {
                &FORECAST | b'x' => {}
                b'd' => plan.folder = path(rest),
                b'l' => plan.limited = true,
                b'g' => {
                    let (after_end, after_term) = std::str::from_utf8(rest).ok()?.split_once(' ')?;
                    let millis = |text: &str| text.parse().ok().map(Duration::from_millis);
                    plan.grace = GracePeriods { after_end: millis(after_end)?, after_term: millis(after_term)? };
                }
                b'w' => plan.words.push(text(rest)),
                b'e' => {
                    // A name may begin with the sign.
                    let at = rest.iter().skip(1).position(|byte| *byte == b'=')? + 1;
                    plan.env.push((text(rest.get(..at)?), text(rest.get(at + 1..)?)));
                }
                b'c' => {
                    let (files, _) = FILES.iter().find(|(_, name)| name.as_bytes() == rest)?;
                    plan.cage = Cage::new(Confinement { files: *files, network: false }, "", Vec::new());
                }
                b'a' => bounds?.workspace = path(rest),
                b'n' => bounds?.confinement.network = true,
                b'o' => bounds?.own.push(path(rest)),
                b's' => bounds?.shown.push(path(rest)),
                b'p' => bounds?.guards.push(Guard::Pinned(path(rest))),
                b'r' => bounds?.guards.push(Guard::ReadOnly(path(rest))),
                b'h' => bounds?.guards.push(Guard::Hidden(path(rest))),
                _ => return None,
            }
        }
        let is_forecast = bytes.first() == Some(&FORECAST);
        let complete = plan.folder != Path::new("") && plan.words.is_empty() == is_forecast;
        complete.then_some(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(cage: Cage) -> Plan {
        let folder = OsString::from_vec(b"/w/\xff sub\n".to_vec()).into();
        let words = ["sh", "-c", "", "true"].map(OsString::from).to_vec();
        let env = [("PATH", "/bin=x"), ("EMPTY", ""), ("=odd", "1")].map(|(name, value)| (name.into(), value.into()));
        Plan { cage, words, folder, env: env.to_vec(), limited: true, grace: GracePeriods::default() }
    }

    #[test]
    fn a_plan_comes_back_as_it_was_sent() {
        for (files, _) in FILES {
            for network in [true, false] {
                let own = vec!["/home/u/.local/share/mainpath".into(), "/w/.mp".into()];
                let mut sent = plan(Cage::new(Confinement { files, network }, "/w", own).showing("/tmp/skill"));
                let guards = vec![
                    Guard::Pinned("/w/.git".into()),
                    Guard::ReadOnly("/w/.git/hooks".into()),
                    Guard::Hidden("/w/dev.sock".into()),
                ];
                sent.cage.bounds.as_mut().unwrap().guards = guards;
                assert_eq!(Plan::decode(&sent.encode().unwrap()), Some(sent));
            }
        }
        let sent = Plan { limited: false, ..plan(Cage::open()) };
        assert_eq!(Plan::decode(&sent.encode().unwrap()), Some(sent.clone()));
        let grace = GracePeriods { after_end: Duration::from_secs(60), after_term: Duration::from_millis(1) };
        let patient = Plan { grace, ..sent.clone() };
        assert_eq!(Plan::decode(&patient.encode().unwrap()), Some(patient));
        let forecast = Plan { words: Vec::new(), ..sent };
        assert_eq!(Plan::decode(&forecast.encode().unwrap()), Some(forecast));
    }

    #[test]
    fn what_no_command_could_take_is_not_sent() {
        let words = vec!["sh".into(), "a\0b".into()];
        assert_eq!(Plan { words, ..plan(Cage::open()) }.encode(), None);
        let env = vec![("A".into(), "b\0wreboot".into())];
        assert_eq!(Plan { env, ..plan(Cage::open()) }.encode(), None);
    }

    #[test]
    fn what_is_no_plan_is_none() {
        for bytes in [
            "",
            "d/w",
            "d/w\0",
            "wsh\0",
            "d/w\0wsh\0?x\0",
            "d/w\0wsh\0a/w\0",
            "d/w\0wsh\0cwrong\0",
            "d/w\0wsh\0g200\0",
            "d/w\0\0wsh\0",
            "f\0d/w\0wsh\0",
        ] {
            assert_eq!(Plan::decode(bytes.as_bytes()), None, "{bytes:?}");
        }
    }
}
