//! Bytes to a standard stream that may be gone.

use std::io::{self, Write};
use std::time::Duration;

/// Writes to standard error in one piece, if that can be.
pub fn write(words: &str) {
    if !words.is_empty() {
        let _ = all(&mut io::stderr().lock(), words.as_bytes());
    }
}

/// Writes all of it. Whoever shares a pipe with us may have made it one that does not wait; then we do.
pub fn all(to: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
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
