//! The reference validator of the specification says the same as ours, of every case here.

use mainpath_skills::{Strictness, is_valid, read_text, validate};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the reference validator says of skills, in order.
pub struct Oracle {
    python: PathBuf,
}

/// What it says of one.
#[derive(Debug, serde::Deserialize)]
pub struct Answer {
    pub problems: Vec<String>,
    pub fields: std::collections::BTreeMap<String, String>,
}

impl Oracle {
    pub fn new() -> Oracle {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/skills-ref/venv/bin/python");
        assert!(python.exists(), "the reference validator is not installed: run make skills-ref");
        Oracle { python }
    }

    pub fn ask(&self, folders: &[PathBuf]) -> Vec<Answer> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle.py");
        let mut command = Command::new(&self.python);
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut questions = child.stdin.take().unwrap();
        let lines: String = folders.iter().map(|folder| serde_json::to_string(folder).unwrap() + "\n").collect();
        let writer = std::thread::spawn(move || questions.write_all(lines.as_bytes()).unwrap());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let answers = String::from_utf8(output.stdout).unwrap();
        let answers: Vec<Answer> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers.len(), folders.len());
        answers
    }
}

/// A skill's file in a folder of this name, in a folder of its own.
fn write(place: &Path, number: usize, folder: &str, text: &[u8]) -> PathBuf {
    let folder = place.join(number.to_string()).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
    folder
}

/// Where the two disagree.
pub fn disagreements(folders: &[PathBuf]) -> Vec<String> {
    let answers = Oracle::new().ask(folders);
    let mut found = Vec::new();
    for (folder, answer) in folders.iter().zip(answers) {
        let ours = validate(folder, Strictness::Spec);
        let text = std::fs::read(folder.join("SKILL.md")).unwrap_or_default();
        let shown = String::from_utf8_lossy(&text);
        // A mistake of the validator itself, which has no answer then.
        if answer.problems.iter().any(|problem| problem.starts_with("NotImplementedError")) || is_exempt(&shown) {
            continue;
        }
        if is_valid(&ours) != answer.problems.is_empty() {
            found.push(format!("{shown:?}\n   reference: {:?}\n   ours: {ours:?}", answer.problems));
        } else if is_valid(&ours) {
            // What is valid is loaded as it is read there, unless --- is inside the front matter.
            let read = read_text(&shown).front;
            for (field, ours) in
                [("name", read.name), ("description", read.description), ("compatibility", read.compatibility)]
            {
                let theirs = answer
                    .fields
                    .get(field)
                    .map(|text| text.trim_matches(|c: char| c.is_whitespace() || c < ' ').to_string())
                    .filter(|text| !text.is_empty());
                if ours != theirs
                    && !shown.trim_start_matches("---").starts_with(|c| c != '\n')
                    && shown.matches("---").count() == 2
                {
                    found.push(format!("{shown:?}\n   reference has {field} {theirs:?}\n   ours: {ours:?}"));
                }
            }
        }
    }
    found
}

/// What `validate.rs` names as read otherwise.
fn is_exempt(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(['|', '>'])) || text.contains("\"#") || text.contains("'#")
}

/// Front matter that people write, well and badly: the folder's name, and the whole file.
const CASES: &[(&str, &str)] = &[
    ("a", "---\nname: a\ndescription: d\n---\n"),
    (
        "a",
        "---\nname: a\ndescription: d\nlicense: MIT\nallowed-tools: Bash(git:*) Read\nmetadata:\n  k: v\ncompatibility: c\n---\nB\n",
    ),
    ("a", "---\nname: a\n---\n"),
    ("a", "---\ndescription: d\n---\n"),
    ("a", "---\n---\n"),
    ("a", "---\n# only a comment\n---\n"),
    ("a", ""),
    ("a", "# A skill\n"),
    ("a", "---\nname: a\ndescription: d\n"),
    ("a", "\n---\nname: a\ndescription: d\n---\n"),
    ("a", " ---\nname: a\ndescription: d\n---\n"),
    ("a", "\u{feff}---\nname: a\ndescription: d\n---\n"),
    ("a", "---\r\nname: a\r\ndescription: d\r\n---\r\nB\r\n"),
    ("a", "---\rname: a\rdescription: d\r---\rB"),
    ("a", "---name: a\ndescription: d\n---\n"),
    ("a", "--- name: a\ndescription: d\n---\n"),
    ("a", "----\nname: a\ndescription: d\n---\n"),
    ("a", "---\nname: a\ndescription: one --- two\n---\n"),
    ("a", "---\nname: a\ndescription: d---\n"),
    ("a", "---\nname: a\ndescription: d\n...\n---\n"),
    ("a", "---\nname: a\ndescription: d\n...\nx: y\n---\n"),
    ("b", "---\nname: a\ndescription: d\n---\n"),
    ("A", "---\nname: A\ndescription: d\n---\n"),
    ("-a", "---\nname: -a\ndescription: d\n---\n"),
    ("a-", "---\nname: a-\ndescription: d\n---\n"),
    ("a--b", "---\nname: a--b\ndescription: d\n---\n"),
    ("a_b", "---\nname: a_b\ndescription: d\n---\n"),
    ("a b", "---\nname: a b\ndescription: d\n---\n"),
    ("a.b", "---\nname: a.b\ndescription: d\n---\n"),
    ("123", "---\nname: 123\ndescription: d\n---\n"),
    ("true", "---\nname: true\ndescription: null\n---\n"),
    ("~", "---\nname: ~\ndescription: d\n---\n"),
    ("a", "---\nname:\ndescription: d\n---\n"),
    ("a", "---\nname: a\ndescription:\n---\n"),
    ("a", "---\nname: a\ndescription: \"\"\n---\n"),
    ("a", "---\nname: a\ndescription: \"  \"\n---\n"),
    ("a", "---\nname: \" a \"\ndescription: d\n---\n"),
    ("a", "---\nname: a\ndescription: ~\n---\n"),
    ("a", "---\nname: [a]\ndescription: d\n---\n"),
    ("a", "---\nname:\n  - a\ndescription: d\n---\n"),
    ("a", "---\nname:\n  a: b\ndescription: d\n---\n"),
    ("a", "---\nname: a\ndescription:\n  - d\n---\n"),
    ("a", "---\nname: a\ndescription: d\ncompatibility:\n  - c\n---\n"),
    ("a", "---\nname: a\ndescription: d\ncompatibility:\n---\n"),
    ("a", "---\nname: a\ndescription: d\nlicense:\n  - MIT\n---\n"),
    ("a", "---\nname: a\ndescription: d\nmetadata: text\n---\n"),
    ("a", "---\nname: a\ndescription: d\nmetadata:\n---\n"),
    ("a", "---\nname: a\ndescription: d\nmetadata:\n  - a\n---\n"),
    ("a", "---\nname: a\ndescription: d\nmetadata:\n  a:\n    b:\n      c: d\n---\n"),
    ("a", "---\nname: a\ndescription: d\nmetadata:\n  a:\n    x: 1\n  b:\n      y: 2\n---\n"),
    ("a", "---\nname: a\ndescription: d\nmetadata: {a: b}\n---\n"),
    ("a", "---\nname: a\ndescription: d\nallowed-tools: [Read, Write]\n---\n"),
    ("a", "---\nname: a\ndescription: d\nallowed-tools:\n  - Read\n  - Write\n---\n"),
    ("a", "---\nname: a\ndescription: d\nname: a\n---\n"),
    ("a", "---\nname: a\ndescription: d\nmetadata:\n  k: v\n  k: w\n---\n"),
    ("a", "---\nname: a\ndescription: d\nversion: 1\n---\n"),
    ("a", "---\nname: a\ndescription: d\nName: a\n---\n"),
    ("a", "---\nname: a\ndescription: d\ndisable-model-invocation: true\n---\n"),
    ("a", "---\nname: a\ndescription: d\nmetadata:\n  effect: read-only\n---\n"),
    ("a", "---\nname: &n a\ndescription: d\n---\n"),
    ("a", "---\nname: &n a\ndescription: *n\n---\n"),
    ("a", "---\nname: a\ndescription: *unknown\n---\n"),
    ("a", "---\nname: a\ndescription: **bold** text\n---\n"),
    ("a", "---\nname: !!str a\ndescription: d\n---\n"),
    ("a", "---\nname: a\ndescription: !important\n---\n"),
    ("a", "---\nname: a\ndescription: @mention\n---\n"),
    ("a", "---\nname: a\ndescription: `code`\n---\n"),
    ("a", "---\nname: a\ndescription: %percent\n---\n"),
    ("a", "---\nname: a\ndescription: Use it: always\n---\n"),
    ("a", "---\nname: a\ndescription: 'Use it: always'\n---\n"),
    ("a", "---\nname: a\ndescription: \"open\n---\n"),
    ("a", "---\nname: a\ndescription: 'it''s' more\n---\n"),
    ("a", "---\nname: a\ndescription: [x] y\n---\n"),
    ("a", "---\nname: a\ndescription: y [x] {z}, w\n---\n"),
    ("a", "---\nname: a\ndescription: - d\n---\n"),
    ("a", "---\nname: a\ndescription: -d\n---\n"),
    ("a", "---\nname: a\ndescription: =\n---\n"),
    ("a", "---\nname: a\ndescription: <<\n---\n"),
    ("a", "---\nname: a\ndescription: d\nlicense: =\n---\n"),
    ("a", "---\nname: a\ndescription: d\n<<:\n  x: y\n---\n"),
    ("a", "---\nname: a\ndescription: d\n<<: x\n---\n"),
    ("a", "---\nname: a\ndescription: d\n? x\n---\n"),
    ("a", "---\nname: a\n? description\n: d\n---\n"),
    ("a", "---\nname: a\ndescription: d\n? - x\n: y\n---\n"),
    ("a", "---\nname: a\ndescription: d\n: y\n---\n"),
    ("a", "---\nname: a\ndescription:\td\n---\n"),
    ("a", "---\nname: a\ndescription: a\tb\n---\n"),
    ("a", "---\nname: a\ndescription: \"a\tb\"\n---\n"),
    ("a", "---\nname: a\ndescription: |\n  a\tb\n---\n"),
    ("a", "---\nname: a\ndescription: d # a\tb\n---\n"),
    ("a", "---\nname: a\n\tdescription: d\n---\n"),
    ("a", "---\nname: a\n description: d\n---\n"),
    ("a", "---\n name: a\n description: d\n---\n"),
    ("a", "---\n name: a\ndescription: d\n---\n"),
    ("a", "---\nname: a\ndescription: >-\n  folded\n  text\n---\n"),
    ("a", "---\nname: a\ndescription: |\n  literal: text\n  # no comment\n---\n"),
    ("a", "---\nname: a\ndescription: |\n---\n"),
    ("a", "---\nname: a\ndescription: one\n  two\n  three\n---\n"),
    ("a", "---\nname: a\ndescription: one\ntwo\n---\n"),
    ("a", "---\nname:a\ndescription: d\n---\n"),
    ("a", "---\nname: a\ndescription: \"\\x41\\u00e9\\n\"\n---\n"),
    ("a", "---\nname: a\ndescription: \"\\q\"\n---\n"),
    ("a", "---\nname: a\ndescription: \u{1}\n---\n"),
    ("a", "---\nname: a\ndescription: \u{7f}\n---\n"),
    ("a", "---\nname: a\ndescription: 😀 emoji\n---\n"),
    ("a", "---\nname: a\ndescription: 'x\u{feff}y'\n---\n"),
    ("a", "---\nname: a\ndescription: d\n---\n\u{0}\n"),
    ("a", "---\n- name: a\n- description: d\n---\n"),
    ("a", "---\njust text\n---\n"),
    ("a", "---\n{name: a, description: d}\n---\n"),
    ("a", "---\n%YAML 1.2\n---\nname: a\ndescription: d\n---\n"),
    ("a", "---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\nname: a\ndescription: d\n---\n"),
    ("技能", "---\nname: 技能\ndescription: 中文\n---\n"),
    ("école", "---\nname: école\ndescription: d\n---\n"),
    ("école", "---\nname: e\u{301}cole\ndescription: d\n---\n"),
    ("e\u{301}cole", "---\nname: école\ndescription: d\n---\n"),
    ("École", "---\nname: École\ndescription: d\n---\n"),
    ("ａ１", "---\nname: ａ１\ndescription: d\n---\n"),
    ("ﬁle", "---\nname: file\ndescription: d\n---\n"),
    ("हिन्दी", "---\nname: हिन्दी\ndescription: d\n---\n"),
    ("мир", "---\nname: мир\ndescription: d\n---\n"),
    ("σας", "---\nname: σας\ndescription: d\n---\n"),
    ("ǆ", "---\nname: ǅ\ndescription: d\n---\n"),
    ("a²", "---\nname: a²\ndescription: d\n---\n"),
    ("ⅳ", "---\nname: ⅳ\ndescription: d\n---\n"),
    ("🅰", "---\nname: 🅰\ndescription: d\n---\n"),
    ("a🙂", "---\nname: a🙂\ndescription: d\n---\n"),
    ("a", "---\nname: \"a\\x1c\"\ndescription: d\n---\n"),
];

#[test]
fn the_reference_validator_says_the_same_of_what_people_write() {
    let place = tempfile::tempdir().unwrap();
    let long = |count: usize| "x".repeat(count);
    let mut folders = Vec::new();
    for (number, (folder, text)) in CASES.iter().enumerate() {
        folders.push(write(place.path(), number, folder, text.as_bytes()));
    }
    for (number, (name, description, compatibility)) in
        [(64, 1, 1), (65, 1, 1), (1, 1024, 1), (1, 1025, 1), (1, 1, 500), (1, 1, 501)].into_iter().enumerate()
    {
        let (name, description, compatibility) = (long(name), "é".repeat(description), "é".repeat(compatibility));
        let text = format!("---\nname: {name}\ndescription: {description}\ncompatibility: {compatibility}\n---\n");
        folders.push(write(place.path(), 1000 + number, &name, text.as_bytes()));
    }
    let deep = |levels: usize| (0..levels).map(|level| format!("\n{}a:", " ".repeat(level + 1))).collect::<String>();
    for (number, levels) in [10, 100, 200, 300].into_iter().enumerate() {
        let text = format!("---\nname: a\ndescription: d\nmetadata:{} x\n---\n", deep(levels));
        folders.push(write(place.path(), 1100 + number, "a", text.as_bytes()));
    }
    folders.push(write(place.path(), 1200, "a", b"---\nname: a\ndescription: \xff\n---\n"));
    folders.push(write(place.path(), 1201, "a", b"---\nname: a\ndescription: d\n---\n\xff\n"));
    let valid = b"---\nname: a\ndescription: d\n---\n";
    let renamed = |number: usize, name: &str| {
        let folder = write(place.path(), number, "a", valid);
        std::fs::rename(folder.join("SKILL.md"), folder.join(name)).unwrap();
        folder
    };
    folders.extend([renamed(1300, "skill.md"), renamed(1301, "Skill.md"), renamed(1302, "README.md")]);
    let both = write(place.path(), 1303, "a", b"no front matter");
    std::fs::write(both.join("skill.md"), valid).unwrap();
    let linked = renamed(1304, "other.md");
    std::os::unix::fs::symlink("other.md", linked.join("SKILL.md")).unwrap();
    let dangling = renamed(1305, "skill.md");
    std::os::unix::fs::symlink("nowhere", dangling.join("SKILL.md")).unwrap();
    let is_folder = renamed(1306, "skill.md");
    std::fs::create_dir(is_folder.join("SKILL.md")).unwrap();
    folders.extend([both, linked, dangling, is_folder, place.path().join("missing"), renamed(1307, "x").join("x")]);
    let found = disagreements(&folders);
    assert!(found.is_empty(), "{} of {}:\n{}", found.len(), folders.len(), found.join("\n"));
}

#[test]
fn the_reference_validator_says_the_same_of_mutated_front_matter() {
    let place = tempfile::tempdir().unwrap();
    let count = std::env::var("MAINPATH_SKILL_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(1_500);
    let mut seed = std::env::var("MAINPATH_SKILL_SEED").ok().and_then(|count| count.parse().ok()).unwrap_or(1_u64);
    let mut next = move |most: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % most as u64) as usize
    };
    let seeds = [
        "---\nname: a-b\ndescription: Does a thing. Use it when asked.\n---\n# Body\n",
        "---\nname: a-b\ndescription: >-\n  Folded text\n  on lines.\nlicense: MIT\n---\nBody\n",
        "---\nname: a-b\ndescription: |\n  Literal\n\n  text.\nmetadata:\n  author: me\n  version: \"1.0\"\nallowed-tools: Bash(git:*) Read\n---\n",
        "---\nname: 'a-b'\ndescription: \"Quoted: with \\\"colon\\\" # no comment\"\ncompatibility: Needs git\n---\n",
        "---\nname: a-b\ndescription: d\nmetadata:\n  list:\n    - a\n    - b: c\n      d: e\n  x:\n    y: z\n---\n",
        "---\n# comment\nname: a-b # one\ndescription: d\n  more words\n\nallowed-tools:\n  - Read\n  - Bash\n---\n",
    ];
    let pieces = [
        "\t",
        " ",
        "  ",
        "\n",
        "\n\n",
        ":",
        ": ",
        "#",
        " #",
        "-",
        "- ",
        "---",
        "...",
        "\"",
        "'",
        "|",
        ">",
        "|-",
        ">+",
        "|2",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&a ",
        "*a",
        "!t ",
        "!",
        "%",
        "@",
        "`",
        "?",
        "? ",
        "<<: ",
        "=",
        "<<",
        "~",
        "\r",
        "\r\n",
        "\u{feff}",
        "é",
        "名",
        "😀",
        "\u{7f}",
        "\u{1}",
        "\\",
        "\\n",
        "\\x41",
        "\\u00e9",
        "x: y",
        "\nx: y",
        "\n  x: y",
        "\n- x",
        "\nname: b",
        "\ndescription: e",
        "null",
        "true",
        "1",
        "a",
        "B",
        "\u{301}",
        "\u{a0}",
    ];
    let mut folders = Vec::new();
    for number in 0..count {
        let mut text: Vec<char> = seeds[next(seeds.len())].chars().collect();
        for _ in 0..1 + next(3) {
            let at = next(text.len() + 1);
            match next(4) {
                0 => drop(text.drain(at..(at + 1 + next(4)).min(text.len()))),
                1 => {
                    let end = (at + 1 + next(12)).min(text.len());
                    let copy: Vec<char> = text[at..end].to_vec();
                    let to = next(text.len() + 1);
                    text.splice(to..to, copy);
                }
                _ => drop(text.splice(at..at, pieces[next(pieces.len())].chars())),
            }
        }
        let text: String = text.into_iter().collect();
        folders.push(write(place.path(), number, "a-b", text.as_bytes()));
    }
    let found = disagreements(&folders);
    assert!(found.is_empty(), "{} of {count}:\n{}", found.len(), found.join("\n"));
}
