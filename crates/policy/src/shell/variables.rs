//! Variables that change what a command does.

/// Beginnings of names: all that a loader or a version control system looks at.
const BEGINNINGS: [&str; 8] = ["LD_", "DYLD_", "GIT_", "BASH_FUNC_", "PYTHON", "NPM_CONFIG_", "npm_config_", "CARGO_"];

/// Names.
const NAMES: [&str; 42] = [
    "PATH",
    "BASH_ENV",
    "ENV",
    "IFS",
    "PS4",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "SHELL",
    "HOME",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "PERL5LIB",
    "PERL5OPT",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "NODE_OPTIONS",
    "NODE_PATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "CLASSPATH",
    "MAKEFLAGS",
    "MAKEFILES",
    "CC",
    "CXX",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
    "GOFLAGS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "XDG_CONFIG_HOME",
    "DOCKER_HOST",
    "KUBECONFIG",
];

/// The name that `name=value`, `name+=value` or `name[i]=value` sets; the text itself where nothing is set.
pub(super) fn name(text: &str) -> &str {
    let end = text.find(['=', '[', '+']).unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

/// Whether setting the variable can make an innocent command do something else.
pub(super) fn is_telling(name: &str) -> bool {
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}
