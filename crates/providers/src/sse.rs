//! Frames of a server-sent event stream, from bytes cut anywhere.
//!
//! Source: the WHATWG HTML standard, section "Server-sent events" (parsing an event stream).

use memchr::memchr2;

/// The frame was longer than the decoder's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stream event is longer than {limit} bytes")]
pub struct FrameTooLong {
    /// The limit, in bytes.
    pub limit: usize,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseFrame<'a> {
    /// Its type; empty if the stream named none.
    pub event: &'a [u8],
    /// Its data lines, joined by line feeds.
    pub data: &'a [u8],
}

/// Cuts a byte stream into frames, in time linear in the bytes. It keeps at most one frame. A frame that the end of the
/// stream cuts off is never handed out, as the standard has it.
#[derive(Clone, Debug)]
pub struct SseDecoder {
    line: Vec<u8>,
    event: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    skip_line_feed: bool,
    at_start: bool,
    limit: usize,
}

impl SseDecoder {
    /// A decoder that refuses frames of more than `limit` bytes.
    pub fn new(limit: usize) -> SseDecoder {
        SseDecoder {
            line: Vec::new(),
            event: Vec::new(),
            data: Vec::new(),
            has_data: false,
            skip_line_feed: false,
            at_start: true,
            limit,
        }
    }

    /// Takes the next bytes and hands out every frame that they complete.
    ///
    /// # Errors
    /// [`FrameTooLong`], or the first error that `each` returns; the decoder is of no use after that.
    pub fn push<E: From<FrameTooLong>>(
        &mut self,
        mut bytes: &[u8],
        each: &mut dyn FnMut(SseFrame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.skip_line_feed) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.check(self.line.len() + bytes.len())?;
                self.line.extend_from_slice(bytes);
                return Ok(());
            };
            self.check(self.line.len() + end)?;
            self.skip_line_feed = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.end_line(&bytes[..end], each)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.end_line(&line, each)?;
                line.clear();
                self.line = line;
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// What has come of the data of the event that is not complete.
    pub fn so_far(&self) -> &[u8] {
        let line = self.line.strip_prefix(b"data:").unwrap_or_default();
        let line = line.strip_prefix(b" ").unwrap_or(line);
        if self.data.is_empty() { line } else { &self.data }
    }

    fn check(&self, line: usize) -> Result<(), FrameTooLong> {
        let size = self.data.len().saturating_add(self.event.len()).saturating_add(line);
        if size > self.limit { Err(FrameTooLong { limit: self.limit }) } else { Ok(()) }
    }

    fn end_line<E: From<FrameTooLong>>(
        &mut self,
        line: &[u8],
        each: &mut dyn FnMut(SseFrame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let first = std::mem::take(&mut self.at_start);
        let line = if first { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if line.is_empty() {
            let outcome = if self.has_data { each(SseFrame { event: &self.event, data: &self.data }) } else { Ok(()) };
            self.event.clear();
            self.data.clear();
            self.has_data = false;
            return outcome;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            // Comments have an empty name; ids and retry times serve reconnecting, which model servers do not offer.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Frames = Vec<(String, String)>;

    fn frames(pieces: &[&[u8]], limit: usize) -> Result<Frames, FrameTooLong> {
        let mut decoder = SseDecoder::new(limit);
        let mut frames = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for piece in pieces {
            decoder.push(piece, &mut |frame| {
                frames.push((text(frame.event), text(frame.data)));
                Ok::<(), FrameTooLong>(())
            })?;
        }
        Ok(frames)
    }

    const STREAM: &[u8] =
        "\u{feff}: hello\r\n\r\nevent: a\r\ndata: {\"x\":\"zwölf 🦀\"}\r\n\r\nid: 7\ndata:one\ndata:  two\ndata\n\n\
        retry: 5\rdata: three\r\revent: dropped\n\ndata:\n\nunknown: field\ndata: [DONE]\n\n"
            .as_bytes();

    fn expected() -> Frames {
        [("a", "{\"x\":\"zwölf 🦀\"}"), ("", "one\n two\n"), ("", "three"), ("", ""), ("", "[DONE]")]
            .map(|(event, data)| (event.into(), data.into()))
            .into()
    }

    #[test]
    fn all_line_ends_comments_and_many_data_lines_are_understood() {
        assert_eq!(frames(&[STREAM], 1000), Ok(expected()));
    }

    #[test]
    fn the_frames_are_the_same_wherever_the_bytes_are_cut() {
        for cut in 0..=STREAM.len() {
            let (head, tail) = STREAM.split_at(cut);
            assert_eq!(frames(&[head, tail], 1000), Ok(expected()), "cut at {cut}");
        }
        let single: Vec<&[u8]> = STREAM.chunks(1).collect();
        assert_eq!(frames(&single, 1000), Ok(expected()));
    }

    #[test]
    fn a_frame_without_its_blank_line_is_not_handed_out() {
        assert_eq!(frames(&[b"data: a\n\ndata: b\n"], 1000), Ok(vec![(String::new(), "a".into())]));
    }

    #[test]
    fn a_frame_over_the_limit_is_refused_in_whatever_shape_it_comes() {
        let too_long = Err(FrameTooLong { limit: 10 });
        assert_eq!(frames(&[b"data: 12345678"], 10), too_long);
        assert_eq!(frames(&[b"data: 1234", b"5678\n\n"], 10), too_long);
        assert_eq!(frames(&[b"data: 1\ndata: 2\ndata: 3\ndata: 4\n\n"], 10), too_long);
        assert_eq!(frames(&[b"event: 1234\ndata: 1\n\n"], 10), too_long);
        // The limit is for a frame, not for the stream.
        assert_eq!(frames(&[b"data: 1\n\n".repeat(9).as_slice()], 10).map(|frames| frames.len()), Ok(9));
    }

    #[test]
    fn an_error_of_the_reader_ends_the_push() {
        let mut seen = 0;
        let outcome = SseDecoder::new(100).push(b"data: 1\n\ndata: 2\n\n", &mut |_| {
            seen += 1;
            Err(FrameTooLong { limit: 0 })
        });
        assert_eq!((outcome, seen), (Err(FrameTooLong { limit: 0 }), 1));
    }
}
