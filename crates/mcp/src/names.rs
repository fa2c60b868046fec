//! Under which names the tools of servers are known here: `mcp__SERVER__TOOL`, as others write it.
//!
//! Models take 1 to 64 letters, digits, `_` and `-`. A name that has to be changed to fit gets a piece of its hash, so two
//! tools never end up with one name, whatever a server calls them. A server's part holds no `__` and ends in none, so it
//! is clear where it ends.

use mainpath_types::MCP_TOOLS;
use sha2::{Digest, Sha256};

/// The longest name that models take.
const LONGEST: usize = 64;
/// The longest part that stands for a server.
const LONGEST_SERVER: usize = 24;
/// Hexadecimal digits of the hash in a name that was changed.
const DIGITS: usize = 6;

/// Before the names of a server's tools.
pub(crate) fn prefix(server: &str) -> String {
    let mut fitted: String = server.chars().map(fitting).collect();
    while fitted.contains("__") {
        fitted = fitted.replace("__", "_");
    }
    let fitted = fitted.trim_matches('_');
    match fitted == server && !fitted.is_empty() && fitted.len() <= LONGEST_SERVER {
        true => format!("{MCP_TOOLS}{server}__"),
        false => {
            let kept: String = fitted.chars().take(LONGEST_SERVER - DIGITS - 1).collect();
            format!("{MCP_TOOLS}{}_{}__", kept.trim_end_matches('_'), hash(server))
        }
    }
}

/// The name of a server's tool, `prefix` first.
pub(crate) fn tool(prefix: &str, name: &str) -> String {
    let room = LONGEST.saturating_sub(prefix.len());
    let fitted: String = name.chars().map(fitting).collect();
    match fitted == name && !name.is_empty() && name.len() <= room {
        true => format!("{prefix}{name}"),
        false => {
            let kept: String = fitted.chars().take(room.saturating_sub(DIGITS + 1)).collect();
            format!("{prefix}{kept}_{}", hash(name))
        }
    }
}

/// Verbs that tools which only read begin with.
const READING: [&str; 10] = ["get", "list", "read", "search", "find", "view", "fetch", "lookup", "count", "describe"];
/// Words after which a name may say more than that: other verbs, and what joins one.
const ACTING: [&str; 28] = [
    "add", "and", "append", "clear", "create", "delete", "edit", "execute", "insert", "move", "or", "pay", "post",
    "publish", "put", "remove", "replace", "run", "send", "set", "share", "submit", "sync", "then", "transfer",
    "update", "upload", "write",
];

/// Returns true if a tool's name says that it reads, and nothing else: `get_user`, `listFiles`, not `get_and_delete`.
pub(crate) fn reads(name: &str) -> bool {
    let mut spaced = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || was_lower && letter.is_uppercase() {
            spaced.push(' ');
        }
        was_lower = letter.is_lowercase();
        if letter.is_alphanumeric() {
            spaced.extend(letter.to_lowercase());
        }
    }
    let mut words = spaced.split_whitespace();
    words.next().is_some_and(|verb| READING.contains(&verb)) && !words.any(|word| ACTING.contains(&word))
}

/// Whether something can stand before the names of a server's tools: up to 32 letters, digits, `_` and `-`, a letter or `_`
/// first.
pub(crate) fn is_prefix(text: &str) -> bool {
    text.len() <= 32
        && text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && text.chars().all(|letter| fitting(letter) == letter)
}

/// Whether `pattern`, in which `*` stands for anything, fits a name.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = left.find(piece) else { return false };
        left = &left[at + piece.len()..];
    }
    left.ends_with(last)
}

fn fitting(letter: char) -> char {
    if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' }
}

fn hash(name: &str) -> String {
    Sha256::digest(name).iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_name_that_fits_stays() {
        assert_eq!(tool(&prefix("time"), "get_current_time"), "mcp__time__get_current_time");
        assert_eq!(tool(&prefix("a-b_c"), "x-1"), "mcp__a-b_c__x-1");
        assert_eq!(tool("gh_", "x"), "gh_x");
    }

    #[test]
    fn what_does_not_fit_is_changed_and_stays_apart() {
        let long = "n".repeat(80);
        let servers = ["a", "a_", "_a", "a__b", "a.b", "a b", "a_b", "", "Ä", &long, &format!("{long}x")];
        let tools = ["t", "_t", "b__t", "a.b", "a b", "a_b", "", "ß", "工具", &long, &format!("{long}x")];
        let mut seen = BTreeSet::new();
        for server in servers {
            for name in tools {
                let made = tool(&prefix(server), name);
                assert!(made.len() <= 64 && made.chars().all(|c| fitting(c) == c), "{made}");
                assert!(seen.insert(made.clone()), "{server:?} {name:?} {made}");
            }
        }
        assert_eq!(tool(&prefix("my server"), "read.file"), "mcp__my_server_b12987__read_file_dd32cd");
    }

    #[test]
    fn a_star_in_a_pattern_stands_for_anything() {
        for (pattern, name) in
            [("*", ""), ("*", "a"), ("a", "a"), ("a*", "a"), ("a*c", "abc"), ("*b*d", "abcd"), ("a*a", "aa")]
        {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("", "a"), ("a", "ab"), ("a*c", "ab"), ("*b*d", "abc"), ("a*a", "a"), ("a*b*b", "ab")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_name_says_that_a_tool_reads_by_its_first_word_if_no_other_verb_joins_it() {
        for name in ["get_user", "listFiles", "search-emails", "READ", "describe.table", "fetch"] {
            assert!(reads(name), "{name}");
        }
        for name in [
            "",
            "_",
            "getter",
            "send_get",
            "list_add_item",
            "readWrite",
            "get_and_delete",
            "findThenReplace",
            "listen",
            "check_in",
            "reading",
        ] {
            assert!(!reads(name), "{name}");
        }
    }
}
