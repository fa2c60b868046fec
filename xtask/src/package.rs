//! What is published: `cargo xtask package-check` packages every crate that is, unpacks the packages, and builds and runs the program of
//! README.md against them, outside the workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What only this repository uses.
const OURS_ALONE: [&str; 3] = ["mainpath-bench", "mainpath-testkit", "xtask"];

/// A model for the program: it counts and answers.
const SCRIPT: &str = r#"
[[turn]]
calls = [{ tool = "count_words", args = { text = "one two three" } }]
[[turn]]
final = "Three words."
"#;

/// `cargo xtask package-check`
pub fn check(root: &Path) -> ExitCode {
    match packaged(root) {
        Ok(said) => {
            println!("package-check: {said}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("package-check: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn packaged(root: &Path) -> Result<String, String> {
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let target = root.join("target/package-check");
    let (crates, unpacked, program) = (target.join("package"), target.join("unpacked"), target.join("program"));
    for folder in [&crates, &unpacked, &program] {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
    }
    // The registry's packages are built into the usual folder, so that what is there already is used again.
    let mut package = cargo(&root);
    package.args(["package", "--workspace", "--no-verify", "--allow-dirty", "--locked", "--target-dir"]).arg(&target);
    package.args(OURS_ALONE.iter().flat_map(|name| ["--exclude", name]));
    run(&mut package)?;
    make(&unpacked)?;
    let mut patches = String::new();
    let mut files: Vec<PathBuf> = fs::read_dir(&crates)
        .map_err(|error| format!("{}: {error}", crates.display()))?
        .flatten()
        .map(|file| file.path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "crate"));
    files.sort();
    for file in &files {
        // With the time of now: packages have one and the same, by which cargo would take what it built before for what is there.
        run(Command::new("tar").arg("xzmf").arg(file).current_dir(&unpacked))?;
        let folder = unpacked.join(file.file_stem().unwrap_or_default());
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = stem.rsplit_once('-').map_or(stem.as_str(), |(name, _)| name);
        patches.push_str(&format!("{name} = {{ path = {:?} }}\n", folder.display().to_string()));
    }
    let program = Program { root: &root, folder: &program, patches: &patches };
    program.make("mainpath = \"0.1\"")?;
    program.answers()?;
    program.make("mainpath = { version = \"0.1\", default-features = false }")?;
    program.answers()?;
    let refused = "is behind a server, and this program was built without HTTP";
    match program.run("anthropic:some-model") {
        Err(said) if said.contains(refused) => {}
        said => return Err(format!("a model behind a server was not refused without the feature http: {said:?}")),
    }
    Ok(format!("{} packages, and the program of README.md runs against them, also without features", files.len()))
}

/// The program of README.md, outside the workspace.
struct Program<'a> {
    root: &'a Path,
    folder: &'a Path,
    /// Where the packages lie.
    patches: &'a str,
}

impl Program<'_> {
    fn make(&self, dependency: &str) -> Result<(), String> {
        let Program { root, folder, patches } = self;
        make(&folder.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"outside\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{dependency}\n\
             schemars = {{ version = \"1\", default-features = false, features = [\"derive\", \"std\"] }}\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\n\
             tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n\n\
             [profile.dev]\ndebug = \"line-tables-only\"\n\n[profile.dev.package.rable]\nopt-level = 2\n\n[patch.crates-io]\n{patches}"
        );
        put(&folder.join("Cargo.toml"), &manifest)?;
        // The versions that are tested here.
        copy(&root.join("Cargo.lock"), &folder.join("Cargo.lock"))?;
        copy(&root.join("crates/mainpath/examples/count_words.rs"), &folder.join("src/main.rs"))?;
        put(&folder.join("script.toml"), SCRIPT)
    }

    fn run(&self, model: &str) -> Result<String, String> {
        let mut build = cargo(self.folder);
        build.args(["run", "--quiet", "--offline", "--target-dir"]).arg(self.root.join("target"));
        run(build.args(["--", model]))
    }

    fn answers(&self) -> Result<(), String> {
        let said = self.run("scripted:script.toml")?;
        match said.contains("Three words.") {
            true => Ok(()),
            false => Err(format!("the program of README.md said: {said}")),
        }
    }
}

fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.current_dir(folder);
    cargo
}

fn run(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(format!("{command:?}:\n{}", String::from_utf8_lossy(&done.stderr).trim())),
    }
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn put(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}
