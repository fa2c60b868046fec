//! A home of one's own, and the secrets in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Secrets within a home's folders that are shown, and those of a home that is itself the workspace.
pub(crate) const SECRETS: &[&str] = &[
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".git-credentials",
    ".config/git/credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
];

/// Returns true if a folder, without links, is the home of the user who runs this program.
pub fn is_home(folder: &Path) -> bool {
    std::env::var_os("HOME").and_then(|home| own_home(&home)).is_some_and(|home| home == folder)
}

/// The home of the user who runs this program, as a path from a folder without links that it is, or that holds it.
pub fn home_below(folder: &Path) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").and_then(|home| own_home(&home))?;
    home.strip_prefix(folder).ok().map(PathBuf::from)
}

/// A home without links; `None` where it is no folder of one's own.
pub(crate) fn own_home(home: &OsStr) -> Option<PathBuf> {
    let home = Path::new(home).canonicalize().ok()?;
    let system = ["/", "/usr", "/etc", "/bin", "/sbin", "/lib", "/var", "/dev", "/proc", "/sys", "/run", "/tmp"];
    let is_system = system.iter().any(|path| home == Path::new(path));
    (!is_system && home.is_dir() && !["/dev", "/proc", "/sys"].iter().any(|path| home.starts_with(path)))
        .then_some(home)
}
