//! Patterns for files.

use super::error::PatternError;
use super::fit::{Fit, Folders, Reading};
use crate::glob::Glob;
use mainpath_types::guarded;

/// In the place of a path: the files that other programs run or obey by themselves.
const GUARDED: &str = ":guarded";

/// `src/**` from the workspace on, `/etc/**` from the root, `~/.ssh/**` from the user's home.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    glob: Glob,
    from: From,
    /// For `folder/**`: the folder itself, which a wide reading takes in.
    folder: Option<Glob>,
    /// For `folder`, a name that is written out: what is in it, which a wide reading takes in as well.
    contents: Option<Glob>,
    /// What it begins with, up to its first sign that stands for others.
    beginning: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Workspace,
    Root,
    /// The pattern begins with `**/`: a wide reading finds it in every folder of the machine.
    Anywhere,
    /// No pattern: [`GUARDED`] stands in its place.
    Guarded,
}

/// A file that a call touches.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    /// What it is called, surest first. Never empty.
    pub texts: Vec<PlaceText<'a>>,
    /// As it was written.
    pub written: &'a str,
    /// Whether it is to be changed.
    pub write: bool,
    /// Whether that goes for all that is in it, if it is a folder.
    pub whole: bool,
    /// Whether it is read as well as changed.
    pub reads_too: bool,
    /// Whether it is certain which file is meant.
    pub certain: bool,
    /// Whether git would obey it, because of a folder above it that has the shape of a repository.
    pub in_repository: bool,
    /// Whether it lies in the workspace.
    pub inside: bool,
    /// Who opens it.
    pub opened: Opened,
    /// Whether the sandbox holds whoever opens it.
    pub confined: bool,
}

/// Who opens a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// The tool itself.
    Tool,
    /// A shell, for a redirection.
    Shell,
    /// A program that a shell starts and that names it as an argument. It needs no permission beside the command's; what people
    /// forbid counts.
    Command,
}

/// One way to name a file.
#[derive(Clone, Debug)]
pub(crate) struct PlaceText<'a> {
    /// From the root, or from the home with `~/`.
    pub absolute: std::borrow::Cow<'a, str>,
    /// From the workspace, if it lies there.
    pub relative: Option<std::borrow::Cow<'a, str>>,
}

impl PathPattern {
    /// Reads a pattern. Errors: what is wrong.
    pub fn parse(text: &str, folders: &Folders) -> Result<PathPattern, PatternError> {
        if text == GUARDED {
            return Ok(PathPattern {
                glob: Glob::path(text)?,
                from: From::Guarded,
                folder: None,
                contents: None,
                beginning: String::new(),
            });
        }
        let text = text.strip_prefix("./").unwrap_or(text);
        let steps = |text: &str| text.split('/').any(|step| step == "..");
        if steps(text) {
            return Err(PatternError::Climbs(text.into()));
        }
        let from_above;
        let text = match text.starts_with(['/', '~']) || text.starts_with("**/") || folders.above.is_empty() {
            true => text,
            false => {
                from_above = format!("{}/{text}", escape_folder(&folders.above));
                &from_above
            }
        };
        let workspace = escape_folder(&folders.workspace);
        let copy_of = escape_folder(&folders.copy_of);
        let below = |folder: &str, text: &str| {
            let below = text.strip_prefix(folder)?.strip_prefix('/').filter(|_| !folder.is_empty());
            below.map(String::from)
        };
        let (from, text) = match text {
            _ if text.starts_with("~/") && folders.home.is_empty() => (From::Root, text.to_string()),
            _ if text.starts_with("~/") => {
                (From::Root, format!("{}{}", escape_folder(&folders.home), text.get(1..).unwrap_or_default()))
            }
            _ if text.starts_with('/') => match below(&workspace, text) {
                Some(below) => (From::Workspace, below),
                None => (From::Root, text.to_string()),
            },
            _ if text.starts_with("**/") => (From::Anywhere, text.to_string()),
            _ => (From::Workspace, text.to_string()),
        };
        // A rule about the folder is one about its copy.
        let (from, text) = match below(&copy_of, &text) {
            Some(below) => (From::Workspace, below),
            None => (from, text),
        };
        let folder = text.strip_suffix("/**").filter(|folder| !folder.is_empty());
        let is_name =
            text.rsplit('/').next().is_some_and(|last| !last.is_empty() && !last.contains(['*', '?', '[', '{']));
        let contents = is_name.then(|| Glob::path(&format!("{text}/**"))).transpose()?;
        let beginning = text.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default().into();
        let folder = folder.map(Glob::path).transpose()?;
        Ok(PathPattern { glob: Glob::path(&text)?, from, folder, contents, beginning })
    }

    /// Whether what it means lies in this folder, so that whoever moves or removes the folder does so to that as well.
    fn is_below(&self, folder: &PlaceText<'_>) -> bool {
        let folder = match self.from {
            From::Workspace => folder.relative.as_deref(),
            From::Root => Some(folder.absolute.as_ref()),
            From::Anywhere | From::Guarded => None,
        };
        let below = |folder: &str| self.beginning.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        folder.is_some_and(|folder| folder.is_empty() || below(folder))
    }

    /// How well it fits a file.
    pub fn fit(&self, place: &Place<'_>, reading: Reading) -> Fit {
        let wide = reading == Reading::Wide;
        let others = [&self.folder, &self.contents];
        let matches = |text: &str| {
            self.glob.matches(text) || wide && others.into_iter().flatten().any(|other| other.matches(text))
        };
        // In the sandbox such files cannot be changed: there is nothing to ask about.
        if self.from == From::Guarded && place.confined {
            return Fit::No;
        }
        let named = |text: &PlaceText<'_>| {
            let inside = match self.from {
                From::Guarded => place.in_repository || text.relative.as_deref().and_then(guarded).is_some(),
                From::Root => false,
                From::Workspace | From::Anywhere => text.relative.as_deref().is_some_and(matches),
            };
            let outside = match self.from {
                From::Root => matches(&text.absolute),
                From::Anywhere => wide && matches(text.absolute.trim_start_matches('/')),
                From::Workspace | From::Guarded => false,
            };
            inside || outside
        };
        match (place.texts.split_first(), reading) {
            (None, _) => Fit::No,
            (Some((surest, _)), Reading::Strict) => Fit::from(place.certain && named(surest)),
            (Some((surest, further)), Reading::Wide) => match named(surest) || further.iter().any(named) {
                true => Fit::Yes,
                false if place.whole && place.texts.iter().any(|text| self.is_below(text)) => Fit::Maybe,
                false if place.certain => Fit::No,
                false => Fit::Maybe,
            },
        }
    }
}

fn escape_folder(folder: &str) -> String {
    crate::glob::escaped(folder.trim_end_matches('/'))
}

/// The path without `.`, `..` and doubled slashes, by its letters alone. `None` if it climbs out of its beginning.
pub(crate) fn plain(path: &str) -> Option<String> {
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()?),
            step => steps.push(step),
        }
    }
    let joined = steps.join("/");
    Some(if path.starts_with('/') { format!("/{joined}") } else { joined })
}
