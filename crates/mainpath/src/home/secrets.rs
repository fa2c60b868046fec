//! Where secrets are known from, and the key of their handles.

use crate::Error;
#[cfg(feature = "home")]
use mainpath_mcp::McpConfig;
use mainpath_runtime::Vault;
use mainpath_store::read_regular;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The variables that hold secrets, by their names, by the form of their values, or because the configuration names them.
pub(super) fn environment(is_key: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, String)> {
    let texts =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let forms = Vault::default();
    texts.filter(move |(name, value)| forms.is_secret_variable(name, value) || is_key(name))
}

/// What the handles of secrets without a name are made with. It is drawn once and lies beside the traces: in another place the same
/// secret has another handle, and nobody who has only a log can try passwords on it. Errors: it cannot be read, or nothing can
/// be drawn.
pub(super) fn handle_key(data: &Path) -> Result<[u8; 32], Error> {
    let file = data.join("handles.key");
    let read = || match read_regular(&file) {
        Ok(bytes) => <[u8; 32]>::try_from(bytes).map(Some).map_err(|bytes| {
            let size = bytes.len();
            Error::failed(format!(
                "{} has {size} bytes instead of 32; remove it, and Mainpath makes a new one",
                file.display()
            ))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::of_io(&error, format!("{} cannot be read: {error}", file.display()))),
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

/// The secrets that servers are given: the variables that headers are made of, and what stands in an entry itself.
#[cfg(feature = "home")]
pub(super) fn of_servers(config: &McpConfig) -> (Vec<String>, Vec<(String, String)>) {
    let (mut variables, mut values) = (Vec::new(), Vec::new());
    let forms = Vault::default();
    for (server, entry) in &config.servers {
        for (name, text) in &entry.headers {
            let named = text.split("${").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
            variables.extend(named.map(String::from));
            let is_secret = ["auth", "key", "token", "secret"].iter().any(|part| name.to_lowercase().contains(part));
            if is_secret && !text.contains("${") {
                // The last word of `Bearer …`.
                values.push((format!("{server}-{name}"), text.rsplit(' ').next().unwrap_or_default().to_string()));
            }
        }
        let given =
            entry.env.iter().filter(|(name, text)| forms.is_secret_variable(name, text) && !text.contains("${"));
        values.extend(given.map(|(name, text)| (format!("{server}-{name}"), text.clone())));
    }
    (variables, values)
}
