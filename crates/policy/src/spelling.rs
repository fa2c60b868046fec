//! Patterns that are narrower than their author may have meant.

use crate::narrow_pattern::NarrowPattern;
use crate::{ToolNameError, ToolNames};

/// Returns what may have been meant by a pattern whose last word has a sign at its end: `bash(rm*)`, `bash(git push*)`, and `bash(git push:*)`, by
/// which another program means any arguments.
pub fn narrow_words(pattern: &str) -> Option<NarrowPattern> {
    let (tool, words) = pattern.strip_suffix(')')?.split_once('(')?;
    let names: ToolNames = tool.parse().ok()?;
    let begins = words.strip_suffix('*').filter(|words| !words.contains(['\'', '"', '\\', ',']))?;
    let (plain, colon) = begins.strip_suffix(':').map_or((begins, ""), |plain| (plain, ":"));
    let last = plain.rsplit(char::is_whitespace).next().unwrap_or_default();
    // With several words, a dot or a slash is one of a file, and a joint begins a name.
    let is_only = last.len() == plain.len();
    let joint = |c: char| matches!(c, '-' | '_') || is_only && matches!(c, '.' | '/');
    let is_word = !last.is_empty()
        && last.chars().all(|c| c.is_alphanumeric() || joint(c))
        && (is_only || !last.ends_with(['-', '_']));
    (is_word && names.matches("bash")).then(|| NarrowPattern {
        pattern: pattern.into(),
        tool: tool.into(),
        words: plain.into(),
        last: format!("{last}{colon}"),
        is_only,
    })
}

/// Checks that a pattern does not mean any arguments in the spelling of another program, `bash(git push:*)`: here it fits almost no command.
/// Errors: it does.
pub fn check_spelling(pattern: &str) -> Result<(), ToolNameError> {
    match narrow_words(pattern).filter(|_| pattern.ends_with(":*)")) {
        Some(narrow) => Err(Box::new(narrow).into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{check_spelling, narrow_words};

    #[test]
    fn a_pattern_of_one_word_is_pointed_out_where_arguments_may_have_been_meant() {
        let hint = "bash(rm*) is compared with a single word that begins with \"rm\", so it does not fit `rm x`; with any arguments write bash(rm *)";
        assert_eq!(narrow_words("bash(rm*)").map(|narrow| narrow.to_string()).as_deref(), Some(hint));
        assert!(
            narrow_words("execute_bash(./deploy*)")
                .is_some_and(|narrow| narrow.to_string().ends_with("write execute_bash(./deploy *)"))
        );
        for (pattern, meant) in [
            ("bash(git push*)", "bash(git push *)"),
            ("bash(git push:*)", "bash(git push *)"),
            ("bash(npm run test:*)", "bash(npm run test *)"),
            ("execute_bash(cargo  publish*)", "execute_bash(cargo  publish *)"),
        ] {
            let hint = narrow_words(pattern).unwrap().to_string();
            assert!(hint.ends_with(&format!("with any arguments write {meant}")), "{pattern}: {hint}");
            let refused = pattern.ends_with(":*)").then_some(hint);
            assert_eq!(check_spelling(pattern).err().map(|error| error.to_string()), refused, "{pattern}");
        }
        for clear in [
            "bash(rm *)",
            "bash(*)",
            "bash(cat src/*)",
            "bash(cargo test my_*)",
            "bash(ls 'a b*)",
            "bash",
            "read(src*)",
            "bash(rm)",
            "bash(r*m*)",
            "bash(git *push*)",
            "bash(git push:*, rm:*)",
            "(",
        ] {
            assert_eq!(narrow_words(clear), None, "{clear}");
        }
    }
}
