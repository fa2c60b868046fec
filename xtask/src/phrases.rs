//! Plain English: phrases that documents and messages must not use, each with what to write instead.

/// What newcomers stumbled over, in lower case, and what to say. Whole words only.
const PHRASES: [(&str, &str); 35] = [
    ("` is no answer", "does not cover"),
    ("a person to decide", "needs your approval"),
    ("a trial has worked", "ok"),
    ("anew", "again, or start over"),
    ("be bricked", "be corrupted"),
    ("carry on with", "continue"),
    ("for ever", "no limit"),
    ("gives the trace free", "releases the lease"),
    ("go on with", "continue"),
    ("goes by that name", "named …"),
    ("goes on with", "continues"),
    ("has a word in", "contributes to"),
    ("have a word in", "contribute to"),
    ("have their part", "enable in config.toml"),
    ("hundredths", "%"),
    ("in the place of what is old", "replace older messages"),
    ("is read after this run", "queued"),
    ("is wanted", "expected …"),
    ("last words", "last message"),
    ("makes a denial of", "denies"),
    ("no demonstration once", "skips demo runs once"),
    ("nobody answers at", "not running"),
    ("nobody can be asked", "non-interactive"),
    ("nobody could be asked", "non-interactive"),
    ("nobody decides on", "nobody answers"),
    ("nobody described", "unknown"),
    ("nobody to ask", "non-interactive"),
    ("nothing names", "unreferenced"),
    ("so a person decides", "needs your approval"),
    ("somebody stopped the run", "you stopped the run"),
    ("stands at its question", "is waiting for your answer"),
    ("store said no", "store error"),
    ("that says nothing", "ignored"),
    ("understood by anybody", "ignored"),
    ("went round in circles", "was stuck in a loop"),
];

/// Where these phrases stand in a document, or in what the command line says: the line, the phrase, and what to say instead.
pub fn found(name: &str, text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let is_help = name.starts_with("crates/cli/src/args") || name.starts_with("crates/cli/src/commands");
    let is_code = name.ends_with(".rs");
    let code = if is_code { text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text) } else { text };
    let mut found = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let line = line.trim();
        // Of code only what people see: strings, and the comments that are the text of --help.
        let is_seen = !is_code || !line.starts_with("//") || is_help && line.starts_with("///");
        let lower = line.to_lowercase();
        let hits = PHRASES.iter().filter(|(phrase, _)| is_seen && has_words(&lower, phrase));
        found.extend(hits.map(|(phrase, instead)| (number, *phrase, *instead)));
    }
    found
}

/// Whether a line has a phrase that begins and ends where a word does.
fn has_words(line: &str, phrase: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (line.get(..at), line.get(at + phrase.len()..));
        !before.is_some_and(|text| text.ends_with(is_part)) && !after.is_some_and(|text| text.starts_with(is_part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_found_in_documents_strings_and_help_but_not_in_comments_of_code() {
        let wanted = vec![(2, "nobody can be asked", "non-interactive")];
        assert_eq!(found("docs/control.md", "# Rules\nNobody can be asked here.\n"), wanted);
        assert_eq!(found("crates/cli/src/runs/start.rs", "//! x\n    say(\"nobody can be asked\");\n"), wanted);
        assert_eq!(found("crates/cli/src/args/agent.rs", "//! x\n    /// Where nobody can be asked\n"), wanted);
        assert_eq!(found("crates/cli/src/runs/start.rs", "//! x\n    // Where nobody can be asked\n"), vec![]);
    }

    #[test]
    fn only_whole_words_count() {
        let named = |text: &str| found("a.md", text).into_iter().map(|(_, phrase, _)| phrase).collect::<Vec<_>>();
        assert_eq!(named("It begins anew."), ["anew"]);
        assert_eq!(named("anewest, hundredths_of, the manewer"), Vec::<&str>::new());
    }

    #[test]
    fn the_list_is_sorted_and_in_lower_case() {
        assert!(PHRASES.is_sorted());
        assert!(PHRASES.iter().all(|(phrase, _)| *phrase == phrase.to_lowercase()));
    }
}
