//! Looking through a workspace for what git, shells, editors and agents run or obey: repositories, whatever they are called,
//! and files by their names.

use mainpath_types::{GUARDED, GUARDED_ANYWHERE, GUARDED_ENDINGS, HEAD, REPOSITORY, of_home};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Entries that are looked at at most, shallow ones first.
const MOST_ENTRIES: usize = 1_000_000;

/// Folders with other people's packages: nobody opens one in an editor, so names count for nothing in them. Repositories do.
const DEPENDENCIES: [&str; 6] = ["node_modules", "target", ".venv", "venv", "vendor", "site-packages"];

/// Where a repository keeps its content: so many folders that hold nothing else.
const CONTENT: [&str; 2] = ["objects", "logs"];

/// What of a workspace other programs run or obey: absolute paths, shallow ones first.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Folders that are repositories to git.
    pub repositories: Vec<PathBuf>,
    /// Files and links called `.git`.
    pub pointers: Vec<PathBuf>,
    /// Files and folders with a guarded name.
    pub names: Vec<PathBuf>,
    /// Where the workspace is a home: those at its top that shells and sessions may run or obey.
    pub of_home: Vec<PathBuf>,
    /// Files of sockets.
    pub sockets: Vec<PathBuf>,
    /// Whether everything was looked at.
    pub whole: bool,
}

/// Looks through a workspace, which may be a home, but not into the folders that are `hidden` from its commands.
pub(crate) fn search(workspace: &Path, hidden: &[PathBuf], is_home: bool) -> Found {
    let names = Names::new();
    let mut found = Found { whole: true, ..Found::default() };
    let mut folders = VecDeque::from([Folder { path: workspace.into(), named: true, in_repository: false }]);
    let mut looked_at = 0;
    while let Some(folder) = folders.pop_front() {
        let Ok(entries) = fs::read_dir(&folder.path) else { continue };
        let entries: Vec<fs::DirEntry> = entries.flatten().collect();
        looked_at += entries.len();
        if looked_at > MOST_ENTRIES {
            found.whole = false;
            return found;
        }
        let has = |name: &str| entries.iter().any(|entry| is(&entry.file_name(), name));
        let is_repository = folder.path.file_name().is_some_and(|name| is(name, REPOSITORY))
            || has(HEAD) && (has("objects") && has("refs") || has("commondir"));
        if is_repository {
            found.repositories.push(folder.path.clone());
        }
        for entry in entries {
            let name = entry.file_name();
            let kind = entry.file_type();
            let is_folder = kind.as_ref().is_ok_and(FileType::is_dir);
            if kind.is_ok_and(|kind| kind.is_socket()) {
                found.sockets.push(entry.path());
            }
            if is(&name, REPOSITORY) && !is_folder {
                found.pointers.push(entry.path());
                continue;
            }
            let at_top = folder.path == workspace;
            if at_top && is_home && of_home(&name.to_string_lossy()) && !hidden.contains(&entry.path()) {
                found.of_home.push(entry.path());
            }
            let guarded = if folder.named { names.of(&entry.path(), &name, at_top) } else { Vec::new() };
            let is_named = guarded.iter().any(|path| *path == entry.path());
            found.names.extend(guarded);
            let is_content = is_repository && CONTENT.iter().any(|content| is(&name, content));
            if !is_folder || is_content || hidden.contains(&entry.path()) {
                continue;
            }
            let in_repository = is_repository || folder.in_repository;
            let packages = DEPENDENCIES.iter().any(|packages| name == *packages);
            let named = folder.named && !is_named && !in_repository && !packages && !is(&name, REPOSITORY);
            folders.push_back(Folder { path: entry.path(), named, in_repository });
        }
    }
    found
}

struct Folder {
    path: PathBuf,
    /// Whether names count in it.
    named: bool,
    in_repository: bool,
}

/// Some file systems do not tell letters by their case.
fn is(name: &OsStr, wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted)
}

/// The guarded names, by their first step.
struct Names {
    top: BTreeMap<String, Vec<&'static str>>,
    anywhere: BTreeMap<String, Vec<&'static str>>,
}

impl Names {
    fn new() -> Names {
        let by_first = |names: &'static [&'static str]| {
            let mut by_first: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
            for name in names {
                let (first, rest) = name.split_once('/').unwrap_or((name, ""));
                by_first.entry(first.to_ascii_lowercase()).or_default().push(rest);
            }
            by_first
        };
        Names { top: by_first(GUARDED), anywhere: by_first(GUARDED_ANYWHERE) }
    }

    /// The guarded paths that begin with this entry.
    fn of(&self, path: &Path, name: &OsStr, at_top: bool) -> Vec<PathBuf> {
        let name = name.to_string_lossy().to_ascii_lowercase();
        let top = self.top.get(&name).filter(|_| at_top);
        let rests = top.into_iter().chain(self.anywhere.get(&name)).flatten();
        let by_ending = GUARDED_ENDINGS.iter().any(|ending| name.ends_with(ending)).then_some(&"");
        let whole = |rest: &&str| if rest.is_empty() { path.to_path_buf() } else { path.join(rest) };
        let paths = rests.chain(by_ending).map(whole);
        paths.filter(|path| path.symlink_metadata().is_ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn made(paths: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for path in paths {
            fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
            match path.strip_suffix('/') {
                Some(folder) => fs::create_dir(top.join(folder)).unwrap(),
                None => fs::write(top.join(path), "").unwrap(),
            }
        }
        (folder, top)
    }

    fn names(top: &Path, found: &[PathBuf]) -> Vec<String> {
        let mut names: Vec<String> =
            found.iter().map(|path| path.strip_prefix(top).unwrap().display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn repositories_are_known_by_their_shape_at_any_depth() {
        let (_folder, top) = made(&[
            ".git/config",
            ".git/objects/HEAD",
            "a/b/c/d/e/.git/HEAD",
            "bare/HEAD",
            "bare/objects/x",
            "bare/refs/x",
            "node_modules/p/tree/HEAD",
            "node_modules/p/tree/commondir",
            "no/HEAD",
            "no/objects/x",
            ".vscode/x/.GIT/HEAD",
            "sub/.git",
        ]);
        symlink("bare", top.join("a/.git")).unwrap();
        let found = search(&top, &[], false);
        let wanted = [".git", ".vscode/x/.GIT", "a/b/c/d/e/.git", "bare", "node_modules/p/tree"];
        assert_eq!(names(&top, &found.repositories), wanted);
        assert_eq!(names(&top, &found.pointers), ["a/.git", "sub/.git"]);
        assert!(found.whole);
    }

    #[test]
    fn names_count_where_programs_look_for_them() {
        let (_folder, top) = made(&[
            ".bashrc",
            "sub/.bashrc",
            "sub/.envrc",
            "sub/Own.code-workspace",
            ".hg/hgrc",
            ".hg/store/x",
            "sub/deep/agents.md",
            ".github/workflows/ci.yml",
            ".github/README.md",
            ".cargo/config.toml",
            ".vscode/AGENTS.md",
            "node_modules/p/AGENTS.md",
            ".git/AGENTS.md",
            "own/AGENTS.md",
            ".mainpath/",
        ]);
        let found = search(&top, &[top.join("own")], false);
        let wanted = [
            ".bashrc",
            ".cargo/config.toml",
            ".github/workflows",
            ".hg/hgrc",
            ".mainpath",
            ".vscode",
            "sub/.envrc",
            "sub/Own.code-workspace",
            "sub/deep/agents.md",
        ];
        assert_eq!(names(&top, &found.names), wanted);
    }
}
