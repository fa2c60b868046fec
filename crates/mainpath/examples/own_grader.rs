//! Recorded runs are graded by code of the program itself: `cargo run -p mainpath --example own_grader`.

use mainpath::evaluation::{EvalOptions, EvalReport, Grade, GradeError, GradedRun, Grader, Suite, SuiteGrader};
use mainpath::prelude::*;
use std::sync::Arc;

const SCRIPT: &str = "[[turn]]\nfinal = \"It has three words.\"\n";

struct Short;

impl Grader for Short {
    fn version(&self) -> String {
        "1".into()
    }

    fn grade<'a>(&'a self, run: &'a GradedRun) -> Fut<'a, Result<Grade, GradeError>> {
        Box::pin(async move {
            let answer = run.answer.as_deref().ok_or_else(|| GradeError::own("there is no answer"))?;
            Ok(Grade::new(if answer.len() < 200 { 1.0 } else { 0.0 }, format!("{} bytes", answer.len())))
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    for run in grade().await?.runs {
        for result in run.results {
            println!("{}: {} ({})", run.trace_id, result.outcome.as_str(), result.reason);
        }
    }
    Ok(())
}

/// Runs an agent, and grades all runs that there are.
pub async fn grade() -> Result<EvalReport, Error> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("script.toml"), SCRIPT)?;
    let host = Host::builder().data_dir(folder.path().join("data")).build().await?;
    let model = format!("scripted:{}", folder.path().join("script.toml").display());
    host.agent(model).workspace(folder.path()).start("Count the words.").await?.outcome().await?;

    let entry = SuiteGrader { name: "short answers".into(), host: Some("short".into()), ..SuiteGrader::default() };
    let suite = Suite { name: "style".into(), graders: vec![entry], ..Suite::default() };
    let mut options = EvalOptions::default();
    options.graders.insert("short".into(), Arc::new(Short));
    host.evaluate(&suite, options, |_| {}).await
}
