//! Bodies that a server, or what stands before it, has compressed although nobody asked for that.

use crate::words::{error, one_line};
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use mainpath_types::{ModelError, ModelErrorKind};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use std::io::Write;

/// So many packed bytes are unpacked at once: at most a thousand times as many come out.
const STEP: usize = 1 << 10;

/// Unpacks a body as it comes.
pub(crate) enum Unpacker {
    /// Nothing has come that would tell.
    Unknown,
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
}

impl Unpacker {
    /// What undoes the coding that the headers name.
    ///
    /// # Errors
    /// A coding that is not known here.
    pub fn new(headers: &HeaderMap) -> Result<Unpacker, ModelError> {
        let named = headers.get(CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
        match named.as_deref() {
            None | Some(b"" | b"identity") => Ok(Unpacker::Unknown),
            Some(b"gzip" | b"x-gzip") => Ok(Unpacker::Gzip(Box::new(MultiGzDecoder::new(Vec::new())))),
            Some(b"deflate") => Ok(Unpacker::Deflate(Box::new(ZlibDecoder::new(Vec::new())))),
            Some(other) => {
                let name = one_line(&String::from_utf8_lossy(other), 40);
                let message = format!(
                    "the server compresses its answers with {name}, but compression was not requested; turn it off there, or in \
                     the proxy before it"
                );
                Err(error(ModelErrorKind::BadRequest, message))
            }
        }
    }

    /// Takes the next bytes and hands on what they are unpacked, in pieces.
    ///
    /// # Errors
    /// What `each` returns, or that they cannot be unpacked.
    pub fn push(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&[u8]) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        if matches!(self, Unpacker::Unknown) && !bytes.is_empty() {
            // Some pack and do not say so. No JSON and no stream of events begins like this.
            *self = match bytes.starts_with(&[0x1f, 0x8b]) {
                true => Unpacker::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
                false => Unpacker::Plain,
            };
        }
        for piece in bytes.chunks(STEP) {
            let (written, out) = match self {
                Unpacker::Unknown | Unpacker::Plain => return each(bytes),
                Unpacker::Gzip(decoder) => (decoder.write_all(piece).and_then(|()| decoder.flush()), decoder.get_mut()),
                Unpacker::Deflate(decoder) => {
                    (decoder.write_all(piece).and_then(|()| decoder.flush()), decoder.get_mut())
                }
            };
            let out = std::mem::take(out);
            if !out.is_empty() {
                each(&out)?;
            }
            written.map_err(|why| {
                error(ModelErrorKind::Server, format!("the answer is compressed and cannot be unpacked: {why}"))
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use reqwest::header::HeaderValue;

    fn unpacked(coding: Option<&'static str>, bytes: &[u8], step: usize) -> Result<Vec<u8>, ModelError> {
        let mut headers = HeaderMap::new();
        if let Some(coding) = coding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        let (mut unpacker, mut whole) = (Unpacker::new(&headers)?, Vec::new());
        for piece in bytes.chunks(step) {
            unpacker.push(piece, &mut |out| {
                whole.extend_from_slice(out);
                Ok(())
            })?;
        }
        Ok(whole)
    }

    #[test]
    fn what_is_packed_is_unpacked_whether_that_is_said_or_not_and_however_it_is_cut() {
        let text = "three herons, ".repeat(500).into_bytes();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&text).unwrap();
        let gzip = gzip.finish().unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&text).unwrap();
        let zlib = zlib.finish().unwrap();
        for step in [2, 7, 100_000] {
            assert_eq!(unpacked(Some("gzip"), &gzip, step), Ok(text.clone()));
            assert_eq!(unpacked(None, &gzip, step), Ok(text.clone()));
            assert_eq!(unpacked(Some("deflate"), &zlib, step), Ok(text.clone()));
            assert_eq!(unpacked(Some("identity"), &text, step), Ok(text.clone()));
        }
    }

    #[test]
    fn what_cannot_be_unpacked_is_said_in_words() {
        let wrong = unpacked(Some("gzip"), b"{\"choices\":[]}", 100).unwrap_err();
        assert_eq!(wrong.message, "the answer is compressed and cannot be unpacked: invalid gzip header");
        let unknown = unpacked(Some("br"), b"x", 100).unwrap_err();
        assert_eq!(unknown.kind, ModelErrorKind::BadRequest);
        assert!(unknown.message.starts_with("the server compresses its answers with br, "), "{unknown}");
    }
}
