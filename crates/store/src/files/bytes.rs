//! Bytes of a file that somebody may be writing.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// A file's bytes from an offset on.
pub(super) fn bytes_from(file: &File, from: u64) -> std::io::Result<Vec<u8>> {
    let len = file.metadata()?.len();
    bytes_between(file, from, len)
}

/// A file's bytes between two offsets; fewer if it ends before. It may, since an owner may be cutting off its tail.
pub(super) fn bytes_between(file: &File, from: u64, to: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(to.saturating_sub(from)).map_err(std::io::Error::other)?];
    let (mut read, mut at) = (0, from);
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at) {
            Ok(0) => break,
            Ok(n) => (read, at) = (read + n, at + n as u64),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}
