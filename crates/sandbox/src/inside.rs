//! What the first process of a cage does before it starts the command: it is alone in fresh namespaces, with every privilege
//! over them and none over the machine, builds the tree, and then gives all privileges up for good.

use crate::cage::Bounds;
use crate::error::CageError;
use crate::home::Places;
use crate::tree::{Step, build};
use crate::{limits, seccomp, sys};
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};
use mainpath_types::FileAccess;
use rustix::process::{DumpableBehavior, Gid, Signal, Uid, set_dumpable_behavior, set_parent_process_death_signal};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Who runs this, outside.
#[derive(Clone, Copy)]
pub(crate) struct Owner(pub Uid, pub Gid);

/// Settles in fresh namespaces: what every cage has, whatever its bounds. Errors: at which step it failed, and why.
pub(crate) fn settle(owner: Owner, own_network: bool) -> Result<(), CageError> {
    become_owner(owner).step(|| "taking over the user's number".into())?;
    limits::limit_each();
    // Where `/proc` is read-only the filter alone keeps namespaces from being made.
    let _ = fs::write("/proc/sys/user/max_user_namespaces", "0");
    if own_network {
        sys::loopback_up().step(|| "switching the loopback device on".into())?;
    }
    Ok(())
}

/// Builds the cage around this process, which has settled. Gives the paths at which its tree differs from the machine's, or
/// would. Errors: as before; then nothing may be started.
pub(crate) fn enter(bounds: &Bounds, places: &Places) -> Result<Vec<PathBuf>, CageError> {
    sys::own_mounts().step(|| "making a mount namespace".into())?;
    let set = build(bounds, places)?;
    give_up_privileges().step(|| "giving up privileges".into())?;
    restrict(bounds, places)?;
    seccomp::install().step(|| "filtering system calls".into())?;
    Ok(set)
}

/// The same user and group inside as outside, and no others.
fn become_owner(Owner(user, group): Owner) -> std::io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1", user = user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1", group = group.as_raw()))
}

fn give_up_privileges() -> rustix::io::Result<()> {
    // No program gains any by being started by root, by its own file, or by being handed on.
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(bits)?;
    for number in 0..64 {
        // The kernel knows no more from here on.
        if remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)).is_err() {
            break;
        }
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    set_no_new_privs(true)?;
    // This very process cannot be looked into by those it starts: it has seen the environment from before.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // A change of privileges takes it away.
    set_parent_process_death_signal(Some(Signal::KILL))
}

/// Landlock over the mounts, as far as the kernel has it: pipes with names, sockets of others, devices, signals. Gives what
/// the kernel has.
pub(crate) fn restrict(bounds: &Bounds, places: &Places) -> Result<LandlockStatus, landlock::RulesetError> {
    let abi = ABI::V9;
    let all = AccessFs::from_all(abi);
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort).scope(Scope::from_all(abi))?;
    if bounds.confinement.files != FileAccess::Full {
        rules = rules.handle_access(all)?;
    }
    let mut rules = rules.create()?;
    if bounds.confinement.files != FileAccess::Full {
        let mut open = vec![PathBuf::from("/tmp"), "/var/tmp".into(), "/dev".into(), "/run".into()];
        open.extend(places.home.iter().chain(&places.cargo).cloned());
        if bounds.confinement.files == FileAccess::WorkspaceWrite {
            open.push(bounds.workspace.clone());
        }
        let grants = [(PathBuf::from("/"), AccessFs::from_read(abi))].into_iter();
        for (path, access) in grants.chain(open.into_iter().map(|path| (path, all))) {
            if let Ok(folder) = PathFd::new::<&Path>(&path) {
                rules = rules.add_rule(PathBeneath::new(folder, access))?;
            }
        }
    }
    Ok(rules.restrict_self()?.landlock)
}
