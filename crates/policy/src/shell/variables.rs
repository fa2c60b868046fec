//! Variables that change what a command does.

use super::editor::is_plain_editor;

/// Beginnings of names: all that a loader or a version control system looks at.
const BEGINNINGS: [&str; 8] = ["LD_", "DYLD_", "GIT_", "BASH_FUNC_", "PYTHON", "NPM_CONFIG_", "npm_config_", "CARGO_"];

/// Names.
const NAMES: [&str; 45] = [
    "PATH",
    "BASH_ENV",
    "ENV",
    "IFS",
    "PS1",
    "PS2",
    "PS4",
    "MAILPATH",
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

/// Variables that hold a command which another program runs.
const COMMANDS: [&str; 25] = [
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_ASKPASS",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "RSYNC_RSH",
    "PROMPT_COMMAND",
    "LESSOPEN",
    "LESSCLOSE",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CC",
    "CXX",
    "MAKE",
];

/// Variables that have programs read commands from elsewhere.
const SOURCES: [&str; 13] = [
    "BASH_ENV",
    "ENV",
    "MAILPATH",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "TAR_OPTIONS",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "RIPGREP_CONFIG_PATH",
    "FZF_DEFAULT_COMMAND",
];

/// Variables that take a number: bash evaluates what they are set to (bash 5.2: `declare -i` and the special variables of its manual).
const NUMBERS: [&str; 10] = [
    "BASHPID",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "HISTCMD",
    "LINENO",
    "MAILCHECK",
    "OPTIND",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
];

/// Returns true if bash evaluates what a variable is set to.
pub(super) fn is_number(name: &str) -> bool {
    NUMBERS.contains(&name)
}

/// What setting a variable has other programs run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Runs<'a> {
    Nothing,
    Command(&'a str),
    Unclear,
}

/// What `name=value` has other programs run.
pub(super) fn runs(text: &str) -> Runs<'_> {
    let Some((_, value)) = text.split_once('=') else { return Runs::Nothing };
    let name = name(text);
    let value = value.trim();
    let names_settings = name.starts_with("GIT_CONFIG_KEY_")
        || matches!(name, "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM" | "GIT_CONFIG") && value != "/dev/null";
    let makes = matches!(name, "MAKEFLAGS" | "GNUMAKEFLAGS" | "MAKEFILES")
        && (name == "MAKEFILES" || ["eval", "SHELL", "-f"].iter().any(|part| value.contains(part)));
    match name {
        _ if value.is_empty() => Runs::Nothing,
        "MAILPATH" | "PS0" | "PS1" | "PS2" | "PS4" if !value.contains(['$', '`']) => Runs::Nothing,
        _ if SOURCES.contains(&name) || names_settings || makes || name.starts_with("BASH_FUNC_") => Runs::Unclear,
        _ if !COMMANDS.contains(&name) => Runs::Nothing,
        _ if value.contains(['$', '`', '…']) => Runs::Unclear,
        "GIT_SEQUENCE_EDITOR" | "GIT_EDITOR" | "VISUAL" | "EDITOR" if !is_plain_editor(value) => Runs::Unclear,
        _ => Runs::Command(value.trim_start_matches('|').trim_start_matches('-')),
    }
}

/// The name that `name=value`, `name+=value` or `name[i]=value` sets; the text itself where nothing is set.
pub(super) fn name(text: &str) -> &str {
    let end = text.find(['=', '[', '+']).unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

/// Whether setting the variable can make an innocent command do something else.
pub(super) fn is_telling(name: &str) -> bool {
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}
