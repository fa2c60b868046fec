//! Files that a line both writes and runs: what they hold was not judged.

use super::Simple;
use super::files_run::{files_run, recipes};
use super::script::Script;
use super::shells::is_shell;
use crate::glob::Glob;

/// Programs that write text to a file which one of their words names.
const WRITERS: [&str; 16] = [
    "cp", "curl", "dd", "iconv", "install", "ln", "mv", "openssl", "rsync", "scp", "shuf", "sort", "tee", "uniq",
    "wget", "xxd",
];

/// The same, where the name may stand inside a script.
const SCRIPTED: [&str; 5] = ["awk", "gawk", "gsed", "mawk", "sed"];

/// Programs that write files whose names are in what they read.
const MAKERS: [&str; 13] = [
    "7z", "bsdtar", "bunzip2", "cpio", "csplit", "gunzip", "jar", "patch", "split", "tar", "unxz", "unzip", "uudecode",
];

/// Files from which git takes commands by itself, by a step of their paths.
const OF_GIT: [&str; 2] = [".git", ".gitconfig"];

impl Script {
    /// A file that the line both writes and runs, if there is one.
    pub(super) fn runs_what_it_writes(&self) -> Option<String> {
        let runs: Vec<&str> = self.commands.iter().flat_map(run).filter(|path| !last(path).is_empty()).collect();
        let (mut written, mut globs) = (Vec::new(), Vec::new());
        let (mut is_unknown, mut of_git) = (false, false);
        let redirected = self.files.iter().filter(|file| file.write).map(|file| (&file.path, false));
        let writers = self.commands.iter().filter_map(|simple| writes(simple).map(|scripted| (simple, scripted)));
        let given =
            writers.flat_map(|(simple, scripted)| simple.words.iter().skip(1).map(move |word| (word, scripted)));
        for (word, scripted) in redirected.chain(given) {
            is_unknown |= !word.fixed;
            globs.extend(pattern(&word.text).filter(|_| !word.fixed));
            of_git |= word.text.split('/').any(|step| OF_GIT.contains(&step)) || word.text.ends_with("git/config");
            match word.fixed && !scripted {
                true => written.push(last(word.text.rsplit('=').next().unwrap_or_default())),
                false => written.extend(names(&word.text)),
            }
        }
        let ends = |all: &[&str], path: &str| all.iter().any(|name| is_same(name, last(path)));
        if let Some(path) = runs.iter().find(|path| ends(&written, path)) {
            return Some((*path).into());
        }
        // A pattern may mean any file that is there, also one that a variable holds.
        let held = self.values.iter().flat_map(|value| value.split_whitespace()).filter_map(pattern);
        globs.extend(held.filter(|_| is_unknown));
        if let Some(path) = runs.iter().find(|path| globs.iter().any(|glob| glob.matches(last(path)))) {
            return Some((*path).into());
        }
        let values: Vec<&str> = self.values.iter().flat_map(|value| names(value)).collect();
        if let Some(path) = runs.iter().find(|path| is_unknown && ends(&values, path)) {
            return Some((*path).into());
        }
        let is_relative = |path: &&&str| !path.starts_with('/');
        if let (Some(maker), Some(path)) = (self.maker(&written), runs.iter().find(is_relative)) {
            return Some(format!("{path} (which {maker} may write)"));
        }
        let runs_git = self.commands.iter().any(|simple| simple.program() == "git");
        (of_git && runs_git).then(|| "settings of git".into())
    }

    /// A program that writes files by what the line gives it.
    fn maker(&self, written: &[&str]) -> Option<&str> {
        let reads_written = self.files.iter().any(|file| !file.write && written.contains(&last(&file.path.text)));
        let fed = |(at, simple): &(usize, &Simple)| {
            let is_piped = self.flows.iter().any(|(_, to)| to.contains(at));
            let names_written = simple.words.iter().skip(1).any(|word| written.contains(&last(&word.text)));
            makes(simple) && (self.has_text || reads_written || is_piped || names_written)
        };
        self.commands.iter().enumerate().find(fed).map(|(_, simple)| simple.program())
    }
}

/// The files that a command runs.
fn run(simple: &Simple) -> Vec<&str> {
    let name = simple.program();
    let is_path = simple.words.first().is_some_and(|program| program.text.contains('/'));
    // What an interpreter of another language runs is not read in any case.
    let is_read = is_path || matches!(name, "." | "source") || is_shell(name);
    let at = if is_read { files_run(simple) } else { Vec::new() };
    let files = at.into_iter().filter_map(|at| simple.words.get(at)).map(|word| word.text.as_str());
    files.chain(recipes(simple)).collect()
}

/// Returns true if a command writes a file that its words name; `true` inside: the name may stand inside a script.
fn writes(simple: &Simple) -> Option<bool> {
    let name = simple.program();
    let prints = || simple.words.iter().any(|word| word.text.starts_with("-fprint") || word.text == "-fls");
    match () {
        () if SCRIPTED.contains(&name) => Some(true),
        () if WRITERS.contains(&name) || name == "find" && prints() => Some(false),
        () => None,
    }
}

/// Returns true if a command writes files whose names are not among its words.
fn makes(simple: &Simple) -> bool {
    let applies = || simple.words.iter().skip(1).any(|word| matches!(word.text.as_str(), "apply" | "am"));
    MAKERS.contains(&simple.program()) || simple.program() == "git" && applies()
}

/// Returns true if a name that is written is that of a file that runs. A run name that begins and ends with a dot is an ending.
fn is_same(written: &str, run: &str) -> bool {
    match run.strip_prefix('.').and_then(|rest| rest.strip_suffix('.')) {
        Some(ending) => written.rsplit_once('.').is_some_and(|(_, end)| end == ending),
        // It may stand behind the letter of an option or of a command of sed.
        None => written.strip_suffix(run).is_some_and(|before| {
            before.is_empty() || before == "w" || before == "W" || before.starts_with('-') && before.len() == 2
        }),
    }
}

/// The pattern for names in a text that the shell may replace by the files that match.
fn pattern(text: &str) -> Option<Glob> {
    let is_pattern = text.contains(['*', '?', '[']) && !text.contains('$');
    Glob::word(last(text)).ok().filter(|_| is_pattern)
}

/// The words of a text that may be file names.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && !"._-+@%~".contains(letter)).filter(|name| !name.is_empty())
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_a_file_that_runs_also_behind_the_letter_of_an_option() {
        for (written, run, expected) in [
            ("y", "y", true),
            ("wy", "y", true),
            ("Wy", "y", true),
            ("-oy", "y", true),
            ("xy", "y", false),
            ("-y", "y", false),
            ("abcy", "y", false),
            ("ay", "y", false),
            ("aby", "y", false),
            ("-aby", "y", false),
            ("x.mk", ".mk.", true),
            ("x.md", ".mk.", false),
            ("mk", ".mk.", false),
        ] {
            assert_eq!(is_same(written, run), expected, "{written} {run}");
        }
    }

    #[test]
    fn a_text_with_signs_for_other_letters_is_a_pattern() {
        let is_pattern = |text: &str| pattern(text).is_some();
        assert!(is_pattern("a*") && is_pattern("a/?") && is_pattern("[a]"));
        assert!(!is_pattern("a") && !is_pattern("$x") && !is_pattern("a*$x"));
    }

    #[test]
    fn the_names_in_a_text_are_told_apart() {
        let found: Vec<&str> = names("w a-b.c;print > \"d_e\"/f@1%+~ é").collect();
        assert_eq!(found, ["w", "a-b.c", "print", "d_e", "f@1%+~", "é"]);
    }
}
