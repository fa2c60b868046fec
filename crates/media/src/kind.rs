//! What bytes are, told by how they begin.

/// What an attachment is for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// A document of pages.
    Document,
}

impl Kind {
    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Image => "image",
            Kind::Audio => "audio",
            Kind::Document => "document",
        }
    }
}

/// Everything that [`sniff`] knows, and text.
pub(crate) const POSSIBLE: &str =
    "PNG, JPEG, WebP and GIF images, PDF, WAV, MP3, AIFF, AAC, OGG and FLAC audio, and UTF-8 text";

/// The kind and the media type that bytes with this beginning have. `None` for everything else, text included.
///
/// The formats are those that vendors take. Signatures: PNG (RFC 2083), JPEG (ITU T.81), GIF89a, WebP and WAV (RIFF), PDF
/// (ISO 32000-1, 7.5.2), MP3 (ISO 11172-3, ID3v2), AAC (ADTS, ISO 13818-7), AIFF, Ogg (RFC 3533), FLAC (RFC 9639).
pub(crate) fn sniff(bytes: &[u8]) -> Option<(Kind, &'static str)> {
    let at = |from: usize, begin: &[u8]| bytes.get(from..).is_some_and(|rest| rest.starts_with(begin));
    let (image, audio) = (|name| Some((Kind::Image, name)), |name| Some((Kind::Audio, name)));
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => image("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => image("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => image("image/gif"),
        [b'R', b'I', b'F', b'F', ..] if at(8, b"WEBP") => image("image/webp"),
        [b'R', b'I', b'F', b'F', ..] if at(8, b"WAVE") => audio("audio/wav"),
        [b'F', b'O', b'R', b'M', ..] if at(8, b"AIFF") || at(8, b"AIFC") => audio("audio/aiff"),
        [b'f', b'L', b'a', b'C', ..] => audio("audio/flac"),
        [b'O', b'g', b'g', b'S', ..] => audio("audio/ogg"),
        [b'I', b'D', b'3', 2..=4, ..] => audio("audio/mpeg"),
        [0xFF, 0xF0 | 0xF1 | 0xF8 | 0xF9, ..] => audio("audio/aac"),
        [0xFF, second, third, ..] if is_mp3_frame(*second, *third) => audio("audio/mpeg"),
        _ if at(0, b"%PDF-") => Some((Kind::Document, "application/pdf")),
        _ => None,
    }
}

/// Whether bytes of this media type are known by how they begin; sound apart, which has several names for each format.
pub(crate) fn is_known(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "application/pdf")
}

/// Whether a frame of MPEG audio, layer III, begins so: eleven bits set, and no value that is reserved.
fn is_mp3_frame(second: u8, third: u8) -> bool {
    let (version, layer) = (second >> 3 & 3, second >> 1 & 3);
    let (bitrate, rate) = (third >> 4, third >> 2 & 3);
    second & 0xE0 == 0xE0 && version != 1 && layer == 1 && bitrate != 15 && rate != 3
}

/// What an address seems to lead to, by the ending of its path. It is not looked at, so this is a guess; without an ending
/// that is known it is a document.
pub(crate) fn guess(address: &str) -> Kind {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    match ending.unwrap_or_default().to_ascii_lowercase().as_str() {
        "png" | "jpg" | "jpeg" | "webp" | "gif" => Kind::Image,
        "wav" | "mp3" | "aiff" | "aac" | "ogg" | "flac" => Kind::Audio,
        _ => Kind::Document,
    }
}
