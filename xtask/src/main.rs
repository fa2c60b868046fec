//! Rules about the tree that no compiler checks: `cargo xtask tidy`; what is depended on: `cargo xtask deps`, `cargo xtask sbom`; what is
//! published: `cargo xtask package-check`; which files import each other, and what the faces use: `cargo xtask circles`; how large the
//! crates are: `cargo xtask lines`.

mod circles;
mod deps;
mod error_types;
mod layers;
mod lines;
mod links;
mod manifests;
mod modes;
mod modules;
mod package;
mod phrases;
mod reached;
mod shapes;
mod test_only;
mod uses;
mod vocabulary;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A source file holds one idea; longer than this and it holds two. Tests at its end are not counted.
const LONGEST: usize = 500;

fn main() -> ExitCode {
    // Where it is run, not where it was built: worktrees may share a target folder.
    let own = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("xtask"), PathBuf::from);
    let root = own.join("..");
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy(&root),
        Some("deps") => deps::deps(&root),
        Some("sbom") => deps::sbom(&root),
        Some("package-check") => package::check(&root),
        Some("lines") => lines::lines(&root),
        Some("circles") => circles(&root, std::env::args().nth(2).as_deref()),
        other => {
            eprintln!("xtask: unknown task {other:?}; there are: tidy, deps, sbom, package-check, circles, lines");
            ExitCode::from(2)
        }
    }
}

/// Shows the files of each crate that import each other in a circle, and for one crate also what of each other they use. Then it shows how
/// often each face names something of the crates that the host library is made of.
fn circles(root: &Path, only: Option<&str>) -> ExitCode {
    let mut files = Vec::new();
    walk(&root.join("crates"), "rs", &mut files);
    let sources = sources(root, &files);
    for (name, files) in crates(&sources) {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let circles = files.circles();
        println!("{name}: {} circles of {} files", circles.len(), circles.iter().map(Vec::len).sum::<usize>());
        for circle in &circles {
            println!("  {}", shown(circle));
            for (from, to, path) in files.edges(circle).iter().filter(|_| only.is_some()) {
                println!("    {} uses {path} of {}", from.display(), to.display());
            }
        }
    }
    match manifests::packages(root) {
        Ok(packages) => {
            let written = fs::read_to_string(root.join(vocabulary::FILE)).unwrap_or_default();
            vocabulary::FaceUses::read(&packages, &sources).counts(&written).iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn shown(circle: &[&Path]) -> String {
    circle.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" ")
}

/// The sources of the crates and tools that can be parsed.
fn sources(root: &Path, files: &[PathBuf]) -> modules::Files {
    let mut sources = modules::Files::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(file);
        if name.iter().any(|step| step == "src") {
            let parsed = fs::read_to_string(file).map_err(|error| error.to_string());
            match parsed.and_then(|text| syn::parse_file(&text).map_err(|error| error.to_string())) {
                Ok(parsed) => drop(sources.insert(name.into(), parsed)),
                Err(error) => eprintln!("xtask: {}: {error}", name.display()),
            }
        }
    }
    sources
}

/// The crates with their files.
fn crates(sources: &modules::Files) -> BTreeMap<String, circles::Crate> {
    let mut crates: BTreeMap<String, circles::Crate> = BTreeMap::new();
    for (file, parsed) in sources {
        let Ok(within) = file.strip_prefix("crates") else { continue };
        let mut steps = within.iter();
        if let (Some(name), Some(_)) = (steps.next(), steps.next().filter(|step| *step == "src")) {
            crates.entry(name.to_string_lossy().into_owned()).or_default().add(steps.as_path(), parsed);
        }
    }
    crates
}

fn tidy(root: &Path) -> ExitCode {
    let mut files = Vec::new();
    for folder in ["crates", "xtask", "bench"] {
        walk(&root.join(folder), "rs", &mut files);
    }
    let mut problems: Vec<String> = Vec::new();
    if files.is_empty() {
        problems.push(format!("there is no source in {}", root.display()));
    }
    for file in &files {
        let Ok(text) = fs::read_to_string(file) else { continue };
        let name = file.strip_prefix(root).unwrap_or(file).display().to_string();
        check(&name, &text, &mut problems);
        for (line, call) in modes::found(&name, &text) {
            let instead = "create_private, put_private or write_private of mainpath-store";
            problems.push(format!("{name}:{line} leaves the mode to the umask ({call}): use {instead}"));
        }
    }
    let mut read = documents(root);
    read.extend(files.iter().filter(|file| file.starts_with(root.join("crates/cli/src"))).cloned());
    for file in &read {
        let Ok(text) = fs::read_to_string(file) else { continue };
        let name = file.strip_prefix(root).unwrap_or(file).display().to_string();
        for (line, phrase, instead) in phrases::found(&name, &text) {
            problems.push(format!("{name}:{line} says {phrase:?}: write plainly ({instead})"));
        }
        for (line, link) in links::dead(root, &name, &text).into_iter().filter(|_| name.ends_with(".md")) {
            problems.push(format!("{name}:{line} links to {link}, which is not there"));
        }
    }
    for file in reached::unreached(&files) {
        let name = file.strip_prefix(root).unwrap_or(file).display();
        problems.push(format!("{name} is compiled nowhere: no mod names it"));
    }
    let sources = sources(root, &files);
    problems.extend(shapes_of(&sources));
    problems.extend(error_types::problems(&sources));
    match manifests::packages(root) {
        Ok(packages) => {
            let written = fs::read_to_string(root.join(layers::FILE)).unwrap_or_default();
            problems.extend(layers::problems(&packages, &written));
            let written = fs::read_to_string(root.join(vocabulary::FILE)).unwrap_or_default();
            problems.extend(vocabulary::FaceUses::read(&packages, &sources).problems(&written));
        }
        Err(problem) => problems.push(problem),
    }
    for entry in fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        problems.extend(manifests::unrun_tests(&entry.file_name().to_string_lossy(), &entry.path()));
    }
    for (name, files) in crates(&sources) {
        for circle in files.circles() {
            problems.push(format!("crates/{name}: these files import each other in a circle: {}", shown(&circle)));
        }
    }
    for problem in &problems {
        eprintln!("tidy: {problem}");
    }
    println!("tidy: {} files, {} problems", files.len(), problems.len());
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tuples as parameters, and words that name two types.
fn shapes_of(sources: &modules::Files) -> Vec<String> {
    let mut problems = Vec::new();
    let mut names: BTreeMap<String, shapes::Names> = BTreeMap::new();
    for (file, parsed) in sources {
        let name = file.display().to_string();
        let Some((of, _)) = name.split_once("/src/") else { continue };
        for function in shapes::tuples(parsed) {
            problems.push(format!("{name}: {function} takes a tuple: give what it takes names"));
        }
        for renamed in shapes::renamed(parsed) {
            problems.push(format!("{name} imports {renamed}: one word for one thing"));
        }
        names.entry(of.into()).or_default().add(&name, parsed);
    }
    for names in names.values() {
        for (name, files) in names.repeated() {
            problems.push(format!("{name} is the name of several public types: {}", files.join(", ")));
        }
    }
    problems
}

fn check(name: &str, text: &str, problems: &mut Vec<String>) {
    let is_source = name.contains("/src/");
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = code.lines().count();
    if is_source && lines > LONGEST {
        problems.push(format!("{name} has {lines} lines without its tests; {LONGEST} is the most"));
    }
    if is_source && !text.starts_with("//!") {
        problems.push(format!("{name} does not begin by saying what it is for (//!)"));
    }
    // Put together here, so that this file does not contain them.
    let left = ["FIX", "XX", "TO"].into_iter().zip(["ME", "X", "DO"]).map(|(a, b)| format!("{a}{b}"));
    for word in left {
        if text.split(|c: char| !c.is_ascii_alphanumeric()).any(|found| found == word) {
            problems.push(format!("{name} has a left-over {word}"));
        }
    }
    if is_source && code.contains(&["allow(dead", "code"].join("_")) {
        problems.push(format!("{name} allows dead code: cut it"));
    }
    // It panics where nobody reads any more, as in `mainpath doctor | true`.
    let prints = |line: &str| line.trim_start().starts_with("println!") || line.contains(" println!");
    if name.starts_with("crates/cli/src/") && code.lines().any(prints) {
        problems.push(format!("{name} prints with println!: use ui::out"));
    }
    // It panics where no thread can be started. Put together here, so that this file does not contain it.
    let starts = ["thread::spa", "scope.spa", "scoped.spa", "threads.spa"].map(|call| format!("{call}wn("));
    let is_tested = name.starts_with("crates/testkit/") || name.starts_with("bench/");
    if is_source && !is_tested && starts.iter().any(|call| code.contains(call)) {
        problems.push(format!("{name} starts a thread without std::thread::Builder"));
    }
    if text.lines().any(|line| line.ends_with(' ') || line.contains('\t')) {
        problems.push(format!("{name} has trailing blanks or tabs"));
    }
    let pure = ["crates/types/src/", "crates/policy/src/", "crates/core/src/", "crates/json/src/"];
    if pure.iter().any(|folder| name.starts_with(folder)) {
        for word in
            ["std::fs", "std::net", "std::process", "std::env", "std::thread", "tokio", "now()", "fastrand", "async "]
        {
            if code.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(word)) {
                problems.push(format!("{name} is pure and must not know {word}"));
            }
        }
    }
}

/// What people read beside the program: the pages at the top and in docs/, and the reasons of the rules.
fn documents(root: &Path) -> Vec<PathBuf> {
    let pages = [
        "README.md",
        "README.zh-CN.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "examples/README.md",
    ];
    let mut documents: Vec<PathBuf> = pages.iter().map(|page| root.join(page)).collect();
    documents.push(root.join("crates/policy/src/builtin.toml"));
    walk(&root.join("docs"), "md", &mut documents);
    documents
}

fn walk(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.ends_with("target") {
            walk(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}
