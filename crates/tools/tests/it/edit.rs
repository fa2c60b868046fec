use crate::support::{World, pair};
use mainpath_tools::ProbeAnswer;
use serde_json::{Value, json};

fn args(edits: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> = edits.iter().map(|(old, new)| json!({"old_text": old, "new_text": new})).collect();
    json!({"path": "a.txt", "edits": edits})
}

async fn edit(text: &str, edits: &[(&str, &str)]) -> ((String, String), String) {
    let world = World::with(&[("a.txt", text)]);
    let said = world.say("edit", args(edits)).await;
    (said, world.get("a.txt"))
}

#[tokio::test]
async fn edits_are_made_together_and_shown_as_a_diff() {
    let text = "fn a() {\n    one();\n    two();\n}\n\nfn b() {}\n";
    let (said, after) = edit(text, &[("fn b() {}", "fn c() {}"), ("one()", "1()")]).await;
    assert_eq!(after, "fn a() {\n    1();\n    two();\n}\n\nfn c() {}\n");
    let diff = "@@ -1,6 +1,6 @@\n fn a() {\n-    one();\n+    1();\n     two();\n }\n \n-fn b() {}\n+fn c() {}";
    assert_eq!(said, pair("ok", format!("Made 2 edits in a.txt.\n{diff}")));
}

#[tokio::test]
async fn edits_are_matched_against_the_file_as_it_was() {
    let (said, after) = edit("a b", &[("a", "b"), ("b", "a")]).await;
    assert_eq!((said.0.as_str(), after.as_str()), ("ok", "b a"));
}

#[tokio::test]
async fn an_old_text_that_is_missing_is_answered_with_the_nearest_place() {
    let text = "fn main() {\n\tlet x = 1;\n    call(x, 2);\n}\n";
    let (said, after) = edit(text, &[("    let x = 1;\n    call(x, 3);\n", "")]).await;
    let words = "edits[0].old_text does not occur in \"a.txt\". The nearest is lines 2-3, which differ:\n  \
                 line 2: the indentation (tabs against spaces)\n    in the file:  \"\\tlet x = 1;\"\n    \
                 in old_text: \"    let x = 1;\"\n  line 3: the text\n    in the file:  \"    call(x, 2);\"\n    \
                 in old_text: \"    call(x, 3);\"\nNothing was changed.";
    assert_eq!(said, pair("no_match", words));
    assert_eq!(after, text);
}

#[tokio::test]
async fn differences_in_white_space_are_named() {
    let near = async |text: &str, old: &str| edit(text, &[(old, "x")]).await.0.1;
    assert!(near("one two  \nthree\n", "one two\nthree").await.contains("line 1: white space at the end"));
    assert!(near("  deep(er)\n", "    deep(er)\nb").await.contains("line 1: the indentation\n"));
    assert!(near("call(a,b)\n", "call(a, b)").await.contains("line 1: white space\n"));
    assert!(near("mixed\r\nends here\n", "mixed\nends here").await.contains("line 1: the line end (CR LF against LF)"));
    assert!(near("last line", "last line\n").await.contains("only in the line break at its end"));
    assert!(near("let total = 12;\n", "let totals = 12;").await.contains("line 1: the text"));
}

#[tokio::test]
async fn where_nothing_is_alike_that_is_said() {
    let words = "edits[0].old_text does not occur in \"a.txt\". Nothing in the file is like it; read the file again.\n\
                 Nothing was changed.";
    assert_eq!(edit("alpha\n", &[("something else entirely", "")]).await.0, pair("no_match", words));
    assert_eq!(edit("", &[("something else entirely", "")]).await.0, pair("no_match", words));
}

#[tokio::test]
async fn an_old_text_that_occurs_several_times_is_refused_with_its_lines() {
    let words = "edits[0].old_text occurs several times in \"a.txt\", at lines 1, 3; add more context so that it occurs \
                 once.\nNothing was changed.";
    assert_eq!(edit("x\ny\nx\n", &[("x", "z")]).await, (pair("many_matches", words), "x\ny\nx\n".into()));
    let many = "x\n".repeat(20);
    let said = edit(&many, &[("x", "z")]).await.0.1;
    assert!(said.contains("at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and further ones;"), "{said}");
    // Places that overlap each other are two places.
    assert_eq!(edit("aaa", &[("aa", "b")]).await.0.0, "many_matches");
}

#[tokio::test]
async fn edits_that_overlap_are_refused_and_those_that_touch_are_not() {
    let words = "edits[0] and edits[1] overlap at line 1; join them into one.\nNothing was changed.";
    assert_eq!(edit("abcd", &[("bcd", "x"), ("abc", "y")]).await.0.0, "overlap");
    assert_eq!(edit("abcd", &[("abc", "x"), ("bcd", "y")]).await, (pair("overlap", words), "abcd".into()));
    assert_eq!(edit("abcd", &[("ab", "x"), ("cd", "y")]).await.1, "xy");
}

#[tokio::test]
async fn either_all_edits_are_made_or_none_and_every_problem_is_told() {
    let (said, after) = edit("one two two", &[("one", "1"), ("two", "2"), ("", "3"), ("one", "one")]).await;
    assert_eq!(after, "one two two");
    let lines: Vec<&str> = said.1.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].starts_with("edits[1].old_text occurs several times"));
    assert!(lines[1].starts_with("edits[2].old_text is empty;"));
    assert_eq!(lines[2], "edits[3] changes nothing: both texts are the same.");
    assert_eq!(lines[3], "Nothing was changed.");
    assert_eq!(
        edit("x", &[]).await.0,
        pair(
            "invalid_arguments",
            "Wrong arguments for edit_text_file: at /edits: [] has 0 items, fewer than 1. Expected: edits (array of {new_text, old_text}), path (string)."
        )
    );
}

#[tokio::test]
async fn line_ends_are_kept() {
    let (said, after) = edit("a\r\nb\r\nc\r\n", &[("a\nb", "a\nnew\nb")]).await;
    assert_eq!((said.0.as_str(), after.as_str()), ("ok", "a\r\nnew\r\nb\r\nc\r\n"));
    assert_eq!(edit("a\r\nb\nc", &[("b", "x\ny")]).await.1, "a\r\nx\ny\nc");
    assert_eq!(edit("a\r\nb\r\n", &[("a\r\nb", "x\r\ny")]).await.1, "x\r\ny\r\n");
}

#[tokio::test]
async fn a_file_that_cannot_be_edited_is_left_as_it_is() {
    let world = World::new();
    world.put("a.txt", b"a\xffb");
    let words = r#""a.txt" is not UTF-8 text (at byte 1), so it is not edited."#;
    assert_eq!(world.say("edit", args(&[("a", "b")])).await, pair("not_utf8", words));
    std::fs::File::create(world.path("a.txt")).unwrap().set_len(16 * 1024 * 1024 + 1).unwrap();
    assert_eq!(world.say("edit", args(&[("a", "b")])).await.0, "too_large");
    std::fs::remove_file(world.path("a.txt")).unwrap();
    assert_eq!(world.say("edit", args(&[("a", "b")])).await, pair("not_found", r#"There is no file "a.txt"."#));
}

#[tokio::test]
async fn after_a_crash_an_edit_tells_only_what_is_certain() {
    #[derive(Debug, PartialEq)]
    enum Answer {
        Done,
        NotDone,
        Unknown,
    }
    use Answer::*;
    let probe = async |text: &str, edits: &[(&str, &str)]| {
        let world = World::with(&[("a.txt", text)]);
        let answer = match world.probe("edit", args(edits)).await {
            ProbeAnswer::Done(_) => Done,
            ProbeAnswer::NotDone => NotDone,
            ProbeAnswer::Unknown => Unknown,
        };
        assert_eq!(world.get("a.txt"), text);
        answer
    };
    assert_eq!(probe("one two", &[("one", "1")]).await, NotDone);
    assert_eq!(probe("1 two", &[("one", "1")]).await, Done);
    assert_eq!(probe("1 2", &[("one", "1"), ("two", "2")]).await, Done);
    assert_eq!(probe("one two 1", &[("one", "1")]).await, NotDone);
    // Somebody else has changed it.
    assert_eq!(probe("uno two", &[("one", "1")]).await, Unknown);
    assert_eq!(probe("1 two", &[("one", "1"), ("two", "2")]).await, Unknown);
    // The new text holds the old one, so it fits before and after.
    assert_eq!(probe("ab", &[("a", "ab")]).await, Unknown);
    assert_eq!(probe("a", &[("a", "ab")]).await, NotDone);
    // A deletion leaves nothing to be seen.
    assert_eq!(probe("b", &[("a", "")]).await, Unknown);
    // "aabb" without "ab" is "ab" again.
    assert_eq!(probe("ab", &[("ab", "")]).await, Unknown);
    assert_eq!(probe("a b", &[("a", "x"), ("b", "")]).await, NotDone);
    // The new text stands twice, so nobody can say which is the edit's.
    assert_eq!(probe("1 1", &[("one", "1")]).await, Unknown);
}
