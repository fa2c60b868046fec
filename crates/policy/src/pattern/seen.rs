//! Commands as patterns see them.

use super::fit::Folders;
use super::path::plain;
use crate::shell::{Simple, Word, files_run, subcommands, unversioned};

/// A command, with the other ways to write it: rules that deny or ask are read widely.
#[derive(Clone, Debug)]
pub(crate) struct Seen<'a> {
    /// As it stands.
    pub simple: &'a Simple,
    /// Words that come to the same: without the program's folder or version, without options before the subcommand, the name of a
    /// script that it runs.
    pub others: Vec<Vec<Word>>,
    /// The files that it runs with their arguments, seen from the workspace or from the root (`true`).
    pub files: Vec<(bool, Vec<Word>)>,
    /// The same by their names, where it is not known in which folder they are.
    pub strays: Vec<Vec<Word>>,
}

impl<'a> Seen<'a> {
    /// Looks at a command.
    pub fn new(simple: &'a Simple, folders: &Folders) -> Seen<'a> {
        let mut seen = Seen { simple, others: Vec::new(), files: Vec::new(), strays: Vec::new() };
        let Some((program, all)) = simple.words.split_first() else { return seen };
        let is_option = |word: &Word| word.text.len() > 1 && word.text.starts_with(['-', '+']);
        let mut rests: Vec<&[Word]> = Vec::new();
        // Every word that may be the subcommand: those before it are options or the values of options.
        let mut at = 1;
        while simple.words.get(at).is_some_and(is_option) && rests.len() < 16 {
            at += 1;
            if simple.words.get(at).is_some_and(|word| !is_option(word)) {
                rests.extend([simple.words.get(at..), simple.words.get(at + 1..)].into_iter().flatten());
                at += 1;
            }
        }
        seen.others.extend(rests.iter().map(|rest| with_first(program.clone(), rest)));
        if program.fixed {
            let mut names = vec![simple.program(), unversioned(simple.program())];
            names.retain(|name| *name != program.text);
            names.dedup();
            rests.push(all);
            for name in names {
                seen.others.extend(rests.iter().map(|rest| with_first(Word::fixed(name), rest)));
            }
            seen.others.extend(subcommands(unversioned(simple.program()), all));
        }
        seen.add_files(folders);
        seen
    }

    /// Adds the files that the command runs.
    fn add_files(&mut self, folders: &Folders) {
        let words = &self.simple.words;
        let at = &self.simple.folders;
        let mut found = files_run(self.simple);
        if at.finds_anywhere && found.is_empty() {
            found.push(0);
        }
        for index in found {
            let (Some(file), Some(rest)) = (words.get(index), words.get(index + 1..)) else { continue };
            if !file.fixed {
                continue;
            }
            let name = Word::fixed(file.text.rsplit('/').next().unwrap_or_default());
            self.others.push(with_first(name.clone(), rest));
            let is_bare = index == 0 && !file.text.contains('/');
            let is_relative = !file.text.starts_with(['/', '~']);
            if is_bare || at.unknown && is_relative || file.text.starts_with("/proc/") {
                self.strays.push(with_first(name, rest));
            }
            for place in at.places(&file.text).filter(|_| !is_bare) {
                let forms = forms(&place, folders).into_iter().map(|form| {
                    let is_absolute = form.starts_with(['/', '~']);
                    (is_absolute, with_first(Word::fixed(form), rest))
                });
                self.files.extend(forms);
            }
        }
    }
}

/// The ways to write a path that a line names, from the workspace on, from the home and from the root.
fn forms(path: &str, folders: &Folders) -> Vec<String> {
    let home = folders.home.trim_end_matches('/');
    let workspace = folders.workspace.trim_end_matches('/');
    let whole = match (path.strip_prefix("~/"), path.starts_with('/')) {
        (Some(below), _) if !home.is_empty() => format!("{home}/{below}"),
        (Some(_), _) | (None, true) => path.into(),
        (None, false) => format!("{workspace}/{path}"),
    };
    let Some(absolute) = plain(&whole) else { return Vec::new() };
    let copy_of = folders.copy_of.trim_end_matches('/');
    let here = match workspace.is_empty() && !path.starts_with(['/', '~']) {
        true => absolute.strip_prefix('/'),
        false => below(&absolute, workspace).or_else(|| below(&absolute, copy_of)),
    };
    let source = here.filter(|_| !copy_of.is_empty()).map(|here| format!("{copy_of}/{here}"));
    let at_home = |path: &str| below(path, home).map(|below| format!("~/{below}"));
    [here.map(String::from), source.as_deref().and_then(at_home), at_home(&absolute), source, Some(absolute)]
        .into_iter()
        .flatten()
        .collect()
}

/// The path from a folder on, if it is in that.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder).filter(|_| !folder.is_empty())?.strip_prefix('/')
}

fn with_first(first: Word, rest: &[Word]) -> Vec<Word> {
    std::iter::once(&first).chain(rest).cloned().collect()
}
