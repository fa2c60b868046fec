//! Editors that git starts: one that writes text by itself could write `exec` steps into a rebase.

/// The words for steps of a rebase that run no program.
const STEPS: [&str; 10] = ["squash", "s", "fixup", "f", "reword", "r", "edit", "e", "drop", "d"];

/// Returns true if a value for an editor is a program with options, or a `sed` that only replaces the first word of steps.
pub(super) fn is_plain_editor(value: &str) -> bool {
    let mut words = value.split_whitespace();
    let program = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    match program.rsplit('/').next() {
        Some("sed" | "gsed") => {
            let script = |word: &&&str| !word.starts_with('-');
            let unquoted = |word: &&str| replaces_step(word.trim_matches(['\'', '"']));
            rest.iter().filter(script).all(unquoted)
                && rest.iter().all(|word| matches!(*word, "-i" | "-e" | "-E") || !word.starts_with('-'))
        }
        _ => rest.iter().all(|word| word.starts_with('-') && !word.contains(['\'', '"', '\\'])),
    }
}

/// Returns true if a command of `sed` is `2,3s/^pick/squash/` or the like.
fn replaces_step(command: &str) -> bool {
    let command = command.trim_start_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, ',' | '$'));
    let Some(parts) = command.strip_prefix("s/").map(|rest| rest.split('/').collect::<Vec<_>>()) else { return false };
    matches!(parts.as_slice(), ["pick" | "^pick", step, "" | "g"] if STEPS.contains(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_that_may_write_steps_of_its_own_is_not_plain() {
        for plain in [
            "",
            "true",
            ":",
            "cat",
            "code --wait",
            "emacsclient -t",
            "sed -i 's/^pick/squash/'",
            "sed -i -e 2,$s/pick/fixup/g",
            "sed -i '2s/pick/s/'",
        ] {
            assert!(is_plain_editor(plain), "{plain}");
        }
        for other in [
            "sed -i 1iexec\\ evil",
            "sed -i '1ix evil'",
            "sed -i 's/^pick/exec evil/'",
            "sed -i -f x",
            "sed -ns/pick/x/",
            "sed -i s/^pick/x/",
            "sh -c 'echo exec evil > $1'",
            "cp steps",
            "f() { echo exec evil > $1; }; f",
        ] {
            assert!(!is_plain_editor(other), "{other}");
        }
    }
}
