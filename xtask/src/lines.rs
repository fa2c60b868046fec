//! Counts lines of code: no tests, no comments, no blank lines.

use crate::test_only::TestParts;
use crate::walk;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Crates that are not part of the program: they test it, measure it or check its tree.
const TOOLS: [&str; 3] = ["testkit", "bench", "xtask"];

/// Prints the lines of code of each crate, and their sums.
pub fn lines(root: &Path) -> ExitCode {
    let mut crates: Vec<PathBuf> =
        fs::read_dir(root.join("crates")).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    crates.sort();
    crates.extend([root.join("bench"), root.join("xtask")]);
    let name = |folder: &Path| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_tool = |folder: &PathBuf| TOOLS.contains(&name(folder).as_str());
    let (tools, program): (Vec<PathBuf>, Vec<PathBuf>) = crates.into_iter().partition(is_tool);
    let mut problems = Vec::new();
    for (title, folders) in [("the program", program), ("tools", tools)] {
        let mut sum = Count::default();
        for folder in &folders {
            let count = of_crate(folder, &mut problems);
            println!("{:>7} lines {:>5} files  {}", count.lines, count.files, name(folder));
            sum = Count { lines: sum.lines + count.lines, files: sum.files + count.files };
        }
        println!("{:>7} lines {:>5} files  {title}", sum.lines, sum.files);
    }
    for problem in &problems {
        eprintln!("lines: {problem}");
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Count {
    lines: usize,
    files: usize,
}

/// Counts `src/` and `build.rs` of a crate. Files that are compiled only for tests do not count.
fn of_crate(folder: &Path, problems: &mut Vec<String>) -> Count {
    let (mut files, mut read, mut tests) = (Vec::new(), Vec::new(), Vec::new());
    walk(&folder.join("src"), "rs", &mut files);
    files.extend(Some(folder.join("build.rs")).filter(|file| file.exists()));
    for file in files {
        match fs::read_to_string(&file).map_err(|error| error.to_string()).and_then(|text| Code::read(&text)) {
            Ok(code) => {
                let modules = folder_of_modules(&file);
                tests.extend(code.tests.modules.iter().map(|module| modules.join(module)));
                // The modules of a file for tests are for tests too. (A root has no folder of its own, and is not for tests.)
                tests.extend(Some(modules).filter(|_| code.tests.is_whole));
                read.push((file, code.lines.len()));
            }
            Err(error) => problems.push(format!("{}: {error}", file.display())),
        }
    }
    let is_test =
        |file: &Path| tests.iter().any(|module| file.starts_with(module) || *file == module.with_extension("rs"));
    let code = read.iter().filter(|(file, _)| !is_test(file));
    code.fold(Count::default(), |sum, (_, lines)| Count { lines: sum.lines + lines, files: sum.files + 1 })
}

/// The folder in which a file's modules are.
pub fn folder_of_modules(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    let folder = file.parent().unwrap_or(Path::new(""));
    if ["mod", "lib", "main", "build"].iter().any(|root| stem == *root) { folder.into() } else { folder.join(stem) }
}

/// The code of a file.
struct Code {
    /// The numbers of its lines.
    lines: BTreeSet<usize>,
    /// The parts that are compiled only for tests.
    tests: TestParts,
}

impl Code {
    fn read(text: &str) -> Result<Code, String> {
        let tokens = text.parse::<TokenStream>().map_err(|error| error.to_string())?;
        let file = syn::parse2(tokens.clone()).map_err(|error| error.to_string())?;
        let mut code = Code { lines: BTreeSet::new(), tests: TestParts::of(&file) };
        code.add(tokens);
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                code.lines.remove(&number);
            }
        }
        Ok(code)
    }

    fn add(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            if self.tests.contains(token.span().start()) {
                // The part includes its end.
                tokens.next_if(|next| matches!(next, TokenTree::Punct(end) if [',', ';'].contains(&end.as_char())));
                continue;
            }
            if let Some(attribute) = attribute(&token, &mut tokens) {
                if !is_comment(&attribute) {
                    self.add_token(&token);
                    self.add_token(&TokenTree::Group(attribute));
                }
                continue;
            }
            self.add_token(&token);
        }
    }

    fn add_token(&mut self, token: &TokenTree) {
        match token {
            TokenTree::Group(group) => {
                self.lines.extend([group.span_open().start().line, group.span_close().start().line]);
                self.add(group.stream());
            }
            // A text may have several lines.
            other => self.lines.extend(other.span().start().line..=other.span().end().line),
        }
    }
}

type Tokens = std::iter::Peekable<proc_macro2::token_stream::IntoIter>;

/// The group of an attribute that this token begins; it is then taken.
fn attribute(token: &TokenTree, tokens: &mut Tokens) -> Option<Group> {
    if !matches!(token, TokenTree::Punct(punct) if punct.as_char() == '#') {
        return None;
    }
    tokens.next_if(|next| matches!(next, TokenTree::Punct(punct) if punct.as_char() == '!'));
    let is_bracket =
        |next: &TokenTree| matches!(next, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
    match tokens.next_if(is_bracket) {
        Some(TokenTree::Group(group)) => Some(group),
        _ => None,
    }
}

fn is_comment(attribute: &Group) -> bool {
    let mut tokens = attribute.stream().into_iter();
    let is_doc = matches!(tokens.next(), Some(TokenTree::Ident(ident)) if ident == "doc");
    is_doc && matches!(tokens.nth(1), Some(TokenTree::Literal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> (Vec<usize>, Vec<PathBuf>) {
        let code = Code::read(text).unwrap();
        (code.lines.into_iter().collect(), code.tests.modules)
    }

    #[test]
    fn comments_and_blank_lines_are_not_counted() {
        let text = "//! A file.\n\nuse a::b; // why\n/* long\n   comment */\n/// Adds.\n#[inline]\nfn add() -> &str {\n    // why\n\n    \"two\n\nlines\"\n}\n";
        assert_eq!(counted(text), (vec![3, 7, 8, 11, 13, 14], vec![]));
    }

    #[test]
    fn tests_are_not_counted_wherever_they_are() {
        let text = "struct A {\n    #[cfg(test)]\n    only: Map<u8, u8>,\n    kept: u8,\n}\n#[cfg(test)]\nuse c::{d};\n#[cfg(test)]\nmod apart;\nimpl A {\n    #[cfg(test)]\n    fn one<A, B>() -> u8 {\n        1\n    }\n    fn two() {}\n}\n#[cfg(all(test, unix))]\n#[allow(x)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n";
        assert_eq!(counted(text), (vec![1, 4, 5, 10, 15, 16], vec!["apart".into(), "tests".into()]));
    }

    #[test]
    fn every_part_that_is_only_for_tests_is_left_out_and_no_other() {
        for part in [
            "#[allow(x)]\n#[cfg(test)]\nuse a::{b};",
            "#[cfg(all(unix, test))]\nfn f() -> u8 {\n1\n}",
            "#[cfg(test)]\nimpl<const N: usize> A<{ N }> {\n#[inline]\nfn f() {}\n}",
            "/// Tests.\n#[cfg(test)]\n#[path = \"x.rs\"]\nmod x;",
            "#[tokio::test(flavor = \"current_thread\")]\nasync fn f() {\n1;\n}",
        ] {
            assert_eq!(counted(&format!("{part}\nuse kept;")).0, [part.lines().count() + 1], "{part}");
        }
        for part in [
            "#[cfg(test)]\nlet a = if b {\nc\n} else {\nd\n};",
            "#[cfg(test)]\na = b\n+ c;",
            "#[cfg(test)]\na.b(c)\n.d();",
            "#[cfg(test)]\na! {\nb\n}",
            "#[cfg(test)]\n{\na;\n}",
        ] {
            let last = part.lines().count() + 2;
            assert_eq!(counted(&format!("fn kept() {{\n{part}\nkept; }}")).0, [1, last], "{part}");
        }
        let arms = "fn kept() { match a {\n#[cfg(test)]\nA { b } => {\nb\n},\n#[cfg(test)]\nB => c,\nkept => d, } }";
        assert_eq!(counted(arms).0, [1, 8]);
        for kept in ["any(test, feature = \"x\")", "not(test)", "feature = \"test\""] {
            assert_eq!(counted(&format!("#[cfg({kept})]\nfn f() {{\n}}")).0, [1, 2, 3], "{kept}");
        }
        assert_eq!(counted("//! Tests.\n#![cfg(test)]\nuse a;\nfn f() {}\n").0, Vec::<usize>::new());
    }

    #[test]
    fn a_crate_is_its_sources_without_the_files_of_tests() {
        let place = std::env::temp_dir().join(format!("mainpath-lines-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            fs::create_dir_all(place.join(file).parent().unwrap()).unwrap();
            fs::write(place.join(file), text).unwrap();
        };
        write("src/lib.rs", "mod one;\n#[cfg(test)]\nmod apart;\n");
        write("src/one.rs", "fn a() {}\n#[cfg(test)]\nmod tests;\n");
        write("src/one/tests.rs", "fn b() {}\n");
        write("src/apart/mod.rs", "mod deep;\n");
        write("src/apart/deep.rs", "fn c() {}\n");
        write("src/one/whole.rs", "#![cfg(test)]\nmod deep;\n");
        write("src/one/whole/deep.rs", "fn e() {}\n");
        write("src/two.rs", "#[cfg(all(unix, test))]\nmod tests {\n    mod deep;\n}\n");
        write("src/two/tests/deep.rs", "fn f() {}\n");
        write("src/three.rs", "#[cfg(any(test, feature = \"x\"))]\nmod kept;\n");
        write("src/three/kept.rs", "fn g() {}\n");
        write("tests/it/main.rs", "fn d() {}\n");
        write("build.rs", "fn main() {\n}\n");
        let mut problems = Vec::new();
        let count = of_crate(&place, &mut problems);
        fs::remove_dir_all(&place).unwrap();
        assert_eq!((count, problems), (Count { lines: 7, files: 6 }, vec![]));
    }
}
