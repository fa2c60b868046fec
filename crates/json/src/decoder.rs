//! Characters from bytes that are cut anywhere, also inside a character.

/// The bytes are not UTF-8.
pub(crate) struct NotUtf8;

/// Keeps the bytes of a character that has begun: at most three between two pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoder {
    held: [u8; 4],
    len: usize,
}

impl Decoder {
    /// Takes the next character off the front of `bytes`; `None` when they hold no whole one any more.
    pub(crate) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<char>, NotUtf8> {
        while let Some((&byte, rest)) = bytes.split_first() {
            *bytes = rest;
            if self.len == 0 && byte.is_ascii() {
                return Ok(Some(char::from(byte)));
            }
            // Four bytes are a character or an error, so there is always room for one more.
            self.held[self.len] = byte;
            self.len += 1;
            match std::str::from_utf8(&self.held[..self.len]) {
                Ok(text) => {
                    self.len = 0;
                    return Ok(text.chars().next());
                }
                Err(error) if error.error_len().is_some() => return Err(NotUtf8),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// How many bytes of an unfinished character it keeps.
    pub(crate) fn held(&self) -> usize {
        self.len
    }
}
