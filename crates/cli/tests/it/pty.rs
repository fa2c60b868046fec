//! A terminal of its own for a command, and what a person sees in it.

use crate::support::*;
use mainpath_testkit::model_server::ModelServer;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Wide enough that no line of the tests is broken, and so high that none scrolls out of it.
pub const LARGE: (u16, u16) = (200, 250);

/// A terminal with the command in it.
pub struct Terminal {
    master: Option<File>,
    child: Child,
    size: (u16, u16),
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    /// Tells the reader to let go of the terminal.
    closing: Arc<AtomicBool>,
}

/// What a terminal of this size shows after these bytes: its rows without blanks at their ends, those that were broken by its
/// width put together again.
pub fn rendered(bytes: &[u8], (rows, columns): (u16, u16)) -> String {
    let mut terminal = vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
    terminal.process(bytes);
    let screen = terminal.screen();
    let mut text = String::new();
    for (number, row) in (0u16..).zip(screen.rows(0, columns)) {
        text.push_str(&row);
        if !screen.row_wrapped(number) {
            text.push_str("\r\n");
        }
    }
    format!("{}\r\n", text.trim_end())
}

impl Terminal {
    pub fn start(place: &Place, args: &[&str], env: &[(&str, &str)]) -> Terminal {
        Terminal::start_by(place, &[env!("CARGO_BIN_EXE_mainpath")], args, env)
    }

    pub fn start_by(place: &Place, program: &[&str], args: &[&str], env: &[(&str, &str)]) -> Terminal {
        Terminal::of_size(LARGE, place, (program, args), env)
    }

    /// A terminal with so many rows and columns.
    pub fn of_size(
        size: (u16, u16),
        place: &Place,
        (program, args): (&[&str], &[&str]),
        env: &[(&str, &str)],
    ) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let winsize = Winsize { ws_row: size.0, ws_col: size.1, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, winsize).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        // It makes the terminal the command's own, so that Ctrl-C reaches it.
        let mut command = Command::new("setsid");
        place.surround(&mut command);
        command.env("TERM", "xterm-256color");
        command.envs(env.iter().copied()).args(["--ctty", "--wait"]).args(program).args(args);
        command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
        let child = command.spawn().unwrap();
        drop(command);
        let master = File::from(master);
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (mut source, shown) = (master.try_clone().unwrap(), Arc::clone(&bytes));
        let closing = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&closing);
        fcntl_setfl(&master, fcntl_getfl(&master).unwrap() | OFlags::NONBLOCK).unwrap();
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while !closed.load(Ordering::Relaxed) {
                match source.read(&mut bytes) {
                    Ok(n @ 1..) => shown.lock().unwrap().extend_from_slice(&bytes[..n]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    // The end of the last process is an error here.
                    Ok(_) | Err(_) => return,
                }
            }
        });
        Terminal { master: Some(master), child, size, bytes, reader: Some(reader), closing }
    }

    pub fn run(place: &Place, server: &ModelServer) -> Terminal {
        Terminal::start(place, &["run", "--model", &server.model(), "Do it."], &[])
    }

    /// All that was written to it.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    /// What a person sees in it.
    pub fn screen(&self) -> String {
        rendered(&self.bytes(), self.size)
    }

    /// Waits until this is shown so many times.
    pub fn shows(&self, text: &str, times: usize) {
        let until = Instant::now() + LONG;
        // A row has no blanks at its end.
        let text = text.trim_end_matches(' ');
        let mut seen = 0;
        loop {
            let bytes = self.bytes();
            if bytes.len() > seen {
                seen = bytes.len();
                if rendered(&bytes, self.size).matches(text).count() >= times {
                    return;
                }
            }
            assert!(Instant::now() < until, "{text:?} is not shown {times} times: {}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until this holds of it.
    pub fn until(&self, what: &str, holds: impl Fn(&Terminal) -> bool) {
        let until = Instant::now() + LONG;
        while !holds(self) {
            assert!(Instant::now() < until, "waited in vain: {what}: {}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Types this, all of it at once.
    pub fn types(&mut self, text: &str) {
        let master = self.master.as_mut().unwrap();
        let (until, mut rest) = (Instant::now() + LONG, text.as_bytes());
        while !rest.is_empty() {
            match master.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) => {
                    let waits = error.kind() == ErrorKind::WouldBlock && Instant::now() < until;
                    assert!(waits, "{error}: {} bytes are left: {}", rest.len(), self.screen());
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    /// Closes the terminal as a window is closed, does this, and waits for the end; gives the exit code.
    pub fn closes(mut self, then: impl FnOnce()) -> i32 {
        self.closing.store(true, Ordering::Relaxed);
        self.reader.take().unwrap().join().unwrap();
        drop(self.master.take());
        then();
        self.ends().0
    }

    /// Waits for the end; gives the exit code and what is shown then.
    pub fn end(self) -> (i32, String) {
        let size = self.size;
        let (code, bytes) = self.ends();
        (code, rendered(&bytes, size))
    }

    /// Waits for the end; gives the exit code and all that was written.
    pub fn ends(mut self) -> (i32, Vec<u8>) {
        let until = Instant::now() + LONG;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "it does not end: {}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        };
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        (status.code().unwrap_or(-1), self.bytes())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that has ended is none of ours any more, and says so.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
