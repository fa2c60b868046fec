//! Every kind found, nothing else found, and streams cut everywhere.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainpath_testkit::secrets::samples;

fn vault() -> Vault {
    Vault::new([
        ("A_KEY".to_string(), "hunter2hunter2".to_string()),
        ("B_KEY".to_string(), "xx-hunter2hunter2-yy".to_string()),
        ("C_KEY".to_string(), "quote\"d-secret/x".to_string()),
        ("SHORT_KEY".to_string(), "abc".to_string()),
    ])
}

/// What is said of a text that comes in these pieces.
pub(super) fn streamed<'a>(vault: &Vault, pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut flow = Flow::new(vault, Kind::Text);
    let mut said: String = pieces.into_iter().map(|piece| flow.push(vault, piece)).collect();
    said.push_str(&flow.end(vault));
    said
}

#[test]
fn a_secret_becomes_its_handle_also_inside_json_and_inside_another() {
    let text = r#"a hunter2hunter2 b xx-hunter2hunter2-yy c {"k":"quote\"d-secret/x"} {"k":"quote\"d-secret\/x"} abc"#;
    let c = "{\"k\":\"{{secret:C_KEY}}\"}";
    assert_eq!(vault().redact(text), format!("a {{{{secret:A_KEY}}}} b {{{{secret:B_KEY}}}} c {c} {c} abc"));
}

#[test]
fn only_secrets_that_are_allowed_are_revealed() {
    let text = "{{secret:A_KEY}} {{secret:C_KEY}} {{secret:NONE}} {{secret:jwt-123456}}";
    let revealed = "{{secret:A_KEY}} quote\"d-secret/x {{secret:NONE}} {{secret:jwt-123456}}";
    let allowed = ["C_KEY", "NONE", "jwt-123456"].map(String::from);
    assert_eq!(vault().reveal(text, &allowed), revealed);
}

#[test]
fn the_beginning_of_a_secret_at_the_end_of_a_piece_is_held_back() {
    let begun = |text: &str| vault().begun(text);
    assert_eq!(begun("say hunter2h"), "hunter2h".len());
    assert_eq!(begun("say xx-hunter2"), "xx-hunter2".len());
    assert_eq!(begun("nothing."), 0);
    assert_eq!(begun("so ghp_abcdef"), "ghp_abcdef".len());
    assert_eq!(begun("-----BEGIN RSA PRI"), "-----BEGIN RSA PRI".len());
    assert_eq!(begun("Authorization: Bearer abc"), "abc".len());
    assert_eq!(begun("task-abc and the like."), 0);
    assert!(!vault().is_clean("a gith") && vault().is_clean("a word."));
}

#[test]
fn a_variable_holds_a_secret_by_its_name_or_by_the_form_of_its_value() {
    let forms = Vault::default();
    let sample = |kind: &str| samples(9).into_iter().find(|sample| sample.kind == kind).unwrap().text;
    for kind in ["url-password", "jwt", "slack-token", "aws-key", "stripe-key"] {
        assert!(forms.is_secret_variable("PLAIN", &sample(kind)), "{kind}");
    }
    assert!(forms.is_secret_variable("DB_PASSWORD", "x") && !forms.is_secret_variable("PLAIN", "https://host/x"));
    let hidden: Vec<_> = vault().hidden_variables().collect();
    assert!(["A_KEY", "B_KEY", "C_KEY"].iter().all(|name| hidden.contains(&name.into())), "{hidden:?}");
}

#[test]
fn a_secret_by_name_is_hidden_in_other_writings_and_over_several_lines() {
    let vault = vault();
    let b = "xx-hunter2hunter2-yy";
    let env = format!("HOME=/root\nB_KEY={b}\nPATH=/bin\n");
    let in_base64 = STANDARD.encode(&env);
    let lines: Vec<&str> = in_base64.as_bytes().chunks(20).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let hexadecimal: String = b.bytes().map(|byte| format!("{byte:02x}")).collect();
    let texts = [
        (in_base64.clone(), "{{secret:B_KEY}}"),
        (lines.join("\n"), "{{secret:B_KEY}}"),
        (lines.join("\\n"), "{{secret:B_KEY}}"),
        (format!("a {} b", b.chars().rev().collect::<String>()), "a {{secret:B_KEY}} b"),
        (format!("a {hexadecimal} b {} c", hexadecimal.to_uppercase()), "a {{secret:B_KEY}} b {{secret:B_KEY}} c"),
        ("a xx-hunt\ner2hunter2\n-yy b".into(), "a {{secret:B_KEY}} b"),
        ("a xx-h\r\nunte\r\nr2hu\r\nnter\r\n2-yy b".into(), "a {{secret:B_KEY}} b"),
    ];
    for (text, expected) in texts {
        let shown = vault.redact(&text);
        assert!(shown.contains(expected), "{text:?}: {shown:?}");
        for cut in 0..=text.len() {
            assert_eq!(streamed(&vault, [&text[..cut], &text[cut..]]), shown, "cut at {cut}");
        }
        let bytes = text.as_bytes().chunks(1).map(|byte| std::str::from_utf8(byte).unwrap());
        assert_eq!(streamed(&vault, bytes), shown);
    }
    for other in ["a xx\n-hunter2 hunter2-yy", "hunte\n\n\n\nr2 lines", "a\nb\nhunter\n"] {
        assert_eq!(vault.redact(other), other);
    }
}

/// How programs print bytes: the format, and the text.
fn dumps(bytes: &[u8]) -> Vec<(&'static str, String)> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let seen = |bytes: &[u8]| -> String {
        let shown = |byte: &u8| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' };
        bytes.iter().map(shown).collect()
    };
    let words = |bytes: &[u8], size: usize, backwards: bool| -> String {
        let word = |word: &[u8]| match backwards {
            true => hex(&word.iter().rev().copied().collect::<Vec<u8>>()),
            false => hex(word),
        };
        bytes.chunks(size).map(word).collect::<Vec<_>>().join(" ")
    };
    let lines = |width: usize, line: &dyn Fn(usize, &[u8]) -> String| -> String {
        bytes.chunks(width).enumerate().map(|(at, bytes)| line(at * width, bytes)).collect()
    };
    let halves = |bytes: &[u8]| bytes.chunks(8).map(|half| words(half, 1, false)).collect::<Vec<_>>().join("  ");
    vec![
        ("xxd", lines(16, &|at, bytes| format!("{at:08x}: {:<39}  {}\n", words(bytes, 2, false), seen(bytes)))),
        ("xxd -g1", lines(16, &|at, bytes| format!("{at:08x}: {:<47}  {}\n", words(bytes, 1, false), seen(bytes)))),
        ("xxd -c 7", lines(7, &|at, bytes| format!("{at:08x}: {:<17}  {}\n", words(bytes, 2, false), seen(bytes)))),
        ("xxd -c 1", lines(1, &|at, bytes| format!("{at:08x}: {}  {}\n", words(bytes, 2, false), seen(bytes)))),
        ("xxd -e", lines(16, &|at, bytes| format!("{at:08x}: {:<35}  {}\n", words(bytes, 4, true), seen(bytes)))),
        ("xxd -i", lines(12, &|_, bytes| format!("  0x{},\n", words(bytes, 1, false).replace(' ', ", 0x")))),
        ("xxd -p", lines(30, &|_, bytes| format!("{}\n", hex(bytes)))),
        ("hexdump -C", lines(16, &|at, bytes| format!("{at:08x}  {:<48}  |{}|\n", halves(bytes), seen(bytes)))),
        ("hexdump", lines(16, &|at, bytes| format!("{at:07x} {}\n", words(bytes, 2, true)))),
        ("od -tx1", lines(16, &|at, bytes| format!("{at:07o} {}\n", words(bytes, 1, false)))),
        ("od -An -tx1", lines(16, &|_, bytes| format!(" {}\n", words(bytes, 1, false)))),
        (
            "od -Ax -tx1z",
            lines(16, &|at, bytes| format!("{at:06x} {:<47}  >{}<\n", words(bytes, 1, false), seen(bytes))),
        ),
        ("od -x", lines(16, &|at, bytes| format!("{at:07o} {}\n", words(bytes, 2, true)))),
        ("blanks", words(bytes, 1, false)),
        ("colons", words(bytes, 1, false).replace(' ', ":").to_uppercase()),
        ("escapes", lines(usize::MAX, &|_, bytes| format!("\\x{}", words(bytes, 1, false).replace(' ', "\\x")))),
    ]
}

#[test]
fn a_secret_by_name_is_hidden_in_dumps_of_its_bytes() {
    let value = "xx-a5Bz-kPq7RtW2-Lm9.vN4sYd8-yy";
    let vault = Vault::new([("B_KEY".to_string(), value.to_string())]);
    // Pieces that would tell something of it.
    let digits: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let told = |shown: &str| {
        let plain: String = shown.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
        let plain = plain.to_lowercase();
        (0..digits.len() - 10).step_by(2).any(|at| plain.contains(&digits[at..at + 10]))
            || (0..value.len() - 5).any(|at| shown.contains(&value[at..at + 5]))
    };
    for before in [0, 1, 2, 6, 12, 15, 16] {
        let bytes = format!("{}{value}\nand more of the text after it\n", &"abcdefghijklmnop"[..before]);
        for (format, dump) in dumps(bytes.as_bytes()) {
            let whole = format!("dump:\n{dump}\nThe end: add 12 of them.");
            let shown = vault.redact(&whole);
            assert!(shown.contains("{{secret:B_KEY}}"), "{format}, {before} before: {shown}");
            assert!(!told(&shown), "{format}, {before} before: {shown}");
            assert!(shown.starts_with("dump:\n") && shown.ends_with("\nThe end: add 12 of them."), "{format}: {shown}");
            let in_json = serde_json::to_string(&whole).unwrap();
            assert!(vault.redact(&in_json).contains("{{secret:B_KEY}}"), "{format}: {in_json}");
            let sizes: &[usize] = if before == 6 { &[1, 7] } else { &[31] };
            for size in sizes {
                let pieces = whole.as_bytes().chunks(*size).map(|piece| std::str::from_utf8(piece).unwrap());
                assert_eq!(streamed(&vault, pieces), shown, "{format}, {before} before, in pieces of {size}");
            }
        }
    }
    let other =
        "00000000: 6162 6364 6566 6768 696a 6b6c 6d6e 6f70  abcdefghijklmnop\n0000000 78 78 2d\nadd 12 to be fed\n";
    assert_eq!(vault.redact(other), other);
    assert_eq!(streamed(&vault, other.as_bytes().chunks(1).map(|byte| std::str::from_utf8(byte).unwrap())), other);
}

#[test]
fn a_secret_by_name_is_hidden_with_invisible_characters_in_it() {
    let vault = vault();
    for unseen in [
        "\u{feff}",
        "\u{200b}",
        "\u{200d}",
        "\u{ad}",
        "\u{2060}\u{2064}",
        "\u{e0041}",
        "\u{fe0f}",
        "\u{1b}[0m",
        "\u{1b}[1;31m",
        "\0",
        "\u{7f}",
    ] {
        let letters = |text: &str| text.chars().map(String::from).collect::<Vec<_>>().join(unseen);
        for text in [
            format!("a hunter2{unseen}hunter2 b"),
            format!("a h{unseen}unter2hunter2 b"),
            format!("a {} b", letters("hunter2hunter2")),
            format!("a hunter2{unseen}\nhunter2 b"),
        ] {
            let shown = vault.redact(&text);
            assert_eq!(shown, "a {{secret:A_KEY}} b", "{text:?}");
            for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                assert_eq!(streamed(&vault, [&text[..cut], &text[cut..]]), shown, "{text:?} cut at {cut}");
            }
            assert_eq!(streamed(&vault, text.split_inclusive(|_| true)), shown, "{text:?}");
        }
    }
    for other in ["a hunter2 hunter2 b", "hunter2\thunter2", "h\u{e9}unter2hunter", "\u{feff}hunter2 \u{1b}[0m"] {
        assert_eq!(vault.redact(other), other);
    }
}

#[test]
fn every_kind_is_found_wherever_it_stands_and_nothing_around_it() {
    let vault = Vault::default();
    let mut met: Vec<&str> = Vec::new();
    for seed in 0..20 {
        for sample in samples(seed) {
            let json = serde_json::to_string(&sample.text).unwrap();
            let twice = serde_json::to_string(&json).unwrap();
            for text in [&sample.text, &format!("é {} \u{1b}[32m{}", sample.text, sample.text), &json, &twice] {
                let shown = vault.redact(text);
                let found = sample.secret.iter().all(|secret| !shown.contains(secret.as_str()));
                assert!(
                    found && shown.contains(&format!("{{{{secret:{}-", sample.kind)),
                    "seed {seed}: {text:?}: {shown:?}"
                );
                assert_eq!(vault.redact(&shown), shown, "handles stay");
            }
            for text in [&json, &twice] {
                let shown = vault.redact(text);
                assert!(serde_json::from_str::<String>(&shown).is_ok(), "seed {seed}: no JSON any more: {shown}");
            }
            if let [secret] = sample.secret.as_slice() {
                let (before, after) = sample.text.split_once(secret.as_str()).unwrap();
                let shown = vault.redact(&sample.text);
                assert!(
                    shown.starts_with(before) && shown.ends_with(after),
                    "seed {seed}: {:?}: {shown:?}",
                    sample.text
                );
            }
            met.push(sample.kind);
        }
    }
    let unmet: Vec<&str> = Vault::kinds().into_iter().filter(|kind| !met.contains(kind)).collect();
    assert_eq!(unmet, [""; 0], "every kind has a sample");
}

#[test]
fn a_handle_is_the_same_for_the_same_secret_and_differs_by_key() {
    let [first, second] =
        [1, 2].map(|seed| samples(seed).into_iter().find(|sample| sample.kind == "github-token").unwrap());
    let (token, other) = (&first.secret[0], &second.secret[0]);
    let shown = Vault::default().redact(&format!("{token} {other} Bearer {token} https://u:{token}@host"));
    let words: Vec<&str> = shown.split([' ', '@']).collect();
    let [a, b, "Bearer", c, d, "host"] = words[..] else { panic!("{shown}") };
    assert!(
        a == c && a != b && d == format!("https://u:{a}") && a.len() == "{{secret:github-token-123456}}".len(),
        "{shown}"
    );
    let keyed = Vault::default().with_key([1; 32]).redact(token);
    assert!(keyed != a && keyed == Vault::default().with_key([1; 32]).redact(token), "{keyed}");
}

#[test]
fn prose_and_code_stay_as_they_are() {
    let vault = Vault::default();
    let texts = [
        "the password is easy to guess; tokens: 12345678, max_tokens=4096, a token: see below",
        "let token = self.tokens.next2(a1b2c3d4).unwrap(); fn secret_key(pass: &str) -> Token::Sha256Digest1 {",
        "password=hunter2 password: str = \"\" PASSWORD=$DB_PASSWORD_2_FOR_APP_1 token={{github.token.a1b2c3d4e5f6g7}}",
        "https://host:8080/a@b http://[::1]:80/x postgres://user:password@localhost/db https://u:$PASS@h ftp://a:****@b",
        "Authorization: Bearer YOUR_TOKEN_GOES_HERE_PLEASE Basic information, basic instructions, the bearer of this",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx sk-your-key-here-and-some-more-words-that-follow-it AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN PRIVATE KEY----- marks where a key begins, -----END PRIVATE KEY----- where it ends",
        "-----BEGIN CERTIFICATE-----\nMIIB0000000000000000000000000000000000000000000000000000000000000\n-----END CERTIFICATE-----",
        "task-0123456789abcdef0123456789abcdef risk-scan sha256:3f786850e387550fdab836ed7e6dc881de23001b eyJust.eyJust.no",
        "model_token = \"claude-3-5-sonnet-20241022\"; secret_file: /run/secrets/k8s-v1-token2/data; id hf_transformers_bert",
    ];
    for text in texts {
        assert_eq!(vault.redact(text), text);
    }
}

/// The files of this repository that people wrote.
fn sources(root: &std::path::Path) -> Vec<std::path::PathBuf> {
    let listed = std::process::Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let names = String::from_utf8(listed.stdout).unwrap();
    let ends = [".rs", ".md", ".toml", ".json", ".jsonl", ".snap", ".sse", ".txt"];
    let texts = names.split('\0').filter(|name| ends.iter().any(|end| name.ends_with(end)));
    // One that is removed, and not yet in a commit, is listed.
    texts.map(|name| root.join(name)).filter(|file| file.exists()).collect()
}

#[test]
fn in_this_repository_nothing_is_found_but_what_was_planted() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = sources(&root);
    assert!(files.len() > 200, "{}", files.len());
    let vault = Vault::default();
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        found.extend(vault.found(&text).into_iter().map(|range| format!("{name}: {}", &text[range])));
    }
    found.sort();
    // Passwords in addresses, which tests there are about.
    let planted = [
        "crates/net/tests/it/client.rs: s3cret",
        "crates/providers/src/endpoint.rs: hunter2",
        "crates/providers/src/endpoint.rs: hunter2",
        "crates/sessions/tests/it/places.rs: secretpass",
    ];
    assert_eq!(found, planted);
}

#[test]
fn a_secret_in_pieces_becomes_its_handle_wherever_it_is_cut() {
    let vault = vault().with_pattern(r"\bcase-[0-9]+[a-z]*\b").unwrap();
    for sample in samples(3) {
        let text = format!("say {} or hunter2hunter2, case-77x\nand {}", sample.text, sample.text);
        let whole = vault.redact(&text);
        assert!(whole.contains("{{secret:A_KEY}}, {{secret:pattern-"), "{whole}");
        for size in [1, 2, 3, 5, 8, 13, 21, 34, 55] {
            let pieces = text.as_bytes().chunks(size).map(|piece| std::str::from_utf8(piece).unwrap());
            assert_eq!(streamed(&vault, pieces), whole, "in pieces of {size}");
        }
        for cut in (0..text.len()).step_by(text.len() / 200 + 1) {
            assert_eq!(streamed(&vault, [&text[..cut], &text[cut..]]), whole, "cut at {cut}");
            // What is said so far is never more than what stays said.
            let said = Flow::new(&vault, Kind::Text).push(&vault, &text[..cut]);
            assert!(whole.starts_with(&said), "{said:?} is not how {whole:?} begins");
        }
    }
}

#[test]
fn nothing_of_a_secret_is_said_that_began_while_nobody_watched() {
    let vault = vault();
    for sample in samples(4) {
        let text = format!("so {} it", sample.text);
        let whole = vault.redact(&text);
        let first = text.find(sample.secret[0].as_str()).unwrap();
        for cut in first + 1..first + sample.secret[0].len() {
            let mut flow = Flow::new(&vault, Kind::Text);
            flow.pass(&text[..cut]);
            let said = flow.push(&vault, &text[cut..]) + &flow.end(&vault);
            assert!(said.starts_with("{{secret:") && whole.ends_with(&said), "{}: {said:?} of {whole:?}", sample.kind);
        }
    }
}

#[test]
fn what_is_held_back_is_bounded_and_then_nothing_more_is_said() {
    let vault = Vault::default();
    let dashes = "-----";
    let line = format!("{}\n", "MIIEow7b".repeat(8));
    let key = format!(
        "key: {dashes}BEGIN PRIVATE KEY{dashes}\n{}{dashes}END PRIVATE KEY{dashes}\nthe end",
        line.repeat(2_000)
    );
    let pieces = key.as_bytes().chunks(97).map(|piece| std::str::from_utf8(piece).unwrap());
    assert_eq!(streamed(&vault, pieces), "key: ");
    assert!(
        vault.redact(&key).starts_with("key: {{secret:private-key-") && vault.redact(&key).ends_with("}}\nthe end")
    );
}

#[test]
fn a_key_block_of_which_only_a_part_is_there_is_hidden_as_far_as_it_goes() {
    let vault = Vault::default();
    for sample in samples(5).into_iter().filter(|sample| sample.kind == "private-key") {
        let lines: Vec<&str> = sample.text.lines().collect();
        let cut = |lines: &[&str]| vault.redact(&lines.join("\n"));
        for most in 2..lines.len() {
            let shown = cut(&lines[..most]);
            assert!(shown.starts_with("{{secret:private-key-") && shown.ends_with("}}"), "{most} lines: {shown}");
        }
        let quoted: Vec<String> = lines.iter().enumerate().map(|(at, line)| format!("{:>6}\t{line}", at + 1)).collect();
        let shown = vault.redact(&quoted.join("\n"));
        assert!(shown.starts_with("     1\t{{secret:private-key-") && shown.ends_with("}}"), "{shown}");
        // A piece out of the middle, for whoever knows what it was cut from.
        let from = sample.text.find(&sample.secret[2]).unwrap();
        let part = vault.redact_part(&sample.text, from..from + 100);
        assert!(part.starts_with("{{secret:private-key-") && part.ends_with("}}"), "{part}");
    }
}

#[test]
fn a_kind_can_be_switched_off_and_mistakes_are_told() {
    let jwt = samples(6).into_iter().find(|sample| sample.kind == "jwt").unwrap();
    let vault = Vault::default().without("jwt").unwrap();
    assert_eq!(vault.redact(&jwt.secret[0]), jwt.secret[0]);
    let problem = Vault::default().without("jvt").unwrap_err().to_string();
    assert!(problem.starts_with("there is no kind \"jvt\" of secret; there are: aws-key, github-token,"), "{problem}");
    assert_eq!(Vault::default().with_pattern("a(b").unwrap_err().to_string(), "no regular expression: unclosed group");
    let empty = "an expression that matches the empty text would match everywhere";
    assert_eq!(Vault::default().with_pattern("x*").unwrap_err().to_string(), empty);
}

#[test]
fn arguments_with_escapes_hide_nothing_and_configured_values_are_left_out() {
    let vault = vault().with_path("$..pin").unwrap();
    let arguments = r#"{"z":"hunter\u0032hunter2","b":["h\/x\n"]}"#;
    let shown = r#"{"z":"{{secret:A_KEY}}","b":["h/x\n"]}"#;
    assert_eq!(vault.redact_arguments(arguments), shown);
    assert_eq!(vault.redact_arguments(r#"{"b":["h\/x\u0041"]}"#), r#"{"b":["h\/x\u0041"]}"#);
    for size in 1..9 {
        let mut flow = Flow::new(&vault, Kind::Arguments);
        let pieces = arguments.as_bytes().chunks(size).map(|piece| std::str::from_utf8(piece).unwrap());
        let said: String = pieces.map(|piece| flow.push(&vault, piece)).collect();
        assert_eq!(said + &flow.end(&vault), shown, "in pieces of {size}");
    }
    let shown = vault.redact_arguments(r#"{"x":{"pin":1234}}"#);
    assert!(shown.starts_with(r#"{"x":{"pin":"{{redacted:$..pin-"#) && shown.ends_with(r#"}}"}}"#), "{shown}");
    assert_eq!(vault.redact_said("pin: 1234 {\"pin\":1234}"), "pin: 1234 {\"pin\":1234}");
}

#[test]
fn any_text_is_redacted_without_a_panic_and_alike_however_it_is_cut() {
    // With an expression of one's own, every text is looked through again and again; without, only what is new.
    let vaults = [vault().with_pattern("(?:ab|é)+c").unwrap(), vault()];
    let mut rng = fastrand::Rng::with_seed(11);
    let mut words: Vec<String> = samples(7).into_iter().map(|sample| sample.text).collect();
    let odd = [
        "-----BEGIN",
        " PRIVATE KEY",
        "-----",
        "\n",
        "://",
        "u:",
        "@",
        "token",
        "=",
        "\"",
        "\\",
        "\\n",
        "eyJ",
        ".",
        "é",
        "hunter2",
        "sk-",
        " ",
        "a1B2c3D4e5F6g7H8",
        "{{secret:",
        "}}",
        "ab",
        "c",
        "Bearer ",
        ":AA",
        "12345678",
        "password",
        " : ",
        "    ",
        "--api-key ",
        "https",
        "Basic ",
        "dXNlcjpwYXNz",
        "eyJhbGciOiJIUzI1NiJ9",
    ];
    words.extend(odd.map(String::from));
    for round in 0..240 {
        let vault = &vaults[round % 2];
        let parts = (0..rng.usize(1..14)).map(|_| {
            let word = &words[rng.usize(..words.len())];
            let end = if rng.bool() { word.len() } else { rng.usize(..=word.len()) };
            let end = (0..=end).rev().find(|end| word.is_char_boundary(*end)).unwrap();
            word[..end].to_string()
        });
        let text: String = parts.collect();
        let whole = vault.redact(&text);
        for _ in 0..6 {
            let mut pieces = Vec::new();
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let end = rng.usize(1..=rest.len().min(40));
                let end = (end..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap();
                let (piece, after) = rest.split_at(end);
                pieces.push(piece);
                rest = after;
            }
            assert_eq!(streamed(vault, pieces.iter().copied()), whole, "round {round}: {pieces:?}");
        }
    }
}
