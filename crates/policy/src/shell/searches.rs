//! Programs that search the folder they start in where no word names another place: `grep -r`, `rg`.

use super::Word;

/// How a search program takes its words.
struct Search {
    names: &'static [&'static str],
    /// True if it searches folders without an option that says so.
    recursive: bool,
    /// True if it searches its standard input instead where that is a pipe.
    reads_pipe: bool,
    /// Letters of options that take a value.
    values: &'static str,
    /// Letters and names of options that give the pattern, so that every operand is a place.
    patterns: (&'static str, &'static [&'static str]),
    /// Long options that take no value in the next word. Any other one may take it.
    flags: &'static [&'static str],
}

/// From the manuals of GNU grep 3.11, ripgrep 14; the_silver_searcher, ack and ugrep take their words alike.
const SEARCHES: [Search; 3] = [
    Search {
        names: &["grep", "egrep", "fgrep", "rgrep", "pcregrep", "pcre2grep"],
        recursive: false,
        reads_pipe: true,
        values: "ABCDdmef",
        patterns: ("ef", &["--regexp", "--file"]),
        flags: &[
            "--basic-regexp",
            "--byte-offset",
            "--color",
            "--colour",
            "--count",
            "--dereference-recursive",
            "--extended-regexp",
            "--files-with-matches",
            "--files-without-match",
            "--fixed-strings",
            "--ignore-case",
            "--invert-match",
            "--line-number",
            "--line-regexp",
            "--no-filename",
            "--no-messages",
            "--null",
            "--only-matching",
            "--perl-regexp",
            "--quiet",
            "--recursive",
            "--silent",
            "--text",
            "--with-filename",
            "--word-regexp",
        ],
    },
    Search {
        names: &["rg"],
        recursive: true,
        reads_pipe: true,
        values: "ABCEMTdefgjmrt",
        patterns: ("ef", &["--regexp", "--file"]),
        flags: &[
            "--case-sensitive",
            "--count",
            "--files",
            "--files-with-matches",
            "--files-without-match",
            "--fixed-strings",
            "--heading",
            "--hidden",
            "--ignore-case",
            "--invert-match",
            "--json",
            "--line-number",
            "--line-regexp",
            "--multiline",
            "--no-heading",
            "--no-ignore",
            "--no-filename",
            "--no-line-number",
            "--only-matching",
            "--pcre2",
            "--smart-case",
            "--text",
            "--vimgrep",
            "--with-filename",
            "--word-regexp",
        ],
    },
    Search {
        names: &["ag", "ack", "ack-grep", "ugrep", "ug"],
        recursive: true,
        reads_pipe: false,
        values: "ABCDGJKMOWdefghkmpt",
        patterns: ("", &[]),
        flags: &["--count", "--files-with-matches", "--hidden", "--ignore-case", "--literal", "--nocolor", "--nogroup"],
    },
];

/// Returns true if a program searches the folder that it starts in, as far as its words do not certainly name another place. `piped`: it reads
/// what another one prints.
pub(super) fn searches_folder(name: &str, words: &[Word], piped: bool) -> bool {
    let Some(search) = SEARCHES.iter().find(|search| search.names.contains(&name)) else { return false };
    let found = search.of(words);
    let recursive = search.recursive || name == "rgrep" || found.recursive;
    // `grep -r` searches the folder also where its input is a pipe.
    let reads_pipe = piped && search.reads_pipe && !found.recursive && name != "rgrep";
    recursive && !reads_pipe && found.operands < if found.has_pattern { 1 } else { 2 }
}

/// What the words of a search say.
#[derive(Default)]
struct Found {
    /// An option gives the pattern.
    has_pattern: bool,
    /// An option makes it search folders.
    recursive: bool,
    /// Words that certainly are operands.
    operands: usize,
}

impl Search {
    fn of(&self, words: &[Word]) -> Found {
        let mut found = Found::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if text == "--" {
                found.operands += words.by_ref().filter(|word| !word.many).count();
                break;
            }
            let mut takes_next = false;
            if let Some(long) = text.strip_prefix("--") {
                let (named, has_value) = text.split_once('=').map_or((text, false), |(named, _)| (named, true));
                found.has_pattern |= self.patterns.1.contains(&named);
                found.recursive |= long.starts_with("rec") || long.starts_with("der") || long.ends_with("recurse");
                takes_next = !has_value && !self.flags.contains(&named);
            } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                let value = letters.char_indices().find(|(_, letter)| self.values.contains(*letter));
                let (flags, valued) = letters.split_at(value.map_or(letters.len(), |(at, _)| at));
                found.recursive |= flags.contains(['r', 'R']) || valued.ends_with("recurse");
                found.has_pattern |= value.is_some_and(|(_, letter)| self.patterns.0.contains(letter));
                takes_next = valued.len() == 1;
            } else {
                found.operands += usize::from(!word.many);
            }
            if takes_next && let Some(value) = words.next() {
                found.recursive |= value.text == "recurse";
            }
        }
        found
    }
}
