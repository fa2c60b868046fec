//! Commands that are given a text and answer with one.

use mainpath_sandbox::{Cage, Ended, How, Launcher, Talking};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Bytes of the answer, and of what is said beside it, that are kept.
const KEPT: (usize, usize) = (4 << 20, 64 << 10);
/// What is still in a pipe after the end comes at once. Another process that holds the pipe open may never close it.
const SILENCE: Duration = Duration::from_secs(1);

/// A command of the owner's.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its words; the first is what is run.
    pub words: Vec<String>,
    /// Variables for it beside those of every command.
    pub env: Vec<(String, String)>,
}

/// Where and under what a command runs.
pub struct Place<'a> {
    /// How it is started.
    pub launcher: &'a Launcher,
    /// What it is shut into.
    pub cage: &'a Cage,
    /// The folder that it begins in.
    pub folder: &'a Path,
    /// What it is started for.
    pub effect_id: &'a str,
}

/// What a command has said, and how it ended.
#[derive(Debug)]
pub struct Ran {
    /// The beginning of its answer.
    pub stdout: Vec<u8>,
    /// The beginning of what it said beside that.
    pub stderr: Vec<u8>,
    /// Whether the answer was longer.
    pub cut: bool,
    /// How it ended.
    pub ended: Ended,
    /// Whether it was stopped before its own end.
    pub stopped: bool,
}

impl Program {
    /// Runs it to its end, or until `stop` is done; then nothing of it runs any more. Errors: it could not be started, or its
    /// end not be confirmed. To be dropped is to end it too, unconfirmed.
    pub async fn run(&self, place: Place<'_>, input: &[u8], stop: impl Future<Output = ()>) -> io::Result<Ran> {
        let words: Vec<&OsStr> = self.words.iter().map(OsStr::new).collect();
        let env: Vec<(OsString, OsString)> = self.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let Place { launcher, cage, folder, effect_id } = place;
        let Talking { stdin, mut stdout, mut stderr, mut process } =
            launcher.command(&words, folder, effect_id, cage, &env)?;
        let (mut answer, mut beside) = (Kept::new(KEPT.0), Kept::new(KEPT.1));
        let (mut stdin, mut rest) = (Some(stdin), input);
        let mut stop = pin!(stop);
        let mut stopped = false;
        loop {
            tokio::select! {
                () = &mut stop, if !stopped => {
                    stopped = true;
                    process.end().await;
                }
                () = process.launcher_done() => break,
                () = answer.take(&mut stdout), if answer.open => {}
                () = beside.take(&mut stderr), if beside.open => {}
                // One that does not want to read all of it need not.
                sent = send(&mut stdin, rest), if stdin.is_some() => match sent {
                    Ok(sent) if sent < rest.len() => rest = &rest[sent..],
                    Ok(_) | Err(_) => stdin = None,
                },
            }
        }
        let mut drain = async || {
            while answer.open {
                answer.take(&mut stdout).await;
            }
            while beside.open {
                beside.take(&mut stderr).await;
            }
        };
        let _ = timeout(SILENCE, drain()).await;
        let ended = process.ended().await?;
        // A stop that came after its own end has changed nothing.
        let stopped = stopped && !ended.by_itself;
        Ok(Ran { stdout: answer.bytes, stderr: beside.bytes, cut: answer.cut, ended, stopped })
    }
}

async fn send(stdin: &mut Option<tokio::net::unix::pipe::Sender>, rest: &[u8]) -> io::Result<usize> {
    match stdin {
        Some(stdin) if !rest.is_empty() => stdin.write(rest).await,
        _ => Ok(0),
    }
}

/// The beginning of a stream.
struct Kept {
    bytes: Vec<u8>,
    most: usize,
    cut: bool,
    open: bool,
}

impl Kept {
    fn new(most: usize) -> Kept {
        Kept { bytes: Vec::new(), most, cut: false, open: true }
    }

    /// Takes what there is; what is too much is read and dropped, so that the command can go on.
    async fn take(&mut self, from: &mut (impl AsyncRead + Unpin)) {
        let mut buffer = [0; 8 * 1024];
        match from.read(&mut buffer).await {
            Ok(0) => self.open = false,
            Ok(got) => {
                let fits = got.min(self.most - self.bytes.len());
                self.bytes.extend_from_slice(&buffer[..fits]);
                self.cut |= fits < got;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.open = false,
        }
    }
}

/// Why a command has no answer, as a code and in words; `None` if it ended well.
pub fn went_wrong(how: &How) -> Option<(&'static str, String)> {
    Some(match how {
        How::Exit(0) => return None,
        How::Exit(code) => ("exit_code", format!("exit code {code}")),
        How::Signal(number) => ("signal", format!("killed by signal {number}")),
        How::StillRunning => ("launch", "it belongs to another user and could not be ended".into()),
        How::Failed(number) => ("launch", io::Error::from_raw_os_error(*number).to_string()),
        How::Refused(why) => ("sandbox", format!("it was not started, because it cannot be confined here: {why}")),
        How::Lost => ("launch", "the process that watches over it was killed, so it was ended".into()),
    })
}
