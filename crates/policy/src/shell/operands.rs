//! The files that programs name among their arguments: what `rm a`, `cp a b` and `cat a` read and change.
//!
//! Only for programs that take files and little else, and only for what people forbid: see [`Opened`](crate::pattern::Opened).

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

/// Options that name a file to write.
const OUTPUTS: [(&str, &[&str]); 4] = [
    ("-o", &["sort", "shuf", "curl", "gcc", "cc", "g++", "clang", "rustc"]),
    ("--output", &["sort", "shuf", "curl"]),
    ("-O", &["wget"]),
    ("--output-document", &["wget"]),
];

/// The files among the words of a command, as far as its program is known.
pub(super) fn files(simple: &Simple) -> Vec<File> {
    let name = simple.program();
    let rest = simple.words.get(1..).unwrap_or_default();
    let mut files = outputs(name, rest);
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
    files
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

fn read(path: Word) -> File {
    File { path, write: false, whole: false }
}

fn written(path: Word) -> File {
    File { path, write: true, whole: false }
}

/// What `git` itself does to files that it is told by name.
fn git(words: &[Word]) -> Vec<File> {
    let at = words.iter().position(|word| matches!(word.text.as_str(), "rm" | "mv" | "restore" | "checkout"));
    let below = at.and_then(|at| words.get(at + 1..)).unwrap_or_default();
    operands(below).into_iter().map(|word| File { whole: true, ..written(word.clone()) }).collect()
}

fn outputs(name: &str, words: &[Word]) -> Vec<File> {
    let options = OUTPUTS.iter().filter(|(_, names)| names.contains(&name)).map(|(option, _)| *option);
    options.flat_map(|option| values(words, option)).map(written).collect()
}

/// The values of an option: in the next word or in its own, for one letter also behind others, as in `-sSLo FILE`.
fn values(words: &[Word], option: &str) -> Vec<Word> {
    let value = |at: usize, word: &Word| {
        let attached = match option.strip_prefix("--") {
            Some(_) => {
                let (given, value) =
                    word.text.split_once('=').map_or((word.text.as_str(), None), |(a, b)| (a, Some(b)));
                (given.len() > 3 && option.starts_with(given)).then_some(value)?
            }
            None => {
                let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
                let (_, rest) = letters.split_once(option.trim_start_matches('-'))?;
                Some(rest).filter(|rest| !rest.is_empty())
            }
        };
        match attached {
            Some(text) => Some(Word { text: text.into(), ..word.clone() }),
            None => words.get(at + 1).cloned(),
        }
    };
    words.iter().enumerate().filter_map(|(at, word)| value(at, word)).collect()
}

/// The words that are no options.
fn operands(words: &[Word]) -> Vec<&Word> {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let is_operand = |(at, word): &(usize, &Word)| *at > end || *at < end && !word.text.starts_with('-');
    words.iter().enumerate().filter(is_operand).map(|(_, word)| word).collect()
}

/// Whether a word gives this option: by its letter, also among others, or by its name.
fn has(word: &Word, letter: char, long: &str) -> bool {
    let text = word.text.as_str();
    let named = text.split('=').next().unwrap_or_default();
    // Programs take the beginning of a long option for the whole.
    named.len() > 3 && long.starts_with(named)
        || text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
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
    Word { text, fixed: folder.fixed && file.fixed, many: folder.many || file.many }
}
