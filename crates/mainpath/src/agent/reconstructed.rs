//! What a trace says of itself that was reconstructed from another program's session.

use mainpath_types::Spec;
use serde_json::{Map, Value};

/// The key in a trace's relations that says that it is reconstructed, and from what.
pub(crate) const MARK: &str = "reconstructed";
/// The folder that the file names, until somebody has gone on with it.
pub(crate) const FOLDER: &str = "folder";

/// From which program a trace was reconstructed, and its session there, in a few words.
pub fn reconstructed_from(spec: &Spec) -> Option<String> {
    let mark = spec.relations.context.get(MARK)?;
    let text = |name: &str| mark.get(name).and_then(Value::as_str);
    let version = text("version").map(|version| format!(" {version}")).unwrap_or_default();
    Some(format!("{}{version}, session {}", text("program")?, text("session")?))
}

/// The file that a trace was reconstructed from.
#[cfg(feature = "home")]
pub(crate) fn file_of(spec: &Spec) -> Option<&str> {
    spec.relations.context.get(MARK)?.get("file")?.as_str()
}

/// Whether the folder of a trace is what a file said, and nobody has chosen one yet.
#[cfg(feature = "home")]
pub fn is_folder_unchosen(spec: &Spec) -> bool {
    spec.relations.context.get(MARK).is_some_and(|mark| mark.get(FOLDER).is_some())
}

/// Whether nobody has gone on with a reconstructed trace yet. Its folder is then what a file said that nobody trusts, and it has no tools
/// of its own. From now on it has.
pub(super) fn settle(spec: &mut Spec) -> bool {
    let mark = spec.relations.context.get_mut(MARK).and_then(Value::as_object_mut);
    mark.is_some_and(|mark: &mut Map<String, Value>| mark.remove(FOLDER).is_some())
}
