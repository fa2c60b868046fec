//! Folders and files that only their owner can read, whatever the umask is.

use std::fs::{DirBuilder, OpenOptions};
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
