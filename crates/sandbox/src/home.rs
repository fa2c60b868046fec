//! What of a person's home is to be seen inside a cage, and which folders hold the sockets of other programs.

use crate::own_home::own_home;
use crate::plan::Plan;
use crate::sockets::sockets;
use mainpath_types::FileAccess;
use rustix::process::Pid;
use std::path::{Path, PathBuf};

/// Read-only inside: toolchains and what git needs to commit. Everything else of a home is not there.
pub(crate) const READABLE: &[&str] = &[
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/mise",
    ".local/share/fnm",
    ".rustup",
    ".pyenv",
    ".rbenv",
    ".nodenv",
    ".nvm",
    ".volta",
    ".asdf",
    ".bun",
    ".deno",
    ".sdkman",
    ".jdks",
    ".dotnet",
    ".juliaup",
    ".ghcup",
    ".opam",
    ".elan",
    ".nix-profile",
    ".linuxbrew",
    "miniconda3",
    "miniforge3",
    "anaconda3",
    "go/bin",
    "sdk",
    ".cache/ms-playwright",
    ".cache/puppeteer",
];

/// Readable, and writable without a trace: what is written lies over the original and is gone with the cage.
pub(crate) const CACHES: &[&str] = &[
    ".cargo",
    ".npm",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    "go/pkg",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    ".nuget/packages",
];

/// Secrets of the machine, which a process of root could read without any privilege, and its debugging interfaces.
pub(crate) const OF_ROOT: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/NetworkManager/system-connections",
    "/etc/wireguard",
    "/var/spool/cron",
    "/var/lib/docker",
    "/var/lib/containers",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
];

/// Folders that are empty inside: other people's homes, the sockets of services. Temporary folders are fresh ones.
pub(crate) const EMPTY: &[&str] = &["/run", "/var/run", "/home", "/root"];

/// What of them is needed all the same: how names are resolved, and where NixOS and Homebrew keep programs.
pub(crate) const KEPT: &[&str] = &["/run/current-system", "/run/opengl-driver", "/home/linuxbrew/.linuxbrew"];

/// Variables that point to sockets and folders which do not exist inside.
pub(crate) const VARIABLES: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "LISTEN_FDS",
    "LISTEN_PID",
    "NOTIFY_SOCKET",
    "TMUX",
    "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE",
];

/// Variables that name the folder for temporary files; inside that is `/tmp`.
pub(crate) const TEMPORARY: &[&str] = &["TMPDIR", "TMP", "TEMP", "TEMPDIR"];

/// Places of the machine that a tree is made of, found before it is begun.
#[derive(Default)]
pub(crate) struct Places {
    pub home: Option<PathBuf>,
    /// Where cargo is told to keep its things.
    pub cargo: Option<PathBuf>,
    /// The sockets of the machine that have a path.
    pub sockets: Vec<PathBuf>,
    /// Where the home and Mainpath's own folders are mounted once more.
    pub aliases: Vec<PathBuf>,
}

impl Places {
    /// Those that the environment of a plan names.
    /// `outside`: a process of the machine's network.
    pub fn of(plan: &Plan, outside: Pid) -> Places {
        let home = plan.var("HOME").and_then(own_home);
        let cargo = plan.var("CARGO_HOME").and_then(|path| Path::new(path).canonicalize().ok());
        let bounds = plan.cage.bounds.iter();
        let own = bounds.clone().flat_map(|bounds| &bounds.own).filter_map(|own| own.canonicalize().ok());
        let confined = bounds.clone().any(|bounds| bounds.confinement.files != FileAccess::Full);
        let hidden: Vec<PathBuf> = own.chain(home.clone().filter(|_| confined)).collect();
        let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        let mounts = String::from_utf8_lossy(&mounts);
        let aliases = hidden.iter().flat_map(|path| aliases(path, &mounts)).collect();
        Places { home, cargo, sockets: sockets(outside), aliases }
    }
}

/// The other paths that lead to what lies at a path, by the list of mounts.
fn aliases(path: &Path, mounts: &str) -> Vec<PathBuf> {
    // Number, parent, device, root within it, where it is mounted, and more. Blanks are written as octal numbers; a mount
    // with one is not understood here.
    let mounts: Vec<(&str, &Path, &Path)> = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(2);
            Some((fields.next()?, Path::new(fields.next()?), Path::new(fields.next()?)))
        })
        .collect();
    // Of several at one place the last one is seen.
    let nearest = |path: &Path| {
        let above = mounts.iter().filter(|(_, _, at)| path.starts_with(at));
        above.max_by_key(|(_, _, at)| at.components().count()).copied()
    };
    let Some((device, root, at)) = nearest(path) else { return Vec::new() };
    let inner = root.join(path.strip_prefix(at).unwrap_or(path));
    let others = mounts.iter().filter(|(other, _, _)| *other == device).filter_map(|(_, root, at)| {
        let rest = inner.strip_prefix(root).ok()?;
        let alias = if rest == Path::new("") { at.to_path_buf() } else { at.join(rest) };
        // Unless something else is mounted over it.
        (alias != path && nearest(&alias)? == (device, root, at)).then_some(alias)
    });
    others.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_twice_is_found_by_its_other_path() {
        let mounts = "22 27 0:21 / /proc rw - proc proc rw\n\
                      27 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n\
                      28 27 254:0 /home /mnt/data/homes rw - ext4 /dev/vda rw\n\
                      29 27 254:0 /home/u/.config /conf rw - ext4 /dev/vda rw\n\
                      30 27 254:1 / /home/v rw - ext4 /dev/vdb rw\n";
        let found = |path: &str| aliases(Path::new(path), mounts);
        assert_eq!(found("/home/u"), [Path::new("/mnt/data/homes/u")]);
        assert_eq!(
            found("/home/u/.config/mainpath"),
            ["/mnt/data/homes/u/.config/mainpath", "/conf/mainpath"].map(Path::new)
        );
        assert_eq!(found("/home/v"), [""; 0].map(Path::new));
        assert_eq!(found("/mnt/data/homes/u"), [Path::new("/home/u")]);
        assert_eq!(found("/proc/1"), [""; 0].map(Path::new));
    }
}
