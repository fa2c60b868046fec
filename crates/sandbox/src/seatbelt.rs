//! The cage as a profile of macOS's Seatbelt, for `/usr/bin/sandbox-exec -p PROFILE COMMAND…`.
//!
//! Seatbelt denies what no rule allows and takes the last rule that fits. Its language is not documented by Apple; the
//! operations used here are those of the profiles that macOS itself keeps in `/System/Library/Sandbox/Profiles`.

use crate::cage::{Bounds, Cage};
use crate::own_home::SECRETS;
use mainpath_types::{FileAccess, GUARDED, GUARDED_ANYWHERE, OF_REPOSITORY, REPOSITORY};
use std::path::Path;

/// The profile for a cage, with `home` as the home of its user; `None` for an open cage.
pub fn profile(cage: &Cage, home: &Path) -> Option<String> {
    let Bounds { confinement, workspace, own, shown, .. } = cage.bounds.as_ref()?;
    let mut text = String::from(BASE);
    let mut rule = |line: String| text.extend([line.as_str(), "\n"]);
    match confinement.files {
        FileAccess::Full => rule("(allow file-read* file-write*)".into()),
        FileAccess::ReadOnly | FileAccess::WorkspaceWrite => {
            rule("(allow file-read*)".into());
            rule(format!("(deny file-read* {})", subpath(home)));
            rule(format!("(allow file-read-metadata {})", subpath(home)));
            for name in crate::home::READABLE.iter().chain(crate::home::CACHES) {
                rule(format!("(allow file-read* {})", subpath(&home.join(name))));
            }
            rule(format!("(allow file-read* {})", subpath(workspace)));
            for folder in shown {
                rule(format!("(allow file-read* {})", subpath(folder)));
            }
            for secret in SECRETS {
                rule(format!("(deny file-read* {})", subpath(&home.join(secret))));
            }
            for folder in ["/private/tmp", "/private/var/tmp", "/private/var/folders"] {
                rule(format!("(allow file-write* {})", subpath(Path::new(folder))));
            }
            rule(r#"(allow file-write* (regex #"^/dev/(null|zero|tty|ptmx|ttys[0-9]+|fd/[0-9]+)$"))"#.into());
        }
    }
    if confinement.files == FileAccess::WorkspaceWrite {
        rule(format!("(allow file-write* {})", subpath(workspace)));
        for name in GUARDED.iter().chain(GUARDED_ANYWHERE) {
            rule(format!("(deny file-write* {})", subpath(&workspace.join(name))));
        }
        // Shells and sessions obey what is hidden in a home. Its repository is guarded like any other.
        if home.starts_with(workspace) {
            let start = in_pattern(home);
            rule(format!(r##"(deny file-write* (regex #"^{start}/(\.|[Bb][Ii][Nn](/|$))"))"##));
            rule(format!("(allow file-write* {})", subpath(&home.join(REPOSITORY))));
        }
        for at in [workspace.as_path(), home] {
            for name in OF_REPOSITORY {
                rule(format!("(deny file-write* {})", subpath(&at.join(REPOSITORY).join(name))));
            }
        }
        // The folder itself can be neither moved nor removed.
        rule(format!("(deny file-write-unlink (literal {}))", quoted(&workspace.join(REPOSITORY))));
    }
    if confinement.network {
        rule("(allow network-outbound network-inbound system-socket)".into());
        rule("(deny network-outbound (remote unix-socket))".into());
        rule(r#"(allow network-outbound (literal "/private/var/run/mDNSResponder"))"#.into());
    } else {
        rule(r#"(allow network* (local ip "localhost:*") (remote ip "localhost:*"))"#.into());
    }
    for own in own {
        rule(format!("(deny file-read* file-write* {})", subpath(own)));
    }
    Some(text)
}

const BASE: &str = "\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))
(allow pseudo-tty)
(allow file-ioctl (regex #\"^/dev/(tty|ptmx|ttys[0-9]+)$\"))
(allow ipc-posix-sem ipc-posix-shm)
";

fn subpath(path: &Path) -> String {
    format!("(subpath {})", quoted(path))
}

/// A path as a part of a regular expression.
fn in_pattern(path: &Path) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/_-".contains(letter) || !letter.is_ascii();
    // A class needs no backslash, which would depend on how the expression is quoted.
    let each = |letter: char| match letter {
        letter if is_plain(letter) => letter.to_string(),
        '^' | '\\' | '"' => ".".into(),
        letter => format!("[{letter}]"),
    };
    path.to_string_lossy().chars().map(each).collect()
}

/// A string of the profile's language.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::Confinement;

    fn lines(files: FileAccess, network: bool) -> Vec<String> {
        let cage = Cage::new(Confinement { files, network }, "/work/a \"b\"", vec!["/Users/u/.mainpath".into()]);
        let text = profile(&cage, Path::new("/Users/u")).unwrap();
        text.strip_prefix(BASE).unwrap().lines().map(String::from).collect()
    }

    #[test]
    fn what_is_not_allowed_is_denied_and_an_open_cage_has_no_profile() {
        assert!(BASE.starts_with("(version 1)\n(deny default)\n"));
        assert_eq!(profile(&Cage::open(), Path::new("/Users/u")), None);
    }

    #[test]
    fn a_full_cage_still_hides_mainpaths_own_files() {
        let wanted = [
            "(allow file-read* file-write*)",
            "(allow network-outbound network-inbound system-socket)",
            "(deny network-outbound (remote unix-socket))",
            r#"(allow network-outbound (literal "/private/var/run/mDNSResponder"))"#,
            r#"(deny file-read* file-write* (subpath "/Users/u/.mainpath"))"#,
        ];
        assert_eq!(lines(FileAccess::Full, true), wanted);
    }

    #[test]
    fn a_workspace_is_writable_but_for_what_others_run_and_only_if_the_mode_says_so() {
        let writable = r#"(allow file-write* (subpath "/work/a \"b\""))"#.to_string();
        let hooks = r#"(deny file-write* (subpath "/work/a \"b\"/.git/hooks"))"#.to_string();
        let pinned = r#"(deny file-write-unlink (literal "/work/a \"b\"/.git"))"#.to_string();
        let write = lines(FileAccess::WorkspaceWrite, false);
        let at = |line: &String| write.iter().position(|found| found == line).unwrap();
        // The last rule that fits decides.
        assert!(at(&writable) < at(&hooks) && at(&writable) < at(&pinned));
        let own = r#"(deny file-read* file-write* (subpath "/Users/u/.mainpath"))"#.to_string();
        assert_eq!(at(&own), write.len() - 1);
        let read = lines(FileAccess::ReadOnly, false);
        assert!(!read.iter().any(|line| line.contains("file-write*") && line.contains("/work")));
    }

    #[test]
    fn what_shells_obey_in_a_home_inside_the_workspace_is_not_writable() {
        let write = Confinement { files: FileAccess::WorkspaceWrite, network: false };
        for workspace in ["/Users", "/Users/u.v"] {
            let text = profile(&Cage::new(write, workspace, vec![]), Path::new("/Users/u.v")).unwrap();
            let at = |line: &str| text.find(line).unwrap_or_else(|| panic!("{line} is missing in {text}"));
            let denied = at(r##"(deny file-write* (regex #"^/Users/u[.]v/(\.|[Bb][Ii][Nn](/|$))"))"##);
            let repository = at(r#"(allow file-write* (subpath "/Users/u.v/.git"))"#);
            let hooks = at(r#"(deny file-write* (subpath "/Users/u.v/.git/hooks"))"#);
            assert!(denied < repository && repository < hooks);
        }
        assert!(!lines(FileAccess::WorkspaceWrite, false).iter().any(|line| line.contains("[Bb]")));
    }

    #[test]
    fn a_home_is_hidden_but_for_toolchains_and_never_its_secrets() {
        let read = lines(FileAccess::ReadOnly, false);
        let at = |line: &str| read.iter().position(|found| found == line).unwrap();
        let hidden = at(r#"(deny file-read* (subpath "/Users/u"))"#);
        assert!(hidden < at(r#"(allow file-read* (subpath "/Users/u/.cargo"))"#));
        assert!(
            at(r#"(allow file-read* (subpath "/Users/u/.cargo"))"#)
                < at(r#"(deny file-read* (subpath "/Users/u/.cargo/credentials.toml"))"#)
        );
    }

    #[test]
    fn without_the_network_only_this_machine_answers() {
        assert!(
            lines(FileAccess::Full, false)
                .contains(&r#"(allow network* (local ip "localhost:*") (remote ip "localhost:*"))"#.into())
        );
    }
}
