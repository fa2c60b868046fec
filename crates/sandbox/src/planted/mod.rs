//! What a command has left for git, shells, editors and agents to run or obey: found by comparing what there was of the kind
//! before it and after it. Nothing of it stays: it is taken aside, or loses what is not known to be harmless.
//!
//! A repository is known by its shape (`search.rs`). What git itself writes into a new one stays, so `git init`, `git clone`,
//! `git worktree add` and `git submodule add` work.
//!
//! What this cannot do: who changed a file, the command or somebody else while it ran, nobody can tell; both are taken.

use crate::aside::Aside;
use crate::gitconfig::harmless;
use crate::search::{Found, search};
use crate::short_text::{LINE, text_of};
use mainpath_types::{REPOSITORY, guarded};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// What is kept of files, so that they can be put back: of one, and of all.
const MOST_OF_ONE: usize = 64 * 1024;
const MOST_OF_ALL: usize = 16 * 1024 * 1024;
/// Files that are looked at in one folder with a guarded name.
const MOST_IN_FOLDER: usize = 1_000;
/// Names that are written out.
const MOST_NAMES: usize = 20;

/// What a command has left that other programs would run or obey: paths from the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planted {
    /// Taken aside; what was there before, if anything was, is there again.
    pub taken: Vec<String>,
    /// Left there without what is not known to be harmless; the whole lies with what was taken.
    pub cleaned: Vec<String>,
    /// New or replaced, and still there.
    pub told: Vec<String>,
    /// Where what was taken lies.
    pub folder: Option<PathBuf>,
    /// There were too many files to look at all of them.
    pub not_all: bool,
}

impl Planted {
    /// What there is to tell, a sentence each. With the folder for people; a model has no use for it.
    pub fn sentences(&self, for_people: bool) -> Vec<String> {
        let mut sentences = Vec::new();
        let place = match &self.folder {
            Some(folder) if for_people => format!("; the original is in {}", folder.display()),
            _ => String::new(),
        };
        let mut say = |names: &[String], begin: &str, end: &str| {
            if !names.is_empty() {
                sentences.push(format!("{begin}: {}{end}", listed(names)));
            }
        };
        let next = match for_people {
            true => place.clone(),
            false => "; if it is wanted, write it with a file tool, which asks the user".into(),
        };
        say(
            &self.taken,
            "moved out of the workspace, because git, shells, editors or agents would run or obey it outside of the sandbox",
            &next,
        );
        say(&self.cleaned, "git settings and steps that could run programs were removed from", &place);
        say(&self.told, "new or replaced in the workspace, and run or obeyed by git, shells, editors or agents", "");
        if self.not_all {
            let text = "the workspace has too many files to look at all of them for what git, shells, editors or agents would run";
            sentences.push(text.into());
        }
        sentences
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(MOST_NAMES).map(|name| on_one_line(name)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A name without line breaks: what comes after one could be taken for a line of ours.
fn on_one_line(name: &str) -> String {
    let spelled = |c: char| if c.is_control() { format!("<U+{:04X}>", u32::from(c)) } else { c.to_string() };
    name.chars().map(spelled).collect()
}

/// Something that other programs run or obey.
struct Item {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A file or folder with a guarded name.
    Named,
    /// The settings of a repository.
    Settings,
    Hook,
    /// `commondir`: where git looks for settings and hooks instead.
    Common,
    /// The steps of an interrupted rebase, of which some run commands.
    Steps,
    /// What an interrupted rebase or cherry-pick merges with: git runs `git-merge-NAME`.
    Strategy,
    /// A file or link `.git`.
    Pointer,
    /// Where secrets lie: it is told.
    Told,
}

/// Everything of the kind that there is.
fn items(workspace: &Path, found: &Found, told: &[PathBuf]) -> Vec<Item> {
    let item = |kind: Kind| move |path: PathBuf| Item { path, kind };
    let mut items: Vec<Item> = Vec::new();
    for path in &found.names {
        items.push(item(Kind::Named)(path.clone()));
        // At the top a folder is held, or new and taken as a whole.
        if path.parent() != Some(workspace) && path.symlink_metadata().is_ok_and(|it| it.is_dir()) {
            let mut inside = Vec::new();
            files_in(path, &mut inside);
            items.extend(inside.into_iter().map(item(Kind::Named)));
        }
    }
    let of_home = found.of_home.iter().filter(|path| !found.names.contains(path));
    items.extend(of_home.cloned().map(item(Kind::Named)));
    items.extend(found.pointers.iter().cloned().map(item(Kind::Pointer)));
    for folder in &found.repositories {
        items.extend(["config", "config.worktree"].map(|name| item(Kind::Settings)(folder.join(name))));
        items.push(item(Kind::Common)(folder.join("commondir")));
        items.push(item(Kind::Steps)(folder.join("rebase-merge/git-rebase-todo")));
        let strategies = ["rebase-merge/strategy", "rebase-apply/strategy", "sequencer/opts"];
        items.extend(strategies.map(|name| item(Kind::Strategy)(folder.join(name))));
        let hooks = folder.join("hooks");
        match hooks.symlink_metadata() {
            Ok(it) if it.is_dir() => {
                let names = fs::read_dir(&hooks).into_iter().flatten().flatten().map(|entry| entry.path());
                let runs = names.filter(|path| path.extension().is_none_or(|end| end != "sample"));
                items.extend(runs.map(item(Kind::Hook)));
            }
            _ => items.push(item(Kind::Hook)(hooks)),
        }
    }
    items.extend(told.iter().cloned().map(item(Kind::Told)));
    items
}

fn files_in(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if files.len() == MOST_IN_FOLDER {
            return;
        }
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => files_in(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}

/// The strategies that are part of git (git-merge(1), "MERGE STRATEGIES"). Any other is a program `git-merge-NAME`.
const STRATEGIES: [&str; 6] = ["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// The strategies that a file of an interrupted rebase or cherry-pick names: as its whole text, or as settings of git in `opts`.
fn strategies_in(path: &Path, text: &str) -> Vec<String> {
    if path.file_name().is_some_and(|name| name != "opts") {
        return vec![text.trim().into()];
    }
    let setting = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let name = name.rsplit(']').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case("strategy").then(|| value.trim().trim_matches('"').to_string())
    };
    // A line that goes on in the next one would hide a value.
    if text.contains("\\\n") {
        return vec![String::new()];
    }
    text.lines().filter_map(setting).collect()
}

/// Which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    device: u64,
    number: u64,
    kind: u32,
}

/// Which file, as of when: whatever is done to it changes the second part, which nobody can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp(Identity, (i64, i64));

fn stamp(path: &Path) -> Option<Stamp> {
    let found = path.symlink_metadata().ok()?;
    let identity = Identity { device: found.dev(), number: found.ino(), kind: found.mode() & 0o170_000 };
    Some(Stamp(identity, (found.ctime(), found.ctime_nsec())))
}

/// What there was before a command.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    files: BTreeMap<PathBuf, (Stamp, Option<String>)>,
    /// What is read-only in the cage.
    held: BTreeMap<PathBuf, Identity>,
    repositories: BTreeSet<PathBuf>,
    told: Vec<PathBuf>,
    whole: bool,
}

impl Seen {
    /// `held`: what the command cannot change. `told`: what is only told if it is new.
    pub fn of(workspace: &Path, found: &Found, held: &BTreeSet<PathBuf>, told: Vec<PathBuf>) -> Seen {
        let held = held.iter().filter_map(|path| Some((path.clone(), stamp(path)?.0))).collect();
        let repositories = found.repositories.iter().chain(&found.pointers).cloned().collect();
        let mut seen = Seen { files: BTreeMap::new(), held, repositories, told, whole: found.whole };
        let mut kept = 0;
        for Item { path, .. } in items(workspace, found, &seen.told) {
            let Some(stamp) = stamp(&path).filter(|_| !seen.is_held(&path)) else { continue };
            let text = text_of(&path, MOST_OF_ONE).filter(|text| kept + text.len() < MOST_OF_ALL);
            kept += text.as_ref().map_or(0, String::len);
            seen.files.insert(path, (stamp, text));
        }
        seen
    }

    /// Whether it is held, or lies in what is.
    fn is_held(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.held.contains_key(above))
    }
}

/// What was to be guarded before a command.
#[derive(Debug)]
pub(crate) struct Watch {
    workspace: PathBuf,
    own: Vec<PathBuf>,
    is_home: bool,
    seen: Seen,
}

impl Watch {
    pub fn new(workspace: &Path, own: &[PathBuf], is_home: bool, seen: Seen) -> Watch {
        Watch { workspace: workspace.into(), own: own.to_vec(), is_home, seen }
    }

    /// Looks again after it, and takes aside what the command has left. `name`: the command's, for the folder.
    pub fn settle(&self, name: &str) -> Planted {
        let after = search(&self.workspace, &self.own, self.is_home);
        let replaced = self.seen.held.iter().filter(|(path, was)| stamp(path).is_some_and(|is| is.0 != **was));
        let mut settling = Settling {
            watch: self,
            after: &after,
            repositories: after.repositories.iter().map(PathBuf::as_path).collect(),
            aside: Aside {
                workspace: &self.workspace,
                folder: self.own.first().map(|own| unused(&own.join("aside"), name)),
            },
            planted: Planted { not_all: !after.whole || !self.seen.whole, ..Planted::default() },
        };
        replaced.for_each(|(path, _)| settling.tell(path));
        let moved: BTreeSet<Stamp> = self.seen.files.values().map(|(stamp, _)| *stamp).collect();
        for item in items(&self.workspace, &after, &self.seen.told) {
            let Some(now) = stamp(&item.path) else { continue };
            let was = self.seen.files.get(&item.path);
            let is_folder = item.path.symlink_metadata().is_ok_and(|it| it.is_dir());
            let is_same = was.is_some_and(|(was, _)| *was == now || is_folder && was.0 == now.0);
            // It has been moved with a folder above it.
            let is_moved = item.kind == Kind::Named
                && (moved.contains(&now) || is_folder && moved.iter().any(|was| was.0 == now.0));
            if !is_same && !is_moved && !self.seen.is_held(&item.path) {
                settling.settle(&item);
            }
        }
        let Settling { aside, mut planted, .. } = settling;
        [&mut planted.taken, &mut planted.cleaned, &mut planted.told].into_iter().for_each(|names| names.sort());
        planted.folder = aside.folder.filter(|_| !planted.taken.is_empty() || !planted.cleaned.is_empty());
        planted
    }
}

/// A path that is not there yet.
fn unused(folder: &Path, name: &str) -> PathBuf {
    let name = name.replace('/', "-");
    let numbered = (1..10_000).map(|number| folder.join(format!("{name}-{number}")));
    numbered.into_iter().find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| folder.join(&name))
}

struct Settling<'a> {
    watch: &'a Watch,
    after: &'a Found,
    repositories: BTreeSet<&'a Path>,
    aside: Aside<'a>,
    planted: Planted,
}

impl Settling<'_> {
    fn settle(&mut self, item: &Item) {
        let path = &item.path;
        match item.kind {
            Kind::Told => self.tell(path),
            Kind::Named if self.in_new_repository(path) => self.tell(path),
            Kind::Named | Kind::Hook => self.take(path),
            Kind::Pointer if self.leads_to_repository(path) => {}
            Kind::Common if self.is_of_worktree(path) => {}
            Kind::Pointer | Kind::Common => self.take(path),
            Kind::Settings => {
                let inside = |value: &str| self.is_inside(path, value);
                match text_of(path, MOST_OF_ONE) {
                    None => self.take(path),
                    Some(text) => {
                        if let Some(clean) = harmless(&text, self.before(path).unwrap_or_default(), &inside) {
                            self.replace(path, &clean);
                        }
                    }
                }
            }
            Kind::Strategy => {
                let names = text_of(path, MOST_OF_ONE).map(|text| strategies_in(path, &text));
                if names.is_none_or(|names| names.iter().any(|name| !STRATEGIES.contains(&name.as_str()))) {
                    self.take(path);
                }
            }
            Kind::Steps => {
                let runs = |line: &str| matches!(line.split_whitespace().next(), Some("x" | "exec"));
                let text = text_of(path, MOST_OF_ALL).unwrap_or_default();
                if text.lines().any(runs) {
                    let line = |line: &str| if runs(line) { format!("# {line}\n") } else { format!("{line}\n") };
                    self.replace(path, &text.lines().map(line).collect::<String>());
                }
            }
        }
    }

    fn before(&self, path: &Path) -> Option<&str> {
        self.watch.seen.files.get(path).and_then(|(_, text)| text.as_deref())
    }

    /// Whether a named file lies in a repository below the workspace's top that the command has made: it came with it.
    fn in_new_repository(&self, path: &Path) -> bool {
        let workspace = self.watch.workspace.as_path();
        let above = path.ancestors().skip(1).take_while(|above| *above != workspace);
        let is_new = |folder: &Path| {
            let at = folder.join(REPOSITORY);
            let is_there = self.repositories.contains(at.as_path()) || self.after.pointers.contains(&at);
            is_there && !self.watch.seen.repositories.contains(&at)
        };
        let in_its_own_right = |folder: &&Path| {
            let text = path.strip_prefix(folder).map(|rest| rest.to_string_lossy().into_owned());
            text.is_ok_and(|text| guarded(&text).is_some())
        };
        above.into_iter().filter(in_its_own_right).any(is_new)
    }

    /// Whether a file or link `.git` leads to a repository of the workspace, which has been looked at itself.
    fn leads_to_repository(&self, path: &Path) -> bool {
        let is_link = path.symlink_metadata().is_ok_and(|it| it.is_symlink());
        let named = || {
            let text = text_of(path, LINE)?;
            Some(path.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
        };
        let to = if is_link { Some(path.to_path_buf()) } else { named() };
        to.and_then(|to| to.canonicalize().ok()).is_some_and(|to| self.repositories.contains(to.as_path()))
    }

    /// Whether a `commondir` is that of a further working tree, which shares what its repository has.
    fn is_of_worktree(&self, path: &Path) -> bool {
        let mut above = path.ancestors().skip(2);
        let is_worktrees = above.next().and_then(Path::file_name).is_some_and(|name| name == "worktrees");
        let repository = above.next().is_some_and(|folder| self.repositories.contains(folder));
        is_worktrees && repository && text_of(path, LINE).is_some_and(|text| text.trim_end() == "../..")
    }

    /// Whether a path in a repository's settings stays in the workspace.
    fn is_inside(&self, settings: &Path, value: &str) -> bool {
        let mut place = settings.parent().unwrap_or(settings).to_path_buf();
        for step in Path::new(value).components() {
            match step {
                Component::ParentDir => drop(place.pop()),
                Component::CurDir => {}
                Component::Normal(_) | Component::RootDir | Component::Prefix(_) => place.push(step),
            }
        }
        let real = place.canonicalize().unwrap_or(place);
        real.starts_with(&self.watch.workspace)
    }

    /// Takes it aside and puts back what was there before.
    fn take(&mut self, path: &Path) {
        let before = self.before(path).map(str::to_string);
        let done = match &before {
            Some(before) => self.aside.replace(path, before),
            None => self.aside.take(path),
        };
        match done {
            Ok(()) => self.planted.taken.push(self.name(path)),
            Err(_) => self.tell(path),
        }
    }

    fn replace(&mut self, path: &Path, content: &str) {
        match self.aside.replace(path, content) {
            Ok(()) => self.planted.cleaned.push(self.name(path)),
            Err(_) => self.tell(path),
        }
    }

    fn tell(&mut self, path: &Path) {
        self.planted.told.push(self.name(path));
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.watch.workspace).unwrap_or(path).display().to_string()
    }
}

#[cfg(test)]
mod tests;
