//! Reading a file of presets.

use super::fields::{Fields, Known, read};
use super::formats::{Form, Table, Written, markdown, table, toml};
use super::places::Place;
use super::preset::{Layer, Listed, Preset, Remark};
use super::trust::{Trusted, hash};
use mainpath_skills::line_feeds;
use mainpath_store::open_regular;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file, in bytes.
const LARGEST: u64 = 256 * 1024;

/// A file of presets that is passed over.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub(super) struct FileError {
    file: PathBuf,
    problem: FileProblem,
}

/// Why a file of presets is passed over.
#[derive(Debug, thiserror::Error)]
enum FileProblem {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is larger than 256 KiB")]
    TooLarge,
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("it holds no presets")]
    NoPresets,
}

/// The presets of a file.
///
/// # Errors
/// The file is passed over.
pub(super) fn presets_of(place: &Place, trusted: &Trusted, known: &Known<'_>) -> Result<Vec<Listed>, FileError> {
    let (layer, file) = (place.layer, &place.file);
    let wrong = |problem| FileError { file: file.clone(), problem };
    let text = text_of(file).map_err(wrong)?;
    let hash = hash(&text);
    let distrust = if layer == Layer::Project { trusted.distrust(file, &hash) } else { None };
    // Whether there is a model may be asked of a file: not for whoever wrote a repository.
    let not_asked = |_: &str| Ok(());
    let known = if distrust.is_none() { known } else { &Known { model: &not_asked, ..*known } };
    let text = line_feeds(&text);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let written: Vec<Written<'_>> = match place.form {
        Form::Table => match table(&text) {
            Table::Presets(presets) => presets,
            Table::Other => return Err(wrong(FileProblem::NoPresets)),
            Table::Broken(remark) => vec![broken(&stem, remark)],
        },
        Form::Codex if file.extension().is_some_and(|end| end == "toml") => vec![toml(&text, &stem)],
        form => vec![markdown(&text, &stem, form)],
    };
    let listed = |written: &Written<'_>| {
        let Fields { preset, faults, notes } = read(written, known);
        let preset = Preset { source: file.display().to_string(), ..preset };
        let (file, hash, shadows) = (Some(file.clone()), hash.clone(), Vec::new());
        Listed { preset, layer, file, hash, distrust, faults, notes, shadows }
    };
    Ok(written.iter().map(listed).collect())
}

fn broken<'t>(stem: &str, remark: Remark) -> Written<'t> {
    let (entries, notes) = Default::default();
    Written { form: Form::Table, name: stem.into(), line: 1, entries, body: "", faults: vec![remark], notes }
}

fn text_of(file: &Path) -> Result<String, FileProblem> {
    let mut bytes = Vec::new();
    open_regular(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(FileProblem::TooLarge);
    }
    String::from_utf8(bytes).map_err(|_| FileProblem::NotText)
}
