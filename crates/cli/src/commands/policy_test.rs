//! `mainpath policy test`: the examples of rule files, held to what all rules together say.

use crate::exit::{Exit, Failure};
use crate::runs::rules::read_named;
use crate::ui::junit::{JunitCase, write_junit};
use crate::ui::out::out;
use crate::ui::text::{number, one_line, were};
use clap::Args;
use mainpath::policy::{Layer, PolicyExample, policy_examples};
use mainpath::policy_tests::{ExampleResult, PolicyTests};
use mainpath::rules::{Sources, project_file, untrusted};
use mainpath::tools::Workspace;
use mainpath::types::RunRules;
use mainpath::{Home, RuleNames, agent};
use serde_json::json;
use std::path::{Path, PathBuf};

/// `mainpath policy test`
#[derive(Args, Debug)]
pub struct PolicyTestArgs {
    /// Rule files to test: their rules hold beside all others [default: your policy.toml and the folder's]
    pub files: Vec<PathBuf>,
    /// The folder to work in [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Also write the result for a CI system, as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath policy test`
pub fn test(home: &Home, args: PolicyTestArgs) -> Result<Exit, Failure> {
    let folder = agent::workspace(args.workspace.as_deref())?;
    let workspace = Workspace::new(&folder, home.protected())?;
    let own = OwnFiles::new(home, &folder);
    // A file that holds here anyway holds as it does in a run: naming it trusts it no more.
    let (named, others): (Vec<PathBuf>, Vec<PathBuf>) =
        args.files.iter().cloned().partition(|file| own.layer(file).is_some());
    let run = RunRules { files: read_named(&others)?, ..RunRules::default() };
    if let Some(note) = untrusted(&Sources::new(home).load(&folder.display().to_string(), &run)?) {
        eprintln!("! {}", one_line(&note));
    }
    let mut tests = PolicyTests::new(home.toolbox().0, workspace, &Sources::new(home), &run)?;
    tests.names = Some(RuleNames::new(home, &tests.tools, &folder, None));
    tests.confined = mainpath::sandbox::Launcher::current_exe().support().can_confine();
    let examples = match args.files.is_empty() {
        true => own.examples(&[own.user.clone(), own.project.clone()])?,
        false => {
            let read = run.files.iter().map(|file| examples(Layer::Run, &file.name, &file.text));
            let others = read.collect::<Result<Vec<_>, _>>()?.concat();
            [own.examples(&named)?, others].concat()
        }
    };
    let results = tests.run(&examples);
    for result in &results {
        if args.json {
            let mut line = json!(result);
            line.as_object_mut().map(|line| line.insert("passed".into(), result.passed().into()));
            out(&line.to_string())?;
        } else if let Some(problem) = result.problem() {
            out(&one_line(&format!("✗ {}, line {}: {}: {problem}", result.file, result.line, result.name)))?;
        }
    }
    if let Some(file) = &args.junit {
        write_junit(file, "mainpath policy test", &results.iter().map(case).collect::<Vec<_>>())?;
    }
    let wrong = results.iter().filter(|result| !result.passed()).count();
    if !args.json {
        if results.is_empty() {
            eprintln!("no [[example]] in the rule files; see docs/queries.md#tests-of-rules");
        }
        let wrong = number(wrong as u64);
        out(&format!("{} checked; {wrong} decided otherwise than expected", were(results.len() as u64, "example")))?;
    }
    Ok(if wrong == 0 { Exit::Ok } else { Exit::Denied })
}

/// The files of rules that hold in a folder without being named.
struct OwnFiles {
    user: PathBuf,
    project: PathBuf,
}

impl OwnFiles {
    fn new(home: &Home, folder: &Path) -> OwnFiles {
        OwnFiles { user: home.config_dir().join("policy.toml"), project: project_file(&folder.display().to_string()) }
    }

    /// Whose a file is; `None`: it is none of these.
    fn layer(&self, file: &Path) -> Option<Layer> {
        let file = file.canonicalize().ok()?;
        let is = |own: &Path| own.canonicalize().is_ok_and(|own| own == file);
        [(Layer::User, &self.user), (Layer::Project, &self.project)]
            .into_iter()
            .find(|(_, own)| is(own))
            .map(|(layer, _)| layer)
    }

    /// The examples of those of these files that are there.
    fn examples(&self, files: &[PathBuf]) -> Result<Vec<PolicyExample>, Failure> {
        let mut all = Vec::new();
        for file in files.iter().filter(|file| file.is_file()) {
            let layer = self.layer(file).unwrap_or(Layer::Run);
            for text in read_named(std::slice::from_ref(file))? {
                all.extend(examples(layer, &text.name, &text.text)?);
            }
        }
        Ok(all)
    }
}

fn examples(layer: Layer, name: &str, text: &str) -> Result<Vec<PolicyExample>, Failure> {
    policy_examples(layer, name, text).map_err(|wrong| Failure::error(wrong.to_string()))
}

fn case(result: &ExampleResult) -> JunitCase {
    JunitCase { class: result.file.clone(), name: result.name.clone(), elapsed_ms: None, problem: result.problem() }
}
