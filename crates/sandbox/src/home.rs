//! What of a person's home is to be seen inside a cage, and which folders hold the sockets of other programs.

use std::ffi::OsString;
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

/// Secrets within those, and those of a home that is itself the workspace.
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

/// Secrets of the machine, which a process of root could read without any privilege, and its debugging interfaces.
pub(crate) const OF_ROOT: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
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

/// The last word of names of variables that hold secrets.
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "PAT",
    "COOKIE",
];

/// The variables of this process whose names say that they hold secrets, whatever they hold.
pub fn secret_variables() -> impl Iterator<Item = OsString> {
    let is_secret = |name: &OsString| {
        let name = name.to_string_lossy().to_ascii_uppercase();
        let mut words = name.rsplit('_');
        let last = words.next().unwrap_or_default();
        // The working folder of shells.
        SECRET_WORDS.contains(&last) && !["PWD", "OLDPWD"].contains(&name.as_str())
    };
    std::env::vars_os().map(|(name, _)| name).filter(is_secret)
}

/// Variables that name the folder for temporary files; inside that is `/tmp`.
pub(crate) const TEMPORARY: &[&str] = &["TMPDIR", "TMP", "TEMP", "TEMPDIR"];

/// The home of whoever runs this, without links; `None` where it is no folder of one's own.
pub(crate) fn home() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?).canonicalize().ok()?;
    let system = ["/", "/usr", "/etc", "/bin", "/sbin", "/lib", "/var", "/dev", "/proc", "/sys", "/run", "/tmp"];
    let is_system = system.iter().any(|path| home == Path::new(path));
    (!is_system && home.is_dir() && !["/dev", "/proc", "/sys"].iter().any(|path| home.starts_with(path)))
        .then_some(home)
}
