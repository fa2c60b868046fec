//! Signatures on text.
//!
//! The vendor signs parts, also parts of a text and empty ones, and wants them back neither merged nor cut. Neutral text
//! has no signature and stays whole. So a text with signed parts becomes two neutral parts: a thinking part without text,
//! whose signature says how the text is divided, and then the text, if there is any. `11 0:SIG` is a part of 11 bytes
//! without a signature and then an empty part with the signature `SIG`.

use mainpath_types::{Part, Signature};

/// What the signature of a thought without text begins with, to tell it from a text's.
const THOUGHT: &str = "thought:";

/// A text as it comes, part for part.
#[derive(Default)]
pub(super) struct Run {
    text: String,
    pieces: Vec<(usize, Option<String>)>,
}

impl Run {
    /// Adds a part; parts without signature that follow each other are one.
    pub(super) fn push(&mut self, text: &str, signature: Option<String>) {
        self.text.push_str(text);
        match (self.pieces.last_mut(), signature) {
            (Some((len, None)), None) => *len += text.len(),
            (_, signature) => self.pieces.push((text.len(), signature)),
        }
    }

    /// How many parts it has.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The neutral parts.
    pub(super) fn into_parts(self, issuer: &str) -> impl Iterator<Item = Part> {
        let is_signed = self.pieces.iter().any(|(_, signature)| signature.is_some());
        let pieces = self.pieces.iter().map(|(len, signature)| match signature {
            Some(signature) => format!("{len}:{signature}"),
            None => len.to_string(),
        });
        let value = pieces.collect::<Vec<_>>().join(" ");
        let signature = Signature { issuer: issuer.into(), value };
        let mark = is_signed.then(|| Part::Thinking { text: String::new(), signature: Some(signature) });
        mark.into_iter().chain((!self.text.is_empty()).then(|| Part::text(self.text)))
    }
}

/// The value that keeps a thought's signature.
pub(super) fn of_thought(text: &str, signature: String) -> String {
    if text.is_empty() { format!("{THOUGHT}{signature}") } else { signature }
}

/// What a thinking part that is ours and has no text stands for.
pub(super) enum Mark<'a> {
    /// A signed thought without text.
    Thought(&'a str),
    /// The division of the text after it.
    Text(Vec<(usize, Option<&'a str>)>),
}

/// Reads the value of a thinking part without text.
pub(super) fn mark(value: &str) -> Mark<'_> {
    if let Some(signature) = value.strip_prefix(THOUGHT) {
        return Mark::Thought(signature);
    }
    let pieces: Option<Vec<_>> = value.split(' ').map(piece).collect();
    // Without a signature there is nothing to divide a text for.
    let is_signed = |pieces: &Vec<(usize, Option<&str>)>| pieces.iter().any(|(_, signature)| signature.is_some());
    Mark::Text(pieces.filter(is_signed).unwrap_or_default())
}

fn piece(piece: &str) -> Option<(usize, Option<&str>)> {
    match piece.split_once(':') {
        Some((len, signature)) => Some((len.parse().ok()?, Some(signature))),
        None => Some((piece.parse().ok()?, None)),
    }
}

/// Divides a text; `None` if it is not the text of which the mark speaks, such as when a secret in it was replaced.
pub(super) fn divide<'t, 's>(
    text: &'t str,
    pieces: &[(usize, Option<&'s str>)],
) -> Option<Vec<(&'t str, Option<&'s str>)>> {
    let mut rest = text;
    let mut divided = Vec::with_capacity(pieces.len());
    for (len, signature) in pieces {
        let (piece, more) = rest.split_at_checked(*len)?;
        divided.push((piece, *signature));
        rest = more;
    }
    rest.is_empty().then_some(divided)
}
