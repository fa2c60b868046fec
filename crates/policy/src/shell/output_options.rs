//! Options that name files: those that a program writes, or reads, besides what it is for.

use super::arguments::{Touched, operands, read, values, written};
use super::{File, Word};

/// The effect of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    /// It writes a file, which is what the program is for.
    Makes,
    /// It writes a file.
    Writes,
    /// It writes into a folder.
    Fills,
    /// It changes the files that the command names, or all that are there.
    Fixes,
    /// It reads a file.
    Reads,
}

/// The options of programs. From the manuals of GNU coreutils 9, curl 8, wget 1.21, gcc 12, rustc and cargo 1.95, git 2.47, go 1.22,
/// TypeScript 5, ESLint 9, ruff 0.6, pytest 8, mypy 1.11, jq 1.7, pip 24, npm 10 and kubectl 1.31.
const OPTIONS: &[(&[&str], Does, &[&str])] = &[
    (&["gcc", "cc", "g++", "clang", "clang++", "rustc"], Does::Makes, &["-o"]),
    (&["curl"], Does::Makes, &["-o", "--output"]),
    (&["wget"], Does::Makes, &["-O", "--output-document"]),
    (
        &["curl"],
        Does::Writes,
        &["-c", "--cookie-jar", "-D", "--dump-header", "--trace", "--trace-ascii", "--stderr", "--etag-save"],
    ),
    (&["wget"], Does::Writes, &["-o", "--output-file", "-a", "--append-output", "--save-cookies"]),
    (&["sort", "shuf"], Does::Writes, &["-o", "--output"]),
    (&["sdiff"], Does::Writes, &["-o", "--output"]),
    (&["git"], Does::Writes, &["--output"]),
    (&["git"], Does::Fills, &["--output-directory"]),
    (&["tree", "xmllint", "iconv", "uniq", "yq", "pandoc"], Does::Writes, &["-o", "--output"]),
    (&["tsc"], Does::Writes, &["--outFile", "--out", "--tsBuildInfoFile", "--generateTrace", "--generateCpuProfile"]),
    (&["tsc"], Does::Fills, &["--outDir", "--declarationDir"]),
    (&["eslint"], Does::Writes, &["-o", "--output-file", "--cache-location", "--cache-file"]),
    (&["eslint"], Does::Fixes, &["--fix"]),
    (&["ruff"], Does::Writes, &["-o", "--output-file"]),
    (&["ruff"], Does::Fills, &["--cache-dir"]),
    (&["ruff"], Does::Fixes, &["--fix", "--fix-only", "--unsafe-fixes", "--add-noqa"]),
    (&["prettier", "biome"], Does::Fixes, &["-w", "--write", "--fix", "--apply"]),
    (&["gofmt", "goimports", "shfmt", "yapf"], Does::Fixes, &["-w", "-i", "--in-place"]),
    (
        &["pytest", "py.test"],
        Does::Writes,
        &[
            "--junitxml",
            "--junit-xml",
            "--log-file",
            "--resultlog",
            "--report-log",
            "--html",
            "--debug",
            "--json-report-file",
        ],
    ),
    (&["pytest", "py.test"], Does::Fills, &["--basetemp", "-o", "--override-ini", "--cov-report"]),
    (&["mypy"], Does::Writes, &["--junit-xml"]),
    (
        &["mypy"],
        Does::Fills,
        &[
            "--cache-dir",
            "--any-exprs-report",
            "--cobertura-xml-report",
            "--html-report",
            "--linecount-report",
            "--linecoverage-report",
            "--lineprecision-report",
            "--txt-report",
            "--xml-report",
            "--xslt-html-report",
            "--xslt-txt-report",
        ],
    ),
    (&["cargo"], Does::Writes, &["--lockfile-path", "--logfile"]),
    (&["cargo"], Does::Fills, &["--target-dir", "--artifact-dir", "--out-dir"]),
    (&["cargo"], Does::Fixes, &["--fix"]),
    (&["pip", "pip3"], Does::Writes, &["--log", "--report"]),
    (&["pip", "pip3"], Does::Fills, &["--cache-dir", "-t", "--target", "--prefix", "--root"]),
    (
        &["npm", "pnpm", "yarn"],
        Does::Fills,
        &["--prefix", "--cache", "--logs-dir", "-C", "--dir", "--cwd", "--store-dir"],
    ),
    (&["kubectl"], Does::Writes, &["--profile-output", "--log-file"]),
    (&["kubectl"], Does::Fills, &["--cache-dir", "--log-dir", "--output-directory"]),
    (&["jq"], Does::Reads, &["-f", "--from-file"]),
    (&["grep", "egrep", "fgrep", "rg"], Does::Reads, &["-f", "--file", "--exclude-from"]),
    (&["wc", "du", "sort"], Does::Reads, &["--files0-from"]),
    (&["diff"], Does::Reads, &["--from-file", "--to-file"]),
];

/// Programs that take the beginning of a long option for the whole.
const SHORTENING: &[&str] = &[
    "sort", "shuf", "sdiff", "git", "wget", "curl", "tree", "iconv", "pip", "pip3", "mypy", "grep", "egrep", "fgrep",
    "wc", "du", "diff",
];

/// Options of git that write, where they are letters: by the subcommand.
const OF_GIT: [(&str, &str); 4] =
    [("archive", "-o"), ("format-patch", "-o"), ("bundle", "create"), ("fast-export", "--export-marks")];

/// Options of `go`, which take one dash or two.
const OF_GO: [&str; 9] =
    ["o", "coverprofile", "cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace", "outputdir", "pkgdir"];

/// The files that the options of a command name.
pub(super) fn by_options(name: &str, words: &[Word]) -> Touched {
    let mut touched = Touched::default();
    let into = |file: Word| File { whole: true, ..written(file) };
    for (_, does, options) in OPTIONS.iter().filter(|(names, ..)| names.contains(&name)) {
        for option in *options {
            let values = match option.starts_with("--") && !SHORTENING.contains(&name) {
                true => exact_values(name, words, option),
                false => values(words, option),
            };
            match does {
                Does::Makes => touched.operands.extend(values.into_iter().map(written)),
                Does::Writes => touched.outputs.extend(values.into_iter().map(written)),
                Does::Fills => touched.outputs.extend(values.into_iter().map(folder).map(into)),
                Does::Reads => touched.operands.extend(values.into_iter().map(read)),
                Does::Fixes if words.iter().any(|word| word.text.split('=').next() == Some(option)) => {
                    let named = match name {
                        "cargo" => Vec::new(),
                        "ruff" => operands(words).into_iter().skip(1).cloned().collect(),
                        _ => operands(words).into_iter().cloned().collect(),
                    };
                    let named = if named.is_empty() { vec![Word::fixed(".")] } else { named };
                    touched.outputs.extend(named.into_iter().map(into));
                }
                Does::Fixes => {}
            }
        }
    }
    match name {
        "git" => {
            let subcommand = |name: &str| words.iter().position(|word| word.text == name);
            for (name, option) in OF_GIT {
                let rest = subcommand(name).and_then(|at| words.get(at..)).unwrap_or_default();
                touched.outputs.extend(git_value(rest, option).map(written));
            }
            // These paths start at another folder.
            if words.iter().any(|word| matches!(word.text.as_str(), "-C" | "--work-tree" | "--git-dir")) {
                touched.outputs.iter_mut().for_each(|file| file.path.fixed = false);
            }
        }
        "go" => touched.outputs.extend(of_go(words).map(written)),
        // The second operand is what it writes.
        "uniq" | "xxd" => touched.outputs.extend(operands(words).get(1).map(|word| written((*word).clone()))),
        _ => {}
    }
    touched
}

/// The folder in `html:FOLDER` or `cache_dir=FOLDER`.
fn folder(value: Word) -> Word {
    let text = value.text.rsplit([':', '=']).next().unwrap_or_default().to_string();
    Word { text, ..value }
}

/// The values of a long option of a program that takes no beginnings of options.
fn exact_values(name: &str, words: &[Word], option: &str) -> Vec<Word> {
    let is_it = |given: &str| match name {
        // It takes options in any case, after one dash or two.
        "tsc" => {
            given.starts_with('-') && given.trim_start_matches('-').eq_ignore_ascii_case(option.trim_start_matches('-'))
        }
        _ => given == option,
    };
    let value = |(at, word): (usize, &Word)| match word.text.split_once('=') {
        Some((given, value)) if is_it(given) => Some(Word { text: value.into(), ..word.clone() }),
        _ if is_it(&word.text) => words.get(at + 1).cloned(),
        _ => None,
    };
    words.iter().enumerate().filter_map(value).collect()
}

fn git_value(words: &[Word], option: &str) -> Option<Word> {
    match option.starts_with('-') {
        true => values(words, option).into_iter().next(),
        false => words.iter().position(|word| word.text == option).and_then(|at| words.get(at + 1)).cloned(),
    }
}

fn of_go(words: &[Word]) -> impl Iterator<Item = Word> {
    words.iter().enumerate().filter_map(|(at, word)| {
        let text = word.text.strip_prefix("--").or(word.text.strip_prefix('-'))?;
        let (given, value) = text.split_once('=').map_or((text, None), |(given, value)| (given, Some(value)));
        // Flags of the test's own binary have this before them.
        OF_GO.contains(&given.trim_start_matches("test.")).then_some(())?;
        match value {
            Some(value) => Some(Word { text: value.into(), ..word.clone() }),
            None => words.get(at + 1).cloned(),
        }
    })
}
