//! The files that programs name among their arguments: what `rm a`, `cp a b` and `cat a` read and change.
//!
//! Only for programs that take files and little else, and only for what people forbid: see [`Opened`](crate::pattern::Opened).

use super::arguments::{Touched, has, operands, read, values, written};
use super::output_options::by_options;
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
}

const PROGRAMS: [(Does, &[&str]); 6] = [
    (
        Does::Reads,
        &[
            "base32",
            "base64",
            "bat",
            "cat",
            "cmp",
            "comm",
            "cut",
            "diff",
            "fold",
            "head",
            "hexdump",
            "less",
            "md5sum",
            "more",
            "nl",
            "od",
            "paste",
            "rev",
            "sha1sum",
            "sha256sum",
            "sha512sum",
            "shuf",
            "sort",
            "strings",
            "tac",
            "tail",
            "uniq",
            "wc",
            "xxd",
            "zcat",
        ],
    ),
    (Does::ReadsAfterScript, &["awk", "egrep", "fgrep", "gawk", "grep", "gsed", "jq", "mawk", "rg", "sed"]),
    (Does::Writes, &["mkdir", "mkfifo", "rm", "rmdir", "shred", "tee", "touch", "truncate", "unlink"]),
    (Does::WritesAfterFirst, &["chgrp", "chmod", "chown", "setfacl"]),
    (Does::Copies, &["cp", "install", "ln", "rsync", "scp"]),
    (Does::Moves, &["mv"]),
];

/// The files among the words of a command, as far as its program is known.
pub(super) fn files(simple: &Simple) -> Touched {
    let name = simple.program();
    let rest = simple.words.get(1..).unwrap_or_default();
    let Touched { operands: mut files, outputs } = by_options(name, rest);
    match name {
        "dd" => {
            files.extend(rest.iter().filter_map(|word| part(word, "if=")).map(read));
            files.extend(rest.iter().filter_map(|word| part(word, "of=")).map(written));
        }
        "git" => files.extend(git(rest)),
        _ => {}
    }
    let does = PROGRAMS.iter().find(|(_, names)| names.contains(&name)).map(|(does, _)| *does);
    let named = does.map(|does| named(does, name, rest)).unwrap_or_default();
    let recursive = rest.iter().any(|word| has(word, 'r', "--recursive") || has(word, 'R', "--recursive"));
    let whole = recursive || matches!(name, "rg" | "mv") || rest.iter().any(|word| has(word, 'a', "--archive"));
    files.extend(named.into_iter().map(|file| File { whole, ..file }));
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
            [into, if does == Does::Moves { writes(from) } else { reads(from) }].concat()
        }
    }
}

/// What `git` itself does to files that it is told by name.
fn git(words: &[Word]) -> Vec<File> {
    let at = words.iter().position(|word| matches!(word.text.as_str(), "rm" | "mv" | "restore" | "checkout"));
    let below = at.and_then(|at| words.get(at + 1..)).unwrap_or_default();
    operands(below).into_iter().map(|word| File { whole: true, ..written(word.clone()) }).collect()
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
