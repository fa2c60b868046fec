//! Asking the person at the terminal, and hearing what is typed there.

use crate::ui::term::entry::Given;
use crate::ui::term::keys::Keys;
use crate::ui::term::screen;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};

/// What is typed, read by one thread from the first wish for it on: texts from the lower edge of the terminal, or lines where there
/// is none. Nothing is read in the background: there the terminal is the shell's, and who reads from it is stopped.
///
/// There is one standard input, so all of these hear the same, and whoever listens last gets what comes.
#[derive(Default)]
pub struct Lines {
    /// Whether there are no more.
    pub ended: bool,
}

type Sender = mpsc::UnboundedSender<String>;
static TYPED: Mutex<Option<mpsc::UnboundedReceiver<String>>> = Mutex::const_new(None);
static LISTENS: AtomicBool = AtomicBool::new(false);

impl Lines {
    /// Begins to listen, if that is not done yet.
    pub async fn listen(&mut self) {
        // Another run may have left the lower edge since.
        let has_edge = screen::hear();
        if !LISTENS.swap(true, Ordering::AcqRel) {
            let (send, receive) = mpsc::unbounded_channel();
            let read = if has_edge { read_keys } else { read_lines };
            // Without a thread, no line is ever typed.
            let started = Builder::new().spawn(move || read(&send));
            *TYPED.lock().await = started.is_ok().then_some(receive);
        }
    }

    /// The next one; `None` once there are no more.
    pub async fn next(&mut self) -> Option<String> {
        self.listen().await;
        let line = match &mut *TYPED.lock().await {
            Some(from) => from.recv().await,
            None => None,
        };
        self.ended |= line.is_none();
        line
    }

    /// One that was typed already; `None` where none was.
    pub async fn typed_already(&mut self) -> Option<String> {
        TYPED.lock().await.as_mut().and_then(|from| from.try_recv().ok())
    }
}

fn read_lines(send: &Sender) {
    while !send.is_closed() {
        if !has_line() {
            continue;
        }
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        if !read.is_ok_and(|bytes| bytes > 0) || send.send(line).is_err() {
            break;
        }
    }
}

fn read_keys(send: &Sender) {
    let (mut keys, mut bytes) = (Keys::default(), vec![0; 65_536]);
    while !send.is_closed() {
        if !screen::hears() {
            std::thread::sleep(MOMENT);
            continue;
        }
        let (pressed, alone) = match has_line() {
            false => (keys.rest().into_iter().collect(), true),
            // Meanwhile somebody else may have begun to ask.
            true if !screen::hears() => continue,
            true => match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
                Ok(read @ 1..) => {
                    let pressed = keys.feed(bytes.get(..read).unwrap_or_default());
                    let alone = pressed.len() == 1;
                    (pressed, alone)
                }
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Ok(_) | Err(_) => return,
            },
        };
        for given in screen::press(pressed, alone) {
            let is_heard = match given {
                Given::Said { text, .. } => send.send(text).is_ok(),
                Given::Closed => false,
            };
            if !is_heard {
                return;
            }
        }
    }
}

const MOMENT: Duration = Duration::from_millis(100);

/// Waits a moment for a line, or the end, that is for us.
pub fn has_line() -> bool {
    let stdin = rustix::stdio::stdin();
    if tcgetpgrp(stdin).is_ok_and(|group| group != getpgrp()) {
        std::thread::sleep(MOMENT);
        return false;
    }
    let moment = Timespec { tv_sec: 0, tv_nsec: MOMENT.subsec_nanos().into() };
    poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&moment)).is_ok_and(|ready| ready > 0)
}

/// What a person said to a question about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// This once.
    Yes,
    /// This, and calls like it in this trace.
    Trace,
    /// This, and all changes to files of the folder in this trace.
    Files,
    /// This, and calls like it from now on.
    Always,
    /// This and all that follow in this run.
    All,
    /// Yes, but with other arguments.
    Edit(String),
    /// No, for this reason.
    No(Option<String>),
    /// Show all of it.
    Details,
    /// What can be said here?
    Help,
    /// Decide later: leave the trace parked.
    Later,
    /// Nothing that can be understood.
    Unclear,
}

/// What a line means.
pub fn understand(line: &str) -> Said {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // "No, put it there" is a no with a reason.
    match word.to_ascii_lowercase().trim_end_matches([',', '.', ':', ';', '!']) {
        // With more behind it, it may be a yes to something else.
        "y" | "yes" | "ok" | "okay" if rest.trim().is_empty() => Said::Yes,
        "t" | "trace" => Said::Trace,
        "f" | "files" => Said::Files,
        "w" | "always" => Said::Always,
        "a" | "all" => Said::All,
        "e" | "edit" if !rest.trim().is_empty() => Said::Edit(rest.trim().to_string()),
        "n" | "no" => Said::No(Some(rest.trim().to_string()).filter(|reason| !reason.is_empty())),
        "d" | "details" | "diff" => Said::Details,
        "?" | "h" | "help" => Said::Help,
        "l" | "later" | "q" | "quit" => Said::Later,
        _ => Said::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood_and_nothing_else_is_a_yes() {
        let reason = |text: &str| Said::No(Some(text.into()));
        let expected = [
            ("y", Said::Yes),
            (" Yes ", Said::Yes),
            ("ok", Said::Yes),
            ("a", Said::All),
            ("n", Said::No(None)),
            ("no it is wrong", reason("it is wrong")),
            ("no, put it in tests/unit instead", reason("put it in tests/unit instead")),
            ("later", Said::Later),
            ("", Said::Unclear),
            ("yess", Said::Unclear),
            ("yes please delete all", Said::Unclear),
            ("e", Said::Unclear),
            ("e  ls -l ", Said::Edit("ls -l".into())),
            ("t", Said::Trace),
            ("f", Said::Files),
            ("always", Said::Always),
            ("d", Said::Details),
            ("?", Said::Help),
        ];
        for (line, said) in expected {
            assert_eq!(understand(line), said, "{line:?}");
        }
    }
}
