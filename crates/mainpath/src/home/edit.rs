//! Changing a file that people write themselves: whole or not at all.

use crate::Error;
use mainpath_store::{create_private, read_regular_text};
use std::io::{self, Write};
use std::path::Path;

/// Replaces the text of a file, or makes it. A link stays a link, and what may be read by whom stays as it is. Errors: what `change`
/// returns, and that the file cannot be read or written.
pub fn rewrite(file: &Path, change: impl FnOnce(String) -> Result<String, Error>) -> Result<(), Error> {
    let bad = |error: io::Error| Error::of_io(&error, format!("{} cannot be written: {error}", file.display()));
    let old = match read_regular_text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(bad(error)),
    };
    let new = change(old)?;
    let file = file.canonicalize().unwrap_or_else(|_| file.into());
    let folder = file.parent().unwrap_or(Path::new("."));
    create_private(folder).map_err(bad)?;
    let mut part = tempfile::NamedTempFile::new_in(folder).map_err(bad)?;
    part.write_all(new.as_bytes()).map_err(bad)?;
    if let Ok(there) = file.metadata() {
        part.as_file().set_permissions(there.permissions()).map_err(bad)?;
    }
    part.as_file().sync_all().map_err(bad)?;
    part.persist(&file).map_err(|error| bad(error.error))?;
    Ok(())
}

/// An entry below what stands in a file, with an empty line between.
pub fn below(old: &str, entry: &str) -> String {
    let gap = match old {
        "" => "",
        old if old.ends_with("\n\n") => "",
        old if old.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{old}{gap}{entry}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_link_stays_a_link_and_its_file_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.toml"), folder.path().join("config.toml"));
        std::fs::write(&real, "a = 1").unwrap();
        std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        rewrite(&link, |old| Ok(below(&old, "[b]\n"))).unwrap();
        let mode = real.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((std::fs::read_to_string(&real).unwrap().as_str(), mode), ("a = 1\n\n[b]\n", 0o640));
        assert_eq!(std::fs::read_link(&link).unwrap(), real);
    }

    #[test]
    fn what_cannot_be_changed_is_left_and_what_is_not_there_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/config.toml");
        let refused = rewrite(&file, |_| Err(Error::invalid("no")));
        assert!(refused.is_err() && !file.exists());
        rewrite(&file, |old| Ok(below(&old, "[b]\n"))).unwrap();
        rewrite(&file, |old| Ok(below(&old, "[c]\n"))).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "[b]\n\n[c]\n");
    }
}
