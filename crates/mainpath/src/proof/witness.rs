//! Witnesses: where a signed head is told, so that who can write the files of the home cannot take it back.

use super::statement::Statement;
use crate::Error;
use mainpath_sandbox::OwnerProgram;
use mainpath_store::read_regular;
use rustix::fs::{FlockOperation, flock};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

/// How long a command may take.
const COMMAND_TIME: Duration = Duration::from_secs(60);

/// Who is told of a signed head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// A file, to which the line is added if it is not in it yet.
    File(PathBuf),
    /// A command of the owner, which gets the line on its standard input. It may get a line again.
    Command(OwnerProgram),
}

impl Witness {
    /// Tells it. `folders`: where the trace's agent works. Errors: the file cannot be written; the command fails, names something in
    /// these folders, or takes longer than a minute.
    pub(super) async fn tell(&self, statement: &Statement, folders: &[&Path]) -> Result<(), Error> {
        match self {
            Witness::File(file) => {
                let (file, line) = (file.clone(), statement.line.clone());
                let name = file.display().to_string();
                let done = tokio::task::spawn_blocking(move || add(&file, &line)).await;
                let done = done.unwrap_or_else(|error| Err(std::io::Error::other(error)));
                done.map_err(|error| Error::of_io(&error, format!("the witness {name} cannot be written: {error}")))
            }
            Witness::Command(program) => run(program, folders, &statement.line).await,
        }
    }
}

fn add(file: &Path, line: &str) -> std::io::Result<()> {
    if std::fs::metadata(file).is_ok_and(|data| !data.is_file()) {
        return Err(std::io::Error::other("it is not a file"));
    }
    let mut open = std::fs::OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(file)?;
    flock(&open, FlockOperation::LockExclusive)?;
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes)?;
    if bytes.split(|byte| *byte == b'\n').any(|known| known == line.as_bytes()) {
        return Ok(());
    }
    // Nothing is removed from a witness: what a crash left of a line is a line of its own.
    let first = if bytes.last().is_none_or(|byte| *byte == b'\n') { "" } else { "\n" };
    open.write_all(format!("{first}{line}\n").as_bytes())?;
    open.sync_data()
}

async fn run(program: &OwnerProgram, folders: &[&Path], line: &str) -> Result<(), Error> {
    let wrong = |problem: String| Error::failed(format!("the witness command {problem}"));
    let variables = program.check(folders.iter().copied(), &[]);
    let variables = variables.map_err(|why| wrong(format!("was not started: {why}")))?;
    let [first, rest @ ..] = program.words() else { return Err(wrong("is empty".into())) };
    let mut child = tokio::process::Command::new(first)
        .args(rest)
        .current_dir(program.folder())
        .envs(variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| wrong(format!("cannot be started: {error}")))?;
    let stdin = child.stdin.take();
    let line = format!("{line}\n");
    let told = async move {
        if let Some(mut stdin) = stdin {
            // One that does not read its input says by its exit code whether that is right.
            let _ = stdin.write_all(line.as_bytes()).await;
        }
        child.wait().await
    };
    match tokio::time::timeout(COMMAND_TIME, told).await {
        Err(_) => Err(wrong(format!("took longer than {} seconds", COMMAND_TIME.as_secs()))),
        Ok(Err(error)) => Err(wrong(format!("failed: {error}"))),
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(wrong(format!("failed ({status})"))),
    }
}

/// A line of a witness without the pieces of lines before it that crashes left, which nobody could take away again: such a piece begins
/// with a brace and ends before the next one. Empty if it is nothing else; `None` for what begins like no signed head.
fn whole_of(line: &[u8]) -> Option<&[u8]> {
    let last = line.iter().rposition(|byte| *byte == b'{')?;
    let (pieces, rest) = line.split_at_checked(last)?;
    let is_broken_off = |piece: &[u8]| piece.first() == Some(&b'{') && !piece.contains(&b'}');
    match (pieces.is_empty() || is_broken_off(pieces), is_broken_off(rest)) {
        (false, _) => None,
        (true, true) => Some(&[]),
        (true, false) => Some(rest),
    }
}

/// What a witness says.
#[derive(Clone, Debug, Default)]
pub struct Witnessed {
    pub(super) statements: Vec<Statement>,
    /// What is no statement, a sentence each.
    pub(super) faults: Vec<String>,
}

impl Witnessed {
    /// Reads a file of statements, one a line. Lines that are none are told when something is checked against it. Errors: it cannot be read.
    pub fn read(file: &Path) -> Result<Witnessed, Error> {
        let name = file.display();
        let bytes = read_regular(file)
            .map_err(|error| Error::of_io(&error, format!("the witness {name} cannot be read: {error}")))?;
        let mut read = Witnessed::default();
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        // What is behind the last line feed was never acknowledged.
        lines.pop();
        for (at, line) in lines.into_iter().enumerate().filter(|(_, line)| !line.is_empty()) {
            match whole_of(line) {
                Some([]) => {}
                Some(line) => match std::str::from_utf8(line).ok().and_then(Statement::read) {
                    Some(statement) => read.statements.push(statement),
                    None => read.faults.push(format!("{name}, line {}: it is no signed head", at + 1)),
                },
                None => read.faults.push(format!("{name}, line {}: it is no signed head", at + 1)),
            }
        }
        Ok(read)
    }

    /// What both say.
    pub(super) fn and(mut self, other: Witnessed) -> Witnessed {
        self.statements.extend(other.statements);
        self.faults.extend(other.faults);
        self
    }

    /// The traces of a tenant that it speaks of, each once.
    pub fn traces(&self, tenant: &str) -> Vec<String> {
        let mut names: Vec<String> =
            self.statements.iter().filter(|said| said.tenant == tenant).map(|said| said.trace.clone()).collect();
        names.sort();
        names.dedup();
        names
    }
}
