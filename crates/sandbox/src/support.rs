//! What of the sandbox this machine has, found out by trying it.

use crate::cage::Bounds;
use crate::ended::How;
use crate::error::CageError;
use crate::handover::UNANSWERED;
use crate::home::Places;
use crate::init::{start_init, wait_for};
use crate::inside::restrict;
use crate::limits::Group;
use crate::sys;
use landlock::{ABI, LandlockStatus};
use mainpath_types::{Confinement, FileAccess};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

/// What of the sandbox this machine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// Part by part.
    pub parts: Vec<Part>,
}

/// One part of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub name: String,
    /// Whether nothing can be confined without it. Without the others less is.
    pub needed: bool,
    /// Whether it is there.
    pub present: bool,
    /// What is there; or why it is not, what that means, and what to do.
    pub text: String,
}

impl Support {
    /// Whether a command can be confined here.
    pub fn can_confine(&self) -> bool {
        self.parts.iter().all(|part| part.present || !part.needed) && self.parts.iter().any(|part| part.needed)
    }

    /// Why a command cannot be confined here, in one line; `None` if it can.
    pub fn missing(&self) -> Option<String> {
        let first = self.parts.iter().find(|part| part.needed && !part.present)?;
        Some(format!("{}: {}", first.name, first.text))
    }

    pub(crate) fn unknown(error: io::Error) -> Support {
        let text = format!("commands cannot be confined: {error}");
        Support { parts: vec![Part { name: "launcher".into(), needed: true, present: false, text }] }
    }

    /// What [`report`] has printed.
    pub(crate) fn parse(report: &str) -> Support {
        let parts: Vec<Part> = report.lines().filter_map(Part::parse).collect();
        match parts.is_empty() {
            true => Support::unknown(io::Error::other(UNANSWERED)),
            false => Support { parts },
        }
    }
}

impl Part {
    fn parse(line: &str) -> Option<Part> {
        let mut fields = line.splitn(4, '\t');
        let (name, needed, present) = (fields.next()?, fields.next()?, fields.next()?);
        let text = fields.next()?.into();
        Some(Part { name: name.into(), needed: needed == "needed", present: present == "present", text })
    }

    fn line(&self) -> String {
        let needed = if self.needed { "needed" } else { "wanted" };
        let present = if self.present { "present" } else { "missing" };
        format!("{}\t{needed}\t{present}\t{}", self.name, self.text.replace(['\n', '\t'], " "))
    }
}

/// Prints the parts, one line each. To be called in a process with one thread.
pub(crate) fn report() {
    for part in [namespaces(), cage(), network(), cgroups(), landlock()] {
        println!("{}", part.line());
    }
}

/// A part that is present.
fn present(name: &str, needed: bool, text: impl Into<String>) -> Part {
    Part { name: name.into(), needed, present: true, text: text.into() }
}

/// A part that is missing: why, and what to do.
fn missing(name: &str, needed: bool, text: impl Into<String>) -> Part {
    Part { name: name.into(), needed, present: false, text: text.into() }
}

fn namespaces() -> Part {
    let tried = match sys::fork_into(sys::namespaces(false), None) {
        Ok(Some(child)) => wait_for(child).map(drop).map_err(io::Error::from),
        Ok(None) => std::process::exit(0),
        Err(error) => Err(error),
    };
    let what = "user, mount, process and IPC namespaces";
    match tried {
        Ok(()) => present(what, true, "can be made"),
        Err(error) => missing(
            what,
            true,
            format!(
                "{error}. Allow them: sysctl user.max_user_namespaces (more than 0), kernel.unprivileged_userns_clone=1, \
                 kernel.apparmor_restrict_unprivileged_userns=0; in a container a seccomp profile that permits clone3"
            ),
        ),
    }
}

fn cage() -> Part {
    let advice = "Linux 5.14 or newer is needed, with an unmasked /proc, tmpfs, devpts and seccomp";
    tried("private file system, capabilities and seccomp filter", true, advice)
}

fn network() -> Part {
    tried("network namespace", false, "The kernel needs CONFIG_NET_NS")
}

fn tried(name: &str, network: bool, advice: &str) -> Part {
    match try_cage(network) {
        Ok(()) => present(name, true, "tried"),
        Err(error) => missing(name, true, format!("{error}. {advice}")),
    }
}

/// Why no cage could be made on trial.
#[derive(Debug, thiserror::Error)]
enum TrialError {
    #[error(transparent)]
    Pipe(#[from] io::Error),
    #[error(transparent)]
    Cage(#[from] CageError),
    /// The reason that the trial process sent.
    #[error("{why}")]
    Refused { why: String },
    #[error("the trial process was killed")]
    Killed,
}

/// Makes a cage in which nothing is started.
fn try_cage(network: bool) -> Result<(), TrialError> {
    let confinement = Confinement { files: FileAccess::ReadOnly, network };
    let bounds = Bounds { confinement, workspace: "/".into(), own: Vec::new(), shown: Vec::new(), guards: Vec::new() };
    let (mut reader, writer) = io::pipe()?;
    let init = start_init(
        &bounds,
        None,
        writer.as_fd(),
        |_| Places::default(),
        |made| {
            let text = match made {
                Ok(()) => "made".into(),
                Err(How::Refused(why)) => why,
                Err(other) => format!("{other:?}"),
            };
            let _ = (&writer).write_all(text.as_bytes());
            0
        },
    )?;
    drop(writer);
    let mut text = String::new();
    let _ = reader.read_to_string(&mut text);
    let _ = wait_for(init);
    match text.as_str() {
        "made" => Ok(()),
        "" => Err(TrialError::Killed),
        _ => Err(TrialError::Refused { why: text }),
    }
}

/// What Landlock there is, by coming under its rules: the last thing that this process does.
fn landlock() -> Part {
    let bounds = Bounds {
        confinement: Confinement { files: FileAccess::Full, network: true },
        workspace: "/".into(),
        own: Vec::new(),
        shown: Vec::new(),
        guards: Vec::new(),
    };
    let name = "Landlock";
    match restrict(&bounds, &Places::default()) {
        Ok(LandlockStatus::Available { effective_abi, .. }) if effective_abi >= ABI::V6 => {
            present(name, false, format!("{effective_abi:?}"))
        }
        Ok(LandlockStatus::Available { effective_abi, .. }) => {
            let why = "with the network allowed, abstract sockets of this machine can be reached; Linux 6.12 has more";
            missing(name, false, format!("{effective_abi:?} only: {why}"))
        }
        _ => {
            let why = "not there: named pipes outside the workspace can be written, and with the network allowed abstract sockets \
                       of this machine can be reached. Boot with lsm=landlock,… on Linux 6.12 or newer";
            missing(name, false, why)
        }
    }
}

fn cgroups() -> Part {
    let name = "cgroups";
    match Group::make() {
        Ok(group) if group.birthplace().is_some() => present(name, false, "version 2, one for each cage"),
        Ok(_) => present(name, false, "version 1, one for each process that starts cages"),
        Err(error) => {
            let why = "memory is limited for each process only, and the processes of root are not counted. Run under a systemd \
                       user session, or delegate a cgroup";
            missing(name, false, format!("{error}: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written_and_anything_else_confines_nothing() {
        let needed = present("namespaces", true, "can be made");
        let wanted = missing("cgroups", false, "Permission denied:\tso");
        let support = Support::parse(&format!("{}\n{}\n", needed.line(), wanted.line()));
        assert_eq!(support.parts, [needed, Part { text: "Permission denied: so".into(), ..wanted.clone() }]);
        assert_eq!((support.can_confine(), support.missing()), (true, None));
        let lacking = Support { parts: vec![missing("namespaces", true, "no"), wanted.clone()] };
        assert_eq!((lacking.can_confine(), lacking.missing()), (false, Some("namespaces: no".into())));
        assert!(!Support { parts: vec![wanted] }.can_confine());
        assert!(!Support::parse("running 0 tests\n").can_confine());
    }
}
