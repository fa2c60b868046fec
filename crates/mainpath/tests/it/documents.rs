//! The code in documents is code that is compiled: it stands in an example, letter by letter.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of Rust in a document.
fn code(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let blocks = text.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_string());
    blocks.collect()
}

fn example(name: &str) -> String {
    std::fs::read_to_string(root().join("crates/mainpath/examples").join(name)).unwrap()
}

#[test]
fn the_readme_shows_a_whole_program_that_is_compiled() {
    for readme in ["README.md", "README.zh-CN.md"] {
        let [program] = &code(readme)[..] else { panic!("{readme} has one block of Rust") };
        assert_eq!(example("count_words.rs").split_once("\n\n").unwrap().1, program, "{readme}");
    }
}

#[test]
fn the_guide_shows_code_of_the_examples() {
    let names = std::fs::read_dir(root().join("crates/mainpath/examples")).unwrap();
    let examples: Vec<String> = names.map(|name| example(&name.unwrap().file_name().to_string_lossy())).collect();
    let blocks = code("docs/embedding.md");
    assert!(blocks.len() >= 4);
    for block in blocks.into_iter().chain(code("docs/evaluation.md")) {
        assert!(examples.iter().any(|example| example.contains(&block)), "in no example:\n{block}");
    }
}
