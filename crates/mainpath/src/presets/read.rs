//! Reading a file of presets.

use super::fields::{Fields, Known, read};
use super::formats::{Form, Table, Written, markdown, table, toml};
use super::places::Place;
use super::preset::{Layer, Listed, Preset, Remark};
use super::trust::{Trusted, hash};
use mainpath_skills::line_feeds;
use mainpath_store::open_regular;
use std::io::Read;
use std::path::Path;

/// The largest file, in bytes.
const LARGEST: u64 = 256 * 1024;

/// The presets of a file. Errors: why it is passed over, in a line with its name.
pub(super) fn presets_of(place: &Place, trusted: &Trusted, known: &Known<'_>) -> Result<Vec<Listed>, String> {
    let (layer, file) = (place.layer, &place.file);
    let wrong = |why: String| format!("{}: {why}", file.display());
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
            Table::Other => return Err(wrong("it holds no presets".into())),
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

fn text_of(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = open_regular(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err("it is larger than 256 KiB".into());
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".into())
}
