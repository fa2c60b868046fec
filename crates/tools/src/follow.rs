//! Following a command to its end: its output, the wish to end it, its time.

use crate::output::Lines;
use crate::words::count;
use mainpath_sandbox::{Ended, How, Running};
use std::io;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio_util::sync::CancellationToken;

/// An unfinished line is handed on when nothing has come for this long.
const QUIET: Duration = Duration::from_millis(100);

/// Why a command was ended before its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Somebody, or the registry's time limit, wanted it.
    Asked,
    /// Its own time was up, so many seconds.
    Late(u64),
}

/// Where a command's outputs go.
pub(crate) struct Sinks<'a> {
    /// Takes its output as it comes.
    pub output: &'a mut (dyn FnMut(&[u8]) + Send),
    /// Takes its error output as it comes, where that is told apart.
    pub errors: &'a mut (dyn FnMut(&[u8]) + Send),
    /// Takes both in pieces that end at line ends where possible.
    pub piece: &'a mut (dyn FnMut(String) + Send),
}

/// Reads a command's outputs until nothing of it runs any more.
pub(crate) async fn follow(
    mut running: Running,
    cancel: &CancellationToken,
    limit: Option<Duration>,
    sinks: Sinks<'_>,
) -> io::Result<(Ended, Option<Stop>)> {
    let Sinks { output, errors, piece } = sinks;
    let (mut lines, mut error_lines) = (Lines::default(), Lines::default());
    let (mut buffer, mut error_buffer) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut stop = None;
    let (mut open, mut errors_open) = (true, running.errors.is_some());
    let late = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(late);
    loop {
        let quiet = tokio::time::sleep(QUIET);
        tokio::select! {
            biased;
            () = cancel.cancelled(), if stop.is_none() => {
                stop = Some(Stop::Asked);
                running.process.end().await;
            }
            () = &mut late, if stop.is_none() => {
                stop = Some(Stop::Late(limit.unwrap_or_default().as_secs()));
                running.process.end().await;
            }
            () = running.process.launcher_done() => break,
            got = running.output.read(&mut buffer), if open => match got {
                Ok(0) => open = false,
                Ok(got) => {
                    output(&buffer[..got]);
                    lines.push(&buffer[..got], piece);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => open = false,
            },
            got = read(&mut running.errors, &mut error_buffer), if errors_open => match got {
                Ok(0) => errors_open = false,
                Ok(got) => {
                    errors(&error_buffer[..got]);
                    error_lines.push(&error_buffer[..got], piece);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => errors_open = false,
            },
            () = quiet, if lines.waits() || error_lines.waits() => {
                lines.flush(false, piece);
                error_lines.flush(false, piece);
            }
        }
    }
    rest(&mut running.output, open, &mut buffer, &mut |bytes| {
        output(bytes);
        lines.push(bytes, piece);
    })
    .await;
    if let Some(stream) = &mut running.errors {
        rest(stream, errors_open, &mut error_buffer, &mut |bytes| {
            errors(bytes);
            error_lines.push(bytes, piece);
        })
        .await;
    }
    lines.flush(true, piece);
    error_lines.flush(true, piece);
    Ok((running.process.ended().await?, stop))
}

async fn read(from: &mut Option<Receiver>, buffer: &mut [u8]) -> io::Result<usize> {
    match from {
        Some(from) => from.read(buffer).await,
        None => Ok(0),
    }
}

/// What was written before a command's end is still in the pipe. Its end of file may never come if a process that is none of
/// ours holds it open, so silence ends it too, and so does more than a pipe can hold.
async fn rest(from: &mut Receiver, open: bool, buffer: &mut [u8], take: &mut (dyn FnMut(&[u8]) + Send)) {
    let (mut open, mut reads) = (open, 0);
    while open && reads < 64 {
        match tokio::time::timeout(Duration::from_secs(1), from.read(buffer)).await {
            Ok(Ok(got)) if got > 0 => {
                take(&buffer[..got]);
                reads += 1;
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => open = false,
        }
    }
}

/// How a command ended by itself: the code of the failure, if it is one, and words.
pub(crate) fn own_end(how: &How) -> Option<(&'static str, String)> {
    match how {
        How::Exit(0) => None,
        How::Exit(code) => Some(("exit_code", format!("exit code {code}"))),
        How::Signal(signal) => Some(("signal", format!("killed by {}", signal_name(*signal)))),
        How::Refused(why) => Some(("sandbox", refused(why))),
        How::Failed(number) => Some(("launch", format!("not started: {}", io::Error::from_raw_os_error(*number)))),
        How::Lost | How::StillRunning => {
            let text = "the process that watches over the command was killed, so everything was ended";
            Some(("launch", text.into()))
        }
    }
}

/// Why the sandbox did not let a command start.
pub(crate) fn refused(why: &str) -> String {
    format!(
        "The command was not started, since the sandbox could not be made: {why}. `mainpath doctor` says what is missing."
    )
}

/// What to say beside a command's own end.
pub(crate) fn leftovers(ended: &Ended) -> Vec<String> {
    let mut notes = Vec::new();
    if ended.cleared > 0 {
        let what = count(ended.cleared as u64, "background process");
        notes.push(format!("ended {what} that still ran after the command"));
    }
    if ended.left > 0 {
        notes.push(format!("{} of another user could not be ended", count(ended.left as u64, "process")));
    }
    notes.extend(ended.planted.sentences(false));
    notes
}

fn signal_name(number: i32) -> String {
    const NAMES: [(i32, &str); 15] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
        (25, "SIGXFSZ"),
    ];
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => format!("signal {number} ({name})"),
        None => format!("signal {number}"),
    }
}
