//! Patterns mean what they mean in ECMAScript with the `u` flag, with look-around and without, and nothing else is one.

use mainpath_schema::Schema;
use serde_json::json;

use crate::{refused, told};

/// Which of some texts match.
fn matching<'a>(pattern: &str, texts: &[&'a str]) -> Vec<&'a str> {
    let schema = Schema::new(&json!({"pattern": pattern})).unwrap();
    texts.iter().copied().filter(|text| schema.violations(&json!(text)).is_empty()).collect()
}

/// Holds texts to a pattern as it is, which an automaton matches, and with look-around that is always true.
fn holds(pattern: &str, matches: &[&str], not: &[&str]) {
    let texts = [matches, not].concat();
    for pattern in [pattern.to_owned(), format!("(?=){pattern}"), format!("(?:(?!.*\u{e000}){pattern})")] {
        assert_eq!(matching(&pattern, &texts), matches, "{pattern}");
    }
}

#[test]
fn digits_and_characters_of_words_are_ascii() {
    holds(r"^\d+$", &["123"], &["١٢٣", "７"]);
    holds(r"^\D$", &["é", "７", "🐲"], &["7", "🐲🐲"]);
    holds(r"^\w+$", &["a_Z9"], &["é", "ünï", "ſ", "\u{212a}"]);
    holds(r"^\W$", &["é", "-"], &["a", "_"]);
    holds(r"^[\w/.-]+$", &["a/b.c-d"], &["ünï"]);
    holds(r"^[^\w]$", &["é"], &["a"]);
    holds(r"^[\W\d]$", &["é", "7"], &["a"]);
    holds(r"\bb", &["éb", "a b"], &["ab"]);
    holds(r"^.\Bé$", &["éé", "-é"], &["aé"]);
    holds(r"(?:[^\w]|\B)", &["_\u{a0}a", "aa"], &["a"]);
    // What was accepted, as it was written.
    for (pattern, text) in [(r"^(?=.)\d+$", "١٢٣"), (r"^(?!x)\w+$", "é"), (r"^(?!.*\.\.)[\w/.-]+$", "ünï")] {
        assert_eq!(told(&json!({"pattern": pattern}), &json!(text)).len(), 1, "{pattern}");
    }
}

#[test]
fn spaces_are_those_of_ecmascript() {
    let spaces = [
        "\t", "\n", "\u{b}", "\u{c}", "\r", " ", "\u{a0}", "\u{1680}", "\u{2000}", "\u{200a}", "\u{2028}", "\u{2029}",
        "\u{202f}", "\u{205f}", "\u{3000}", "\u{feff}",
    ];
    let others = ["\u{85}", "\u{1c}", "\u{180e}", "\u{200b}", "a"];
    holds(r"^\s$", &spaces, &others);
    holds(r"^[\s]$", &spaces, &others);
    holds(r"^\S$", &others, &spaces);
    holds(r"^[^\s]$", &others, &spaces);
    holds(r"^[\S]$", &others, &spaces);
}

#[test]
fn a_dot_stands_for_all_but_the_ends_of_lines() {
    let lines = ["a\rb", "a\nb", "a\u{2028}b", "a\u{2029}b"];
    holds("^.*$", &["", "ab", "a\u{85}b", "🐲"], &lines);
    holds("^.$", &["é", "🐲"], &["", "ab"]);
    holds(r"^a[\s\S]b$", &lines, &["ab"]);
    holds("^a[^]b$", &lines, &["ab"]);
    holds("^(?s:a.b)$", &lines, &["ab"]);
    // No end of a line but that of the text.
    holds("^a$", &["a"], &["a\n", "\na", "b\na"]);
    holds("^(?:(?m:^b$)|[^](?m:^b$)[^]*)$", &["b", "\rb", "\nb\u{2028}c"], &["ab", "\nbc"]);
}

#[test]
fn sets_are_read_as_ecmascript_does() {
    holds(r"^[[]$", &["["], &["]"]);
    holds("^[a-c&&b]$", &["a", "&", "c"], &["d"]);
    holds("^[a-z--b]$", &["-", ".", "0", "a"], &["{"]);
    holds("^[a~~b]$", &["a", "~", "b"], &["c"]);
    holds("^[]$", &[], &["", "]"]);
    holds(r"^[\b\]^-]$", &["\u{8}", "]", "^", "-"], &["b", "\\"]);
    holds(r"^[\u{1F430}-\u{1F440}]$", &["🐲"], &["a", "🐲🐲"]);
    holds(r"^[^\ud800-\udfff]$", &["a", "🐲"], &["ab"]);
    holds(r"^\ud83d\udc32*$", &["🐲", "🐲🐲", "\u{1f432}"], &["a"]);
    holds(r"^\p{Letter}+$", &["é", "日本"], &["1", "-"]);
    holds(r"^[\p{Lu}\d]$", &["É", "1"], &["é"]);
    holds(r"^\P{Lu}$", &["é"], &["É"]);
    holds(r"^\p{Script=Greek}$", &["α"], &["a"]);
    holds(r"^\p{Zl}$", &["\u{2028}"], &["\u{2029}"]);
    holds(r"^\x61\u0062\u{63}\cI\0\/$", &["abc\t\0/"], &["abc"]);
    holds("^(?i:k[^a]\\w)a$", &["Kb_a", "\u{212a}bſa"], &["kAba", "kbbA"]);
}

#[test]
fn what_goes_without_the_u_flag_only_is_read_where_it_can_mean_one_thing_only() {
    holds(r#"^\-\_\@\"\ \,$"#, &["-_@\" ,"], &["-"]);
    holds(r"^[\w-.]+$", &["a-b.c"], &["é"]);
    holds(r"^[a-\d]$", &["a", "-", "7"], &["b"]);
    holds(r"^\$\{[^}]+}$", &["${a}"], &["${}"]);
    holds(r"^{{.*}}$", &["{{a}}"], &["a"]);
    holds("^{a]$", &["{a]"], &["a"]);
}

#[test]
fn look_around_and_references_match_as_in_ecmascript() {
    for (pattern, matches, not) in [
        (r"^(?!main$)\w+$", vec!["dev", "mainly"], vec!["main", ""]),
        (r"^(?=.*[A-Z])(?=.*\d).{4,}$", vec!["Ab1c"], vec!["ab1c", "Abcd", "A1"]),
        (r"(?<=a.)b", vec!["axb", "xa-b"], vec!["ab", "bxb"]),
        (r"(?<!a|bc)d", vec!["d", "cd"], vec!["ad", "bcd"]),
        // What comes before is matched from its end: the second group takes first.
        (r"(?<=^(\d+)(\d+))x\1$", vec!["123x1"], vec!["123x12"]),
        (r"(?<=\1(a|b))c", vec!["aac", "bbc"], vec!["abc"]),
        (r"^(a|b)\1$", vec!["aa", "bb"], vec!["ab"]),
        (r"^(?<x>a|b)\k<x>$", vec!["aa", "bb"], vec!["ab"]),
        // A group that holds nothing is the same as nothing, also when it held something the time before.
        (r"^\1(a)$", vec!["a"], vec!["aa"]),
        (r"^(?:(a)|b)*\1$", vec!["aa", "ab", "", "aaab"], vec!["c"]),
        (r"^(?:(a)|(b))*\1$", vec!["ab", "aa"], vec!["c"]),
        (r"^(?:(?=(a))a)?\1b$", vec!["aab", "b"], vec!["ab"]),
        (r"^(?:(?!(a))b)?\1c$", vec!["bc", "c"], vec!["ac"]),
        // Look-around is not tried in another way.
        (r"^(?=(a+))a*b\1$", vec!["aba"], vec!["baa"]),
        (r"^(?:a?){3}(?=b)b$", vec!["b", "ab", "aaab"], vec!["aaaab"]),
        (r"^(?:a*?)*(?=b)b$", vec!["b", "aab"], vec!["a"]),
        (r"^(?=a)a{2,3}?a$", vec!["aaa", "aaaa"], vec!["aa", "aaaaa"]),
        (r"^(?=é)é{1,2}🐲*$", vec!["é", "éé🐲🐲"], vec!["ééé"]),
    ] {
        assert_eq!(matching(pattern, &[matches.clone(), not].concat()), matches, "{pattern}");
    }
}

#[test]
fn what_ecmascript_does_not_have_is_refused() {
    for (pattern, said) in [
        ("(?i)a", "at character 4: ECMAScript has no such group"),
        ("(?x)a", "at character 3: ECMAScript has no such group"),
        ("(?>a)", "at character 3: ECMAScript has no such group"),
        ("(?P<n>a)", "at character 3: ECMAScript has no such group"),
        ("(?#a)", "at character 3: ECMAScript has no such group"),
        ("(?ii:a)", "at character 4: ECMAScript has no such group"),
        ("(?-:a)", "at character 4: ECMAScript has no such group"),
        (r"\Aa", "at character 2: ECMAScript has no such escape"),
        (r"a\z", "at character 3: ECMAScript has no such escape"),
        (r"a\Z", "at character 3: ECMAScript has no such escape"),
        (r"\h", "at character 2: ECMAScript has no such escape"),
        (r"\R", "at character 2: ECMAScript has no such escape"),
        (r"\K", "at character 2: ECMAScript has no such escape"),
        (r"\a", "at character 2: ECMAScript has no such escape"),
        (r"\Qa\E", "at character 2: ECMAScript has no such escape"),
        (r"[\B]", "at character 3: ECMAScript has no such escape"),
        (r"\01", "at character 2: ECMAScript has no such escape"),
        (r"\x{61}", "at character 2: a hexadecimal digit is missing"),
        (r"\u12", "at character 4: a hexadecimal digit is missing"),
        (r"\u{110000}", "at character 10: there is no such character"),
        (r"\c1", r"at character 3: \c wants a letter"),
        (r"\pL", "at character 2: ECMAScript has no such property"),
        (r"\p{Greek}", "at character 3: ECMAScript has no such property"),
        (r"\p{Age=6.0}", "at character 3: ECMAScript has no such property"),
        ("a++", "at character 3: there is nothing to repeat"),
        ("a{2}{3}", "at character 7: there is nothing to repeat"),
        ("*", "at character 1: there is nothing to repeat"),
        ("a|{1}", "at character 5: there is nothing to repeat"),
        ("^*", "at character 2: what takes no character is repeated"),
        ("(?=a)*", "at character 6: what takes no character is repeated"),
        ("a{3,2}", "at character 6: it is to be repeated more often than it may be"),
        ("a{,3}", "at character 5: ECMAScript wants both numbers, as in {0,3}"),
        ("[b-a]", "at character 4: a range ends before it begins"),
        ("[a", "at character 2: something is missing"),
        (r"a\", "at character 2: something is missing"),
        ("(a", "at character 2: a parenthesis is not closed"),
        ("a)", "at character 1: a parenthesis is closed that was not opened"),
        (r"(a)\2", "at character 5: there is no such group to refer to"),
        (r"\k<n>", "at character 5: there is no such group to refer to"),
        (r"\k", "at character 2: the name of a group is missing"),
        ("(?<1>a)", "at character 4: that is no name of a group"),
        ("(?<n>a)|(?<n>b)", r#"two groups have the name "n""#),
        (r"(?i:(a)\1)", "at character 9: a reference where case counts for nothing is not supported"),
    ] {
        let problem = "at /pattern: it is no pattern: ";
        assert_eq!(refused(&json!({"pattern": pattern})), format!("{problem}{said}"), "{pattern}");
        // Nor beside look-around.
        assert!(refused(&json!({"pattern": format!("(?=){pattern}")})).starts_with(problem), "{pattern}");
    }
}
