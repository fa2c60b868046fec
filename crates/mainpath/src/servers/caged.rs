//! How MCP servers are started here: each in a cage, with the bounds that its entry says.

use mainpath_mcp::{Process, Redact, Start, Started, Starter};
use mainpath_runtime::Vault;
use mainpath_sandbox::{Cage, How, Launcher, OwnerProgram, OwnerProgramError};
use mainpath_tools::Fut;
use mainpath_types::FileAccess;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Starts processes in cages around a workspace.
pub struct Caged {
    launcher: Launcher,
    workspace: PathBuf,
    own: Vec<PathBuf>,
    /// Further folders in which agents work.
    workspaces: Vec<PathBuf>,
}

impl Caged {
    /// Around this workspace, with Mainpath's own folders out of reach and no secret in the environment.
    pub fn new(launcher: Launcher, vault: &Vault, workspace: &Path, own: Vec<PathBuf>) -> Caged {
        let launcher = launcher.hide_env(vault.hidden_variables());
        Caged { launcher, workspace: workspace.into(), own, workspaces: Vec::new() }
    }

    /// The same where agents also work in these folders.
    pub fn with_workspaces(self, workspaces: Vec<PathBuf>) -> Caged {
        Caged { workspaces, ..self }
    }
}

impl Caged {
    /// Further variables for a server of the owner that runs outside the sandbox. None for any other server.
    ///
    /// # Errors
    /// An agent can change what the command or its variables name.
    fn variables(&self, start: &Start) -> Result<Vec<(OsString, OsString)>, OwnerProgramError> {
        if !start.is_owned || start.confinement.files != FileAccess::Full {
            return Ok(Vec::new());
        }
        let words = start.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let program =
            OwnerProgram::new(words, &start.folder, self.own.clone()).with_workspaces(self.workspaces.clone());
        program.check([&*self.workspace], &start.env)
    }
}

impl Starter for Caged {
    fn start(&self, start: &Start) -> io::Result<Started> {
        let cage = Cage::new(start.confinement, &self.workspace, self.own.clone());
        let variables = self.variables(start).map_err(io::Error::other)?;
        let env: Vec<_> = start.env.iter().cloned().chain(variables).collect();
        let program = start.words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        let words: Vec<&OsStr> = start.words.iter().map(|word| word.as_os_str()).collect();
        let talking = self.launcher.command(&words, &start.folder, &start.id, &cage, &env)?;
        Ok(Started {
            input: Box::new(talking.stdin),
            output: Box::new(talking.stdout),
            errors: Box::new(talking.stderr),
            process: Box::new(Running { process: talking.process, program }),
        })
    }
}

/// How secrets are taken out of what people are told of servers.
pub fn redact(vault: &Vault) -> Arc<Redact> {
    let vault = vault.clone();
    Arc::new(move |text| vault.redact(text))
}

struct Running {
    process: mainpath_sandbox::Process,
    /// How its program is called, for people.
    program: String,
}

impl Process for Running {
    fn refusal(mut self: Box<Self>) -> Fut<'static, Option<String>> {
        Box::pin(async move {
            self.process.launcher_done().await;
            match self.process.ended().await.ok()?.how {
                How::Refused(why) => {
                    Some(format!("its sandbox cannot be made: {why}; mainpath doctor says what is missing"))
                }
                How::Failed(number) => {
                    let why = io::Error::from_raw_os_error(number);
                    Some(format!("its program {:?} cannot start: {why}", self.program))
                }
                How::Exit(_) | How::Signal(_) | How::StillRunning | How::Lost => None,
            }
        })
    }
}
