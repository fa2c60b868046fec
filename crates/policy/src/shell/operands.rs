//! The files that programs name among their arguments: what `rm a`, `cp a b` and `cat a` read and change.
//!
//! Only for programs that take files and little else, and only for what people forbid: see [`Opened`](crate::pattern::Opened).

use super::arguments::{Touched, has, operands, read, values, written};
use super::output_options::by_options;
use super::searches::searches_folder;
use super::{File, Simple, Word};

/// What a program does to the files among its words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Reads,
    /// The first word is a pattern or a script, unless an option gives it.
    ReadsAfterScript,
    Writes,
    /// The first word is a mode or an owner.
    WritesAfterFirst,
    /// All but the last are copied to the last.
    Copies,
    /// The same, and they are gone.
    Moves,
    /// They get other names: they are read and written.
    Renames,
}

/// Programs that read folders with all that is in them, without an option that says so.
const WHOLE: [&str; 9] = ["ack", "ag", "diff", "ln", "mv", "rg", "rgrep", "tar", "zip"];

const PROGRAMS: [(Does, &[&str]); 7] = [
    (
        Does::Reads,
        &[
            ".",
            "7z",
            "ar",
            "b2sum",
            "base32",
            "base64",
            "basenc",
            "bat",
            "batcat",
            "bzcat",
            "cat",
            "cksum",
            "cmp",
            "colordiff",
            "column",
            "comm",
            "csplit",
            "cut",
            "diff",
            "diff3",
            "ed",
            "ex",
            "expand",
            "fmt",
            "fold",
            "hd",
            "head",
            "hexdump",
            "iconv",
            "join",
            "less",
            "md5sum",
            "more",
            "nano",
            "nl",
            "nvim",
            "od",
            "paste",
            "pr",
            "ptx",
            "rev",
            "sdiff",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "shuf",
            "sort",
            "source",
            "split",
            "strings",
            "sum",
            "tac",
            "tail",
            "tsort",
            "unexpand",
            "uniq",
            "vi",
            "view",
            "vim",
            "wc",
            "xxd",
            "xzcat",
            "zcat",
            "zip",
            "zless",
            "zmore",
            "zstdcat",
        ],
    ),
    (
        Does::ReadsAfterScript,
        &[
            "ack",
            "ack-grep",
            "ag",
            "awk",
            "bzgrep",
            "egrep",
            "fgrep",
            "gawk",
            "grep",
            "gsed",
            "jq",
            "mawk",
            "nawk",
            "pcre2grep",
            "pcregrep",
            "rg",
            "rgrep",
            "sed",
            "ug",
            "ugrep",
            "xzgrep",
            "yq",
            "zgrep",
        ],
    ),
    (Does::Writes, &["mkdir", "mkfifo", "rm", "rmdir", "shred", "tee", "touch", "truncate", "unlink"]),
    (Does::WritesAfterFirst, &["chgrp", "chmod", "chown", "setfacl"]),
    (Does::Copies, &["cp", "install", "ln", "rsync", "scp"]),
    (Does::Moves, &["mv"]),
    // These replace a file by one of another name, unless they are told to keep it.
    (
        Does::Renames,
        &["bzip2", "compress", "exch", "file-rename", "gzip", "lz4", "mmv", "prename", "rename", "xz", "zstd"],
    ),
];

/// The files among the words of a command, as far as its program is known. `piped`: what it reads is given to it.
pub(super) fn files(simple: &Simple, piped: bool) -> Touched {
    let name = simple.program();
    let rest = simple.words.get(1..).unwrap_or_default();
    let Touched { operands: mut files, outputs } = by_options(name, rest);
    match name {
        "dd" => {
            files.extend(rest.iter().filter_map(|word| part(word, "if=")).map(read));
            files.extend(rest.iter().filter_map(|word| part(word, "of=")).map(written));
        }
        "git" => files.extend(git(rest)),
        "tar" | "bsdtar" => files.extend(packed(rest)),
        _ if searches_folder(name, rest, piped) => files.push(folder()),
        _ => {}
    }
    let does = PROGRAMS.iter().find(|(_, names)| names.contains(&name)).map(|(does, _)| *does);
    let named = does.map(|does| named(does, name, rest)).unwrap_or_default();
    let recursive = rest.iter().any(|word| has(word, 'r', "--recursive") || has(word, 'R', "--recursive"));
    let whole = recursive || rest.iter().any(|word| has(word, 'a', "--archive"));
    let is_whole = |file: &File| whole || WHOLE.contains(&name) && (!file.write || name == "mv");
    files.extend(named.into_iter().map(|file| File { whole: is_whole(&file), ..file }));
    Touched { operands: files, outputs }
}

/// The files among the words of a program that does this.
fn named(does: Does, name: &str, words: &[Word]) -> Vec<File> {
    let operands = operands(words);
    let after_first = operands.get(1..).unwrap_or_default();
    let gives = |letter, long| words.iter().any(|word| has(word, letter, long));
    let reads = |words: &[&Word]| -> Vec<File> { words.iter().map(|word| read((*word).clone())).collect() };
    let writes = |words: &[&Word]| -> Vec<File> { words.iter().map(|word| written((*word).clone())).collect() };
    match does {
        Does::Reads => reads(&operands),
        Does::ReadsAfterScript => {
            let has_script = gives('e', "--expression") || gives('e', "--regexp") || gives('f', "--file");
            let files = if has_script { &operands } else { after_first };
            let in_place = matches!(name, "sed" | "gsed") && gives('i', "--in-place");
            [reads(files), if in_place { writes(files) } else { Vec::new() }].concat()
        }
        Does::Writes => writes(&operands),
        Does::WritesAfterFirst => writes(after_first),
        Does::Copies | Does::Moves => {
            let Some((last, before)) = operands.split_last() else { return Vec::new() };
            // Where a `t` among the letters of an option means something else, the last word is the target all the same.
            let folders = ["--target-directory", "-t"].iter().flat_map(|option| values(words, option));
            let targets: Vec<Word> = folders.chain([(*last).clone()]).collect();
            let from = if targets.len() > 1 { operands.as_slice() } else { before };
            let into = targets.iter().flat_map(|to| from.iter().map(|word| written(below(to, word))));
            let into: Vec<File> = targets.iter().cloned().map(written).chain(into).collect();
            // Under its new name a file can be read.
            [into, reads(from), if does == Does::Moves { writes(from) } else { Vec::new() }].concat()
        }
        Does::Renames => {
            let keeps = gives('k', "--keep") || gives('c', "--stdout");
            [reads(&operands), if keeps { Vec::new() } else { writes(&operands) }].concat()
        }
    }
}

/// The folder that a command starts in, with all that is in it.
fn folder() -> File {
    File { whole: true, ..read(Word::fixed(".")) }
}

/// Subcommands of `git` that change files that they are told by name.
const GIT_WRITES: [&str; 4] = ["rm", "mv", "restore", "checkout"];

/// Subcommands of `git` that print text of files, or store it under a name, that they are told by name.
const GIT_READS: [&str; 10] =
    ["annotate", "archive", "blame", "cat-file", "diff", "difftool", "grep", "hash-object", "log", "show"];

/// What `git` itself does to files that it is told by name.
fn git(words: &[Word]) -> Vec<File> {
    let known = |word: &Word| GIT_WRITES.contains(&word.text.as_str()) || GIT_READS.contains(&word.text.as_str());
    let Some(at) = words.iter().position(known) else { return Vec::new() };
    let (before, rest) = words.split_at(at);
    let Some((subcommand, rest)) = rest.split_first() else { return Vec::new() };
    let whole = |file: File| File { whole: true, ..file };
    let named = || operands(rest).into_iter().cloned();
    let mut files: Vec<File> = Vec::new();
    if GIT_WRITES.contains(&subcommand.text.as_str()) {
        files.extend(named().map(written).map(whole));
    }
    if subcommand.text == "mv" || GIT_READS.contains(&subcommand.text.as_str()) {
        // `HEAD:FILE`, `-L1,9:FILE`
        let of_revision = rest.iter().filter_map(|word| {
            let (_, text) = word.text.rsplit_once(':')?;
            Some(Word { text: text.into(), ..word.clone() })
        });
        files.extend(named().chain(of_revision).map(read).map(whole));
    }
    let is_everything = match subcommand.text.as_str() {
        // Without `--` a word may be a revision, whose files are all searched.
        "grep" => {
            let end = rest.iter().position(|word| word.text == "--").map_or(rest.len(), |end| end + 1);
            let places = rest.get(end..).unwrap_or_default();
            places.is_empty() || places.iter().any(|word| word.many || word.text.starts_with(':'))
        }
        "archive" => operands(rest).len() < 2,
        _ => false,
    };
    files.extend(is_everything.then(folder));
    // `git -C FOLDER` starts there.
    let starts = values(before, "-C").into_iter().chain(values(before, "--work-tree"));
    let elsewhere: Vec<File> = starts.flat_map(|start| files.iter().map(move |file| seen_from(&start, file))).collect();
    [files, elsewhere].concat()
}

/// A file that a command names which starts in another folder.
fn seen_from(start: &Word, file: &File) -> File {
    let path = match file.path.text.starts_with(['/', '~']) {
        true => file.path.clone(),
        false => {
            let text = format!("{}/{}", start.text.trim_end_matches('/'), file.path.text);
            Word { text, fixed: start.fixed && file.path.fixed, many: start.many || file.path.many }
        }
    };
    File { path, ..file.clone() }
}

/// What `tar` puts into an archive.
fn packed(words: &[Word]) -> Vec<File> {
    let letters = words.first().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-'));
    let makes = letters.is_some_and(|letters| letters.contains(['c', 'r', 'u']))
        || words
            .iter()
            .any(|word| has(word, 'c', "--create") || has(word, 'r', "--append") || has(word, 'u', "--update"));
    if !makes {
        return Vec::new();
    }
    let folders = values(words, "-C").into_iter().chain(values(words, "--directory"));
    let named = operands(words).into_iter().cloned().chain(folders);
    named.map(|word| File { whole: true, ..read(word) }).collect()
}

/// What stands after a prefix in a word.
fn part(word: &Word, prefix: &str) -> Option<Word> {
    let text = word.text.strip_prefix(prefix)?;
    Some(Word { text: text.into(), ..word.clone() })
}

/// The file in a folder that gets the name of another.
fn below(folder: &Word, file: &Word) -> Word {
    let name = file.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let text = format!("{}/{name}", folder.text.trim_end_matches('/'));
    Word { text, ..file.clone() }
}
