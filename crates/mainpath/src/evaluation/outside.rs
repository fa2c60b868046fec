//! Graders outside of the program: a command and an address. Both get one JSON object and answer with one.

use super::grader::{Grade, GradeError, Grader};
use super::subject::GradedRun;
use super::suite::{Suite, SuiteGrader};
use crate::home::Runner;
use crate::{Error, Host};
use mainpath_net::{Client, Post, Program};
use mainpath_sandbox::Launcher;
use mainpath_tools::Fut;
use serde_json::json;
use std::path::Path;

/// The version of what graders are given.
const VERSION: u32 = 1;

/// A command or an address that grades.
pub(super) struct OutsideGrader {
    runner: Runner,
    suite: String,
    name: String,
}

impl OutsideGrader {
    /// The grader of an entry with a command or an address; commands run in the folder. Errors: a secret is missing.
    pub fn new(host: &Host, suite: &Suite, entry: &SuiteGrader, folder: &Path) -> Result<OutsideGrader, Error> {
        let home = host.home();
        let secret = |name: &str| home.secret(name);
        let bad = |why: String| Error::invalid(format!("the grader {:?}: {why}", entry.name));
        let runner = match &entry.url {
            Some(url) => {
                let client = Client::new(&home.config.net);
                let post = Post::new(&client, url, &entry.headers, &secret).map_err(|why| bad(why.to_string()))?;
                Runner::Address { post, limit: entry.limit()? }
            }
            None => {
                let env = entry.env.filled(&secret).map_err(|why| bad(why.to_string()))?;
                let program = Program { words: entry.command.clone(), env };
                let launcher = without_secrets(host);
                Runner::Command { launcher, program, folder: folder.into() }
            }
        };
        Ok(OutsideGrader { runner, suite: suite.name.clone(), name: entry.name.clone() })
    }
}

/// Starts programs that do not see the secrets of the environment, as commands of agents do not.
fn without_secrets(host: &Host) -> Launcher {
    let config = host.runtime().config();
    config.launcher.clone().hide_env(config.vault.hidden_variables())
}

impl Grader for OutsideGrader {
    fn version(&self) -> String {
        String::new()
    }

    fn grade<'a>(&'a self, run: &'a GradedRun) -> Fut<'a, Result<Grade, GradeError>> {
        Box::pin(async move {
            let asked = json!({"version": VERSION, "suite": self.suite, "grader": self.name, "run": run});
            Grade::read(&self.runner.call(&asked, "grader").await?)
        })
    }
}
