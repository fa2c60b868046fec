//! What a command line makes a shell do, part by part.
//!
//! A line is parsed by `rable` (rable 0.2.2, a parser for the grammar of bash 5.3) and taken apart into the simple commands
//! that it holds, wherever they stand, and the files that it redirects to. What only the running shell could know stays
//! unknown and says so: a [`Word`] that is not `fixed`, a line that is `unclear`. Nothing here decides anything.

mod arguments;
mod editor;
mod files_run;
mod folder;
mod git;
mod inner;
mod launchers;
mod limits;
mod operands;
mod output_options;
mod own_files;
mod read;
mod runners;
mod script;
mod searches;
mod sed;
mod shells;
mod subcommands;
mod text;
mod variables;
mod word;
mod wrappers;

pub(crate) use files_run::{files_run, unversioned};
pub(crate) use script::{File, Script, Simple};
pub(crate) use subcommands::subcommands;
pub(crate) use word::Word;

use read::Reader;

/// Takes a command line apart. Any text is taken: one that is no shell language is unclear as a whole.
pub(crate) fn read(line: &str) -> Script {
    let mut reader = Reader::default();
    reader.line(line);
    reader.done()
}

#[cfg(test)]
mod tests;
