//! Folders and files that only their owner can read, whatever the umask is.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Creates a folder with mode 0700, and so those above it that are missing. One that exists stays as it is.
pub fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates the folder of a file as [`create_private`] does.
pub fn create_private_parent(file: &Path) -> io::Result<()> {
    file.parent().map_or(Ok(()), create_private)
}

/// Opens a file to read and append; one that is made has mode 0600.
pub(crate) fn open_or_make(file: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(file)
}

/// Writes a file with mode 0600, completely or not at all, and creates its folder.
pub fn write_private(file: &Path, bytes: &[u8]) -> io::Result<()> {
    create_private_parent(file)?;
    let part = file.with_extension(format!("part-{}", std::process::id()));
    let write = || {
        let mut open = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        open.write_all(bytes)?;
        std::fs::rename(&part, file)
    };
    write().inspect_err(|_| drop(std::fs::remove_file(&part)))
}

/// Writes a file in place, with mode 0600 if it is new, and creates its folder. A file that is there keeps its mode.
pub fn put_private(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if file.parent().is_some_and(|folder| !folder.as_os_str().is_empty()) {
        create_private_parent(file)?;
    }
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?.write_all(bytes)
}
