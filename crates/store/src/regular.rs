//! Reading files that may be something else: a pipe in the place of one keeps whoever opens it waiting for ever.

use rustix::fs::{Mode, OFlags, open};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens a file to read. Errors: it is a pipe, a folder or a device, or it cannot be opened. `NotFound` means that there is no such file: a
/// link that leads nowhere, also above it, is another error.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Opened so, a pipe without a writer answers at once.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(open(path, flags, Mode::empty()).map_err(|error| match dangling_link(path) {
        Some(link) => io::Error::other(format!("{} is a link that leads nowhere", link.display())),
        None => error.into(),
    })?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a file")),
    }
}

/// The link in a path that leads nowhere.
fn dangling_link(path: &Path) -> Option<&Path> {
    path.ancestors().find(|part| {
        let is_link = part.symlink_metadata().is_ok_and(|data| data.is_symlink());
        is_link && part.metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    })
}

/// The bytes of a file. Errors: as [`open_regular`], or it cannot be read.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file. Errors: as [`read_regular`], or it is not UTF-8.
pub fn read_regular_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_regular(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}
