//! Notes that a workspace comes with, inside the system text: framed, so that they are known again as its words and not the
//! owner's.

use mainpath_types::Origin;

const BEGIN: &str = "<notes file=";
const END: &str = "</notes>";

/// A file's notes in their frame, which they cannot end themselves.
pub fn framed_notes(file: &str, text: &str) -> String {
    format!("{BEGIN}\"{file}\">\n{}\n{END}", text.trim().replace("</notes", "< /notes"))
}

/// The system text in parts: what its owner wrote, and the notes.
pub(crate) fn parted(instructions: &str) -> impl Iterator<Item = (Origin, &str)> {
    let (mut rest, mut inside) = (Some(instructions), false);
    std::iter::from_fn(move || {
        let text = rest?;
        let (origin, end) = if inside { (Origin::Workspace, END) } else { (Origin::User, BEGIN) };
        let (part, after) = text.split_once(end).map_or((text, None), |(part, after)| (part, Some(after)));
        (rest, inside) = (after, !inside);
        Some((origin, part))
    })
}
