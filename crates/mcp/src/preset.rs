//! The servers that come with Mainpath, as data: `presets.toml`.

use crate::entry::Entry;
use crate::error::EntryProblem;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const PRESETS: &str = include_str!("presets.toml");

#[derive(Deserialize)]
struct Preset {
    #[serde(flatten)]
    entry: BTreeMap<String, toml::Value>,
    find: Option<Find>,
}

/// A program that a server needs beside itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Find {
    /// The argument that its path follows.
    flag: String,
    programs: Vec<String>,
}

/// The entry with what its preset says where it says nothing itself. Errors: there is no such preset.
pub(crate) fn applied(own: Entry) -> Result<Entry, EntryProblem> {
    let Some(name) = &own.preset else { return Ok(own) };
    let mut presets: BTreeMap<String, Preset> = toml::from_str(PRESETS)?;
    let Some(preset) = presets.remove(name) else {
        let known = presets.into_keys().collect::<Vec<_>>().join(", ");
        return Err(EntryProblem::UnknownPreset { name: name.clone(), known });
    };
    let table: toml::Table = preset.entry.into_iter().collect();
    let base: Entry = table.try_into()?;
    let mut args = base.args;
    if let Some(Find { flag, programs }) = preset.find
        && let Some(program) = programs.iter().find_map(|program| installed(program))
    {
        args.extend([flag, program.display().to_string()]);
    }
    let mut env = base.env;
    env.extend(own.env);
    Ok(Entry {
        args: if own.args.is_empty() { args } else { own.args },
        env,
        command: own.command.or(base.command),
        network: own.network.or(base.network),
        sandbox: own.sandbox.or(base.sandbox),
        timeout_s: own.timeout_s.or(base.timeout_s),
        startup_timeout_s: own.startup_timeout_s.or(base.startup_timeout_s),
        ..own
    })
}

/// Where a program is, by the search path.
fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(is_program)
}

fn is_program(path: &PathBuf) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(Path::new(path)).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
