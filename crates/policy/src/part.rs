//! A call, taken apart into what is judged on its own: its commands, its files, its addresses, and the call itself.

use crate::pattern::{Address, Folders, Opened, Place, PlaceText, Seen, plain};
use crate::shell::{File, Script, Word};
use crate::{CallFacts, PathFact};
use serde_json::Value;
use std::borrow::Cow;

/// A part of a call.
#[derive(Clone, Debug)]
pub(crate) enum Part<'a> {
    /// The call with its arguments.
    Call(&'a Value),
    /// A command of a shell.
    Command(&'a Seen<'a>),
    /// Commands that print, and those that read it. It needs no permission of its own.
    Flow(&'a [Seen<'a>], &'a [Seen<'a>]),
    /// Commands that nobody can tell beforehand, and why.
    Unclear(&'a str),
    /// A file.
    Path(Place<'a>),
    /// An address, and how it was written.
    Address(Address, &'a str),
}

impl Part<'_> {
    /// The part in a few words, as the subject of a sentence.
    pub fn describe(&self, tool: &str) -> String {
        match self {
            Part::Call(_) => format!("a call of {tool}"),
            Part::Command(seen) => format!("the command {:?}", short(&seen.simple.text())),
            Part::Flow(from, to) => {
                let first = |all: &[Seen<'_>]| all.first().map(|seen| short(&seen.simple.text())).unwrap_or_default();
                format!("piping {:?} into {:?}", first(from), first(to))
            }
            Part::Unclear(why) => format!("a command line that cannot be fully read ({why})"),
            Part::Path(place) => {
                format!("{} {:?}", if place.write { "changing" } else { "reading" }, short(place.written))
            }
            Part::Address(_, url) => format!("a request to {:?}", short(url)),
        }
    }
}

/// The text, cut where it gets long.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into(),
    }
}

/// The parts of a call. `scripts` are its command lines, taken apart, `seen` their commands.
pub(crate) fn parts<'a>(
    facts: &'a CallFacts,
    scripts: &'a [Script],
    seen: &'a [Vec<Seen<'a>>],
    folders: &Folders,
) -> Vec<Part<'a>> {
    let mut parts = vec![Part::Call(&facts.arguments)];
    for (script, seen) in scripts.iter().zip(seen) {
        parts.extend(seen.iter().map(Part::Command));
        parts.extend(script.unclear.iter().map(|why| Part::Unclear(why)));
        for (from, to) in &script.flows {
            if let (Some(from), Some(to)) = (seen.get(from.clone()), seen.get(to.clone())) {
                parts.push(Part::Flow(from, to));
            }
        }
        let files = script.files.iter().map(|file| (file, Opened::Shell));
        let files = files.chain(script.operands.iter().map(|file| (file, Opened::Command)));
        parts.extend(files.map(|(file, opened)| Part::Path(named(file, opened, facts.confined, folders))));
    }
    parts.extend(facts.paths.iter().map(|fact| Part::Path(resolved(fact, &facts.tool, folders))));
    parts.extend(facts.urls.iter().map(|fact| Part::Address(Address::new(fact), &fact.url)));
    parts
}

/// Tools whose results hold nothing of the files that they change: neither their old text nor a part of it.
const WRITES_ONLY: [&str; 2] = ["write_text_file", "take_changes"];

/// A file that a tool opens: the caller knows which one it is.
pub(crate) fn resolved<'a>(fact: &'a PathFact, tool: &str, folders: &Folders) -> Place<'a> {
    let surest =
        PlaceText { absolute: Cow::Borrowed(&fact.absolute), relative: fact.relative.as_deref().map(Cow::Borrowed) };
    // A link has a name too, and a rule may be about that.
    let written = written(&fact.path, folders).filter(|written| written.absolute != fact.absolute);
    let source = in_source(fact.relative.as_deref(), folders);
    Place {
        texts: std::iter::once(surest).chain(written).chain(source).collect(),
        written: &fact.path,
        write: fact.write,
        whole: false,
        reads_too: fact.write && !WRITES_ONLY.contains(&tool),
        certain: true,
        in_repository: fact.in_repository,
        inside: fact.in_workspace(),
        opened: Opened::Tool,
        confined: false,
    }
}

/// A file that a command line names: only its letters are known, links are not.
fn named<'a>(file: &'a File, opened: Opened, confined: bool, folders: &Folders) -> Place<'a> {
    let Word { text, fixed, .. } = &file.path;
    let named = written(text, folders);
    let certain = *fixed && named.is_some();
    let source = in_source(named.as_ref().and_then(|named| named.relative.as_deref()), folders);
    Place {
        certain,
        in_repository: false,
        inside: certain && named.as_ref().is_some_and(|named| is_inside(named, folders)),
        texts: std::iter::once(named.unwrap_or(PlaceText { absolute: Cow::Borrowed(text), relative: None }))
            .chain(source)
            .collect(),
        written: text,
        write: file.write,
        whole: file.whole,
        reads_too: false,
        opened,
        confined,
    }
}

/// A file of a copy, by the name that it has in what that is a copy of.
fn in_source(relative: Option<&str>, folders: &Folders) -> Option<PlaceText<'static>> {
    let relative = relative.filter(|_| !folders.copy_of.is_empty())?;
    let absolute = format!("{}/{relative}", folders.copy_of.trim_end_matches('/'));
    Some(PlaceText { absolute: Cow::Owned(absolute), relative: Some(Cow::Owned(relative.to_string())) })
}

/// Whether a file lies in the workspace, which what that is a copy of does not.
fn is_inside(named: &PlaceText<'_>, folders: &Folders) -> bool {
    let workspace = folders.workspace.trim_end_matches('/');
    named.relative.is_some() && std::path::Path::new(named.absolute.as_ref()).starts_with(workspace)
}

/// The file by the letters of its path alone. `None` if it leads out of the workspace by `..`, or to another's home.
fn written(path: &str, folders: &Folders) -> Option<PlaceText<'static>> {
    let workspace = folders.workspace.trim_end_matches('/');
    let whole = match path.strip_prefix("~/") {
        Some(below) if !folders.home.is_empty() => format!("{}/{below}", folders.home),
        // The home of another, or of somebody that is not known here: a shell knows where that is.
        _ if path.starts_with('~') => return None,
        _ if path.starts_with('/') => path.into(),
        _ => format!("{workspace}/{}", plain(path)?),
    };
    let absolute = plain(&whole)?;
    let below = |folder: &str| {
        let below = absolute.strip_prefix(folder).filter(|_| !folder.is_empty())?;
        let is_below = below.is_empty() || below.starts_with('/');
        is_below.then(|| Cow::Owned(below.trim_start_matches('/').to_string()))
    };
    // What is denied in a copy is denied in what it is a copy of.
    let relative = below(workspace).or_else(|| below(folders.copy_of.trim_end_matches('/')));
    Some(PlaceText { relative, absolute: Cow::Owned(absolute) })
}
