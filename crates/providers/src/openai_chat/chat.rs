//! The codec, and whom it is for.

use crate::endpoint::Quirks;

/// The codec of Chat Completions.
///
/// What it does beyond renaming fields:
/// - A call's arguments are sent as the model wrote them if they are a JSON object. Nothing becomes `{}`; anything else
///   is sent as `{"unparsed_arguments": "<the text>"}`, because servers parse the arguments of earlier turns and refuse
///   the whole conversation if they cannot.
/// - A tool name that the format does not allow (a model can invent any) is sent with `_` in place of what is not
///   allowed, and at most 64 characters long.
/// - Thinking goes back only to the server that it came from, and only if it came as `reasoning_details`, or if the
///   server's quirks say that it wants the text. The format itself has no place for it.
/// - An output schema is `strict` if its shape allows it.
/// - Beside an effort the temperature is left out, which reasoning models refuse.
/// - Sound other than WAV and MP3 is named, not sent.
/// - A tool result carries text only; pictures, sound and documents in one are named, not sent.
/// - A blob must have been replaced by its bytes; what still is a blob is named, not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenAiChat {
    pub(super) quirks: Quirks,
    pub(super) issuer: String,
}

impl OpenAiChat {
    /// The codec for a server with these quirks. `issuer` is who makes, and alone may see, the signatures.
    pub fn new(quirks: Quirks, issuer: &str) -> OpenAiChat {
        OpenAiChat { quirks, issuer: issuer.into() }
    }
}
