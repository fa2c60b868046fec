use crate::support::{World, pair, said};
use mainpath_policy::PathFact;
use mainpath_tools::{Secrets, Workspace};
use mainpath_types::{Decision, ToolOutput};
use rustix::fs::{CWD, Mode, OFlags};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::sync::Arc;

async fn glob(world: &World, pattern: &str) -> String {
    let (code, text) = world.say("glob", json!({ "pattern": pattern })).await;
    assert_eq!(code, "ok", "{text}");
    text
}

async fn grep(world: &World, pattern: &str) -> String {
    let (code, text) = world.say("grep", json!({ "pattern": pattern })).await;
    assert_eq!(code, "ok", "{text}");
    text
}

#[tokio::test]
async fn a_folder_is_listed_by_name_with_kinds_and_sizes() {
    let world =
        World::with(&[("b.txt", "12345"), ("src/main.rs", ""), (".env", ""), ("x.log", ""), (".gitignore", "*.log")]);
    symlink("b.txt", world.path("a_link")).unwrap();
    rustix::fs::mkfifoat(CWD, world.path("pipe"), Mode::RUSR).unwrap();
    let wanted = "a_link -> b.txt\nb.txt (5)\npipe (a device, pipe or socket)\nsrc/\n[3 names hidden or ignored]";
    let output = world.run("list_files", json!({})).await;
    let whole = ToolOutput {
        title: Some(".".into()),
        long_term_memory: Some("Listed .: 4 names; list it again if its names are needed.".into()),
        ..ToolOutput::text(wanted)
    };
    assert_eq!(output, whole);
    assert_eq!(world.say("list_files", json!({"path": "src"})).await, pair("ok", "main.rs (0)"));
    std::fs::create_dir(world.path("empty")).unwrap();
    assert_eq!(world.say("list_files", json!({"path": "empty"})).await, pair("ok", "[the folder is empty]"));
    let not_a_folder = pair("not_a_folder", r#""b.txt" is a file, not a folder."#);
    assert_eq!(world.say("list_files", json!({"path": "b.txt"})).await, not_a_folder);
    let (code, _) = world.say("list_files", json!({"path": "nowhere"})).await;
    assert_eq!(code, "not_found");
}

#[tokio::test]
async fn what_lies_in_two_thousand_nested_folders_is_found() {
    // Their paths are longer than the kernel takes.
    let world = World::with(&[("top.txt", "needle\n")]);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(world.path(""), flags, Mode::empty()).unwrap();
    for _ in 0..2_000 {
        rustix::fs::mkdirat(&folder, "nested", Mode::RWXU).unwrap();
        folder = rustix::fs::openat(&folder, "nested", flags, Mode::empty()).unwrap();
    }
    let leaf = rustix::fs::openat(&folder, "leaf.txt", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
    rustix::io::write(&leaf, b"needle\n").unwrap();
    let found = glob(&world, "**/leaf.txt").await;
    assert!(found.ends_with("/leaf.txt") && !found.contains('['), "{}", found.len());
    let found = grep(&world, "needle").await;
    assert!(found.contains("leaf.txt\n1:needle") && found.contains("top.txt\n1:needle"), "{}", found.len());
    assert!(!found.contains('['), "{}", found.len());
    // `std` keeps a folder open for each level.
    let removed = std::process::Command::new("rm").arg("-rf").arg(world.path("nested")).status().unwrap();
    assert!(removed.success());
}

/// A world where the rules deny `secret*` and all of `secrets`, and ask about `*.pem`.
async fn under_rules(world: &World, tool: &str, args: Value) -> (String, String) {
    let mut ctx = world.judged(tool, &args);
    ctx.check_found = Arc::new(|fact: &PathFact| {
        let relative = fact.relative.as_deref().unwrap();
        assert!(fact.absolute.ends_with(relative) && !fact.write, "{fact:?}");
        match relative.starts_with("secret") {
            true => Decision::Deny,
            false if relative.ends_with(".pem") => Decision::Ask,
            false => Decision::Allow,
        }
    });
    said(&world.tools.run(tool, &args.to_string(), &ctx).await)
}

#[tokio::test]
async fn what_rules_deny_is_left_out_of_lists_and_searches_and_counted() {
    let world = World::with(&[
        ("secret.txt", "TOP"),
        ("secrets/deep/b.txt", "TOP"),
        ("a.txt", "TOP"),
        ("key.pem", "TOP"),
        ("secret.rs", "TOP"),
    ]);
    symlink("secret.txt", world.path("b_link")).unwrap();
    let say = async |tool: &str, args: Value| under_rules(&world, tool, args).await;
    let listed = "a.txt (3)\nkey.pem (3)\n[4 names left out by rules]";
    assert_eq!(say("list_files", json!({})).await, pair("ok", listed));
    assert_eq!(say("list_files", json!({"path": "secrets"})).await, pair("ok", "[1 name left out by rules]"));
    assert_eq!(say("glob", json!({"pattern": "*"})).await, pair("ok", "a.txt\nkey.pem\n[3 names left out by rules]"));
    assert_eq!(
        say("glob", json!({"pattern": "*.rs"})).await,
        pair("ok", "[no file matches]\n[1 name left out by rules]")
    );
    assert_eq!(say("grep", json!({"pattern": "TOP"})).await, pair("ok", "a.txt\n1:TOP\n[4 names left out by rules]"));
    let none = "[no line matches]\n[2 names left out by rules]";
    assert_eq!(say("grep", json!({"pattern": "TOP", "glob": "{secret*,*.md}"})).await, pair("ok", none));
}

#[tokio::test]
async fn a_long_folder_is_cut_with_a_count() {
    let world = World::new();
    (0..1_003).for_each(|number| world.put(&format!("{number:04}"), ""));
    let (code, text) = world.say("list_files", json!({})).await;
    assert_eq!(code, "ok");
    assert!(text.starts_with("0000 (0)\n0001 (0)\n"), "{text}");
    assert!(text.ends_with("\n0999 (0)\n[… and 3 names more; narrow it with glob]"), "{text}");
    let text = glob(&world, "*").await;
    assert!(text.ends_with("\n0999\n[… and 3 files more; narrow it by a longer pattern or by `path`]"), "{text}");
}

#[tokio::test]
async fn files_are_found_by_pattern_sorted_and_the_same_each_time() {
    let world = World::with(&[("src/b.rs", ""), ("src/a/c.rs", ""), ("a.rs", ""), ("src/x.ts", ""), ("docs/a.md", "")]);
    assert_eq!(glob(&world, "*.rs").await, "a.rs\nsrc/a/c.rs\nsrc/b.rs");
    assert_eq!(glob(&world, "/*.rs").await, "a.rs");
    assert_eq!(glob(&world, "./src/*.rs").await, "src/b.rs");
    assert_eq!(glob(&world, "src/**/*.{rs,ts}").await, "src/a/c.rs\nsrc/b.rs\nsrc/x.ts");
    assert_eq!(glob(&world, "!*.rs").await, "docs/a.md\nsrc/x.ts");
    assert_eq!(glob(&world, "*.py").await, "[no file matches]");
    let under = async |path: &str| world.say("glob", json!({"pattern": "*/c.rs", "path": path})).await;
    assert_eq!(under("src").await, pair("ok", "src/a/c.rs"));
    assert_eq!(under(".").await, pair("ok", "[no file matches]"));
    assert_eq!(under("src/b.rs").await, pair("not_a_folder", r#""src/b.rs" is a file, not a folder."#));
    let output = world.run("glob", json!({"pattern": "*.md"})).await;
    let whole = ToolOutput {
        title: Some("*.md".into()),
        long_term_memory: Some("Looked for files *.md: 1 file.".into()),
        ..ToolOutput::text("docs/a.md")
    };
    assert_eq!(output, whole);
}

#[tokio::test]
async fn a_pattern_that_is_none_is_told_why() {
    let world = World::new();
    let (code, text) = world.say("glob", json!({"pattern": "a{b"})).await;
    assert_eq!(code, "invalid_arguments");
    assert!(text.starts_with("Wrong arguments for glob: `pattern`: error parsing glob 'a{b'"), "{text}");
    let empty = pair("invalid_arguments", "Wrong arguments for glob: `pattern`: it is empty.");
    assert_eq!(world.say("glob", json!({"pattern": ""})).await, empty);
    let (code, text) = world.say("grep", json!({"pattern": "a(b", "glob": "*"})).await;
    assert_eq!(code, "invalid_arguments");
    assert!(text.starts_with("Wrong arguments for grep: `pattern`: regex parse error:"), "{text}");
    assert!(text.contains("unclosed group"), "{text}");
    let (code, text) = world.say("grep", json!({"pattern": "(?:\\w{1000}){1000}"})).await;
    assert_eq!(code, "invalid_arguments");
    assert!(text.contains("size limit"), "{text}");
    let (code, text) = world.say("grep", json!({"pattern": "a\nb"})).await;
    assert_eq!((code.as_str(), text.contains("\\n")), ("invalid_arguments", true), "{text}");
}

#[tokio::test]
async fn ignore_files_hold_as_ripgrep_has_them() {
    let world = World::with(&[
        (".gitignore", "\u{feff}target/\n*.log\n!keep.log\n/only_here\n# no pattern\n[\n"),
        (".git/info/exclude", "*.tmp\n*.bak\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("only_here", ""),
        ("a.tmp", ""),
        ("target/x", ""),
        (".hidden", ""),
        (".github/.gitignore", "!.shown\n"),
        ("sub/only_here", ""),
        ("sub/.gitignore", "!*.log\n!.shown\n!a.bak\n"),
        ("sub/a.log", ""),
        ("sub/a.bak", ""),
        ("sub/.shown", ""),
        ("sub/.not", ""),
        ("sub/deep/b.log", ""),
        ("own/.ignore", "*.txt\n!b.log\n"),
        ("own/.rgignore", "!b.txt\n"),
        ("own/.gitignore", "!a.txt\nb.log\n"),
        ("own/a.txt", ""),
        ("own/b.txt", ""),
        ("own/b.log", ""),
        ("other/.git", "gitdir: elsewhere"),
        ("other/a.log", ""),
        ("other/a.tmp", ""),
    ]);
    let wanted = "keep.log\nother/a.log\nother/a.tmp\nown/b.log\nown/b.txt\nsub/.shown\nsub/a.bak\nsub/a.log\n\
                  sub/deep/b.log\nsub/only_here";
    assert_eq!(glob(&world, "*").await, wanted);
    // A folder that is named is looked into, under the rules of all around it.
    let under = async |path: &str| world.say("glob", json!({"pattern": "*", "path": path})).await;
    assert_eq!(under("target").await, pair("ok", "target/x"));
    assert_eq!(under("sub/deep").await, pair("ok", "sub/deep/b.log"));
    assert_eq!(under(".git").await, pair("ok", ".git/info/exclude"));
}

#[tokio::test]
async fn ignore_files_above_the_workspace_hold_inside_a_repository() {
    let world = World::with(&[(".gitignore", "*.log\n"), ("a/b/x.log", ""), ("a/b/x.rs", "")]);
    let names = async || {
        let inner = Arc::new(Workspace::new(world.path("a/b"), vec![]).unwrap());
        let mut ctx = world.context("glob");
        ctx.workspace = inner;
        said(&world.tools.run("glob", r#"{"pattern":"*"}"#, &ctx).await).1
    };
    assert_eq!(names().await, "x.log\nx.rs");
    std::fs::create_dir(world.path(".git")).unwrap();
    assert_eq!(names().await, "x.rs");
}

#[tokio::test]
async fn lines_are_found_with_their_numbers_and_context() {
    let world = World::with(&[
        ("a.rs", "fn one() {\r\n}\r\n\r\nfn two() {\r\n    one();\r\n}\r\n"),
        ("b/c.rs", "// one\n"),
        ("d.md", "one\n"),
    ]);
    assert_eq!(grep(&world, "one").await, "a.rs\n1:fn one() {\n5:    one();\n\nb/c.rs\n1:// one\n\nd.md\n1:one");
    assert_eq!(grep(&world, r"^fn \w+\(\) \{$").await, "a.rs\n1:fn one() {\n4:fn two() {");
    assert_eq!(grep(&world, "(?i)ONE$").await, "b/c.rs\n1:// one\n\nd.md\n1:one");
    assert_eq!(grep(&world, "three").await, "[no line matches]");
    let args = json!({"pattern": "two|\\}", "glob": "*.rs", "context": 1});
    let wanted = "a.rs\n1-fn one() {\n2:}\n3-\n4:fn two() {\n5-    one();\n6:}";
    assert_eq!(world.say("grep", args).await, pair("ok", wanted));
    let args = json!({"pattern": "one", "path": "a.rs", "context": 1});
    let wanted = "a.rs\n1:fn one() {\n2-}\n--\n4-fn two() {\n5:    one();\n6-}";
    let output = world.run("grep", args).await;
    let whole = ToolOutput {
        title: Some("one".into()),
        long_term_memory: Some("Searched for one: 2 lines in 1 file.".into()),
        ..ToolOutput::text(wanted)
    };
    assert_eq!(output, whole);
}

#[tokio::test]
async fn many_matches_are_cut_with_a_count() {
    let lines = |number: usize| "match\n".repeat(number);
    let world = World::with(&[("a", &lines(499)), ("b", &lines(10)), ("c", &lines(5)), ("d", &lines(1))]);
    let text = grep(&world, "match").await;
    assert!(text.starts_with("a\n1:match\n2:match\n"), "{text}");
    let end = "\n499:match\n\nb\n1:match\n[… and 15 matching lines more, 2 files of them with all of theirs; narrow it by a longer \
               pattern, `path` or `glob`]";
    assert!(text.ends_with(end), "{}", &text[text.len() - 300..]);
}

#[tokio::test]
async fn a_long_line_is_cut_around_its_match() {
    let world = World::with(&[("a.js", &format!("{}needle{}\n", "é".repeat(10_000), "x".repeat(10_000)))]);
    let wanted = format!("a.js\n1:…{}needle{}… [line of 30,006 bytes]", "é".repeat(50), "x".repeat(344));
    assert_eq!(grep(&world, "needle").await, wanted);
}

#[tokio::test]
async fn a_secret_is_hidden_before_a_line_is_cut() {
    struct Vault;
    impl Secrets for Vault {
        fn reveal(&self, text: &str) -> String {
            text.replace("<handle>", "hunter2 of many letters")
        }
        fn redact(&self, text: &str) -> String {
            text.replace("hunter2 of many letters", "<handle>")
        }
    }
    // Every place where a cut may fall.
    for before in 370..400 {
        let line = format!("x{}hunter2 of many letters{}", "a".repeat(before), "b".repeat(1_000));
        let world = World::with(&[("a", &line)]);
        let mut ctx = world.context("grep");
        ctx.secrets = Arc::new(Vault);
        let (code, text) = said(&world.tools.run("grep", r#"{"pattern":"x"}"#, &ctx).await);
        assert_eq!(code, "ok");
        assert!(text.contains("aaaa") && !text.contains("hunter2"), "{before}: {text}");
    }
}

#[tokio::test]
async fn binary_files_are_skipped_and_said() {
    let world = World::new();
    world.put("a.bin", b"match\0\n");
    world.put("b.bin", [b"match\n".repeat(100_000).as_slice(), b"\0"].concat());
    world.put("c.txt", b"match \xff\n");
    world.put("d.txt", b"\xff\xfem\0a\0t\0c\0h\0\n\0");
    assert_eq!(grep(&world, "match").await, "c.txt\n1:match \u{fffd}\n\nd.txt\n1:match\n[2 binary files skipped]");
    let alone = world.say("grep", json!({"pattern": "match", "path": "a.bin"})).await;
    assert_eq!(alone, pair("ok", "[no line matches]\n[1 binary file skipped]"));
}

#[tokio::test]
async fn nothing_outside_of_the_workspace_is_seen() {
    let outside = World::with(&[("secret", "match\n"), ("folder/secret", "match\n")]);
    let mut world = World::with(&[("a", "match\n"), ("own/log", "match\n"), ("own/deep/log", "match\n")]);
    symlink(outside.path("secret"), world.path("link")).unwrap();
    symlink(outside.path("folder"), world.path("folder")).unwrap();
    symlink("/", world.path("root")).unwrap();
    symlink(".", world.path("loop")).unwrap();
    symlink(outside.path("secret"), world.path(".gitignore")).unwrap();
    world.workspace = Arc::new(Workspace::new(world.path("."), vec![world.path("own")]).unwrap());
    let run = async |tool: &str, args: serde_json::Value| world.say(tool, args).await;
    let unread = "[could not be read: .gitignore (a link)]";
    assert_eq!(run("glob", json!({"pattern": "*"})).await, pair("ok", format!("a\n{unread}")));
    assert_eq!(run("grep", json!({"pattern": "match"})).await, pair("ok", format!("a\n1:match\n{unread}")));
    let (_, listed) = run("list_files", json!({})).await;
    assert!(listed.starts_with("a (6)\nfolder -> /") && !listed.contains("own"), "{listed}");
    for tool in ["glob", "grep"] {
        for (path, code) in [("folder", "outside_workspace"), ("..", "outside_workspace"), ("own/deep", "protected")] {
            assert_eq!(run(tool, json!({"pattern": "match", "path": path})).await.0, code, "{tool} {path}");
        }
    }
    assert_eq!(run("list_files", json!({"path": "own"})).await.0, "protected");
}

#[tokio::test]
async fn a_hostile_tree_is_said_and_not_fatal() {
    let world = World::with(&[("a", "match\n"), ("deep/x", "match\n"), ("ignored/.gitignore", &"#\n".repeat(200_000))]);
    // Pipes that nobody writes to, where files and ignore files are looked for.
    for pipe in ["pipe", ".gitignore", ".ignore", "deep/.rgignore"] {
        rustix::fs::mkfifoat(CWD, world.path(pipe), Mode::RUSR).unwrap();
    }
    // A file of a tebibyte without any byte in it.
    std::fs::File::create(world.path("huge")).unwrap().set_len(1 << 40).unwrap();
    // Folders in folders, deeper than any one path can name: they are opened in parts.
    let name = "d".repeat(200);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut folder = rustix::fs::open(world.path("deep"), flags, Mode::empty()).unwrap();
    for _ in 0..100 {
        rustix::fs::mkdirat(&folder, &name, Mode::RWXU).unwrap();
        folder = rustix::fs::openat(&folder, &name, flags, Mode::empty()).unwrap();
    }
    world.put("line\nbreak", "match\n");
    std::fs::write(world.path(".").join(OsStr::from_bytes(b"not\xffutf8")), "match\n").unwrap();
    let found = grep(&world, "match").await;
    let (lines, notes) = found.split_once("\n[").unwrap();
    assert_eq!(lines, "a\n1:match\n\ndeep/x\n1:match\n\nline\\nbreak\n1:match\n\nnot\u{fffd}utf8\n1:match");
    let words = "1 binary file skipped]\n[4 files or folders could not be read, the first: .ignore (a device, pipe or \
                 socket)]";
    assert_eq!(notes, words);
    let found = glob(&world, "*").await;
    assert!(found.starts_with("a\ndeep/x\nhuge\nline\\nbreak\nnot\u{fffd}utf8\n[4 files or folders"), "{found}");
}

#[tokio::test]
async fn a_search_ends_when_it_is_stopped() {
    let world = World::with(&[("a", "x")]);
    for (tool, args) in [("glob", r#"{"pattern":"*"}"#), ("grep", r#"{"pattern":"x"}"#)] {
        let ctx = world.context(tool);
        ctx.cancel.cancel();
        let output = world.tools.run(tool, args, &ctx).await;
        assert_eq!(said(&output), pair("interrupted", "The call was interrupted."));
    }
}
