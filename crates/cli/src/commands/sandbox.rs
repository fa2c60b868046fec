//! `mainpath sandbox`: a command in a cage, in place of this very process.

use crate::args::agent::NetworkArg;
use crate::exit::Failure;
use crate::ui::text::plain;
use clap::{Args, ValueEnum};
use mainpath::Home;
use mainpath::agent::workspace;
use mainpath::sandbox::{Cage, How, run_here};
use mainpath::types::{Confinement, FileAccess};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// `mainpath sandbox`
#[derive(Args, Debug)]
pub struct SandboxArgs {
    /// The folder that the command may change [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// What the command may do to files
    #[arg(long, value_enum, default_value_t)]
    pub mode: FilesArg,
    /// Whether the command may use the network
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub network: NetworkArg,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// `--mode`
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilesArg {
    /// Read files
    ReadOnly,
    /// Change files in the workspace
    #[default]
    WorkspaceWrite,
    /// Whatever you may
    Full,
}

impl From<FilesArg> for FileAccess {
    fn from(arg: FilesArg) -> FileAccess {
        match arg {
            FilesArg::ReadOnly => FileAccess::ReadOnly,
            FilesArg::WorkspaceWrite => FileAccess::WorkspaceWrite,
            FilesArg::Full => FileAccess::Full,
        }
    }
}

/// The codes that shells and coreutils use for what went wrong before the command began.
const NOT_CONFINED: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// `mainpath sandbox`: the command's exit code, 128 and its number for a signal.
pub fn sandbox(args: &SandboxArgs) -> Result<ExitCode, Failure> {
    let folder = workspace(args.workspace.as_deref())?;
    let home = Home::find()?;
    let network = args.network == NetworkArg::Allow;
    let cage = Cage::new(Confinement { files: args.mode.into(), network }, &folder, home.protected());
    let vault = home.vault(&home.registry()?)?;
    let hidden: Vec<OsString> = vault.hidden_variables().collect();
    let ended = run_here(&cage, &args.command, &folder, &hidden)?;
    for sentence in ended.planted.sentences(true) {
        eprintln!("mainpath: {}", plain(&sentence));
    }
    let name = args.command.first().map(|name| name.to_string_lossy()).unwrap_or_default();
    let (code, problem) = match ended.how {
        How::Exit(code) => (u8::try_from(code).unwrap_or(1), None),
        How::Signal(number) => (128_u8.saturating_add(u8::try_from(number).unwrap_or(0)), None),
        How::Failed(number) => {
            let error = io::Error::from_raw_os_error(number);
            let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
            (code, Some(format!("{name} cannot start: {error}")))
        }
        How::Refused(why) => {
            let advice = "`mainpath doctor` says what is missing";
            (NOT_CONFINED, Some(format!("the sandbox cannot be made, so {name} was not started: {why}; {advice}")))
        }
        How::StillRunning | How::Lost => (NOT_CONFINED, Some(format!("{name} was killed"))),
    };
    if let Some(problem) = problem {
        eprintln!("mainpath: {}", plain(&problem));
    }
    Ok(code.into())
}
