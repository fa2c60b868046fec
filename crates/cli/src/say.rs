//! What is said to people. Nobody has to be there to hear it: a closed or full standard error, a reader that has gone, a dead
//! terminal end no run, so `eprintln!` and `eprint!` here never fail, unlike those of the standard library.

use crate::term::screen;
use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

macro_rules! eprintln {
    () => { $crate::say::to_people(::std::format_args!("\n")) };
    ($($words:tt)*) => { $crate::say::to_people(::std::format_args!("{}\n", ::std::format_args!($($words)*))) };
}

macro_rules! eprint {
    ($($words:tt)*) => { $crate::say::to_people(::std::format_args!($($words)*)) };
}

/// Says it on standard error, above what stands at the lower edge of a terminal.
pub fn to_people(words: Arguments<'_>) {
    screen::print(&words.to_string());
}

/// Writes to standard error in one piece, if that can be.
pub fn write(words: &str) {
    if !words.is_empty() {
        let _ = all(&mut io::stderr().lock(), words.as_bytes());
    }
}

/// Writes to standard output. Errors: those of writing.
pub fn to_output(words: &str) -> io::Result<()> {
    let write = || {
        let mut out = io::stdout().lock();
        all(&mut out, words.as_bytes()).and_then(|()| out.flush())
    };
    // It may be the same terminal.
    if io::stdout().is_terminal() { screen::aside(write) } else { write() }
}

/// Writes all of it. Whoever shares a pipe with us may have made it one that does not wait; then we do.
fn all(to: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    const MOMENT: Duration = Duration::from_millis(5);
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(MOMENT),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
