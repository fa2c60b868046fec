//! What the next cage will be made of, told before its command is known: most often the same as the last one.

use crate::home::{CACHES, EMPTY, KEPT, READABLE};
use crate::own_home::{SECRETS, own_home};
use crate::plan::Plan;
use crate::supervise::GracePeriods;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a cage is made of, and what of the machine it depends on that nobody can see from inside. Of two that are equal the
/// cages are alike, as far as the cage itself finds that it still holds (see `ready.rs`).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Forecast {
    /// The plan without its command, and of the environment what names places. The guards are those found for it.
    pub plan: Plan,
    /// Where the names lead from which the tree takes its paths.
    real: Vec<Option<PathBuf>>,
    /// Which files and folders lie where the tree takes some from: device, number and kind.
    there: Vec<Option<(u64, u64, u32)>>,
}

impl Forecast {
    /// Looks at the machine as it is now. `None` for a plan without a cage.
    pub fn of(plan: &Plan) -> Option<Forecast> {
        let bounds = plan.cage.bounds.as_ref()?;
        let env = plan.env.iter().filter(|(name, _)| name == "HOME" || name == "CARGO_HOME").cloned().collect();
        let home = plan.var("HOME").and_then(own_home);
        let names = plan.var("CARGO_HOME").map(Path::new).into_iter().chain([Path::new("/etc/resolv.conf")]);
        let names = names.chain(bounds.own.iter().map(PathBuf::as_path));
        let mut real: Vec<Option<PathBuf>> = names.map(|name| name.canonicalize().ok()).collect();
        let at_home = |names: &'static [&'static str]| {
            home.iter().flat_map(|home| names.iter().map(|name| home.join(name))).collect::<Vec<_>>()
        };
        let lent = at_home(READABLE).into_iter().chain(at_home(CACHES)).chain(KEPT.iter().map(PathBuf::from));
        let lent = lent.chain(home.clone()).chain(real.iter().flatten().cloned()).chain([bounds.workspace.clone()]);
        let lent = lent.map(|path| path.metadata());
        // Secrets lie in folders whose changes from outside a cache need not notice.
        let themselves = at_home(SECRETS).into_iter().chain(EMPTY.iter().map(PathBuf::from));
        let there = lent.chain(themselves.map(|path| path.symlink_metadata())).map(identity).collect();
        real.push(home);
        let cage = plan.cage.clone();
        // The grace periods are no part of a cage.
        let grace = GracePeriods::default();
        let plan = Plan { cage, words: Vec::new(), folder: "/".into(), env, limited: plan.limited, grace };
        Some(Forecast { plan, real, there })
    }
}

fn identity(found: io::Result<Metadata>) -> Option<(u64, u64, u32)> {
    let found = found.ok()?;
    Some((found.dev(), found.ino(), found.mode() & 0o170_000))
}
