//! From the bytes of a text to its letters. Pure.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

/// How far into a page its own word on its encoding is looked for: as far as the HTML standard has it.
const PRESCAN: usize = 1_024;

/// The text, and the name of its encoding: what the byte order mark says, else the header, else the page itself, else what
/// the bytes look like. A word that the bytes contradict does not count.
pub(crate) fn decode(bytes: &[u8], content_type: &str) -> (String, &'static str) {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return (encoding.decode_without_bom_handling(&bytes[mark..]).0.into_owned(), encoding.name());
    }
    let page = String::from_utf8_lossy(&bytes[..bytes.len().min(PRESCAN)]);
    // A page that can say so in ASCII is no UTF-16.
    let within = label(&page).and_then(|label| Encoding::for_label(label.as_bytes())).map(Encoding::output_encoding);
    let said = label(content_type).and_then(|label| Encoding::for_label(label.as_bytes())).or(within);
    let plain = std::str::from_utf8(bytes).is_ok().then_some(UTF_8);
    for encoding in [said, plain].into_iter().flatten() {
        let (text, malformed) = encoding.decode_without_bom_handling(bytes);
        if !malformed {
            return (text.into_owned(), encoding.name());
        }
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let guessed = detector.guess(None, Utf8Detection::Allow);
    (guessed.decode_without_bom_handling(bytes).0.into_owned(), guessed.name())
}

/// What stands after `charset=`.
fn label(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (_, after) = text.split_once("charset=")?;
    let after = after.trim_start_matches([' ', '"', '\'']);
    let end =
        after.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_:.".contains(letter))).unwrap_or(after.len());
    Some(after[..end].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(bytes: &[u8], content_type: &str) -> (String, &'static str) {
        decode(bytes, content_type)
    }

    #[test]
    fn the_header_counts_before_the_page_and_both_before_a_guess() {
        assert_eq!(said(b"caf\xe9", "text/html; charset=ISO-8859-1"), ("café".into(), "windows-1252"));
        assert_eq!(
            said(b"<meta charset='koi8-r'>\xcd\xc9\xd2", "text/html"),
            ("<meta charset='koi8-r'>мир".into(), "KOI8-R")
        );
        assert_eq!(said(b"<meta charset=koi8-r>\xe9", "text/html;charset=\"latin1\"").1, "windows-1252");
        assert_eq!(said("é".as_bytes(), "text/html"), ("é".into(), "UTF-8"));
        assert_eq!(said(b"\xef\xbb\xbfa", "text/html; charset=latin1"), ("a".into(), "UTF-8"));
        assert_eq!(said(b"\xff\xfea\0", ""), ("a".into(), "UTF-16LE"));
    }

    #[test]
    fn a_wrong_word_is_not_believed() {
        assert_eq!(said(b"caf\xe9 cr\xe8me", "text/html; charset=utf-8"), ("café crème".into(), "windows-1252"));
        assert_eq!(said(b"<meta charset=utf-16>ok", "text/html"), ("<meta charset=utf-16>ok".into(), "UTF-8"));
        assert_eq!(said(b"ok", "text/html; charset=klingon"), ("ok".into(), "UTF-8"));
        assert_eq!(said(b"", "text/html; charset="), (String::new(), "UTF-8"));
    }
}
