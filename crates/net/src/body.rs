//! Reading a body: unpacked, and never more than allowed.

use crate::failure::failed;
use flate2::write::MultiGzDecoder;
use mainpath_tools::Problem;
use reqwest::header::CONTENT_ENCODING;
use reqwest::{Response, Url};
use std::io::{self, Write};

/// The body, at most `most` bytes of it, and whether there was more. Packed or not, no more than `most` bytes are read, but for
/// what has come together with them.
pub(crate) async fn read(mut response: Response, url: &Url, most: usize) -> Result<(Vec<u8>, bool), Problem> {
    let mut body = Body::new(&response, most)?;
    while !body.sink().full {
        let Some(chunk) = response.chunk().await.map_err(|error| failed(&error, url))? else { break };
        body.push(&chunk)?;
    }
    body.end()
}

/// A body on its way.
enum Body {
    Plain(Sink),
    /// The number counts the packed bytes: a stream of empty pieces would never fill the sink.
    Packed(Box<MultiGzDecoder<Sink>>, usize),
}

/// Takes so many bytes and no more.
struct Sink {
    taken: Vec<u8>,
    most: usize,
    full: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.most - self.taken.len();
        if bytes.len() > room {
            self.taken.extend_from_slice(&bytes[..room]);
            self.full = true;
            return Err(io::Error::other(FULL));
        }
        self.taken.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const FULL: &str = "more than is read";

impl Body {
    fn new(response: &Response, most: usize) -> Result<Body, Problem> {
        let sink = Sink { taken: Vec::new(), most, full: false };
        let coding = response.headers().get(CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
        match coding.as_deref() {
            None | Some(b"" | b"identity") => Ok(Body::Plain(sink)),
            Some(b"gzip" | b"x-gzip") => Ok(Body::Packed(Box::new(MultiGzDecoder::new(sink)), 0)),
            Some(other) => {
                let other: String = String::from_utf8_lossy(other).chars().take(40).collect();
                let text = format!("The answer is packed as {other:?}, which was not asked for and cannot be read.");
                Err(Problem::new("encoding", text))
            }
        }
    }

    fn sink(&self) -> &Sink {
        match self {
            Body::Plain(sink) => sink,
            Body::Packed(decoder, _) => decoder.get_ref(),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let pushed = match self {
            Body::Plain(sink) => sink.write_all(bytes),
            Body::Packed(decoder, packed) => {
                *packed += bytes.len();
                let pushed = decoder.write_all(bytes);
                let sink = decoder.get_mut();
                sink.full |= *packed > sink.most;
                pushed
            }
        };
        match pushed {
            Err(error) if !self.sink().full => {
                Err(Problem::new("encoding", format!("The answer is badly packed: {error}.")))
            }
            _ => Ok(()),
        }
    }

    fn end(mut self) -> Result<(Vec<u8>, bool), Problem> {
        // An answer to HEAD says how it would be packed and holds nothing.
        if let Body::Packed(decoder, 1..) = &mut self
            && !decoder.get_ref().full
            && let Err(error) = decoder.try_finish()
            && !decoder.get_ref().full
        {
            return Err(Problem::new("encoding", format!("The answer is badly packed: {error}.")));
        }
        let sink = match &mut self {
            Body::Plain(sink) => sink,
            Body::Packed(decoder, _) => decoder.get_mut(),
        };
        Ok((std::mem::take(&mut sink.taken), sink.full))
    }
}
