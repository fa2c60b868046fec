//! Where secrets are known from, and the key of their handles.

use super::Home;
use crate::Error;
use mainpath_providers::Registry;
use mainpath_runtime::Vault;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The variables that hold secrets, by their names or because somebody says so.
pub(super) fn environment(is_key: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, String)> {
    let texts =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(move |(name, _)| Vault::is_secret_name(name) || is_key(name))
}

/// A text for people, without the secrets that are known here: for what is said when nothing else works.
pub fn hidden(text: &str) -> String {
    let known = |home: &Home| home.registry().unwrap_or_else(|_| Registry::bundled().clone());
    let vault = Home::look().and_then(|(home, _)| home.vault(&known(&home)));
    vault.unwrap_or_else(|_| Vault::new(environment(|_| false))).redact(text)
}

/// What the handles of secrets without a name are made with. It is drawn once and lies beside the traces: in another place the same
/// secret has another handle, and nobody who has only a log can try passwords on it. Errors: it cannot be read, or nothing can
/// be drawn.
pub(super) fn handle_key(data: &Path) -> Result<[u8; 32], Error> {
    let file = data.join("handles.key");
    let read = || match std::fs::read(&file) {
        Ok(bytes) => <[u8; 32]>::try_from(bytes).map(Some).map_err(|bytes| {
            let size = bytes.len();
            Error::failed(format!(
                "{} has {size} bytes instead of 32; remove it, and Mainpath makes a new one",
                file.display()
            ))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::failed(format!("{} cannot be read: {error}", file.display()))),
    };
    if let Some(key) = read()? {
        return Ok(key);
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| Error::failed(format!("no random numbers available: {error}")))?;
    // Whole, and by the first who comes. Where nothing can be written, no log is written either.
    let part = data.join(format!("handles.key.{}", std::process::id()));
    let written = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
    let written = written.and_then(|mut file| file.write_all(&key).and_then(|()| file.sync_all()));
    let linked = written.and_then(|()| std::fs::hard_link(&part, &file));
    let _ = std::fs::remove_file(&part);
    match linked {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(read()?.unwrap_or(key)),
        Ok(()) | Err(_) => Ok(key),
    }
}
