//! What is not even parsed: the parser recurses, and reads a substitution again for every one around it.
//!
//! Measured with rable 0.2.2 on x86-64: up to 3 KiB of stack for a level of nesting, 35 ms for 64 substitutions in each other.

/// The longest command line, in bytes.
const LONGEST: usize = 128 * 1024;
/// The most that may open something that is nested: no line can be nested deeper, wherever its quotes are.
const MOST_OPENINGS: usize = 250;
/// The most work that substitutions may make, in letters that are read again.
const MOST_WORK: usize = 1_000_000;

/// Words of the shell that open something.
const OPENING_WORDS: [&str; 8] = ["if", "while", "until", "for", "select", "case", "function", "coproc"];

/// Whether the parser can take the line on a small stack and in a moment.
pub(super) fn is_small(source: &str) -> bool {
    if source.len() > LONGEST {
        return false;
    }
    let (mut openings, mut substitutions) = (0, 0);
    for line in counted(source) {
        let letters = line.bytes().filter(|byte| matches!(byte, b'(' | b'{')).count();
        let words = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        openings += letters + words.filter(|word| OPENING_WORDS.contains(word)).count();
        substitutions += ["$(", "<(", ">("].iter().map(|opening| line.matches(opening).count()).sum::<usize>();
    }
    openings <= MOST_OPENINGS && substitutions * substitutions * source.len() <= MOST_WORK
}

/// The lines that count: all but the text of here-documents that are certain to be ones, which is how programs are
/// written to files. Certain are those that begin before anything that could be a quote.
fn counted(source: &str) -> impl Iterator<Item = &str> {
    let mut certain = true;
    let mut end: Option<&str> = None;
    source.split('\n').filter(move |line| {
        if let Some(word) = end {
            end = (*line != word).then_some(word);
            return false;
        }
        if certain {
            end = heredoc(line);
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " _-./>=:,;&|+@%~".contains(letter);
            certain = end.is_some() || line.chars().all(is_plain);
        }
        true
    })
}

/// The word that ends the here-document that a plain line begins.
fn heredoc(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("<<")?;
    let quote = rest.chars().next().filter(|letter| matches!(letter, '\'' | '"'))?;
    let (word, after) = rest.get(1..)?.split_once(quote)?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " _-./>=:,;&|+@%~".contains(letter);
    let is_word = !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    (is_word && before.chars().chain(after.chars()).all(is_plain)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_in_here_documents_may_be_long() {
        let program = "if (a) { b(\"$(c)\"); }\n".repeat(1_000);
        assert!(is_small(&format!("mkdir -p x && cat > x/y.js <<'EOF'\n{program}EOF\nnode x/y.js\n")));
        assert!(is_small(&format!("cd x\ncat > a.js <<'EOF'\n{program}EOF\ncat > b.js <<'EOF'\n{program}EOF\n")));
        assert!(!is_small(&format!("echo \"a\ncat > x/y.js <<'EOF'\n{program}EOF\n")));
        assert!(!is_small(&format!("cat > x <<EOF\n{program}EOF\n")));
        assert!(!is_small(&format!("# <<'EOF'\n{program}EOF\n")));
        assert!(!is_small(&format!("cat > x <<'EOF'\nEOF\n{program}")));
        assert!(is_small(&format!("cat > x <<'E_F'\n{program}E_F\n")));
        assert!(!is_small(&format!("cat > x <<'E-F'\n{program}E-F\n")));
        assert!(!is_small(&format!("cat > x <<''\n{program}\n")));
    }

    #[test]
    fn a_line_has_so_many_openings_and_so_much_work_and_no_more() {
        assert!(is_small(&"a".repeat(LONGEST)) && !is_small(&"a".repeat(LONGEST + 1)));
        assert!(is_small(&"(".repeat(MOST_OPENINGS)) && !is_small(&"(".repeat(MOST_OPENINGS + 1)));
        assert!(is_small(&"if ".repeat(MOST_OPENINGS)) && !is_small(&"if ".repeat(MOST_OPENINGS + 1)));
        // Ten substitutions, so a hundred times the letters.
        let with = |bytes: usize| format!("{}{}", "<(".repeat(10), "a".repeat(bytes - 20));
        assert!(is_small(&with(MOST_WORK / 100)) && !is_small(&with(MOST_WORK / 100 + 1)));
        // A word of the shell within another word opens nothing.
        assert!(is_small(&"xif_".repeat(MOST_OPENINGS + 1)));
    }
}
